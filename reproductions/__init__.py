"""What papers did, kept to reproduce their figures and to show by tests what is wrong with it. Not for use.

Nothing here is part of the installed package, and nothing in the package imports it. These modules have engines of
their own and answer without the care of `sfumato.privacy`: whoever uses them on private rows has no guarantee, or a
weaker one than the paper says. Each says so where it starts.

- `faithful`: DP-SUBN as published, in one process: one share of noise (`one_share`), parties that are asked one after
  the other (`paper_union`, `sequential_network`), sums under Paillier encryption (`paillier`).
- `independent`: every party makes a release of its own, and their synthetic rows are appended.
"""
