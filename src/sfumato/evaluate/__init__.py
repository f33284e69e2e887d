"""How near two tables are. Scores against real rows are not private."""
