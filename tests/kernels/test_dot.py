"""dot in every variant, type and size, on both machines, against NumPy."""

import numpy as np
import pytest
from support import filled, shapes

import smemkit

VARIANTS = tuple(smemkit.variants("dot"))
DTYPES = ("float32", "float64")
SIZES = (1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 511, 2047, 2048, 2049, 6149, 20_011)

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


@each_variant
@each_dtype
def test_integers_bit_for_bit(variant, dtype, machine, rng):
    for n in SIZES:
        x, y = shapes.integers(rng, n, dtype), shapes.integers(rng, n, dtype)
        before = x.copy(), y.copy()
        got = smemkit.dot(x, y, variant=variant, backend=machine)
        assert type(got) is np.dtype(dtype).type
        assert got == np.dot(x.astype(np.float64), y.astype(np.float64))
        assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])


@each_variant
@each_dtype
def test_every_place_counts(variant, dtype, machine):
    n = 4103
    for place in (0, 1, 31, 32, 255, 256, 2047, 2048, 4095, 4099, n - 1):
        x, y = np.zeros(n, dtype), np.zeros(n, dtype)
        x[place], y[place] = 3, 5
        assert smemkit.dot(x, y, variant=variant, backend=machine) == 15


@each_variant
@each_dtype
def test_normal_data_within_the_bound(variant, dtype, machine, rng):
    for n in (1000, 4097, 30_000):
        x, y = shapes.normal(rng, n, dtype), shapes.normal(rng, n, dtype)
        wide = x.astype(np.longdouble), y.astype(np.longdouble)
        bound = 4 * np.sqrt(n) * np.finfo(dtype).eps * (np.abs(wide[0]) @ np.abs(wide[1]))
        got = smemkit.dot(x, y, variant=variant, backend=machine)
        assert abs(got - wide[0] @ wide[1]) <= bound


@each_variant
@each_dtype
def test_nothing(variant, dtype, machine):
    """The sum of nothing is 0, and is written."""
    x = np.zeros(0, dtype)
    got = smemkit.dot(x, x, variant=variant, backend=machine)
    assert got == 0 and got.dtype == dtype
    out = shapes.poisoned((), dtype)
    assert smemkit.dot(x, x, variant=variant, out=out, backend=machine) is out
    assert out == 0


@each_variant
@each_dtype
def test_nan_and_infinity(variant, dtype, machine):
    x, y = np.ones(2100, dtype), np.ones(2100, dtype)
    x[2049] = np.inf
    assert smemkit.dot(x, y, variant=variant, backend=machine) == np.inf
    y[2049] = 0
    assert np.isnan(smemkit.dot(x, y, variant=variant, backend=machine))
    x[2049], x[7] = 1, np.nan
    assert np.isnan(smemkit.dot(x, y, variant=variant, backend=machine))


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
@pytest.mark.parametrize("variant", VARIANTS)
def test_layouts(layout, variant, machine, rng):
    """Rows and columns of arrays in every layout."""
    a = shapes.LAYOUTS[layout](shapes.integers(rng, (70, 70), "float32"))
    for x, y in ((a[3], a[5]), (a[:, 3], a[7]), (a[::-1, 2], a[::-1, 1])):
        got = smemkit.dot(x, y, variant=variant, backend=machine)
        assert got == np.asarray(x, np.float64) @ np.asarray(y, np.float64)


@each_variant
@each_dtype
def test_out(variant, dtype, machine, rng):
    x, y = shapes.integers(rng, 777, dtype), shapes.integers(rng, 777, dtype)
    out = shapes.poisoned((), dtype)
    for _ in range(2):  # what stands in out is not added to
        assert smemkit.dot(x, y, variant=variant, out=out, backend=machine) is out
        assert out == x @ y


@each_variant
@each_dtype
def test_device_arrays(variant, dtype, machine, rng):
    x, y = shapes.integers(rng, 3001, dtype), shapes.integers(rng, 3001, dtype)
    dx, dy = smemkit.asarray(x, backend=machine), smemkit.asarray(y, backend=machine)
    got = smemkit.dot(dx, dy, variant=variant)
    assert isinstance(got, smemkit.DeviceArray) and got.shape == () and got.backend == machine
    assert smemkit.asnumpy(got) == x @ y
    out = smemkit.asarray(shapes.poisoned((), dtype), backend=machine)
    for _ in range(2):
        assert smemkit.dot(dx, dy, variant=variant, out=out) is out
        assert smemkit.asnumpy(out) == x @ y
    assert smemkit.asnumpy(smemkit.dot(dx, dx, variant=variant)) == x @ x


def test_refused(machine):
    x = np.ones(4, np.float32)
    with pytest.raises(smemkit.ShapeError, match="n is 4 in x and 5 in y"):
        smemkit.dot(x, np.ones(5, np.float32), backend=machine)
    for bad in (np.ones((2, 2), np.float32), np.float32(1)):
        with pytest.raises(smemkit.ShapeError):
            smemkit.dot(bad, bad, backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"float(32|64).*float(32|64)"):
        smemkit.dot(x, x.astype(np.float64), backend=machine)
    for dtype in ("int32", "float16", "complex64"):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"float32.*float64"):
            smemkit.dot(x.astype(dtype), x.astype(dtype), backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="shufle"):
        smemkit.dot(x, x, variant="shufle", backend=machine)


@each_variant
def test_large(variant, machine, rng):
    """Many blocks; sums stay exact."""
    n = (1 << 22) + 77 if machine == "cuda" else 300_003
    x, y = shapes.integers(rng, n, "float32", 2), shapes.integers(rng, n, "float32", 2)
    assert smemkit.dot(x, y, variant=variant, backend=machine) == np.dot(x, y.astype(np.float64))


@pytest.mark.parametrize("variant", VARIANTS)
def test_beyond_31_bits(variant, cuda_missing, whole_device):
    """More than 2^31 elements: on the GPU alone, for the simulator would need hours."""
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    n = (1 << 31) + 5
    twos = filled.fill(n, "float32", np.float32(2).view(np.uint32), "cuda")
    got = float(smemkit.asnumpy(smemkit.dot(twos, twos, variant=variant)))
    # added one by one, fours are lost where float32 has no more digits for them
    least = 2.0**26 if variant == "atomic" else 4 * n - 1024
    assert least <= got <= 4 * n + 1024
