from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import (
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    SupportsIndex,
    TypeAlias,
    final,
    overload,
)

import numpy
from numpy.typing import ArrayLike, DTypeLike

from ._configured import ConfiguredKernel
from ._facts import Attributes, Build, Counter, DeviceInfo, Family, Limits, Variant
from ._types import BankOp
from ._types import DeviceLike as _Device
from ._types import StreamLike as _Stream
from .predict import Card, Prediction
from .report import CheckReport, Report
from .report._captured import Checked, Counted, Refused, Timed

_Backend: TypeAlias = Literal["auto", "cuda", "sim"]
_Lengths: TypeAlias = int | Sequence[int]
_Capability: TypeAlias = str | tuple[int, int]
_Kernel: TypeAlias = "RawKernel | str | tuple[Any, ...]"
_Array: TypeAlias = "ArrayLike | DeviceArray"

class Error(Exception):
    kernel: str | None
    ptx_line: int | None
    ptx_column: int | None
    source_file: str | None
    source_line: int | None
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None

class ArgumentError(Error, ValueError): ...
class ArgumentTypeError(Error, TypeError): ...
class ShapeError(Error, ValueError): ...
class OutOfMemoryError(Error, MemoryError): ...
class BackendError(Error, RuntimeError): ...
class CudaError(Error, RuntimeError): ...
class CompileError(Error, RuntimeError): ...
class PtxError(Error, ValueError): ...
class PtxTypeError(PtxError, TypeError): ...
class UnsupportedError(PtxError, NotImplementedError): ...
class LaunchError(Error, ValueError): ...
class SharedMemoryError(LaunchError, MemoryError): ...
class ExecutionError(Error, RuntimeError): ...
class OutOfBoundsError(ExecutionError, IndexError): ...
class MisalignedError(ExecutionError, ValueError): ...
class BarrierError(ExecutionError): ...
class DeadlockError(ExecutionError): ...
class StepBudgetError(ExecutionError, TimeoutError): ...
class TrapError(ExecutionError): ...
class KernelAssertionError(TrapError, AssertionError): ...
class InterruptedError(Error): ...
class InternalError(Error, SystemError): ...

class BankAccess(NamedTuple):  # ints for one access, else int64 arrays
    wavefronts: Any
    conflicts: Any
    phases: Any
    words: numpy.ndarray[Any, numpy.dtype[numpy.int64]]

class Occupancy(NamedTuple):
    blocks: int
    warps: int
    threads: int
    percent: float
    limited_by: tuple[str, ...]
    limits: dict[str, int | None]
    registers: int
    block_registers: int
    shared_bytes: int
    block_shared_bytes: int
    spare_shared_bytes: int
    carveout_bytes: int
    compute_capability: str

class DeviceMemory(NamedTuple):
    free_bytes: int
    total_bytes: int

@final
class Device:
    def __new__(cls, device: _Device | None = None, backend: _Backend | None = None) -> Device: ...
    @property
    def id(self) -> int: ...
    @property
    def backend(self) -> Literal["cuda", "sim"]: ...
    @property
    def name(self) -> str: ...
    @property
    def info(self) -> DeviceInfo: ...
    @property
    def memory(self) -> DeviceMemory: ...
    def synchronize(self) -> None: ...
    def __enter__(self) -> Device: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Stream:
    def __new__(
        cls,
        x: _Stream | None = None,
        /,
        *,
        device: _Device | None = None,
        backend: _Backend | None = None,
        non_blocking: bool = False,
        priority: int = 0,
    ) -> Stream: ...
    @property
    def done(self) -> bool: ...
    @property
    def backend(self) -> Literal["cuda", "sim"]: ...
    @property
    def device(self) -> str: ...
    @property
    def handle(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def synchronize(self) -> None: ...
    def wait(self, other: Event | _Stream, /) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Stream: ...
    def __exit__(self, *exception: object) -> None: ...
    def __cuda_stream__(self) -> tuple[int, int]: ...

@final
class Event:
    def __new__(cls, *, timing: bool = True) -> Event: ...
    @property
    def done(self) -> bool: ...
    def record(self, stream: _Stream | None = None) -> None: ...
    def synchronize(self) -> None: ...
    def elapsed(self, end: Event, /) -> float: ...

@final
class _TextureObject:
    def __new__(cls, texels: ArrayLike, /, *description: Any) -> _TextureObject: ...
    @property
    def value(self) -> int: ...
    @property
    def device(self) -> str: ...
    def read(self, texels: ArrayLike, /) -> None: ...

@final
class DeviceArray:
    @property
    def dtype(self) -> numpy.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def backend(self) -> Literal["cuda", "sim"]: ...
    @property
    def device(self) -> str: ...
    @property
    def pointer(self) -> int: ...
    @property
    def T(self) -> DeviceArray: ...
    def copy(
        self, *, device: _Device | None = None, stream: _Stream | None = None
    ) -> DeviceArray: ...
    def astype(self, dtype: DTypeLike, /, *, stream: _Stream | None = None) -> DeviceArray: ...
    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> DeviceArray: ...
    def transpose(self, *axes: SupportsIndex | Sequence[SupportsIndex] | None) -> DeviceArray: ...
    def fill(self, value: Any, /, *, stream: _Stream | None = None) -> None: ...
    def item(self, *index: Any) -> Any: ...
    def __copy__(self) -> DeviceArray: ...
    def __deepcopy__(self, memo: Any, /) -> DeviceArray: ...
    def __getitem__(self, index: Any, /) -> DeviceArray: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    def __len__(self) -> int: ...
    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn: ...  # smemkit.asnumpy copies
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    __dlpack_c_exchange_api__: Any
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class RawModule:
    def __new__(
        cls,
        code: str | bytes | None = None,
        *,
        path: str | PathLike[str] | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] | None = None,
        backend: _Backend | None = None,
        enable_cooperative_groups: bool = False,
    ) -> RawModule: ...
    @property
    def enable_cooperative_groups(self) -> bool: ...
    @property
    def kernels(self) -> tuple[str, ...]: ...
    @property
    def ptx(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    def get_function(self, name: str) -> RawKernel: ...
    def get_global(
        self,
        name: str,
        dtype: DTypeLike | None = None,
        backend: _Backend | None = None,
        *,
        device: _Device | None = None,
    ) -> DeviceArray: ...

@final
class RawKernel:
    def __new__(
        cls,
        code: str | bytes,
        name: str,
        *,
        options: Sequence[str] = (),
        enable_cooperative_groups: bool = False,
    ) -> RawKernel: ...
    @property
    def enable_cooperative_groups(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def ptx(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def attributes(self) -> Attributes: ...
    @property
    def preferred_shared_memory_carveout(self) -> int: ...
    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None: ...
    def _declare(self, parameters: tuple[Any, ...], /) -> bool: ...
    def __getitem__(
        self,
        key: tuple[_Lengths, _Lengths]
        | tuple[_Lengths, _Lengths, _Stream | None]
        | tuple[_Lengths, _Lengths, _Stream | None, int],
        /,
    ) -> ConfiguredKernel: ...
    def __call__(
        self,
        grid: _Lengths,
        block: _Lengths,
        args: tuple[Any, ...] | list[Any],
        *,
        shared_mem: int = 0,
        backend: _Backend | None = None,
        max_steps: int | None = None,
        device: _Device | None = None,
        stream: _Stream | None = None,
        independent: bool | None = None,
    ) -> None: ...
    def profile(
        self,
        grid: _Lengths,
        block: _Lengths,
        args: tuple[Any, ...] | list[Any],
        *,
        shared_mem: int = 0,
        backend: _Backend | None = None,
        max_steps: int | None = None,
        blocks: int | None = None,
        model: bool = True,
        independent: bool | None = None,
    ) -> Report: ...
    def check(
        self,
        grid: _Lengths,
        block: _Lengths,
        args: tuple[Any, ...] | list[Any],
        *,
        shared_mem: int = 0,
        backend: _Backend | None = None,
        max_steps: int | None = None,
        blocks: int | None = None,
        ignore_same_value: bool = False,
        order: Literal["forward", "reverse", "both"] = "forward",
        padding: int = 0,
        independent: bool | None = None,
    ) -> CheckReport: ...
    def predict(
        self,
        grid: _Lengths,
        block: _Lengths,
        args: tuple[Any, ...] | list[Any],
        *,
        device: str | Card = "h200",
        cache: Literal["warm", "cold"] = "warm",
        blocks: int | None = 6,
        shared_mem: int = 0,
        max_steps: int | None = None,
        independent: bool | None = None,
    ) -> Prediction: ...

# Kernel families, written by python -m smemkit dev docs
@overload
def gemm(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    a: DeviceArray,
    b: DeviceArray,
    precision: Literal["full", "tf32"] = "full",
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    devices: Sequence[_Device] | None = None,
) -> DeviceArray: ...
@overload
def gemm(
    a: ArrayLike,
    b: ArrayLike,
    precision: Literal["full", "tf32"] = "full",
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
    devices: Sequence[_Device] | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def transpose(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    a: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def transpose(
    a: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def reduce(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    op: Literal["sum", "max", "min"] = "sum",
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def reduce(
    x: ArrayLike,
    op: Literal["sum", "max", "min"] = "sum",
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def reduce_axis(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    op: Literal["sum", "max", "min", "mean", "argmax", "argmin"] = "sum",
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def reduce_axis(
    x: ArrayLike,
    op: Literal["sum", "max", "min", "mean", "argmax", "argmin"] = "sum",
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def scan(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    op: Literal["sum", "max", "min"] = "sum",
    kind: Literal["inclusive", "exclusive"] = "inclusive",
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def scan(
    x: ArrayLike,
    op: Literal["sum", "max", "min"] = "sum",
    kind: Literal["inclusive", "exclusive"] = "inclusive",
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def sort(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def sort(
    x: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def dot(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    y: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def dot(
    x: ArrayLike,
    y: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def smooth(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def smooth(
    x: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def conv2d(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    image: DeviceArray,
    weights: DeviceArray,
    mode: Literal["constant", "reflect", "nearest", "wrap"] = "constant",
    form: Literal["convolve", "correlate"] = "convolve",
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def conv2d(
    image: ArrayLike,
    weights: ArrayLike,
    mode: Literal["constant", "reflect", "nearest", "wrap"] = "constant",
    form: Literal["convolve", "correlate"] = "convolve",
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def histogram(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    edges: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def histogram(
    x: ArrayLike,
    edges: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def histogram_weighted(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    weights: DeviceArray,
    edges: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def histogram_weighted(
    x: ArrayLike,
    weights: ArrayLike,
    edges: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def vector_add(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    y: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def vector_add(
    x: ArrayLike,
    y: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
@overload
def gather(  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too
    x: DeviceArray,
    index: DeviceArray,
    *,
    variant: str = "auto",
    out: DeviceArray | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
@overload
def gather(
    x: ArrayLike,
    index: ArrayLike,
    *,
    variant: str = "auto",
    out: numpy.ndarray[Any, Any] | None = None,
    backend: _Backend | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...

# End of the kernel families

def asarray(
    x: ArrayLike | DeviceArray,
    dtype: DTypeLike | None = None,
    backend: _Backend | None = None,
    *,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
def empty(
    shape: int | Sequence[int],
    dtype: DTypeLike = "float32",
    backend: _Backend | None = None,
    *,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
def release_memory() -> None: ...
def pinned_empty(
    shape: int | Sequence[int], dtype: DTypeLike = "float32", backend: _Backend | None = None
) -> numpy.ndarray[Any, Any]: ...
def managed_empty(
    shape: int | Sequence[int],
    dtype: DTypeLike = "float32",
    backend: _Backend | None = None,
    *,
    device: _Device | None = None,
) -> DeviceArray: ...
def mapped(
    x: numpy.ndarray[Any, Any],
    /,
    backend: _Backend | None = None,
    *,
    device: _Device | None = None,
) -> DeviceArray: ...
def from_dlpack(
    x: Any,
    /,
    *,
    copy: bool | None = None,
    device: _Device | None = None,
    stream: _Stream | None = None,
) -> DeviceArray: ...
def asnumpy(
    d: DeviceArray,
    out: numpy.ndarray[Any, Any] | None = None,
    *,
    stream: _Stream | None = None,
) -> numpy.ndarray[Any, Any]: ...
def families() -> dict[str, Family]: ...
def variants(family: str) -> dict[str, Variant]: ...
def source(family: str, variant: str) -> str: ...
def ptx(family: str, variant: str) -> str: ...
def kernel(
    family: str, variant: str, dtype: DTypeLike | None = None, choice: str | None = None
) -> RawKernel: ...
def set_backend(backend: _Backend | None) -> None: ...
def get_backend() -> Literal["cuda", "sim"]: ...
def device_info(device: _Device | None = None, backend: _Backend | None = None) -> DeviceInfo: ...
def devices(backend: _Backend | None = None) -> tuple[Device, ...]: ...
def bank_access(
    addresses: ArrayLike,
    width: int = 4,
    *,
    mask: ArrayLike = 0xFFFFFFFF,
    op: BankOp = "load",
) -> BankAccess: ...
def sectors(addresses: ArrayLike, width: int = 4, *, mask: ArrayLike = 0xFFFFFFFF) -> Any: ...
def limits(compute_capability: _Capability | None = None) -> Limits: ...
def occupancy(
    kernel: _Kernel,
    block: _Lengths | None = None,
    shared_bytes: int | None = None,
    compute_capability: _Capability | None = None,
    *,
    dtype: DTypeLike | None = None,
    choice: str | None = None,
    registers: int | None = None,
) -> Occupancy: ...
def suggest_block(
    kernel: _Kernel,
    shared_bytes: int | Callable[[int], int] | None = None,
    compute_capability: _Capability | None = None,
    *,
    dtype: DTypeLike | None = None,
    choice: str | None = None,
    registers: int | None = None,
    prefer: Literal["largest", "smallest"] = "largest",
) -> int: ...

# For smemkit's own Python files and tests.
def _config() -> Build: ...
def _ptx_print(text: str | bytes, /) -> str: ...
def _ptx_equal(a: str | bytes, b: str | bytes, /) -> bool: ...
def _describe_ptx(text: str, /) -> list[dict[str, Any]]: ...
def _registry_plan(
    family: str, variant: str, dimensions: Iterable[int], /
) -> tuple[tuple[int, int, int], tuple[int, int, int], bool]: ...
def _explain_choice(family: str, /, *args: Any, **keywords: Any) -> dict[str, Any]: ...
def _explain_call(
    family: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    /,
) -> dict[str, Any] | None: ...
def _signature_bind(
    signature: str, family: str, names: Iterable[str], shapes: Iterable[Iterable[int]], /
) -> dict[str, int]: ...
def _fail_after(count: int, /) -> None: ...
def _bus_set(
    threads: int = 0, slot_bytes: int = 0, slots: int = 0, part_bytes: int = 0
) -> None: ...
def _bus_kept() -> tuple[int, int, int]: ...
def _held() -> dict[str, int]: ...
def _slabs_force(bytes: int, /) -> None: ...
def _restore_module(
    ptx: bytes,
    origin: str | None,
    source: str | None,
    names: dict[str, str],
    options: tuple[str, ...],
    backend: _Backend | None,
    cooperative: bool = False,
    /,
) -> RawModule: ...
def _restore_package_module(family: str, variant: str, /) -> RawModule: ...
def _restore_kernel(module: RawModule, name: str, carveout: int, /) -> RawKernel: ...
def _isa() -> Literal["avx512", "avx2", "baseline"]: ...
@overload
def _capture(
    mode: Literal["profile"],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    blocks: int,
    model: bool,
    reverse: bool = False,
    padding: int = 0,
    borrow: bool = False,
    /,
) -> tuple[Any, list[Counted | Refused]]: ...
@overload
def _capture(
    mode: Literal["check"],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    blocks: int,
    model: bool,
    reverse: bool = False,
    padding: int = 0,
    borrow: bool = False,
    /,
) -> tuple[Any, list[Checked | Refused]]: ...
@overload
def _capture(
    mode: Literal["time"],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    blocks: int,
    model: bool,
    reverse: bool = False,
    padding: int = 0,
    borrow: bool = False,
    /,
) -> tuple[Any, list[Timed]]: ...
def _watch(
    listener: Callable[[list[Checked | Refused]], object] | None, /
) -> Callable[[list[Checked | Refused]], object] | None: ...
def _flops(family: str, dimensions: Sequence[int], /) -> float: ...
def _finding_kinds() -> dict[str, str]: ...
def _coverage_start() -> None: ...
def _coverage_stop() -> None: ...
def _coverage_clear() -> None: ...
def _coverage_text() -> bytes: ...
def _counters() -> tuple[Counter, ...]: ...
def _fuse(ptx: str, entry: str, /) -> list[dict[str, Any]]: ...
def _time_partition(
    steps: numpy.ndarray[Any, Any],
    first: numpy.ndarray[Any, Any],
    phases: numpy.ndarray[Any, Any],
    lengths: numpy.ndarray[Any, Any],
    blocks: numpy.ndarray[Any, Any],
    counts: tuple[int, int, int, int],
    clocks: tuple[float, ...],
    /,
) -> tuple[float, float, list[float]]: ...
def _plan_for(
    machine: tuple[str | None, int, int] | None, /
) -> tuple[str | None, int, int] | None: ...
def _card_rates() -> tuple[tuple[str, str, float, str], ...]: ...
def _limits_table() -> tuple[tuple[tuple[int, int], bool, tuple[str, ...]], ...]: ...
def _occupancy(
    compute_capability: _Capability,
    threads: int,
    threads_max: int,
    registers: int,
    barriers: int,
    static: int,
    dynamic: int,
    /,
) -> Occupancy: ...
def _calculator(
    kernel: RawKernel, threads: tuple[int, ...], shared_bytes: int, /
) -> list[int] | tuple[int, int]: ...
def _timer() -> Any: ...
def _timer_start(timer: Any, /) -> None: ...
def _timer_passed(timer: Any, /) -> bool: ...
def _timer_stop(timer: Any, /) -> float: ...
def _synchronize() -> None: ...
def _clear(array: DeviceArray, /) -> None: ...
def _quota(root: str, /) -> tuple[int | None, float | None]: ...
def _empty(
    function: str,
    shape: Any,
    dtype: Any,
    backend: Any,
    device: Any,
    stream: Any,
    /,
) -> DeviceArray: ...
def _beside(d: DeviceArray, x: Any, dtype: Any = None, /) -> DeviceArray: ...
def _by_default_stream(d: DeviceArray, /) -> bool: ...
def _copy(target: DeviceArray, source: DeviceArray, /) -> None: ...
def _permute(a: Any, axes: Sequence[int], out: Any, /) -> Any: ...
def _run_stats() -> dict[str, int]: ...
