"""Records of three floats, brought through shared memory."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    p = rng.integers(-9, 10, (n, 3)).astype("float32")
    norm = numpy.full(n, numpy.nan, "float32")
    expected = (p * p).sum(axis=1)
    return Case(
        f"n = {n}", (-(-n // 128),), (128,), {"p": p, "norm": norm, "n": n}, {"norm": expected}
    )


START = r"""
extern "C" __global__ void norms(const float *p, float *norm, int n)   // p is (n, 3)
{
    int i = 128 * blockIdx.x + threadIdx.x;         // blocks have 128 threads
    if (i < n) {
        float x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2];
        norm[i] = x * x + y * y + z * z;
    }
}
"""

SOLUTION = r"""
extern "C" __global__ void norms(const float *p, float *norm, int n)   // p is (n, 3)
{
    __shared__ float part[3 * 128];
    int first = 3 * 128 * blockIdx.x;
    for (int k = threadIdx.x; k < 3 * 128; k += 128)
        if (first + k < 3 * n)
            part[k] = p[first + k];                 // neighbours, whatever they mean
    __syncthreads();                                // read by other threads
    int i = 128 * blockIdx.x + threadIdx.x;
    if (i < n) {
        const float *mine = part + 3 * threadIdx.x; // 3 words from lane to lane: no conflict
        float x = mine[0], y = mine[1], z = mine[2];
        norm[i] = x * x + y * y + z * z;
    }
}
"""

TASK = Task(
    notebook=2,
    number=3,
    title="an array of records",
    text="""
Particles lie in memory as records of x, y and z, and that cannot be changed. So a lane's x lies
12 bytes from the next lane's, and each load of a warp touches 12 sectors instead of 4. Let the
block fetch its 3 * 128 floats as if they were a plain array, keep them in shared memory, and
let each thread take its record from there. What does a stride of 3 words cost in shared memory?
""",
    kernel="norms",
    start=START,
    start_says="12 sectors a request",
    hints=(
        "Declare __shared__ float part[3 * 128]. The block's records begin at float "
        "3 * 128 * blockIdx.x.",
        "In a loop let thread t copy elements t, t + 128 and t + 256. Mind the end: there are "
        "3 * n floats.",
        "Then a barrier, because a thread's record was copied by others. Its x is "
        "part[3 * threadIdx.x]. A stride of 3 is odd: no conflict.",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((512,), (500,), (1,)),
    limits=(
        Limit("global.load.sectors_per_request <= 4", "its loads take {value} sectors a request"),
        Limit("shared.load.conflicts == 0", "its shared loads make {value} bank conflicts"),
    ),
    mistakes=(
        Mistake("__syncthreads();", "", "finds a race"),
        Mistake("first + k < 3 * n", "first + k < n", "uninitialized memory"),
        Mistake("        if (first + k < 3 * n)\n    ", "    ", "an access out of bounds"),
    ),
)
