# %% [markdown]
# # 01 Banks and padding
#
# **Question.** A tile of 32 x 32 numbers lies in shared memory. Reading a *column* of it can take
# 32 times as long as reading a *row*, although both are 32 numbers. Why, and why does one unused
# column cure it? And when does that cure cost more than it gives?
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
import importlib.resources
import json
import math

import numpy

import smemkit
from smemkit import bench, plot, probe

# %% [markdown]
# ## What a bank is
#
# Shared memory is a small, fast memory that the threads of a block have in common. Threads run in
# *warps* of 32 lanes, and one instruction of a warp reads shared memory for all 32. Shared memory
# is spread over 32 *banks*, 4-byte word by 4-byte word: word 0 lies in bank 0, word
# 1 in bank 1, word 32 in bank 0 again. In one pass, a **wavefront**, each bank hands out one word.
#
# So the cost of a read follows from its 32 addresses: it takes as many wavefronts as *different*
# words are wanted from one bank, the one from which most are wanted.

# %%
lane = numpy.arange(32)


def bank_of(address):
    """The bank in which the byte at this address lies."""
    return address // 4 % 32


print("a row:    banks", bank_of(4 * lane))
print("a column: banks", bank_of(4 * 32 * lane))

# %% [markdown]
# **Predict.** How many wavefronts does each take? `smemkit.bank_access` knows the rule; a
# *conflict* is a wavefront more than the access would need.

# %%
print("row:   ", smemkit.bank_access(4 * lane)[:2])
print("column:", smemkit.bank_access(4 * 32 * lane)[:2], "(wavefronts, conflicts)")

# %% [markdown]
# The picture has a row for each lane and a column for each bank. All lanes that read the column
# want words of bank 0.

# %%
ax = plot.banks(4 * 32 * lane)
# %% [markdown]
# ## The cure: one column that nobody uses
#
# Make the tile 33 wide: `float tile[32][33]`. The element below is now 33 words away instead of
# 32, which is *one bank further*. The column becomes a diagonal of banks.

# %%
ax = plot.banks(4 * 33 * lane)
# %% [markdown]
# ## Every stride
#
# Lane i reads word i * stride. **Predict** the wavefronts for each stride from 1 to 33 before you
# look. Here is a kernel to count them with:

# %%
walk = smemkit.RawKernel(
    r"""
extern "C" __global__ void walk(float *out, int stride)
{
    __shared__ float tile[32 * 33];
    for (int i = threadIdx.x; i < 32 * 33; i += 32)
        tile[i] = i;
    __syncwarp();                               // written by all lanes, read by others
    out[threadIdx.x] = tile[threadIdx.x * stride];
}
""",
    "walk",
)


def count_wavefronts(stride):
    """Wavefronts of the one load from shared memory."""
    report = walk.profile(1, 32, (numpy.zeros(32, "float32"), stride))
    return report.counters["shared.load.wavefronts"]


strides = range(1, 34)
counted = [count_wavefronts(stride) for stride in strides]
predicted = [math.gcd(stride, 32) for stride in strides]
for stride in (1, 2, 3, 4, 8, 16, 24, 32, 33):
    print(f"stride {stride:2}, wavefronts: {counted[stride - 1]:2}")
assert counted == predicted

# %% [markdown]
# `smemkit.probe` has this experiment ready, as one of several:

# %%
ax = plot.bank_stride([probe.bank_access(stride, backend="sim") for stride in strides])

# %% [markdown]
# The rule is `gcd(stride, 32)`: odd strides are free, 32 is the worst, and 33 is as good as 1.
# That is all there is to padding: **make the stride odd**.
#
# The rule of the greatest common divisor has limits, and many texts forget them:

# %%
cases = {
    "all lanes read one word (a broadcast)": (0 * lane, 4),
    "two lanes share each word": (4 * (lane // 2), 4),
    "8 bytes a lane, side by side": (8 * lane, 8),
    "8 bytes a lane, every second one": (16 * lane, 8),
    "16 bytes a lane, side by side": (16 * lane, 16),
}
for name, (addresses, width) in cases.items():
    access = smemkit.bank_access(addresses, width)
    print(f"{name:38} {access.wavefronts} wavefronts, {access.conflicts} conflicts")

# %% [markdown]
# Lanes that want the *same* word share one wavefront. And a warp that reads 16 bytes a lane wants
# 512 bytes, which is four wavefronts even when nothing conflicts: a long access is not a conflict.
#
# ## In a real kernel
#
# Two matrix products of the package keep one tile transposed, and a warp walks down a column of
# it. They differ in one idea:

# %%
column, padded = (smemkit.source("gemm", name) for name in ("column", "column_padded"))
body = [text[text.index("constexpr") :].splitlines() for text in (column, padded)]
print("\n".join(difflib.unified_diff(*body, "column", "column_padded", n=0, lineterm="")))

# %%
a = numpy.random.default_rng(1).random((128, 128), dtype="float32")
reports = {
    name: smemkit.profile(smemkit.gemm, a, a, variant=name, backend="sim")
    for name in ("tiled", "padded", "column", "column_padded")
}
names = ("shared.load.instructions", "shared.load.wavefronts", "shared.load.conflicts")
print(f"{'':15}" + "".join(f"{name.removeprefix('shared.'):>19}" for name in names))
for name, report in reports.items():
    print(f"{name:15}" + "".join(f"{report.counters[counter]:19,}" for counter in names))

# %% [markdown]
# `column` spends most of its wavefronts on conflicts, and `column_padded` has none. The worst
# access, with the line it stands in:

# %%
ax = plot.banks(reports["column"])
# %% [markdown]
# **Is the simulator right?** The package holds a record of what Nsight Compute, NVIDIA's profiler,
# counted of the same kernels on an H200. Beside it, what the simulator counts:

# %%
file = importlib.resources.files("smemkit") / "recorded/counts_h200.json"
record = json.loads(file.read_text(encoding="utf-8"))
print(record["device"], "| a @ b with 64 x 64 float32 | wavefronts and conflicts of shared loads")
for row in record["rows"]:
    name = row["kernel"].removeprefix("gemm_").removesuffix("_float32")
    if name in reports and row["case"] == "m=64, k=64, n=64, float32":
        none = {"sim": 0, "ncu": 0}
        pairs = [row["counters"].get(f"shared.load.{c}", none) for c in ("wavefronts", "conflicts")]
        text = "   ".join(f"simulator {p['sim']:6,}  H200 {p['ncu']:6,}" for p in pairs)
        print(f"{name:14} {text}")

# %% [markdown]
# ## When padding costs
#
# Now look at `tiled` and `padded` in the same table. `padded` is `tiled` with one more column, as
# many tutorials advise. But `tiled` reads *rows*, and had **no conflict to begin with**. Yet
# `padded` issues more loads. Why?

# %%
for advice in reports["padded"].advice:
    print(advice)

# %% [markdown]
# Between your source and the hardware stands the compiler. Where four neighbouring words lie at an
# address that is a multiple of 16, it reads them by one 16-byte load. Rows of 33 floats begin at
# multiples of 132 bytes, so it cannot. Padding is a cure for a disease that this kernel does not
# have, and it has a side effect.
#
# ## Where one pad is not enough: sorting
#
# A *sorting network* compares elements in pairs, in an order that does not depend on their values.
# In a step of reach r, element i meets element i + r: a warp reads r elements, leaves out r, and so
# on. For r = 1, 2, 4, 8 and 16 its 32 lanes thus read one half of two rows of banks. **Predict**:
# which of these steps does an unused place after each 32 elements cure?

# %%
lane = numpy.arange(32)
print("reach   as they lie   one place unused   every second row reversed")
for reach in (1, 2, 4, 8, 16, 32):
    i = 2 * lane - lane % reach  # the lower element of each lane's pair
    layouts = (i, i + i // 32, numpy.where(i // 32 % 2, i ^ 31, i))
    counts = [smemkit.bank_access(4 * places).conflicts for places in layouts]
    print(f"{reach:5}{counts[0]:14}{counts[1]:19}{counts[2]:28}")

# %% [markdown]
# The pad moves the second row by one bank, which suits a reach of 1 alone. The second row should
# use the banks that the first one leaves free. Reversed, it does so at every reach, and no place is
# lost. This is a *swizzle*: the same banks in another order. `sort` has the first and the last of
# these layouts, and a third variant that keeps the elements in registers and needs shared memory
# only where elements of different warps meet:

# %%
row = numpy.random.default_rng(1).permutation(4096).astype("float32")
print("variant    conflicts   shared loads   barriers")
for name in smemkit.variants("sort"):
    report = smemkit.profile(smemkit.sort, row, variant=name, backend="sim")
    assert (report.result == numpy.arange(4096)).all()
    names = ("shared.load.conflicts", "shared.load.instructions", "barrier.count")
    conflicts, loads, barriers = (report.counters[counter] for counter in names)
    print(f"{name:10}{conflicts:10,}{loads:15,}{barriers:11,}")

# %% [markdown]
# ## On a GPU
#
# Counters are not time. These are times: of the GPU of this machine, or, where there is none,
# recorded on an H200 (they come with the package).

# %%
if smemkit.get_backend() == "cuda":
    timed = [probe.bank_access(stride) for stride in strides]
else:
    timed = bench.recorded("h200", part="probes").select(variant="bank_access", width=4)
ax = plot.bank_stride(timed)

# %% [markdown]
# The marks lie on the ends of the bars: the time of a read is proportional to its wavefronts. Now
# the matrix products, with NumPy on the host and the library cuBLAS beside them:


# %%
def measure(family, shape, **more):
    """Medians of all variants, of NumPy and of a library: measured here, or recorded on an H200."""
    results = None if smemkit.get_backend() == "cuda" else bench.recorded("h200")
    return bench.evolution(family, shape, results=results, **more)


table = measure("gemm", 4096, variants=("tiled", "padded", "column", "column_padded"))
ax = plot.ladder(table)
speed = {row.variant: row.gflop_per_s for row in table}
for what, one, other in (("columns", "column", "column_padded"), ("rows", "tiled", "padded")):
    print(f"padding, where {what} are read: {speed[other] / speed[one]:.2f} times as fast")

# %% [markdown]
# The same idea makes one kernel several times faster, and another one slower. (All of these are
# far below the library. Notebook 03 climbs on from here.)

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: a pad for numbers of 8 bytes
#
# A warp sums the rows of a tile of `double`, one lane a row, and so its lanes walk down a column.
# A `double` takes two neighbouring banks, and a warp's access of 8 bytes a lane goes in two
# halves of 16 lanes. Find the smallest `PAD` without a conflict.

# %%
source = r"""
constexpr int PAD = 0;

extern "C" __global__ void row_sums(const double *x, double *y)   // x is (tiles, 32, 32)
{
    __shared__ double tile[32][32 + PAD];
    int lane = threadIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[row][lane] = x[(blockIdx.x * 32 + row) * 32 + lane];
    __syncwarp();
    double sum = 0;
    for (int col = 0; col < 32; ++col)
        sum += tile[lane][col];                     // the lanes walk down a column
    y[blockIdx.x * 32 + lane] = sum;
}
"""
exercise = smemkit.exercise("banks.double")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: the same sums without a pad
#
# Each lane sums a row of the tile. There is no memory left for a pad. But a sum may be taken in
# any order, and nothing forces all lanes to begin with column 0. Choose for each lane where it
# begins.

# %%
source = r"""
extern "C" __global__ void row_sums(const float *x, float *y)   // x is (tiles, 32, 32)
{
    __shared__ float tile[32][32];
    int lane = threadIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[row][lane] = x[(blockIdx.x * 32 + row) * 32 + lane];
    __syncwarp();
    float sum = 0;
    for (int i = 0; i < 32; ++i)
        sum += tile[lane][i];
    y[blockIdx.x * 32 + lane] = sum;
}
"""
exercise = smemkit.exercise("banks.rotate")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: no space for a pad: a swizzle
#
# `turn` transposes tiles of exactly 32 x 32 floats. `place` says where in the tile element (row,
# col) is kept. Keep every element in its own row, but elsewhere in it, so that warps can store
# rows *and* read columns without a conflict. (Such an order is called a *swizzle*.)

# %%
source = r"""
__device__ int place(int row, int col)
{
    return 32 * row + col;                          // your code: another place in the same row
}

extern "C" __global__ void turn(const float *x, float *y)   // both are (tiles, 32, 32)
{
    __shared__ float tile[32 * 32];
    int at = 32 * (32 * blockIdx.x + threadIdx.y) + threadIdx.x;
    tile[place(threadIdx.y, threadIdx.x)] = x[at];
    __syncthreads();
    y[at] = tile[place(threadIdx.x, threadIdx.y)];  // a column of the tile
}
"""
exercise = smemkit.exercise("banks.swizzle")
exercise.judge(source)
