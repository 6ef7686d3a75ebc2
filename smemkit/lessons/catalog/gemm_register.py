"""Four elements of a column for each thread: a read of tile_b serves four products."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, m: int, n: int, k: int) -> Case:
    a = rng.integers(-4, 5, (m, k)).astype("float32")
    b = rng.integers(-4, 5, (k, n)).astype("float32")
    c = numpy.full((m, n), numpy.nan, "float32")
    args = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
    grid = (-(-n // 32), -(-m // 32))
    return Case(f"{m} x {n} x {k}", grid, (32, 8), args, {"c": a @ b})


START = r"""
extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[32][32], tile_b[32][32];
    int x = threadIdx.x, y = threadIdx.y, row = 32 * blockIdx.y, col = 32 * blockIdx.x + x;
    float sum[4] = {0, 0, 0, 0};                    // of rows row + y + 8 * r, in column col
    for (int start = 0; start < k; start += 32) {
        for (int r = y; r < 32; r += 8) {           // 8 rows at a time
            tile_a[r][x] = row + r < m && start + x < k ? a[(row + r) * k + start + x] : 0;
            tile_b[r][x] = start + r < k && col < n ? b[(start + r) * n + col] : 0;
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i) {
            // your code: add the products of step i to the four sums
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        if (row + y + 8 * r < m && col < n)
            c[(row + y + 8 * r) * n + col] = sum[r];
}
"""

TASK = Task(
    notebook=3,
    number=2,
    title="use each number four times",
    text="""
A thread makes four elements of one column of c: rows y, y + 8, y + 16 and y + 24 of a 32 x 32
tile. Add the products of step i to all four sums. They need the same element of `tile_b`: read
once, it serves four products. So the shared loads take half the wavefronts of `tiled`, 0.75 a
product.
""",
    kernel="product",
    start=START,
    start_says="c[0][0] is 0",
    hints=(
        "Read tile_b[i][x] into a variable, which is a register.",
        "Then a loop over r from 0 to 3: sum[r] += tile_a[y + 8 * r][i] * that variable. Its "
        "length is known, so the compiler unrolls it, and sum stays in registers.",
    ),
    solution=START.replace(
        "            // your code: add the products of step i to the four sums\n",
        "            float mine = tile_b[i][x];              // serves four products\n"
        "            for (int r = 0; r < 4; ++r)\n"
        "                sum[r] += tile_a[y + 8 * r][i] * mine;\n",
    ),
    make=make,
    sizes=((64, 64, 64), (33, 20, 45), (5, 70, 3), (1, 1, 1)),
    limits=(
        Limit("shared.load.wavefronts <= 6144", "its shared loads take {value} wavefronts"),
        Limit(
            "local.load.requests == 0", "it reads local memory {value} times: sum is no register"
        ),
    ),
    mistakes=(
        Mistake("tile_a[y + 8 * r][i]", "tile_a[4 * y + r][i]", "it should be"),
        Mistake(
            "r < 4; ++r)\n                sum", "r < 3; ++r)\n                sum", "should be"
        ),
        Mistake("tile_b[i][x];  ", "tile_b[x][i];  ", "it should be"),
    ),
)
