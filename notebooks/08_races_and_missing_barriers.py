# %% [markdown]
# # 08 Races and missing barriers
#
# **Question.** A kernel gives the right answer, every time, on your machine. How can it still be
# wrong?
#
# Nothing here needs a GPU. `smemkit.check` runs a kernel on the simulator and judges by meaning:
# do two threads touch the same byte, one of them writing, with nothing between them that orders
# them?

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
import numpy

import smemkit

# %% [markdown]
# ## A barrier that is missing
#
# Each thread stores one element into shared memory and reads another's. **Predict**: will the
# answer be right, with a block of 32 threads (one warp)? With 64 (two)?

# %%
reverse = smemkit.RawKernel(
    r"""
extern "C" __global__ void reverse(float *x)
{
    __shared__ float tile[1024];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];        // where is __syncthreads()?
}
""",
    "reverse",
)
for threads in (32, 64):
    x = numpy.arange(threads, dtype="float32")
    reverse(1, threads, (x,), backend="sim")
    right = (x == numpy.arange(threads)[::-1]).all()
    print(threads, "threads:", "right" if right else "wrong")

# %% [markdown]
# With one warp the simulator runs its 32 lanes side by side, and the answer comes out right. With
# two warps it depends on which comes first: the simulator is unfriendly, and runs one far before
# the other. A GPU may be friendlier, and give the right answer nearly always. That is the worst
# case.
#
# The check does not depend on who comes first:

# %%
for threads in (32, 64):
    x = numpy.arange(threads, dtype="float32")
    report = reverse.check(1, threads, (x,))
    print(report, end="\n\n")

# %% [markdown]
# It finds something in **both**, even where the answer was right. Between lanes of one warp it is
# called a *warp hazard*, between warps a *race*. It names both accesses: the line, the thread, the
# place in shared memory. `bool(report)` is true where nothing was found, so a test can say `assert
# kernel.check(...)`.
#
# With the barrier, the check finds nothing:

# %%
cured = smemkit.RawKernel(
    reverse.source.replace(
        "    x[threadIdx.x] = tile",
        "    __syncthreads();    // all elements are there before any is read\n"
        "    x[threadIdx.x] = tile",
    ),
    "reverse",
)
report = cured.check(1, 64, (x,))
assert report
print(report)

# %% [markdown]
# ## The barrier that looks superfluous
#
# The tiled matrix product has two barriers in its loop:

# %%
tiled = smemkit.source("gemm", "tiled")
print(tiled[tiled.index("        // The tiles were written") : tiled.index("    // Write.")])

# %% [markdown]
# The second one looks superfluous: by then all sums of this round are computed. Take it out, and
# **predict** what happens.

# %%
first, second = (i for i in range(len(tiled)) if tiled.startswith("__syncthreads();", i))
without = tiled[:second] + tiled[second + len("__syncthreads();") :]
# (The package's build defines T, the element type.)
kernel = smemkit.RawKernel("typedef float T; " + without, "gemm_tiled")

a, b = numpy.random.default_rng(8).integers(-4, 5, (2, 64, 64)).astype("float32")
c = numpy.zeros((64, 64), dtype="float32")
kernel((2, 2), (32, 32), (a, b, c, 64, 64, 64), backend="sim")
print("the answer is", "right" if (c == a @ b).all() else "wrong")

# %%
report = kernel.check((2, 2), (32, 32), (a, b, c, 64, 64, 64))
print(len(report.findings), "findings; the first one:\n")
print(report.findings[0])

# %% [markdown]
# A fast warp may begin the *next* round and overwrite the tile while a slow warp still reads this
# one. Whether that happens on a GPU depends on its load, on the size of the matrices, and on the
# next driver. A test of the answer may pass for years.
#
# ## Threads that never meet
#
# A barrier waits for all threads of the block. In a branch that only some lanes of a warp take, it
# waits for those who are elsewhere:

# %%
halved = smemkit.RawKernel(
    r"""
extern "C" __global__ void halved(float *x)
{
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    x[threadIdx.x] += tile[127 - threadIdx.x];
}
""",
    "halved",
)
x = numpy.ones(128, dtype="float32")
print(halved.check(1, 128, (x,)))

# %% [markdown]
# ## Inside one warp
#
# "The 32 lanes of a warp run in lock step, so they need no barrier." That was never promised, and
# since compute capability 7.0 it is not so: lanes may run ahead of each other. The name for it is
# a *warp hazard*, and the cure is `__syncwarp()`.

# %%
text = r"""
extern "C" __global__ void sum32(const float *x, float *y)
{
    __shared__ float part[32];
    int lane = threadIdx.x;
    part[lane] = x[lane];
    for (int step = 16; step > 0; step /= 2) {
        SYNC
        if (lane < step)
            part[lane] += part[lane + step];
    }
    if (lane == 0)
        *y = part[0];
}
"""
x, y = numpy.arange(32, dtype="float32"), numpy.zeros(1, dtype="float32")
for words in ("", "__syncwarp();"):
    kernel = smemkit.RawKernel(text.replace("SYNC", words), "sum32")
    report = kernel.check(1, 32, (x, y))
    kinds = sorted({finding.kind for finding in report.findings})
    print(f"{words or 'nothing':14} sum {y[0]:.0f}, found: {', '.join(kinds) or 'nothing'}")

# %% [markdown]
# ## Between blocks
#
# Blocks run in any order, and no barrier reaches across them. Two blocks that add to one place
# need an atomic:

# %%
text = r"""
extern "C" __global__ void count(const int *x, int *total)
{
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 0)
        ADD
}
"""
x = numpy.random.default_rng(9).integers(-9, 10, 256).astype("int32")
for words in ("*total += 1;", "atomicAdd(total, 1);"):
    kernel = smemkit.RawKernel(text.replace("ADD", words), "count")
    total = numpy.zeros(1, dtype="int32")
    report = kernel.check(4, 64, (x, total))
    kinds = sorted({finding.kind for finding in report.findings})
    found = ", ".join(kinds) or "nothing"
    print(f"{words:22} counted {total[0]:3} of {(x > 0).sum()}, found: {found}")

# %% [markdown]
# An atomic keeps *one* number right. What a thread has written before it is another matter: a block
# that sees the number changed need not see the rest yet. A *fence*, `__threadfence()`, says that it
# must: what the thread has written before the fence can be seen by whoever sees what it writes
# behind it. The reader needs one too, between the flag that it reads and the data.

# %%
text = r"""
extern "C" __global__ void hand_over(int *data, int *flag, int *seen)
{
    if (blockIdx.x == 0) {
        *data = 42;
        FENCE
        atomicExch(flag, 1);
    } else if (atomicAdd(flag, 0) == 1) {         // flag is 1: block 0 has been here
        FENCE
        *seen = *data;
    }
}
"""
for words in ("", "__threadfence_block();", "__threadfence();"):
    kernel = smemkit.RawKernel(text.replace("FENCE", words), "hand_over")
    report = kernel.check(2, 1, [numpy.zeros(1, dtype="int32") for _ in range(3)])
    kinds = sorted({finding.kind for finding in report.findings})
    print(f"{words or 'nothing':23} found: {', '.join(kinds) or 'nothing'}")

# %% [markdown]
# ## Memory that nobody wrote, and memory that is not there
#
# The same call finds reads of shared memory that was never written, and accesses past the end, at
# the first element past it:

# %%
edges = smemkit.RawKernel(
    r"""
extern "C" __global__ void edges(const float *x, float *y, int n)
{
    __shared__ float tile[34];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i];                 // tile[0] and tile[33] stay as they were
    __syncthreads();
    y[i] = tile[threadIdx.x] + tile[threadIdx.x + 2];
}
""",
    "edges",
)
x, y = numpy.ones((2, 40), dtype="float32")
for finding in edges.check(2, 32, (x, y, 40)).findings:
    print(f"{finding.kind:14} line {finding.first.line}: {finding.first.text}")

# %% [markdown]
# ## All kernels of the package
#
# ... are checked so by its tests: with nothing found, and with each barrier taken out, a race
# found.

# %%
small = numpy.ones((40, 40), dtype="float32")
for name in ("tiled", "padded", "column_padded"):
    assert smemkit.check(smemkit.gemm, small, small, variant=name, backend="sim")
print("nothing found")

# %% [markdown]
# ## Question: one barrier too many
#
# One of these three barriers orders nothing that another does not order already. Which one can go?
# (`check` finds what is missing; that nothing is missing without it is your proof.)

# %%
text = r"""
extern "C" __global__ void shift(float *x)
{
    __shared__ float tile[256];
    float mine = x[threadIdx.x];
    /* 1 */ __syncthreads();
    tile[threadIdx.x] = mine;
    /* 2 */ __syncthreads();
    mine = tile[(threadIdx.x + 1) % 256];
    /* 3 */ __syncthreads();
    tile[threadIdx.x] = mine + x[threadIdx.x];
    x[threadIdx.x] = tile[threadIdx.x];
}
"""
NUMBER = None  # your answer: 1, 2 or 3


def check_number(number):
    kept = text.replace(f"/* {number} */ __syncthreads();", "")
    assert kept != text, "1, 2 or 3"
    x = numpy.arange(256, dtype="float32")
    report = smemkit.RawKernel(kept, "shift").check(1, 256, (x,))
    assert report, report
    print("right: nothing is found without it")


if NUMBER is not None:
    check_number(NUMBER)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# Before barrier 1 each thread has only read its own element of x, and nothing of the tile.
check_number(1)

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: a barrier that not all reach
#
# Twice each element gets its right neighbour added; the last one of a block gets the first. The
# kernel is right while every block is full. In the last block of 200 elements only some threads
# reach the first barrier. Let all threads of a block reach it, and only those with an element
# touch memory.

# %%
source = r"""
extern "C" __global__ void pairs(const float *x, float *y, int n)
{
    __shared__ float tile[128];
    int t = threadIdx.x, i = 128 * blockIdx.x + t;
    int next = (t + 1) % min(128, n - 128 * blockIdx.x);    // the last element's is the first
    float sum = 0;
    if (i < n) {
        tile[t] = x[i];
        __syncthreads();
        sum = tile[t] + tile[next];
    }
    __syncthreads();
    if (i < n)
        tile[t] = sum;
    __syncthreads();
    if (i < n)
        y[i] = tile[t] + tile[next];
}
"""
exercise = smemkit.exercise("races.barrier_in_branch")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: three faults
#
# A histogram of bytes, by blocks of 128 threads, with bins of the block's own. It has three kinds
# of faults. Find them by the findings of `check`, one after the other, and cure each. (You have
# seen the cure of one in notebook 06; here you find it from the symptoms.)

# %%
source = r"""
extern "C" __global__ void histogram(const unsigned char *x, int *counts, int n)
{
    __shared__ int bins[256];
    if (threadIdx.x < 128)
        bins[threadIdx.x] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        bins[x[i]] += 1;
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        atomicAdd(&counts[bin], bins[bin]);
}
"""
exercise = smemkit.exercise("races.histogram")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: who comes last
#
# Each block writes its sum and draws a ticket. The block with the last ticket adds up all sums. A
# ticket says that the others have *drawn*; nothing says that their sums can be *seen*. Put in
# what is missing, on both sides: the writers', and that of the block that reads. No barrier can
# do it.

# %%
source = r"""
extern "C" __global__ void sum(const float *x, float *parts, int *tickets, float *total, int n)
{
    __shared__ float warps[2];
    float mine = 0;
    for (int i = 64 * blockIdx.x + threadIdx.x; i < n; i += 64 * gridDim.x)
        mine += x[i];
    for (int k = 16; k > 0; k /= 2)
        mine += __shfl_xor_sync(0xffffffff, mine, k);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = warps[0] + warps[1];
        int ticket = atomicAdd(tickets, 1);         // tickets is 0 before
        if (ticket == gridDim.x - 1) {              // all others have drawn theirs
            float sum = 0;
            for (int block = 0; block < gridDim.x; ++block)
                sum += parts[block];
            *total = sum;
        }
    }
}
"""
exercise = smemkit.exercise("races.last_block")
exercise.judge(source)
