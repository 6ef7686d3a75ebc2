"""cupy._core.core."""

from .._array import ndarray

__all__ = ["ndarray"]
