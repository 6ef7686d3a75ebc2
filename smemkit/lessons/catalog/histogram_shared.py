"""A histogram with a copy of the bins for each block."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.integers(0, 256, n).astype("uint8")
    counts = numpy.zeros(256, "int32")
    expected = numpy.bincount(x, minlength=256).astype("int32")
    args = {"x": x, "counts": counts, "n": n}
    return Case(f"n = {n}", (3,), (128,), args, {"counts": expected})


START = r"""
extern "C" __global__ void histogram(const unsigned char *x, int *counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[x[i]], 1);                // counts are 0 before
}
"""

SOLUTION = r"""
extern "C" __global__ void histogram(const unsigned char *x, int *counts, int n)
{
    __shared__ int bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        bins[bin] = 0;
    __syncthreads();  // all bins are 0 before any is counted up
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i]], 1);
    __syncthreads();  // all is counted before any bin is read
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        atomicAdd(&counts[bin], bins[bin]);
}
"""

TASK = Task(
    notebook=6,
    number=1,
    title="bins of the block's own",
    text="""
All blocks count into the same 256 words of global memory. Give each block bins of its own in
shared memory, and add them to `counts` at the end: 8 requests of atomics for 256 bins. A block
has 128 threads.
""",
    kernel="histogram",
    start=START,
    start_says="24 would do",
    hints=(
        "Shared memory is not 0 at the beginning. 128 threads clear 256 bins in a loop.",
        "Three phases: clear, count, add. What must be between two of them?",
        "The last phase: for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) "
        "atomicAdd(&counts[bin], bins[bin]);",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((6000,), (1,), (300,)),
    limits=(
        Limit(
            "global.atomic.requests <= 24",
            "it makes {value} requests of atomics on global memory, where 24 would do",
        ),
    ),
    mistakes=(
        Mistake("__syncthreads();  // all bins", "// all bins", "finds a race"),
        Mistake("__syncthreads();  // all is", "// all is", "finds a race"),
        Mistake("        bins[bin] = 0;", "        ;", "uninitialized memory"),
        Mistake("atomicAdd(&bins[x[i]], 1)", "bins[x[i]] += 1", "check finds"),
        Mistake(
            "atomicAdd(&counts[bin], bins[bin])",
            "counts[bin] += bins[bin]",
            "a race between blocks",
        ),
    ),
)
