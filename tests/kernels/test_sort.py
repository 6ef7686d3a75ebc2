"""sort in every variant, type and length, on both machines, against NumPy."""

import numpy as np
import pytest
from support import shapes

import smemkit

VARIANTS = tuple(smemkit.variants("sort"))
DTYPES = ("float32", "float64", "int32", "int64")
LENGTHS = (1, 2, 3, 31, 32, 33, 64, 100, 511, 512, 513, 1000, 1024, 1025, 2048, 3000, 4095, 4096)

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def draw(rng, shape, dtype):
    """Few values, so that many are alike, and the extremes of the type."""
    x = rng.integers(-50, 50, shape).astype(dtype)
    kind = np.dtype(dtype).kind
    ends = (-np.inf, np.inf) if kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    flat = x.reshape(-1)
    flat[rng.integers(0, flat.size, 4)] = np.array([*ends, *ends]).astype(dtype)
    return x


@each_variant
@each_dtype
def test_every_length(variant, dtype, machine, rng):
    for n in LENGTHS:
        x = draw(rng, (n,), dtype)
        before, out = x.copy(), np.zeros(n, dtype)
        assert smemkit.sort(x, variant=variant, out=out, backend=machine) is out
        assert np.array_equal(out, np.sort(x)), n
        assert np.array_equal(x, before)


@each_variant
def test_nan_is_last(variant, machine, rng):
    for n in (5, 64, 777):
        x = draw(rng, (n,), "float32")
        x[rng.integers(0, n, 3)] = np.nan
        got = smemkit.sort(x, variant=variant, backend=machine)
        assert np.array_equal(got, np.sort(x), equal_nan=True)
    nothing = np.full(40, np.nan, "float64")
    assert np.isnan(smemkit.sort(nothing, variant=variant, backend=machine)).all()


@each_variant
@pytest.mark.parametrize("shape", [(3, 40), (1, 7), (37, 16), (2, 3, 100), (5, 1), (17, 32)])
def test_rows(variant, shape, machine, rng):
    x = draw(rng, shape, "int32")
    assert np.array_equal(smemkit.sort(x, variant=variant, backend=machine), np.sort(x))
    d = smemkit.asarray(x, backend=machine)
    assert np.array_equal(smemkit.asnumpy(smemkit.sort(d, variant=variant)), np.sort(x))
    for view in (lambda x: x[..., ::-1], lambda x: x[1:], lambda x: x[..., 1:], lambda x: x.T):
        got = smemkit.asnumpy(smemkit.sort(view(d), variant=variant))
        assert np.array_equal(got, np.sort(view(x)))


@each_variant
@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0)])
def test_nothing(variant, shape, machine):
    got = smemkit.sort(np.zeros(shape, "float32"), variant=variant, backend=machine)
    assert got.shape == shape


@each_variant
def test_what_was_given_stays_in_its_row(variant, machine, rng):
    """Random bits: nothing is lost, and nothing comes twice."""
    x = rng.integers(-(1 << 62), 1 << 62, (9, 700))
    assert np.array_equal(smemkit.sort(x, variant=variant, backend=machine), np.sort(x))


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
def test_layouts(layout, machine, rng):
    x = shapes.LAYOUTS[layout](shapes.integers(rng, (13, 40), "float32"))
    assert np.array_equal(smemkit.sort(x, backend=machine), np.sort(np.array(x)))


def test_refusals(machine):
    for variant in (*VARIANTS, "auto"):
        with pytest.raises(smemkit.ShapeError, match=r"4097 elements; a block sorts 4096 at most"):
            smemkit.sort(np.zeros((2, 4097), "float32"), variant=variant, backend=machine)
    with pytest.raises(smemkit.ShapeError, match="x"):
        smemkit.sort(np.float32(1), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match="uint8"):
        smemkit.sort(np.zeros(3, "uint8"), backend=machine)


def test_auto_takes_registers():
    report = smemkit.profile(smemkit.sort, np.zeros((4, 100), "float32"), backend="sim")
    assert [launch.kernel for launch in report.launches] == ["sort_shuffle_float32"]
    assert report.launches[0].grid[0] == 1  # four rows of 128 places


# Why the variants differ --------------------------------------------------------------------------


def count(variant, x, counter):
    return smemkit.profile(smemkit.sort, x, variant=variant, backend="sim").counters[counter]


@each_dtype
def test_only_bitonic_has_conflicts_and_no_variant_diverges(dtype, rng):
    x = draw(rng, (1024,), dtype)
    for variant in VARIANTS:
        conflicts = count(variant, x, "shared.load.conflicts")
        assert (conflicts > 0) == (variant == "bitonic"), variant
        assert count(variant, x, "branch.divergent") == 0, variant


def test_a_network_does_the_same_whatever_the_values_are(rng):
    """Sorted, reversed and random rows take as many instructions."""
    x = np.arange(512, dtype="float32")
    for variant in VARIANTS:
        rows = (x, x[::-1].copy(), rng.permutation(x))
        assert len({count(variant, row, "instructions.warp") for row in rows}) == 1


def test_registers_pass_shared_memory_seldom():
    x = np.zeros(4096, "float32")
    swizzled, shuffle = (
        count(name, x, "shared.load.instructions") for name in ("swizzled", "shuffle")
    )
    assert 6 * shuffle < swizzled
    assert count("shuffle", x, "barrier.count") * 3 < count("swizzled", x, "barrier.count")
