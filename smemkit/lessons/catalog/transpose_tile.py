"""A transpose whose reads and writes both go along rows."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, rows: int, cols: int) -> Case:
    a = rng.random((rows, cols), dtype="float32")
    b = numpy.full((cols, rows), numpy.nan, "float32")
    args = {"a": a, "b": b, "rows": rows, "cols": cols}
    grid = (-(-cols // 32), -(-rows // 32))
    return Case(f"{rows} x {cols}", grid, (32, 8), args, {"b": a.T.copy()})


START = r"""
extern "C" __global__ void transpose(const float *a, float *b, int rows, int cols)
{
    __shared__ float tile[32][33];
    int col = 32 * blockIdx.x + threadIdx.x, row = 32 * blockIdx.y + threadIdx.y;
    for (int r = 0; r < 32; r += 8)                 // 32 x 8 threads: 8 rows at a time
        if (row + r < rows && col < cols)
            tile[threadIdx.y + r][threadIdx.x] = a[(row + r) * cols + col];
    __syncthreads();
    for (int r = 0; r < 32; r += 8)
        if (row + r < rows && col < cols)           // your code: write along rows of b
            b[col * rows + row + r] = tile[threadIdx.y + r][threadIdx.x];
}
"""

SOLUTION = START.replace(
    """    for (int r = 0; r < 32; r += 8)
        if (row + r < rows && col < cols)           // your code: write along rows of b
            b[col * rows + row + r] = tile[threadIdx.y + r][threadIdx.x];
""",
    """    int to_col = 32 * blockIdx.y + threadIdx.x, to_row = 32 * blockIdx.x + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (to_row + r < cols && to_col < rows)     // b has cols rows
            b[(to_row + r) * rows + to_col] = tile[threadIdx.x][threadIdx.y + r];
""",
)

TASK = Task(
    notebook=4,
    number=1,
    title="write along rows",
    text="""
`b`, of cols x rows, becomes the transpose of `a`, of rows x cols. The tile is filled along rows
of a, but each warp still writes down a column of b: 32 sectors a request. Change the second
half: let a warp write 32 neighbours of a row of b, and take them from the tile. Both sizes may
be ragged.
""",
    kernel="transpose",
    start=START,
    start_says="32 sectors a request",
    hints=(
        "The block's tile of a begins at row 32 * blockIdx.y and column 32 * blockIdx.x. Where "
        "does its transpose begin in b?",
        "In b it begins at row 32 * blockIdx.x and column 32 * blockIdx.y. Let threadIdx.x walk "
        "along the row there.",
        "Element (to_row, to_col) of b is element (to_col, to_row) of a. In the tile that is "
        "tile[threadIdx.x][threadIdx.y + r]. The guard has to change with it.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((64, 64), (70, 33), (1, 100), (32, 1)),
    limits=(
        Limit("global.load.sectors_per_request <= 4", "its loads take {value} sectors a request"),
        Limit("global.store.sectors_per_request <= 4", "its stores take {value} sectors a request"),
        Limit("shared.load.conflicts == 0", "its reads of the tile make {value} bank conflicts"),
    ),
    mistakes=(
        Mistake(
            "to_row + r < cols && to_col < rows", "row + r < rows && col < cols", "right for 64"
        ),
        Mistake(
            "tile[threadIdx.x][threadIdx.y + r];",
            "tile[threadIdx.y + r][threadIdx.x];",
            "it should be",
        ),
        Mistake("    __syncthreads();", "", "finds a race"),
    ),
)
