"""CUDA C with #include, by NVRTC and the wheels of the extra [nvrtc] alone, and what it computes.

Each kernel runs as one block of 64 threads on x (64 float32, the integers from 0 to 63 in a random
order) and writes y (64 float32). Those that the simulator refuses say why; where it takes one of
them, its test fails until the reason goes.
"""

import re

import numpy as np
import pytest
from support.include_kernels import KERNELS, N

import smemkit
from smemkit import compile

SLOW = (
    "array",
    "complex",
    "cooperative_groups",
    "cub/",
    "cuda/",
    "curand",
)  # these pull in much of libcu++


def list_parameters():
    for name, kernel in KERNELS.items():
        slow = any(word.startswith(SLOW) for word in kernel.includes.split())
        yield pytest.param(name, marks=[pytest.mark.slow] * slow)


def write_source(kernel):
    return "\n".join(
        [
            *(f"#include <{name}>" for name in kernel.includes.split()),
            kernel.before,
            'extern "C" __global__ void f(const float *x, float *y)',
            "{",
            "int i = threadIdx.x;",
            kernel.body,
            "}",
        ]
    )


@pytest.fixture(scope="module")
def nvrtc():
    path = compile.find_nvrtc()
    if path is None:
        pytest.skip("no NVRTC here")
    return path


def compile_kernel(nvrtc, kernel):
    try:
        return compile.compile_nvrtc(nvrtc, write_source(kernel), (f"-arch=compute_{kernel.arch}",))
    except smemkit.CompileError as error:
        missing = re.search(r"is not here: (pip install nvidia-\S+)", str(error))
        if missing is None:
            raise
        pytest.skip(f"the wheel of its header is not here: {missing[1]}")


def test_they_are_many():
    assert len(KERNELS) >= 40


@pytest.mark.parametrize("name", [*list_parameters()])
def test_include(name, nvrtc, rng):
    kernel = KERNELS[name]
    ptx = compile_kernel(nvrtc, kernel)
    x, y = rng.permutation(N).astype(np.float32), np.full(N, -7, np.float32)
    before = x.copy()
    if kernel.refused:
        with pytest.raises(smemkit.UnsupportedError, match=kernel.refused):
            smemkit.RawKernel(ptx, "f")(1, N, (x, y), backend="sim")
        return
    made = smemkit.RawKernel(ptx, "f", enable_cooperative_groups=kernel.cooperative)
    made(1, N, (x, y), backend="sim")
    np.testing.assert_array_equal(x, before)
    if kernel.is_random:
        assert kernel.oracle(y)
    else:
        np.testing.assert_array_equal(y, kernel.oracle(x).astype(np.float32))
