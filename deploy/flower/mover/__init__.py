"""A Flower app that carries the message files of a study, and does nothing else."""
