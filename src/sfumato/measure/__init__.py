"""Stage 3: measure the chosen tables. Asks a holder and pays."""
