"""bfloat16 in NumPy, which has no such type: that of ml_dtypes where it is installed, else bits.

Without ml_dtypes an array of bfloat16 has the type [("bfloat16", uint16)], a structure with one
field; gemm and other calls take both.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, DTypeLike

    from ._types import HostArray

NAME = "bfloat16"
STRUCTURE = numpy.dtype([(NAME, "u2")])


def find_type() -> numpy.dtype[Any]:
    """The type of ml_dtypes, or the structure where that is not installed."""
    try:
        kind: numpy.dtype[Any] = numpy.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return STRUCTURE
    return kind


def complete(dtype: DTypeLike) -> numpy.dtype[Any]:
    """numpy.dtype(dtype), which may be "bfloat16" too."""
    return find_type() if isinstance(dtype, str) and dtype == NAME else numpy.dtype(dtype)


def name_of(dtype: DTypeLike) -> str:
    """The type's name as smemkit.variants has it."""
    kind = complete(dtype)
    return NAME if kind in (STRUCTURE, find_type()) else kind.name


def narrow(values: ArrayLike) -> HostArray:
    """The nearest numbers of bfloat16, ties to even; NaN stays NaN."""
    bits = numpy.ascontiguousarray(values, "float32").view("uint32")
    rounded = bits + (0x7FFF + (bits >> 16 & 1))
    upper = numpy.where(numpy.isnan(bits.view("float32")), bits | 0x400000, rounded) >> 16
    return upper.astype("uint16").view(find_type()).reshape(numpy.shape(values))


def widen(array: HostArray) -> HostArray:
    """Numbers of bfloat16 as float32, exactly; all others as they are."""
    if name_of(array.dtype) != NAME:
        return array
    bits = numpy.ascontiguousarray(array).view("uint16").astype("uint32") << 16
    wide: HostArray = bits.view("float32").reshape(array.shape)
    return wide


def convert(array: HostArray, dtype: DTypeLike) -> HostArray:
    """array.astype(dtype), where either may be bfloat16."""
    kind, wide = complete(dtype), widen(array)
    return narrow(wide) if name_of(kind) == NAME else wide.astype(kind)
