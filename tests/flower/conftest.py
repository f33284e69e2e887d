"""These tests want Flower, in an environment of its own."""

import os

if "SFUMATO_FLOWER" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
