"""reduce: of all elements by the kernels of reduce, along axes by those of reduce_axis."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from typing import TYPE_CHECKING, overload

import numpy

from .. import _core
from ._gather import ArgumentIndexError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from numpy.typing import ArrayLike

    from .._core import DeviceArray
    from .._types import Backend, DeviceLike, StreamLike

    Operation = Literal["sum", "max", "min", "mean", "argmax", "argmin"]
    Axis = int | Sequence[int] | None

OF_ALL = ("sum", "max", "min")  # operations of the family reduce
OF_ONE_AXIS = ("argmax", "argmin")
OWN = (numpy.ndarray, _core.DeviceArray)
REFUSED_AXIS = "reduce: axis is %.80r; an integer, a tuple of integers or None is needed"


def _check_axes(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """The axes as numbers from 0, ascending; None stands for all."""
    if axis is None:
        return tuple(range(ndim))
    if op in OF_ONE_AXIS and isinstance(axis, (tuple, list)):
        raise _core.ArgumentTypeError(
            f"reduce: axis is {axis!r}; {op} goes along one axis, or with None over all elements"
        )
    given = list(axis) if numpy.iterable(axis) else [axis]
    try:
        asked = [operator.index(one) for one in given]
        has_truth = any(isinstance(one, bool) for one in given)
    except TypeError as error:
        raise _core.ArgumentTypeError(REFUSED_AXIS % (axis,)) from error
    if has_truth:  # True counts as 1 elsewhere, and is mostly meant for keepdims
        raise _core.ArgumentTypeError(REFUSED_AXIS % (axis,))
    for one in asked:
        if not -ndim <= one < ndim:
            raise ArgumentIndexError(
                f"reduce: axis {one} is out of bounds for x with {ndim} dimensions"
            )
    axes = sorted(one % ndim for one in asked)
    if len(set(axes)) < len(axes):
        raise _core.ArgumentError(f"reduce: axis is {axis!r}, which names an axis twice")
    return tuple(axes)


def _is_whole(x: Any, order: Sequence[int]) -> bool:
    """Whether x lies in one piece, in the order of these axes."""
    order = [axis for axis in order if x.shape[axis] != 1]
    step = x.itemsize
    for axis in reversed(order):
        if x.strides[axis] != step:
            return bool(x.size == 0)
        step *= x.shape[axis]
    return True


def _order_axes(x: Any) -> tuple[int, ...]:
    """The axes from the widest stride to the narrowest, where x lies in memory in that order."""
    order = tuple(range(x.ndim))
    if not isinstance(x, OWN) or _is_whole(x, order):
        return order
    if isinstance(x, _core.DeviceArray):  # has views in reverse order only
        return order[::-1] if _is_whole(x, order[::-1]) else order
    return tuple(sorted(order, key=lambda axis: -abs(x.strides[axis])))


def _group(shape: Sequence[int], axes: Sequence[int]) -> list[list[Any]]:
    """The shape as [size, whether it is reduced], where neighbours of one kind are one."""
    groups: list[list[Any]] = []
    for axis, size in enumerate(shape):
        if groups and groups[-1][1] == (axis in axes):
            groups[-1][0] *= size
        else:
            groups.append([size, axis in axes])
    return groups


def _is_plain(axis: Any) -> bool:
    """Whether axis is given by integers of Python, so that a cache tells it from others."""
    given = axis if type(axis) is tuple else (axis,)
    return axis is None or all(type(one) is int for one in given)


@functools.lru_cache(maxsize=256)
def _find_neighbours(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    op: str,
    axis: Any,
    keepdims: bool,
) -> tuple[tuple[int, int, int], tuple[int, ...]] | None:
    """(m, n, k) of an array in C order, n of them reduced, and the result's shape; else None."""
    axes = _check_axes(axis, len(shape), op)
    expected = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return None
        expected *= size
    groups = _group(shape, axes)
    if sum(reduced for _, reduced in groups) != 1:
        return None
    at = next(i for i in range(len(groups)) if groups[i][1])
    ones = (1,) if keepdims else ()
    kept = [ones if i in axes else (size,) for i, size in enumerate(shape)]
    m, n, k = (
        math.prod(size for size, _ in part)
        for part in (groups[:at], groups[at : at + 1], groups[at + 1 :])
    )
    return (m, n, k), tuple(size for part in kept for size in part)


def _call(x: Any, op: Any, **how: Any) -> Any:
    """reduce_axis of the extension, whose errors name the function that was called."""
    try:
        return _core.reduce_axis(x, op, **how)
    except _core.Error as error:
        message = str(error)
        if message.startswith(("reduce_axis:", "reduce_axis ")):
            error.args = (message.replace("reduce_axis", "reduce", 1), *error.args[1:])
        raise


def _reduce_groups(x: Any, op: Any, axes: Sequence[int], out: Any, how: dict[str, Any]) -> Any:
    """Reduces the axes of x, neighbours together; the result has one dimension."""
    groups = _group(x.shape, axes)
    if not any(reduced for _, reduced in groups):
        groups.append([1, True])
    while any(reduced for _, reduced in groups):
        # the longest first: it leaves the least for the others
        at = max((i for i in range(len(groups)) if groups[i][1]), key=lambda i: groups[i][0])
        m, n, k = (
            math.prod(size for size, _ in part)
            for part in (groups[:at], groups[at : at + 1], groups[at + 1 :])
        )
        last = sum(reduced for _, reduced in groups) == 1
        target: Any = out.reshape(m, k) if last and out is not None else None
        x = _call(x.reshape(m, n, k), op, out=target, **how)
        groups[at] = [1, False]
    return x


def _check_out(out: Any, shape: tuple[int, ...]) -> Any:
    """out, or None where its memory is not in one piece: the result is copied to it."""
    if not _has_shape(out):
        raise _core.ArgumentTypeError(
            "reduce: out must be a numpy.ndarray or a smemkit.DeviceArray, not "
            f"{type(out).__name__}"
        )
    if tuple(out.shape) != shape:
        raise _core.ShapeError(f"reduce: out has the shape {tuple(out.shape)}, the result {shape}")
    if isinstance(out, numpy.ndarray) and not out.flags.writeable:
        raise _core.ArgumentError("reduce: out is read-only")
    return out if not isinstance(out, OWN) or _is_whole(out, range(out.ndim)) else None


def _has_shape(x: Any) -> bool:
    """Whether x is an array, of ours or of another library, that can be given another shape."""
    exchanged = hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")
    return isinstance(x, OWN) or (exchanged and hasattr(x, "reshape") and hasattr(x, "ndim"))


@overload
def reduce(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    op: Operation = "sum",
    axis: Axis = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray: ...
@overload
def reduce(
    x: ArrayLike,
    op: Operation = "sum",
    axis: Axis = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> numpy.ndarray[Any, Any]: ...
def reduce(
    x: Any,
    op: Any = "sum",
    axis: Any = None,
    *,
    keepdims: bool = False,
    variant: str = "auto",
    out: Any = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> Any:
    """Make the sum, the mean, the largest or smallest element, or the index of that.

    Of all elements, or along axes as NumPy counts them. Elements are combined in an order that
    depends on the shape and the machine alone: the same call gives the same bits. A NaN among the
    elements makes the result NaN, or its index. Of equal elements argmax and argmin take the first.

    Parameters
    ----------
    x : array-like or DeviceArray
        Of any shape: float32, float64, int32 or int64. Never changed. A view is read where it lies
        if its elements fill a piece of memory (x.T, Fortran order), else from a copy.
    op : "sum", "max", "min", "mean", "argmax" or "argmin"
        Whole numbers are summed in int64, and their mean is made in float64.
    axis : int or tuple of int, optional
        Along which to go; negative ones count from the end. None: all elements, for argmax and
        argmin in C order. argmax and argmin take one axis. A mean over axes that are not
        neighbours is a mean of means.
    keepdims : bool
        Keep the reduced axes, with the length 1.
    variant : str
        For sum, max and min of all elements a key of smemkit.variants("reduce"), for all else of
        smemkit.variants("reduce_axis"); or "auto": the fastest.
    out : numpy.ndarray or DeviceArray, optional
        Takes the result, and is returned.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend(), or that of x.
    device : int, str or Device, optional
        Of the machine; by default its present one, or that of the device arrays.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.

    Shapes
    ------
    That of x without the reduced axes; with keepdims they are 1.

    Returns
    -------
    numpy.ndarray (a number where it has no dimensions) or DeviceArray. Of the type of x; sums of
    int32 are int64, means of whole numbers float64, indices int64.

    Raises
    ------
    ArgumentIndexError (IndexError, ValueError) for an axis that x does not have; ArgumentError
    (ValueError) for an unknown operation or variant, and where no elements have no largest,
    smallest or mean; ArgumentTypeError (TypeError) for another element type; ShapeError
    (ValueError) for an out of another shape; OutOfMemoryError; BackendError and CudaError
    (RuntimeError) where the machine fails.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.array([[1, 5, 3], [4, 2, 6]], dtype="float32")
    >>> float(smemkit.reduce(x, backend="sim"))
    21.0
    >>> smemkit.reduce(x, "max", axis=0, backend="sim").tolist()
    [4.0, 5.0, 6.0]
    >>> smemkit.reduce(x, "argmax", axis=1, keepdims=True, backend="sim").tolist()
    [[1], [2]]
    """
    if axis is None and not keepdims and (op in OF_ALL or not isinstance(op, str)):
        return _core.reduce(
            x, op, variant=variant, out=out, backend=backend, device=device, stream=stream
        )
    if type(x) is _core.DeviceArray and type(op) is str and _is_plain(axis):
        found = _find_neighbours(x.shape, x.strides, x.itemsize, op, axis, bool(keepdims))
        target = None if out is None or found is None else _check_out(out, found[1])
        if found is not None and (out is None or target is not None):
            (m, n, k), shape = found
            checked: Any = op  # one of the names that reduce_axis takes, or refused by it
            result: _core.DeviceArray = _call(
                x.reshape(m, n, k),
                checked,
                variant=variant,
                out=None if target is None else target.reshape(m, k),
                backend=backend,
                device=device,
                stream=stream,
            )
            return result.reshape(shape) if out is None else out
    how = {"variant": variant, "backend": backend, "device": device}
    with contextlib.nullcontext() if stream is None else _core.Stream(stream):
        return _reduce(x, op, axis, keepdims, out, how)


def _take(x: Any) -> Any:
    """x as an array; ArgumentTypeError for one that hides elements."""
    if numpy.ma.is_masked(x):
        raise _core.ArgumentTypeError(
            "reduce: x is a masked array that hides elements, and kernels know no mask: fill it "
            "(x.filled(value)) or leave out what it hides (x.compressed()) first"
        )
    is_host = isinstance(x, numpy.ndarray) or not _has_shape(x)
    try:
        return numpy.asarray(x) if is_host else x
    except ValueError as error:
        raise _core.ArgumentError(f"reduce: x: {error}") from error


def _reduce(x: Any, op: str, axis: Any, keepdims: bool, out: Any, how: dict[str, Any]) -> Any:
    """reduce, on the stream of the thread."""
    x = _take(x)
    axes = _check_axes(axis, x.ndim, op)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = tuple(x.shape[axis] for axis in kept)
    if keepdims:
        shape = tuple(1 if axis in axes else x.shape[axis] for axis in range(x.ndim))
    target = None if out is None else _check_out(out, shape)

    # In the order in which x lies in memory. Indices into all elements are those of C order.
    order = tuple(range(x.ndim)) if op in OF_ONE_AXIS and len(axes) > 1 else _order_axes(x)
    if order != tuple(range(x.ndim)):
        x = x.T if isinstance(x, _core.DeviceArray) else x.transpose(order)
    turned = [axis for axis in order if axis in kept]
    target = target if turned == kept else None
    result = _reduce_groups(x, op, [order.index(axis) for axis in axes], target, how)
    if target is not None:
        return out
    if turned != kept:
        result = result.reshape([x.shape[order.index(axis)] for axis in turned])
        on_device = isinstance(result, _core.DeviceArray)
        result = result.T if on_device else result.transpose([turned.index(axis) for axis in kept])
    if turned == kept or keepdims:
        result = result.reshape(shape)
    if out is None:
        return result if shape or isinstance(result, _core.DeviceArray) else result[()]
    if out.dtype != result.dtype:
        raise _core.ArgumentTypeError(
            f"reduce: out has the type {out.dtype}, the result has {result.dtype}"
        )
    out[...] = result
    return out
