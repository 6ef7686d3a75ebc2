"""A barrier in a branch that only some threads take."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = rng.integers(-9, 10, n).astype("float32"), numpy.full(n, numpy.nan, "float32")
    blocks = [x[first : first + 128] for first in range(0, n, 128)]
    for _ in range(2):
        blocks = [block + numpy.roll(block, -1) for block in blocks]
    args = {"x": x, "y": y, "n": n}
    return Case(f"n = {n}", (-(-n // 128),), (128,), args, {"y": numpy.concatenate(blocks)})


START = r"""
extern "C" __global__ void pairs(const float *x, float *y, int n)
{
    __shared__ float tile[128];
    int t = threadIdx.x, i = 128 * blockIdx.x + t;
    int next = (t + 1) % min(128, n - 128 * blockIdx.x);    // the last element's is the first
    float sum = 0;
    if (i < n) {
        tile[t] = x[i];
        __syncthreads();
        sum = tile[t] + tile[next];
    }
    __syncthreads();
    if (i < n)
        tile[t] = sum;
    __syncthreads();
    if (i < n)
        y[i] = tile[t] + tile[next];
}
"""

TASK = Task(
    notebook=8,
    number=1,
    title="a barrier that not all reach",
    text="""
Twice each element gets its right neighbour added; the last one of a block gets the first. The
kernel is right while every block is full. In the last block of 200 elements only some threads
reach the first barrier. Let all threads of a block reach it, and only those with an element
touch memory.
""",
    kernel="pairs",
    start=START,
    start_says="a wrong barrier",
    hints=(
        "__syncthreads() must stand where the whole block comes by: not in the branch.",
        "Make two branches of the first one, and put the barrier between: if (i < n) tile[t] = "
        "x[i]; __syncthreads(); if (i < n) sum = ...",
    ),
    solution=START.replace(
        """    if (i < n) {
        tile[t] = x[i];
        __syncthreads();
        sum = tile[t] + tile[next];
    }
""",
        """    if (i < n)
        tile[t] = x[i];
    __syncthreads();  // all threads of the block come by here
    if (i < n)
        sum = tile[t] + tile[next];
""",
    ),
    make=make,
    sizes=((200,), (256,), (1,)),
    limits=(Limit("barrier.count <= 24", "its 8 warps arrive {value} times at barriers"),),
    mistakes=(
        Mistake("__syncthreads();  // all", "__syncwarp();  // all", "finds a race"),
        Mistake("__syncthreads();  // all", "if (i < n) __syncthreads();  // all", "barrier"),
        Mistake(
            "__syncthreads();  // all threads of the block come by here\n    if (i < n)",
            "__syncthreads();\n   ",
            "check finds",
        ),
        Mistake(
            "    __syncthreads();\n    if (i < n)\n        tile[t] = sum;",
            "    if (i < n)\n        tile[t] = sum;",
            "finds a race",
        ),
    ),
)
