"""Inner loops on plain arrays: count cells, locate, move and swap rows. Compiled where possible, NumPy otherwise."""

try:
    from sfumato.kernels.compiled import count, locate, move, swap

    COMPILED = True
except ImportError:  # no C compiler when the package was installed
    from sfumato.kernels.fallback import count, locate, move, swap

    COMPILED = False

__all__ = ["COMPILED", "count", "locate", "move", "swap"]
