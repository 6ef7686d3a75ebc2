"""Sums of columns, one thread a column: coalesced without any trick."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, rows: int, cols: int) -> Case:
    x = rng.integers(-9, 10, (rows, cols)).astype("float32")
    y = numpy.full(cols, numpy.nan, "float32")
    args = {"x": x, "y": y, "rows": rows, "cols": cols}
    return Case(f"{rows} x {cols}", (-(-cols // 64),), (64,), args, {"y": x.sum(axis=0)})


START = r"""
extern "C" __global__ void sums(const float *x, float *y, int rows, int cols)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= rows)
        return;
    float sum = 0;
    for (int i = 0; i < cols; ++i)
        sum += x[t * cols + i];
    y[t] = sum;
}
"""

TASK = Task(
    notebook=2,
    number=2,
    title="sums of columns",
    text="""
This kernel sums each *row* of a matrix, one thread a row, and its reads are as bad as reads can
be. Let it sum each *column* instead, one thread a column. Then look at the sectors: what was
bad for rows is right for columns.
""",
    kernel="sums",
    start=START,
    start_says="it should be",
    hints=(
        "Thread t has column t now, and walks over all rows: i counts rows.",
        "Element (i, t) of the matrix is x[i * cols + t]. The guard and the end of the loop change "
        "too.",
    ),
    solution=START.replace("t >= rows", "t >= cols")
    .replace("i < cols", "i < rows")
    .replace("x[t * cols + i]", "x[i * cols + t]"),
    make=make,
    sizes=((48, 128), (70, 33), (1, 1)),
    limits=(
        Limit("global.load.sectors_per_request <= 4", "its loads take {value} sectors a request"),
    ),
    mistakes=(
        Mistake("x[i * cols + t]", "x[t * rows + i]", "it should be"),
        Mistake("t >= cols", "t >= rows", "has not been changed"),
    ),
)
