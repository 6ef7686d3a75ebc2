"""Three faults in a histogram."""

from .._task import Limit, Mistake, Task
from .histogram_shared import SOLUTION, make

START = r"""
extern "C" __global__ void histogram(const unsigned char *x, int *counts, int n)
{
    __shared__ int bins[256];
    if (threadIdx.x < 128)
        bins[threadIdx.x] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        bins[x[i]] += 1;
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        atomicAdd(&counts[bin], bins[bin]);
}
"""

TASK = Task(
    notebook=8,
    number=2,
    title="three faults",
    text="""
A histogram of bytes, by blocks of 128 threads, with bins of the block's own. It has three kinds
of faults. Find them by the findings of `check`, one after the other, and cure each. (You have
seen the cure of one in notebook 06; here you find it from the symptoms.)
""",
    kernel="histogram",
    start=START,
    start_says="check finds",
    hints=(
        "Uninitialized: how many bins are there, and how many are set to 0?",
        "Two threads that meet the same bin both read, add and store: one addition is lost. An "
        "atomic makes one step of it.",
        "There are three phases, clear, count and add up, and a barrier belongs between each two.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((3000,), (1,), (300,)),
    limits=(
        Limit(
            "global.atomic.requests <= 24",
            "it makes {value} requests of atomics on global memory, where 24 would do",
        ),
        Limit("barrier.count <= 24", "its 12 warps arrive {value} times at barriers"),
    ),
    mistakes=(
        Mistake("__syncthreads();  // all bins", "// all bins", "finds a race"),
        Mistake("atomicAdd(&bins[x[i]], 1)", "bins[x[i]] += 1", "check finds"),
        Mistake(
            "bin < 256; bin += blockDim.x)\n        bins",
            "bin < 255; bin += blockDim.x)\n        bins",
            "uninitialized memory",
        ),
    ),
)
