"""A guard for threads behind the last element."""

import numpy

from .._task import Case, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x, y = rng.random(n, dtype="float32"), numpy.full(n, numpy.nan, "float32")
    return Case(f"n = {n}", (-(-n // 256),), (256,), {"x": x, "y": y, "n": n}, {"y": 2 * x})


START = r"""
extern "C" __global__ void twice(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
"""

TASK = Task(
    notebook=0,
    number=1,
    title="a guard for the last block",
    text="""
`twice` doubles n numbers by blocks of 256 threads. Where n is no multiple of 256 the last block
has threads without an element, and they touch memory behind the arrays. Let only threads with
an element work.
""",
    kernel="twice",
    start=START,
    start_says="an access out of bounds",
    hints=(
        "Thread i has an element where i is less than n. 1000 numbers take 4 blocks, which are "
        "1024 threads.",
        "Put the assignment behind a condition: if (i < n)",
    ),
    solution=START.replace("    y[i]", "    if (i < n)\n        y[i]"),
    make=make,
    sizes=((1000,), (1024,), (1,)),
    limits=(),
    mistakes=(
        Mistake("i < n", "i <= n", "an access out of bounds"),
        Mistake("i < n", "i < n - 1", "y[999] has not been changed"),
        Mistake("i < n)", "i < n", "does not compile"),
    ),
)
