"""Where exact counts come from. Only a holder may ask for counts of private rows."""
