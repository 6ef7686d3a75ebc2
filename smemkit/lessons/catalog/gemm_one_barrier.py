"""Two pairs of tiles, used in turn: one barrier a step."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, m: int, n: int, k: int) -> Case:
    a = rng.integers(-4, 5, (m, k)).astype("float32")
    b = rng.integers(-4, 5, (k, n)).astype("float32")
    c = numpy.full((m, n), numpy.nan, "float32")
    args = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
    grid = (-(-n // 16), -(-m // 16))
    return Case(f"{m} x {n} x {k}", grid, (16, 16), args, {"c": a @ b})


START = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        int x = start + threadIdx.x, y = start + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
        tile_b[threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
"""

SOLUTION = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[2][16][16], tile_b[2][16][16];
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    int now = 0;
    for (int start = 0; start < k; start += 16) {
        int x = start + threadIdx.x, y = start + threadIdx.y;
        tile_a[now][threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
        tile_b[now][threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : 0;
        __syncthreads();  // this pair is whole; and all are done with the other one
        for (int i = 0; i < 16; ++i)
            sum += tile_a[now][threadIdx.y][i] * tile_b[now][i][threadIdx.x];
        now = 1 - now;
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
"""

TASK = Task(
    notebook=3,
    number=3,
    title="one barrier a step",
    text="""
This kernel is right, and waits twice in each step: until the tiles are whole, and until all
have used them. With *two* pairs of tiles that take turns, one barrier a step is enough. Which
two things does it then order at a time?
""",
    kernel="product",
    start=START,
    start_says="arrive 768 times",
    hints=(
        "Declare tile_a[2][16][16], and tile_b alike, and a variable that is 0 and 1 in turn.",
        "A thread that stores into one pair must know that all have finished with *that* pair, "
        "which was two steps ago. The barrier of the step between says so.",
        "Keep the first barrier of the start, leave the second one out, and end the loop with "
        "now = 1 - now.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((32, 32, 192), (33, 20, 45), (5, 70, 3), (1, 1, 1)),
    limits=(
        Limit("barrier.count <= 416", "its 32 warps arrive {value} times at barriers in 12 steps"),
        Limit("global.load.sectors <= 3072", "its loads fetch {value} sectors"),
    ),
    mistakes=(
        Mistake("now = 1 - now;", "", "finds a race"),
        Mistake("__syncthreads();  // this", "// this", "finds a race"),
        Mistake("tile_b[now][i]", "tile_b[0][i]", "it should be"),
    ),
)
