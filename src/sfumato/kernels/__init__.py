"""Inner loops on plain arrays: count cells, move rows. Compiled where possible, NumPy otherwise."""

try:
    from sfumato.kernels.compiled import count, improve, locate, move, swap

    COMPILED = True
except ImportError:  # no C compiler when the package was installed
    from sfumato.kernels.fallback import count, improve, locate, move, swap

    COMPILED = False

__all__ = ["COMPILED", "count", "improve", "locate", "move", "swap"]
