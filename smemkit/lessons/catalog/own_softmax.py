"""Softmax of rows of any length, a warp a row."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng, rows, cols):
    x = (40 * rng.normal(size=(rows, cols))).astype("float32")
    y = numpy.full_like(x, numpy.nan)
    powers = numpy.exp(x.astype("float64") - x.max(axis=1, keepdims=True))
    expected = {"y": powers / powers.sum(axis=1, keepdims=True)}
    args = {"x": x, "y": y, "rows": rows, "cols": cols}
    return Case(f"{rows} x {cols}", (-(-rows // 4),), (32, 4), args, expected, tolerance=1e-4)


START = r"""
extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;                                     // the whole warp has the same row
    x += row * cols;
    y += row * cols;
    // your code: the largest element of the row; the sum of __expf(element - largest); the result
}
"""

SOLUTION = START.replace(
    "    // your code: the largest element of the row; the sum of __expf(element - largest);"
    " the result\n",
    """    float most = -INFINITY;
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
""",
)

TASK = Task(
    notebook=9,
    number=1,
    title="softmax from memory",
    text="""
Write the softmax of this notebook yourself, without looking up: y = exp(x - max) / sum(exp(x -
max)) of each row. One warp makes one row of any length; its lanes walk side by side. The numbers
are large: without the maximum exp overflows.
""",
    kernel="softmax",
    start=START,
    start_says="the kernel has not changed y; y[0][0] should be",
    hints=(
        "Three loops over the row, each for (int i = lane; i < cols; i += 32): maximum, sum, "
        "result.",
        "After the first loop each lane has the maximum of its own elements. Five shuffles with "
        "__shfl_xor_sync give every lane the maximum of all; the same for the sum.",
        "Begin with -INFINITY, because a lane may have no element at all.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((8, 96), (3, 33), (5, 7), (1, 1)),
    limits=(
        Limit("global.load.sectors_per_request <= 4", "its loads take {value} sectors a request"),
        Limit("global.store.sectors_per_request <= 4", "its stores take {value} sectors a request"),
        Limit("global.load.requests <= 72", "its loads make {value} requests: 3 passes take 72"),
        Limit(
            "barrier.count == 0", "its warps arrive {value} times at barriers; they share nothing"
        ),
    ),
    mistakes=(
        Mistake("x[i] - most) / sum", "x[i]) / sum", "it should be"),
        Mistake(
            "        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));",
            "        ;",
            "it should be",
        ),
        Mistake("float most = -INFINITY;", "float most = x[lane];", "an access out of bounds"),
        Mistake(
            "        sum += __shfl_xor_sync(0xffffffff, sum, k);",
            "        sum += __shfl_down_sync(0xffffffff, sum, k);",
            "it should be",
        ),
    ),
)
