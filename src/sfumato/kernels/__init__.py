"""Inner loops on plain arrays: count cells, move rows, grow trees. Compiled where possible, NumPy otherwise."""

try:
    from sfumato.kernels.compiled import count, improve, locate, move, swap

    COMPILED = True
except ImportError:  # no C compiler when the package was installed
    from sfumato.kernels.fallback import count, improve, locate, move, swap

    COMPILED = False

try:
    from sfumato.kernels.compiled_trees import deal, eliminate
except ImportError:
    from sfumato.kernels.fallback_trees import deal, eliminate

__all__ = ["COMPILED", "count", "deal", "eliminate", "improve", "locate", "move", "swap"]
