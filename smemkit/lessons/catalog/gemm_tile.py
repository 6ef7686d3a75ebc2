"""The tiled matrix product: stage two tiles, multiply them, twice a barrier."""

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
        // your code: stage a[row][start + x] and b[start + y][col], and 0 outside of a and b
        // your code: add 16 products of a row of tile_a and a column of tile_b to sum
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
"""

SOLUTION = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[16][16], tile_b[16][16];
    int row = 16 * blockIdx.y + threadIdx.y, col = 16 * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        int x = start + threadIdx.x, y = start + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
        tile_b[threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : 0;
        __syncthreads();  // both tiles are whole before anyone multiplies
        for (int i = 0; i < 16; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();  // all have multiplied before anyone stores the next tiles
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
"""

TASK = Task(
    notebook=3,
    number=1,
    title="write the tiled product",
    text="""
A block of 16 x 16 threads makes a 16 x 16 tile of c = a @ b, with a of m x k and b of k x n.
Fill the loop: stage a tile of a and one of b in shared memory, and add 16 products. Any m, n
and k must do, so a tile may reach over the edge: keep zeros there. Each element must come from
global memory once a block.
""",
    kernel="product",
    start=START,
    start_says="c[0][0] is 0",
    hints=(
        "Each thread stages one element of each tile: tile_a[threadIdx.y][threadIdx.x] is "
        "a[row * k + start + threadIdx.x] where that exists, else 0; of b it is row "
        "start + threadIdx.y and column col.",
        "A thread multiplies what others have staged: a barrier before it. And the next round "
        "overwrites the tiles: another barrier behind it.",
        "for (int i = 0; i < 16; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((48, 48, 48), (33, 20, 45), (5, 70, 3), (1, 1, 1)),
    limits=(
        Limit("global.load.sectors <= 1728", "its loads fetch {value} sectors from global memory"),
        Limit("shared.load.conflicts == 0", "its reads of the tiles make {value} bank conflicts"),
        Limit("shared.store.conflicts == 0", "its stores to the tiles make {value} bank conflicts"),
    ),
    mistakes=(
        Mistake("__syncthreads();  // all", "// all", "finds a race"),
        Mistake("__syncthreads();  // both", "// both", "finds a race"),
        Mistake(
            "row < m && x < k ? a[row * k + x] : 0", "a[row * k + x]", "right for 48 x 48 x 48"
        ),
        Mistake(
            "tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x]",
            "a[row * k + start + i] * b[(start + i) * n + col]",
            "an access out of bounds",
        ),
        Mistake("i < 16; ++i", "i < 15; ++i", "it should be"),
    ),
)
