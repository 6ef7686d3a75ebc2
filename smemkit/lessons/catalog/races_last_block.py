"""The block that finishes last adds up what the others have written."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    blocks = 4
    x = rng.integers(-9, 10, n).astype("float32")
    args = {
        "x": x,
        "parts": numpy.zeros(blocks, "float32"),
        "tickets": numpy.zeros(1, "int32"),
        "total": numpy.full(1, numpy.nan, "float32"),
        "n": n,
    }
    total = numpy.array([x.sum()], "float32")
    parts = numpy.array(
        [sum(x[j : j + 64].sum() for j in range(64 * b, n, 64 * blocks)) for b in range(blocks)],
        "float32",
    )
    expected = {"total": total, "parts": parts, "tickets": numpy.array([blocks], "int32")}
    return Case(f"n = {n}", (blocks,), (64,), args, expected)


START = r"""
extern "C" __global__ void sum(const float *x, float *parts, int *tickets, float *total, int n)
{
    __shared__ float warps[2];
    float mine = 0;
    for (int i = 64 * blockIdx.x + threadIdx.x; i < n; i += 64 * gridDim.x)
        mine += x[i];
    for (int k = 16; k > 0; k /= 2)
        mine += __shfl_xor_sync(0xffffffff, mine, k);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = warps[0] + warps[1];
        int ticket = atomicAdd(tickets, 1);         // tickets is 0 before
        if (ticket == gridDim.x - 1) {              // all others have drawn theirs
            float sum = 0;
            for (int block = 0; block < gridDim.x; ++block)
                sum += parts[block];
            *total = sum;
        }
    }
}
"""

TASK = Task(
    notebook=8,
    number=3,
    title="who comes last",
    text="""
Each block writes its sum and draws a ticket. The block with the last ticket adds up all sums. A
ticket says that the others have *drawn*; nothing says that their sums can be *seen*. Put in
what is missing, on both sides: the writers', and that of the block that reads. No barrier can
do it.
""",
    kernel="sum",
    start=START,
    start_says="a race between blocks",
    hints=(
        "What thread 0 has written before a *fence*, other blocks can see if they see what it has "
        "written behind it. The ticket is drawn behind it.",
        "The fence for all of the GPU is __threadfence(); that of a block is not enough.",
        "One between the store to parts and the ticket, and one between the ticket and the loop "
        "that reads parts.",
    ),
    solution=START.replace(
        "        int ticket",
        "        __threadfence();  // parts before the ticket\n        int ticket",
    ).replace(
        "            float sum = 0;\n",
        "            __threadfence();  // the others' tickets before their parts\n"
        "            float sum = 0;\n",
    ),
    make=make,
    sizes=((1000,), (256,), (1,)),
    limits=(Limit("barrier.count <= 8", "its 8 warps arrive {value} times at barriers"),),
    mistakes=(
        Mistake(
            "__threadfence();  // parts",
            "__threadfence_block();  // parts",
            "a race between blocks",
        ),
        Mistake("__threadfence();  // parts", "__syncwarp(1);  // parts", "a race between blocks"),
        Mistake("__threadfence();  // the", "// the", "a race between blocks"),
        Mistake("ticket == gridDim.x - 1", "blockIdx.x == gridDim.x - 1", "a race between blocks"),
    ),
)
