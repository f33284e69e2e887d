"""One module for each page: reads a form or an address, calls the library, and renders."""
