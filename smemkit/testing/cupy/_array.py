"""ndarray: memory of the simulator's device with the methods of a NumPy array."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from ._memory import Memory, MemoryPointer, allocate_array

SUPPORTED = "?bhilqBHILQefdFDV"  # the types of elements that CuPy's arrays have


def check_dtype(dtype: Any) -> numpy.dtype[Any]:
    """The dtype; ValueError for one that CuPy has not."""
    found: numpy.dtype[Any] = numpy.dtype(dtype)
    if found.kind not in "?biufcV" or found.char in "gG" or found.hasobject:
        raise ValueError(f"Unsupported dtype {found}")
    return found


class ndarray:
    """An array in the memory of the simulator's device, with CuPy's name and conduct.

    Its elements lie where kernels find them, so a launch copies nothing. NumPy does the rest: what
    NumPy's arrays can do, these can, and give arrays of this type again. They turn into NumPy
    arrays by get() or cupy.asnumpy alone, as CuPy's.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> x = cupy.arange(6, dtype="float32").reshape(2, 3)
    >>> x.sum(axis=0).get().tolist(), x.data.ptr == x[:1].data.ptr
    ([3.0, 5.0, 7.0], True)
    """

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    size: int
    ndim: int
    nbytes: int
    itemsize: int
    strides: tuple[int, ...]
    flags: Any
    T: Any
    real: Any
    imag: Any
    _memory: Memory
    _plan: Any
    _made: numpy.ndarray[Any, Any] | None

    def __new__(cls, *args: Any, **words: Any) -> ndarray:
        return super().__new__(cls)

    def __init__(
        self,
        shape: Any,
        dtype: Any = float,
        memptr: MemoryPointer | None = None,
        strides: Any = None,
        order: Any = "C",
    ) -> None:
        dtype = check_dtype(dtype)
        shape = (int(shape),) if numpy.ndim(shape) == 0 else tuple(map(int, shape))
        if memptr is None:
            if strides is not None:
                raise ValueError("memptr is required if strides is given.")
            memptr = allocate_array(shape, dtype)
        self._memory, self._made = memptr.mem, None
        self._plan = shape, dtype, memptr._offset, strides, order or "C"

    @classmethod
    def _view(cls, memory: Memory, host: numpy.ndarray[Any, Any]) -> ndarray:
        made = ndarray.__new__(ndarray)
        made._memory, made._made = memory, host
        return made

    @property
    def _host(self) -> numpy.ndarray[Any, Any]:
        """The elements, as a NumPy array."""
        if self._made is None:
            shape, dtype, offset, strides, order = self._plan
            self._made = numpy.ndarray(
                shape,
                dtype,
                self._memory.bytes if self._memory.size else None,
                offset if self._memory.size else 0,
                strides,
                order,
            )
        return self._made

    # Facts ---------------------------------------------------------------------------------------

    @property
    def data(self) -> MemoryPointer:
        """Where the elements lie."""
        if self._made is None:
            return MemoryPointer(self._memory, self._plan[2])
        if self._memory.size == 0:
            return MemoryPointer(self._memory, 0)
        start = self._memory.bytes.__array_interface__["data"][0]
        return MemoryPointer(self._memory, self._made.__array_interface__["data"][0] - start)

    def _find_allocation(self) -> Any:
        """The allocation, where this array is the whole of it; else None."""
        whole = self._memory.array
        if whole is None or whole.dtype != self.dtype or whole.nbytes != self.nbytes:
            return None
        return whole if self._made is None or self._made.flags.forc else None

    @property
    def shape(self) -> Any:
        return self._plan[0] if self._made is None else self._made.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._made = self._host.reshape(shape)

    @property
    def dtype(self) -> Any:
        return self._plan[1] if self._made is None else self._made.dtype

    @property
    def device(self) -> Any:
        return self._memory.device

    @property
    def base(self) -> Any:
        return None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        facts = self._host.__array_interface__
        strides = None if self._host.flags.c_contiguous else self._host.strides
        return {
            "shape": self.shape,
            "typestr": facts["typestr"],
            "descr": facts["descr"],
            "strides": strides,
            "data": (self.data.ptr, False),
            "stream": 1,
            "version": 3,
        }

    def __dlpack__(self, **words: Any) -> Any:
        return self._host.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._host.__dlpack_device__()

    toDlpack = __dlpack__

    @property
    def _c_contiguous(self) -> bool:
        return bool(self._host.flags.c_contiguous)

    @property
    def _f_contiguous(self) -> bool:
        return bool(self._host.flags.f_contiguous)

    # To and from NumPy ---------------------------------------------------------------------------

    def get(
        self, stream: Any = None, order: Any = "C", out: Any = None, blocking: bool = True
    ) -> Any:
        """A copy as a NumPy array."""
        if out is None:
            return numpy.array(self._host, order="C" if order == "A" else order, copy=True)
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual: {out.shape}")
        out[...] = self._host
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        """Copies a NumPy array into this one, of the same shape and type."""
        if not isinstance(arr, numpy.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        self._host[...] = arr

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
        for value in inputs:
            if not is_operand(value):
                return NotImplemented
        return call(getattr(ufunc, method), inputs, words)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(kind, numpy.ndarray) for kind in types):
            return NotImplemented
        return call(function, args, kwargs)

    def __reduce__(self) -> Any:
        return _restore, (self._host,)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def copy(self, order: Any = "C") -> Any:
        """A copy in new memory."""
        return adopt(self._host.copy(order=order))

    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: Any = None,
        subok: Any = None,
        copy: bool = True,
    ) -> Any:
        """The elements as another type."""
        if not copy and numpy.dtype(dtype) == self.dtype:
            return self
        words: dict[str, Any] = {} if casting is None else {"casting": casting}
        return adopt(self._host.astype(check_dtype(dtype), order=order, copy=True, **words))

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """The same memory, with elements of another type."""
        return adopt(self._host.view() if dtype is None else self._host.view(dtype), self)

    def reduced_view(self, dtype: Any = None) -> Any:
        """The same memory with as few axes as possible."""
        return self.view(dtype)

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Adds to elements by index, all of those that occur several times."""
        numpy.add.at(self._host, strip(slices), strip(value))

    # Elements ------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return adopt(self._host[_complete(index)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[strip(index)] = strip(value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._host.item() if self.size == 1 else self._host)

    def __float__(self) -> float:
        return float(self._host.item() if self.size == 1 else self._host)

    def __complex__(self) -> complex:
        return complex(self._host.item() if self.size == 1 else self._host)

    def __index__(self) -> int:
        return operator.index(self._host.item() if not self.shape else self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    def __abs__(self) -> Any:
        return measure_complex(self) if self.dtype.kind == "c" else adopt(abs(self._host))

    def __format__(self, form: str) -> str:
        return format(self._host.item() if not self.shape else self._host, form)


def _restore(host: numpy.ndarray[Any, Any]) -> Any:
    return adopt(host)


def _complete(index: Any) -> Any:
    """The index with an ellipsis: NumPy then gives an array of no axes instead of a scalar."""
    index = strip(index)
    parts = index if isinstance(index, tuple) else (index,)
    return index if any(part is Ellipsis for part in parts) else (*parts, ...)


def is_operand(value: Any) -> bool:
    """Whether CuPy's operators take the value: its arrays, and scalars of NumPy and Python."""
    if isinstance(value, numpy.ndarray):
        return value.ndim == 0
    return isinstance(value, ndarray | numpy.generic | int | float | complex | bool)


def strip(value: Any) -> Any:
    """The value with the NumPy arrays of its arrays."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, Ufunc):
        return value.numpy
    if type(value) in (tuple, list):
        return type(value)(strip(item) for item in value)
    if type(value) is dict:
        return {key: strip(item) for key, item in value.items()}
    return value


def adopt(value: Any, *sources: ndarray) -> Any:
    """The value with arrays of the device for its NumPy arrays and scalars.

    An array that lies in the memory of one of the sources stays there, others are copied.
    """
    if isinstance(value, numpy.generic):
        value = numpy.asarray(value)
    if isinstance(value, numpy.ndarray):
        for source in sources:
            if source._memory.size and numpy.may_share_memory(value, source._memory.bytes):
                return ndarray._view(source._memory, value)
        if value.dtype.hasobject or value.dtype.kind not in "?biufcV":
            return value
        return copy_in(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(adopt(item, *sources) for item in value))
    if type(value) in (tuple, list):
        return type(value)(adopt(item, *sources) for item in value)
    return value


def copy_in(host: numpy.ndarray[Any, Any], order: Any = "K") -> ndarray:
    """A copy of a NumPy array in memory of the device."""
    made = numpy.empty_like(host, order=order, subok=False)  # for its strides
    result = ndarray(host.shape, host.dtype, None)
    if host.size:
        raw = result._memory.bytes
        result._made = numpy.ndarray(host.shape, host.dtype, raw, 0, made.strides)
        result._made[...] = host
    return result


def list_arrays(value: Any) -> list[ndarray]:
    """The arrays in arguments."""
    if isinstance(value, ndarray):
        return [value]
    if isinstance(value, tuple | list):
        return [array for item in value for array in list_arrays(item)]
    if isinstance(value, dict):
        return list_arrays(list(value.values()))
    return []


def call(function: Any, args: Any, words: Any) -> Any:
    """A function of NumPy on arrays of the device; out= gives back what it was given."""
    out = words.get("out")
    if isinstance(out, ndarray):
        words = {**words, "out": (out,)} if isinstance(function, numpy.ufunc) else words
    result = function(*strip(tuple(args)), **strip(dict(words)))
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if isinstance(out, ndarray) and not isinstance(result, tuple):
        return out
    return adopt(result, *list_arrays(args))


class Ufunc:
    """A universal function of NumPy, for arrays of the device."""

    def __init__(self, function: numpy.ufunc) -> None:
        self.numpy = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *args: Any, **words: Any) -> Any:
        check_operands(self.__name__, args)
        if self.numpy is numpy.absolute and len(args) == 1 and not words:
            if isinstance(args[0], ndarray) and args[0].dtype.kind == "c":
                return measure_complex(args[0])
        return call(self.numpy, args, words)

    def __repr__(self) -> str:
        return f"<ufunc 'cupy_{self.__name__}'>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "numpy":
            raise AttributeError(name)
        value = getattr(self.numpy, name)
        if not callable(value):
            return value
        return lambda *args, **words: call(value, args, words)


def measure_complex(value: Any) -> Any:
    """The lengths of complex numbers, with the bits that abs() has in cupy/complex.cuh."""
    host = value._host
    wide = numpy.float64 if host.dtype == numpy.complex64 else numpy.longdouble
    real, imag = host.real.astype(wide), host.imag.astype(wide)
    return adopt(numpy.sqrt(real * real + imag * imag).astype(host.real.dtype))


def check_operands(name: str, args: Any) -> None:
    """TypeError for NumPy arrays, which CuPy's functions do not take."""
    for value in args:
        if isinstance(value, numpy.ndarray) and value.ndim:
            raise TypeError(
                f"Unsupported type {type(value)}: cupy.{name} takes arrays of cupy; "
                "use cupy.asarray first"
            )


# Methods and operators of NumPy's arrays ---------------------------------------------------------

METHODS = """
all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum
diagonal dot flatten item max mean min nonzero prod ravel repeat reshape round searchsorted squeeze
std sum swapaxes take tobytes tolist trace transpose var
""".split()
CHANGING = "fill partition put sort".split()
FACTS = "T flags imag itemsize nbytes ndim real size strides".split()
BINARY = """
add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod
""".split()
COMPARED = "lt le eq ne gt ge".split()
UNARY = "neg pos invert".split()


def _make_method(name: str) -> Any:
    def method(self: ndarray, *args: Any, **words: Any) -> Any:
        out = words.get("out")
        result = getattr(self._host, name)(*strip(args), **strip(words))
        return out if isinstance(out, ndarray) else adopt(result, self)

    method.__name__ = name
    return method


def _make_change(name: str) -> Any:
    def method(self: ndarray, *args: Any, **words: Any) -> None:
        getattr(self._host, name)(*strip(args), **strip(words))

    method.__name__ = name
    return method


def _make_operator(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        if isinstance(other, numpy.ndarray) and other.ndim:
            raise TypeError(f"Unsupported type {type(other)}")
        result = getattr(self._host, name)(strip(other))
        return result if result is NotImplemented else adopt(result)

    method.__name__ = name
    return method


def _make_change_operator(name: str) -> Any:
    def method(self: ndarray, other: Any) -> Any:
        if isinstance(other, numpy.ndarray) and other.ndim:
            raise TypeError(f"Unsupported type {type(other)}")
        getattr(self._host, name)(strip(other))
        return self

    method.__name__ = name
    return method


def _make_unary(name: str) -> Any:
    return lambda self: adopt(getattr(self._host, name)())


def _make_fact(name: str) -> Any:
    def read(self: ndarray) -> Any:
        return adopt(getattr(self._host, name), self)

    if name not in ("real", "imag"):
        return property(read)

    def write(self: ndarray, value: Any) -> None:
        setattr(self._host, name, strip(value))

    return property(read, write)


for _name in METHODS:
    setattr(ndarray, _name, _make_method(_name))
for _name in CHANGING:
    setattr(ndarray, _name, _make_change(_name))
for _name in FACTS:
    setattr(ndarray, _name, _make_fact(_name))
for _name in BINARY:
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(ndarray, _form, _make_operator(_form))
    if _name != "divmod":
        setattr(ndarray, f"__i{_name}__", _make_change_operator(f"__i{_name}__"))
for _name in COMPARED:
    setattr(ndarray, f"__{_name}__", _make_operator(f"__{_name}__"))
for _name in UNARY:
    setattr(ndarray, f"__{_name}__", _make_unary(f"__{_name}__"))
