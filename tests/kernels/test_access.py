"""vector_add and gather in every variant, type and size, on both machines, against NumPy."""

import numpy as np
import pytest
from support import shapes

import smemkit

ADDS, GATHERS = tuple(smemkit.variants("vector_add")), tuple(smemkit.variants("gather"))
SIZES = (1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 6151)

each_add = pytest.mark.parametrize("variant", [*ADDS, "auto"])
each_gather = pytest.mark.parametrize("variant", [*GATHERS, "auto"])
each_number = pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
each_size = pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])

# vector_add --------------------------------------------------------------------------------------


@each_add
@each_number
def test_sums(variant, dtype, machine, rng):
    for n in SIZES:
        x, y = (shapes.normal(rng, n, "float64") * 1000 for _ in range(2))
        x, y = x.astype(dtype), y.astype(dtype)
        out = np.full(n, 77, dtype)
        assert smemkit.vector_add(x, y, variant=variant, out=out, backend=machine) is out
        assert np.array_equal(out, x + y)  # one rounding: the same bits


@each_add
def test_integers_wrap(variant, machine):
    x = np.full(2100, 2**31 - 1, "int32")
    y = np.arange(2100, dtype="int32")
    got = smemkit.vector_add(x, y, variant=variant, backend=machine)
    assert np.array_equal(got, x + y) and got[1] == -(2**31)


@each_add
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(variant, dtype, machine):
    values = np.array([0.0, -0.0, 1, np.inf, -np.inf, np.nan], dtype)
    values = np.append(values, [np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal])
    x, y = (side.ravel() for side in np.meshgrid(np.tile(values, 8), values))
    with np.errstate(all="ignore"):
        expected = x + y
    got = smemkit.vector_add(x, y, variant=variant, backend=machine)
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.array_equal(np.signbit(got[got == 0]), np.signbit(expected[expected == 0]))


def test_layouts(machine, rng):
    a = shapes.integers(rng, (2100, 2), "float32")
    x, y = a[:, 0], a[::-1, 1]
    assert np.array_equal(smemkit.vector_add(x, y, backend=machine), x + y)
    swapped = x.astype(">f4")
    assert np.array_equal(smemkit.vector_add(swapped, y, backend=machine), x + y)


def test_vector_add_in_place(machine, rng):
    """The right result, or a refusal: never a wrong one."""
    x, y = (shapes.integers(rng, 5000, "float32") for _ in range(2))
    before = x.copy()
    try:
        smemkit.vector_add(x, y, out=x, backend=machine)
    except smemkit.Error:
        assert np.array_equal(x, before)
    else:
        assert np.array_equal(x, before + y)


def test_vector_add_refuses(machine):
    x = np.ones(4, "float32")
    with pytest.raises(smemkit.ShapeError, match="n is 4 in x and 5 in y"):
        smemkit.vector_add(x, np.ones(5, "float32"), backend=machine)
    with pytest.raises(smemkit.ShapeError):
        smemkit.vector_add(np.ones((2, 2), "float32"), x, backend=machine)
    for bad in ("uint8", "float16", "int64", "complex64"):
        with pytest.raises(smemkit.ArgumentTypeError, match="float32"):
            smemkit.vector_add(x.astype(bad), x.astype(bad), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError):
        smemkit.vector_add(x, x.astype("float64"), backend=machine)


def test_empty(machine):
    nothing = np.empty(0, "float32")
    assert smemkit.vector_add(nothing, nothing, backend=machine).shape == (0,)
    index = np.empty(0, "int64")
    assert smemkit.gather(nothing, index, backend=machine).shape == (0,)
    assert smemkit.gather(np.ones(3, "float32"), index, backend=machine).shape == (0,)


@each_add
def test_vector_add_device_arrays(variant, machine, rng):
    x, y = (shapes.integers(rng, 4099, "float64") for _ in range(2))
    left, right = (smemkit.asarray(side, backend=machine) for side in (x, y))
    got = smemkit.vector_add(left, right, variant=variant)
    assert isinstance(got, smemkit.DeviceArray)
    assert np.array_equal(smemkit.asnumpy(got), x + y)


# gather ------------------------------------------------------------------------------------------


@each_gather
@each_size
def test_gather(variant, dtype, machine, rng):
    for n in (1, 7, 1000):
        x = rng.integers(1, 2**8, n).astype(dtype)
        for m in SIZES:
            index = rng.integers(-n, n, m)
            before, out = index.copy(), np.full(m, 77, dtype)
            assert smemkit.gather(x, index, variant=variant, out=out, backend=machine) is out
            assert np.array_equal(out, x[index])
            assert np.array_equal(index, before)


@each_gather
@each_size
def test_indices_outside_leave_zero_on_a_device(variant, dtype, machine, rng):
    """The kernel's side: nothing outside is read, and the place is 0."""
    n = 50
    x = rng.integers(1, 2**8, n).astype(dtype)
    index = rng.integers(-2 * n, 2 * n, 3000)
    index[:6] = [n, -n - 1, 2**63 - 1, -(2**63), -n, n - 1]
    inside = (index >= -n) & (index < n)
    expected = np.where(inside, x[np.where(inside, index, 0)], 0)
    arrays = (smemkit.asarray(side, backend=machine) for side in (x, index))
    got = smemkit.asnumpy(smemkit.gather(*arrays, variant=variant))
    assert np.array_equal(got, expected) and 0 < inside.sum() < index.size


def test_gather_from_nothing(machine):
    x, index = (smemkit.empty(0, "float32", backend=machine), np.array([0, -1, 3]))
    got = smemkit.gather(x, smemkit.asarray(index, backend=machine))
    assert smemkit.asnumpy(got).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
def test_gather_any_type(dtype, machine, rng):
    x = rng.integers(0, 2, 100).astype(dtype)
    index = rng.integers(-100, 100, 333)
    got = smemkit.gather(x, index, backend=machine)
    assert got.dtype == x.dtype and np.array_equal(got, x[index])


def test_gather_refuses(machine):
    x, index = np.ones(4, "float32"), np.zeros(3, "int64")
    with pytest.raises(smemkit.ShapeError):
        smemkit.gather(np.ones((2, 2), "float32"), index, backend=machine)
    with pytest.raises(smemkit.ShapeError):
        smemkit.gather(x, index.reshape(1, 3), backend=machine)
    for bad in ("float64", "bool", "complex64"):
        with pytest.raises(smemkit.ArgumentTypeError):
            smemkit.gather(x, index.astype(bad), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError):
        smemkit.gather(np.ones(4, "complex128"), index, backend=machine)
    with pytest.raises(smemkit.ShapeError, match="m is 3"):
        smemkit.gather(x, index, out=np.zeros(4, "float32"), backend=machine)


@pytest.mark.parametrize("bad", [4, -5, 2**40, -(2**63)])
def test_host_indices_outside_are_an_error(bad, machine):
    x, index = np.ones(4, "float32"), np.array([0, 3, bad, -4])
    out = np.full(4, 77, "float32")
    with pytest.raises(IndexError, match=rf"{bad} is out of bounds.*n = 4") as caught:
        smemkit.gather(x, index, out=out, backend=machine)
    assert isinstance(caught.value, smemkit.Error)
    assert (out == 77).all()
    with pytest.raises(IndexError):
        smemkit.gather(np.empty(0, "float32"), [0], backend=machine)
    with pytest.raises(IndexError):
        smemkit.gather(x, np.array([2**64 - 1], "uint64"), backend=machine)


def test_lists_and_narrow_indices(machine):
    assert smemkit.gather([1.0, 2.0, 3.0], [2, -3], backend=machine).tolist() == [3, 1]
    x = np.arange(300.0)
    for dtype in ("uint8", "int16", "uint32", "uint64"):
        index = np.arange(250).astype(dtype)
        assert np.array_equal(smemkit.gather(x, index, backend=machine), x[index])
    assert smemkit.gather(x, [], backend=machine).shape == (0,)


# What the indices cost ---------------------------------------------------------------------------


@pytest.mark.parametrize("variant", GATHERS)
def test_indices_decide_the_sectors(variant, rng):
    x, m = np.zeros(1 << 17, "float32"), 4096

    def count(index):
        report = smemkit.profile(smemkit.gather, x, index, variant=variant, backend="sim")
        assert report.counters["global.load.requests"] == 2 * m // 32
        return report.counters["global.load.sectors"] - m // 32 * 8  # less the indices' own

    steps = np.arange(m)
    for stride, sectors in ((0, 1), (1, 4), (2, 8), (4, 16), (8, 32), (16, 32), (32, 32)):
        assert count(steps * stride) == sectors * m // 32
    assert count(steps + 1) == 5 * m // 32
    assert count(steps // 32 * 32 + rng.permutation(32)[steps % 32]) == 4 * m // 32
    assert 31 * m // 32 < count(rng.integers(0, x.size, m)) <= 32 * m // 32
