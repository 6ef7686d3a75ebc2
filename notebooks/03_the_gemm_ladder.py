# %% [markdown]
# # 03 The GEMM ladder: naive, tiled, padded
#
# **Question.** All kernels of this notebook multiply the same two matrices. Their speeds differ by
# large factors. Which step of the ladder buys what, and which buys nothing? (The first cell lists
# the steps in a line each. What its words mean comes step by step.)
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

for name, facts in smemkit.variants("gemm").items():
    print(f"{name:18} {facts['shows']}")

# %% [markdown]
# ## Step 0: what must happen
#
# `c = a @ b` with n x n matrices takes n³ multiplications and additions. Each of the 2 n² numbers
# that go in must be read **at least once**. A kernel that reads straight from global memory reads
# two numbers for each product: 2 n³. So for n = 4096 it asks for each number 4096 times. The whole
# ladder is about asking less often.

# %%
n = 128
rng = numpy.random.default_rng(7)
a, b = rng.random((2, n, n), dtype="float32")
print("numbers that go in:   ", f"{2 * n * n:>10,}")
print("numbers naive asks for:", f"{2 * n**3:>9,}", "=", n, "times each")

# %% [markdown]
# ## Step 1: naive
#
# One thread makes one element of c. This is the whole kernel:

# %%
source = smemkit.source("gemm", "naive")
print(source[source.index('extern "C"') :])

# %% [markdown]
# In a picture: at the left the three matrices, with what one block needs of them; at the right the
# block's tile of c, enlarged. Orange is what one thread reads and what it keeps.


# %%
def draw_tile(name):
    """The tile of a variant; how deep it is in shared memory follows from the bytes of a block."""
    facts = smemkit.variants("gemm")[name]
    shared = smemkit.kernel("gemm", name, "float32").attributes["shared_size_bytes"]
    return plot.tiles(facts["tile"], facts["block"], depth=shared // (4 * sum(facts["tile"])))


ax = draw_tile("naive")

# %% [markdown]
# **Predict** the number of sectors (32 bytes) that its loads touch. A warp is 32 neighbours of one
# row of c, so the matrix c has n * n / 32 of them. In each of n steps a warp reads one element of
# a (the same for all lanes: 1 sector) and 32 neighbours of b (4 sectors).

# %%
naive = smemkit.profile(smemkit.gemm, a, b, variant="naive", backend="sim")
warps = n * n // 32
print("predicted", f"{warps * n * (1 + 4):,}")
print("counted  ", f"{naive.counters['global.load.sectors']:,}")

# %% [markdown]
# ## Step 2: tiled
#
# A block of 32 x 32 threads makes a 32 x 32 tile of c. All of its threads need the same 32 rows of
# a and 32 columns of b. So they fetch a 32 x 32 piece of both *together* into shared memory, one
# element of each a thread, and every element fetched then serves 32 products.

# %%
source = smemkit.source("gemm", "tiled")
print(source[source.index("    T sum") : source.index("    // Write.")])

# %% [markdown]
# The blue pieces of a and b lie in shared memory. The block walks with them along k:

# %%
ax = draw_tile("tiled")

# %% [markdown]
# **Predict** again: a block walks over n / 32 pieces; for each, each of its 32 warps reads a row
# of 32 neighbours of a and one of b: 4 sectors each. There are (n / 32)² blocks.

# %%
tiled = smemkit.profile(smemkit.gemm, a, b, variant="tiled", backend="sim")
blocks = (n // 32) ** 2
print("predicted", f"{blocks * (n // 32) * 32 * (4 + 4):,}")
print("counted  ", f"{tiled.counters['global.load.sectors']:,}")
ratio = naive.counters["global.load.sectors"] / tiled.counters["global.load.sectors"]
print(f"{ratio:.0f} times fewer than naive")

# %% [markdown]
# Twenty times fewer sectors. Does that make it twenty times as fast? **Guess** before you read on.
#
# The reads have not gone away. They go to shared memory now:

# %%
reports = {
    name: smemkit.profile(smemkit.gemm, a, b, variant=name, backend="sim")
    for name, facts in smemkit.variants("gemm").items()
    if "float32" in facts["dtypes"]
}
columns = {
    "global sectors": "global.load.sectors",
    "shared loads": "shared.load.instructions",
    "wavefronts": "shared.load.wavefronts",
    "conflicts": "shared.load.conflicts",
}
print(f"{'':18}" + "".join(f"{name:>15}" for name in columns))
for name, report in reports.items():
    print(f"{name:18}" + "".join(f"{report.counters[c]:15,}" for c in columns.values()))

# %% [markdown]
# (`async` and some of the kernels below it copy from global to shared memory by `cp.async`, an
# instruction that needs no register on the way. Those sectors are counted apart, as
# `async.sectors`: where the first column is 0, all of them.)
#
# In one cycle a multiprocessor of an H200 serves one wavefront of shared memory, and it could
# begin four warp-wide multiply-adds (it has 128 units for 32-bit floats). So a kernel that needs w
# wavefronts for each warp-wide product can never use more than 1 / (4 w) of the arithmetic:

# %%
products = n**3 // 32  # warp-wide multiply-adds
limits = {}
print(f"{'':18}{'wavefronts a product':>22}{'at most, of the peak':>22}")
for name, report in reports.items():
    wavefronts = report.counters["shared.load.wavefronts"] / products
    if wavefronts and name not in ("tuned", "direct"):  # these make their products on tensor cores
        limits[name] = min(1, 1 / (4 * wavefronts))
        print(f"{name:18}{wavefronts:22.3f}{limits[name]:22.0%}")

# %% [markdown]
# So shared memory is now what limits `tiled`: every product needs operands from it, and one and a
# half wavefronts a product leave a sixth of the peak. (`naive` is served by the L1 cache, which
# passes through the same memory; that is why it is not twenty times slower.) More *threads* do not
# help. What helps is to keep operands in **registers** and to use each several times: that is all
# that `register_1d` and `register_2d` do, and the table shows what it saves.
#
# ## Step 3: padded
#
# Many texts add a column to both tiles "to avoid bank conflicts". The table has the answer:
# `tiled` has **no conflicts**, because its warps read rows. So `padded` has nothing to cure. And
# it costs: the wide 16-byte loads are gone, because rows of 33 floats do not begin at multiples of
# 16 bytes.

# %%
print(tiled.compare(reports["padded"], names=("tiled", "padded")))

# %% [markdown]
# Padding pays where a warp walks down a *column* of the tile: compare `column` with
# `column_padded` in the table above. Notebook 01 is about that.
#
# ## Step 4: registers
#
# `register_2d` lets each thread make 8 x 8 elements of c. For each i it needs 8 elements of the
# tile of a and 8 of that of b, and makes 64 products of them:

# %%
source = smemkit.source("gemm", "register_2d")
print(source[source.index("        // Compute.") : source.index("        // The tiles are read")])

# %%
ax = draw_tile("register_2d")

# %% [markdown]
# **Predict** the wavefronts for each product of a warp: 16 elements are read for 64 products.

# %%
registers = reports["register_2d"].counters
print("predicted", 16 / 64)
print("counted  ", registers["shared.load.wavefronts"] / products)

# %% [markdown]
# From here on shared memory is no longer the limit. The remaining steps load the next data while
# the present data is multiplied. `double_buffered` and `async` have the same counts. They differ
# in *when* they load, which a clock sees and a counter does not.
#
# ## The same sums
#
# Most variants add the products in the order of k, with one fused multiply-add a step. So their
# results should be equal bit for bit. Are they? `vector` adds sums of several lanes, `fma` and
# `lean` those of several warps, and `stream_k` those of several blocks. `tuned` and `direct` split
# each number into three of 16 bits, and tensor cores sum the products of these parts. Does that
# cost accuracy?

# %%
exact = a.astype("float64") @ b
same = [name for name, r in reports.items() if (r.result == reports["naive"].result).all()]
print(len(same), "of", len(reports), "variants give the same bits as naive")
for name in ("naive", "tuned"):
    print(f"largest error of {name} against float64: {abs(reports[name].result - exact).max():.1e}")

# %% [markdown]
# ## float64 on tensor cores
#
# Tensor cores multiply float64 as it is, with one rounding for each product, so `dmma` cuts
# nothing into parts. One instruction of a warp (`mma`) takes 16 x 8 elements of a and 8 x 8 of b.
# **Predict** how many instructions that makes. A warp uses each element that it has read for
# several of them, so few wavefronts are enough.

# %%
double = smemkit.profile(
    smemkit.gemm, a.astype("float64"), b.astype("float64"), variant="dmma", backend="sim"
)
matrix = double.counters["matrix.instructions"]
print("predicted", n**3 // (16 * 8 * 8), "instructions")
print("counted  ", matrix)
print(f"wavefronts for each: {double.counters['shared.load.wavefronts'] / matrix:.2f}")
print("conflicts:", double.counters["shared.load.conflicts"])

# %% [markdown]
# Where k is short nothing is used often enough to be staged: `unstaged` reads the elements that
# `mma` wants straight from memory. **Predict** how often it asks shared memory, and how
# many more sectors it reads of global memory.

# %%
short = a[:, :16].astype("float64"), b[:16].astype("float64")
for name in ("dmma", "unstaged"):
    found = smemkit.profile(smemkit.gemm, *short, variant=name, backend="sim").counters
    sectors = found["async.sectors"] + found["global.load.sectors"]
    print(f"{name:9}{found['shared.load.wavefronts']:6} wavefronts,{sectors:6} sectors")

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


table = measure("gemm", 4096)
ax = plot.ladder(table)

# %%
print(table)

# %% [markdown]
# Why do the steps help? A *roofline* shows speed over operations for each byte. A kernel that keeps
# what it has fetched stands further to the right, and the slope leaves more room above it. The axis
# says which bytes these are: those between L1, L2 and DRAM, where Nsight Compute has counted them
# for this GPU (`smemkit record --traffic`), or else those that the simulator sees requested, before
# any cache. Counted on an H200, tiled stands *above* naive and not to the right of it: the L1 cache
# answers most of naive's repeated reads already, so as many bytes come from L2. What the tile saves
# is the reads themselves. To the right move the variants whose threads make several products of
# what they hold in registers. Notebook 07 explains the picture.

# %%
if smemkit.get_backend() == "cuda":
    ceilings = bench.ceilings()
else:
    ceilings = bench.recorded("h200", part="ceilings")
few = ("naive", "tiled", "padded", "register_2d", "tuned")
words = {"results": table, "ceilings": ceilings, "backend": "sim"}
ax = plot.roofline(bench.memory_wall("gemm", 4096, variants=few, **words))

# %% [markdown]
# Is the order the same at every size? **Predict** which variants lose most where n is small.

# %%
if smemkit.get_backend() == "cuda":
    sizes = bench.run("gemm", shapes=[256, 512, 1024, 2048])
else:
    sizes = bench.recorded("h200").select(family="gemm", dtype="float32", cache="warm")
ax = plot.speed(sizes)

# %% [markdown]
# Those with large tiles: at n = 512 a tile of 128 x 128 makes 16 blocks, for the 132
# multiprocessors of an H200. `tiled` makes 256 of them.
#
# ## When tiles do not fill the machine
#
# `split_k` and `stream_k` are `register_2d` for such products. `split_k` cuts k into parts, and a
# block makes one part of a tile. `stream_k` gives all blocks the same number of steps along k, so
# that a block may begin and end inside a tile. Both add the sums of a tile's blocks in a second
# launch, always in the same order.
#
# **Predict** for 144 tiles of 64 steps each: how many steps does the busiest of 132 multiprocessors
# take?

# %%
tall = numpy.broadcast_to(numpy.float32(1), (12 * 128, 64 * 8))
choice = smemkit.explain_choice(smemkit.gemm, tall, tall.T, backend="sim")
steps = 144 * 64
print(f"{'':12}{'blocks':>8}{'steps of the busiest':>22}{'bytes of workspace':>20}")
for name in ("register_2d", "split_k", "stream_k"):
    _, (blocks, rows, _), _, _ = choice[name].launches[0]
    blocks *= rows
    busiest = -(-blocks // choice.multiprocessors) * steps / blocks
    print(f"{name:12}{blocks:8}{busiest:22.0f}{choice[name].workspace_bytes:20,}")
print(f"evenly divided: {steps / choice.multiprocessors:.0f}")

# %% [markdown]
# Twelve multiprocessors have two tiles, and 120 wait for them: nearly half of the time is lost.
# Halves of tiles (two parts of k) would make 288 blocks for 264 places, so `split_k` makes none.
# `stream_k` comes near an even division, and pays with memory for the sums and with a second
# launch. So it is for products of a few rounds: with many tiles the last round hardly counts.

# %% [markdown]
# What did each idea gain? And do the limits hold that we derived from the wavefronts?

# %%
speed = {row.variant: row.gflop_per_s for row in table}
for slow, fast in (
    ("naive_uncoalesced", "naive"),
    ("naive", "tiled"),
    ("tiled", "padded"),
    ("column", "column_padded"),
    ("tiled", "register_1d"),
    ("register_1d", "register_2d"),
):
    if slow in speed and fast in speed:
        print(f"{fast:14} is {speed[fast] / speed[slow]:5.2f} times as fast as {slow}")

# %%
if smemkit.get_backend() == "cuda":
    ceilings = bench.ceilings()
else:
    ceilings = bench.recorded("h200", part="ceilings")
print(f"multiply-adds alone: {ceilings.gflop_per_s:,.0f} GFLOP/s")
for name, limit in limits.items():
    if name in speed:
        print(f"{name:18} at most {limit:4.0%}, reached {speed[name] / ceilings.gflop_per_s:4.0%}")

# %% [markdown]
# These limits do not apply to `tuned`: tensor cores make its products, and they have a peak of
# their own, some 16 times as high for 16-bit numbers. Six products of 16-bit numbers replace one
# of 32-bit numbers.

# %%
if "tuned" in speed:
    part = speed["tuned"] / ceilings.gflop_per_s
    print(f"tuned reached {part:.0%} of what multiply-adds alone can")

# %% [markdown]
# The limit from the wavefronts is an upper bound only: a kernel that stays far below it is limited
# by something else. `column_swizzled`, say, has the wavefronts of `column_padded`, but has to
# compute where each element lies:

# %%
for name in ("column_padded", "column_swizzled"):
    each = reports[name].counters["instructions.warp"] / products
    print(f"{name:16} {each:5.2f} instructions a product")

# %% [markdown]
# ## On a card that you choose
#
# Which steps pay on another card? smemkit predicts it without the card: from what the simulator
# counts, the instructions that the card would execute, and how fast its parts are. Write the name
# of yours. **Predict** first: `tiled` is limited by wavefronts of shared memory, and `register_2d`
# is not. Which of them gains more from a card with more multiprocessors and a higher clock?

# %%
CARD = "RTX 4090"  # your choice; smemkit.cards() lists them

steps = ("naive_uncoalesced", "naive", "tiled", "padded", "column", "register_2d")
guess = bench.evolution("gemm", 4096, variants=steps, predicted=True, device=CARD)
ax = plot.ladder(guess)

# %% [markdown]
# Both gain: the banks of shared memory, the units of arithmetic and the schedulers are all parts of
# a multiprocessor. Bars of predicted times are hatched, and a whisker is the range of the
# prediction. How good are predictions? Of an H200 both are there, a measured bar above each
# predicted one:

# %%
words = {"predicted": True, "device": "h200", "results": bench.recorded("h200")}
ax = plot.ladder(bench.evolution("gemm", 4096, variants=steps, **words))

# %% [markdown]
# Notebook 10 takes one such time apart, term by term.

# %% [markdown]
# ## Fewer bits
#
# Tensor cores multiply 16-bit numbers as they are, and 8-bit integers: that is `tensor`, whose sums
# have 32 bits. `tf32` rounds float32 to 11 significant bits; a call takes it only where
# `precision="tf32"` asks for it. `overlapped` takes them all, where tiles are few: its launches
# begin while those before them end. What do fewer bits save in instructions, and what do they cost?

# %%
for kind, words in (("float32", {}), ("float32", {"precision": "tf32"}), ("float16", {})):
    report = smemkit.profile(smemkit.gemm, a.astype(kind), b.astype(kind), backend="sim", **words)
    each, error = report.counters["instructions.warp"] / products, abs(report.result - exact).max()
    kernel = report.launches[-1].kernel
    print(f"{kernel:30} {each:6.3f} instructions a product, largest error {error:.0e}")

# %% [markdown]
# ## Question: a pad that costs nothing
#
# If rows must be longer (say, because another part of the kernel walks down columns), which is the
# smallest pad, above 0, with which the compiler still makes its wide loads? Here is `tiled` with a
# pad to choose. Rows of `tile_a` have 32 + PAD floats.

# %%
text = smemkit.source("gemm", "padded").replace("TILE = 32, PAD = 1", "TILE = 32")
text = "typedef float T; " + text  # the package's build defines T, the element type


def count_loads(pad):
    """Instructions that load from shared memory, with rows of 32 + pad floats."""
    kernel = smemkit.RawKernel(text, "gemm_padded", options=(f"-DPAD={pad}",))
    c = numpy.zeros((n, n), dtype="float32")
    report = kernel.profile((n // 32, n // 32), (32, 32), (a, b, c, n, n, n))
    return report.counters["shared.load.instructions"]


PAD = None  # your answer


def check_pad(pad):
    assert pad > 0, "above 0"
    assert count_loads(pad) == count_loads(0), f"{count_loads(pad):,}, without: {count_loads(0):,}"
    assert all(count_loads(less) > count_loads(0) for less in range(1, pad)), "a smaller one does"
    print("right:", f"{count_loads(pad):,} loads; with 1: {count_loads(1):,}")


if PAD is not None:
    check_pad(PAD)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# Rows must begin at multiples of 16 bytes: four floats.
check_pad(4)

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: write the tiled product
#
# A block of 16 x 16 threads makes a 16 x 16 tile of c = a @ b, with a of m x k and b of k x n.
# Fill the loop: stage a tile of a and one of b in shared memory, and add 16 products. Any m, n
# and k must do, so a tile may reach over the edge: keep zeros there. Each element must come from
# global memory once a block.

# %%
source = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        // your code: stage a[row][start + x] and b[start + y][col], and 0 outside of a and b
        // your code: add 16 products of a row of tile_a and a column of tile_b to sum
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
"""
exercise = smemkit.exercise("gemm.tile")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: use each number four times
#
# A thread makes four elements of one column of c: rows y, y + 8, y + 16 and y + 24 of a 32 x 32
# tile. Add the products of step i to all four sums. They need the same element of `tile_b`: read
# once, it serves four products. So the shared loads take half the wavefronts of `tiled`, 0.75 a
# product.

# %%
source = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[32][32], tile_b[32][32];
    int x = threadIdx.x, y = threadIdx.y, row = 32 * blockIdx.y, col = 32 * blockIdx.x + x;
    float sum[4] = {0, 0, 0, 0};                    // of rows row + y + 8 * r, in column col
    for (int start = 0; start < k; start += 32) {
        for (int r = y; r < 32; r += 8) {           // 8 rows at a time
            tile_a[r][x] = row + r < m && start + x < k ? a[(row + r) * k + start + x] : 0;
            tile_b[r][x] = start + r < k && col < n ? b[(start + r) * n + col] : 0;
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i) {
            // your code: add the products of step i to the four sums
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        if (row + y + 8 * r < m && col < n)
            c[(row + y + 8 * r) * n + col] = sum[r];
}
"""
exercise = smemkit.exercise("gemm.register")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: one barrier a step
#
# This kernel is right, and waits twice in each step: until the tiles are whole, and until all
# have used them. With *two* pairs of tiles that take turns, one barrier a step is enough. Which
# two things does it then order at a time?

# %%
source = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        int x = start + threadIdx.x, y = start + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
        tile_b[threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
"""
exercise = smemkit.exercise("gemm.one_barrier")
exercise.judge(source)
