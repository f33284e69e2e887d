"""From values to codes by the public schema alone: what happens to one row depends on that row."""
