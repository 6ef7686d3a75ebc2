"""Device arrays that Python code makes or prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from . import _core
from ._core import DeviceArray, Error, asarray, asnumpy

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike, NDArray

    from ._types import Array, Backend, DeviceLike, Shape, StreamLike

__all__ = [
    "arange",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


# Making ------------------------------------------------------------------------------------------


def _full(
    function: str,
    shape: Shape,
    fill_value: Any,
    dtype: DTypeLike,
    backend: Backend | None,
    device: DeviceLike | None,
    stream: StreamLike | None,
) -> DeviceArray:
    array = _core._empty(function, shape, dtype, backend, device, stream)
    array.fill(fill_value, stream=stream)
    return array


def full(
    shape: Shape,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array whose elements all have one value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : scalar
    dtype : dtype-like, optional
        By default the type that NumPy gives the value.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    Any, also without axes and without elements.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ShapeError, ArgumentError (both ValueError), BackendError,
    OutOfMemoryError (MemoryError).


    Example
    -------
    >>> import smemkit
    >>> smemkit.full((2, 2), 3, backend="sim")
    DeviceArray([[3, 3],
                 [3, 3]], shape=(2, 2), dtype=int64, device='sim')
    """
    kind = numpy.asarray(fill_value).dtype if dtype is None else dtype
    return _full("full", shape, fill_value, kind, backend, device, stream)


def zeros(
    shape: Shape,
    dtype: DTypeLike = "float32",
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype-like
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    Any, also without axes and without elements.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ShapeError, ArgumentError (both ValueError), BackendError,
    OutOfMemoryError (MemoryError).


    Example
    -------
    >>> import smemkit
    >>> smemkit.zeros(3, backend="sim")
    DeviceArray([0., 0., 0.], shape=(3,), dtype=float32, device='sim')
    """
    kind = numpy.asarray(0).dtype if dtype is None else dtype
    return _full("zeros", shape, 0, kind, backend, device, stream)


def ones(
    shape: Shape,
    dtype: DTypeLike = "float32",
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of ones.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype-like
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    Any, also without axes and without elements.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ShapeError, ArgumentError (both ValueError), BackendError,
    OutOfMemoryError (MemoryError).


    Example
    -------
    >>> import smemkit
    >>> smemkit.ones(3, backend="sim")
    DeviceArray([1., 1., 1.], shape=(3,), dtype=float32, device='sim')
    """
    kind = numpy.asarray(1).dtype if dtype is None else dtype
    return _full("ones", shape, 1, kind, backend, device, stream)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of evenly spaced values, those of numpy.arange.

    Parameters
    ----------
    start, stop, step : real numbers
        With one of them alone, the values from 0 up to it.
    dtype : dtype-like, optional
        By default as NumPy chooses it.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    One axis.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError, OutOfMemoryError
    (MemoryError), and what numpy.arange raises.

    Example
    -------
    >>> import smemkit
    >>> smemkit.arange(1, 10, 3, backend="sim")
    DeviceArray([1, 4, 7], shape=(3,), dtype=int64, device='sim')
    """
    first, last = (0, start) if stop is None else (start, stop)
    # NumPy's stub wants three numbers of one type, and a type that goes with them.
    values: Any = numpy.arange(first, last, step, dtype)  # type: ignore[call-overload]
    return asarray(values, backend=backend, device=device, stream=stream)


def _empty_like(
    function: str,
    like: Any,
    dtype: DTypeLike | None,
    backend: Backend | None,
    device: DeviceLike | None,
    stream: StreamLike | None,
) -> DeviceArray:
    given = like if hasattr(like, "dtype") and hasattr(like, "shape") else numpy.asarray(like)
    if isinstance(given, DeviceArray):
        if backend is None and (device is None or isinstance(device, int)):
            backend = given.backend
        if device is None and backend == given.backend:
            device = given.device
    kind = given.dtype if dtype is None else dtype
    return _core._empty(function, given.shape, kind, backend, device, stream)


def _full_like(
    function: str,
    like: Array,
    fill_value: Any,
    dtype: DTypeLike | None,
    backend: Backend | None,
    device: DeviceLike | None,
    stream: StreamLike | None,
) -> DeviceArray:
    array = _empty_like(function, like, dtype, backend, device, stream)
    array.fill(fill_value, stream=stream)
    return array


def empty_like(
    like: Array,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of the shape and type of another array; its elements are unspecified.

    Parameters
    ----------
    like : DeviceArray or array-like
    dtype : dtype-like, optional
        By default the type of `like`.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of a DeviceArray, else that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default that of a DeviceArray, else its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    The shape of `like`, in C order.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError, OutOfMemoryError
    (MemoryError).


    Example
    -------
    >>> import numpy, smemkit
    >>> smemkit.empty_like(numpy.ones((2, 3)), "float32", backend="sim").nbytes
    24
    """
    return _empty_like("empty_like", like, dtype, backend, device, stream)


def full_like(
    like: Array,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of the shape and type of another array, filled with one value.

    Parameters
    ----------
    like : DeviceArray or array-like
    fill_value : scalar
    dtype : dtype-like, optional
        By default the type of `like`.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of a DeviceArray, else that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default that of a DeviceArray, else its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    The shape of `like`, in C order.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError, OutOfMemoryError
    (MemoryError).


    Example
    -------
    >>> import smemkit
    >>> smemkit.full_like([1, 2], 7, backend="sim")
    DeviceArray([7, 7], shape=(2,), dtype=int64, device='sim')
    """
    return _full_like("full_like", like, fill_value, dtype, backend, device, stream)


def zeros_like(
    like: Array,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of zeros with the shape and type of another array.

    Parameters
    ----------
    like : DeviceArray or array-like
    dtype : dtype-like, optional
        By default the type of `like`.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of a DeviceArray, else that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default that of a DeviceArray, else its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    The shape of `like`, in C order.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError, OutOfMemoryError
    (MemoryError).


    Example
    -------
    >>> import smemkit
    >>> smemkit.zeros_like([1.5, 2.5], backend="sim")
    DeviceArray([0., 0.], shape=(2,), dtype=float64, device='sim')
    """
    return _full_like("zeros_like", like, 0, dtype, backend, device, stream)


def ones_like(
    like: Array,
    dtype: DTypeLike | None = None,
    backend: Backend | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike | None = None,
) -> DeviceArray:
    """A new device array of ones with the shape and type of another array.

    Parameters
    ----------
    like : DeviceArray or array-like
    dtype : dtype-like, optional
        By default the type of `like`.
    backend : "auto", "cuda" or "sim", optional
        The machine; by default that of a DeviceArray, else that of smemkit.get_backend().
    device : int, str or Device, optional
        Of the machine; by default that of a DeviceArray, else its present one.
    stream : stream, optional
        Where the work goes: a smemkit.Stream, one of CuPy, PyTorch or Numba, a handle, or what has
        __cuda_stream__; by default that of `with stream:`, else the default stream.


    Shapes
    ------
    The shape of `like`, in C order.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError, OutOfMemoryError
    (MemoryError).


    Example
    -------
    >>> import smemkit
    >>> smemkit.ones_like([1.5, 2.5], backend="sim")
    DeviceArray([1., 1.], shape=(2,), dtype=float64, device='sim')
    """
    return _full_like("ones_like", like, 1, dtype, backend, device, stream)


# Printing ----------------------------------------------------------------------------------------

NAME = "DeviceArray"


def _fetch_edges(array: DeviceArray, edge: int) -> NDArray[Any]:
    """A NumPy array that NumPy, when it leaves out the middle, prints as it would print `array`.

    It has the first and last elements along each axis, and of a long axis one element between them.
    """
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * edge + 1:
            at = (slice(None),) * axis
            parts = (slice(None, edge + 1), slice(array.shape[axis] - edge, None))
            return numpy.concatenate([_fetch_edges(array[*at, part], edge) for part in parts], axis)
    return asnumpy(array)


def represent(array: DeviceArray) -> str:
    """The text of repr(array): the values as NumPy abbreviates them, shape, type and device."""
    facts = f"shape={array.shape}, dtype={array.dtype}, device='{array.device}')"
    options = numpy.get_printoptions()
    edge = options["edgeitems"]
    shortens = array.size > options["threshold"]
    try:
        values = _fetch_edges(array, edge) if shortens and edge > 0 else asnumpy(array)
    except Error as error:  # a kernel has failed, say: what is known is still worth printing
        return f"{NAME}(<{type(error).__name__}>, {facts}"
    text = numpy.array2string(
        values, separator=", ", prefix=f"{NAME}(", threshold=0 if shortens else values.size
    )
    return f"{NAME}({text}, {facts}"
