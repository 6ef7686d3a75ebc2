"""Writes the PTX that tests run where Triton and Numba are missing; it needs smemkit[triton,numba].

python tests/run.py python_kernels.record_ptx    after the kernels beside it have changed
"""

import re
from pathlib import Path

import numpy

import smemkit

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded"
LAUNCH = "// Launched with a block of {} threads and shared_mem={}\n"


def read(name):
    """(kernel, path of its Python file, threads of a block, bytes of dynamic shared memory)."""
    text = (RECORDED / f"{name}.ptx").read_text(encoding="utf-8")
    path = FOLDER / re.search(r'^\s*\.file\s+1\s+"(\w+\.py)"', text, re.MULTILINE)[1]
    numbers = re.search(LAUNCH.format(r"(\d+)", r"(\d+)"), text).groups()
    kernel = smemkit.RawKernel(text.replace(f'"{path.name}"', f'"{path}"'), name)
    return kernel, str(path), *map(int, numbers)


def write(launch, kernel, *args, **words):
    """Writes the PTX of a kernel without the paths of its files and without comments."""
    (made,) = launch.profile(*args, **words).launches
    raw = kernel.compile(*args, **words)
    text = raw.ptx.partition("\t.section")[0]
    text = re.sub(r"^(\s*\.file\s+\d+\s+)\"[^\"]*/", r'\1"', text, flags=re.MULTILINE)
    first, _, rest = text.partition("\n")
    rest = re.sub(r"[ \t]*//.*", "", rest)
    dynamic = made.shared_bytes - raw.attributes["shared_size_bytes"]
    text = f"{first}\n{LAUNCH.format(numpy.prod(made.block), dynamic)}{rest}"
    path = RECORDED / f"{made.kernel}.ptx"
    path.write_text(re.sub(r"\n{2,}", "\n", text), encoding="utf-8")


def main():
    from python_kernels import numba_kernels, triton_kernels

    RECORDED.mkdir(exist_ok=True)
    half, full = numpy.zeros((50, 32), "float16"), numpy.zeros((50, 32), "float32")
    kernel = smemkit.from_triton(triton_kernels.attention)
    write(kernel[(2,)], kernel, half, half, half, full, 50, 0.125, D=32, M=32, N=32)
    kernel = smemkit.from_triton(triton_kernels.softmax)
    write(kernel[(5,)], kernel, full, full, 100, 100, BLOCK=128)
    kernel = smemkit.from_numba(numba_kernels.total)
    write(kernel[8, 128], kernel, full.ravel(), full.ravel())


if __name__ == "__main__":
    main()
