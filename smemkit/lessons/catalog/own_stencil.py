"""A 1-D stencil of seven points, with a halo in shared memory."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = rng.integers(-9, 10, n).astype("float32"), numpy.full(n, numpy.nan, "float32")
    windows = numpy.lib.stride_tricks.sliding_window_view(numpy.pad(x, 3), 7)
    args = {"x": x, "y": y, "n": n}
    return Case(f"n = {n}", (-(-n // 128),), (128,), args, {"y": windows.sum(axis=1)})


START = r"""
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

SOLUTION = START.replace(
    "    // your code: the halo, tile[0] to tile[2] and tile[131] to tile[133]\n",
    """    if (t < 3)                                      // three threads, two elements each
        for (int side = 0; side < 2; ++side) {
            int from = i - 3 + 131 * side;
            tile[t + 131 * side] = from >= 0 && from < n ? x[from] : 0;
        }
""",
)

TASK = Task(
    notebook=9,
    number=3,
    title="a stencil with its halo",
    text="""
y[i] is the sum of x[i - 3] to x[i + 3], with zeros where x ends. The block has staged its own
128 elements. Its first and last threads also need three neighbours on each side, which belong
to other blocks: the halo. Stage it, with zeros where there is nothing.
""",
    kernel="stencil",
    start=START,
    start_says="uninitialized memory",
    hints=(
        "Six elements are missing, and they need not be staged by the threads that use them: let "
        "threads 0 to 2 take two each.",
        "tile[t] is x[i - 3], if that is not below 0. tile[t + 131] is x[i + 128], if that is "
        "below n.",
        "In the last block fewer than 128 elements may be left, so the right halo can lie outside "
        "of x as a whole.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((1000,), (256,), (130,), (1,)),
    limits=(
        Limit("global.load.requests <= 48", "its loads make {value} requests, where 48 would do"),
        Limit("shared.load.conflicts == 0", "its reads of the tile make {value} bank conflicts"),
    ),
    mistakes=(
        Mistake(
            "from >= 0 && from < n ? x[from] : 0",
            "from < n ? x[from] : 0",
            "an access out of bounds",
        ),
        Mistake(
            "from >= 0 && from < n ? x[from] : 0",
            "from >= 0 ? x[from] : 0",
            "an access out of bounds",
        ),
        Mistake("    __syncthreads();", "", "finds a race"),
        Mistake("if (t < 3)", "if (t < 2)", "uninitialized memory"),
        Mistake("+ 131 * side] =", "+ 130 * side] =", "check finds"),
    ),
)
