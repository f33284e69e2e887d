"""The two reports: one for the house, which has read real rows, and one to publish, made from a release alone."""
