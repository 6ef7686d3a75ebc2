"""Parameters of ElementwiseKernel and ReductionKernel: their text, their types, their arguments."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy

from ._array import ndarray
from ._memory import MemoryPointer

C_NAMES = {
    "?": "bool",
    "b": "signed char",
    "B": "unsigned char",
    "h": "short",
    "H": "unsigned short",
    "i": "int",
    "I": "unsigned int",
    "l": "long long",
    "L": "unsigned long long",
    "q": "long long",
    "Q": "unsigned long long",
    "e": "float16",
    "f": "float",
    "d": "double",
    "F": "complex<float>",
    "D": "complex<double>",
}
BLOCK = 128
NAME = re.compile(r"[A-Za-z_]\w*")


class Parameter(NamedTuple):
    """ "raw T x"."""

    kind: str  # "T", or the name of a NumPy type
    name: str
    raw: bool

    @property
    def is_open(self) -> bool:
        """Whether the type follows from the arguments."""
        return len(self.kind) == 1

    @property
    def dtype(self) -> Any:
        """The type that the text names; None for one letter."""
        return None if self.is_open else numpy.dtype(self.kind)


def read_parameters(text: str) -> tuple[Parameter, ...]:
    """The parameters of "T x, raw float32 y"."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        words = part.split()
        if len(words) < 2:
            raise Exception(f"Syntax error: {part}")
        *rest, kind, name = words
        for word in rest:
            if word not in ("raw", "_non_const", "const"):
                raise Exception(f'Unknown keyword "{word}"')
        found.append(Parameter(kind, name, "raw" in rest))
    return tuple(found)


def check_name(name: str) -> None:
    """ValueError for what cannot name a kernel."""
    if not NAME.fullmatch(name):
        raise ValueError(f'Invalid kernel name: "{name}"')


def name_type(dtype: Any) -> str:
    """The type of CUDA C for one of NumPy."""
    dtype = numpy.dtype(dtype)
    if dtype.char not in C_NAMES:
        raise TypeError(
            f"smemkit's stand-in of CuPy: kernels made of expressions take no elements of {dtype}"
        )
    return C_NAMES[dtype.char]


def read_argument(value: Any) -> Any:
    """An array, or a scalar of NumPy or Python."""
    if isinstance(value, ndarray | numpy.generic | bool | int | float | complex):
        return value
    if isinstance(value, numpy.ndarray):
        if value.ndim == 0:
            return value[()]
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, MemoryPointer):
        raise TypeError("an array is needed, not a pointer")
    if hasattr(value, "__cupy_get_ndarray__") or hasattr(value, "__cuda_array_interface__"):
        from ._functions import asarray

        return asarray(value)
    raise TypeError(f"Unsupported type {type(value)}")


class Types:
    """The types of the letters of a kernel's parameters."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def note(self, parameter: Parameter, dtype: Any) -> None:
        """Takes the type of an argument; TypeError where it differs from what is known."""
        dtype = numpy.dtype(dtype)
        if not parameter.is_open:
            if parameter.dtype != dtype:
                raise TypeError(f"Type is mismatched. {parameter.name} {dtype} {parameter.dtype}")
            return
        known = self.found.setdefault(parameter.kind, dtype)
        if known != dtype:
            raise TypeError(f"Type is mismatched. {parameter.name} {dtype} {known}")

    def get(self, parameter: Parameter) -> Any:
        """The type of a parameter; ValueError where no argument tells it."""
        if not parameter.is_open:
            return parameter.dtype
        if parameter.kind not in self.found:
            raise TypeError(f"the type {parameter.kind} of {parameter.name} is not known")
        return self.found[parameter.kind]

    @property
    def code(self) -> str:
        """Lines of typedef."""
        rows = sorted(self.found.items())
        return "".join(f"typedef {name_type(dtype)} {letter};\n" for letter, dtype in rows)


def find_types(
    ins: tuple[Parameter, ...], outs: tuple[Parameter, ...], args: Any, out_args: Any
) -> Types:
    """The types by outputs and arrays, then by NumPy's scalars, then by Python's."""
    types = Types()
    for parameter, value in zip(outs, out_args, strict=False):
        types.note(parameter, value.dtype)
    pairs = list(zip(ins, args, strict=True))
    for parameter, value in pairs:
        if isinstance(value, ndarray):
            types.note(parameter, value.dtype)
    for kind in (numpy.generic, bool, complex, float, int):
        for parameter, value in pairs:
            if parameter.is_open and isinstance(value, kind) and parameter.kind not in types.found:
                types.note(parameter, numpy.asarray(value).dtype)
    return types


def pack_array(array: Any) -> bytes:
    """A CArray as the kernel gets it."""
    host = array._host
    facts = [array.data.ptr, host.size]
    facts += list(host.shape) or [0]
    facts += list(host.strides) or [0]
    return numpy.array(facts, numpy.int64).tobytes()


def pack_indexer(shape: tuple[int, ...]) -> bytes:
    """A CIndexer as the kernel gets it."""
    axes = max(len(shape), 1)
    facts = [int(numpy.prod(shape, dtype=object)), *(shape or (0,)), *([0] * axes)]
    return numpy.array(facts, numpy.int64).tobytes()


def pack_scalar(value: Any, dtype: Any) -> Any:
    """A scalar as the kernel gets it."""
    made = numpy.asarray(value)
    if isinstance(value, int) and numpy.dtype(dtype).kind in "iu":
        made = numpy.asarray(value % 2 ** (8 * numpy.dtype(dtype).itemsize), numpy.uint64)
    made = made.astype(dtype)
    return made.tobytes() if made.dtype.char in "eFD" else made[()]


def list_headers(types: Any) -> str:
    """The headers that kernels with elements of these types need."""
    kinds = {numpy.dtype(dtype).char for dtype in types}
    lines = ["#include <cupy/carray.cuh>"]
    if kinds & set("FD"):
        lines.append("#include <cupy/complex.cuh>")
    if "e" in kinds:
        lines.append("#include <cupy/float16.cuh>")
    return "".join(f"{line}\n" for line in lines)
