"""Advice on constant memory and on spilled registers: who deserves it, and a near miss."""

import numpy
import pytest

import smemkit
from smemkit import compile

TABLE = r"""
__constant__ float table[256];
extern "C" __global__ void k(float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = table[INDEX];
}
"""
SUM = r"""
__constant__ float table[256];
extern "C" __global__ void k(float *y, int n)
{
    float sum = 0;
    for (int j = 0; j < n; j++) {
        sum += table[j];
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def advise(source, block, *args, options=()):
    report = smemkit.RawKernel(source, "k", options=options).profile(1, block, args)
    return {advice.kind: advice for advice in report.advice}


@pytest.fixture(scope="module", autouse=True)
def compiler():
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler of CUDA C here; the extra [test] brings one")


@pytest.mark.parametrize(("index", "words"), [("i", "32"), ("i & 7", "8"), ("i * 37 & 255", "32")])
def test_lanes_that_read_different_constants(index, words):
    advice = advise(TABLE.replace("INDEX", index), 64, numpy.zeros(64, "f4"))["constant_memory"]
    assert advice.line == 6
    assert f"read {words} different words of constant memory" in advice.message
    assert "shared memory" in advice.message and "__ldg" in advice.message
    assert advice.evidence["constant.load.requests"] == 2


@pytest.mark.parametrize("index", ["blockIdx.x", "i >> 5", "7"])
def test_lanes_that_read_one_constant(index):
    assert "constant_memory" not in advise(TABLE.replace("INDEX", index), 64, numpy.zeros(64, "f4"))


def test_a_filter_in_constant_memory():
    assert "constant_memory" not in advise(SUM, 64, numpy.zeros(64, "f4"), 50)
    image = numpy.ones((32, 64), "float32")
    report = smemkit.profile(smemkit.conv2d, image, image[:3, :3], variant="constant")
    assert report.counters["constant.load.addresses_per_request"] == 1
    assert "constant_memory" not in {advice.kind for advice in report.advice}


# Spills ------------------------------------------------------------------------------------------

SPILLS = r"""
extern "C" __global__ void __launch_bounds__(BOUNDS) k(float *x, int n)
{
    float v[48];
    #pragma unroll
    for (int i = 0; i < 48; i++) v[i] = x[i * 1024 + threadIdx.x];
    for (int k = 0; k < n; k++)
        #pragma unroll
        for (int i = 0; i < 48; i++) v[i] = v[i] * v[(i + 7) % 48] + 1.5f;
    #pragma unroll
    for (int i = 0; i < 48; i++) x[i * 1024 + threadIdx.x] = v[i];
}
"""


def spill(bounds, **words):
    x = numpy.zeros(48 * 1024, "float32")
    return advise(SPILLS.replace("BOUNDS", bounds), 1024, x, 1, **words)


def check_spill(advice):
    assert advice.line == 2
    assert advice.evidence["registers a thread"] == 32
    stores, loads = (advice.evidence[f"bytes of spill {op}"] for op in ("stores", "loads"))
    assert stores > 0 and loads > 0
    assert f"stores of {stores:,} bytes and loads of {loads:,} bytes a thread" in advice.message
    assert "__launch_bounds__(1024, 2), too few" in advice.message
    assert "take __launch_bounds__(1024), without" in advice.message


@pytest.mark.skipif(compile.find_ptxas() is None, reason="there is no ptxas")
def test_spilled_registers():
    check_spill(spill("1024, 2")["register_spill"])
    assert "register_spill" not in spill("1024")  # 64 registers do


@pytest.mark.skipif(compile.find_nvrtc() is None, reason="there is no NVRTC")
def test_spills_as_nvrtc_tells_them(monkeypatch):
    monkeypatch.setattr(compile, "find_ptxas", lambda: None)
    check_spill(spill("1024, 2")["register_spill"])
    found = spill("1024, 2", options=("-DUNUSED",))  # the same PTX
    assert "register_spill" in found


def test_spills_that_nobody_tells(monkeypatch):
    """Neither ptxas nor the source: the counters are all that there is."""
    monkeypatch.setattr(compile, "find_ptxas", lambda: None)
    ptx = compile.compile_source(SPILLS.replace("BOUNDS", "1024, 2"))
    assert "register_spill" not in advise(ptx, 1024, numpy.zeros(48 * 1024, "f4"), 1)
