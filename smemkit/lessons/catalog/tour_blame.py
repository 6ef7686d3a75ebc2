"""A profile names the lines with bank conflicts; the cure is another order of two indices."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.random((n, n), dtype="float32")
    y = numpy.full_like(x, numpy.nan)
    tiles = x.reshape(n // 32, 32, n)
    return Case(
        f"{n} x {n}",
        (n // 32, n // 32),
        (32, 32),
        {"x": x, "y": y, "n": n},
        {"y": tiles[:, ::-1].reshape(n, n)},
    )


START = r"""
extern "C" __global__ void flip(const float *x, float *y, int n)
{
    __shared__ float tile[32][32];
    int col = 32 * blockIdx.x + threadIdx.x, row = 32 * blockIdx.y + threadIdx.y;
    tile[threadIdx.x][threadIdx.y] = x[row * n + col];
    __syncthreads();
    y[row * n + col] = tile[threadIdx.x][31 - threadIdx.y];
}
"""

TASK = Task(
    notebook=0,
    number=2,
    title="which line is to blame?",
    text="""
`flip` turns each 32 x 32 tile of a picture upside down. It is right, and far too slow. The
verdict on the start names a counter and a line. Mend that line, and the other one that it
belongs to.
""",
    kernel="flip",
    start=START,
    start_says="stores to the tile make",
    hints=(
        "The 32 lanes of a warp differ in threadIdx.x. Which index of tile should that be, so that "
        "the lanes' elements lie side by side?",
        "The last index of an array walks through neighbours: tile[threadIdx.y][threadIdx.x]. The "
        "other line must then find the elements in the same order.",
    ),
    solution=START.replace("[threadIdx.x][threadIdx.y]", "[threadIdx.y][threadIdx.x]").replace(
        "[threadIdx.x][31 - threadIdx.y]", "[31 - threadIdx.y][threadIdx.x]"
    ),
    make=make,
    sizes=((64,), (32,)),
    limits=(
        Limit("shared.store.conflicts == 0", "its stores to the tile make {value} bank conflicts"),
        Limit("shared.load.conflicts == 0", "its reads of the tile make {value} bank conflicts"),
    ),
    mistakes=(
        Mistake("[31 - threadIdx.y][threadIdx.x]", "[threadIdx.x][31 - threadIdx.y]", "should be"),
        Mistake(
            "[31 - threadIdx.y][threadIdx.x]", "[threadIdx.y][31 - threadIdx.x]", "it should be"
        ),
    ),
)
