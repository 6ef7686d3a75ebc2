"""Two sums in one pass over the memory."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, rows: int, cols: int) -> Case:
    x = rng.integers(-9, 10, (rows, cols)).astype("float32")
    mean, variance = numpy.full((2, cols), numpy.nan, "float32")
    mean, variance = mean.copy(), variance.copy()
    args = {"x": x, "mean": mean, "variance": variance, "rows": rows, "cols": cols}
    wide = x.astype("float64")
    expected = {"mean": wide.mean(axis=0), "variance": wide.var(axis=0)}
    return Case(f"{rows} x {cols}", (-(-cols // 64),), (64,), args, expected, tolerance=1e-5)


START = r"""
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

SOLUTION = r"""
extern "C" __global__ void moments(const float *x, float *mean, float *variance, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    float middle = 0, squares = 0;
    for (int row = 0; row < rows; ++row) {
        float value = x[row * cols + col], before = value - middle;
        middle += before / (row + 1);                   // Welford: the mean so far
        squares += before * (value - middle);
    }
    mean[col] = middle;
    variance[col] = squares / rows;
}
"""

TASK = Task(
    notebook=7,
    number=2,
    title="one pass instead of two",
    text="""
Mean and variance of each column. This kernel is coalesced, and yet it asks for every byte
twice: it needs the mean before it can add the squares. At the memory wall that is twice the
time. Find both in *one* loop. (Mean of the squares minus square of the mean will do for these
numbers. It is inaccurate where the mean is large; Welford's update is not.)
""",
    kernel="moments",
    start=START,
    start_says="requests",
    hints=(
        "Keep two sums: of x, and of x * x. The variance is squares / rows - mean * mean.",
        "Welford: before = value - mean; mean += before / (row + 1); squares += before * (value - "
        "mean).",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((40, 128), (7, 33), (1, 1)),
    limits=(
        Limit(
            "global.load.requests <= 160",
            "its loads make {value} requests, and 160 read the matrix once",
        ),
    ),
    mistakes=(
        Mistake("before * (value - middle)", "before * before", "variance["),
        Mistake("/ (row + 1)", "/ rows", "mean["),
        Mistake("        return;", "        ;", "an access out of bounds"),
    ),
)
