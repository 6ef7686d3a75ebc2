"""Shared memory that saves nothing."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = rng.random(n, dtype="float32"), numpy.full(n, numpy.nan, "float32")
    expected = x * x
    return Case(f"n = {n}", (-(-n // 256),), (256,), {"x": x, "y": y, "n": n}, {"y": expected})


START = r"""
extern "C" __global__ void square(const float *x, float *y, int n)
{
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n)
        y[i] = tile[threadIdx.x] * tile[threadIdx.x];
}
"""

SOLUTION = r"""
extern "C" __global__ void square(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float mine = x[i];
        y[i] = mine * mine;
    }
}
"""

TASK = Task(
    notebook=7,
    number=1,
    title="take it out again",
    text="""
Somebody has read that shared memory is fast, and stages every number in it. Who uses a number
here again: other threads, or the same one? Write the kernel that question leads to. It still
reads each number once.
""",
    kernel="square",
    start=START,
    start_says="shared memory",
    hints=(
        "Each thread reads from the tile what it has stored itself. What is a thread's own belongs "
        "into a register: a variable.",
        "Without the tile there is nothing to wait for either.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((1000,), (512,), (1,)),
    limits=(
        Limit("shared.store.instructions == 0", "it stores to shared memory {value} times"),
        Limit("barrier.count == 0", "its warps arrive {value} times at barriers"),
        Limit("global.load.requests <= 32", "its loads make {value} requests to global memory"),
    ),
    mistakes=(
        Mistake("float mine = x[i];", "__syncthreads(); float mine = x[i];", "at barriers"),
        Mistake("if (i < n)", "if (i <= n)", "an access out of bounds"),
    ),
)
