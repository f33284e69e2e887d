"""Stage 2: which tables to measure. Asks a holder and pays."""
