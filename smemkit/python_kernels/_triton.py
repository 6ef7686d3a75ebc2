"""Kernels of Triton: compiled to PTX by Triton, without a GPU, and launched as Triton does."""

from __future__ import annotations

import importlib
import inspect
import math
import os
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .. import _core
from ..report.languages import mark_ptx
from ._launcher import LAUNCH_WORDS, Launcher, join_causes, make_kernel, read_arch
from ._lines import name_callers, name_cells, name_file, repair_lines
from ._triton_types import (
    DIVISOR,
    Slot,
    check_value,
    convert_number,
    declare,
    infer_type,
    read_arguments,
    read_signature,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from ._memory import ArrayFacts

    Grid: TypeAlias = int | Sequence[int] | Callable[[dict[str, Any]], int | Sequence[int]]

OLDEST = (3, 4)  # the first that declares kernels with @triton.autotune without a driver
WARP = 32
PACKAGE = "triton"
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")


def _import_triton() -> Any:
    """The module triton, of a version that from_triton knows."""
    needed = f"from_triton needs Triton {'.'.join(map(str, OLDEST))} or newer"
    try:
        triton = importlib.import_module(PACKAGE)
    except ImportError as error:
        raise _core.CompileError(
            f"{needed}, and it cannot be imported: {error}; pip install 'smemkit[triton]'"
        ) from None
    version = str(getattr(triton, "__version__", "0"))
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if tuple(numbers) < OLDEST:
        raise _core.CompileError(
            f"{needed}, and this is Triton {version}; pip install 'smemkit[triton]'"
        )
    return triton


class _Layers(NamedTuple):
    """What stands around a kernel: @triton.autotune and @triton.heuristics."""

    kernel: Any  # a triton.JITFunction
    heuristics: tuple[Mapping[str, Callable[[dict[str, Any]], Any]], ...]
    configs: tuple[Any, ...]


def _unwrap(kernel: Any, triton: Any) -> _Layers:
    """Takes the decorators off a kernel."""
    heuristics: list[Any] = []
    configs: tuple[Any, ...] = ()
    inner = kernel
    for _ in range(16):
        if isinstance(inner, triton.JITFunction):
            return _Layers(inner, tuple(heuristics), configs)
        if hasattr(inner, "configs"):
            configs = tuple(inner.configs)
        elif isinstance(getattr(inner, "values", None), dict):
            heuristics.append(inner.values)
        inner = getattr(inner, "fn", None)
    if type(kernel).__name__ == "InterpretedFunction":
        raise _core.ArgumentTypeError(
            "from_triton: the environment variable TRITON_INTERPRET was set where the kernel was "
            "declared, so Triton interprets it and has nothing to compile; unset it"
        )
    raise _core.ArgumentTypeError(
        f"from_triton takes a function with @triton.jit, not {type(kernel).__name__}"
    )


class _Compiled(NamedTuple):
    """A kernel compiled for types and constants."""

    raw: _core.RawKernel
    names: tuple[str, ...]  # of the parameters that are not constants
    threads: int
    shared_bytes: int
    hidden: int  # pointers behind the parameters, which Triton's own launch adds
    scratch_bytes: int  # of global memory for a block, to which the first of them points


class TritonKernel:
    """A kernel of Triton that runs on the simulator, and on a GPU; from_triton makes it.

    kernel[grid](*args, **constants) launches it, where grid is an int, a tuple, or a function of a
    dict of the arguments, as for Triton; profile(...), check(...) and predict(...) of kernel[grid]
    take the same arguments. name is its name, source its Python, arch the compute capability for
    which Triton compiles it. compile(*args, **constants) gives the RawKernel without launching it.
    """

    def __init__(
        self, layers: _Layers, triton: Any, arch: int, config: int, options: dict[str, Any]
    ) -> None:
        self._layers, self._triton, self._options = layers, triton, options
        self.arch = arch
        self._config = layers.configs[config] if layers.configs else None
        function = layers.kernel
        self.name: str = function.__name__
        self._parameters = {one.name: one for one in function.params}
        self._slots: dict[str, Slot] | None = None
        self._made: dict[Any, _Compiled] = {}

    @property
    def source(self) -> str:
        return inspect.getsource(self._layers.kernel.fn)

    def __repr__(self) -> str:
        return f"TritonKernel(name={self.name!r}, arch={self.arch})"

    def __getitem__(self, grid: Grid) -> Launcher:
        def run(*args: Any, **keywords: Any) -> None:
            self._launch(grid, args, keywords)

        return Launcher(self.name, f"{self!r}[{grid!r}]", run)

    def compile(self, *args: Any, **keywords: Any) -> _core.RawKernel:
        """The RawKernel for the types of these arguments, compiled where it is not yet.

        Of a kernel with a signature it needs no arguments.
        """
        if self._slots is not None and not args and not keywords:
            return self._compile(self._slots, self._options).raw
        bound, options, _ = self._bind(args, keywords)
        return self._specialize(bound, read_arguments(bound, self.name), options)[0].raw

    def take_signature(self, signature: Any, constants: Mapping[str, Any] | None) -> None:
        """Fixes the types of the parameters, and compiles the kernel for them."""
        names = [*self._parameters]
        slots = read_signature(
            names, signature, {**self._list_config(), **(constants or {})}, self.name
        )
        for name, parameter in self._parameters.items():
            default = inspect.Parameter.empty
            if parameter.is_constexpr and parameter.has_default:
                default = parameter.default
            if name not in slots and default is inspect.Parameter.empty:
                what = (
                    "constants have no value"
                    if parameter.is_constexpr
                    else "the signature has no type"
                )
                raise _core.ArgumentError(f"{self.name}: {what} for {name}")
            slots.setdefault(name, Slot("constexpr", constant=default))
            if parameter.is_constexpr and not slots[name].is_constant:
                raise _core.ArgumentError(
                    f"{self.name}: {name} is a tl.constexpr and needs a value in constants"
                )
        self._slots = {name: slots[name] for name in names}
        self._compile(self._slots, self._options)

    # A call ---------------------------------------------------------------------------------------

    def _list_config(self) -> dict[str, Any]:
        return dict(self._config.kwargs) if self._config is not None else {}

    def _bind(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """(arguments by name, options for Triton's compiler, words for the launch) of a call."""
        words = {
            name: keywords.pop(name)
            for name in LAUNCH_WORDS
            if name in keywords and name not in self._parameters
        }
        given = {name: value for name, value in keywords.items() if name in self._parameters}
        more = {name: value for name, value in keywords.items() if name not in given}
        names = [*self._parameters]
        for name, value in self._list_config().items():
            if name not in names[: len(args)]:
                given.setdefault(name, value)
        if self._slots is not None:
            fixed = {name: slot.constant for name, slot in self._slots.items() if slot.is_constant}
            left = [name for name in names if name not in fixed]
            if len(args) <= len(left):  # constants of the signature are not given again
                given = {**fixed, **dict(zip(left, args, strict=False)), **given}
                args = ()
        for values in self._layers.heuristics:
            for name, compute in values.items():
                given[name] = compute({**dict(zip(names, args, strict=False)), **given})
        try:
            bound = inspect.signature(self._layers.kernel.fn).bind(*args, **given)
        except TypeError as error:
            raise _core.ArgumentTypeError(
                f"{self.name}: {error}; its parameters are {', '.join(names)}"
            ) from None
        bound.apply_defaults()
        return dict(bound.arguments), self._complete(more), words

    def _complete(self, more: dict[str, Any]) -> dict[str, Any]:
        """Triton's options: those of the call, of from_triton and of the configuration."""
        known = importlib.import_module("triton.backends.nvidia.compiler").CUDAOptions
        for name in more:
            if name not in known.__dataclass_fields__:
                raise _core.ArgumentTypeError(
                    f"{self.name}: {name!r} is neither a parameter ({', '.join(self._parameters)}) "
                    "nor an option of Triton's compiler"
                )
        tuned = {}
        if self._config is not None:
            for name in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
                if getattr(self._config, name, None) is not None:
                    tuned[name] = getattr(self._config, name)
        return {**tuned, **self._options, **more}

    def _specialize(
        self, bound: dict[str, Any], facts: dict[str, ArrayFacts | None], options: dict[str, Any]
    ) -> tuple[_Compiled, dict[str, Slot]]:
        """The kernel for these arguments."""
        slots = {}
        for name, value in bound.items():
            where = f"{self.name}: {name}"
            if self._slots is None:
                slots[name] = infer_type(value, facts[name], self._parameters[name], where)
                continue
            slots[name] = self._slots[name]
            if not slots[name].is_constant:
                check_value(slots[name], value, facts[name], where)
        return self._compile(slots, options), slots

    def _launch(self, grid: Grid, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        bound, options, words = self._bind(args, dict(keywords))
        facts = read_arguments(bound, self.name)
        made, slots = self._specialize(bound, facts, options)
        blocks = grid(bound) if callable(grid) else grid
        lengths = (blocks,) if isinstance(blocks, int) else tuple(blocks)
        values = []
        for name in made.names:
            fact = facts[name]
            if fact is None:
                values.append(convert_number(slots[name], bound[name]))
            else:
                values.append(fact.passed)
        scratch: Any = 0
        if made.scratch_bytes and math.prod(lengths):
            scratch = numpy.zeros(made.scratch_bytes * math.prod(lengths), numpy.uint8)
            on_device = [one for one in values if isinstance(one, _core.DeviceArray)]
            if on_device:
                scratch = _core.asarray(scratch, device=on_device[0].device)
        hidden = [scratch, 0, 0, 0][: made.hidden]
        made.raw(lengths, made.threads, (*values, *hidden), shared_mem=made.shared_bytes, **words)

    # Compilation ----------------------------------------------------------------------------------

    def _compile(self, slots: dict[str, Slot], options: dict[str, Any]) -> _Compiled:
        key = (
            repr(sorted(options.items())),
            *((name, _make_key(slot)) for name, slot in slots.items()),
        )
        if key not in self._made:
            self._made[key] = self._make(slots, options)
        return self._made[key]

    def _make(self, slots: dict[str, Slot], options: dict[str, Any]) -> _Compiled:
        make_source = importlib.import_module("triton.compiler").ASTSource
        if getattr(self._layers.kernel, "is_gluon", bool)():
            runtime = importlib.import_module("triton.experimental.gluon._runtime")
            make_source = runtime.GluonASTSource
        target = importlib.import_module("triton.backends.compiler").GPUTarget(
            "cuda", self.arch, WARP
        )
        places = {name: number for number, name in enumerate(self._parameters)}
        attributes = {
            (places[name],): [["tt.divisibility", DIVISOR]]
            for name, slot in slots.items()
            if slot.divisible
        }
        source = make_source(
            fn=self._layers.kernel,
            signature={name: slot.type for name, slot in slots.items()},
            constexprs={(places[name],): s.constant for name, s in slots.items() if s.is_constant},
            attrs=attributes,
        )
        try:
            made = self._triton.compile(source, target=target, options=options)
        except Exception as error:  # of Triton's front end, of its passes, or of ptxas
            raise _core.CompileError(
                f"{self.name}: Triton {self._triton.__version__}: {join_causes(error)}"
            ) from error
        metadata, ptx = made.metadata, made.asm["ptx"]
        if metadata.num_ctas > 1:
            raise _core.UnsupportedError(
                f"{self.name}: num_ctas is {metadata.num_ctas}, and from_triton launches no "
                "clusters of blocks; use num_ctas=1"
            )
        head = ENTRY.search(ptx)
        if head is None:
            raise _core.CompileError(f"{self.name}: Triton made PTX without a kernel")
        names = tuple(name for name, slot in slots.items() if not slot.is_constant)
        path = os.path.abspath(self._layers.kernel.fn.__code__.co_filename)
        ptx = name_callers(repair_lines(ptx), os.path.dirname(self._triton.__file__))
        ptx = name_cells(name_file(ptx, path))
        raw = make_kernel(
            self.name,
            mark_ptx(ptx, "Triton", str(self._triton.__version__)),
            head[1],
            self.arch,
            cooperative=getattr(metadata, "launch_cooperative_grid", False),
        )
        hidden = head[2].count(".param") - len(names)
        parameters = [declare(name, slots[name]) for name in names]
        scratch = [declare(f"scratch{number}", Slot("*u8")) for number in range(hidden)]
        raw._declare((*parameters, *scratch))
        return _Compiled(
            raw,
            names,
            WARP * metadata.num_warps,
            metadata.shared,
            hidden,
            getattr(metadata, "global_scratch_size", 0),
        )


def _make_key(slot: Slot) -> Any:
    """What tells two specialisations apart, of which one may have a constant without a hash."""
    constant = slot.constant
    kept = constant if isinstance(constant, int | str | None) else repr(constant)  # -0.0, nan
    return slot.type, slot.divisible, type(constant), kept


def from_triton(
    kernel: Any,
    signature: Mapping[str, Any] | str | None = None,
    constants: Mapping[str, Any] | None = None,
    *,
    arch: int | str | tuple[int, int] = 80,
    config: int = 0,
    **options: Any,
) -> TritonKernel:
    """A kernel of Triton as one of smemkit: compiled without a GPU, run, profiled and checked.

    Triton compiles the kernel to PTX. Reports and findings name lines of the Python file; what
    Triton's own library does (tl.sum, tl.max) counts for the line that calls it. A check leaves out
    the copies of one value that Triton lets several threads store at one place of shared memory.

    Parameters
    ----------
    kernel : function with @triton.jit
        Also with @triton.heuristics, @triton.autotune, or @gluon.jit.
    signature : dict of str, or str, optional
        Types of the parameters: {"x": "*fp32", "n": "i32"}, or the text that Triton's own compiler
        takes, "*fp32:16, i32, 1024". A type is *fp32 (a pointer), *fp32:16 (to a multiple of 16
        bytes), i32, fp32 and such. The kernel is compiled at once. Without it each call decides, as
        Triton does: arrays and numbers give the types, multiples of 16 and the number 1 a kernel of
        their own.
    constants : dict, optional
        Values of the parameters that are tl.constexpr.
    arch : int, str or (major, minor)
        The compute capability for which Triton compiles. 90 uses instructions of Hopper (wgmma,
        TMA) that the simulator may refuse; a GPU of sm_90 takes the code for 80 too.
    config : int
        Of @triton.autotune: the number of the configuration that is taken. Nothing is tuned.
    **options
        Of Triton's compiler: num_warps, num_stages, maxnreg, enable_fp_fusion and others.

    Shapes
    ------
    Any; the kernel gets addresses. NumPy arrays are handed over with the strides that they have.

    Returns
    -------
    TritonKernel, to be launched as kernel[grid](*args, **constants), with options of Triton's
    compiler and backend=, device=, stream= and max_steps= as further keywords; kernel[grid] has
    profile(...), check(...) and predict(...), and kernel.compile(...) gives the RawKernel.

    Raises
    ------
    CompileError (RuntimeError) where Triton is missing, too old, or refuses the kernel;
    ArgumentTypeError (TypeError), ArgumentError (ValueError); UnsupportedError
    (NotImplementedError) for PTX that the simulator does not execute. A launch: as RawKernel.

    Example
    -------
    >>> import numpy, smemkit
    >>> import triton, triton.language as tl
    >>> @triton.jit
    ... def double(x, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    >>> x = numpy.ones(1000, dtype="float32")
    >>> smemkit.from_triton(double)[(4,)](x, x.size, BLOCK=256)
    >>> x[:3].tolist()
    [2.0, 2.0, 2.0]
    """
    capability = read_arch(arch, "from_triton")
    triton = _import_triton()
    layers = _unwrap(kernel, triton)
    if layers.configs and not 0 <= config < len(layers.configs):
        raise _core.ArgumentError(
            f"from_triton: config is {config}, and the kernel has {len(layers.configs)} "
            "configurations, from 0 on"
        )
    made = TritonKernel(layers, triton, capability, config if layers.configs else 0, options)
    made._options = made._complete(options)
    if signature is not None:
        made.take_signature(signature, constants)
    elif constants is not None:
        raise _core.ArgumentError(
            "from_triton: constants go with a signature; without one each call gives them, as in "
            "kernel[grid](x, n, BLOCK=256)"
        )
    return made
