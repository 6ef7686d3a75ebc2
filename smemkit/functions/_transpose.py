"""transpose: matrices by the kernels of the family, other orders of axes by copies of views."""

from __future__ import annotations

import contextlib
import math
import operator
from typing import TYPE_CHECKING, overload

import numpy

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike

    from .._core import DeviceArray
    from .._types import Backend, DeviceLike, StreamLike

MATRIX = 2


def _is_on_device(a: Any) -> bool:
    """Whether it is a device array, or one of another library on a GPU."""
    return isinstance(a, _core.DeviceArray) or hasattr(a, "__cuda_array_interface__")


def _check_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes as numbers from 0; ShapeError unless each is named once."""
    if axes is None:
        return tuple(range(ndim))[::-1]
    try:
        asked = tuple(operator.index(axis) for axis in axes)
    except TypeError as error:
        raise _core.ArgumentTypeError(
            f"transpose: axes is {axes!r:.80}; integers, an axis each, or None are needed"
        ) from error
    order = tuple(axis + ndim if axis < 0 else axis for axis in asked)
    if sorted(order) != list(range(ndim)):
        raise _core.ShapeError(
            f"transpose: axes is {axes!r:.80}; an array of {ndim} dimensions needs each of them "
            "once"
        )
    return order


def _find_matrix(shape: Sequence[int], order: Sequence[int]) -> tuple[int, int] | None:
    """(rows, columns) of the matrix whose transpose this order makes; None for another order."""
    kept = [axis for axis in order if shape[axis] != 1]
    axes = sorted(kept)
    first = axes.index(kept[0]) if kept else 0  # of the axes that are columns
    if first == 0 or kept != axes[first:] + axes[:first]:
        return None
    rows, columns = (
        math.prod(shape[axis] for axis in part) for part in (axes[:first], axes[first:])
    )
    return rows, columns


def _is_whole(a: Any) -> bool:
    """Whether it is an array of ours or of NumPy in one piece, in C order."""
    if isinstance(a, numpy.ndarray):
        return bool(a.flags.c_contiguous)
    if not isinstance(a, _core.DeviceArray):
        return False
    step = a.itemsize
    for length, stride in zip(reversed(a.shape), reversed(a.strides), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def _check_shape(out: Any, shape: tuple[int, ...]) -> None:
    if tuple(out.shape) != shape:
        raise _core.ShapeError(
            f"transpose: out has the shape {tuple(out.shape)}, the result has {shape}"
        )


def _turn(
    a: Any, matrix: tuple[int, int], shape: tuple[int, ...], out: Any, how: dict[str, Any]
) -> Any:
    """The transpose of a matrix of joined axes."""
    if out is not None:
        _check_shape(out, shape)
    flat = None if out is None else out.reshape(matrix[::-1])
    made = _core.transpose(a.reshape(matrix), out=flat, **how)
    return made.reshape(shape) if out is None else out


def _confirm(a: Any, backend: Backend | None, device: DeviceLike | None) -> None:
    """ArgumentError where backend or device name another machine or device than that of a."""
    if backend is not None or device is not None:
        there = _core.asarray(a)
        none = (
            there[(slice(0, 0),) * there.ndim].reshape(0, 1) if there.ndim else there.reshape(1, 1)
        )
        _core.transpose(none, backend=backend, device=device)


def _permute(
    a: Any,
    order: tuple[int, ...],
    out: Any,
    backend: Backend | None,
    device: DeviceLike | None,
) -> Any:
    """A copy of the view with these axes, on the stream of the thread."""
    if _is_on_device(a):
        _confirm(a, backend, device)
        return _core._permute(a, order, out)
    if out is None:
        there = _core.asarray(a, backend=backend, device=device)
        return _core.asnumpy(_core._permute(there, order, None))
    if not isinstance(out, numpy.ndarray):
        raise _core.ArgumentTypeError(
            f"transpose: out must be a numpy.ndarray, not {type(out).__name__}"
        )
    _check_shape(out, tuple(a.shape[axis] for axis in order))
    if out.dtype != a.dtype.newbyteorder("="):
        raise _core.ArgumentTypeError(
            f"transpose: out has the type {out.dtype}, the result has {a.dtype}"
        )
    there = _core.asarray(a, backend=backend, device=device)
    return _core.asnumpy(_core._permute(there, order, None), out=out)


@overload
def transpose(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    a: DeviceArray,
    axes: Sequence[int] | None = None,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray: ...
@overload
def transpose(
    a: ArrayLike,
    axes: Sequence[int] | None = None,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> numpy.ndarray[Any, Any]: ...
def transpose(
    a: Any,
    axes: Any = None,
    *,
    variant: str = "auto",
    out: Any = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> Any:
    """Move the axes of an array into another order, in memory: b = numpy.transpose(a, axes).

    Matrices, and orders that a matrix of joined axes makes, are turned by the variants of the
    family. Other orders are copied by smemkit.source("array", ...): "squares" or "tiles" where the
    last axis moves, "rows" or "copy" where it stays.

    Parameters
    ----------
    a : array-like or DeviceArray
        Of items of 1, 2, 4, 8 or 16 bytes. Any memory layout; never changed.
    axes : sequence of int, optional
        Which axis of a stands at each place of the result; negative ones count from the end. By
        default the axes in reverse order.
    variant : str
        A key of smemkit.variants("transpose"), or "auto": the fastest that takes the call on the
        machine. Of more than two axes only those that join to a matrix take another than "auto".
        "copy" is no transpose: the same bytes in their order, the ceiling.
    out : numpy.ndarray or DeviceArray, optional
        Takes the result, and is returned.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend(), or that of a.
    device : int, str or Device, optional
        Of the machine; by default its present one, or that of the device arrays.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.

    Shapes
    ------
    Any -> (a.shape[axes[0]], a.shape[axes[1]], ...)

    Returns
    -------
    numpy.ndarray for NumPy inputs, DeviceArray for device arrays; out itself where given.

    Raises
    ------
    ShapeError (ValueError) for axes that are not each of a's once, and for an out of another shape;
    ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError (RuntimeError),
    OutOfMemoryError (MemoryError).

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.arange(24).reshape(2, 3, 4)
    >>> smemkit.transpose(a, (0, 2, 1), backend="sim").shape
    (2, 4, 3)
    """
    if axes is None and type(a) is _core.DeviceArray and a.ndim == MATRIX:
        return _core.transpose(
            a, variant=variant, out=out, backend=backend, device=device, stream=stream
        )
    how: dict[str, Any] = {
        "variant": variant,
        "backend": backend,
        "device": device,
        "stream": stream,
    }
    if not _is_on_device(a):
        a = a if isinstance(a, numpy.ndarray) else numpy.asanyarray(a)
    shape = tuple(a.shape)
    if len(shape) == MATRIX and axes is None:
        return _core.transpose(a, out=out, **how)
    order = _check_axes(axes, len(shape))
    if len(shape) == MATRIX and order == (1, 0):
        return _core.transpose(a, out=out, **how)
    matrix = _find_matrix(shape, order)
    result_shape = tuple(shape[axis] for axis in order)
    if matrix is not None and _is_whole(a) and (out is None or _is_whole(out)):
        return _turn(a, matrix, result_shape, out, how)
    if variant != "auto":
        raise _core.ArgumentError(
            f"transpose: variant {variant!r} turns matrices that lie in one piece, and these axes "
            "make none; leave it out"
        )
    with contextlib.nullcontext() if stream is None else _core.Stream(stream):
        return _permute(a, order, out, backend, device)
