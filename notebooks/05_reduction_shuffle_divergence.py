# %% [markdown]
# # 05 Reduction, shuffle and divergence
#
# **Question.** The sum of 268 million numbers needs 268 million additions, and a GPU does that
# many in five microseconds. Reading them takes fifty times as long. So why have people written
# seven kernels to make the *additions* better, and which of them still matter?
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

for name, facts in smemkit.variants("reduce").items():
    print(f"{name:12} {facts['shows']}")

# %% [markdown]
# ## Divergence
#
# The 32 lanes of a warp get one instruction at a time. Where some want the `if` and others the
# `else`, the warp goes both ways, one after the other, each time with the other lanes idle.
#
# Two kernels with the same work. In one the odd *lanes* take the other way, in the next the odd
# *warps*:

# %%


def body(family, name):
    """A kernel without its header."""
    text = smemkit.source(family, name)
    return text[text.index("{") :]


def show_difference(family, one, other):
    texts = [body(family, name).splitlines() for name in (one, other)]
    lines = difflib.unified_diff(*texts, one, other, n=0, lineterm="")
    print("\n".join(line for line in lines if not line.startswith("@@")))


print(body("probe", "branch_lane"))
show_difference("probe", "branch_lane", "branch_warp")

# %% [markdown]
# **Predict**: how many warp instructions does the first take, compared with the second? And if
# each *element* decides at random?

# %%
patterns = ("warp", "lane", "random")
ax = plot.divergence([probe.divergence(name, backend="sim") for name in patterns])
# %% [markdown]
# Nearly twice, for both: it is enough that *one* lane of a warp wants the other way. Two remedies:
# let whole warps agree, or select a number instead of taking a branch (`v * (odd ? 0.5f : -0.25f)`
# needs no branch).

# %%
cures = ("lane", "lane_grouped", "lane_selected")
ax = plot.divergence([probe.divergence(name, backend="sim") for name in cures])
# %% [markdown]
# ## A tree, three times
#
# A block of 256 threads adds 256 numbers in 8 steps: 128 sums, then 64, then 32 ... All three
# kernels do that in shared memory. They differ in *which thread* makes *which sum*:

# %%
show_difference("reduce", "divergent", "conflicting")
show_difference("reduce", "conflicting", "sequential")

# %% [markdown]
# - `divergent`: every second thread works, then every fourth ... Until the end, every warp has a
#   lane that works.
# - `conflicting`: the threads that work stand side by side, so warps fall idle as a whole. But
#   thread t adds element 2 * reach * t, and so the lanes' elements lie 2, 4, 8, ... words apart.
# - `sequential`: threads side by side *and* elements side by side.
#
# **Predict** for each: divergent branches? Bank conflicts?

# %%
x = numpy.random.default_rng(5).integers(-9, 10, 1 << 16).astype("float32")
reports = {}
for name in smemkit.variants("reduce"):
    reports[name] = smemkit.profile(smemkit.reduce, x, variant=name, backend="sim")
    assert reports[name].result == x.sum()

columns = {
    "instructions": "instructions.warp",
    "divergent": "branch.divergent",
    "conflicts": "shared.load.conflicts",
    "shared loads": "shared.load.instructions",
    "barriers": "barrier.count",
    "requests": "global.load.requests",
}
print(f"{'':12}" + "".join(f"{name:>14}" for name in columns) + f"{'launches':>10}")
for name, report in reports.items():
    row = "".join(f"{report.counters[c]:14,}" for c in columns.values())
    print(f"{name:12}{row}{len(report.launches):10}")

# %% [markdown]
# The first three kernels read the same bytes by the same requests. `conflicting` has fewer
# instructions than `divergent` and pays with conflicts; `sequential` has neither.
#
# ## Fewer steps, no shared memory
#
# `unrolled` lets each thread add several elements *before* the tree begins: there are fewer trees.
# And `shuffle` needs no tree in shared memory at all: the lanes of a warp hand their values to
# each other, from register to register.

# %%
text = body("reduce", "shuffle")
print(text[text.index("    // Compute in registers") : text.index("    // The first warp")])

# %% [markdown]
# A shuffle orders the lanes that take part in it, so no barrier is needed within a warp. Each warp
# of `shuffle` comes to one barrier, each of `unrolled` to eight: compare their barriers in the
# table.
#
# Last, `single_pass`: one launch instead of several. The blocks draw tickets with an *atomic*, a
# read, change and write of memory that nothing can come between. The block that draws the last
# ticket knows that all others have begun: it waits for their sums and adds them. (It is made for
# large arrays, with a fixed number of blocks that take turns; on this small one most of its
# instructions are overhead. `smemkit.source("reduce", "single_pass")` is its text, and notebook 08
# has an exercise on how such blocks go wrong.)
#
# Between two launches of a stream a GPU has little to do: the first one's last writes are on their
# way, its end is told, the blocks of the second one are set up. `overlapped` is `single_pass` with
# one line more, `cudaGridDependencySynchronize()`, and its launch may begin before the one ahead of
# it has ended. The line waits for that end, before anything is read or written. The simulator runs
# one launch after the other, so its counts show no difference, and neither gains a call that stands
# alone: it is for many short calls in a row, on a GPU of compute capability 9.0 or higher.
#
# ## Order matters for floating-point numbers
#
# All variants add in different orders. For the small integers above every order gives the same
# sum. For random numbers it does not, and none is "right":

# %%
y = numpy.random.default_rng(6).random(1 << 16, dtype="float32")
exact = y.astype("float64").sum()
for name in smemkit.variants("reduce"):
    total = smemkit.reduce(y, variant=name, backend="sim")
    print(f"{name:12} {total:.4f}  relative error {abs(total - exact) / exact:.1e}")

# %% [markdown]
# (Trees have small errors: each number goes through few additions. That is an advantage over a
# plain loop, which makes 65535 of them one after the other.)
#
# ## On a GPU
#
# Counters are not time. These are times: of the GPU of this machine, or, where there is none,
# recorded on an H200 (they come with the package).

# %%
if smemkit.get_backend() == "cuda":
    timed = [probe.divergence(name) for name in ("warp", "lane", "random", "lane_selected")]
else:
    timed = bench.recorded("h200", part="probes").select(variant="divergence")
ax = plot.divergence(timed)

# %% [markdown]
# Diverging costs what the instructions say, a factor of two. But among the cures the one with the
# fewest instructions need not be the fastest: counters are not time. Now the sums of 2²⁸ numbers,
# a gigabyte:


# %%
def measure(family, shape, **more):
    """Medians of all variants, of NumPy and of a library: measured here, or recorded on an H200."""
    results = None if smemkit.get_backend() == "cuda" else bench.recorded("h200")
    return bench.evolution(family, shape, results=results, **more)


table = measure("reduce", 1 << 28)
ax = plot.ladder(table)

# %% [markdown]
# Here is the answer to the question. A kernel that keeps the memory busy is at the wall, and what
# its additions look like no longer matters. `unrolled` still has the tree of `sequential`. What is
# new is that each thread reads eight elements before the tree begins, so that more of them are on
# their way at once.

# %% [markdown]
# ## Every sum on the way: scan
#
# A *scan* wants not only the last sum but all of them: element i of the result is the sum of the
# first i + 1 elements. Now an element depends on all before it, and it is not obvious that threads
# can work side by side at all. Two answers are classics:
#
# - `hillis_steele`: in each step every element takes in the one that lies 1, 2, 4 ... places before
#   it. Few steps, but n log n additions.
# - `blelloch`: a tree, once up and once down. Few additions, but its nodes lie 2, 4, 8 ... words
#   apart. `blelloch_padded` leaves a place unused after every 128 bytes.
#
# **Predict**: which of the first three has no conflicts? Which has the fewest instructions?

# %%
for name in smemkit.variants("scan"):
    report = smemkit.profile(smemkit.scan, x, variant=name, backend="sim")
    assert (report.result == x.cumsum()).all()
    row = "".join(f"{report.counters[c]:14,}" for c in columns.values())
    print(f"{name:16}{row}{len(report.launches):10}")

# %% [markdown]
# (The columns are those of the first table.) One place in 33 left unused takes the conflicts of
# `blelloch` away. `shuffle` needs neither tree nor padding, as above. And `single_pass` is one
# launch where the others are several: each block leaves the sum of its part in global memory, and
# looks back at what the blocks before it have left. `smemkit.source("scan", "single_pass")` says
# how it keeps the order of all additions fixed all the same.

# %% [markdown]
# ## Question: predict the conflicts
#
# In `conflicting`, step number s (from 0) reads `tree[2 * reach * t]` with reach = 2^s. What is
# the number of conflicts of a *full* warp's read in steps 0, 1 and 2? (With 256 threads, step 3
# has 16 lanes left.)

# %%
answer = None  # your answer: three numbers


def check_conflicts(numbers):
    lane = numpy.arange(32)
    for step, number in enumerate(numbers):
        access = smemkit.bank_access(4 * 2 * 2**step * lane)
        assert number == access.conflicts, f"not in step {step}: {access.wavefronts} wavefronts"
    assert len(numbers) == 3
    print("right")


if answer is not None:
    check_conflicts(answer)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# Strides of 2, 4 and 8 words: gcd with 32 wavefronts, of which one is needed.
check_conflicts([1, 3, 7])

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: a maximum by shuffles
#
# After this kernel *every* element is the largest of the 32 numbers that its warp has read. Use
# `__shfl_xor_sync(0xffffffff, value, k)`: it gives the value of the lane whose number is
# `lane ^ k`. No shared memory, and five shuffles are enough.

# %%
source = r"""
extern "C" __global__ void most(float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i];
    // your code: make value the largest of the 32 values of the warp, in every lane
    x[i] = value;
}
"""
exercise = smemkit.exercise("reduction.warp_max")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: a tree without divergence and conflicts
#
# Each block sums 256 numbers. In this tree every second thread works, then every fourth, and so
# on: all warps stay busy with few lanes each. Let threads 0 to 127 work in the first step, 0 to
# 63 in the second, ... *and* let the elements that they add lie side by side.

# %%
source = r"""
extern "C" __global__ void sums(const float *x, float *y)
{
    __shared__ float tree[256];
    int t = threadIdx.x;
    tree[t] = x[blockIdx.x * 256 + t];
    for (int reach = 1; reach < 256; reach *= 2) {
        __syncthreads();
        if (t % (2 * reach) == 0)
            tree[t] += tree[t + reach];
    }
    if (t == 0)
        y[blockIdx.x] = tree[0];
}
"""
exercise = smemkit.exercise("reduction.sequential")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: one atomic a block
#
# The sum of n numbers by blocks of 128 threads. This kernel adds each number to one place of
# global memory by an atomic, one after the other. Let each thread sum in a register, each warp by
# shuffles, the block through shared memory, and add once a block. One barrier is enough.

# %%
source = r"""
extern "C" __global__ void sum(const float *x, float *total, int n)   // total is 0 before
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(total, x[i]);
}
"""
exercise = smemkit.exercise("reduction.block_sum")
exercise.judge(source)
