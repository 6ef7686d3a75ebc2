"""Advice on kernels in CUDA C: a kernel that deserves it, and a near miss that does not."""

import importlib.resources
import json
import re

import numpy
import pytest

import smemkit

ONE_ELEMENT = r"""
extern "C" __global__ void k(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = BODY;
    }
}
"""
SUM = r"""
extern "C" __global__ void k(float *y, const float *x, int n)
{
    TYPE sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += TERM;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def profile(source, grid, block, *args, **words):
    report = smemkit.RawKernel(source, "k").profile(grid, block, args, **words)
    found = {}
    for advice in report.advice:
        found.setdefault(advice.kind, []).append(advice)
    return found


def element(body, grid=4, block=256, n=None):
    n = grid * block if n is None else n
    x = numpy.arange(n, dtype="float32")
    return profile(ONE_ELEMENT.replace("BODY", body), grid, block, x.copy(), x, numpy.int32(n))


def add_up(grid, block, n, term="x[i]", kind="float", **words):
    source = SUM.replace("TERM", term).replace("TYPE", kind)
    y, x = numpy.zeros(grid * block, "float32"), numpy.ones(n, "float32")
    return profile(source, grid, block, y, x, numpy.int32(n), **words)


def test_documents_name_every_kind():
    """The docstring of explain lists the kinds that the judges give."""
    folder = importlib.resources.files("smemkit") / "report"
    made = {"uncoalesced", "misaligned"}  # one judge gives both
    for file in folder.iterdir():
        if file.name.startswith("_advise"):
            text = file.read_text(encoding="utf-8")
            made |= set(re.findall(r'\.advise(?:_launch)?\(\s*"(\w+)"', text))
    listed = re.search(r"The kinds are(.*?)\. Private", smemkit.explain.__doc__, re.DOTALL)[1]
    assert set(re.findall(r'"(\w+)"', listed)) == made and len(made) == 17


# Launches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "idle", "cure"),
    [
        (1, 31, "128 or 256"),
        (16, 16, "128 or 256"),
        (31, 1, "128 or 256"),
        (33, 31, "Take 64 threads"),
        (100, 28, "Take 128 threads"),
        (1000, 24, "Take 1024 threads"),
    ],
)
def test_blocks_that_are_no_multiple_of_a_warp(block, idle, cure):
    (advice,) = element("x[i]", grid=3, block=block)["block_size"]
    assert advice.evidence["idle lanes a block"] == idle
    assert cure in advice.text and advice.subject == "k" and advice.lines == ()


@pytest.mark.parametrize("block", [32, 64, 96, 256, (16, 16), (8, 4), (32, 32)])
def test_blocks_of_whole_warps(block):
    x = numpy.ones(4096, dtype="float32")
    body = ONE_ELEMENT.replace("BODY", "x[i]")
    assert profile(body, 4, block, x.copy(), x, numpy.int32(4096)) == {}


def test_one_thread():
    (advice,) = add_up(1, 1, 200)["block_size"]
    assert "one thread does all the work" in advice.text and "(n + 255) / 256" in advice.text
    assert add_up(1, 1, 2) == {}  # as a kernel that sets a flag
    assert "block_size" not in add_up(1, 32, 200)


def test_small_grid():
    """Of a launch that takes long; blocks as many as multiprocessors are enough."""
    (advice,) = add_up(2, 64, 40000)["small_grid"]
    assert advice.evidence["blocks"] == 2 and "an H200" in advice.text
    file = importlib.resources.files("smemkit") / "recorded/variants_h200.json"
    facts = json.loads(file.read_text(encoding="utf-8"))["provenance"]["device_facts"]
    assert advice.evidence["multiprocessors"] == facts["multiprocessors"] == 132
    assert add_up(2, 64, 1000) == {}
    for blocks in (131, 132):
        found = add_up(blocks, 32, blocks * 32 * 500, blocks=2)
        assert ("small_grid" in found) == (blocks < 132)
    square = numpy.ones((128, 128), "float32")  # the package chooses the grid of its own kernels
    report = smemkit.profile(smemkit.gemm, square, square, variant="naive")
    assert [one.kind for one in report.advice] == ["global_reuse"]


# Doubles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        ("x[i] * 0.1", "x[i] * 0.1f", "0.1 is a double, write 0.1f"),
        ("x[i] * 2.0 + 1.5e-3", "x[i] * 2.0f + 1.5e-3f", "write 2.0f, 1.5e-3f"),
        ("x[i] / 3.1 + 2.", "x[i] / 3.1f + 2.f", "3.1, 2. are doubles, write 3.1f, 2.f"),
        ("exp((double)x[i])", "exp(x[i])", None),
        ("pow(x[i], 2.5)", "powf(x[i], 2.5f)", "write 2.5f"),
    ],
)
def test_doubles_among_floats(wrong, right, words):
    found = element(wrong)
    if words is None:  # asked for by name
        assert found == {}
    else:
        (advice,) = found["double_arithmetic"]
        assert words in advice.text and wrong in advice.source
        assert advice.evidence["double instructions"] >= 32
    assert element(right) == {}
    assert element("x[i] / 3.") == {}  # of which the compiler makes a division of floats


def test_doubles_that_are_meant():
    """A sum in double of floats; not a product beside it that is rounded at once."""
    assert add_up(2, 64, 1000, "x[i] * 0.1", "double") == {}
    (advice,) = add_up(2, 64, 1000, "x[i] * 0.1", "float")["double_arithmetic"]
    assert "write 0.1f" in advice.text
    (advice,) = add_up(2, 64, 1000, "(float)(x[i] * 0.1)", "double")["double_arithmetic"]
    assert "write 0.1f" in advice.text
    square = numpy.ones((32, 32))
    report = smemkit.profile(smemkit.gemm, square, square, variant="naive")
    assert [one.kind for one in report.advice] == ["global_reuse"]


# Global memory -----------------------------------------------------------------------------------


def test_neighbours_of_a_stencil_have_to_be_shifted():
    wide = element("x[i > 0 ? i - 1 : 0] + x[i] + x[i + 1 < n ? i + 1 : i]")
    assert wide == {}
    (advice,) = element("x[i + 1 < n ? i + 1 : i]")["misaligned"]
    assert "align the start" in advice.text


def test_indices_without_a_pattern():
    found = element("x[(i * 7919 + (i * i) % 613) % n]", grid=16)
    (advice,) = found["uncoalesced"]
    assert "follow no pattern" in advice.text and "threadIdx.x" not in advice.message
    (advice,) = element("x[i * 33 % n]", grid=16)["uncoalesced"]
    assert "let threadIdx.x walk" in advice.text


def test_wide_loads_of_another_array_cover_nothing():
    """Indices of 8 bytes that lie right behind what they choose."""
    random = numpy.random.default_rng(0)
    for n in (100, 300, 1000):
        index = random.integers(0, n, 4096)
        for dtype in ("uint8", "float32"):
            x = numpy.ones(n, dtype)
            report = smemkit.profile(smemkit.gather, x, index, variant="unrolled")
            assert not any("takes the same sectors" in one.text for one in report.advice)


def test_what_other_lanes_hold():
    """A neighbour of four elements that one access takes: another lane has it."""
    source = r"""
extern "C" __global__ void k(float4 *y, const float4 *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i];
    float before = BEFORE;
    y[i] = make_float4(before + v.x, v.x + v.y, v.y + v.z, v.z + v.w);
}
"""
    x = numpy.arange(4096, dtype="float32")
    loaded = "((const float *)x)[i > 0 ? 4 * i - 1 : 0]"
    (advice,) = profile(source.replace("BEFORE", loaded), 4, 256, x.copy(), x)["uncoalesced"]
    assert "The load of kernel.cu:5 takes the same sectors" in advice.text
    assert "__shfl_up_sync" in advice.text
    shuffled = "__shfl_up_sync(0xffffffffu, v.w, 1)"
    assert profile(source.replace("BEFORE", shuffled), 4, 256, x.copy(), x) == {}


def test_waste_that_nobody_notices():
    """One uncoalesced store behind a long sum."""
    source = SUM.replace("TYPE", "float").replace("TERM", "x[i]")
    source = source.replace("y[blockIdx.x * blockDim.x + threadIdx.x]", "y[threadIdx.x * 32]")
    for n, told in ((64, True), (200000, False)):
        args = numpy.zeros(32 * 64, "float32"), numpy.ones(n, "float32"), numpy.int32(n)
        assert ("uncoalesced" in profile(source, 1, 64, *args)) == told
