"""Peers that our kernels are compared with: CuPy, torch, CUB, and the device's own copy.

CuPy and torch are imported and work on their own copies of the operands. nvcc compiles CUB, where
its headers are installed, into a library of three functions that take the addresses of our arrays.
Products of torch and CuPy call cuBLAS.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from .. import _core, compile

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from .._types import StrPath
    from .families import Workload
    from .timing import Ours
    from .types import Operands, Peer, Subject, Warn

CUB_SOURCE = r"""
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>

extern "C" int peer_version(void)
{
    return CUB_VERSION;
}

extern "C" int peer_sum(void *work, size_t *bytes, const float *x, float *out, long long n)
{
    return (int)cub::DeviceReduce::Sum(work, *bytes, x, out, (int)n);
}

extern "C" int peer_scan(void *work, size_t *bytes, const float *x, float *out, long long n)
{
    return (int)cub::DeviceScan::InclusiveSum(work, *bytes, x, out, (int)n);
}

extern "C" int peer_histogram(void *work, size_t *bytes, const unsigned char *x,
                              int *counts, long long n)
{
    return (int)cub::DeviceHistogram::HistogramEven(work, *bytes, x, counts, 257, 0, 256, (int)n);
}
"""


class Copy:
    """The device's own copy of as many bytes: the ceiling of reading and writing them once."""

    name, version = "memcpy", None

    def prepare(self, case: Workload, inputs: Operands, ours: Ours) -> Subject | None:
        """(call, fetch) or None. fetch returns the result; None where it is already checked."""
        if not case.is_copied:
            return None
        source = ours.arrays[0]
        target = smemkit.empty(case.shape, case.dtype, backend=source.backend)
        _core._copy(target, source)
        if not (smemkit.asnumpy(target) == inputs[0]).all():
            raise smemkit.InternalError("the device's copy differs from its source")
        return lambda: _core._copy(target, source), None

    def forget(self) -> None:
        """Nothing is kept."""


class Cupy:
    """CuPy; its sum is CUB's."""

    name = "cupy"

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")
        self.filters = importlib.import_module("cupyx.scipy.ndimage")
        self.version = self.cupy.__version__
        self.cupy.cuda.runtime.getDeviceCount()

    def prepare(self, case: Workload, inputs: Operands, ours: Ours) -> Subject | None:
        """(call, fetch), or None."""
        cupy = self.cupy
        x = [cupy.asarray(array) for array in inputs]
        out = cupy.empty(case.result_shape, case.result_dtype)
        held: list[Any] = []

        def hold(result: Any) -> None:
            held[:] = [result]

        call = case.call_cupy(cupy, self.filters, x, out, hold)
        if call is None:
            return None
        return call, lambda: cupy.asnumpy(held[0] if held else out)

    def forget(self) -> None:
        """Gives the memory back."""
        self.cupy.get_default_memory_pool().free_all_blocks()


class Torch:
    """torch; its products are cuBLAS's, in float32 proper (no TF32)."""

    name = "torch"

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.version = self.torch.__version__
        if not self.torch.cuda.is_available():
            raise RuntimeError("torch sees no GPU")
        self.torch.backends.cuda.matmul.allow_tf32 = False
        self.torch.backends.cudnn.allow_tf32 = False

    def prepare(self, case: Workload, inputs: Operands, ours: Ours) -> Subject | None:
        """(call, fetch), or None."""
        torch = self.torch
        x = [torch.from_numpy(array).cuda() for array in inputs]
        dtype = getattr(torch, case.result_dtype)
        out = torch.empty(case.result_shape, dtype=dtype, device="cuda")
        held: list[Any] = []

        def hold(result: Any) -> None:
            held[:] = [result]

        call = case.call_torch(torch, x, out, hold)
        if call is None:
            return None
        return call, lambda: (held[0] if held else out).cpu().numpy()

    def forget(self) -> None:
        """Gives the memory back."""
        self.torch.cuda.empty_cache()


class Cub:
    """CUB's device-wide sum, scan and histogram, on our own arrays."""

    name = "cub"

    def __init__(self) -> None:
        self.library = load_cub()
        number = self.library.peer_version()
        self.version = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"

    def prepare(self, case: Workload, inputs: Operands, ours: Ours) -> Subject | None:
        """(call, fetch), or None."""
        found = case.find_cub()
        if found is None or case.shape[0] >= 1 << 31:  # in 32 bits, as it is fastest
            return None
        function, dtype = found
        out = smemkit.empty(case.result_shape, dtype, backend="cuda")
        run = getattr(self.library, function)
        run.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_longlong]
        size = ctypes.c_size_t(0)
        rest = (ours.arrays[0].pointer, out.pointer, case.shape[0])

        def ask(work: int | None) -> None:
            status = run(work, ctypes.addressof(size), *rest)
            if status != 0:
                raise smemkit.CudaError(f"CUB: {function} ends with the CUDA error {status}")

        ask(None)  # returns the size of its workspace
        work = smemkit.empty((max(size.value, 1),), "uint8", backend="cuda")
        return lambda: ask(work.pointer), lambda: smemkit.asnumpy(out)

    def forget(self) -> None:
        """Nothing is kept."""


@functools.cache  # compiling takes long, and every benchmark searches its peers
def load_cub() -> ctypes.CDLL:
    """Loads the library; its file can be deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return ctypes.CDLL(str(build_cub(folder)))


def build_cub(folder: StrPath) -> Path:
    """Compiles the library and returns its path; RuntimeError where that fails."""
    nvcc = compile.find_nvcc()
    if nvcc is None:
        raise RuntimeError("there is no nvcc to compile CUB with")
    source, library = Path(folder, "peer.cu"), Path(folder, "peer.so")
    source.write_text(CUB_SOURCE, encoding="utf-8")
    capability = smemkit.device_info(backend="cuda")["compute_capability"].replace(".", "")
    command: list[StrPath] = [
        nvcc,
        "-O3",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        f"-arch=sm_{capability}",
    ]
    done = subprocess.run(
        [*command, "-o", library, source], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"nvcc cannot compile CUB: {reason[0] if reason else 'no reason given'}")
    return library


KINDS: tuple[type[Copy | Cub | Cupy | Torch], ...] = (Copy, Cub, Cupy, Torch)
NAMES = {kind.name for kind in KINDS}


def find_peers(say: Warn | None = None, names: Collection[str] = NAMES) -> list[Peer]:
    """Every peer that is installed.

    Parameters
    ----------
    say : callable, optional
        Takes a line for each that is not, with the reason.
    names : set of str
        Look for these only.
    """
    found: list[Peer] = []
    for kind in KINDS:
        if kind.name not in names:
            continue
        try:
            found.append(kind())
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            if say:
                say(f"without {kind.name}: {error}")
    return found
