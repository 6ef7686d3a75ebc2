"""A 5 x 5 sum over a tile with its halo in shared memory."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, rows: int, cols: int) -> Case:
    x = rng.integers(-9, 10, (rows, cols)).astype("float32")
    y = numpy.full_like(x, numpy.nan)
    wide = numpy.pad(x, 2)
    windows = numpy.lib.stride_tricks.sliding_window_view(wide, (5, 5))
    args = {"x": x, "y": y, "rows": rows, "cols": cols}
    grid = (-(-cols // 16), -(-rows // 16))
    return Case(f"{rows} x {cols}", grid, (16, 16), args, {"y": windows.sum(axis=(2, 3))})


START = r"""
extern "C" __global__ void box(const float *x, float *y, int rows, int cols)
{
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int i = -2; i <= 2; ++i)
        for (int j = -2; j <= 2; ++j)
            if (row + i >= 0 && row + i < rows && col + j >= 0 && col + j < cols)
                sum += x[(row + i) * cols + col + j];
    if (row < rows && col < cols)
        y[row * cols + col] = sum;
}
"""

SOLUTION = r"""
extern "C" __global__ void box(const float *x, float *y, int rows, int cols)
{
    __shared__ float tile[20][20];                  // 16 + 2 on each side
    int top = 16 * blockIdx.y - 2, left = 16 * blockIdx.x - 2;
    for (int r = threadIdx.y; r < 20; r += 16)
        for (int c = threadIdx.x; c < 20; c += 16) {
            int row = top + r, col = left + c;
            bool inside = row >= 0 && row < rows && col >= 0 && col < cols;
            tile[r][c] = inside ? x[row * cols + col] : 0;
        }
    __syncthreads();  // the halo was read by others
    float sum = 0;
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 5; ++j)
            sum += tile[threadIdx.y + i][threadIdx.x + j];
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    if (row < rows && col < cols)
        y[row * cols + col] = sum;
}
"""

TASK = Task(
    notebook=6,
    number=3,
    title="a tile with its halo",
    text="""
Each pixel of the result is the sum of the 5 x 5 pixels around it; outside of the picture there
are zeros. Each pixel of x is asked for 25 times. Stage the 16 x 16 tile of a block in shared
memory, with a *halo* of two pixels on each side, so that a block asks for each pixel once.
""",
    kernel="box",
    start=START,
    start_says="requests",
    hints=(
        "A tile of 20 x 20 has 400 pixels, and the block 256 threads: each thread stages up to 4, "
        "in two loops with steps of 16.",
        "tile[r][c] is the pixel at row 16 * blockIdx.y - 2 + r and column "
        "16 * blockIdx.x - 2 + c, or 0 where there is none. Every element of the tile "
        "has to be stored.",
        "After a barrier, thread (x, y) sums tile[y + i][x + j] for i and j from 0 to 4.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((48, 48), (20, 37), (1, 1)),
    limits=(
        Limit("global.load.requests <= 320", "its loads make {value} requests to global memory"),
    ),
    mistakes=(
        Mistake("    __syncthreads();", "    ", "finds a race"),
        Mistake("r < 20; r += 16", "r < 16; r += 16", "uninitialized memory"),
        Mistake(
            "inside ? x[row * cols + col] : 0", "x[row * cols + col]", "an access out of bounds"
        ),
        Mistake("i < 5; ++i", "i < 4; ++i", "it should be"),
    ),
)
