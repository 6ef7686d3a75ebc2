"""A tree of sums in which threads and elements stand side by side."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, blocks: int) -> Case:
    x = rng.integers(-9, 10, (blocks, 256)).astype("float32")
    y = numpy.full(blocks, numpy.nan, "float32")
    label = "1 block" if blocks == 1 else f"{blocks} blocks"
    return Case(label, (blocks,), (256,), {"x": x, "y": y}, {"y": x.sum(axis=1)})


START = r"""
extern "C" __global__ void sums(const float *x, float *y)
{
    __shared__ float tree[256];
    int t = threadIdx.x;
    tree[t] = x[blockIdx.x * 256 + t];
    for (int reach = 1; reach < 256; reach *= 2) {
        __syncthreads();
        if (t % (2 * reach) == 0)
            tree[t] += tree[t + reach];
    }
    if (t == 0)
        y[blockIdx.x] = tree[0];
}
"""

TASK = Task(
    notebook=5,
    number=2,
    title="a tree without divergence and conflicts",
    text="""
Each block sums 256 numbers. In this tree every second thread works, then every fourth, and so
on: all warps stay busy with few lanes each. Let threads 0 to 127 work in the first step, 0 to
63 in the second, ... *and* let the elements that they add lie side by side.
""",
    kernel="sums",
    start=START,
    start_says="instructions",
    hints=(
        "Begin with the largest reach: for (int reach = 128; reach > 0; reach /= 2).",
        "In each step the threads below reach work: thread t adds tree[t + reach] to tree[t].",
    ),
    solution=START.replace(
        "int reach = 1; reach < 256; reach *= 2", "int reach = 128; reach > 0; reach /= 2"
    ).replace("t % (2 * reach) == 0", "t < reach"),
    make=make,
    sizes=((4,), (1,)),
    limits=(
        Limit("shared.load.conflicts == 0", "its reads of the tree make {value} bank conflicts"),
        Limit(
            "shared.load.instructions <= 100",
            "its warps read the tree {value} times: too many warps have lanes that work",
        ),
    ),
    mistakes=(
        Mistake(
            "int reach = 128; reach > 0; reach /= 2) {\n        __syncthreads();\n"
            "        if (t < reach)\n            tree[t] += tree[t + reach];",
            "int reach = 1; reach < 256; reach *= 2) {\n        __syncthreads();\n"
            "        if (2 * reach * t < 256)\n"
            "            tree[2 * reach * t] += tree[2 * reach * t + reach];",
            "bank conflicts",
        ),
        Mistake("        __syncthreads();\n", "", "finds a race"),
        Mistake("        if (t < reach)\n    ", "    ", "out of bounds"),
        Mistake("reach = 128", "reach = 64", "it should be"),
    ),
)
