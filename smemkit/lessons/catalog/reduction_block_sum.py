"""The sum of any number of elements: registers, shuffles, one atomic a block."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.integers(-9, 10, n).astype("float32")
    total = numpy.zeros(1, "float32")
    args = {"x": x, "total": total, "n": n}
    return Case(f"n = {n}", (2,), (128,), args, {"total": numpy.array([x.sum()], "float32")})


START = r"""
extern "C" __global__ void sum(const float *x, float *total, int n)   // total is 0 before
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(total, x[i]);
}
"""

SOLUTION = r"""
extern "C" __global__ void sum(const float *x, float *total, int n)   // total is 0 before
{
    __shared__ float parts[4];                      // of the block's 4 warps
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += x[i];
    for (int k = 16; k > 0; k /= 2)
        mine += __shfl_xor_sync(0xffffffff, mine, k);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = mine;
    __syncthreads();                                // thread 0 reads what other warps have stored
    if (threadIdx.x == 0)
        atomicAdd(total, parts[0] + parts[1] + parts[2] + parts[3]);
}
"""

TASK = Task(
    notebook=5,
    number=3,
    title="one atomic a block",
    text="""
The sum of n numbers by blocks of 128 threads. This kernel adds each number to one place of
global memory by an atomic, one after the other. Let each thread sum in a register, each warp by
shuffles, the block through shared memory, and add once a block. One barrier is enough.
""",
    kernel="sum",
    start=START,
    start_says="2 would do",
    hints=(
        "float mine = 0; and in the loop mine += x[i]. The loop stays as it is.",
        "Five shuffles sum mine over the warp (the exercise before). All lanes take part in them, "
        "so they stand behind the loop, not in it.",
        "One lane of each of the 4 warps stores its sum into shared memory. After a barrier, "
        "thread 0 adds the four and makes the atomic.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((2000,), (256,), (1,), (0,)),
    limits=(
        Limit(
            "global.atomic.requests <= 2", "it makes {value} requests of atomics, where 2 would do"
        ),
        Limit("barrier.count <= 8", "its 8 warps arrive {value} times at barriers"),
    ),
    mistakes=(
        Mistake("__syncthreads();", "", "finds a race"),
        Mistake("parts[2] + parts[3]", "parts[2]", "it should be"),
        Mistake("if (threadIdx.x == 0)", "if (threadIdx.x % 32 == 0)", "it should be"),
        Mistake(
            "atomicAdd(total, parts[0] + parts[1] + parts[2] + parts[3])",
            "*total += parts[0] + parts[1] + parts[2] + parts[3]",
            "a race between blocks",
        ),
    ),
)
