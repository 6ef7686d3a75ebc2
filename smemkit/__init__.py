"""CUDA shared-memory kernels on NumPy arrays: on the GPU, or on a CPU that executes the same PTX.

smemkit.gemm(a, b, variant="padded") multiplies; smemkit.variants("gemm") says what each kernel
shows, smemkit.source("gemm", "padded") is the kernel itself, and smemkit.RawKernel runs your own.
"""

import importlib
import typing

try:
    from . import _core as _core
except ImportError as error:
    from ._importing import explain_failure

    text = explain_failure(__path__[0], error)
    raise ImportError(text, name=error.name, path=error.path) from error
from ._core import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    BarrierError,
    CompileError,
    CudaError,
    DeadlockError,
    DeviceArray,
    Error,
    ExecutionError,
    InternalError,
    InterruptedError,
    LaunchError,
    MisalignedError,
    OutOfBoundsError,
    OutOfMemoryError,
    PtxError,
    PtxTypeError,
    RawKernel,
    RawModule,
    ShapeError,
    SharedMemoryError,
    StepBudgetError,
    TrapError,
    UnsupportedError,
    asarray,
    asnumpy,
    bank_access,
    conv2d,
    device_info,
    dot,
    empty,
    families,
    gemm,
    get_backend,
    kernel,
    limits,
    occupancy,
    ptx,
    reduce,
    sectors,
    set_backend,
    smooth,
    source,
    suggest_block,
    transpose,
    variants,
    vector_add,
)
from ._version import __version__
from .config import show_config
from .functions import ArgumentIndexError, gather, histogram
from .report import check, counters, explain, profile

__all__ = [
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentTypeError",
    "BackendError",
    "BarrierError",
    "CompileError",
    "CudaError",
    "DeadlockError",
    "DeviceArray",
    "Error",
    "ExecutionError",
    "InternalError",
    "InterruptedError",
    "LaunchError",
    "MisalignedError",
    "OutOfBoundsError",
    "OutOfMemoryError",
    "PtxError",
    "PtxTypeError",
    "RawKernel",
    "RawModule",
    "ShapeError",
    "SharedMemoryError",
    "StepBudgetError",
    "TrapError",
    "UnsupportedError",
    "__version__",
    "asarray",
    "asnumpy",
    "bank_access",
    "check",
    "conv2d",
    "counters",
    "device_info",
    "dot",
    "empty",
    "explain",
    "families",
    "gather",
    "gemm",
    "get_backend",
    "histogram",
    "kernel",
    "limits",
    "occupancy",
    "profile",
    "ptx",
    "reduce",
    "sectors",
    "set_backend",
    "show_config",
    "smooth",
    "source",
    "suggest_block",
    "transpose",
    "variants",
    "vector_add",
]

# Imported when they are asked for: who calls kernels alone does not wait for them.
_LATER = ("bench", "plot", "probe")

if typing.TYPE_CHECKING:
    from . import bench as bench
    from . import plot as plot
    from . import probe as probe


def __getattr__(name):
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER})
