"""Advice that would be wrong, beside the kernel that deserves it."""

import numpy
import pytest

import smemkit

COUNT = r"""
extern "C" __global__ void k(unsigned *y, const int *x)
{
    __shared__ TYPE s[32];
    int i = threadIdx.x;
    s[i & 31] = 0;
    __syncthreads();
    BODY;
    __syncthreads();
    y[i] = s[i & 31];
}
"""


def list_kinds(source, grid, block, *args, **words):
    advice = smemkit.RawKernel(source, "k").profile(grid, block, args, **words).advice
    return [one.kind for one in advice]


@pytest.mark.parametrize(
    ("kind", "body", "costs"),
    [
        ("unsigned", "atomicAdd(&s[0], 1u)", False),
        ("unsigned", "atomicAdd(&s[x[i]], 1u)", False),
        ("float", "atomicAdd(&s[0], 1.0f)", True),
        ("unsigned", "atomicCAS(&s[0], i, i + 1)", True),
        ("unsigned", "atomicAdd(&y[200], 1u)", False),
        ("unsigned", "atomicAdd(&y[blockIdx.x], (unsigned)x[i])", False),
        ("unsigned", "atomicAdd(&y[x[i]], 1u)", True),  # data may choose other addresses
        ("unsigned", "atomicAdd((float *)&y[200], 1.0f)", True),
    ],
)
def test_atomics_that_the_machine_code_merges(kind, body, costs):
    """Lanes that meet in one address cost where the machine code serves them in turns."""
    source = COUNT.replace("TYPE", kind).replace("BODY", body)
    x = numpy.zeros(128, "int32")
    kinds = list_kinds(source, 2, 128, numpy.zeros(256, "uint32"), x)
    assert ("atomic_contention" in kinds) == costs


HALO = r"""
extern "C" __global__ void k(float *y, const float *x, int width, int shift)
{
    int row = threadIdx.y + blockIdx.y * blockDim.y, column = threadIdx.x + blockIdx.x * blockDim.x;
    y[row * 64 + column] = x[row * width + column + shift];
}
"""


@pytest.mark.parametrize(
    ("width", "shift", "said"), [(64, 2, False), (64, 0, False), (67, 0, True), (67, 2, True)]
)
def test_rows_of_whole_sectors_are_not_blamed(width, shift, said):
    """Short pieces of rows that a shift moves, as about a tile."""
    y, x = numpy.zeros((64, 64), "float32"), numpy.zeros(64 * 67 + 8, "float32")
    size = numpy.int32(width), numpy.int32(shift)
    report = smemkit.RawKernel(HALO, "k").profile((4, 4), (16, 16), (y, x, *size))
    found = [one for one in report.advice if one.kind == "misaligned"]
    assert bool(found) == said
    assert all("rows do not begin at a multiple of 32 bytes" in one.text for one in found)


SUM = r"""
extern "C" __global__ void k(float *y, const float *x, int n)
{
    float s = 0;
    int lane = threadIdx.x & 31;
    for (int i = lane; i < n; i += STEP) s += x[i];
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (lane == 0) {
        END
    }
}
"""


@pytest.mark.parametrize(
    ("end", "costs"),
    [
        ("y[threadIdx.x / 32] = s;", False),
        ("for (int i = 0; i < n; i++) s += x[i] * s; y[threadIdx.x / 32] = s;", True),
    ],
)
def test_one_lane_at_the_end(end, costs):
    source = SUM.replace("END", end).replace("STEP", "32")
    y, x = numpy.zeros(64, "float32"), numpy.ones(1024, "float32")
    report = smemkit.RawKernel(source, "k").profile(1, 128, (y, x, numpy.int32(1024)))
    found = [one.text for one in report.advice if one.kind == "divergence"]
    assert bool(found) == costs
    assert all("same for all 32 lanes" not in text for text in found)


ONE_THREAD = r"""
extern "C" __global__ void k(float *y, const float *x, int n)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        for (int i = 0; i < n; i++)
            y[i] = x[i] * 2;
}
"""
THREE_LOOPS = r"""
#define LOOP(OP) for (int i = 0; i < n; i++) s = s OP x[i];
extern "C" __global__ void k(float *y, const float *x, int n)
{
    float s = threadIdx.x;
    switch (threadIdx.x & 3) { case 0: LOOP(+) break; case 1: LOOP(*) break; default: LOOP(/) }
    y[threadIdx.x] = s;
}
"""


@pytest.mark.parametrize("source", [ONE_THREAD, THREE_LOOPS])
def test_lanes_that_idle_without_a_line(source):
    y, x = numpy.zeros(1024, "float32"), numpy.ones(1024, "float32")
    report = smemkit.RawKernel(source, "k").profile(4, 256, (y, x, numpy.int32(512)))
    assert report.counters["instructions.active_lanes"] < 16
    assert "divergence" in [one.kind for one in report.advice]


PRODUCT = r"""
extern "C" __global__ void k(float *y, const float *a, const float *b, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    if (row < n && col < n) {
        for (int i = 0; i < n; i++) s += TERM;
        y[row * n + col] = s;
    }
}
"""


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("a[row * n + i] * b[i * n + col]", True),
        ("a[i] * b[n - 1 - i]", False),  # small arrays that all threads read alike
        ("a[((row + col) * n + i) % 4096]", False),
    ],
)
def test_elements_that_threads_share(term, said):
    y, a = (numpy.ones((64, 64), "float32") for _ in range(2))
    kernel = smemkit.RawKernel(PRODUCT.replace("TERM", term), "k")
    report = kernel.profile((4, 4), (16, 16), (y, a, a.copy(), numpy.int32(64)))
    found = [one for one in report.advice if one.kind == "global_reuse"]
    assert bool(found) == said
    assert all("16 threads of a block load the same element" in one.text for one in found)
