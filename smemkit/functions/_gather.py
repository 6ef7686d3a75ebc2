"""gather: x[index] by a kernel. Indices in host memory are checked before the launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy

from .. import _core

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from .._core import DeviceArray
    from .._types import Backend, DeviceLike, StreamLike


class ArgumentIndexError(_core.ArgumentError, IndexError):
    """An index lies outside of the array."""


def _check_index(index: Any, size: int) -> NDArray[Any]:
    """The index as an int64 array; ArgumentIndexError unless all elements are in [-size, size)."""
    if numpy.ma.is_masked(index):
        raise _core.ArgumentTypeError(
            "gather: index is a masked array that hides elements, and kernels know no mask: fill "
            "it (index.filled(value)) or leave out what it hides (index.compressed()) first"
        )
    try:
        array = numpy.asarray(index)
    except ValueError as error:
        raise _core.ArgumentError(f"gather: index: {error}") from error
    if array.size == 0 and not isinstance(index, numpy.ndarray):
        array = array.astype("int64")  # an empty list is float64 to NumPy
    if array.dtype.kind not in "iu":
        raise _core.ArgumentTypeError(
            f"gather: index must have integer elements, not {array.dtype}"
        )
    if array.size:
        for end in (int(array.min()), int(array.max())):  # before uint64 could wrap
            if not -size <= end < size:
                raise ArgumentIndexError(
                    f"gather: index {end} is out of bounds for x with n = {size}"
                )
    return array.astype("int64", copy=False)


@overload
def gather(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    index: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray: ...
@overload
def gather(
    x: ArrayLike,
    index: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> numpy.ndarray[Any, Any]: ...
def gather(
    x: Any,
    index: Any,
    *,
    variant: str = "auto",
    out: Any = None,
    backend: Backend | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> Any:
    """Take elements by their index: out[j] = x[index[j]].

    Parameters
    ----------
    x : array-like or DeviceArray
        Of one dimension and any type of 1, 2, 4 or 8 bytes. Never changed.
    index : array-like or DeviceArray
        Integers in [-n, n); negative ones count from the end. A DeviceArray must be int64, and is
        not looked at by the host: an index outside gives 0.
    variant : str
        One of smemkit.variants("gather"), or "auto": the fastest.
    out : numpy.ndarray or DeviceArray, optional
        Takes the result, and is returned.
    backend : "auto", "cuda" or "sim", optional
        The machine to run on.
    device : int, str or Device, optional
        Of the machine; by default its present one, or that of the device arrays.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.

    Shapes
    ------
    (n),(m)->(m)

    Returns
    -------
    numpy.ndarray or DeviceArray
        Of the type of x.

    Raises
    ------
    ArgumentIndexError (IndexError, ValueError) for an index outside, in arrays of the host;
    ShapeError, ArgumentError (ValueError), ArgumentTypeError (TypeError), BackendError.

    Example
    -------
    >>> import smemkit
    >>> smemkit.gather([1.5, 2.5, 3.5], [2, 0, -1]).tolist()
    [3.5, 1.5, 3.5]
    """
    if not isinstance(index, _core.DeviceArray):
        size = numpy.shape(x)[0] if numpy.ndim(x) == 1 else None  # else the shape is the error
        if size is not None:
            index = _check_index(index, size)
    return _core.gather(
        x, index, variant=variant, out=out, backend=backend, device=device, stream=stream
    )
