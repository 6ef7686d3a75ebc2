"""Arrays as Triton and Numba see them: an address, a shape and strides.

A RawKernel copies a NumPy array to the machine element by element in C order. A kernel that is
given strides needs the memory as it lies: such an array goes as a contiguous view of that memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from .. import _core
from .._bfloat16 import STRUCTURE

if TYPE_CHECKING:
    from typing import Any

    from .._types import HostArray


class ArrayFacts(NamedTuple):
    """An array argument: what a RawKernel gets for it, and what the kernel is told of it.

    strides are in bytes; address is that on the device, 0 for arrays of the host, which get one
    that suits any access.
    """

    passed: Any
    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    readonly: bool


def _list_strides(array: HostArray) -> tuple[int, ...]:
    """Strides in bytes; those of axes that nobody walks are made those of C order."""
    if array.flags.c_contiguous:
        strides, step = [], array.itemsize
        for length in reversed(array.shape):
            strides.append(step)
            step *= max(length, 1)
        return tuple(reversed(strides))
    return array.strides


def _lay_out(array: HostArray, where: str) -> HostArray:
    """A contiguous array over the memory of a view, from its first to its last element."""
    if array.flags.c_contiguous:
        return array
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    turned = array.transpose(order)
    if turned.flags.c_contiguous:
        return turned
    if min(array.strides) < 0 or any(stride % array.itemsize for stride in array.strides):
        raise _core.ArgumentError(
            f"{where} is a view with strides {array.strides}: it runs backwards, or its elements "
            "do not lie in a row of such elements; pass a copy (numpy.ascontiguousarray)"
        )
    lengths = zip(array.shape, array.strides, strict=True)
    extent = sum((length - 1) * stride for length, stride in lengths) // array.itemsize + 1
    return numpy.lib.stride_tricks.as_strided(
        array, (extent,), (array.itemsize,), writeable=array.flags.writeable
    )


def read_array(value: Any, where: str) -> ArrayFacts | None:
    """The facts of an array, of NumPy, smemkit or another library; None for anything else."""
    if isinstance(value, numpy.ndarray):
        facts = (value.dtype, value.shape, _list_strides(value), 0, not value.flags.writeable)
        passed = _lay_out(value, where) if value.size else value
        if value.dtype.name.startswith("float8"):  # a type of ml_dtypes; a RawKernel gets its bits
            passed = passed.view(numpy.uint8)
        return ArrayFacts(passed, *facts)
    if isinstance(value, _core.DeviceArray):
        return ArrayFacts(
            value,
            value.dtype,
            value.shape,
            value.strides,
            value.pointer if value.size else 0,
            False,
        )
    if isinstance(value, numpy.generic) or not hasattr(value, "__dlpack__"):
        return None
    if value.__dlpack_device__()[0] in (1, 3):  # memory of the host, plain and pinned
        return read_array(numpy.from_dlpack(value), where)
    view = _core.from_dlpack(value)
    facts = view.dtype, view.shape, view.strides, view.pointer if view.size else 0, False
    return ArrayFacts(value, *facts)


def name_element(dtype: numpy.dtype[Any]) -> str:
    """The name of a type of elements: NumPy's, or bfloat16 in whatever way it is kept."""
    return "bfloat16" if dtype == STRUCTURE else dtype.name
