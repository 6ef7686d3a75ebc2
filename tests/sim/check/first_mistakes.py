"""Kernels with the mistakes of first kernels, for check to name."""

import numpy

import smemkit

HEAD = 'extern "C" __global__ void k(const float *x, float *y, int n)\n{\n'
TREE = """    SHARED float buf[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    buf[t] = x[i];
    __syncthreads();
    for (int s = blockDim.x / 2; s LOOP 0; s /= 2) {
        if (t < s) {
            buf[t] += buf[t + s];
        }
        BARRIER
    }
    if (t == 0) {
        y[blockIdx.x] = buf[0];
    }
}
"""


def make_tree(shared="__shared__", loop=">", barrier="__syncthreads();"):
    text = TREE.replace("SHARED", shared).replace("LOOP", loop).replace("BARRIER", barrier)
    return HEAD + text


def check(source, grid, block, length, results, **words):
    x, y = numpy.ones(length, "float32"), numpy.zeros(results, "float32")
    kernel = smemkit.RawKernel(source, "k")
    return kernel.check(grid, block, (x, y, numpy.int32(length)), **words)


DYNAMIC = (
    HEAD
    + """    extern __shared__ float buf[];
    buf[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = buf[n - 1 - threadIdx.x];
}
"""
)


SURFACE = """extern "C" __global__ void k(cudaSurfaceObject_t picture)
{
    surf2Dwrite(1.0f, picture, 4 * (int)threadIdx.x, 1);
}
"""


def check_surface():
    """The report of a surface four elements wide that eight threads write."""
    picture = smemkit.Texture(numpy.zeros((3, 4), "float32"), surface=True, backend="sim")
    return smemkit.RawKernel(SURFACE, "k").check(1, 8, (picture,))


def find_all():
    """The findings of all of these kernels."""
    reports = [
        check(make_tree(barrier=""), 1, 256, 256, 1),
        check(make_tree(loop=">="), 1, 256, 256, 1),
        check(make_tree(shared=""), 1, 256, 256, 1),
        check(make_tree(), 66, 64, 66 * 64, 64),
        check(DYNAMIC, 1, 64, 64, 64),
        check_surface(),
    ]
    return [finding for report in reports for finding in report.findings]
