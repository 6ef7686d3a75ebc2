# %% [markdown]
# # 06 Histogram and convolution
#
# **Question.** Both are textbook examples for shared memory. In one of them the *data* decides how
# fast a kernel is. In the other the cache does what shared memory was meant for. When is shared
# memory the right tool, and for what?
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

rng = numpy.random.default_rng(6)

# %% [markdown]
# ## Histogram
#
# Count how often each of 256 byte values occurs: each value has a *bin*, a counter. Two threads may
# meet the same bin. Both would read it, add 1 and store it, and one addition would be lost. So a
# bin is incremented by an *atomic*, a read, change and write that nothing can come between.
# Threads that update one address at the same time have to be served one after the other.

# %%
for name, facts in smemkit.variants("histogram").items():
    print(f"{name:8} {facts['shows']}")

# %% [markdown]
# **Predict**: a picture of noise and a picture that is all black. Which one is slower, with each
# variant?

# %%
images = {
    "noise": rng.integers(0, 256, 1 << 16).astype("uint8"),
    "black": numpy.zeros(1 << 16, "uint8"),
}
reports = {}
for name in smemkit.variants("histogram"):
    for what, image in images.items():
        report = smemkit.profile(smemkit.histogram, image, variant=name, backend="sim")
        assert (report.result == numpy.bincount(image, minlength=256)).all()
        reports[name, what] = report

print(f"{'':16}{'global atomics':>16}{'shared atomics':>16}{'wavefronts':>12}{'conflicts':>12}")
for (name, what), report in reports.items():
    c = report.counters
    print(
        f"{name:8}{what:8}{c['global.atomic.requests']:16,}{c['shared.atomic.instructions']:16,}"
        f"{c['shared.atomic.wavefronts']:12,}{c['shared.atomic.conflicts']:12,}"
    )

# %% [markdown]
# - `global` sends every element's atomic to global memory: the bins of all blocks are the same 256
#   words.
# - `shared` gives each block a copy of its own, in shared memory. Noise spreads over the banks with
#   conflicts by chance: some three wavefronts an atomic. Black has none, although 32 lanes meet in
#   one word: all of them add 1, and for that the hardware counts the lanes and adds once.
# - `lane` gives each *lane* a copy of its own, laid out so that the bank is the lane. **No input
#   can make two lanes meet.**
#
# Where an atomic adds anything but 1, nobody counts for it: 32 lanes in one word are 32 wavefronts
# then. (Lanes that *read* one word are a broadcast; lanes that *change* it go one by one.)

# %%
one_word = numpy.zeros(32, dtype="int64")
for words, op in (("add 1", "increment"), ("add another number", "atomic")):
    print(f"all lanes {words}: {smemkit.bank_access(one_word, op=op).wavefronts} wavefronts")

# %% [markdown]
# The pictures of one atomic, for noise:

# %%
ax = plot.banks(reports["shared", "noise"].access(space="shared", op="atomic"))
# %%
ax = plot.banks(reports["lane", "noise"].access(space="shared", op="atomic"))
# %% [markdown]
# Here shared memory is not a cache. It is a place with 32 independent ports and fast atomics, and
# the layout is made so that each lane has a port.
#
# ## Convolution
#
# Each pixel of the result is a weighted sum of p x q pixels around it, and neighbours share most
# of theirs. With a 5 x 5 filter every pixel is wanted 25 times. The textbook cure: stage a tile
# in shared memory, with the pixels around it that its edge needs: its *halo*.

# %%
for name, facts in smemkit.variants("conv2d").items():
    print(f"{name:10} {facts['shows']}")

# %% [markdown]
# **Predict**: by how much do the sectors that are asked of global memory go down, from `naive` to
# `shared`, with a 5 x 5 filter?

# %%
image = rng.integers(0, 9, (128, 128)).astype("float32")
weights = rng.integers(-3, 4, (5, 5)).astype("float32")
results = {
    name: smemkit.profile(smemkit.conv2d, image, weights, variant=name, backend="sim")
    for name in smemkit.variants("conv2d")
}
first = results["naive"].result
assert all((report.result == first).all() for report in results.values())

columns = {
    "global requests": "global.load.requests",
    "global sectors": "global.load.sectors",
    "wavefronts": "shared.load.wavefronts",
    "conflicts": "shared.load.conflicts",
    "instructions": "instructions.warp",
}
print(f"{'':10}" + "".join(f"{name:>17}" for name in columns))
for name, report in results.items():
    print(f"{name:10}" + "".join(f"{report.counters[c]:17,}" for c in columns.values()))

# %% [markdown]
# `shared` asks for less than a third of the sectors. But that is a count of what is *asked*, and
# most of it is answered by the L1 cache, which on these GPUs is the same piece of memory as shared
# memory. And shared memory still takes nearly one wavefront for each product:

# %%
products = image.size * weights.size // 32  # warp-wide
for name, report in results.items():
    c = report.counters
    print(
        f"{name:10} {c['instructions.warp'] / products:5.1f} instructions a product, "
        f"{c['shared.load.wavefronts'] / products:4.2f} wavefronts"
    )

# %% [markdown]
# So do not expect the time to fall by the same factor as the sectors. `register` goes another way:
# a thread makes several pixels and keeps what it has read in registers, where the next pixel finds
# it. That removes the *loads*, not just their distance, and the loop around them. It shows in the
# number of instructions.
#
# `window` took this filter weight by weight, as `naive` does: it is made for 3 x 3. So small a
# window needs no shared memory at all. Each thread reads its part of six rows, and its neighbours
# in the warp hand it the columns on either side:

# %%
small = rng.integers(-3, 4, (3, 3)).astype("float32")
for name in ("shared", "register", "window"):
    c = smemkit.profile(smemkit.conv2d, image, small, variant=name, backend="sim").counters
    loads = c["shared.load.instructions"]
    print(f"{name:10} {c['instructions.warp']:8,} instructions, {loads:6,} reads of shared memory")

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


for what, values in (("noise", "uniform"), ("black", "constant")):
    table = measure("histogram", 1 << 28, values=values)
    speed = {row.variant: row.gb_per_s for row in table}
    gain = f"lane is {speed['lane'] / speed['global']:,.0f} times as fast as global"
    ax = plot.ladder(table, title=f"{what.capitalize()}: {gain}")

# %%
ax = plot.ladder(measure("conv2d", 4096))

# %% [markdown]
# Compare `naive` and `shared` of the convolution with what you predicted from the sectors, and
# with what the number of instructions says.

# %% [markdown]
# ## Question: half-way
#
# 32 copies of 256 bins take 32 KB. With 16 copies, which two lanes share (`copy = lane % 16`), it
# is half of that. Element (bin, copy) is word `bin * 16 + copy`. How many wavefronts does an
# increment take for *black* (all in bin 0), and at worst, for any input?

# %%
answer = None  # your answer: (for black, at worst)


def count_wavefronts(bins):
    lane = numpy.arange(32)
    return smemkit.bank_access(4 * (16 * bins + lane % 16), op="increment").wavefronts


def check_copies(numbers):
    black, worst = numbers
    assert black == count_wavefronts(numpy.zeros(32, int)), "not for black"
    found = max(count_wavefronts(rng.integers(0, 256, 32)) for _ in range(2000))
    assert worst == found, "not at worst"
    print("right")


if answer is not None:
    check_copies(answer)

# %% [markdown]
# The solution is in the next cell. Think first.

# %% jupyter={"source_hidden": true} tags=["solution"]
# Word 16 bin + copy lies in bank copy or copy + 16, so only two lanes (l and l + 16) can ever meet:
# in one word, where increments are counted together, or in two words of one bank.
check_copies((1, 2))

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: bins of the block's own
#
# All blocks count into the same 256 words of global memory. Give each block bins of its own in
# shared memory, and add them to `counts` at the end: 8 requests of atomics for 256 bins. A block
# has 128 threads.

# %%
source = r"""
extern "C" __global__ void histogram(const unsigned char *x, int *counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[x[i]], 1);                // counts are 0 before
}
"""
exercise = smemkit.exercise("histogram.shared")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: no input is slow
#
# `sums[c]` becomes the sum of the weights of all pixels of colour c, which is below 64. Where a
# picture has one colour, 32 lanes add to one word, one after the other. This kernel has 32 copies
# of the bins, but gives one to each *warp*, where it does not help. Choose the copy and its place
# so that no picture at all can make two lanes of a warp share a bank.

# %%
source = r"""
__device__ int place(int bin, int copy)
{
    return 64 * copy + bin;                         // your code: a word below 64 * 32
}

extern "C" __global__ void histogram(const unsigned char *x, const int *weights, int *sums, int n)
{
    __shared__ int bins[64 * 32];                   // 32 copies of 64 bins
    int copy = threadIdx.x / 32;                    // your code: whose copy?
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[place(x[i], copy)], weights[i]);
    __syncthreads();
    if (threadIdx.x < 64) {
        int sum = 0;
        for (int i = 0; i < 32; ++i)
            sum += bins[place(threadIdx.x, i)];
        atomicAdd(&sums[threadIdx.x], sum);
    }
}
"""
exercise = smemkit.exercise("histogram.lanes")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: a tile with its halo
#
# Each pixel of the result is the sum of the 5 x 5 pixels around it; outside of the picture there
# are zeros. Each pixel of x is asked for 25 times. Stage the 16 x 16 tile of a block in shared
# memory, with a *halo* of two pixels on each side, so that a block asks for each pixel once.

# %%
source = r"""
extern "C" __global__ void box(const float *x, float *y, int rows, int cols)
{
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int i = -2; i <= 2; ++i)
        for (int j = -2; j <= 2; ++j)
            if (row + i >= 0 && row + i < rows && col + j >= 0 && col + j < cols)
                sum += x[(row + i) * cols + col + j];
    if (row < rows && col < cols)
        y[row * cols + col] = sum;
}
"""
exercise = smemkit.exercise("convolution.halo")
exercise.judge(source)
