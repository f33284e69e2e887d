"""The privacy boundary: rows, noise and budget meet only here."""
