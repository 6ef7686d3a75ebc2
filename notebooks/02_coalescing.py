# %% [markdown]
# # 02 Coalescing
#
# **Question.** Two matrix products do the same multiplications in the same order, and differ only
# in which thread computes which element. One is several times slower. What does the slow one do
# with the memory?
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
from smemkit import bench, plot, probe

lane = numpy.arange(32)

# %% [markdown]
# ## What a sector is
#
# Global memory is moved in **sectors** of 32 bytes, at addresses that are multiples of 32. A
# warp's read is one *request* of 32 addresses, and what it costs is the number of sectors that it
# touches. Whether the program wants all 32 bytes of a sector or only 4 of them makes no
# difference.
#
# **Predict.** 32 lanes read one `float` (4 bytes) each. How many sectors are touched, where
# neighbouring lanes read neighbours? Where they read every second one, every eighth, every 32nd?
# And where they read neighbours, but start one element late?

# %%
cases = {f"stride {stride}": 4 * stride * lane for stride in (1, 2, 4, 8, 16, 32)}
cases |= {"stride 1, from element 1": 4 * (lane + 1), "all lanes the same": 0 * lane}
for name, addresses in cases.items():
    count = smemkit.sectors(addresses)
    used = len(set(addresses.tolist())) * 4 / (32 * count)
    print(f"{name:26} {count:2} sectors, {used:6.1%} of their bytes are used")

# %% [markdown]
# It gets worse up to a stride of 8 elements, where each lane has a sector of its own: 32 bytes
# moved for 4 that are used. From there on the count stays. A start that is off by one costs one
# sector in four. And lanes that read the *same* element share its sector. An access that touches no
# more sectors than its bytes fill is called *coalesced*.
#
# ## A kernel to try it
#
# Element i of `y` is element `i * stride + offset` of `x`:

# %%
pick = smemkit.RawKernel(
    r"""
extern "C" __global__ void pick(const float *x, float *y, int n, int stride, int offset)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[(long long)i * stride + offset];
}
""",
    "pick",
)


def profile_pick(stride, offset=0, n=4096):
    x = numpy.arange(n * stride + offset, dtype="float32")
    y = numpy.zeros(n, dtype="float32")
    report = pick.profile(n // 256, 256, (x, y, n, stride, offset))
    assert (y == x[offset::stride][:n]).all()
    return report


reports = {f"stride {stride}": profile_pick(stride) for stride in (1, 2, 4, 8, 16, 32)}
reports["stride 1, offset 1"] = profile_pick(1, 1)
ax = plot.sectors(reports)
# %% [markdown]
# The bars are averages over all requests of the kernel, and they equal the counts of the single
# requests above. The red marks say how many sectors the lanes' bytes would fill if they lay side
# by side.
#
# The report of a profile says so in words, with the line of the source:

# %%
print(reports["stride 8"].advice[0])

# %% [markdown]
# ## An array of structures, or a structure of arrays?
#
# The classic case: particles with x, y and z. Kept as records of three floats, one lane's x lies
# 12 bytes from the next lane's. Kept as three arrays, it lies 4 bytes from it. **Predict** the
# sectors a request for both.

# %%
records = smemkit.RawKernel(
    r"""
struct particle { float x, y, z; };

extern "C" __global__ void records(const particle *p, float *norm)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    norm[i] = p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z;
}
""",
    "records",
)
arrays = smemkit.RawKernel(
    r"""
extern "C" __global__ void arrays(const float *x, const float *y, const float *z, float *norm)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    norm[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i];
}
""",
    "arrays",
)
xyz = numpy.random.default_rng(2).random((1024, 3), dtype="float32")
norms = numpy.zeros((2, 1024), dtype="float32")
layouts = {
    "array of structures": records.profile(4, 256, (xyz, norms[0])),
    "structure of arrays": arrays.profile(4, 256, (*xyz.T.copy(), norms[1])),
}
numpy.testing.assert_allclose(norms, [(xyz**2).sum(axis=1)] * 2, rtol=1e-6)
ax = plot.sectors(layouts)
# %% [markdown]
# Three times the sectors. (On a GPU the three reads of one record lie in the same sectors, and the
# L1 cache will serve two of the three. It still has to look them up: requests with 12 sectors take
# three times the work of requests with 4.)
#
# ## The matrix product
#
# Now the two kernels of the question. This is all that differs:

# %%
good, bad = (smemkit.source("gemm", name) for name in ("naive", "naive_uncoalesced"))
body = [text[text.index("// Who am I") :].splitlines() for text in (good, bad)]
lines = difflib.unified_diff(*body, "naive", "naive_uncoalesced", n=0, lineterm="")
print("\n".join(lines))

# %% [markdown]
# In `naive`, the 32 lanes of a warp (whose `threadIdx.x` runs from 0 to 31) compute 32 neighbours
# of one *row* of c. In `naive_uncoalesced` they compute 32 elements of one *column*.
#
# **Predict**, for the line `sum += a[row * k + i] * b[i * n + col]`: how many sectors for the read
# of `a`, and for that of `b`, in each kernel?

# %%
a = numpy.random.default_rng(3).random((64, 64), dtype="float32")
products = {
    name: smemkit.profile(smemkit.gemm, a, a, variant=name, backend="sim")
    for name in ("naive", "naive_uncoalesced")
}
for name, report in products.items():
    # The compiler unrolls the loop, so the same read stands there several times: once will do.
    for op, cost, text in dict.fromkeys((s.op, s.cost, s.text) for s in report.samples):
        print(f"{name:18} {op:5} {cost:2} sectors   {text}")

# %%
ax = plot.sectors(products)
# %% [markdown]
# The average of 2.5 hides two different reads: one element of `a` for the whole warp (1 sector),
# and 32 neighbours of `b` (4 sectors). With the axes exchanged, the reads of `a` walk down a
# column: 32 sectors for 32 numbers.
#
# The common rule: **let `threadIdx.x` walk along the axis whose elements lie side by side.**
#
# ## On a GPU
#
# Counters are not time. These are times: of the GPU of this machine, or, where there is none,
# recorded on an H200 (they come with the package).

# %%
strides = (1, 2, 4, 8, 16, 32)
if smemkit.get_backend() == "cuda":
    timed = [probe.global_access(stride) for stride in strides]
else:
    timed = bench.recorded("h200", part="probes").select(
        variant="global_access", offset=0, random=False
    )
ax = plot.stride(timed)

# %% [markdown]
# The bandwidth that is left for the program falls as the sectors rise. (Half of the bytes counted
# here are writes, which stay as they are, so a stride of 2 does not halve it.) Beyond a stride of
# 8 it keeps falling although the sectors no longer rise: the memory behind the L1 cache prefers
# neighbours too, and this counter does not see that. Now the products:


# %%
def measure(family, shape, **more):
    """Medians of all variants, of NumPy and of a library: measured here, or recorded on an H200."""
    results = None if smemkit.get_backend() == "cuda" else bench.recorded("h200")
    return bench.evolution(family, shape, results=results, **more)


table = measure("gemm", 4096, variants=("naive", "naive_uncoalesced"))
speed = {row.variant: row.gflop_per_s for row in table}
for name, rate in speed.items():
    print(f"{name:18} {rate:8,.0f} GFLOP/s")
print(f"coalesced: {speed['naive'] / speed['naive_uncoalesced']:.1f} times as fast")

# %% [markdown]
# ## Question: rows that begin at a sector
#
# A picture has rows of 101 floats. Rows may be stored with a gap at their end, so that each begins
# at `row * PITCH` floats. Which is the smallest `PITCH` with which *every* row is read with as few
# sectors as possible, 32 lanes at a time from its start?

# %%
PITCH = None  # your answer, 101 or more


def count_worst(pitch):
    """The most sectors that a request of 32 lanes takes, over the begins of 32 rows."""
    begin = 4 * pitch * numpy.arange(32)[:, None]
    return int(smemkit.sectors(begin + 4 * lane).max())


def check_pitch(pitch):
    assert pitch >= 101, "a row has 101 floats"
    assert count_worst(pitch) == 4, f"some row takes {count_worst(pitch)} sectors"
    smaller = [p for p in range(101, pitch) if count_worst(p) == 4]
    assert not smaller, f"a smaller one does it too: {smaller[0]}"
    print("right")


if PITCH is not None:
    check_pitch(PITCH)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# Each row must begin at a multiple of 32 bytes: 8 floats. 101 rounded up to a multiple of 8:
check_pitch(104)

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: four elements a thread
#
# Each thread doubles four numbers, as on a CPU: four neighbours. Deal them out in another way, so
# that each access of a warp is to 32 neighbours.

# %%
source = r"""
extern "C" __global__ void twice(const float *x, float *y, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int i = 4 * thread + k;
        if (i < n)
            y[i] = 2 * x[i];
    }
}
"""
exercise = smemkit.exercise("coalescing.chunks")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: sums of columns
#
# This kernel sums each *row* of a matrix, one thread a row, and its reads are as bad as reads can
# be. Let it sum each *column* instead, one thread a column. Then look at the sectors: what was
# bad for rows is right for columns.

# %%
source = r"""
extern "C" __global__ void sums(const float *x, float *y, int rows, int cols)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= rows)
        return;
    float sum = 0;
    for (int i = 0; i < cols; ++i)
        sum += x[t * cols + i];
    y[t] = sum;
}
"""
exercise = smemkit.exercise("coalescing.column_sums")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: an array of records
#
# Particles lie in memory as records of x, y and z, and that cannot be changed. So a lane's x lies
# 12 bytes from the next lane's, and each load of a warp touches 12 sectors instead of 4. Let the
# block fetch its 3 * 128 floats as if they were a plain array, keep them in shared memory, and
# let each thread take its record from there. What does a stride of 3 words cost in shared memory?

# %%
source = r"""
extern "C" __global__ void norms(const float *p, float *norm, int n)   // p is (n, 3)
{
    int i = 128 * blockIdx.x + threadIdx.x;         // blocks have 128 threads
    if (i < n) {
        float x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2];
        norm[i] = x * x + y * y + z * z;
    }
}
"""
exercise = smemkit.exercise("coalescing.records")
exercise.judge(source)
