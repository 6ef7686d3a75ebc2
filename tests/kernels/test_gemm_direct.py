"""gemm for small, narrow and long products: tiles of all shapes, parts of k, vectors both ways."""

import numpy as np
import pytest
from support import shapes

import smemkit

BOUND = 2 * np.finfo(np.float32).eps
SMALLEST = 2.0**-149

# {part of direct's entry: products for which a machine of one multiprocessor takes that tile}
TILES = {
    "low": [(3, 237, 4), (8, 180, 4)],
    "": [(61, 101, 5), (64, 128, 4)],
    "wide": [(3, 101, 190), (4, 100, 164)],
    "tall": [(231, 101, 9), (250, 101, 4)],
    "square": [(35, 101, 64), (61, 40, 61)],
    "broad": [(125, 301, 123), (125, 300, 126)],
    "joint": [(125, 301, 4), (125, 300, 9)],
    "broad_quads": [(128, 300, 128), (100, 20, 100)],
    "joint_quads": [(40, 100, 40), (256, 100, 16)],
    "flat_quads": [(64, 40, 64), (3, 20, 100)],
}

# Products that fill no machine: k is cut into parts.
LONG = [(5, 3000, 7), (33, 2500, 34), (3, 2049, 130), (130, 1027, 2), (1, 5000, 1)]


def spell(variant, part, dtype="float32"):
    return "_".join(name for name in ("gemm", variant, part, dtype) if name)


def profile(a, b, variant):
    return smemkit.profile(smemkit.gemm, a, b, variant=variant, backend="sim", blocks=1)


@pytest.mark.parametrize("part", TILES)
def test_each_tile(part, rng, monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    for m, k, n in TILES[part]:
        a, b = shapes.normal(rng, (m, k), "f4"), shapes.normal(rng, (k, n), "f4")
        assert profile(a, b, "direct").launches[0].kernel == spell("direct", part)
        check_bound(a, b, smemkit.gemm(a, b, variant="direct", backend="sim"))
        a[1, 2], b[3, 1], a[m - 1, k - 1] = np.inf, np.nan, 2.0**120
        got = smemkit.gemm(a, b, variant="direct", backend="sim")
        plain = smemkit.gemm(a, b, variant="naive", backend="sim")
        assert np.allclose(got, plain, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("variant", ["direct", "split_k"])
def test_parts_of_k_are_added_cleanly(variant):
    """No lane of the last launch reads a sum that no block has written."""
    a, b = np.ones((5, 3000), "f4"), np.ones((3000, 7), "f4")
    report = smemkit.check(smemkit.gemm, a, b, variant=variant, backend="sim")
    assert report, str(report)
    assert (report.result == 3000).all()


def check_bound(a, b, got):
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    error = np.abs(got - a64 @ b64)
    assert (error <= BOUND * (np.abs(a64) @ np.abs(b64)) + a.shape[1] * SMALLEST).all()
    assert np.any(got)


@pytest.mark.parametrize("shape", [(17, 70, 37), (64, 96, 128), (150, 130, 333), (61, 1025, 70)])
@pytest.mark.parametrize("powers", [(0, 0), (-120, 100), (100, -120), (-63, -63)])
def test_parts_lose_nothing(shape, powers, machine, rng):
    m, k, n = shape
    a = (shapes.normal(rng, (m, k), "float64") * 2.0 ** powers[0]).astype("f4")
    b = (shapes.normal(rng, (k, n), "float64") * 2.0 ** powers[1]).astype("f4")
    check_bound(a, b, smemkit.gemm(a, b, variant="direct", backend=machine))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, np.finfo("f4").max, 2.0**112])
@pytest.mark.parametrize("shape", [(35, 40, 44), (35, 41, 43), (33, 2500, 34)])
def test_what_has_no_parts(value, shape, machine, rng):
    """Infinities, NaN and huge numbers: what a chain of fma's gives, in all elements.

    But for one thing: of a long k the parts are summed apart. A part of huge products may overflow
    where a chain that comes from a sum of the other sign does not: -max + 2 * max is max to fma.
    """
    m, k, n = shape
    a, b = shapes.integers(rng, (m, k), "float32", 2), shapes.integers(rng, (k, n), "float32", 2)
    a[5, 3] = a[m - 1, k - 1] = value
    b[0, 7] = value
    b[3, n - 1] = 1
    got = smemkit.gemm(a, b, variant="direct", backend=machine)
    plain = smemkit.gemm(a, b, variant="naive", backend=machine)
    same = (got == plain) | (np.isnan(got) & np.isnan(plain))
    a64, b64 = a.astype("f8"), b.astype("f8")
    with np.errstate(invalid="ignore"):
        size = np.abs(a64) @ np.abs(b64)
        close = np.isfinite(size) & (np.abs(got.astype("f8") - plain) <= 1e-6 * size)
    may_overflow = np.isfinite(size) & (size > np.finfo("f4").max) & (k > 2000)
    assert (same | close | (may_overflow & ~np.isfinite(got))).all()
    assert not np.array_equal(got[5], got[6], equal_nan=True)


@pytest.mark.parametrize(
    "variant", ["direct", "dmma", "fma", "lean", "tuned", "vector", "split_k", "stream_k"]
)
@pytest.mark.parametrize("shape", LONG)
def test_parts_of_k(variant, shape, machine, rng):
    """Integers are exact, however they are added; and two runs give the same bits."""
    m, k, n = shape
    for dtype in smemkit.variants("gemm")[variant]["dtypes"]:
        a, b = shapes.integers(rng, (m, k), dtype, 3), shapes.integers(rng, (k, n), dtype, 3)
        got = smemkit.gemm(a, b, variant=variant, backend=machine)
        assert np.array_equal(got, a.astype("f8") @ b.astype("f8"))
        a, b = shapes.normal(rng, (m, k), dtype), shapes.normal(rng, (k, n), dtype)
        first, again = (smemkit.gemm(a, b, variant=variant, backend=machine) for _ in range(2))
        assert np.array_equal(first, again)
        size = np.abs(a.astype("f8")) @ np.abs(b.astype("f8"))
        wide = np.longdouble if dtype == "float64" else np.float64
        bound = 4 * np.sqrt(k) * np.finfo(dtype).eps * size
        assert (np.abs(first - a.astype(wide) @ b.astype(wide)) <= bound).all()


@pytest.mark.parametrize("variant", ["direct", "split_k", "stream_k"])
def test_sums_are_added_by_a_launch_of_their_own(variant):
    a, b = np.ones((3, 4000), "f4"), np.ones((4000, 5), "f4")
    names = [launch.kernel for launch in profile(a, b, variant).launches]
    assert len(names) == 2 and names[1] == spell(variant, "add")


def test_the_last_block_adds_the_sums_of_vectors(machine, rng):
    """One launch; tickets and sums are 0 again for the next call, whatever its shape."""
    for m, k, n in [(1, 3000, 40), (40, 3000, 1), (70, 2100, 3), (5, 9000, 2)]:
        a, b = shapes.integers(rng, (m, k), "f4"), shapes.integers(rng, (k, n), "f4")
        plan = smemkit.explain_choice(smemkit.gemm, a, b, backend=machine)["vector"]
        assert plan.parts > 1 and len(plan.launches) == 1
        for _ in range(2):
            assert np.array_equal(smemkit.gemm(a, b, variant="vector", backend=machine), a @ b)


@pytest.mark.parametrize(
    ("shape", "part"),
    [
        ((300, 64, 1), "row"),
        ((30, 2052, 1), ""),
        ((300, 65, 2), "along2"),
        ((300, 64, 3), "along4"),
        ((300, 64, 7), "along8"),
        ((300, 64, 20), "along8"),
        ((1, 64, 300), "stripe"),
        ((1, 640, 3), "narrow"),
        ((1, 1577, 5), "narrow"),
        ((2, 65, 301), "across2"),
        ((4, 64, 300), "across4"),
        ((5, 64, 301), "across8"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vectors_both_ways(shape, part, dtype, machine, rng):
    m, k, n = shape
    a, b = shapes.integers(rng, (m, k), dtype), shapes.integers(rng, (k, n), dtype)
    assert np.array_equal(smemkit.gemm(a, b, variant="vector", backend=machine), a @ b)
    assert profile(a, b, "vector").launches[0].kernel == spell("vector", part, dtype)


def test_a_matrix_is_read_once_for_a_vector(rng):
    """A row along k needs as much of the vector, from L1, where both are read by 16 bytes.

    A short one has the vector by elements, four of which a lane reads: all sectors four times. A
    warp across k needs one number.
    """
    for m, k, n, reads in ((512, 2048, 1, 2), (256, 512, 1, 5), (1, 512, 256, 1.25)):
        a, b = shapes.normal(rng, (m, k), "f4"), shapes.normal(rng, (k, n), "f4")
        report = smemkit.profile(smemkit.gemm, a, b, variant="vector", backend="sim")
        assert report.launches[0].counters["global.load.sectors"] == reads * m * k * n * 4 // 32


def test_short_sums_of_a_narrow_and_of_a_wide_result(rng):
    for shape, part in (((500, 3, 4), "flat"), ((700, 3, 3000), "")):
        m, k, n = shape
        a, b = shapes.integers(rng, (m, k), "f4"), shapes.integers(rng, (k, n), "f4")
        assert np.array_equal(smemkit.gemm(a, b, variant="short_k", backend="sim"), a @ b)
        assert profile(a, b, "short_k").launches[0].kernel == spell("short_k", part)
