"""reduce in every variant, operation, type and size, on both machines, against NumPy."""

import re

import numpy as np
import pytest
from support import filled, shapes

import smemkit

VARIANTS = tuple(smemkit.variants("reduce"))
FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64")
OPS = ("sum", "max", "min")

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
each_op = pytest.mark.parametrize("op", OPS)


def sizes_of(variant):
    """Where a kernel may go wrong: about a tile, a tile of tiles, a pack, a warp."""
    tile = 2048 if variant == "auto" else smemkit.variants("reduce")[variant]["tile"][0]
    sizes = {1, 2, 3, 4, 5, 7, 31, 32, 33, tile - 1, tile, tile + 1, 3 * tile + 5, 20_011}
    return sorted(sizes | ({tile * tile + 1} if tile == 256 else {7 * 2048 + 3}))


def check(got, x, op):
    """`got` is NumPy's answer, type included."""
    expected = getattr(np, op)(np.asarray(x))
    assert type(got) is type(expected)
    assert np.array_equal(got, expected, equal_nan=got.dtype.kind == "f"), (got, expected)


@each_variant
@each_op
@each_dtype
def test_integers_bit_for_bit(variant, op, dtype, machine, rng):
    for n in sizes_of(variant):
        x = shapes.integers(rng, n, dtype)
        before = x.copy()
        check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)
        assert np.array_equal(x, before)


@each_variant
@each_op
def test_every_place_counts(variant, op, machine):
    """One element unlike the others, in each place of interest."""
    n = 5000 if variant in ("auto", "single_pass", "overlapped") else 2500
    for place in (0, 1, 31, 32, 255, 256, 2047, 2048, n - 5, n - 2, n - 1):
        x = np.zeros(n, np.float32)
        x[place] = -3 if op == "min" else 3
        assert smemkit.reduce(x, op, variant=variant, backend=machine) == x[place]


@each_variant
@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_data_within_the_bound(variant, dtype, machine, rng):
    for n in (1000, 4097, 50_000):
        x = shapes.normal(rng, n, dtype)
        exact = np.sum(x, dtype=np.longdouble)
        bound = 4 * np.sqrt(n) * np.finfo(dtype).eps * np.abs(x).sum(dtype=np.float64)
        got = smemkit.reduce(x, variant=variant, backend=machine)
        assert abs(got - exact) <= bound
        for op in ("max", "min"):
            check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)


@each_variant
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_wherever_it_stands(variant, dtype, machine, rng):
    """NaN is NumPy's answer of all three, whatever lies before and behind it."""
    x = shapes.normal(rng, 4100, dtype)
    for place in (0, 1, 2, 3, 40, 300, 2048, 4097, 4099):
        spoilt = x.copy()
        spoilt[place] = np.nan
        for op in OPS:
            assert np.isnan(smemkit.reduce(spoilt, op, variant=variant, backend=machine)), op
    x = np.full(3, np.nan, dtype)
    for op in OPS:
        check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)


@each_variant
@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities(variant, dtype, machine, rng):
    x = shapes.normal(rng, 3000, dtype)
    x[7], x[2900] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        for op in OPS:
            check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)
    for value in (np.inf, -np.inf):
        for n in (1, 5, 3000):
            x = np.full(n, value, dtype)
            for op in OPS:
                check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)


@each_variant
@pytest.mark.parametrize("dtype", INTEGERS)
def test_extremes_of_integers(variant, dtype, machine):
    """They survive max and min; int32 is added in int64, as by NumPy, and int64 wraps as there."""
    info = np.iinfo(dtype)
    for value in (info.min, info.max):
        for n in (1, 2, 3, 2049, 10_000):
            x = np.full(n, value, dtype)
            for op in OPS:
                check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)
    x = np.array([info.max, info.min, 0], dtype)
    for op in OPS:
        check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)


@each_dtype
def test_types_of_results(dtype, machine):
    x = np.ones(3, dtype)
    wide = "int64" if dtype == "int32" else dtype
    assert smemkit.reduce(x, backend=machine).dtype == wide
    assert smemkit.reduce(x, "max", backend=machine).dtype == dtype
    assert isinstance(smemkit.reduce(x, "min", backend=machine), np.generic)


@each_variant
@each_dtype
def test_nothing(variant, dtype, machine):
    """The sum of nothing is 0; it has no extremes."""
    for shape in (0, (0, 3), (2, 0, 5)):
        x = np.zeros(shape, dtype)
        check(smemkit.reduce(x, variant=variant, backend=machine), x, "sum")
        for op in ("max", "min"):
            with pytest.raises(ValueError, match=op) as caught:
                smemkit.reduce(x, op, variant=variant, backend=machine)
            assert isinstance(caught.value, smemkit.ArgumentError)
    out = np.full((), 77, smemkit.reduce(np.ones(1, dtype)).dtype)
    assert smemkit.reduce(np.zeros(0, dtype), variant=variant, out=out, backend=machine) is out
    assert out == 0


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
@pytest.mark.parametrize("variant", ["sequential", "single_pass", "overlapped"])
def test_layouts(layout, variant, machine, rng):
    for shape in ((6, 5), (67, 45)):
        x = shapes.LAYOUTS[layout](shapes.integers(rng, shape, "float32"))
        for op in OPS:
            got = smemkit.reduce(x, op, variant=variant, backend=machine)
            assert got == getattr(np, op)(np.asarray(x, np.float64))


def test_shapes_and_what_is_no_array(machine, rng):
    x = shapes.integers(rng, (3, 4, 5, 2), "float64")
    check(smemkit.reduce(x, "max", backend=machine), x, "max")
    check(smemkit.reduce(np.float64(3.5), backend=machine), np.float64(3.5), "sum")
    check(smemkit.reduce([1.0, 2.0, 4.0], backend=machine), [1.0, 2.0, 4.0], "sum")
    check(smemkit.reduce(x, "sum", None, backend=machine), x, "sum")


@each_variant
def test_out(variant, machine, rng):
    for dtype in FLOATS:
        x, out = shapes.integers(rng, 3001, dtype), shapes.poisoned((), dtype)
        assert smemkit.reduce(x, variant=variant, out=out, backend=machine) is out
        assert out == x.sum()
    x = shapes.integers(rng, 300, "int32")
    with pytest.raises(TypeError, match="int64"):
        smemkit.reduce(x, variant=variant, out=np.zeros((), "int32"), backend=machine)
    with pytest.raises(smemkit.ShapeError):
        smemkit.reduce(x, variant=variant, out=np.zeros(1, "int64"), backend=machine)


@each_variant
@each_op
def test_device_arrays(variant, op, machine, rng):
    x = shapes.integers(rng, (40, 77), "int32")
    d = smemkit.asarray(x, backend=machine)
    got = smemkit.reduce(d, op, variant=variant)
    assert isinstance(got, smemkit.DeviceArray) and got.shape == () and got.backend == machine
    check(smemkit.asnumpy(got)[()], x, op)
    out = smemkit.empty((), got.dtype.name, backend=machine)
    for _ in range(3):  # what a call leaves behind must not reach the next
        assert smemkit.reduce(d, op, variant=variant, out=out) is out
        check(smemkit.asnumpy(out)[()], x, op)


@each_variant
def test_the_same_bits_again(variant, machine, rng):
    """The order of summation is fixed: no variant adds by float atomics."""
    x = shapes.normal(rng, 30_001, "float32")
    first = smemkit.reduce(x, variant=variant, backend=machine)
    assert all(smemkit.reduce(x, variant=variant, backend=machine) == first for _ in range(3))


def test_refused(machine):
    x = np.ones(4, np.float32)
    for dtype in ("float16", "uint8", "bool", "complex64", "uint64", "O"):
        with pytest.raises(TypeError, match=r"float32.*float64.*int32") as caught:
            smemkit.reduce(np.ones(4, dtype), backend=machine)
        assert isinstance(caught.value, smemkit.ArgumentTypeError)
    for op in ("median", "", "Sum"):
        with pytest.raises(ValueError, match="sum max min") as caught:
            smemkit.reduce(x, op, backend=machine)
        assert isinstance(caught.value, smemkit.ArgumentError)
    with pytest.raises(ValueError, match="divergant"):
        smemkit.reduce(x, variant="divergant", backend=machine)


@each_variant
def test_large(variant, machine, rng):
    """More elements than one round of the blocks takes, and more partial results than a tile."""
    n = (1 << 26) + 77 if machine == "cuda" else 5_000_003
    if machine == "sim" and variant in ("divergent", "conflicting", "sequential"):
        n = 256 * 256 * 5 + 77
    x = shapes.integers(rng, n, "int32")
    for op in OPS:
        check(smemkit.reduce(x, op, variant=variant, backend=machine), x, op)


@pytest.mark.parametrize("variant", VARIANTS)
def test_beyond_31_bits(variant, cuda_missing, whole_device):
    """More than 2^31 elements: on the GPU alone, for the simulator would need hours."""
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    n = (1 << 31) + (1 << 20) + 3
    ones = filled.fill(n, "int32", 1, "cuda")
    assert smemkit.asnumpy(smemkit.reduce(ones, variant=variant)) == n
    assert smemkit.asnumpy(smemkit.reduce(ones, "max", variant=variant)) == 1


@each_dtype
def test_auto_takes_one_launch(dtype):
    """Where the blocks of a tree would keep more of the machine busy too: a launch costs more."""
    for n in (1, 2048, 2049, 1 << 14, 1 << 16, 1 << 19):
        report = smemkit.profile(smemkit.reduce, np.zeros(n, dtype), backend="sim")
        (launch,) = report.launches
        assert launch.kernel.startswith("reduce_overlapped_sum_"), n


def test_overlapped_waits_before_it_touches_memory():
    """Its launch may begin while others still write what it reads."""
    entries = smemkit.ptx("reduce", "overlapped").split(".entry ")[1:]
    assert entries
    for entry in entries:
        before, wait, after = entry.partition("griddepcontrol.wait;")
        assert wait, entry.partition("(")[0]
        accesses = re.compile(r"\b(?:ld|st|atom|red)\.(?!param)")
        assert not accesses.search(before) and accesses.search(after)


def test_filled(machine):
    """What the test above relies on."""
    assert (smemkit.asnumpy(filled.fill((3, 401), "int32", 7, machine)) == 7).all()
