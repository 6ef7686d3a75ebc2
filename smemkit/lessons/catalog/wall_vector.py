"""16 bytes a lane: a quarter of the requests for the same bytes."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = (rng.integers(-9, 10, n).astype("float32") for _ in range(2))
    args = {"x": x, "y": y, "a": numpy.float32(3), "n": n}
    return Case(f"n = {n}", (-(-n // 512),), (128,), args, {"y": 3 * x + y})


START = r"""
extern "C" __global__ void axpy(const float *x, float *y, float a, int n)
{
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        y[i] += a * x[i];
}
"""

SOLUTION = r"""
extern "C" __global__ void axpy(const float *x, float *y, float a, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 p = *(const float4 *)(x + i), q = *(float4 *)(y + i);
        q.x += a * p.x, q.y += a * p.y, q.z += a * p.z, q.w += a * p.w;
        *(float4 *)(y + i) = q;
    } else {
        for (; i < n; ++i)                          // at most three elements, of one thread
            y[i] += a * x[i];
    }
}
"""

TASK = Task(
    notebook=7,
    number=3,
    title="fewer requests for the same bytes",
    text="""
y = a * x + y moves 12 bytes an element, and that cannot change. But each request of a warp can
carry 512 bytes instead of 128: let a thread take four neighbours by one `float4`. Arrays begin
at multiples of 16 bytes; n may be anything, so the last elements need care.
""",
    kernel="axpy",
    start=START,
    start_says="requests",
    hints=(
        "Thread t has the elements 4 * t to 4 * t + 3. There are as many threads as that takes: no "
        "loop is needed.",
        "*(const float4 *)(x + i) reads 16 bytes at once, into the members x, y, z and w. It may "
        "only be used where i + 3 < n.",
        "else { for (; i < n; ++i) y[i] += a * x[i]; }",
    ),
    solution=SOLUTION,
    make=make,
    sizes=((4096,), (1001,), (3,)),
    limits=(
        Limit("global.load.requests <= 64", "its loads make {value} requests"),
        Limit("global.store.requests <= 32", "its stores make {value} requests"),
        Limit("global.load.sectors <= 1024", "its loads fetch {value} sectors"),
    ),
    mistakes=(
        Mistake("if (i + 3 < n)", "if (i < n)", "an access out of bounds"),
        Mistake("for (; i < n; ++i) ", "for (; false; ++i)", "right for n = 4096"),
        Mistake("int i = 4 * (", "int i = (", "a misaligned access"),
        Mistake("(i + 3 < n)", "(false)", "requests"),
    ),
)
