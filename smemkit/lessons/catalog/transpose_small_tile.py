"""A tile of 16 x 16, in which a warp touches two rows or two columns at a time."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, rows: int, cols: int) -> Case:
    a = rng.random((rows, cols), dtype="float32")
    b = numpy.full((cols, rows), numpy.nan, "float32")
    args = {"a": a, "b": b, "rows": rows, "cols": cols}
    grid = (-(-cols // 16), -(-rows // 16))
    return Case(f"{rows} x {cols}", grid, (16, 16), args, {"b": a.T.copy()})


START = r"""
__device__ int place(int row, int col)
{
    return 16 * row + col;                          // your code
}

extern "C" __global__ void transpose(const float *a, float *b, int rows, int cols)
{
    __shared__ float tile[16 * 16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = 16 * blockIdx.y + y, col = 16 * blockIdx.x + x;
    if (row < rows && col < cols)
        tile[place(y, x)] = a[row * cols + col];
    __syncthreads();
    int to_row = 16 * blockIdx.x + y, to_col = 16 * blockIdx.y + x;
    if (to_row < cols && to_col < rows)
        b[to_row * rows + to_col] = tile[place(x, y)];
}
"""

TASK = Task(
    notebook=4,
    number=3,
    title="a tile of 16 x 16",
    text="""
With blocks of 16 x 16 threads a warp stores *two* rows of the tile at once, and reads two
columns. A pad that cures the columns spoils the rows: with 18 words a row, two neighbouring
rows share two banks. Find a `place` for element (row, col) within 16 * 16 words, so that both
are free of conflicts.
""",
    kernel="transpose",
    start=START,
    start_says="bank conflicts",
    hints=(
        "Two rows of 16 words fill 32 banks, whatever the order within a row. So keep every row "
        "where it is, and change the order within it.",
        "Of a column the even rows lie in banks 0 to 15 and the odd rows in 16 to 31. The eight "
        "even rows must spread two neighbouring columns over 16 banks.",
        "An xor does it: 16 * row + (col ^ row).",
    ),
    solution=START.replace("16 * row + col;        ", "16 * row + (col ^ row);").replace(
        "// your code", "// rows stay rows; columns spread"
    ),
    make=make,
    sizes=((64, 64), (70, 33), (1, 100), (16, 1)),
    limits=(
        Limit("shared.store.conflicts == 0", "its stores of rows make {value} bank conflicts"),
        Limit("shared.load.conflicts == 0", "its reads of columns make {value} bank conflicts"),
        Limit("launch.shared_bytes <= 1024", "its tile has {value} bytes"),
    ),
    mistakes=(
        Mistake("(col ^ row)", "(col ^ (row / 2))", "reads of columns make"),
        Mistake("16 * row + (col ^ row)", "18 * row + col", "an access out of bounds"),
        Mistake("(col ^ row)", "(col | row)", "it should be"),
    ),
)
