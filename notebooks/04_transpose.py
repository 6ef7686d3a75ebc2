# %% [markdown]
# # 04 Transpose
#
# **Question.** A transpose computes nothing: it reads a number here and writes it there. The best
# one can do is the speed of a plain copy. Why is the obvious kernel far from it, and what does
# each step towards the copy cost?
#
# Nothing here needs a GPU: smemkit counts on a simulator what the GPU's memory would do. Times
# come from a record that was made on an H200, or from your GPU if you have one.

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
import difflib

import numpy

import smemkit
from smemkit import bench, plot

for name, facts in smemkit.variants("transpose").items():
    print(f"{name:12} {facts['shows']}")

# %% [markdown]
# ## The ceiling, and the obvious kernel
#
# `copy` is no transpose: it moves the same bytes, 16 a lane, and is there to be compared with.
# This is the obvious kernel:

# %%
source = smemkit.source("transpose", "naive")
print(source[source.index("    // Who am I") :])

# %% [markdown]
# A warp reads 32 neighbours of a row of `a`, and writes them down a *column* of `b`. **Predict**:
# how many sectors (32 bytes) does a warp's read touch, and how many its write, with elements of 4
# bytes?

# %%
n = 256
names = list(smemkit.variants("transpose"))


def profile_all(dtype):
    a = numpy.random.default_rng(4).integers(0, 100, (n, n)).astype(dtype)
    reports = {}
    for name in names:
        reports[name] = smemkit.profile(smemkit.transpose, a, variant=name, backend="sim")
        assert (reports[name].result == (a if name == "copy" else a.T)).all()
    return reports


words = profile_all("float32")
for name in ("copy", "naive"):
    counters = words[name].counters
    print(
        f"{name:6} load {counters['global.load.sectors_per_request']:4} sectors a request, "
        f"store {counters['global.store.sectors_per_request']:4}"
    )

# %% [markdown]
# The store takes a sector for each lane, and fills an eighth of it. (The L2 cache may collect the
# eighths before they go to memory, but each of the 32 has to be sent to it.) `copy` has 16 sectors
# a request because a lane moves 16 bytes at once: 512 bytes fill 16 sectors, and none is wasted.
#
# ## Through shared memory
#
# Shared memory has no sectors. So: read a 32 x 32 tile by rows, keep it, and write it by rows of
# the *result*, which are columns of the tile. Both global accesses are then as good as those of
# the copy.

# %%
source = smemkit.source("transpose", "shared")
print(source[source.index("    // Read and stage") :])

# %% [markdown]
# **Predict** before you look: the tile is `T tile[32][32]`, and a warp reads a column of it. What
# does that cost? (Notebook 01.)

# %%
columns = {
    "sectors / load": "global.load.sectors_per_request",
    "sectors / store": "global.store.sectors_per_request",
    "wavefronts": "shared.load.wavefronts",
    "conflicts": "shared.load.conflicts",
}
print(f"{'':12}" + "".join(f"{name:>17}" for name in columns))
for name, report in words.items():
    print(f"{name:12}" + "".join(f"{report.counters[c]:17,}" for c in columns.values()))

# %%
ax = plot.banks(words["shared"])

# %% [markdown]
# The global accesses are as good as they can be, but shared memory now has 31 conflicts for each
# column. Two remedies, one line each:


# %%
def show_difference(one, other):
    """What differs between two variants, below the header."""
    texts = [smemkit.source("transpose", name) for name in (one, other)]
    bodies = [text[text.index("    constexpr") :].splitlines() for text in texts]
    lines = difflib.unified_diff(*bodies, one, other, n=0, lineterm="")
    print("\n".join(line for line in lines if not line.startswith("@@")))


show_difference("shared", "padded")
print()
show_difference("padded", "swizzled")

# %%
ax = plot.banks(words["swizzled"].access(space="shared", op="load"))
# %% [markdown]
# `vectorized` moves 16 bytes a lane at each access. Its requests have 16 sectors instead of 4, and
# there are a quarter as many of them: that is *no* worse, as the next line shows. Always look at
# what a ratio is a ratio of.

# %%
for name in ("copy", "swizzled", "vectorized"):
    c = words[name].counters
    print(
        f"{name:12} {c['global.load.requests']:6,} requests, {c['global.load.sectors']:6,} sectors"
    )

# %% [markdown]
# ## Other sizes of elements
#
# A bank holds 4 bytes. With elements of 1 byte, four neighbours of a row share a bank, and a row
# of the tile is only 8 banks long. Look at `PAD` above: `padded` adds one *bank*, not one element.
# **Predict**: would one element, a row of 33 bytes, have done?

# %%
row, col = numpy.arange(32), numpy.arange(32)[:, None]
for pad in (0, 1, 2, 3, 4):
    reads = smemkit.bank_access((32 + pad) * row + col, width=1)  # all 32 columns
    print(f"rows of {32 + pad} bytes: at worst {reads.wavefronts.max()} wavefronts for a column")

# %% [markdown]
# So neither "an odd pad" nor "one element" is a rule for every element size: what counts is in
# which bank each *word* lies. A pad of one bank works for all of them.
#
# All variants, all sizes, conflicts of loads and stores together:

# %%
dtypes = ("uint8", "int16", "float32", "float64")
tables = [profile_all(dtype) for dtype in dtypes]
print(f"{'':12}" + "".join(f"{dtype:>10}" for dtype in dtypes))
for name in names:
    counts = [table[name].counters for table in tables]
    row = [c["shared.load.conflicts"] + c["shared.store.conflicts"] for c in counts]
    print(f"{name:12}" + "".join(f"{count:10,}" for count in row))

# %% [markdown]
# ## More axes
#
# An array of four axes can be turned in 24 ways, and few of them are new. Neighbours that stay
# neighbours are one axis. If the last axis stays last, whole rows move, and no tile is needed. Else
# two axes matter: the last one of the source and the last one of the result, along which each of
# them is contiguous. A tile turns these two, and the others say where it lies.
#
# **Predict**: for which of these does a kernel need shared memory?

# %%
a = numpy.arange(4 * 64 * 3 * 64, dtype="float32").reshape(4, 64, 3, 64)
for axes in ((0, 2, 1, 3), (3, 0, 1, 2), (0, 3, 1, 2), (0, 3, 2, 1)):
    report = smemkit.profile(smemkit.transpose, a, axes, backend="sim")
    assert (report.result == a.transpose(axes)).all()
    shared = report.counters["shared.load.instructions"]
    print(f"{str(axes):14} {report.launches[0].kernel:28} {shared:6,} reads of shared memory")

# %% [markdown]
# ## On a GPU
#
# Counters are not time. These are times: of the GPU of this machine, or, where there is none,
# recorded on an H200 (they come with the package).


# %%
def measure(family, shape, **more):
    """Medians of all variants, of NumPy and of a library: measured here, or recorded on an H200."""
    results = None if smemkit.get_backend() == "cuda" else bench.recorded("h200")
    return bench.evolution(family, shape, results=results, **more)


table = measure("transpose", 8192)
ax = plot.ladder(table)

# %% [markdown]
# 100 % is the device's own copy of as many bytes. Look at the order of `naive` and `shared`: is a
# store with 32 sectors worse than a read with 32 wavefronts, or the other way round? And how much
# is left for the last step?

# %% [markdown]
# ## Question: predict
#
# How many conflicts has `shared` in all, for an n x n matrix of float64, n a multiple of 32? (A
# warp's read of 8-byte elements goes in two halves of 16 lanes.)


# %%
def predict(n):
    return None  # your answer


def check_predict(predict):
    for n in (32, 64, 96):
        a = numpy.zeros((n, n))
        report = smemkit.profile(smemkit.transpose, a, variant="shared", backend="sim")
        count = report.counters["shared.load.conflicts"]
        assert predict(n) == count, f"for n = {n} there are {count}, not {predict(n)}"
    print("right")


if predict(32) is not None:
    check_predict(predict)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# n * n / 32 reads of a column; each half meets one pair of banks 16 times: 15 conflicts, twice.
check_predict(lambda n: n * n // 32 * 30)

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: write along rows
#
# `b`, of cols x rows, becomes the transpose of `a`, of rows x cols. The tile is filled along rows
# of a, but each warp still writes down a column of b: 32 sectors a request. Change the second
# half: let a warp write 32 neighbours of a row of b, and take them from the tile. Both sizes may
# be ragged.

# %%
source = r"""
extern "C" __global__ void transpose(const float *a, float *b, int rows, int cols)
{
    __shared__ float tile[32][33];
    int col = 32 * blockIdx.x + threadIdx.x, row = 32 * blockIdx.y + threadIdx.y;
    for (int r = 0; r < 32; r += 8)                 // 32 x 8 threads: 8 rows at a time
        if (row + r < rows && col < cols)
            tile[threadIdx.y + r][threadIdx.x] = a[(row + r) * cols + col];
    __syncthreads();
    for (int r = 0; r < 32; r += 8)
        if (row + r < rows && col < cols)           // your code: write along rows of b
            b[col * rows + row + r] = tile[threadIdx.y + r][threadIdx.x];
}
"""
exercise = smemkit.exercise("transpose.tile")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: the smallest pad
#
# Reads and writes of global memory are perfect now. What is left is in shared memory: a warp
# reads a column of the tile. Cure it with as little more shared memory as possible.

# %%
source = r"""
extern "C" __global__ void transpose(const float *a, float *b, int rows, int cols)
{
    __shared__ float tile[32][32];
    int col = 32 * blockIdx.x + threadIdx.x, row = 32 * blockIdx.y + threadIdx.y;
    for (int r = 0; r < 32; r += 8)                 // 32 x 8 threads: 8 rows at a time
        if (row + r < rows && col < cols)
            tile[threadIdx.y + r][threadIdx.x] = a[(row + r) * cols + col];
    __syncthreads();
    int to_col = 32 * blockIdx.y + threadIdx.x, to_row = 32 * blockIdx.x + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (to_row + r < cols && to_col < rows)     // b has cols rows
            b[(to_row + r) * rows + to_col] = tile[threadIdx.x][threadIdx.y + r];
}
"""
exercise = smemkit.exercise("transpose.padding")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: a tile of 16 x 16
#
# With blocks of 16 x 16 threads a warp stores *two* rows of the tile at once, and reads two
# columns. A pad that cures the columns spoils the rows: with 18 words a row, two neighbouring
# rows share two banks. Find a `place` for element (row, col) within 16 * 16 words, so that both
# are free of conflicts.

# %%
source = r"""
__device__ int place(int row, int col)
{
    return 16 * row + col;                          // your code
}

extern "C" __global__ void transpose(const float *a, float *b, int rows, int cols)
{
    __shared__ float tile[16 * 16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = 16 * blockIdx.y + y, col = 16 * blockIdx.x + x;
    if (row < rows && col < cols)
        tile[place(y, x)] = a[row * cols + col];
    __syncthreads();
    int to_row = 16 * blockIdx.x + y, to_col = 16 * blockIdx.y + x;
    if (to_row < cols && to_col < rows)
        b[to_row * rows + to_col] = tile[place(x, y)];
}
"""
exercise = smemkit.exercise("transpose.small_tile")
exercise.judge(source)
