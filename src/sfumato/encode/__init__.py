"""Stage 1: from raw values to codes, and back. Learning a coding from the rows asks a holder and pays."""
