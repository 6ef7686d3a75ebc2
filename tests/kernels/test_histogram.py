"""histogram in every variant and type, on both machines, against numpy.histogram."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import filled, shapes

import smemkit
from smemkit import _core

VARIANTS = tuple(smemkit.variants("histogram"))
BINS = (1, 2, 3, 10, 255, 256, 257, 512, 1000, 2048)
SIZES = (1, 3, 15, 16, 17, 33, 1000, 5003)

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])


def check(got, x, *how):
    expected = np.histogram(np.asarray(x), *how)[0]
    assert type(got) is np.ndarray and got.dtype == np.int64
    assert np.array_equal(got, expected), np.flatnonzero(got != expected)[:5]


def count(x, variant, machine, *how, **more):
    return smemkit.histogram(x, *how, variant=variant, backend=machine, **more)


@each_variant
def test_bytes_by_value(variant, machine, rng):
    for n in (*SIZES, 40_001):
        x = rng.integers(0, 256, n).astype(np.uint8)
        before = x.copy()
        got = count(x, variant, machine)
        assert got.dtype == np.int64
        assert np.array_equal(got, np.bincount(x, minlength=256))
        assert np.array_equal(x, before)
        for ends in ((0, 256), (0, 255)):
            check(count(x, variant, machine, 256, ends), x, 256, ends)


@each_variant
@pytest.mark.parametrize("value", [0, 1, 77, 254, 255])
def test_bytes_all_alike(variant, value, machine):
    for n in (1, 17, 20_003):
        got = count(np.full(n, value, np.uint8), variant, machine)
        assert got[value] == n and got.sum() == n


@each_variant
def test_floats(variant, machine, rng):
    for bins in BINS:
        for n in (1, 17, 3001):
            x = shapes.normal(rng, n, "float32")
            check(count(x, variant, machine, bins), x, bins)
            check(count(x, variant, machine, bins, (-1, 1.5)), x, bins, (-1, 1.5))


@each_variant
def test_integers(variant, machine, rng):
    for bins in BINS:
        x = rng.integers(-1000, 1000, 3001).astype(np.int32)
        check(count(x, variant, machine, bins), x, bins)
        check(count(x, variant, machine, bins, (-17, 200)), x, bins, (-17, 200))
    info = np.iinfo(np.int32)
    x = np.array([info.min, info.max, 0, -1, 1, info.max - 1], np.int32)
    for bins in (1, 2, 3, 2048):
        check(count(x, variant, machine, bins), x, bins)


@each_variant
def test_more_bins_than_fit_at_once(variant, machine, rng):
    """Windows of bins, in shared memory of 4096 and of 8192 words."""
    x = shapes.normal(rng, 3001, "float32")
    for bins in (4096, 4097, 8192, 8193, 20_001):
        check(count(x, variant, machine, bins), x, bins)


@each_variant
def test_ends(variant, machine):
    """The last edge belongs to the last bin; what is outside, or no number, to none."""
    x = np.array([0, 1, 2, 3, 4, -1, 5, np.nan, np.inf, -np.inf, -0.0], np.float32)
    check(count(x, variant, machine, 4, (0, 4)), x, 4, (0, 4))
    assert count(x, variant, machine, 4, (0, 4)).tolist() == [2, 1, 1, 2]
    just = np.nextafter(np.float32([0, 4]), np.float32([-1, 5]))
    assert count(just, variant, machine, 4, (0, 4)).sum() == 0
    assert count(np.full(40, np.nan, np.float32), variant, machine, 7, (0, 1)).sum() == 0


@each_variant
def test_on_the_edges(variant, machine, rng):
    """Elements that are edges, and their neighbours, fall as NumPy has them fall."""
    for bins, ends in ((10, (0, 1)), (7, (-0.1, 0.3)), (2048, (1e-3, 3)), (255, (1e6, 1e6 + 99))):
        edges = np.histogram_bin_edges(np.empty(0, np.float32), bins, ends)
        assert edges.dtype == np.float32
        up, down = np.nextafter(edges, np.float32(np.inf)), np.nextafter(edges, np.float32(-np.inf))
        x = rng.permutation(np.concatenate([edges, up, down]))
        check(count(x, variant, machine, bins, ends), x, bins, ends)
    x = np.arange(-50, 60, dtype=np.int32)
    for bins in (11, 110, 220, 109):
        check(count(x, variant, machine, bins, (-50, 60)), x, bins, (-50, 60))


@each_variant
def test_all_alike(variant, machine):
    for value in (0, -3, 1e6, 1e-30):
        x = np.full(300, value, np.float32)
        check(count(x, variant, machine, 5), x, 5)
    x = np.full(300, 7, np.int32)
    check(count(x, variant, machine, 4), x, 4)


@each_variant
def test_given_edges(variant, machine, rng):
    """Edges of any width, even of none, as numpy.histogram takes them."""
    x = shapes.integers(rng, 2000, "float32", 20)
    for edges in ([-5, 0, 1, 1, 7], [0, 0], [3], [-np.inf, 0, np.inf], [-8, -7.5, 12, 19.25, 20]):
        check(count(x, variant, machine, edges), x, edges)
    x = rng.integers(-100, 100, 2000).astype(np.int32)
    edges = np.sort(rng.standard_normal(300) * 40)
    check(count(x, variant, machine, edges), x, edges)


def far(bins):
    edges = np.linspace(0, 1, bins + 1)
    return np.append(edges[:-1], 1e30)


UNEVEN = {
    "log": lambda bins: np.geomspace(1e-6, 1, bins + 1),
    "far": far,
    "repeated": lambda bins: np.repeat(np.linspace(0.1, 0.9, bins // 5 + 1), 5)[: bins + 1],
    "crowded": lambda bins: np.append(0, 0.5 + 1e-7 * np.arange(bins)),
    "endless": lambda bins: np.r_[-np.inf, np.linspace(0, 1, bins - 1), np.inf],
}


@each_variant
@pytest.mark.parametrize("kind", UNEVEN)
@pytest.mark.parametrize("bins", [100, 1000, 10_000, 100_000, 1_000_000])
def test_uneven_edges(variant, kind, bins, machine, rng):
    """The bins of numbers anywhere, and of some edges and their neighbours."""
    if machine == "sim" and bins > 100_000 and variant == "shared":
        pytest.skip("250 windows, which take long there")
    edges = UNEVEN[kind](bins)
    some = rng.choice(edges[np.isfinite(edges)], 50).astype("float32")
    x = np.concatenate(
        [rng.random(200, "float32"), 10 ** rng.uniform(-7, 1, 200).astype("float32"), some]
        + [np.nextafter(some, np.float32(end)) for end in (-9, 9)]
    )
    check(count(x, variant, machine, edges), x, edges)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", UNEVEN)
def test_uneven_edges_take_few_steps(variant, kind, rng):
    """A bin is found by bisection: at most some more probes than even edges need."""
    x, bins = rng.random(4096, "float32"), 4096

    def spend(edges):
        kernel = smemkit.profile(count, x, variant, "sim", edges).launches[0]
        return kernel.counters["instructions.warp"]

    assert spend(UNEVEN[kind](bins)) < 16 * spend(np.linspace(0, 1, bins + 1))


@pytest.mark.parametrize("edges", [[], [0, np.nan, 1], [np.nan]])
def test_edges_that_are_none(edges):
    with pytest.raises(smemkit.ArgumentError, match="edges"):
        smemkit.histogram(np.ones(3, "float32"), edges, backend="sim")


@settings(max_examples=60, deadline=None)
@given(
    x=arrays.arrays(np.float32, st.integers(1, 40), elements=st.floats(-1e6, 1e6, width=32)),
    bins=st.integers(1, 300),
    variant=st.sampled_from(VARIANTS),
)
def test_any_floats(x, bins, variant):
    try:
        expected = np.histogram(x, bins)[0]
    except ValueError:  # too many bins for the range
        with pytest.raises(smemkit.ArgumentError):
            smemkit.histogram(x, bins, variant=variant, backend="sim")
    else:
        got = smemkit.histogram(x, bins, variant=variant, backend="sim")
        assert np.array_equal(got, expected)


@each_variant
def test_nothing(variant, machine):
    for dtype in ("uint8", "float32", "int32"):
        for shape in (0, (3, 0)):
            out = np.full(256, -1)
            assert count(np.zeros(shape, dtype), variant, machine, out=out) is out
            assert not out.any()


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
@pytest.mark.parametrize("variant", VARIANTS)
def test_layouts(layout, variant, machine, rng):
    x = shapes.LAYOUTS[layout](shapes.integers(rng, (67, 45), "float32"))
    check(count(x, variant, machine, 16), x, 16)


@each_variant
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int32"])
def test_device_arrays(variant, dtype, machine, rng):
    x = rng.integers(0, 200, (50, 61)).astype(dtype)
    d = smemkit.asarray(x, backend=machine)
    expected = (
        np.bincount(x.ravel(), minlength=256) if dtype == "uint8" else np.histogram(x, 256)[0]
    )
    got = smemkit.histogram(d, variant=variant)
    assert isinstance(got, smemkit.DeviceArray) and got.dtype == np.int64 and got.backend == machine
    assert np.array_equal(smemkit.asnumpy(got), expected)
    out = smemkit.asarray(np.full(256, -7), backend=machine)
    for _ in range(2):  # what stands in out is not added to
        assert smemkit.histogram(d, variant=variant, out=out) is out
        assert np.array_equal(smemkit.asnumpy(out), expected)
    if dtype != "uint8":
        got = smemkit.asnumpy(smemkit.histogram(d, 9, (3, 50.5), variant=variant))
        assert np.array_equal(got, np.histogram(x, 9, (3, 50.5))[0])
        got = smemkit.asnumpy(smemkit.histogram(d, [0, 10, 30], variant=variant))
        assert np.array_equal(got, np.histogram(x, [0, 10, 30])[0])
        with pytest.raises(smemkit.ArgumentError, match="auto"):
            smemkit.histogram(d, "auto")


def test_rules_for_bins(rng):
    """NumPy's estimators work on NumPy arrays."""
    x = shapes.normal(rng, 500, "float32")
    for rule in ("auto", "sturges", "fd"):
        check(smemkit.histogram(x, rule, backend="sim"), x, rule)


@pytest.mark.parametrize(
    ("x", "how"),
    [
        (np.zeros(3, "u1"), (255,)),
        (np.zeros(3, "u1"), ("auto",)),
        (np.zeros(3, "u1"), ([0, 1, 2],)),
        (np.zeros(3, "u1"), (256, (0, 128))),
        (np.zeros(3, "f4"), (0,)),
        (np.zeros(3, "f4"), (-4,)),
        (np.zeros(3, "f4"), (4, (2, 1))),
        (np.zeros(3, "f4"), (4, (0, np.nan))),
        (np.zeros(3, "f4"), (4, (0, np.inf))),
        (np.array([0, np.nan], "f4"), (4,)),
        (np.array([0, np.inf], "f4"), (4,)),
        (np.zeros(3, "f4"), ([0, 2, 1],)),
        (np.zeros(3, "f4"), ([[0, 1], [2, 3]],)),
        (np.zeros(3, "f4"), ("no rule",)),
        (np.array([1, np.nextafter(np.float32(1), np.float32(2))], "f4"), (2048,)),
    ],
)
def test_refused(x, how, machine):
    """Where NumPy raises ValueError, so does smemkit; for bytes where they are not by value."""
    with pytest.raises(ValueError) as caught:
        smemkit.histogram(x, *how, backend=machine)
    assert isinstance(caught.value, smemkit.ArgumentError)


@pytest.mark.parametrize(
    ("bins", "error", "words"),
    [
        (0, smemkit.ArgumentError, "bins is 0; there must be one at least"),
        (-4, smemkit.ArgumentError, "bins is -4; there must be one"),
        (2.5, smemkit.ArgumentTypeError, "bins is 2.5; a whole number of bins, or their edges"),
        ([0, 2, 1], smemkit.ArgumentError, "edge 2 is 1, below edge 1 with 2"),
    ],
)
def test_refused_bins(bins, error, words):
    with pytest.raises(error, match=f"histogram: .*{words}"):
        smemkit.histogram(np.zeros(3, "f4"), bins, backend="sim")


@pytest.mark.parametrize("variant", ["even", "auto"])
def test_close_to_edges(variant, rng):
    """Each edge and its neighbours, at any offset: NumPy's bin for every value."""
    tried = [(5000, (-408282.84375, -403010.78125))]  # edges at their slack, to the last bit
    for _ in range(40):
        bins = int(rng.choice([1, 3, 10, 100, 256, 1000, 5000]))
        low = np.float32(rng.standard_normal() * rng.choice([1e-30, 1e-3, 1, 1e3, 1e6]))
        high = low + np.float32(rng.choice([1e-3, 1, 1e4, 1e20]) * (0.1 + rng.random()))
        tried.append((bins, (float(low), float(high))))
    for bins, ends in tried:
        try:
            edges = np.histogram_bin_edges(np.empty(0, "f4"), bins, ends)
        except ValueError:  # float32 has fewer numbers there than edges
            continue
        up, down = (np.nextafter(edges, np.float32(end)) for end in (np.inf, -np.inf))
        x = rng.permutation(np.concatenate([edges, up, down, np.nextafter(up, np.float32(9e30))]))
        check(count(x, variant, "sim", bins, ends), x, bins, ends)


@pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
def test_edges_beyond_whole_numbers(variant, machine):
    """The largest int32 reaches no edge above it, the least lies above all edges below it."""
    info = np.iinfo(np.int32)
    x = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], np.int32)
    for edges in (
        [0, 2.0**31, 3e9],
        [-1e10, -5e9, 0, 1e10],
        [0, 2.0**31 - 0.5, 2.0**31],
        [-3e9, 0],
    ):
        check(count(x, variant, machine, edges), x, edges)


def test_refused_types(machine):
    for dtype in ("float64", "int64", "int16", "bool", "complex64"):
        with pytest.raises(TypeError, match="uint8 float32 int32") as caught:
            smemkit.histogram(np.zeros(3, dtype), backend=machine)
        assert isinstance(caught.value, smemkit.ArgumentTypeError)
    with pytest.raises(TypeError):
        smemkit.histogram(np.zeros(3, "f4"), 2.5, backend=machine)
    with pytest.raises(smemkit.ShapeError):
        smemkit.histogram(np.zeros(3, "f4"), 4, out=np.zeros(5, "int64"), backend=machine)
    with pytest.raises(TypeError, match="int64"):
        smemkit.histogram(np.zeros(3, "f4"), 4, out=np.zeros(4, "int32"), backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="lanes"):
        smemkit.histogram(np.zeros(3, "f4"), variant="lanes", backend=machine)


@each_variant
def test_large(variant, machine, rng):
    """More than one round of the blocks takes."""
    n = 9_000_013 if machine == "cuda" or variant in ("lane", "auto") else 1_200_013
    x = rng.integers(0, 256, n, dtype=np.uint8)
    assert np.array_equal(count(x, variant, machine), np.bincount(x, minlength=256))
    x = rng.standard_normal(n // 12, dtype=np.float32)
    check(count(x, variant, machine, 100), x, 100)


@pytest.mark.parametrize("variant", VARIANTS)
def test_beyond_32_bits(variant, cuda_missing):
    """More than 2^32 alike: counts have 64 bits. On the GPU: the simulator would need hours."""
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    n = (1 << 32) + 36
    nines = filled.fill(n, "uint8", 0x09090909, "cuda")
    got = smemkit.asnumpy(smemkit.histogram(nines, variant=variant))
    assert got[9] == n and got.sum() == n


@pytest.mark.parametrize(
    "ends", [5, (0, 255, 256), (0,), "ab", [[0, 256]], [[0], [1, 2]], np.zeros((2, 2)), (0, np.nan)]
)
def test_bytes_take_no_other_range(ends):
    """Whatever it is, it is refused as a range is."""
    with pytest.raises(smemkit.ArgumentError, match="uint8 is counted by value; range is"):
        smemkit.histogram(np.zeros(3, "uint8"), 256, ends, backend="sim")


@pytest.mark.parametrize("ends", [[0, 256], np.array([0, 255]), (0.0, 256.0), (np.uint8(0), 255)])
def test_the_ranges_of_bytes_in_any_form(ends):
    x = np.arange(256, dtype="uint8")
    assert (smemkit.histogram(x, 256, ends, backend="sim") == 1).all()


def test_edges_are_uploaded_once(machine, rng, monkeypatch):
    """Those of even bins, and on the default stream, behind which all others can use them."""
    x = smemkit.asarray(rng.standard_normal(2000, dtype="float32"), backend=machine)
    place, placed = _core._beside, []

    def count_arrays(d, given, *more):
        placed.extend([given] if isinstance(given, np.ndarray) else [])
        return place(d, given, *more)

    monkeypatch.setattr(_core, "_beside", count_arrays)
    with smemkit.Stream(backend=machine):
        got = [smemkit.asnumpy(smemkit.histogram(x, 7, (-2.5, 2.75))) for _ in range(2)]
    assert len(placed) == (1 if machine == "sim" else 2)  # whose streams do their work at once
    got += [smemkit.asnumpy(smemkit.histogram(x, 7, (-2.5, 2.75))) for _ in range(3)]
    assert len(placed) == (1 if machine == "sim" else 3)
    assert all(np.array_equal(one, got[0]) for one in got)
    check(got[0], smemkit.asnumpy(x), 7, (-2.5, 2.75))
    with pytest.raises(ValueError, match="read-only"):
        placed[0][0] = 0
    with pytest.raises(TypeError, match="takes a DeviceArray"):
        _core._by_default_stream(placed[0])
