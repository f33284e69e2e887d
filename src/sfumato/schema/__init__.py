"""The schema language: what a person declares in public about a table. It knows no rows and no budget."""
