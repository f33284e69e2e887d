"""How much a tree of YAML says once every alias in it is followed: a few lines can stand for billions of values."""

from __future__ import annotations

from math import inf
from typing import Any

MOST = 5_000_000
"""Values and keys of a file that is read, aliases followed."""


def expanded_size(tree: Any) -> float:
    """The number of values and keys of a tree, each as often as it is reached; infinite if it holds itself.

    >>> three = [0, 0, 0]
    >>> expanded_size([three, three])
    9
    """
    sizes: dict[int, float] = {}

    def size(node: Any) -> float:
        if not isinstance(node, dict | list):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = inf  # until it is known: whoever asks meanwhile is inside of it
            children = node.values() if isinstance(node, dict) else node
            sizes[id(node)] = 1 + sum(map(size, children)) + (len(node) if isinstance(node, dict) else 0)
        return sizes[id(node)]

    return size(tree)
