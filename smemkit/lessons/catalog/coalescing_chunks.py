"""Four elements a thread: in steps of the whole grid, not in a chunk of its own."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = rng.random(n, dtype="float32"), numpy.full(n, numpy.nan, "float32")
    return Case(f"n = {n}", (-(-n // 512),), (128,), {"x": x, "y": y, "n": n}, {"y": 2 * x})


START = r"""
extern "C" __global__ void twice(const float *x, float *y, int n)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int i = 4 * thread + k;
        if (i < n)
            y[i] = 2 * x[i];
    }
}
"""

TASK = Task(
    notebook=2,
    number=1,
    title="four elements a thread",
    text="""
Each thread doubles four numbers, as on a CPU: four neighbours. Deal them out in another way, so
that each access of a warp is to 32 neighbours.
""",
    kernel="twice",
    start=START,
    start_says="16 sectors a request",
    hints=(
        "Fix k and look at one warp: lane l reads element 4 * l + k. It should read element "
        "l + something.",
        "There are gridDim.x * blockDim.x threads. In step k let them take so many neighbours "
        "together.",
    ),
    solution=START.replace("4 * thread + k", "k * gridDim.x * blockDim.x + thread"),
    make=make,
    sizes=((4096,), (1000,), (1,)),
    limits=(
        Limit("global.load.sectors_per_request <= 4", "its loads take {value} sectors a request"),
        Limit("global.store.sectors_per_request <= 4", "its stores take {value} sectors a request"),
    ),
    mistakes=(
        Mistake("k * gridDim.x * blockDim.x", "k * blockDim.x", "it should be"),
        Mistake(
            "k * gridDim.x * blockDim.x + thread",
            "(thread / 4) * 16 + 4 * k + thread % 4",
            "loads take",
        ),
        Mistake("        if (i < n)\n    ", "    ", "an access out of bounds"),
    ),
)
