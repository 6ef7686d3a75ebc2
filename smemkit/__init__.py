"""CUDA shared-memory kernels on NumPy arrays: on the GPU, or on a CPU that executes the same PTX.

smemkit.gemm(a, b, variant="padded") multiplies; smemkit.variants("gemm") says what each kernel
shows, smemkit.source("gemm", "padded") is the kernel itself, and smemkit.RawKernel runs your own;
smemkit.from_triton and smemkit.from_numba run those that Triton and Numba compile from Python.
profile counts what a kernel does to the memory, check finds its races, explain gives advice.
predict says what a call would take on a named card, without that card, and rank which variant, or
pad, is the fastest there; cards() lists them.
smemkit.testing is a plugin of pytest that tests kernels.
smemkit.exercises() lists kernels to complete or to mend, with a judge. smemkit.bench measures,
smemkit.plot draws, and smemkit.probe asks the memory one question at a
time. `smemkit --help` lists the commands.

Machines
--------
backend="cuda" runs machine code for compute capability 7.5 to 12.x, made by nvcc 13.0. It needs a
driver of version 580 or newer. Importing smemkit makes no CUDA call and needs no driver.

backend="sim" executes PTX: 32 lanes a warp, divergence with reconvergence, barriers, shuffles,
atomics, and shared memory with the limits of compute capability 9.0. It uses AVX2 or AVX-512 where
the processor has them. It takes the cores and up to three quarters of the memory that its process
may use, which is what the machine has, less what a container (control groups), a batch system or
taskset keeps from it. Results agree with the GPU's bit for bit for integers and IEEE operations;
approximate functions (sin, ex2, ...) lie within the error that NVIDIA documents.

Of several GPUs a call runs on the one where its device arrays are, whatever is the present one in
CuPy or PyTorch, and leaves that as it was. Without device arrays it runs on the one that device=
names, or that of the block `with smemkit.Device(1):` around it, or the present one.

backend="auto", the default, takes the GPU where there is one. smemkit.show_config() says which
machine that is, and why.

Ctrl-C ends a simulation. While a kernel runs on the GPU it ends the wait for it; the kernel goes
on. A process may fork while threads simulate, and the child can simulate; a GPU that its parent has
used is closed to it (BackendError).

In a clone in which smemkit was built, Python imports the clone's smemkit, not an installed one.

Environment variables
---------------------
SMEMKIT_BACKEND    "auto", "cuda" or "sim": where calls run that do not say. smemkit.set_backend
                   overrides it.
SMEMKIT_SM_COUNT   Multiprocessors of the simulated machine, on which the choice of kernels and of
                   their tiles depends; by default 132, as many as an H200 has.
SMEMKIT_MAX_STEPS  Step budget of the simulator, in warp instructions a launch. A kernel that would
                   never end fails with StepBudgetError. By default 20,000,000,000 for kernels of
                   your own, which takes long.
SMEMKIT_INDEPENDENT "0": lanes of a warp run in lock step even where they wait for each other.
SMEMKIT_THREADS    Host threads of the simulator, and of copies to a GPU and back, 1 or more; by
                   default one for each core that the process may use, and 16 at most for copies.
SMEMKIT_POOL       "0": GPU memory comes from plain cudaMalloc and not from a pool ("1"), so that
                   memory checkers know the bounds of every array.
SMEMKIT_ISA        "avx512", "avx2" or "baseline": the simulator uses no newer vector instructions.
SMEMKIT_NVCC       The nvcc for building and for your CUDA C, instead of that of NVIDIA's packages,
                   CUDA_HOME or PATH. "none": use no nvcc; a build then leaves the GPU part out.
SMEMKIT_CACHE      Folder in which the PTX of your CUDA C is cached; by default smemkit in
                   XDG_CACHE_HOME or ~/.cache. "none": compile each time.
SMEMKIT_CACHE_MB   Size limit of that cache in megabytes, 256 by default. The least recently used
                   kernels are removed first.
SMEMKIT_DATA       Folder with the cards that `smemkit record --card` measured; by default smemkit
                   in the user's folder for data.
SMEMKIT_PROGRESS   "0": no progress bars. Else work of more than two seconds on the simulator,
                   long copies to a GPU and back, and benchmarks show one at a terminal and in
                   notebooks where tqdm is installed.
SMEMKIT_RUN_CARD   The GPU that a program under `smemkit run` sees; its --card sets it, and the next
                   two belong to the command as well.
SMEMKIT_RUN_MODE   "check" or "profile": what is done beside running.
SMEMKIT_RUN_REPORT The file to which the program adds what the command reports.
SMEMKIT_MUTATION   The folder by which `smemkit mutate` puts mutants in place of kernels.
SMEMKIT_COVERAGE   A file: each process counts which lines of kernels it executes, and leaves it in
                   a file of that name and its number. `smemkit coverage run` sets it.
SMEMKIT_NCU        The Nsight Compute that `smemkit compare` runs.
SMEMKIT_ARCHES     Building: GPU architectures, "90" or "75 80 90 100 120" (the default).
SMEMKIT_WERROR     Building: "1" makes warnings of the C compiler errors.
SMEMKIT_SANITIZE   Building: sanitizers for the C code, "address,undefined".
SMEMKIT_TEST_SEED  Repeats the random values of a test run, which prints its seed.

Errors
------
What smemkit refuses is a smemkit.Error, and also Python's own exception where that has a name for
the fault: ValueError, TypeError, MemoryError, TimeoutError and others. What NumPy refuses on the
way, such as a ragged list, stays NumPy's exception. Errors of a kernel on the simulator
(ExecutionError) have the attributes kernel, ptx_line, ptx_column, source_file, source_line, block
and thread.

Results and host threads
------------------------
The simulator runs blocks on several host threads where their order cannot show in a result. Where
it can show, they run one after the other, in order: in kernels with floating-point atomics on
global memory; with atomics whose old value is used; with cas, exch, inc or dec; with updates of
different kinds (red.add and red.max, say) that may reach one allocation; with volatile, relaxed,
acquire or release accesses beyond the block; and with printf. So results, counts and findings do
not depend on the number of threads, with two exceptions:

- Data races between blocks: two blocks access the same bytes, one access is a write, and not both
  are atomic (a load beside a red is one). The order is chance, as on a GPU; smemkit.check finds it.
- Memory after an error holds what was written until then. Where several blocks fail, the error is
  that of the block with the lowest number; but a step budget ends the launch in whatever block
  exceeds it.

Limits
------
- Linux; gcc or clang builds it. Wheels of nvcc, which the build fetches, exist for x86-64 and
  aarch64.
- Python's main interpreter, not its subinterpreters, which NumPy does not support either. A
  free-threaded Python stays without the GIL.
- The simulator has no clock. Its running time says nothing about a GPU's.
- Threads of a warp run in lock step and reconverge where their paths join, with two exceptions.
  While lanes wait at a .sync operation (__syncwarp, __shfl_sync, votes), the other lanes of its
  mask run on until they reach it or exit, as on an H200. Lanes that read memory again and again
  until another lane of their warp changes it (a spin lock) step aside, so that it can; this does
  not happen with independent=False or SMEMKIT_INDEPENDENT=0, where such a wait is a deadlock. A
  barrier.sync without .aligned that lanes reach on different paths is a barrier error. A block
  that waits for another one more than 16 places behind it is a deadlock.
- PTX that the simulator does not know is refused, with its line and that of your source, never
  skipped. It does not execute:

  - clusters of several blocks (__cluster_dims__, distributed shared memory): hand the data over in
    global memory, from one launch to the next
  - matrix products of a warp group (wgmma) and of sm_100 (tcgen05): compile the kernel's path for
    sm_80, -arch=compute_80, where it has one
  - copies of tensors by the Tensor Memory Accelerator (cp.async.bulk.tensor, tensor maps): compile
    the kernel's path for sm_80, -arch=compute_80, where it has one
  - cudaMalloc and cudaFree in a kernel: call malloc and free there
  - launches of kernels by a kernel (dynamic parallelism): launch the inner kernel from the host,
    behind the outer one
  - __shfl, __any, __all and __ballot of before sm_70: call __shfl_sync, __any_sync, __all_sync or
    __ballot_sync with the mask of the lanes that take part
  - vectors of eight bytes or halves in loads and stores (.v8): load two vectors of four
  - questions for more of a texture than its size, which the CUDA driver does not answer
    (txq.channel_order): pass the kernel what it asks for as a parameter
  - sparse textures (.sparse), and variables of the space .tex: use a texture object
    (cudaTextureObject_t) or a .texref
  - memory of several GPUs at one address (multimem): add up the copies of the GPUs one by one
  - stores that nobody waits for (st.async.mmio, on sm_100): store with st.mmio.release
  - generic addresses of 32 bits: compile for addresses of 64 bits
  - fixed-point numbers of 8 bits (.s2f6x2): convert to .e4m3x2 or to integers

- Of tensor cores the simulator has mma.sync of f16, bf16 and tf32 with sums in f32, and of f64,
  with the bits that an H200 gives, and ldmatrix.
- It takes some PTX that ptxas refuses, such as more than 64 KB of constants: what runs here may not
  assemble.
- check derives no order from the end of a thread, because PTX promises none: what a warp writes to
  shared memory before it returns races with what others read behind their next __syncthreads().
- check does not find what a thread does to its own cp.async: a source that it overwrites before the
  wait, or two copies to one target.
- What kernels read and write by textures and surfaces is not counted, and check looks for no races
  there. What bulk copies (cp.async.bulk) move is not counted either, and check misses a
  fence.proxy.async that is not there.
- Counting models ptxas 13.0 for compute capability 9.0. It is known to differ from the hardware in
  registers that ptxas spills to local memory, in loops that ptxas unrolls on its own, in 16-bit
  shared atomics, and in what depends on the order in which warps reach an atomic or on how often
  one waits for another. Of copies past the L1 cache (cp.async.cg) Nsight Compute leaves out those
  that predicate P0 of the machine code guards or fills with zeros; all others are counted as it
  counts them. Counts of instructions and branches are those of PTX.
"""

import importlib
import os
import typing

try:
    from . import _core as _core
except ImportError as error:
    from ._importing import explain_failure

    text = explain_failure(__path__[0], error)
    raise ImportError(text, name=error.name, path=error.path) from error
from . import functions
from ._core import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    BarrierError,
    CompileError,
    CudaError,
    DeadlockError,
    Device,
    DeviceArray,
    Error,
    Event,
    ExecutionError,
    InternalError,
    InterruptedError,
    KernelAssertionError,
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
    Stream,
    TrapError,
    UnsupportedError,
    asarray,
    asnumpy,
    bank_access,
    device_info,
    devices,
    empty,
    families,
    from_dlpack,
    get_backend,
    kernel,
    limits,
    managed_empty,
    mapped,
    occupancy,
    pinned_empty,
    ptx,
    release_memory,
    sectors,
    set_backend,
    source,
    suggest_block,
    variants,
)
from ._version import __version__
from .arrays import arange, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from .config import show_config
from .functions import *  # noqa: F403  (the kernel families)
from .lessons import exercise, exercises
from .predict import card, cards, predict, rank
from .report import (
    check,
    counters,
    explain,
    explain_choice,
    load_report,
    occupancy_table,
    profile,
)
from .textures import Texture

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BackendError",
    "BarrierError",
    "CompileError",
    "CudaError",
    "DeadlockError",
    "Device",
    "DeviceArray",
    "Error",
    "Event",
    "ExecutionError",
    "InternalError",
    "InterruptedError",
    "KernelAssertionError",
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
    "Stream",
    "Texture",
    "TrapError",
    "UnsupportedError",
    "__version__",
    "arange",
    "asarray",
    "asnumpy",
    "bank_access",
    "card",
    "cards",
    "check",
    "counters",
    "coverage",
    "device_info",
    "devices",
    "empty",
    "empty_like",
    "exercise",
    "exercises",
    "explain",
    "explain_choice",
    "families",
    "from_dlpack",
    "from_numba",
    "from_triton",
    "full",
    "full_like",
    "get_backend",
    "kernel",
    "limits",
    "load_report",
    "managed_empty",
    "mapped",
    "occupancy",
    "occupancy_table",
    "ones",
    "ones_like",
    "pinned_empty",
    "predict",
    "profile",
    "ptx",
    "rank",
    "release_memory",
    "sectors",
    "set_backend",
    "show_config",
    "source",
    "suggest_block",
    "variants",
    "zeros",
    "zeros_like",
]
__all__ += functions.__all__

# Imported on first access: a caller that only runs kernels does not wait for them.
_LATER = ("bench", "cover", "plot", "probe", "python_kernels", "testing")
_LATER_NAMES = {
    "coverage": "cover",
    "from_numba": "python_kernels",
    "from_triton": "python_kernels",
}
_PACKAGES = (
    "bench",
    "compile",
    "cover",
    "functions",
    "lessons",
    "plot",
    "probe",
    "python_kernels",
    "report",
    "testing",
)

if typing.TYPE_CHECKING:
    from . import bench as bench
    from . import compile as compile
    from . import cover as cover
    from . import lessons as lessons
    from . import plot as plot
    from . import probe as probe
    from . import python_kernels as python_kernels
    from . import report as report
    from . import testing as testing
    from .cover import coverage as coverage
    from .python_kernels import from_numba as from_numba
    from .python_kernels import from_triton as from_triton


def __getattr__(name: str) -> typing.Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LATER_NAMES:
        found = getattr(importlib.import_module(f"{__name__}.{_LATER_NAMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})


if os.environ.get("SMEMKIT_COVERAGE"):
    importlib.import_module(f"{__name__}.cover")  # counts from here on
