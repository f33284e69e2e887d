"""Stage 5: rows again, from tables. Post-processing; randomness here may be seeded."""
