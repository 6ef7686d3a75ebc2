"""A swizzled tile: rows and columns without conflicts, and no pad."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.random((n, 32, 32), dtype="float32")
    y = numpy.full_like(x, numpy.nan)
    return Case(
        "1 tile" if n == 1 else f"{n} tiles",
        (n,),
        (32, 32),
        {"x": x, "y": y},
        {"y": x.transpose(0, 2, 1).copy()},
    )


START = r"""
__device__ int place(int row, int col)
{
    return 32 * row + col;                          // your code: another place in the same row
}

extern "C" __global__ void turn(const float *x, float *y)   // both are (tiles, 32, 32)
{
    __shared__ float tile[32 * 32];
    int at = 32 * (32 * blockIdx.x + threadIdx.y) + threadIdx.x;
    tile[place(threadIdx.y, threadIdx.x)] = x[at];
    __syncthreads();
    y[at] = tile[place(threadIdx.x, threadIdx.y)];  // a column of the tile
}
"""

TASK = Task(
    notebook=1,
    number=3,
    title="no space for a pad: a swizzle",
    text="""
`turn` transposes tiles of exactly 32 x 32 floats. `place` says where in the tile element (row,
col) is kept. Keep every element in its own row, but elsewhere in it, so that warps can store
rows *and* read columns without a conflict. (Such an order is called a *swizzle*.)
""",
    kernel="turn",
    start=START,
    start_says="bank conflicts",
    hints=(
        "Write it as 32 * row + f(row, col). For one row, f must give each of 0 to 31 once; for "
        "one column (32 rows, the same col) it must do so too.",
        "A rotation does it: (col + row) % 32. So does an operation on bits that makes no carry.",
        "32 * row + (col ^ row)",
    ),
    solution=START.replace("32 * row + col; ", "32 * row + (col ^ row);").replace(
        "// your code: another place in the same row", "// 32 rows, 32 different banks"
    ),
    make=make,
    sizes=((4,), (1,)),
    limits=(
        Limit("shared.store.conflicts == 0", "its stores of rows make {value} bank conflicts"),
        Limit("shared.load.conflicts == 0", "its reads of columns make {value} bank conflicts"),
        Limit("launch.shared_bytes <= 4096", "its tile has {value} bytes"),
    ),
    mistakes=(
        Mistake("(col ^ row)", "(col ^ (row / 2))", "reads of columns make"),
        Mistake("32 * row + (col ^ row)", "33 * row + col", "an access out of bounds"),
        Mistake("32 * row + (col ^ row)", "row + 32 * col", "stores of rows make"),
        Mistake("(col ^ row)", "(col * row) % 32", "it should be"),
    ),
)
