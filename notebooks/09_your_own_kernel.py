# %% [markdown]
# # 09 Your own kernel
#
# **Question.** You have an idea for a kernel, and a laptop without a GPU. How do you write it, see
# that it is right, see what it costs, and keep it that way?
#
# The example: *softmax* of each row of a matrix, y = exp(x - max) / sum(exp(x - max)).

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
from smemkit import plot


def softmax(x):
    """What is right: NumPy, in float64."""
    e = numpy.exp(x.astype("float64") - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# %% [markdown]
# ## Write it
#
# `RawKernel` takes CUDA C and compiles it (with NVRTC: `pip install "smemkit[nvrtc]"`, or an nvcc
# that is installed). The first try: one thread makes one row.

# %%
first = smemkit.RawKernel(
    r"""
extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    const float *in = x + (long long)row * cols;
    float *out = y + (long long)row * cols;

    float most = in[0];
    for (int i = 1; i < cols; ++i)
        most = fmaxf(most, in[i]);
    float sum = 0;
    for (int i = 0; i < cols; ++i)
        sum += __expf(in[i] - most);
    for (int i = 0; i < cols; ++i)
        out[i] = __expf(in[i] - most) / sum;
}
""",
    "softmax",
)

# %% [markdown]
# ## Run it
#
# A launch looks as with CuPy: grid, block, arguments. NumPy arrays are copied in and back.

# %%
rows, cols = 100, 256
x = numpy.random.default_rng(5).normal(size=(rows, cols)).astype("float32")
y = numpy.zeros_like(x)

try:
    first((4,), (32,), (x, y, rows, cols), backend="sim")
except smemkit.OutOfBoundsError as error:
    print(error)
    print("line", error.source_line, "block", error.block, "thread", error.thread)

# %% [markdown]
# 4 blocks of 32 threads are 128 threads, and there are 100 rows. The simulator checks *every*
# access, so this is an error with a line and a thread, where a GPU may well have read its
# neighbour's memory in silence. The cure is a guard:

# %%
guarded = smemkit.RawKernel(
    first.source.replace(
        "    const float *in",
        "    if (row >= rows)\n        return;\n    const float *in",
    ),
    "softmax",
)
guarded((4,), (32,), (x, y, rows, cols), backend="sim")
print("largest error:", f"{abs(y - softmax(x)).max():.1e}")

# %% [markdown]
# ## See what it costs
#
# **Predict**: each of the 32 threads of a warp walks along a row of its own. What does that mean
# for the memory? (Notebook 02.)

# %%
slow = guarded.profile((4,), (32,), (x, y, rows, cols))
print("sectors a load: ", slow.counters["global.load.sectors_per_request"])
print("sectors a store:", slow.counters["global.store.sectors_per_request"])
print(slow.advice[0])

# %% [markdown]
# (25 is a mean: three warps have 32 rows each, and the last one has 4.) `print(slow)` shows all
# counters and the worst lines, and in Jupyter a report that ends a cell shows the source with
# counters in the margin:

# %%
slow

# %% [markdown]
# ## Make it better
#
# One *warp* makes one row: its lanes walk side by side, and find the maximum and the sum together
# by exchanging registers. No shared memory is needed.

# %%
second = smemkit.RawKernel(
    r"""
extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;  // the whole warp has the same row
    const float *in = x + (long long)row * cols;
    float *out = y + (long long)row * cols;

    float most = -INFINITY;
    for (int i = lane; i < cols; i += 32)
        most = fmaxf(most, in[i]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    float sum = 0;
    for (int i = lane; i < cols; i += 32)
        sum += __expf(in[i] - most);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    for (int i = lane; i < cols; i += 32)
        out[i] = __expf(in[i] - most) / sum;
}
""",
    "softmax",
)
y = numpy.zeros_like(x)
fast = second.profile((25,), (32, 4), (x, y, rows, cols))
print("largest error:", f"{abs(y - softmax(x)).max():.1e}")
ax = plot.sectors({"a thread a row": slow, "a warp a row": fast})
# %%
print(slow.compare(fast, names=("thread", "warp")))

# %% [markdown]
# ## Is it safe?

# %%
report = second.check((25,), (32, 4), (x, y, rows, cols))
assert report
print(report)

# %% [markdown]
# ## Keep it that way
#
# Counters are exact and repeatable, so a test can hold them, on a machine without a GPU. In a file
# `test_softmax.py` of your own project:


# %%
def test_softmax():
    for rows, cols in ((1, 1), (3, 31), (5, 33), (64, 100)):
        x = numpy.random.default_rng(rows).normal(size=(rows, cols)).astype("float32")
        y = numpy.full_like(x, numpy.nan)
        arguments = ((-(-rows // 4),), (32, 4), (x, y, rows, cols))
        assert second.check(*arguments)
        numpy.testing.assert_allclose(y, softmax(x), rtol=1e-5, atol=1e-7)
        counters = second.profile(*arguments).counters
        assert counters["global.load.sectors_per_request"] <= 5


test_softmax()
print("passed")

# %% [markdown]
# And for the command line of a build server:
#
# ```sh
# smemkit check softmax.cu --kernel softmax --grid 25 --block 32,4 \
#     --arg "float32[100,256]" --arg "float32[100,256]" --arg int32=100 --arg int32=256
# ```
#
# ## On a GPU
#
# The same call runs on the GPU where there is one, and `profile(..., backend="cuda")` adds its
# time to the counts.

# %%
if smemkit.get_backend() == "cuda":
    for name, kernel, grid, block in (
        ("a thread a row", guarded, (128,), (32,)),
        ("a warp a row", second, (1024,), (32, 4)),
    ):
        large = numpy.random.default_rng(6).normal(size=(4096, 4096)).astype("float32")
        arguments = (large, numpy.zeros_like(large), *large.shape)
        timed = kernel.profile(grid, block, arguments, blocks=8, backend="cuda")
        print(f"{name:15} {timed.time_ms:.3f} ms for 4096 rows of 4096")
else:
    print("no GPU here: counts only")

# %% [markdown]
# ## Exercises
#
# Change the kernel in a cell and run the cell: `judge` compiles it, runs it on the simulator with
# several sizes, compares the results with NumPy's, looks for races, and counts. Lines that it
# names are lines of the cell. What `--` stands before is judged when all above it is right.
# `exercise.hint()` gives one hint at a time, `exercise.solution()` one way to do it.

# %% [markdown]
# ### Exercise 1: softmax that reads once
#
# The softmax of notebook 09, one warp a row, reads each element three times and trusts the
# caches. For rows of up to 128 elements a lane has no more than four of them, and can keep them
# in registers: `float mine[4]`. Read each element once. Rows may be shorter, and of any length.

# %%
source = r"""
extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;                                     // the whole warp has the same row
    x += row * cols;
    y += row * cols;
    float most = -INFINITY;
    for (int i = lane; i < cols; i += 32)
        most = fmaxf(most, x[i]);
    for (int k = 16; k > 0; k /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));
    float sum = 0;
    for (int i = lane; i < cols; i += 32)
        sum += __expf(x[i] - most);
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, k);
    for (int i = lane; i < cols; i += 32)
        y[i] = __expf(x[i] - most) / sum;
}
"""
exercise = smemkit.exercise("own.softmax")
exercise.judge(source)

# %% [markdown]
# ### Exercise 2: a scan with a missing barrier
#
# Each block makes the running sums of its 256 numbers: y[i] = x[0] + ... + x[i]. In each step an
# element gets the one added that lies 1, 2, 4, ... places before it. The kernel looks right, and
# a barrier ends each step; yet the result is wrong. Where is a second one needed, and why?

# %%
source = r"""
extern "C" __global__ void scan(const int *x, int *y, int n)
{
    __shared__ int tile[256];
    int t = threadIdx.x, i = 256 * blockIdx.x + t;
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int before = t >= step ? tile[t - step] : 0;
        tile[t] += before;
        __syncthreads();
    }
    if (i < n)
        y[i] = tile[t];
}
"""
exercise = smemkit.exercise("own.scan")
exercise.judge(source)

# %% [markdown]
# ### Exercise 3: a stencil with its halo
#
# y[i] is the sum of x[i - 3] to x[i + 3], with zeros where x ends. The block has staged its own
# 128 elements. Its first and last threads also need three neighbours on each side, which belong
# to other blocks: the halo. Stage it, with zeros where there is nothing.

# %%
source = r"""
extern "C" __global__ void stencil(const float *x, float *y, int n)
{
    __shared__ float tile[128 + 6];                 // the block's elements, and 3 on each side
    int t = threadIdx.x, i = 128 * blockIdx.x + t;
    tile[t + 3] = i < n ? x[i] : 0;
    // your code: the halo, tile[0] to tile[2] and tile[131] to tile[133]
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 7; ++k)
        sum += tile[t + k];
    if (i < n)
        y[i] = sum;
}
"""
exercise = smemkit.exercise("own.stencil")
exercise.judge(source)
