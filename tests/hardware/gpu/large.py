"""Arrays too large for the host: made, poisoned and judged where they are, by large.cu.

    python tests/run.py hardware.gpu.large

compiles its kernels again; the PTX is kept so that the tests run where no nvcc is.
"""

import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import pytest
from programs.regenerate import find_nvcc, strip_paths
from support import alone

FOLDER = pathlib.Path(__file__).resolve().parent
BLOCKS, THREADS = 1 << 13, 256
NOWHERE = (1 << 64) - 1


@functools.cache
def load(backend):
    """The kernels, on a machine."""
    import smemkit

    return smemkit.RawModule((FOLDER / "large.ptx").read_text(), backend=backend)


def launch(name, elements, *args):
    """Runs a kernel that walks over so many elements; numbers are passed as 64 bits."""
    blocks = max(1, min(BLOCKS, -(-elements // THREADS)))
    sent = [numpy.uint64(arg) if isinstance(arg, int) else arg for arg in args]
    backend = next(arg.backend for arg in args if not isinstance(arg, int))
    load(backend).get_function(name)((blocks,), (THREADS,), sent, backend=backend)


def hold(shapes, backend):
    """Device arrays of these (shape, element type); skips where they do not fit."""
    import smemkit

    sizes = [(numpy.prod(shape, dtype="int64"), numpy.dtype(dtype)) for shape, dtype in shapes]
    nbytes = sum(int(count) * dtype.itemsize for count, dtype in sizes)
    if nbytes >= alone.LARGE_BYTES:
        alone.skip_without_its_memory()
    try:
        return [smemkit.empty(shape, dtype, backend=backend) for shape, dtype in shapes]
    except smemkit.OutOfMemoryError as error:
        pytest.skip(f"too little memory: {error}")


def fill(name, array, *more):
    """An array with the content of a fill kernel."""
    launch(name, array.size, array, array.size, *more)


def poison(array):
    """Every byte is 255."""
    launch("poison", array.nbytes, array, array.nbytes)


def judge(name, out, *args):
    """(how many elements are wrong, the first of them) by a check kernel."""
    import smemkit

    wrong = smemkit.asarray(numpy.array([0, NOWHERE], "uint64"), backend=out.backend)
    launch(name, out.size, out, *args, wrong)
    return tuple(map(int, smemkit.asnumpy(wrong)))


def compile_kernels():
    """PTX of large.cu."""
    nvcc = find_nvcc()
    if nvcc is None:
        sys.exit("smemkit finds no nvcc, and $NVCC names none")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FOLDER / "large.cu", folder)
        command = [nvcc, "-ptx", "-O3", "-arch=compute_75", "large.cu", "-o", "large.ptx"]
        subprocess.run(command, cwd=folder, check=True, timeout=300)
        return strip_paths(pathlib.Path(folder, "large.ptx").read_text())


if __name__ == "__main__":
    (FOLDER / "large.ptx").write_text(compile_kernels())
