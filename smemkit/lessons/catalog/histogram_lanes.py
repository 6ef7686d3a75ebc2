"""A histogram with a copy of the bins for each lane, in the lane's bank."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int, colours: int) -> Case:
    x = rng.integers(0, colours, n).astype("uint8")
    weights = rng.integers(2, 9, n).astype("int32")
    sums = numpy.zeros(64, "int32")
    expected = numpy.bincount(x, weights, minlength=64).astype("int32")
    args = {"x": x, "weights": weights, "sums": sums, "n": n}
    pixels = "1 pixel" if n == 1 else f"{n} pixels"
    label = f"{pixels} of {'one colour' if colours == 1 else f'{colours} colours'}"
    return Case(label, (2,), (128,), args, {"sums": expected})


START = r"""
__device__ int place(int bin, int copy)
{
    return 64 * copy + bin;                         // your code: a word below 64 * 32
}

extern "C" __global__ void histogram(const unsigned char *x, const int *weights, int *sums, int n)
{
    __shared__ int bins[64 * 32];                   // 32 copies of 64 bins
    int copy = threadIdx.x / 32;                    // your code: whose copy?
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[place(x[i], copy)], weights[i]);
    __syncthreads();
    if (threadIdx.x < 64) {
        int sum = 0;
        for (int i = 0; i < 32; ++i)
            sum += bins[place(threadIdx.x, i)];
        atomicAdd(&sums[threadIdx.x], sum);
    }
}
"""

TASK = Task(
    notebook=6,
    number=2,
    title="no input is slow",
    text="""
`sums[c]` becomes the sum of the weights of all pixels of colour c, which is below 64. Where a
picture has one colour, 32 lanes add to one word, one after the other. This kernel has 32 copies
of the bins, but gives one to each *warp*, where it does not help. Choose the copy and its place
so that no picture at all can make two lanes of a warp share a bank.
""",
    kernel="histogram",
    start=START,
    start_says="bank conflicts",
    hints=(
        "Lanes of one warp must never add to one word: each lane needs a copy of its own.",
        "The lane is threadIdx.x % 32. The bank of a word is its number % 32. Which number has the "
        "bank `copy` for every bin?",
        "32 * bin + copy",
    ),
    solution=START.replace(
        "64 * copy + bin;                         // your code: a word below",
        "32 * bin + copy;                         // the bank is the copy, of",
    ).replace(
        "threadIdx.x / 32;                    // your code: whose copy?",
        "threadIdx.x % 32;                    // the lane's",
    ),
    make=make,
    sizes=((2048, 1), (2000, 64), (1, 1)),
    limits=(Limit("shared.atomic.conflicts == 0", "its atomics make {value} bank conflicts"),),
    mistakes=(
        Mistake("threadIdx.x % 32;", "threadIdx.x / 32;", "atomics make"),
        Mistake("32 * bin + copy;", "64 * copy + bin;", "atomics make"),
        Mistake("32 * bin + copy;", "32 * bin + copy / 2;", "it should be"),
        Mistake("32 * bin + copy;", "33 * bin + copy;", "an access out of bounds"),
    ),
)
