# %% [markdown]
# # 11 Triton and Numba
#
# **Question.** Triton and Numba make kernels from Python. What do they make of it: which line moves
# how many bytes, where do lanes wait, and is a mask or a barrier missing? And how do you test such
# a kernel on a machine without a GPU?
#
# Both compile to PTX without a GPU, and smemkit executes PTX. This notebook needs both packages
# beside it: `pip install "smemkit[triton,numba]"`.

# %% jupyter={"source_hidden": true} tags=["setup"]
import importlib.util
import subprocess
import sys
import tempfile

if importlib.util.find_spec("smemkit") is None:  # as in Colab
    REPOSITORY = ""  # what git clone takes: the address of this repository
    assert REPOSITORY, "smemkit is not installed: write into REPOSITORY what git clone takes"
    with tempfile.TemporaryDirectory() as clone:
        subprocess.run(["git", "clone", "--depth", "1", REPOSITORY, clone], check=True)
        subprocess.run([sys.executable, "-m", "pip", "install", f"{clone}[plot,nvrtc]"], check=True)

# %%
import os

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns where nobody says it
import numpy
import triton
import triton.language as tl
from numba import cuda, float32

import smemkit
from smemkit import plot

rng = numpy.random.default_rng(11)


# %% [markdown]
# ## A kernel of Triton
#
# Softmax of the rows of a matrix, a program for each row. `from_triton` takes it as it stands, and
# a launch looks as in Triton. NumPy arrays are copied in and back.


# %%
@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    row = tl.load(x + start + i, mask=i < columns, other=-float("inf"))
    top = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + i, top / tl.sum(top, axis=0), mask=i < columns)


def right(x):
    top = numpy.exp(x - x.max(axis=1, keepdims=True))
    return top / top.sum(axis=1, keepdims=True)


kernel = smemkit.from_triton(softmax)
x = rng.normal(size=(32, 1000)).astype("float32")
out = numpy.zeros_like(x)
kernel[(32,)](x, out, 1000, BLOCK=1024)
print("largest error:", f"{abs(out - right(x)).max():.0e}")

# %% [markdown]
# ## What does it cost?
#
# **Predict**: 1000 is no multiple of 16, and 1008 is. Does that matter, when the mask cuts the row
# off in both cases?
#
# `profile` runs the kernel on the simulator and counts, by line of the Python:

# %%
reports = {}
for columns in (1000, 1008):
    x = rng.normal(size=(32, columns)).astype("float32")
    report = kernel[(32,)].profile(x, numpy.zeros_like(x), columns, BLOCK=1024)
    reports[f"{columns} columns"] = report
    requests = report.counters["global.load.requests"]
    sectors = report.counters["global.load.sectors"]
    print(f"{columns} columns: {requests:5,} requests, {sectors:6,} sectors")

# %% [markdown]
# It does: four times as many requests for the same sectors. Triton compiles a kernel of its own for
# numbers that are multiples of 16. With 1008 columns it knows that every row begins at a multiple
# of 16 bytes and ends at one, and lets a lane load four elements by one access. With 1000 columns
# it knows neither (1000 is a multiple of 8, but it asks for 16), and each lane loads one element at
# a time. The report of that one, with counters in the margin:

# %%
reports["1000 columns"]

# %% [markdown]
# What `tl.max` and `tl.sum` do belongs to the lines that call them: shuffles within a warp, and a
# few words of shared memory with a barrier between the warps.

# %%
for line in reports["1008 columns"].lines:
    counts = line.counters
    if counts["barrier.count"] or counts["shared.store.instructions"]:
        print(f"{counts['barrier.count']:4} barriers of warps: {line.text}")

# %% [markdown]
# ## Options
#
# Counts answer what `num_warps` changes before any GPU is asked: fewer warps, fewer barriers.

# %%
x = rng.normal(size=(32, 1008)).astype("float32")
print("warps  instructions  barriers  wavefronts of shared memory")
for warps in (1, 2, 4, 8):
    report = kernel[(32,)].profile(x, numpy.zeros_like(x), 1008, BLOCK=1024, num_warps=warps)
    counts = report.counters
    waves = counts["shared.load.wavefronts"] + counts["shared.store.wavefronts"]
    print(f"{warps:5}  {counts['instructions.warp']:12,}  {counts['barrier.count']:8,}  {waves:6,}")

# %% [markdown]
# ## A mask that is wrong
#
# `<=` for `<` lets each program write one element of the next row. On a GPU the result is mostly
# right: it depends on which program comes last.


# %%
@triton.jit
def softmax_wrong(x, out, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    row = tl.load(x + start + i, mask=i < columns, other=-float("inf"))
    top = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + i, top / tl.sum(top, axis=0), mask=i <= columns)


x = rng.normal(size=(4, 1000)).astype("float32")
print(smemkit.from_triton(softmax_wrong)[(4,)].check(x, numpy.zeros_like(x), 1000, BLOCK=1024))

# %% [markdown]
# ## Products on tensor cores
#
# `tl.dot` becomes `mma.sync`, with operands staged in shared memory by asynchronous copies. The
# counters tell how many products an instruction makes, and whether the tiles lie well in the banks.


# %%
@triton.jit
def matmul(a, b, c, k, row_a, row_b, row_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        tile_a = tl.load(a + rows[:, None] * row_a + start + inner[None, :])
        tile_b = tl.load(b + (start + inner[:, None]) * row_b + columns[None, :])
        total = tl.dot(tile_a, tile_b, total)
    tl.store(c + rows[:, None] * row_c + columns[None, :], total)


product = smemkit.from_triton(matmul)
for dtype in ("float16", "float32"):
    a, b = (rng.normal(size=(128, 128)).astype(dtype) for _ in "ab")
    c = numpy.zeros((128, 128), "float32")
    tile = {"M": 64, "N": 64, "K": 32}
    report = product[(2, 2)].profile(a, b, c, 128, 128, 128, 128, **tile)
    counts = report.counters
    error = abs(c - a.astype("float64") @ b.astype("float64")).max()
    print(
        f"{dtype}: {counts['matrix.instructions']:,} instructions of tensor cores for "
        f"{counts['matrix.products']:,} products; bank conflicts: "
        f"{counts['shared.load.conflicts']:,}; largest error {error:.0e}"
    )

# %% [markdown]
# (float32 is rounded to tf32 on the way, 11 bits, as on a GPU.)
#
# ## A kernel of Numba
#
# `from_numba` takes kernels with `@cuda.jit`, and plain functions. This one transposes a matrix by
# way of a tile in shared memory. **Predict**: which line has bank conflicts, and how many?


# %%
@cuda.jit
def transpose(a, b):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 32 + y, cuda.blockIdx.x * 32 + x
    if row < a.shape[0] and column < a.shape[1]:
        tile[y, x] = a[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * 32 + y, cuda.blockIdx.y * 32 + x
    if row < b.shape[0] and column < b.shape[1]:
        b[row, column] = tile[x, y]


a = rng.normal(size=(96, 64)).astype("float32")
b = numpy.zeros((64, 96), "float32")
plain = smemkit.from_numba(transpose)[(2, 3), (32, 32)].profile(a, b)
assert numpy.array_equal(b, a.T)
print(plain.counters["shared.load.conflicts"], "conflicts in", end=" ")
print(plain.counters["shared.load.instructions"], "loads")
print(plain.advice[0])
ax = plot.banks(plain)


# %% [markdown]
# One column more, and each row of the tile begins in another bank:


# %%
@cuda.jit
def transpose_padded(a, b):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 32 + y, cuda.blockIdx.x * 32 + x
    if row < a.shape[0] and column < a.shape[1]:
        tile[y, x] = a[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * 32 + y, cuda.blockIdx.y * 32 + x
    if row < b.shape[0] and column < b.shape[1]:
        b[row, column] = tile[x, y]


padded = smemkit.from_numba(transpose_padded)[(2, 3), (32, 32)].profile(a, b)
print(plain.compare(padded, names=("32 columns", "33 columns")))

# %% [markdown]
# ## A barrier that is missing
#
# The same kernel without `cuda.syncthreads()`. A test on a GPU may pass for years.


# %%
@cuda.jit
def transpose_wrong(a, b):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 32 + y, cuda.blockIdx.x * 32 + x
    if row < a.shape[0] and column < a.shape[1]:
        tile[y, x] = a[row, column]
    row, column = cuda.blockIdx.x * 32 + y, cuda.blockIdx.y * 32 + x
    if row < b.shape[0] and column < b.shape[1]:
        b[row, column] = tile[x, y]


print(smemkit.from_numba(transpose_wrong)[(2, 3), (32, 32)].check(a, b))


# %% [markdown]
# ## Keep it that way
#
# In a test of your project, on a machine without a GPU:


# %%
def test_softmax():
    for rows, columns in ((1, 1), (3, 31), (5, 64), (2, 1000)):
        x = rng.normal(size=(rows, columns)).astype("float32")
        out = numpy.full_like(x, numpy.nan)
        launch = smemkit.from_triton(softmax)[(rows,)]
        assert launch.check(x, out, columns, BLOCK=1024)
        numpy.testing.assert_allclose(out, right(x), rtol=1e-5, atol=1e-7)


def test_transpose():
    launch = smemkit.from_numba(transpose_padded)[(2, 3), (32, 32)]
    assert launch.check(a, b)
    assert launch.profile(a, b).counters["shared.load.conflicts"] == 0


test_softmax()
test_transpose()
print("passed")

# %% [markdown]
# ## To try
#
# - `kernel.compile(x, out, 1000, BLOCK=1024).ptx` is what Triton made. Which instructions stand for
#   `tl.sum`?
# - Let `matmul` have tiles of 32 x 32, or `num_warps=8`, and compare two reports:
#   `report.compare(other)`.
# - Replace `tl.atomic_add` in a kernel of yours by a load and a store, and let `check` find it.
#
# [The page on kernels of Triton and Numba](../docs/python_kernels.md) has the details: signatures,
# options, versions, and what is refused.
