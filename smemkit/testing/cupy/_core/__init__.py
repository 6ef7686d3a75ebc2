"""cupy._core, as far as tests reach it."""

from __future__ import annotations

from typing import Any

from .._array import ndarray
from .._elementwise import ElementwiseKernel
from .._reduction import ReductionKernel, SimpleReduction
from .._refuse import find_module
from ._accelerator import (
    get_reduction_accelerators,
    get_routine_accelerators,
    set_reduction_accelerators,
    set_routine_accelerators,
)

__all__ = [
    "ElementwiseKernel",
    "ReductionKernel",
    "create_reduction_func",
    "elementwise_copy",
    "get_reduction_accelerators",
    "get_routine_accelerators",
    "ndarray",
    "set_reduction_accelerators",
    "set_routine_accelerators",
]


def elementwise_copy(src: Any, dst: Any) -> None:
    """Copies elements."""
    dst[...] = src


def create_reduction_func(
    name: str, ops: Any, routine: Any = None, identity: Any = None, **words: Any
) -> SimpleReduction:
    """A reduction for several types."""
    return SimpleReduction(name, ops, routine, identity)


def __getattr__(name: str) -> Any:
    return find_module(__name__, name)
