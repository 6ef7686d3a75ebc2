"""A prefix sum with a missing barrier."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = rng.integers(-9, 10, n).astype("int32"), numpy.full(n, -1000, "int32")
    expected = numpy.concatenate([numpy.cumsum(x[i : i + 256]) for i in range(0, n, 256)])
    args = {"x": x, "y": y, "n": n}
    return Case(f"n = {n}", (-(-n // 256),), (256,), args, {"y": expected.astype("int32")})


START = r"""
extern "C" __global__ void scan(const int *x, int *y, int n)
{
    __shared__ int tile[256];
    int t = threadIdx.x, i = 256 * blockIdx.x + t;
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int before = t >= step ? tile[t - step] : 0;
        tile[t] += before;
        __syncthreads();
    }
    if (i < n)
        y[i] = tile[t];
}
"""

TASK = Task(
    notebook=9,
    number=2,
    title="a scan with a missing barrier",
    text="""
Each block makes the running sums of its 256 numbers: y[i] = x[0] + ... + x[i]. In each step an
element gets the one added that lies 1, 2, 4, ... places before it. The kernel looks right, and
a barrier ends each step; yet the result is wrong. Where is a second one needed, and why?
""",
    kernel="scan",
    start=START,
    start_says="finds a race",
    hints=(
        "In one step thread t reads tile[t - step], and thread t - step changes it. Which of the "
        "two must come first?",
        "All must have read before any one stores: the read is in the register `before` already.",
    ),
    solution=START.replace(
        "        tile[t] += before;",
        "        __syncthreads();  // all have read before anyone stores\n"
        "        tile[t] += before;",
    ),
    make=make,
    sizes=((300,), (256,), (1,)),
    limits=(
        Limit("barrier.count <= 272", "its 16 warps arrive {value} times at barriers in 8 steps"),
    ),
    mistakes=(
        Mistake("__syncthreads();  // all", "__syncwarp();  // all", "finds a race"),
        Mistake(
            "        tile[t] += before;\n        __syncthreads();\n",
            "        tile[t] += before;\n",
            "finds a race",
        ),
        Mistake(
            "int before = t >= step ? tile[t - step] : 0;",
            "int before = tile[t - step];",
            "check finds",
        ),
        Mistake("__syncthreads();  // all", "if (t >= step) __syncthreads();  // all", "barrier"),
    ),
)
