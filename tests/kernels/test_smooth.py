"""smooth in every variant, type and size, on both machines, against SciPy."""

import numpy as np
import pytest
from scipy import ndimage
from support import shapes

import smemkit

VARIANTS = tuple(smemkit.variants("smooth"))
DTYPES = ("float32", "float64")
SIZES = (1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 255, 256, 257, 1023, 2046, 2047, 2048, 2049, 6147)

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def mean_of(x):
    return ndimage.uniform_filter1d(np.asarray(x, np.float64), size=3, mode="nearest")


@each_variant
@each_dtype
def test_multiples_of_three_bit_for_bit(variant, dtype, machine, rng):
    for n in SIZES:
        x = 3 * shapes.integers(rng, n, dtype)
        before, out = x.copy(), shapes.poisoned(n, dtype)
        assert smemkit.smooth(x, variant=variant, out=out, backend=machine) is out
        assert np.array_equal(out, mean_of(x)), n
        assert np.array_equal(x, before)
        assert n < 16 or np.any(out)  # a few numbers may all be 0


@each_variant
@each_dtype
def test_normal_data_within_the_bound(variant, dtype, machine, rng):
    for n in (2, 1000, 5001):
        x = shapes.normal(rng, n, dtype)
        wide = np.pad(x.astype(np.longdouble), 1, mode="edge")
        sizes = np.abs(wide[:-2]) + np.abs(wide[1:-1]) + np.abs(wide[2:])
        got = smemkit.smooth(x, variant=variant, backend=machine)
        expected = (wide[:-2] + wide[1:-1] + wide[2:]) / 3
        assert (np.abs(got - expected) <= 2 * np.finfo(dtype).eps * sizes / 3).all()


@each_dtype
def test_all_variants_give_the_same_bits(dtype, machine, rng):
    x = shapes.normal(rng, 4099, dtype)
    first, *others = [smemkit.smooth(x, variant=name, backend=machine) for name in VARIANTS]
    assert all(first.tobytes() == other.tobytes() for other in others)


@each_variant
@each_dtype
def test_every_place_reaches_its_neighbours_only(variant, dtype, machine):
    n = 4101
    for place in (0, 1, 3, 4, 31, 32, 255, 256, 1023, 1024, 2047, 2048, 4095, 4096, n - 2, n - 1):
        x = np.zeros(n, dtype)
        x[place] = 6
        got = smemkit.smooth(x, variant=variant, backend=machine)
        assert np.array_equal(got, mean_of(x))
        assert got.sum() == 6  # at an end, what is lost beyond it is what its element counts twice


@each_variant
def test_nan_and_infinity_stay_where_they_are(variant, machine):
    x = np.arange(600, dtype=np.float32) * 3
    x[[0, 255, 599]] = np.nan
    x[[100, 511]] = np.inf
    got = smemkit.smooth(x, variant=variant, backend=machine)
    wide = np.pad(x, 1, mode="edge")
    expected = (wide[:-2] + wide[1:-1] + wide[2:]) / np.float32(3)
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.isnan(got).sum() == 7 and np.isinf(got).sum() == 6


@pytest.mark.parametrize("variant", VARIANTS)
@each_dtype
def test_nothing(variant, dtype, machine):
    got = smemkit.smooth(np.zeros(0, dtype), variant=variant, backend=machine)
    assert got.shape == (0,) and got.dtype == dtype


@pytest.mark.parametrize("variant", VARIANTS)
def test_layouts(variant, machine, rng):
    for step in (1, 2, -1, -3):
        x = (3 * shapes.integers(rng, 900, "float64"))[::step]
        assert np.array_equal(smemkit.smooth(x, variant=variant, backend=machine), mean_of(x))
    swapped = (3 * shapes.integers(rng, 70, "float32")).astype(">f4")
    got = smemkit.smooth(swapped, variant=variant, backend=machine)
    assert np.array_equal(got, mean_of(swapped)) and got.dtype == np.float32


@pytest.mark.parametrize("variant", VARIANTS)
@each_dtype
def test_device_arrays(variant, dtype, machine, rng):
    x = 3 * shapes.integers(rng, 2500, dtype)
    device = smemkit.asarray(x, backend=machine)
    got = smemkit.smooth(device, variant=variant)
    assert isinstance(got, smemkit.DeviceArray) and got.backend == machine
    assert np.array_equal(smemkit.asnumpy(got), mean_of(x))
    assert np.array_equal(smemkit.asnumpy(device), x)


def test_refused(machine):
    for dtype in ("int32", "uint8", "float16", "complex64"):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"float32.*float64"):
            smemkit.smooth(np.ones(5, dtype), backend=machine)
    for shape in ((), (3, 3)):
        with pytest.raises(smemkit.ShapeError, match=r"\bx\b"):
            smemkit.smooth(np.ones(shape, np.float32), backend=machine)
    with pytest.raises(smemkit.ShapeError, match="n is 5 in x and 4 in out"):
        smemkit.smooth(np.ones(5), out=np.ones(4), backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="vectorized"):
        smemkit.smooth(np.ones(5), variant="vectorised", backend=machine)
