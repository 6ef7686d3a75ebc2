# %% [markdown]
# # 00 A tour
#
# **Question.** A kernel gives the right result on your machine. Is it fast? If not, which line is
# to blame? And is it right for every input, or only for the one that you tried? This notebook goes
# once through all that smemkit offers to answer that; the notebooks after it take their time.
#
# Nothing here needs a GPU: smemkit's simulator executes the kernels and counts what a GPU's memory
# would do. Times come from a record that was made on an H200, or from your GPU if you have one.
#
# **The words.** A *kernel* is a function that a GPU runs in thousands of threads at once. Threads
# come in *blocks*, and a block runs in *warps*: 32 threads, its *lanes*, that execute one
# instruction together. All threads can reach *global memory*, which is large and far away. It moves
# in *sectors* of 32 bytes. The threads of a block have a small and fast *shared memory* too, which
# has 32 *banks*: in one pass, a *wavefront*, each bank hands out one 4-byte word. Where lanes want
# different words of one bank, that is a *conflict*, and takes a wavefront more. At a *barrier* each
# thread of the block waits until all have come.

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
from smemkit import bench, plot, probe

# %% [markdown]
# ## What a kernel gains
#
# The same product of two matrices by every kernel of the family `gemm`, from the plainest to one
# that uses tensor cores. On a GPU this measures; elsewhere it shows the record of an H200.

# %%
if smemkit.get_backend() == "cuda":
    ladder = bench.evolution("gemm", 2048)
else:
    ladder = bench.evolution("gemm", 4096, results=bench.recorded("h200"))
    print("no GPU here; recorded on an", ladder.provenance["device"])
ax = plot.ladder(ladder, peer="cublas")

# %% [markdown]
# ## Kernels as functions
#
# Each function returns what NumPy or SciPy returns. Arrays may have any shape and memory layout.
# `variant=` chooses the kernel; without it smemkit takes the fastest one for the shape and the
# machine.

# %%
rng = numpy.random.default_rng(1)
a, b = rng.normal(size=(200, 130)), rng.normal(size=(130, 170))
image = rng.random((64, 48), dtype="float32")
words = rng.integers(0, 50, 1000).astype("int32")
pairs = {
    "gemm": (smemkit.gemm(a, b), a @ b),
    "gemm, tiled": (smemkit.gemm(a, b, variant="tiled", backend="sim"), a @ b),
    "transpose": (smemkit.transpose(a[::2], variant="swizzled"), a[::2].T),
    "reduce": (smemkit.reduce(a, "max"), a.max()),
    "dot": (smemkit.dot(a[0], a[1]), a[0] @ a[1]),
    "smooth": (smemkit.smooth(a[0])[1:-1], (a[0][:-2] + a[0][1:-1] + a[0][2:]) / 3),
    "conv2d": (smemkit.conv2d(image, numpy.ones((1, 1), "float32"), mode="reflect"), image),
    "histogram": (smemkit.histogram(words, bins=10), numpy.histogram(words, bins=10)[0]),
    "vector_add": (smemkit.vector_add(a[0], a[1]), a[0] + a[1]),
    "gather": (smemkit.gather(a[0], [5, -1, 0]), a[0][[5, -1, 0]]),
}
for name, (ours, expected) in pairs.items():
    assert numpy.allclose(ours, expected), name
print("equal:", ", ".join(pairs))

# %% [markdown]
# The kernels are written to be read. Each differs in one idea from the variant that its header
# names under `Differs`, so comparing two of them is a lesson.

# %%
for name, facts in smemkit.variants("transpose").items():
    print(f"{name:11} {facts['shows']}")
print()
source = smemkit.source("transpose", "padded")
print(source[: source.index('extern "C"')])

# %% [markdown]
# `smemkit.ptx("transpose", "padded")` is the PTX that the simulator executes, and
# `smemkit.kernel("transpose", "padded", "bits32")` the kernel alone, for launches of your own.
#
# ## Why is my kernel slow?
#
# `profile` runs a call on the simulator and counts, by source line, what Nsight Compute would count
# on a GPU. Two variants of `gemm` keep a tile transposed, so that a warp walks down a column of it.
# One of them has a column of padding. **Predict** which counter tells them apart.

# %%
square = rng.random((64, 64), dtype="float32")
names = ("column", "column_padded")
reports = [smemkit.profile(smemkit.gemm, square, square, variant=name) for name in names]
print(reports[0].compare(reports[1], names=names))

# %% [markdown]
# `print(report)` shows the worst lines and says in words what to do about them. In Jupyter a report
# that ends a cell shows the source with counters in the margin.

# %%
for advice in reports[0].advice:
    print(advice)

# %%
reports[0]

# %% [markdown]
# And this is the access that costs most: the 32 lanes of a warp and the banks in which their words
# lie.

# %%
ax = plot.banks(reports[0])
# %% [markdown]
# `smemkit.counters()` lists every counter with its unit, its meaning and the metric of Nsight
# Compute that measures the same. What is counted is the machine code's accesses: ptxas, which makes
# it of PTX, fuses four neighbouring reads into one of 16 bytes where it can prove the alignment,
# and drops loads whose values nobody needs. The simulator models that, and its counts were compared
# with Nsight Compute's on an H200. `profile(..., model=False)` counts the PTX as written.
#
# ## The rules alone
#
# What one access costs follows from 32 addresses. The rules are functions of their own:

# %%
lane = numpy.arange(32)
print("a column of float[32][32]:", smemkit.bank_access(128 * lane).wavefronts, "wavefronts")
print("a column of float[32][33]:", smemkit.bank_access(132 * lane).wavefronts, "wavefront")
print("128 bytes in a row:       ", smemkit.sectors(4 * lane), "sectors")

# %% [markdown]
# ## Probes
#
# A probe asks one question about the memory system. It counts everywhere and is timed where there
# is a GPU.

# %%
print("stride 32, shared memory:", probe.bank_access(32, backend="sim").wavefronts_per_request)
print("stride 8, global memory: ", probe.global_access(8, backend="sim").sectors_per_request)
print("rows against columns:    ", probe.row_column(backend="sim").wavefronts_ratio)
print("the same, padded:        ", probe.row_column(padded=True, backend="sim").wavefronts_ratio)

# %% [markdown]
# ## What fits where
#
# The limits of every compute capability from 3.0 to 12.1, how many blocks of a kernel one
# multiprocessor holds at a time, and what limits them:

# %%
for capability in ("7.5", "8.6", "9.0"):
    facts = smemkit.limits(capability)
    print(capability, facts["shared_bytes_per_multiprocessor"] // 1024, "KB of shared memory")
found = smemkit.occupancy("gemm/tiled", registers=40, compute_capability="8.6")
print(f"gemm/tiled with 40 registers: {found.blocks} block, limited by {found.limited_by}")

# %% [markdown]
# `smemkit.suggest_block` gives the block size with the best occupancy.
#
# ## Your own kernel
#
# CUDA C or PTX, launched with CuPy's conventions: grid, block, arguments. NumPy arrays are copied
# in, and back. CUDA C needs a compiler: NVRTC (`pip install "smemkit[nvrtc]"`) or an nvcc.

# %%
add_one = smemkit.RawKernel(
    r"""
extern "C" __global__ void add_one(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 1;
}
""",
    "add_one",
)
x = numpy.zeros(1000, dtype="float32")
add_one((8,), (128,), (x, x.size))
print(x.min(), x.max())

# %% [markdown]
# Arguments are converted to the type that the kernel declares, and checked: an integer that does
# not fit is an error, and so is a kernel that changes a read-only array.
#
# ## Errors have a place
#
# The simulator checks every access, in every run. Here `n` is too large by 1000:

# %%
try:
    add_one((9,), (128,), (x, 2000), backend="sim")
except smemkit.OutOfBoundsError as error:
    print(error)
    print("line", error.source_line, "block", error.block, "thread", error.thread)

# %% [markdown]
# Everything that smemkit refuses derives from `smemkit.Error`, and from Python's own exception
# where that has a name for the fault (`ValueError`, `TypeError`, `MemoryError`, ...).
#
# ## Races
#
# This kernel reverses 256 numbers, and on most machines it gives the right result most of the time.
# `check` judges by meaning: two threads access one byte, one of them writes, and nothing orders
# them.

# %%
text = r"""
extern "C" __global__ void reverse(float *x)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[255 - threadIdx.x];
}
"""
findings = smemkit.RawKernel(text, "reverse").check((1,), (256,), (numpy.zeros(256, "float32"),))
print(findings)

# %% [markdown]
# It also finds hazards between the lanes of a warp, missing and divergent barriers, accesses out of
# bounds, misaligned and of memory that nobody wrote, accesses that leave their variable and land in
# another one, and reads of the target of a `cp.async` before its wait. `help(smemkit.check)` has
# the kinds; notebook 08 shows them.
#
# ## Arrays that stay on the device
#
# What goes in decides what comes out, and nothing is copied without being asked for:

# %%
d = smemkit.asarray(square)  # NumPy to device
e = smemkit.gemm(d, smemkit.transpose(d))  # device in, device out
print(numpy.allclose(smemkit.asnumpy(e), square @ square.T))  # and back

# %% [markdown]
# ## Measured
#
# `bench` checks results first and then times them by CUDA events, and keeps every sample. Its
# functions are `run`, `evolution`, `ceilings`, `memory_wall` and `tile_sweep`; `plot` draws what
# they return. Where there is no GPU, `bench.recorded("h200")` is the record of an H200:

# %%
rows = bench.recorded("h200").select(family="transpose", dtype="float32", cache="warm")
ax = plot.speed(rows)

# %% [markdown]
# ## On the command line
#
# ```sh
# smemkit variants gemm                          # the kernels, and what each shows
# smemkit bench gemm --variants naive,tiled,padded --sizes 256:4096 --plot out.png
# smemkit bench gemm --sizes 2048 --compare out.json # with an earlier run's --json
# smemkit bench --peers                          # beside CuPy, torch, CUB, cuBLAS where found
# smemkit plot h200 --family gemm --out speed.png
# smemkit record                                 # what notebooks show, measured on your GPU
# smemkit profile gemm --variant padded --shape 256,256,256
# smemkit profile mine.cu --kernel mine --grid 8 --block 128 --arg "float32[1024]" \
#     --fail-on "shared.load.conflicts>0" --json counts.json
# smemkit check gemm --variant tiled --shape 64,33,65
# smemkit exercise tour.guard mine.cu            # judge an exercise; without names: list them
# ```
#
# `--fail-on` ends with status 1 where its condition holds, and with 2 where it cannot be judged:
# the kernel failed, or the counter is a ratio of nothing. In Python `report.holds(...)` is the
# same, and raises an error there.

# %%
print(reports[0].holds("shared.load.conflicts > 0"), reports[1].holds("shared.load.conflicts > 0"))

# %% [markdown]
# ## Question: which transpose?
#
# A transpose should read *and* write global memory with 4 sectors a request (32 lanes, 4 bytes
# each, side by side), without a bank conflict. Which variants of `transpose` do both for a 64 x 64
# matrix of float32? (`copy` is no transpose; leave it out.) Use `profile` and its counters.

# %%
answer = None  # your answer: a set of names


def check_variants(answer):
    for name in smemkit.variants("transpose").keys() - {"copy"}:
        counters = smemkit.profile(smemkit.transpose, square, variant=name).counters
        waste = [counters[f"global.{op}.sectors_per_request"] > 4 for op in ("load", "store")]
        conflicts = counters["shared.load.conflicts"] + counters["shared.store.conflicts"]
        good = not any(waste) and conflicts == 0
        assert good == (name in answer), f"{name}: {'does' if good else 'does not do'} both"
    print("right:", ", ".join(sorted(answer)))


if answer is not None:
    check_variants(answer)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# naive writes down a column: a sector for each lane. shared reads a column of its tile: one bank.
check_variants({"padded", "swizzled"})

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: a guard for the last block
#
# `twice` doubles n numbers by blocks of 256 threads. Where n is no multiple of 256 the last block
# has threads without an element, and they touch memory behind the arrays. Let only threads with
# an element work.

# %%
source = r"""
extern "C" __global__ void twice(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
"""
exercise = smemkit.exercise("tour.guard")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: which line is to blame?
#
# `flip` turns each 32 x 32 tile of a picture upside down. It is right, and far too slow. The
# verdict on the start names a counter and a line. Mend that line, and the other one that it
# belongs to.

# %%
source = r"""
extern "C" __global__ void flip(const float *x, float *y, int n)
{
    __shared__ float tile[32][32];
    int col = 32 * blockIdx.x + threadIdx.x, row = 32 * blockIdx.y + threadIdx.y;
    tile[threadIdx.x][threadIdx.y] = x[row * n + col];
    __syncthreads();
    y[row * n + col] = tile[threadIdx.x][31 - threadIdx.y];
}
"""
exercise = smemkit.exercise("tour.blame")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: mend the race
#
# `reverse` turns the numbers of a block round. Each thread stores one and reads another thread's.
# Something must see to it that all are stored before any is read. One such thing is enough.

# %%
source = r"""
extern "C" __global__ void reverse(float *x)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""
exercise = smemkit.exercise("tour.reverse")
exercise.judge(source)
