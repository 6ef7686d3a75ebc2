"""Rows read by lanes that begin at different columns: no pad, no conflict."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.integers(-9, 10, (n, 32, 32)).astype("float32")
    y = numpy.full((n, 32), numpy.nan, "float32")
    return Case(
        "1 tile" if n == 1 else f"{n} tiles", (n,), (32,), {"x": x, "y": y}, {"y": x.sum(axis=2)}
    )


START = r"""
extern "C" __global__ void row_sums(const float *x, float *y)   // x is (tiles, 32, 32)
{
    __shared__ float tile[32][32];
    int lane = threadIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[row][lane] = x[(blockIdx.x * 32 + row) * 32 + lane];
    __syncwarp();
    float sum = 0;
    for (int i = 0; i < 32; ++i)
        sum += tile[lane][i];
    y[blockIdx.x * 32 + lane] = sum;
}
"""

TASK = Task(
    notebook=1,
    number=2,
    title="the same sums without a pad",
    text="""
Each lane sums a row of the tile. There is no memory left for a pad. But a sum may be taken in
any order, and nothing forces all lanes to begin with column 0. Choose for each lane where it
begins.
""",
    kernel="row_sums",
    start=START,
    start_says="bank conflicts",
    hints=(
        "Element (row, col) lies in bank col, whatever the row is. In one step the 32 lanes should "
        "read 32 different columns.",
        "Let lane l begin at column l, and go round: after column 31 comes column 0.",
        "The column is (i + lane) % 32.",
    ),
    solution=START.replace("tile[lane][i]", "tile[lane][(i + lane) % 32]"),
    make=make,
    sizes=((4,), (1,)),
    limits=(
        Limit("shared.load.conflicts == 0", "its reads of the tile make {value} bank conflicts"),
        Limit("launch.shared_bytes <= 4096", "its tile has {value} bytes: there is no pad to pay"),
    ),
    mistakes=(
        Mistake("(i + lane) % 32", "(i + lane / 2) % 32", "bank conflicts"),
        Mistake("(i + lane) % 32", "(i + lane)", "it should be"),
        Mistake("float tile[32][32]", "float tile[32][33]", "there is no pad to pay"),
    ),
)
