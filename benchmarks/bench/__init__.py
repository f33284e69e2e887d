"""The bench: systems side by side on public data, each run in a process of its own."""
