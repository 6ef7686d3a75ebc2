"""The barrier between the stores of a block and the reads of other threads."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.random(n, dtype="float32")
    return Case(f"{n} threads", (1,), (n,), {"x": x}, {"x": numpy.array(x[::-1])})


START = r"""
extern "C" __global__ void reverse(float *x)
{
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""

TASK = Task(
    notebook=0,
    number=3,
    title="mend the race",
    text="""
`reverse` turns the numbers of a block round. Each thread stores one and reads another thread's.
Something must see to it that all are stored before any is read. One such thing is enough.
""",
    kernel="reverse",
    start=START,
    start_says="finds a race",
    hints=(
        "Between the store and the read every thread has to wait for all threads of its block.",
        "The barrier of a block is __syncthreads().",
    ),
    solution=START.replace("    x[thr", "    __syncthreads();  // all is stored\n    x[thr"),
    make=make,
    sizes=((256,), (64,), (32,)),
    limits=(Limit("barrier.count <= 8", "its 8 warps arrive {value} times at barriers"),),
    mistakes=(
        Mistake("__syncthreads()", "__syncwarp()", "a race (256 threads)"),
        Mistake("__syncthreads()", "__threadfence_block()", "a race (256 threads)"),
        Mistake("__syncthreads();", "__syncthreads(); __syncthreads();", "arrive 16 times"),
    ),
)
