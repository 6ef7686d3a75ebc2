"""Softmax of short rows, a warp a row, with each element read once."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, rows: int, cols: int) -> Case:
    x = (40 * rng.normal(size=(rows, cols)) - 200).astype("float32")
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

SOLUTION = r"""
extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;                                     // the whole warp has the same row
    x += row * cols;
    y += row * cols;
    float mine[4], most = -INFINITY, sum = 0;       // up to 4 elements a lane, in registers
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        mine[j] = 32 * j + lane < cols ? x[32 * j + lane] : -INFINITY;
        most = fmaxf(most, mine[j]);
    }
    for (int k = 16; k > 0; k /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));
#pragma unroll
    for (int j = 0; j < 4; ++j)
        sum += mine[j] = __expf(mine[j] - most);    // of -INFINITY it is 0
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, k);
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (32 * j + lane < cols)
            y[32 * j + lane] = mine[j] / sum;
}
"""

TASK = Task(
    notebook=9,
    number=1,
    title="softmax that reads once",
    text="""
The softmax of notebook 09, one warp a row, reads each element three times and trusts the
caches. For rows of up to 128 elements a lane has no more than four of them, and can keep them
in registers: `float mine[4]`. Read each element once. Rows may be shorter, and of any length.
""",
    kernel="softmax",
    start=START,
    start_says="72 requests",
    hints=(
        "mine[j] is element 32 * j + lane, for j from 0 to 3. What should it be where the row has "
        "ended, so that neither the maximum nor the sum notices it?",
        "-INFINITY: it is never the maximum, and __expf of it is 0.",
        "An array of the thread stays in registers only where every index is known to the "
        "compiler: let the loops run over j from 0 to 3, and put #pragma unroll above them.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((8, 96), (5, 128), (3, 33), (1, 1)),
    limits=(
        Limit(
            "global.load.requests <= 24",
            "its loads make {value} requests, where 24 read each element once",
        ),
        Limit(
            "local.load.requests == 0",
            "it reads local memory {value} times: the array is not in registers",
        ),
        Limit("global.load.sectors_per_request <= 4", "its loads take {value} sectors a request"),
        Limit("global.store.sectors_per_request <= 4", "its stores take {value} sectors a request"),
    ),
    mistakes=(
        Mistake(": -INFINITY;", ": 0;", "it should be"),
        Mistake("__expf(mine[j] - most)", "__expf(mine[j])", "it should be"),
        Mistake(
            "32 * j + lane < cols ? x[32 * j + lane] : -INFINITY",
            "x[32 * j + lane]",
            "an access out of bounds",
        ),
        Mistake(
            "        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));",
            "        ;",
            "it should be",
        ),
        Mistake("x[32 * j + lane] : -INFINITY", "x[4 * lane + j] : -INFINITY", "it should be"),
    ),
)
