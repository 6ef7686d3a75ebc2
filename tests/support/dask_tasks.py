"""Tasks for test_dask.py: the workers import this module."""

import os

import dask.array
import numpy as np

import smemkit
from smemkit import _core, bench

SOURCE = r"""
extern "C" __global__ void scale(float *x, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= factor;
}
extern "C" __global__ void run_on(volatile int *x)
{
    for (int i = 0;; i++)
        *x = i;
}
extern "C" __global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}
extern "C" __global__ void raise_flag(volatile int *flag)
{
    *flag = 1;
}
"""
flag = []  # a device array that the threads of one process share


def scale(factor, kernel, n=100):
    x = np.ones(100, np.float32)
    kernel[1, 128](x, factor, n)
    return x


def run_on(kernel, budget=None):
    kernel(1, 1, (np.zeros(1, np.int32),), max_steps=budget)


def touch_flag(kernel):
    kernel(1, 1, (flag[0],), max_steps=2**62)
    return kernel.name


def fill_matrix(value):
    return smemkit.gemm(np.full((64, 64), value, np.float32), np.eye(64, dtype=np.float32))


def count_threads():
    """(the variable, the host threads of a launch of many blocks, the process)."""
    fill_matrix(1)
    return os.environ.get("SMEMKIT_THREADS"), _core._run_stats()["threads"], os.getpid()


def count_conflicts(variant):
    report = smemkit.profile(smemkit.transpose, np.ones((64, 64), np.float32), variant=variant)
    return len(report.launches), report.counters["shared.load.conflicts"]


def measure(family):
    return bench.run(family, backend="sim", shapes=32)


def fail(cls, facts):
    error = cls("what is wrong")
    vars(error).update(facts)
    raise error


def make_device_array():
    return smemkit.ones(4)


# Arrays by chunks --------------------------------------------------------------------------------


def multiply(a, b):
    return smemkit.gemm(a, b)[:, None, :]


def gemm(a, b):
    products = dask.array.blockwise(
        multiply, "ikj", a, "ik", b, "kj", adjust_chunks={"k": 1}, dtype=a.dtype
    )
    return products.sum(axis=1)


def reduce(x, axis, keepdims, op):
    result = smemkit.reduce(x.ravel(), op)
    return np.reshape(result, (1,) * x.ndim if keepdims else ())
