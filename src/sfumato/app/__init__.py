"""The local web page: a face of the library, with no logic of its own. Every state is a URL and a file on disk."""
