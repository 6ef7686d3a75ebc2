"""More than 2^31, and more than 2^32, elements in every variant, judged on the device.

reduce, dot, histogram and gemm have such tests among their own. The simulator runs the same tests
at small sizes: there the judges are judged.
"""

import numpy as np
import pytest
from hardware.gpu import large

import smemkit

LINES = {
    "cuda": [(1 << 32) + 1027, (1 << 31) + 1027],  # the second for a device with less memory
    "sim": [3001, 1],
}
PLANES = {
    "cuda": [(65537, 65543), (46349, 46351), (2, (1 << 31) + 5), ((1 << 31) + 5, 2)],
    "sim": [(67, 45), (32, 128), (2, 301), (301, 2)],
}
MODES = ("constant", "wrap", "wrap", "constant")  # of the planes
FILTER = (3, 2)

each_line = pytest.mark.parametrize("at", range(2))
each_plane = pytest.mark.parametrize("at", range(4))


def check_variants(family, run, out, judge):
    """Every variant writes all of a poisoned output, and rightly."""
    for variant in smemkit.variants(family):
        large.poison(out)
        run(variant)
        count, first = judge(variant)
        words = f"{family} {variant}: {count} of {out.size} elements are wrong"
        assert count == 0, f"{words}, the first is {first}"


@each_plane
def test_transpose(machine, at):
    m, n = PLANES[machine][at]
    x, out = large.hold([((m, n), "uint8"), ((n, m), "uint8")], machine)
    large.fill("fill_bytes", x)

    def judge(variant):
        if variant == "copy":
            return large.judge("check_copy", out, out.size)
        return large.judge("check_transpose", out, m, n)

    check_variants("transpose", lambda v: smemkit.transpose(x, variant=v, out=out), out, judge)


@each_line
def test_smooth(machine, at):
    n = LINES[machine][at]
    x, out = large.hold(2 * [(n, "float32")], machine)
    large.fill("fill_floats", x)
    check_variants(
        "smooth",
        lambda v: smemkit.smooth(x, variant=v, out=out),
        out,
        lambda v: large.judge("check_smooth", out, n),
    )


@each_plane
def test_conv2d(machine, at):
    (h, w), (p, q), mode = PLANES[machine][at], FILTER, MODES[at]
    x, out = large.hold(2 * [((h, w), "float32")], machine)
    large.fill("fill_floats", x)
    weights = np.arange(1, p * q + 1, dtype="float32").reshape(p, q)
    weights = smemkit.asarray(weights, backend=machine)
    check_variants(
        "conv2d",
        lambda v: smemkit.conv2d(x, weights, mode, variant=v, out=out),
        out,
        lambda v: large.judge("check_conv2d", out, h, w, p, q, int(mode == "wrap")),
    )


@each_line
def test_vector_add(machine, at):
    n, scale = LINES[machine][at], 1000
    x, y, out = large.hold(3 * [(n, "int32")], machine)
    large.fill("fill_ints", x, 1)
    large.fill("fill_ints", y, scale)
    check_variants(
        "vector_add",
        lambda v: smemkit.vector_add(x, y, variant=v, out=out),
        out,
        lambda v: large.judge("check_sum", out, n, scale),
    )


@each_line
def test_gather(machine, at):
    m = LINES[machine][at]
    n = m + 38
    x, index, out = large.hold([(n, "uint8"), (m, "int64"), (m, "uint8")], machine)
    large.fill("fill_bytes", x)
    large.fill("fill_index", index, n)
    check_variants(
        "gather",
        lambda v: smemkit.gather(x, index, variant=v, out=out),
        out,
        lambda v: large.judge("check_gather", out, m, n),
    )


# The judges ---------------------------------------------------------------------------------------


def value(at):
    """The content by NumPy."""
    at = (np.asarray(at, "uint64") + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    at = (at ^ at >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return (at >> np.uint64(56)).astype("uint8")


def test_content(machine):
    """It is what it is said to be, and differs where only bits beyond the 31st do."""
    (x,) = large.hold([(5000, "uint8")], machine)
    large.fill("fill_bytes", x)
    places = np.arange(5000)
    assert np.array_equal(smemkit.asnumpy(x), value(places))
    for turn in (1 << 31, 1 << 32, 1 << 33):
        assert np.mean(value(places) == value(places + turn)) < 0.05
        assert np.mean(value(places) % 16 == value(places + turn) % 16) < 0.2
    assert len(np.unique(value(places))) == 256


def results_by_numpy():
    """(judge, its numbers, a right result) of each."""
    ndimage = pytest.importorskip("scipy.ndimage")
    plane, line = value(np.arange(35 * 21)).reshape(35, 21), value(np.arange(999))
    image = (plane % 16).astype("float32")
    weights = np.arange(1, 7, dtype="float32").reshape(FILTER)
    yield "check_copy", (999,), line
    yield "check_transpose", (35, 21), np.ascontiguousarray(plane.T)
    x = (line % 16).astype("float32")
    yield "check_smooth", (999,), ndimage.uniform_filter1d(x, 3, mode="nearest")
    for wraps, mode in enumerate(("constant", "wrap")):
        out = ndimage.convolve(image, weights, mode=mode)
        yield "check_conv2d", (35, 21, *FILTER, wraps), out
    yield "check_sum", (999, 1000), line.astype("int32") * 1001
    places = np.arange(500) * 6700417 % 999
    yield "check_gather", (500, 999), line[places]


def test_judges_see_what_is_wrong(machine):
    """Nothing in NumPy's results, and each of three elements that are spoilt."""
    for name, numbers, right in results_by_numpy():
        out = smemkit.asarray(right, backend=machine)
        assert large.judge(name, out, *numbers) == (0, large.NOWHERE), name
        wrong = right.copy().reshape(-1)
        for place in (wrong.size - 1, wrong.size // 2, 7):
            wrong[place] += 1
        out = smemkit.asarray(wrong.reshape(right.shape), backend=machine)
        assert large.judge(name, out, *numbers) == (3, 7), name
        large.poison(out)
        count, first = large.judge(name, out, *numbers)
        assert count > 0.9 * out.size and first < 5, name


def test_indices_reach_everywhere(machine):
    (index,) = large.hold([(999, "int64")], machine)
    large.fill("fill_index", index, 500)
    places = np.arange(999) * 6700417 % 500
    assert np.array_equal(smemkit.asnumpy(index), places - 500 * (np.arange(999) % 3 == 0))
