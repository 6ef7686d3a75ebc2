"""The pad of a tile whose elements take two banks each."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.integers(-9, 10, (n, 32, 32)).astype("float64")
    y = numpy.full((n, 32), numpy.nan)
    return Case(
        "1 tile" if n == 1 else f"{n} tiles", (n,), (32,), {"x": x, "y": y}, {"y": x.sum(axis=2)}
    )


START = r"""
constexpr int PAD = 0;

extern "C" __global__ void row_sums(const double *x, double *y)   // x is (tiles, 32, 32)
{
    __shared__ double tile[32][32 + PAD];
    int lane = threadIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[row][lane] = x[(blockIdx.x * 32 + row) * 32 + lane];
    __syncwarp();
    double sum = 0;
    for (int col = 0; col < 32; ++col)
        sum += tile[lane][col];                     // the lanes walk down a column
    y[blockIdx.x * 32 + lane] = sum;
}
"""

TASK = Task(
    notebook=1,
    number=1,
    title="a pad for numbers of 8 bytes",
    text="""
A warp sums the rows of a tile of `double`, one lane a row, and so its lanes walk down a column.
A `double` takes two neighbouring banks, and a warp's access of 8 bytes a lane goes in two
halves of 16 lanes. Find the smallest `PAD` without a conflict.
""",
    kernel="row_sums",
    start=START,
    start_says="bank conflicts",
    hints=(
        "A row of 32 doubles is 64 words long, so every row begins in bank 0. Where should the "
        "next row begin?",
        "Two banks further on: then 16 lanes take 32 different banks.",
    ),
    solution=START.replace("PAD = 0", "PAD = 1"),
    make=make,
    sizes=((4,), (1,)),
    limits=(
        Limit("shared.load.conflicts == 0", "its reads of the tile make {value} bank conflicts"),
        Limit("launch.shared_bytes <= 8448", "a smaller pad does it too: it has {value} bytes"),
    ),
    mistakes=(
        Mistake("PAD = 1", "PAD = 2", "a smaller pad does it too"),
        Mistake("PAD = 1", "PAD = 16", "bank conflicts"),
        Mistake("tile[lane][col]", "tile[col][lane]", "it should be"),
    ),
)
