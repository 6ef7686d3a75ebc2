# %% [markdown]
# # 07 The memory wall: when shared memory pays
#
# **Question.** Staging data in shared memory makes one kernel several times faster and another one
# slower. Can you tell *beforehand*, with a pencil?
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
import numpy

import smemkit
from smemkit import bench, plot

# %% [markdown]
# ## Three numbers
#
# For any computation there are two numbers that no kernel can change:
#
# - the **bytes that must move**: each input read once, each output written once;
# - the **operations** that must be done.
#
# Their quotient, operations a byte, is the *arithmetic intensity*. And a GPU has two ceilings:
# bytes a second and operations a second. Whichever takes longer is the least time that the work
# can take.

# %%
GB_PER_S, GFLOP_PER_S = 4200, 60000  # about an H200's: a copy in its memory; fused multiply-adds

n = 4096
work = {  # name: (operations, bytes that must move), float32
    "sum of 2^28": (2**28, 4 * 2**28),
    "3-point mean of 2^28": (3 * 2**28, 8 * 2**28),
    "transpose 8192": (0, 8 * 8192**2),
    "conv2d 8192, 5 x 5": (2 * 25 * 8192**2, 8 * 8192**2),
    "conv2d 8192, 11 x 11": (2 * 121 * 8192**2, 8 * 8192**2),
    "gemm 4096": (2 * n**3, 12 * n**2),
}
print(f"{'':22}{'operations a byte':>18}{'memory [ms]':>13}{'arithmetic [ms]':>17}  bound by")
for name, (flops, nbytes) in work.items():
    memory, arithmetic = nbytes / GB_PER_S / 1e6, flops / GFLOP_PER_S / 1e6
    bound = "memory" if memory > arithmetic else "arithmetic"
    print(f"{name:22}{flops / nbytes:18.2f}{memory:13.3f}{arithmetic:17.3f}  {bound}")
print(f"\nboth ceilings meet at {GFLOP_PER_S / GB_PER_S:.1f} operations a byte")

# %% [markdown]
# So a sum can never be faster than reading its numbers, whatever is done to the additions. Shared
# memory can bring a kernel *nearer* to the wall, never through it.
#
# ## The third number: what a kernel asks for
#
# What a kernel *asks* of global memory may be far more than what must move. The quotient says how
# often each byte is fetched. **Predict** it for each of these, at the sizes below:

# %%
rng = numpy.random.default_rng(7)
x = rng.random(1 << 15, dtype="float32")
a = rng.random((128, 128), dtype="float32")
weights = rng.random((5, 5), dtype="float32")
calls = {
    ("smooth", "naive"): (smemkit.smooth, (x,), 4 * x.size),
    ("smooth", "shared"): (smemkit.smooth, (x,), 4 * x.size),
    ("smooth", "vectorized"): (smemkit.smooth, (x,), 4 * x.size),
    ("conv2d", "naive"): (smemkit.conv2d, (a, weights), 4 * a.size),
    ("conv2d", "shared"): (smemkit.conv2d, (a, weights), 4 * a.size),
    ("conv2d", "register"): (smemkit.conv2d, (a, weights), 4 * a.size),
    ("gemm", "naive"): (smemkit.gemm, (a, a), 8 * a.size),
    ("gemm", "tiled16"): (smemkit.gemm, (a, a), 8 * a.size),
    ("gemm", "tiled"): (smemkit.gemm, (a, a), 8 * a.size),
    ("gemm", "register_2d"): (smemkit.gemm, (a, a), 8 * a.size),
}
fetched = {}
print(f"{'':20}{'must be read':>14}{'asked for':>12}{'times':>8}")
for (family, variant), (function, arguments, needed) in calls.items():
    report = smemkit.profile(function, *arguments, variant=variant, backend="sim")
    asked = report.counters["global.load.bytes_moved"]
    fetched[family, variant] = asked / needed
    print(f"{family:8}{variant:12}{needed:14,}{asked:12,}{asked / needed:8.2f}")

# %% [markdown]
# Where does each number come from?
#
# - `smooth/naive` reads each element three times; two of the three rows of 32 do not begin at a
#   sector, so they take 5 instead of 4. With shared memory it is once, and a little for the halo.
#   (`vectorized` asks three times too, but 16 bytes a lane at a time: fewer instructions for the
#   same bytes.)
# - `gemm/naive` fetches 1 + 4 sectors for 32 products: 5 bytes a product, n³ products, for 8 n²
#   bytes.
# - a tile of T x T fetches each element n / T times.

# %%
print(f"naive:   predicted {5 * 128 / 8:.0f}, counted {fetched['gemm', 'naive']:.2f}")
for tile, name in ((16, "tiled16"), (32, "tiled")):
    print(f"tile {tile}: predicted {128 // tile}, counted {fetched['gemm', name]:.2f}")

# %% [markdown]
# ## Who answers?
#
# Now comes the step that tutorials leave out. Not everything that a kernel asks for is fetched
# *from memory*. Before it lie two caches, and the first of them, L1, is **the same piece of memory
# as shared memory**: a programmer divides it by hand, the cache by itself.
#
# - `smooth`: the three reads of a warp meet the same 128 bytes within a few instructions. L1
#   serves the second and third. What is left for shared memory to save? *Nothing*, and the barrier
#   costs.
# - `gemm`: between two uses of an element lie thousands of other reads. In L1, too, much of it is
#   found (that is why naive is not 20 times slower than tiled), but every product still needs its
#   operands to be *loaded*. There the tile pays, and registers pay more.
#
# A rule to take along, in three questions:
#
# 1. Is the kernel at the wall already (its time near the bytes that must move over the bandwidth)?
#    Then nothing on this page helps.
# 2. Is data used again by *other threads of the block*, and not soon enough for L1? Then shared
#    memory pays.
# 3. Is data used again by *the same thread*? Then registers pay, and they pay more.
#
# And two uses that have nothing to do with reuse: changing the direction of access (the transpose,
# notebook 04), and fast atomics (the histogram, notebook 06).
#
# Where the counters of a kernel show this, smemkit says so:

# %%
stage = smemkit.RawKernel(
    r"""
extern "C" __global__ void twice(const float *x, float *y, int n)
{
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n)
        y[i] = 2 * tile[threadIdx.x];
}
""",
    "twice",
)
y = numpy.zeros_like(x)
for advice in stage.profile(x.size // 256, 256, (x, y, x.size)).advice:
    print(advice)

# %% [markdown]
# ## On a GPU
#
# Counters are not time. These are times: of the GPU of this machine, or, where there is none,
# recorded on an H200 (they come with the package). The picture is called a *roofline*: speed over
# arithmetic intensity. Its roof is made of the two ceilings: the slope on the left is what the
# memory can feed, the flat part on the right what the arithmetic can do.


# %%
def measure(family, shape, **more):
    """Medians of all variants, of NumPy and of a library: measured here, or recorded on an H200."""
    results = None if smemkit.get_backend() == "cuda" else bench.recorded("h200")
    return bench.evolution(family, shape, results=results, **more)


if smemkit.get_backend() == "cuda":
    ceilings = bench.ceilings()
else:
    ceilings = bench.recorded("h200", part="ceilings")
sizes = {"gemm": 4096, "conv2d": 4096, "smooth": 1 << 26}
tables = {family: measure(family, size) for family, size in sizes.items()}
walls = []
for family, size in sizes.items():
    names = [variant for other, variant in calls if other == family]
    words = {"results": tables[family], "ceilings": ceilings, "backend": "sim"}
    walls.append(bench.memory_wall(family, size, variants=names, **words))
rows = [row for table in tables.values() for row in table if (row.family, row.variant) in calls]
ax = plot.roofline(walls, traffic=False)

# %% [markdown]
# A filled mark stands at the operations for each byte that a kernel *asks for*, as the simulator
# counts them. The hollow mark at the end of its line stands at the bytes that *must move*: the
# caches serve what lies between. `tiled` is to the right of `naive`, and higher. `shared` of
# `smooth` is to the right of its `naive` too, but lower: L1 had served what the tile saves. How far
# the hollow marks lie below the black roof is what better kernels can gain.
#
# The simulator has no cache. What did move, a GPU's own counters tell: `smemkit record --traffic`
# reads them by Nsight Compute. Where they are recorded for the GPU of these times, the next picture
# has its filled marks at the bytes between L1 and L2, and its hollow ones at those between L2 and
# DRAM. What L1 serves is in neither; what L2 serves lies between the two.

# %%
if all(wall.traffic for wall in walls):
    plot.roofline(walls)
else:
    print("not recorded for this GPU: smemkit record --traffic counts the bytes of L2 and DRAM")

# %% [markdown]
# ### On a card that you choose
#
# The bytes that a kernel asks for are counted, and need no GPU. The time is predicted here, for a
# card that need not be there, and so the roofs are those of this card, by its constants. A mark's
# upright bar is the range of the prediction. **Predict**: does the order of the marks change from
# card to card? Their places across?

# %%
CARD = "RTX 4090"  # your choice; smemkit.cards() lists them

few = ("naive", "tiled", "register_2d")
wall = bench.memory_wall("gemm", 4096, variants=few, predicted=True, device=CARD)
ax = plot.roofline(wall)

# %% [markdown]
# The places across stay: they are counts. What changes is the height, and the roof.

# %%
for family in tables:
    speed = {row.variant: 1 / row.median_ms for row in rows if row.family == family}
    slow, *others = speed
    for fast in others:
        print(f"{family}: {fast:11} is {speed[fast] / speed[slow]:6.2f} times as fast as {slow}")
for row in tables["smooth"]:
    if row.machine == "cuda":
        part = row.gb_per_s / ceilings.gb_per_s
        print(f"smooth: {row.variant:11} {row.gb_per_s:6,.0f} GB/s, {part:4.0%} of a copy")

# %% [markdown]
# So: were the three questions of the rule enough to tell which of these would gain from shared
# memory?

# %% [markdown]
# ## Question 1: with a pencil
#
# `y = a * x + y` for vectors of float32 (*axpy*; 2 operations an element). What is its arithmetic
# intensity, and what is the largest speed, in GFLOP/s, that an H200 can reach with it?

# %%
answer = None  # your answer: (operations a byte, GFLOP/s)


def check_axpy(numbers):
    intensity, speed = numbers
    assert abs(intensity - 2 / 12) < 0.01, "count the bytes: x is read, y is read and written"
    assert abs(speed - GB_PER_S * 2 / 12) < 10, "the memory feeds it"
    print("right:", f"{100 * speed / GFLOP_PER_S:.1f} % of what the arithmetic could do")


if answer is not None:
    check_axpy(answer)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
check_axpy((2 / 12, GB_PER_S * 2 / 12))

# %% [markdown]
# ## Question 2: how large must a tile be?
#
# A matrix product whose blocks stage T x T tiles fetches, for n x n matrices, each element n / T
# times: 8 n³ / T bytes of float32 in all, for 2 n³ operations. If no cache helped: from which T on
# would the memory no longer be what limits it? (A power of two.)

# %%
tile = None  # your answer


def is_fed(tile):
    """Whether memory delivers at least as fast as the arithmetic takes it."""
    bytes_each = 8 / tile / 2  # bytes an operation
    return GB_PER_S / bytes_each >= GFLOP_PER_S


def check_tile(tile):
    assert is_fed(tile), "the memory is still too slow"
    assert not is_fed(tile // 2), "half of it would do"
    print("right")


if tile is not None:
    check_tile(tile)

# %% jupyter={"source_hidden": true} tags=["solution"]
# 4 / T bytes an operation at 60000 GFLOP/s are 240000 / T GB/s: T >= 57.1.
check_tile(64)

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: take it out again
#
# Somebody has read that shared memory is fast, and stages every number in it. Who uses a number
# here again: other threads, or the same one? Write the kernel that question leads to. It still
# reads each number once.

# %%
source = r"""
extern "C" __global__ void square(const float *x, float *y, int n)
{
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n)
        y[i] = tile[threadIdx.x] * tile[threadIdx.x];
}
"""
exercise = smemkit.exercise("wall.needless")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: one pass instead of two
#
# Mean and variance of each column. This kernel is coalesced, and yet it asks for every byte
# twice: it needs the mean before it can add the squares. At the memory wall that is twice the
# time. Find both in *one* loop. (Mean of the squares minus square of the mean will do for these
# numbers. It is inaccurate where the mean is large; Welford's update is not.)

# %%
source = r"""
extern "C" __global__ void moments(const float *x, float *mean, float *variance, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    float sum = 0;
    for (int row = 0; row < rows; ++row)
        sum += x[row * cols + col];
    float middle = sum / rows, squares = 0;
    for (int row = 0; row < rows; ++row) {
        float off = x[row * cols + col] - middle;
        squares += off * off;
    }
    mean[col] = middle;
    variance[col] = squares / rows;
}
"""
exercise = smemkit.exercise("wall.one_pass")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: fewer requests for the same bytes
#
# y = a * x + y moves 12 bytes an element, and that cannot change. But each request of a warp can
# carry 512 bytes instead of 128: let a thread take four neighbours by one `float4`. Arrays begin
# at multiples of 16 bytes; n may be anything, so the last elements need care.

# %%
source = r"""
extern "C" __global__ void axpy(const float *x, float *y, float a, int n)
{
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        y[i] += a * x[i];
}
"""
exercise = smemkit.exercise("wall.vector")
exercise.judge(source)
