"""Kernels of Numba: compiled to PTX by numba-cuda, without a GPU, and launched as Numba does."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .. import _core
from .._declarations import Element, Parameter
from ..report.languages import mark_ptx
from ._launcher import LAUNCH_WORDS, Launcher, make_kernel, read_arch
from ._lines import name_cells
from ._link import compile_kernel
from ._memory import name_element, read_array
from ._shared_names import name_shared_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from .._types import StreamLike
    from ._memory import ArrayFacts

    Lengths: TypeAlias = int | Sequence[int]

PACKAGE = "numba-cuda"
OLDEST = (0, 24)
ENTRY = re.compile(r"\.entry\s+([\w$]+)")
# Options of @cuda.jit that a compilation to PTX takes.
OPTIONS = ("fastmath", "opt", "debug")


class _Numba(NamedTuple):
    """What from_numba uses of Numba."""

    cuda: Any
    types: Any
    typeof: Any
    as_dtype: Any
    from_dtype: Any
    version: str


def _import_numba() -> _Numba:
    """numba-cuda, of a version that from_numba knows."""
    needed = f"from_numba needs numba-cuda {'.'.join(map(str, OLDEST))} or newer"
    try:
        version = importlib.metadata.version(PACKAGE)
        cuda = importlib.import_module("numba.cuda")
        typeof = importlib.import_module("numba").typeof
        known = importlib.import_module("numba.core.types")
        convert = importlib.import_module("numba.np.numpy_support")
    except ImportError as error:  # also PackageNotFoundError
        raise _core.CompileError(
            f"{needed}, and it cannot be imported: {error}; pip install 'smemkit[numba]'"
        ) from None
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise _core.CompileError(
            f"{needed}, and this is numba-cuda {version}; pip install 'smemkit[numba]'"
        )
    return _Numba(cuda, known, typeof, convert.as_dtype, convert.from_dtype, version)


class _Compiled(NamedTuple):
    """A kernel compiled for the types of its arguments."""

    raw: _core.RawKernel
    types: tuple[Any, ...]


def _get_layout(facts: ArrayFacts) -> str:
    """C, F or A, as Numba names the order of an array."""
    contiguous = facts.dtype.itemsize
    if not facts.shape or 0 in facts.shape:
        return "C"
    for order, lengths in (("C", facts.shape[::-1]), ("F", facts.shape)):
        strides, step = [], contiguous
        for length in lengths:
            strides.append(step)
            step *= length
        if tuple(strides if order == "F" else strides[::-1]) == facts.strides:
            return order
    return "A"


class NumbaKernel:
    """A kernel of Numba that runs on the simulator, and on a GPU; from_numba makes it.

    kernel[blocks, threads](*args) launches it, and kernel[blocks, threads, stream, shared_mem] too,
    as Numba does; profile(...), check(...) and predict(...) of kernel[...] take the same arguments.
    name is its name, source its Python, arch the compute capability for which it is compiled.
    compile(*args) gives the RawKernel without launching it.
    """

    def __init__(self, function: Any, numba: _Numba, arch: int, options: dict[str, Any]) -> None:
        self._function, self._numba, self._options = function, numba, options
        self.arch = arch
        self.name: str = function.__name__
        self._names = [*inspect.signature(function).parameters]
        self._fixed: _Compiled | None = None
        self._made: dict[Any, _Compiled] = {}

    @property
    def source(self) -> str:
        return inspect.getsource(self._function)

    def __repr__(self) -> str:
        return f"NumbaKernel(name={self.name!r}, arch={self.arch})"

    def __getitem__(self, key: Any) -> Launcher:
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise _core.ArgumentTypeError(
                f"{self.name}: write kernel[blocks, threads](*args), or kernel[blocks, threads, "
                "stream, shared_mem](*args)"
            )
        stream = key[2] if len(key) > 2 else None
        shared_mem = key[3] if len(key) > 3 else 0
        if isinstance(stream, int) and stream == 0:
            stream = None

        def run(*args: Any, **words: Any) -> None:
            self._launch(key[0], key[1], stream, shared_mem, args, words)

        return Launcher(self.name, f"{self!r}[{', '.join(map(repr, key))}]", run)

    def compile(self, *args: Any) -> _core.RawKernel:
        """The RawKernel for the types of these arguments, compiled where it is not yet.

        Of a kernel with a signature it needs no arguments.
        """
        if self._fixed is not None and not args:
            return self._fixed.raw
        return self._choose(args, self._read(args)).raw

    def take_signature(self, signature: Any) -> None:
        """Fixes the types of the parameters, and compiles the kernel for them."""
        try:
            given = importlib.import_module("numba.core.sigutils").normalize_signature(signature)[0]
        except Exception as error:  # a TypeError of Numba, or what evaluating the text raises
            raise _core.ArgumentError(
                f"{self.name}: {signature!r} is no signature of Numba, which are tuples of types "
                f"and texts such as 'void(float32[:], int32)': {error}"
            ) from None
        if len(given) != len(self._names):
            raise _core.ArgumentError(
                f"{self.name}: the signature has {len(given)} types, and the kernel "
                f"{len(self._names)} parameters: {', '.join(self._names)}"
            )
        self._fixed = self._make(tuple(given))

    # A call ---------------------------------------------------------------------------------------

    def _read(self, args: tuple[Any, ...]) -> list[ArrayFacts | None]:
        if len(args) != len(self._names):
            raise _core.ArgumentTypeError(
                f"{self.name} takes {len(self._names)} arguments ({', '.join(self._names)}), and "
                f"{len(args)} were given"
            )
        named = zip(self._names, args, strict=True)
        return [read_array(value, f"{self.name}: {name}") for name, value in named]

    def _choose(self, args: tuple[Any, ...], facts: Sequence[ArrayFacts | None]) -> _Compiled:
        """The kernel for these arguments."""
        if self._fixed is not None:
            return self._fixed
        given = tuple(
            self._infer(value, fact, f"{self.name}: {name}")
            for name, value, fact in zip(self._names, args, facts, strict=True)
        )
        if given not in self._made:
            self._made[given] = self._make(given)
        return self._made[given]

    def _infer(self, value: Any, facts: ArrayFacts | None, where: str) -> Any:
        """The type that Numba gives to an argument."""
        if facts is None:
            try:
                return self._numba.typeof(value)
            except ValueError as error:
                raise _core.ArgumentTypeError(
                    f"{where}: Numba has no type for it: {error}"
                ) from None
        try:
            element = self._numba.from_dtype(facts.dtype)
        except Exception as error:  # NumbaNotImplementedError, whose module depends on the version
            raise _core.ArgumentTypeError(
                f"{where} is an array of {facts.dtype}: {error}"
            ) from None
        layout = _get_layout(facts)
        return self._numba.types.Array(element, len(facts.shape), layout, readonly=facts.readonly)

    def _launch(
        self,
        grid: Lengths,
        block: Lengths,
        stream: StreamLike | None,
        shared_mem: int,
        args: tuple[Any, ...],
        words: dict[str, Any],
    ) -> None:
        for name in words:
            if name not in LAUNCH_WORDS:
                raise _core.ArgumentTypeError(
                    f"{self.name}: kernels of Numba take their arguments by position; {name!r} is "
                    f"none of {', '.join(LAUNCH_WORDS)}"
                )
        facts = self._read(args)
        made = self._choose(args, facts)
        values: list[Any] = []
        for name, kind, value, fact in zip(self._names, made.types, args, facts, strict=True):
            values += self._flatten(kind, value, fact, f"{self.name}: {name}")
        if stream is not None:
            words.setdefault("stream", stream)
        made.raw(grid, block, tuple(values), shared_mem=shared_mem, **words)

    def _flatten(self, kind: Any, value: Any, facts: ArrayFacts | None, where: str) -> list[Any]:
        """The values of PTX parameters for an argument of that type of Numba."""
        known = self._numba.types
        if isinstance(kind, known.Array):
            return self._flatten_array(kind, value, facts, where)
        if facts is not None:
            raise _core.ArgumentTypeError(f"{where} is {kind}, and an array was given")
        if isinstance(kind, known.BaseTuple):
            parts = zip(kind, value, strict=True)
            return [one for part, item in parts for one in self._flatten(part, item, None, where)]
        if kind == known.float16:
            return [int(numpy.float16(value).view(numpy.uint16))]
        if isinstance(kind, known.Complex):
            part = numpy.float32 if kind == known.complex64 else numpy.float64
            return [part(complex(value).real), part(complex(value).imag)]
        if isinstance(kind, known.NPDatetime | known.NPTimedelta):
            return [int(value.view(numpy.int64))]
        if isinstance(kind, known.Boolean):
            return [int(bool(value))]
        if isinstance(kind, known.Integer | known.Float):
            return [value]
        raise _core.ArgumentTypeError(
            f"{where} is {kind}; from_numba takes arrays, numbers, and tuples of numbers"
        )

    def _flatten_array(
        self, kind: Any, value: Any, facts: ArrayFacts | None, where: str
    ) -> list[Any]:
        """meminfo, parent, number of elements, bytes of one, address, lengths and strides."""
        if facts is None:
            raise _core.ArgumentTypeError(
                f"{where} is {kind}: it takes an array, not {type(value).__name__}"
            )
        wanted = self._numba.as_dtype(kind.dtype)
        layout = _get_layout(facts)
        if facts.dtype != wanted or len(facts.shape) != kind.ndim:
            raise _core.ArgumentTypeError(
                f"{where} is {kind}: it takes an array of {wanted} with {kind.ndim} dimensions, "
                f"not of {facts.dtype} with {len(facts.shape)}"
            )
        if (
            kind.layout != "A"
            and layout != kind.layout
            and not (kind.ndim == 1 and facts.strides == (facts.dtype.itemsize,))
        ):
            raise _core.ArgumentTypeError(
                f"{where} is {kind}, in order {kind.layout}, and the array is in order {layout}"
            )
        if facts.readonly and kind.mutable:
            raise _core.ArgumentTypeError(
                f"{where} is {kind}, which the kernel may write to, and the array is read-only"
            )
        size = int(numpy.prod(facts.shape, dtype=numpy.int64))
        return [0, 0, size, facts.dtype.itemsize, facts.passed, *facts.shape, *facts.strides]

    # Compilation ----------------------------------------------------------------------------------

    def _make(self, given: tuple[Any, ...]) -> _Compiled:
        options = {"lineinfo": True, **self._options}
        if options.get("debug"):
            options["lineinfo"] = False
        try:
            ptx, cooperative = compile_kernel(
                self._numba.cuda, self._function, given, self.arch, options
            )
        except Exception as error:  # of Numba's front end, or of NVVM
            advice = ""
            if any(
                word in f"{type(error).__name__} {error}".lower() for word in ("nvvm", "libdevice")
            ):
                advice = "; NVVM comes with pip install 'smemkit[numba]'"
            raise _core.CompileError(
                f"{self.name}: numba-cuda {self._numba.version}: {error}{advice}"
            ) from error
        head = ENTRY.search(ptx)
        if head is None:
            raise _core.CompileError(f"{self.name}: Numba made PTX without a kernel")
        ptx = re.sub(rf"(?<![\w$]){re.escape(head[1])}(?![\w$])", self.name, ptx)
        ptx = ptx.replace(f"{head[1]}_param_", f"{self.name}_param_")
        ptx = name_shared_arrays(ptx, self._function)
        ptx = mark_ptx(name_cells(ptx), "Numba", self._numba.version)
        raw = make_kernel(self.name, ptx, self.name, self.arch, cooperative=cooperative)
        declared = [
            one
            for name, kind in zip(self._names, given, strict=True)
            for one in self._declare(name, kind)
        ]
        raw._declare(tuple(declared))
        return _Compiled(raw, given)

    def _declare(self, name: str, kind: Any) -> list[Parameter]:
        """What the PTX parameters of an argument are called."""
        known = self._numba.types
        if isinstance(kind, known.Array):
            heads = [f"{name}.{part}" for part in ("meminfo", "parent", "size", "itemsize")]
            tails = [
                f"{name}.{part}[{i}]" for part in ("shape", "strides") for i in range(kind.ndim)
            ]
            dtype = self._numba.as_dtype(kind.dtype)
            element = Element(
                dtype.kind if dtype.kind in "iuf" else "", dtype.itemsize, 1, name_element(dtype)
            )
            return [
                *(Parameter(one, "int64", False, None) for one in heads),
                Parameter(name, f"{kind.dtype}[]", True, element),
                *(Parameter(one, "int64", False, None) for one in tails),
            ]
        if isinstance(kind, known.BaseTuple):
            return [
                one for i, part in enumerate(kind) for one in self._declare(f"{name}[{i}]", part)
            ]
        if isinstance(kind, known.Complex):
            return [
                Parameter(f"{name}.{part}", str(kind), False, None) for part in ("real", "imag")
            ]
        return [Parameter(name, str(kind), False, None)]


def from_numba(
    kernel: Any,
    signature: Any = None,
    *,
    arch: int | str | tuple[int, int] = 80,
    **options: Any,
) -> NumbaKernel:
    """A kernel of Numba as one of smemkit: compiled without a GPU, run, profiled and checked.

    numba-cuda compiles the kernel to PTX. Reports and findings name lines of the Python file, and
    shared arrays by the variables that hold them.

    Parameters
    ----------
    kernel : function
        With @cuda.jit or without; of a decorated one fastmath, opt and debug are taken over.
    signature : tuple of Numba's types, or str, optional
        (float32[:], int32), or "void(float32[:], int32)". The kernel is compiled at once. Without
        it each call decides by its arguments, as Numba does.
    arch : int, str or (major, minor)
        The compute capability for which it is compiled.
    **options
        Of numba.cuda.compile_ptx: fastmath, opt, debug.

    Shapes
    ------
    Any. NumPy arrays are handed over with the shapes and strides that they have.

    Returns
    -------
    NumbaKernel, to be launched as kernel[blocks, threads](*args), with backend=, device= and
    max_steps= as keywords, or as kernel[blocks, threads, stream, shared_mem](*args);
    kernel[blocks, threads] has profile(...), check(...) and predict(...), and kernel.compile(...)
    gives the RawKernel.

    Raises
    ------
    CompileError (RuntimeError) where numba-cuda or NVVM is missing or too old, or the kernel is
    refused; ArgumentTypeError (TypeError), ArgumentError (ValueError); UnsupportedError
    (NotImplementedError) for PTX that the simulator does not execute. A launch: as RawKernel.

    Example
    -------
    >>> import numpy, smemkit
    >>> from numba import cuda
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= 2
    >>> x = numpy.ones(1000, dtype="float32")
    >>> smemkit.from_numba(double)[4, 256](x)
    >>> x[:3].tolist()
    [2.0, 2.0, 2.0]
    """
    capability = read_arch(arch, "from_numba")
    numba = _import_numba()
    function = getattr(kernel, "py_func", kernel)
    if not inspect.isfunction(function):
        raise _core.ArgumentTypeError(
            f"from_numba takes a Python function, with @cuda.jit or without, not "
            f"{type(kernel).__name__}"
        )
    taken = dict(getattr(kernel, "targetoptions", {}))
    chosen = {name: taken[name] for name in OPTIONS if taken.get(name) is not None}
    made = NumbaKernel(function, numba, capability, {**chosen, **options})
    if signature is not None:
        made.take_signature(signature)
    return made
