"""Functions of the module cupy: those that make arrays, and NumPy's on arrays of the device."""

from __future__ import annotations

import functools
from typing import Any

import numpy

from ._array import Ufunc, adopt, call, check_dtype, check_operands, copy_in, ndarray, strip
from ._memory import Memory, MemoryPointer

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "copy",
    "copyto",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "fromfile",
    "full",
    "full_like",
    "get_array_module",
    "identity",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "require",
    "tri",
    "zeros",
    "zeros_like",
]
# What NumPy has and CuPy has not, or does in another way.
LEFT_OUT = frozenset(
    """
    array2string array_repr array_str asmatrix bmat datetime64 timedelta64 fromstring frompyfunc
    genfromtxt loadtxt lookfor matrix memmap nditer ndenumerate object_ rec record savetxt str_
    bytes_ vectorize ufunc ndarray chararray char test longdouble clongdouble
    """.split()
)


def asnumpy(
    a: Any, stream: Any = None, order: Any = "C", out: Any = None, *, blocking: bool = True
) -> Any:
    """A NumPy array with the elements of any array.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> cupy.asnumpy(cupy.arange(3)).tolist()
    [0, 1, 2]
    """
    if isinstance(a, ndarray):
        return a.get(order=order, out=out)
    found = numpy.asarray(a, order=None if order == "A" else order)
    if out is None:
        return found
    out[...] = found
    return out


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """An array of the device, always a copy unless copy is false.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> cupy.array([[1, 2]], dtype="float32").shape
    (1, 2)
    """
    if isinstance(obj, ndarray):
        same = dtype is None or numpy.dtype(dtype) == obj.dtype
        if not copy and same and obj.ndim >= ndmin:
            return obj
        host = obj._host
    else:
        host = _read_foreign(obj)
    host = numpy.array(host, dtype=dtype, copy=None, order=order, ndmin=ndmin)
    check_dtype(host.dtype)
    return copy_in(host, "C" if order is None else order)


def _read_foreign(obj: Any) -> Any:
    """What NumPy reads of an object that may hold arrays of the device."""
    if hasattr(obj, "__cupy_get_ndarray__"):
        return obj.__cupy_get_ndarray__()._host
    facts = getattr(obj, "__cuda_array_interface__", None)
    if facts is not None and not isinstance(obj, numpy.ndarray):
        return _read_interface(obj, facts)._host
    return strip(obj)


def _read_interface(obj: Any, facts: dict[str, Any]) -> ndarray:
    """The array of an object with a __cuda_array_interface__, in the same memory."""
    from ... import _core

    if isinstance(obj, _core.DeviceArray):
        memory = Memory(obj.nbytes, obj)
        return ndarray(facts["shape"], facts["typestr"], MemoryPointer(memory, 0))
    address = facts["data"][0]
    for memory in Memory.list_all():
        if memory.ptr <= address < memory.ptr + max(memory.size, 1):
            dtype = numpy.dtype(facts["typestr"])
            if dtype.kind == "V" and facts.get("descr"):
                dtype = numpy.dtype([tuple(row) for row in facts["descr"]])
            pointer = MemoryPointer(memory, address - memory.ptr)
            return ndarray(facts["shape"], dtype, pointer, facts.get("strides"))
    raise NotImplementedError(
        "smemkit's stand-in of CuPy: an object with __cuda_array_interface__ must be one of its "
        f"arrays or of smemkit's, not {type(obj).__name__}"
    )


def asarray(a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> ndarray:
    """The array itself where it is one of the type, else a copy on the device.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> x = cupy.ones(3)
    >>> cupy.asarray(x) is x, type(cupy.asarray([1, 2])).__name__
    (True, 'ndarray')
    """
    if not isinstance(a, ndarray):
        if hasattr(a, "__cupy_get_ndarray__"):
            a = a.__cupy_get_ndarray__()
        elif getattr(a, "__cuda_array_interface__", None) is not None:
            a = _read_interface(a, a.__cuda_array_interface__)
    if isinstance(a, ndarray):
        host = numpy.asarray(a._host, dtype=dtype, order=None if order == "K" else order)
        return a if host is a._host else adopt(host, a)
    return array(a, dtype, order=order or "K")


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **words: Any) -> ndarray:
    """As asarray."""
    return asarray(a, dtype, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """The array with its elements side by side in C order."""
    return asarray(a, dtype, "C")


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """The array with its elements side by side in Fortran's order."""
    return asarray(a, dtype, "F")


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """As numpy.require, with the requirements C and F."""
    wanted = {str(one)[0].upper() for one in requirements or ()}
    return asarray(a, dtype, "F" if "F" in wanted else "C" if "C" in wanted else None)


def empty(shape: Any, dtype: Any = float, order: Any = "C", **words: Any) -> ndarray:
    """Memory that nobody has written yet, as smemkit.check will tell."""
    return ndarray(shape, dtype, order=order)


def zeros(shape: Any, dtype: Any = float, order: Any = "C", **words: Any) -> ndarray:
    """An array of zeros."""
    return full(shape, 0, dtype, order)


def ones(shape: Any, dtype: Any = float, order: Any = "C", **words: Any) -> ndarray:
    """An array of ones."""
    return full(shape, 1, dtype, order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **words: Any) -> ndarray:
    """An array whose elements all have one value."""
    if dtype is None:
        dtype = numpy.asarray(strip(fill_value)).dtype
    made = empty(shape, dtype, order)
    made._host[...] = strip(fill_value)
    return made


def _like(
    fill: Any, a: Any, dtype: Any = None, order: Any = "K", subok: Any = None, shape: Any = None
) -> ndarray:
    plan = numpy.empty_like(strip(a), dtype=dtype, order=order, subok=False, shape=shape)
    made = ndarray(plan.shape, plan.dtype)
    if plan.size:
        made._plan = (*made._plan[:3], plan.strides, "C")
    if fill is not None:
        made._host[...] = fill
    return made


def empty_like(a: Any, *args: Any, **words: Any) -> ndarray:
    """As numpy.empty_like."""
    return _like(None, a, *args, **words)


def zeros_like(a: Any, *args: Any, **words: Any) -> ndarray:
    """As numpy.zeros_like."""
    return _like(0, a, *args, **words)


def ones_like(a: Any, *args: Any, **words: Any) -> ndarray:
    """As numpy.ones_like."""
    return _like(1, a, *args, **words)


def full_like(a: Any, fill_value: Any, *args: Any, **words: Any) -> ndarray:
    """As numpy.full_like."""
    return _like(strip(fill_value), a, *args, **words)


def _make_maker(name: str) -> Any:
    function = getattr(numpy, name)

    @functools.wraps(function)
    def make(*args: Any, **words: Any) -> Any:
        return adopt(function(*strip(args), **strip(words)))

    return make


arange, eye, identity, linspace, logspace, meshgrid, tri, fromfile = map(
    _make_maker, "arange eye identity linspace logspace meshgrid tri fromfile".split()
)


def copy(a: Any, order: Any = "K") -> ndarray:
    """A copy in new memory."""
    return array(a, order=order)


def copyto(dst: ndarray, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """As numpy.copyto."""
    numpy.copyto(strip(dst), strip(src), casting=casting, where=strip(where))


def from_dlpack(x: Any, **words: Any) -> Any:
    """A copy of what another library holds."""
    return adopt(numpy.from_dlpack(x._host if isinstance(x, ndarray) else x))


def get_array_module(*args: Any) -> Any:
    """This module where one of the arguments is an array of it, else numpy."""
    import sys

    from . import __name__ as own

    return sys.modules[own] if any(isinstance(one, ndarray) for one in args) else numpy


def forward(function: Any, name: str) -> Any:
    """A function of NumPy as one of arrays of the device."""

    @functools.wraps(function)
    def forwarded(*args: Any, **words: Any) -> Any:
        check_operands(name, args)
        result = call(function, args, words)
        return adopt(numpy.asarray(result)) if type(result) is bool else result

    return forwarded


def find_name(name: str) -> Any:
    """What the module cupy has by NumPy's name; None where that is not forwarded."""
    if name.startswith("_") or name in LEFT_OUT or not hasattr(numpy, name):
        return None
    value = getattr(numpy, name)
    if isinstance(value, type) or not callable(value):
        return value if not isinstance(value, type(numpy)) else None
    if isinstance(value, numpy.ufunc):
        return Ufunc(value)
    return forward(value, name)
