"""Inner loops on plain arrays: count cells, locate rows, move rows. Compiled where possible, NumPy otherwise."""

try:
    from sfumato.kernels.compiled import count, locate, move

    COMPILED = True
except ImportError:  # no C compiler when the package was installed
    from sfumato.kernels.fallback import count, locate, move

    COMPILED = False

__all__ = ["COMPILED", "count", "locate", "move"]
