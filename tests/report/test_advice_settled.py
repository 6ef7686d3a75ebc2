"""Advice that is left out or turned because of other advice on the same kernel."""

import numpy
import pytest

import smemkit

TRANSPOSE = r"""
extern "C" __global__ void k(const float *in, float *out, int n)
{
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    tile[ty][tx] = in[y * n + x];
    __syncthreads();
    WRITE
}
"""
BACK = "out[x * n + y] = tile[ty][tx];"
TURNED = "out[(blockIdx.x * 32 + ty) * n + blockIdx.y * 32 + tx] = tile[tx][ty];"
REVERSE = r"""
extern "C" __global__ void k(const float *x, float *y)
{
    KIND float buf[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    buf[t] = x[i];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) {
            buf[t] += buf[t + s];
        }
        __syncthreads();
    }
    if (t == 0) {
        y[blockIdx.x] = buf[0];
    }
}
"""


def profile(source, grid, block, *args):
    return smemkit.RawKernel(source, "k").profile(grid, block, args).advice


def transpose(write):
    a = numpy.arange(64 * 64, dtype="float32").reshape(64, 64)
    return profile(
        TRANSPOSE.replace("WRITE", write), (2, 2), (32, 32), a, numpy.zeros_like(a), numpy.int32(64)
    )


def test_tile_that_each_thread_reads_back():
    """The advice leads on to the turned tile, not back to no tile at all."""
    (advice,) = transpose(BACK)
    assert advice.kind == "uncoalesced" and "out[x * n + y]" in advice.source
    assert "each thread reads back its own element" in advice.text
    assert "tile[threadIdx.x][threadIdx.y]" in advice.text and "along rows" in advice.text
    assert "pass the data through" not in advice.text and "reuse" in advice.evidence
    assert transpose(TURNED) == []


def sum_blocks(kind, block=256):
    x, y = numpy.ones(4 * block, "float32"), numpy.zeros(4, "float32")
    return profile(REVERSE.replace("KIND", kind), 4, block, x, y)


def test_array_that_was_meant_to_be_shared():
    advice = sum_blocks("")
    assert advice[0].kind == "private_array" and advice[0].line == 4
    assert "buf is a private array of each thread" in advice[0].text
    assert "Did you mean __shared__?" in advice[0].text
    assert "__shared__ float buf[256];" in advice[0].text
    assert not {"redundant_barrier", "local_memory"} & {one.kind for one in advice}
    assert "private_array" not in {one.kind for one in sum_blocks("__shared__")}


@pytest.mark.parametrize("block", [100, 200])
def test_blocks_that_the_source_halves(block):
    (advice,) = [one for one in sum_blocks("__shared__", block) if one.kind == "block_size"]
    assert f"Take {128 if block == 100 else 256} threads, a power of two." in advice.text
    assert ":8 halves blockDim.x" in advice.text


def test_blocks_of_one_thread():
    """Only their size is worth advice; they have nobody to share with or to wait for."""
    source = r"""
extern "C" __global__ void k(const float *x, float *y, int n)
{
    __shared__ float buf[1];
    for (int r = 0; r < 300; r++) {
        buf[0] = x[blockIdx.x * n];
        __syncthreads();
        y[blockIdx.x * n] = buf[0] + r;
    }
}
"""
    x = numpy.ones(64 * 64, "float32")
    (advice,) = profile(source, 64, 1, x, x.copy(), numpy.int32(64))
    assert advice.kind == "block_size" and "Take 128 or 256 threads a block" in advice.text
