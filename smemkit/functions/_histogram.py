"""histogram: NumPy computes the edges of the bins, and a kernel counts."""

from __future__ import annotations

import contextlib
import functools
import operator
from typing import TYPE_CHECKING, overload

import numpy

from .. import _core

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from .._core import DeviceArray
    from .._types import Backend, DeviceLike, StreamLike

BYTE_BINS = 256
EDGES_KEPT = 65536  # of how many bins edges are kept at most
BYTES = numpy.dtype("uint8")
NUMBERS = (numpy.dtype("float32"), numpy.dtype("int32"))
COUNTS, SUMS = numpy.dtype("int64"), numpy.dtype("float64")
BYTE_RANGES = ((0, 256), (0, 255))  # numpy.histogram's bins of these hold one value each


def _refuse_masked(x: Any, name: str = "x") -> None:
    """ArgumentTypeError for an array that hides elements, which would enter the edges."""
    if numpy.ma.is_masked(x):
        raise _core.ArgumentTypeError(
            f"histogram: {name} is a masked array that hides elements, and kernels know no mask: "
            f"fill it ({name}.filled(value)) or leave out what it hides ({name}.compressed()) first"
        )


def _check_range(range: Any) -> None:
    """Typed errors unless range is two numbers; NumPy reports other faults of them."""
    if range is None:
        return
    try:
        ends = numpy.asarray(range)
    except ValueError:  # lengths that differ
        ends = numpy.empty(0, object)
    kind: type[_core.Error] = _core.ArgumentError
    if ends.ndim != 1 or ends.dtype.kind not in "biuf":
        kind = _core.ArgumentTypeError
    elif ends.size == 2:
        return
    raise kind(
        f"histogram: range is {range!r:.80}; two numbers (lower, upper), or None, are needed"
    )


def _check_bins(bins: Any) -> None:
    """Typed errors unless bins is a name of a rule, a number above 0, or edges that ascend."""
    if isinstance(bins, str):
        return
    try:
        given = numpy.asarray(bins)
    except ValueError:  # lengths that differ
        given = numpy.empty(0, object)
    if given.ndim == 0:
        try:
            number = operator.index(bins)
        except TypeError as error:
            raise _core.ArgumentTypeError(
                f"histogram: bins is {bins!r:.80}; a whole number of bins, or their edges, is "
                "needed"
            ) from error
        if number < 1:
            raise _core.ArgumentError(f"histogram: bins is {number}; there must be one at least")
    elif given.ndim == 1 and given.dtype.kind in "biuf" and (given[1:] < given[:-1]).any():
        at = int(numpy.argmax(given[1:] < given[:-1]))
        raise _core.ArgumentError(
            f"histogram: bins are edges that must ascend, and edge {at + 1} is {given[at + 1]}, "
            f"below edge {at} with {given[at]}"
        )


def _byte_edges(bins: Any, range: Any) -> _Kept:
    """The edges of 256 bins, one for each value of a byte."""
    if numpy.ndim(bins) != 0 or isinstance(bins, str) or bins != BYTE_BINS:
        raise _core.ArgumentError(
            f"histogram: uint8 is counted by value, in {BYTE_BINS} bins; bins is {bins!r}: leave "
            "it out, or pass x.astype('int32'), which takes any bins"
        )
    if range is not None and not any(numpy.array_equal(range, ends) for ends in BYTE_RANGES):
        raise _core.ArgumentError(
            f"histogram: uint8 is counted by value; range is {range!r}, accepted are None, "
            "(0, 256) and (0, 255)"
        )
    return _list_even_edges(SUMS, BYTE_BINS, 0, BYTE_BINS)


def _extremes(x: DeviceArray) -> NDArray[Any]:
    """The smallest and the largest element of a device array; only these two are copied."""
    if x.size == 0:
        return numpy.empty(0, x.dtype)
    ends = [_core.asnumpy(_core.reduce(x, op=op)) for op in ("min", "max")]
    return numpy.array(ends, x.dtype)


class _Kept:
    """Edges for the calls to come, on the host and on devices."""

    def __init__(self, edges: NDArray[Any]) -> None:
        edges.flags.writeable = False
        self.edges, self.size, self.copies = edges, edges.size, dict[str, "DeviceArray"]()

    def place(self, x: DeviceArray) -> DeviceArray:
        """A copy beside x. It is kept where every stream can use it, since it is complete."""
        found = self.copies.get(x.device)
        if found is None:
            found = _core._beside(x, self.edges)
            if _core._by_default_stream(x):
                _core.Device(x.device).synchronize()
                self.copies[x.device] = found
        return found


def _list_edges(x: Any, bins: Any, range: Any) -> NDArray[Any] | _Kept:
    """numpy.histogram_bin_edges in float64; those of plain numbers are kept for the next call."""
    return _find_kept(x.dtype, bins, range) or _make_edges(x, bins, range)


def _find_kept(dtype: Any, bins: Any, range: Any) -> _Kept | None:
    """The edges of plain numbers, or of bytes that are counted by value; None for others."""
    if type(bins) is not int or bins > EDGES_KEPT:
        return None
    if dtype == BYTES:
        is_by_value = bins == BYTE_BINS and range is None
        return _list_even_edges(SUMS, BYTE_BINS, 0, BYTE_BINS) if is_by_value else None
    is_plain = dtype in NUMBERS and type(range) is tuple and len(range) == 2
    if is_plain and all(type(end) in (int, float) for end in range):
        return _list_even_edges(dtype, bins, *range)
    return None


@functools.lru_cache(maxsize=16)
def _list_even_edges(dtype: Any, bins: int, low: float, high: float) -> _Kept:
    """The edges do not depend on the elements, but NumPy rounds them to their type."""
    return _Kept(_make_edges(numpy.empty(0, dtype), bins, (low, high)))


def _make_edges(x: Any, bins: Any, range: Any) -> NDArray[Any]:
    """numpy.histogram_bin_edges in float64, which represents every edge exactly."""
    _check_range(range)
    _check_bins(bins)
    values = x
    if isinstance(x, _core.DeviceArray):
        if isinstance(bins, str):
            raise _core.ArgumentError(
                f"histogram: bins is {bins!r}, which NumPy makes from all elements; a device array "
                "takes a number of bins, or their edges"
            )
        known = range is not None or numpy.ndim(bins) != 0
        values = numpy.empty(0, x.dtype) if known else _extremes(x)
    try:
        edges = numpy.ascontiguousarray(numpy.histogram_bin_edges(values, bins, range), "float64")
    except TypeError as error:
        raise _core.ArgumentTypeError(f"histogram: {error}") from error
    except ValueError as error:
        raise _core.ArgumentError(f"histogram: {error}") from error
    if edges.size == 0 or numpy.isnan(edges).any():
        raise _core.ArgumentError("histogram: bins needs edges, and none of them NaN")
    return edges


@overload
def histogram(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    bins: int | ArrayLike = 256,
    range: tuple[float, float] | None = None,
    *,
    weights: ArrayLike | DeviceArray | None = None,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray: ...
@overload
def histogram(
    x: ArrayLike,
    bins: int | ArrayLike = 256,
    range: tuple[float, float] | None = None,
    *,
    weights: ArrayLike | DeviceArray | None = None,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> numpy.ndarray[Any, Any]: ...
def histogram(
    x: Any,
    bins: Any = 256,
    range: Any = None,
    *,
    weights: Any = None,
    variant: str = "auto",
    out: Any = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> Any:
    """Count how many elements lie in each bin, as numpy.histogram does, or add up their weights.

    A bin holds what is not below its left edge and below its right one; the last bin holds its
    right edge too. NaN is in no bin, and needs a range. numpy.histogram_bin_edges(x, bins, range)
    are the edges. For a device array without range, its least and its greatest element alone are
    copied to the host, and the call waits for them.

    Parameters
    ----------
    x : array-like or DeviceArray
        Of any shape, taken as one dimension: uint8, float32 or int32. Never changed.
    bins : int, or the edges
        How many bins of equal width, 256 by default (NumPy's default is 10); or their edges,
        ascending, one more than bins. uint8 is counted by value: bins is 256 then, and
        x.astype("int32") takes others.
    range : (lower, upper), optional
        The ends of the first and of the last bin; what lies outside is not counted. By default the
        least and the greatest element. For uint8 None, (0, 256) or (0, 255), which mean the same.
    weights : array-like or DeviceArray, optional
        A number for each element of x, of its shape: bins hold the sums of the weights of their
        elements. They are added in float64, on a GPU in the order in which its blocks come by: the
        last bits of sums that are not exact can differ from call to call.
    variant : str
        A key of smemkit.variants("histogram"), with weights of
        smemkit.variants("histogram_weighted"); or "auto": the fastest that takes the call.
    out : numpy.ndarray or DeviceArray, optional
        Takes the counts, int64, or the sums, float64: one for each bin; of the same kind as x.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend(), or that of x.
    device : int, str or Device, optional
        Of the machine; by default its present one, or that of the device arrays.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.

    Shapes
    ------
    Any -> (bins,); with weights: any, the same -> (bins,)

    Returns
    -------
    The counts, int64, or the sums of weights, float64: a numpy.ndarray, or a DeviceArray where x is
    one.

    Raises
    ------
    ArgumentError (ValueError) for bins, a range or a variant that cannot be; ArgumentTypeError
    (TypeError) for another element type, and for weights that are no real numbers or that lie
    elsewhere than x; ShapeError (ValueError) for an out or weights of another shape;
    OutOfMemoryError; BackendError and CudaError (RuntimeError) where the machine fails.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.array([0.5, 1.5, 1.75, 3], dtype="float32")
    >>> smemkit.histogram(x, 3, (0, 3), backend="sim").tolist()
    [1, 2, 1]
    >>> smemkit.histogram(x, 3, (0, 3), weights=[1, 2, 0.5, 8], backend="sim").tolist()
    [1.0, 2.5, 8.0]
    """
    if stream is None and weights is None and type(x) is _core.DeviceArray:
        edges = _find_kept(x.dtype, bins, range)
        if edges is not None:
            return _core.histogram(
                x,
                edges.place(x),
                variant=variant,
                out=_core._beside(x, edges.size - 1, COUNTS) if out is None else out,
                backend=backend,
                device=device,
            )
    how = {"variant": variant, "backend": backend, "device": device, "stream": stream}
    with contextlib.nullcontext() if stream is None else _core.Stream(stream):
        return _count(x, bins, range, weights, out, how)


def _take_weights(weights: Any, x: Any) -> Any:
    """The weights in float64 and in one dimension, on the machine of x; typed errors if not."""
    on_device = isinstance(x, _core.DeviceArray)
    if isinstance(weights, _core.DeviceArray) and not on_device:
        raise _core.ArgumentTypeError(
            "histogram: weights is a DeviceArray and x is not: pass both in the same place "
            "(smemkit.asarray, smemkit.asnumpy)"
        )
    if not isinstance(weights, _core.DeviceArray):
        _refuse_masked(weights, "weights")
        try:
            weights = numpy.asarray(weights)
        except ValueError as error:  # lengths that differ
            raise _core.ArgumentError(f"histogram: weights: {error}") from error
    if weights.dtype.kind not in "biuf":
        raise _core.ArgumentTypeError(
            f"histogram: weights has the type {weights.dtype}; real numbers are needed"
        )
    if tuple(weights.shape) != tuple(x.shape):
        raise _core.ShapeError(
            f"histogram: weights has the shape {tuple(weights.shape)}, x has {tuple(x.shape)}"
        )
    flat = weights.astype("float64").reshape(-1)
    return flat if isinstance(flat, _core.DeviceArray) or not on_device else _core._beside(x, flat)


def _count(x: Any, bins: Any, range: Any, weights: Any, out: Any, how: dict[str, Any]) -> Any:
    """histogram, on the stream of the thread."""
    on_device = isinstance(x, _core.DeviceArray)
    if not on_device:
        x = numpy.asanyarray(x)
        _refuse_masked(x)
        x = x.data if isinstance(x, numpy.ma.MaskedArray) else x
    if x.dtype == numpy.uint8:
        edges: Any = _byte_edges(bins, range)
    elif x.dtype.newbyteorder("=") in (numpy.float32, numpy.int32):
        edges = _list_edges(x, bins, range)
    else:
        raise _core.ArgumentTypeError(
            f"histogram: x has the type {x.dtype}; accepted are: uint8 float32 int32"
        )
    result = COUNTS if weights is None else SUMS
    if weights is not None:
        weights = _take_weights(weights, x)
    if on_device:
        if out is None:
            out = _core._beside(x, edges.size - 1, result)
        edges = edges.place(x) if isinstance(edges, _Kept) else _core._beside(x, edges)
    elif out is None:
        out = numpy.empty(edges.size - 1, result)
    edges = edges.edges if isinstance(edges, _Kept) else edges
    if weights is None:
        return _core.histogram(x, edges, out=out, **how)
    return _core.histogram_weighted(x.reshape(-1), weights, edges, out=out, **how)


@overload
def histogram_weighted(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    weights: ArrayLike | DeviceArray,
    bins: int | ArrayLike = 256,
    range: tuple[float, float] | None = None,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray: ...
@overload
def histogram_weighted(
    x: ArrayLike,
    weights: ArrayLike,
    bins: int | ArrayLike = 256,
    range: tuple[float, float] | None = None,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> numpy.ndarray[Any, Any]: ...
def histogram_weighted(
    x: Any,
    weights: Any,
    bins: Any = 256,
    range: Any = None,
    *,
    variant: str = "auto",
    out: Any = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> Any:
    """Add up the weights of the elements in each bin: histogram(x, bins, range, weights=weights).

    Parameters
    ----------
    x, weights, bins, range, variant, out, backend, device, stream
        As those of smemkit.histogram, which says more.

    Shapes
    ------
    Any, the same -> (bins,)

    Returns
    -------
    The sums of weights, float64: a numpy.ndarray, or a DeviceArray where x is one.

    Raises
    ------
    As smemkit.histogram.

    Example
    -------
    >>> import numpy, smemkit
    >>> x = numpy.array([0.5, 1.5, 1.75], dtype="float32")
    >>> smemkit.histogram_weighted(x, [1, 2, 0.5], 3, (0, 3), backend="sim").tolist()
    [1.0, 2.5, 0.0]
    """
    if weights is None:
        raise _core.ArgumentTypeError("histogram_weighted: weights is None; numbers are needed")
    how: dict[str, Any] = {"variant": variant, "out": out, "backend": backend, "device": device}
    return histogram(x, bins, range, weights=weights, stream=stream, **how)
