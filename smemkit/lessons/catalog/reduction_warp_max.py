"""The largest number of a warp, known to all lanes, by shuffles."""

import numpy

from .._task import Case, Limit, Mistake, Task


def make(rng: numpy.random.Generator, n: int) -> Case:
    x = rng.normal(size=n).astype("float32")
    expected = numpy.repeat(x.reshape(-1, 32).max(axis=1), 32)
    return Case(f"n = {n}", (n // 64,), (64,), {"x": x}, {"x": expected})


START = r"""
extern "C" __global__ void most(float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = x[i];
    // your code: make value the largest of the 32 values of the warp, in every lane
    x[i] = value;
}
"""

TASK = Task(
    notebook=5,
    number=1,
    title="a maximum by shuffles",
    text="""
After this kernel *every* element is the largest of the 32 numbers that its warp has read. Use
`__shfl_xor_sync(0xffffffff, value, k)`: it gives the value of the lane whose number is
`lane ^ k`. No shared memory, and five shuffles are enough.
""",
    kernel="most",
    start=START,
    start_says="it should be",
    hints=(
        "With k = 16 lanes 0 and 16 exchange their values, lanes 1 and 17, and so on. After "
        "value = fmaxf(value, what came) both have the larger one of the two.",
        "Then k = 8, 4, 2, 1: for (int k = 16; k > 0; k /= 2)",
    ),
    solution=START.replace(
        "    // your code: make value the largest of the 32 values of the warp, in every lane\n",
        "    for (int k = 16; k > 0; k /= 2)\n"
        "        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, k));\n",
    ),
    make=make,
    sizes=((256,), (64,)),
    limits=(
        Limit("shared.load.instructions == 0", "it reads shared memory {value} times"),
        Limit("global.load.requests <= 8", "its 8 warps read global memory {value} times"),
        Limit(
            "instructions.warp <= 320", "it takes {value} instructions, where 40 a warp are enough"
        ),
    ),
    mistakes=(
        Mistake("__shfl_xor_sync", "__shfl_down_sync", "it should be"),
        Mistake("k = 16", "k = 8", "it should be"),
        Mistake("k /= 2)\n", "k -= 1)\n", "40 a warp are enough"),
    ),
)
