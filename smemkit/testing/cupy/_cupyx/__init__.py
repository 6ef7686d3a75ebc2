"""cupyx: what stands beside cupy."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy

from .. import ElementwiseKernel
from .._array import ndarray, strip
from .._refuse import find_module


def scatter_add(a: ndarray, slices: Any, value: Any) -> None:
    """Adds to elements by index, all of those that occur several times."""
    a.scatter_add(slices, value)


def scatter_max(a: ndarray, slices: Any, value: Any) -> None:
    """Takes the larger of elements and values, by index."""
    numpy.maximum.at(a._host, strip(slices), strip(value))


def scatter_min(a: ndarray, slices: Any, value: Any) -> None:
    """Takes the smaller of elements and values, by index."""
    numpy.minimum.at(a._host, strip(slices), strip(value))


def empty_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    """An array of the host."""
    return numpy.empty(shape, dtype, order)


def zeros_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    """An array of the host, of zeros."""
    return numpy.zeros(shape, dtype, order)


empty_like_pinned, zeros_like_pinned = numpy.empty_like, numpy.zeros_like
rsqrt = ElementwiseKernel("T x", "T y", "y = rsqrt(x)", "rsqrt")
errstate = numpy.errstate


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Any:
    """A block; everything is synchronous here."""
    yield


def get_runtime_info(*, full: bool = False) -> str:
    """Facts of this module, a line each."""
    from .. import __version__
    from ..cuda import Device, runtime

    properties = runtime.getDeviceProperties(0)
    rows = {
        "CuPy Version": f"smemkit's stand-in, smemkit {__version__}",
        "NumPy Version": numpy.__version__,
        "CUDA Driver Version": runtime.driverGetVersion(),
        "Device 0 Name": properties["name"].decode(),
        "Device 0 Compute Capability": Device().compute_capability,
        "Device 0 PCI Bus ID": Device().pci_bus_id,
    }
    return "".join(f"{name:<28}: {value}\n" for name, value in rows.items())


def __getattr__(name: str) -> Any:
    return find_module(__name__, name)
