"""scan in every variant, operation, kind, type and size, on both machines, against NumPy."""

import numpy as np
import pytest
from support import filled, shapes

import smemkit
from smemkit.bench.families.scan import Scan

VARIANTS = tuple(smemkit.variants("scan"))
FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64")
OPS, KINDS = ("sum", "max", "min"), ("inclusive", "exclusive")
UFUNCS = {"sum": np.add, "max": np.maximum, "min": np.minimum}

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
each_op = pytest.mark.parametrize("op", OPS)
each_kind = pytest.mark.parametrize("kind", KINDS)


def sizes_of(variant):
    """Where a kernel may go wrong: about a tile, a tile of tiles, a pack, a warp."""
    tile = smemkit.variants("scan")["single_pass" if variant == "auto" else variant]["tile"][0]
    sizes = {1, 2, 3, 4, 5, 31, 32, 33, 255, 257, tile - 1, tile, tile + 1, 3 * tile + 5}
    return sorted(sizes | ({tile * tile + 1} if tile == 512 else {33 * tile + 7}))


def check(got, x, op="sum", kind="inclusive"):
    """`got` is what NumPy accumulates, type included."""
    expected = Scan.oracle(np.asarray(x), op, kind)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


@each_variant
@each_op
@each_kind
@each_dtype
def test_integers_bit_for_bit(variant, op, kind, dtype, machine, rng):
    for n in sizes_of(variant):
        if n > 1 << 17 and (op, kind, dtype) != ("sum", "inclusive", "int32"):
            continue
        x = shapes.integers(rng, n, dtype)
        before, out = x.copy(), np.full(n, 77, Scan.oracle(x[:1], op, kind).dtype)
        got = smemkit.scan(x, op, kind, variant=variant, out=out, backend=machine)
        assert got is out
        check(got, x, op, kind)
        assert np.array_equal(x, before)


@each_variant
@each_kind
def test_every_place_counts(variant, kind, machine):
    """One element unlike the others, in each place of interest."""
    n = 13_000
    for place in (0, 1, 3, 4, 31, 32, 127, 255, 511, 512, 2047, 2048, 12_287, 12_288, n - 1):
        x = np.zeros(n, np.float32)
        x[place] = 3
        check(smemkit.scan(x, "sum", kind, variant=variant, backend=machine), x, "sum", kind)
        check(smemkit.scan(-x, "min", kind, variant=variant, backend=machine), -x, "min", kind)


@each_variant
@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_data_within_the_bound(variant, dtype, machine, rng):
    for n in (1000, 50_000):
        x = shapes.normal(rng, n, dtype)
        exact = np.cumsum(x, dtype=np.longdouble)
        steps = np.arange(1, n + 1)
        bound = 4 * np.sqrt(steps) * np.finfo(dtype).eps * np.cumsum(np.abs(x), dtype="float64")
        got = smemkit.scan(x, variant=variant, backend=machine)
        assert (np.abs(got - exact) <= bound).all()


@each_variant
@each_op
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinity(variant, op, dtype, machine):
    """A NaN stays from its place on; two infinities of unlike sign are one in a sum."""
    x = np.arange(13_000, dtype=dtype) % 7
    for places in ({0: np.nan}, {12_999: np.nan}, {700: np.inf, 12_500: -np.inf}, {9000: np.nan}):
        y = x.copy()
        for place, value in places.items():
            y[place] = value
        with np.errstate(invalid="ignore"):  # NumPy's own sum of two infinities
            check(smemkit.scan(y, op, variant=variant, backend=machine), y, op)


@each_variant
def test_integers_to_the_end_of_their_range(variant, machine):
    least, most = np.iinfo("int32").min, np.iinfo("int32").max
    x = np.resize(np.array([most, most, least, 1, -1, least], "int32"), 4999)
    for op in OPS:
        for kind in KINDS:
            check(smemkit.scan(x, op, kind, variant=variant, backend=machine), x, op, kind)


@each_variant
@each_dtype
def test_nothing_and_one(variant, dtype, machine):
    for n in (0, 1):
        x = np.full(n, 7, dtype)
        for kind in KINDS:
            for op in OPS:
                got = smemkit.scan(x, op, kind, variant=variant, backend=machine)
                check(got, x, op, kind)


@pytest.mark.parametrize("variant", VARIANTS)
def test_layouts(variant, machine, rng):
    for step in (1, 2, -1, -3):
        x = shapes.integers(rng, 9000, "float64")[::step]
        check(smemkit.scan(x, variant=variant, backend=machine), x)
    swapped = shapes.integers(rng, 70, "float32").astype(">f4")
    check(smemkit.scan(swapped, variant=variant, backend=machine), swapped.astype("float32"))


@each_variant
@each_op
def test_device_arrays(variant, op, machine, rng):
    x = shapes.integers(rng, 40_077, "int32")
    d = smemkit.asarray(x, backend=machine)
    out = smemkit.empty(x.shape, smemkit.scan(d, op, variant=variant).dtype.name, backend=machine)
    for _ in range(3):  # what a call leaves behind must not reach the next
        assert smemkit.scan(d, op, variant=variant, out=out) is out
        check(smemkit.asnumpy(out), x, op)


@each_variant
def test_the_same_bits_again(variant, machine, rng):
    """The order of summation is fixed: no block adds what it happens to find."""
    x = shapes.normal(rng, 200_001, "float32")
    first = smemkit.scan(x, variant=variant, backend=machine)
    for _ in range(3):
        assert smemkit.scan(x, variant=variant, backend=machine).tobytes() == first.tobytes()


def test_refused(machine):
    for dtype in ("float16", "uint8", "bool", "complex64", "uint64"):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"float32.*float64.*int32"):
            smemkit.scan(np.ones(4, dtype), backend=machine)
    for shape in ((), (3, 3)):
        with pytest.raises(smemkit.ShapeError, match=r"\bx\b"):
            smemkit.scan(np.ones(shape, np.float32), backend=machine)
    x = np.ones(5)
    with pytest.raises(smemkit.ArgumentError, match="sum max min"):
        smemkit.scan(x, "mean", backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="inclusive exclusive"):
        smemkit.scan(x, kind="both", backend=machine)
    with pytest.raises(smemkit.ShapeError, match="n is 5 in x and 4 in out"):
        smemkit.scan(x, out=np.ones(4), backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError, match="int64"):
        smemkit.scan(np.ones(5, "int32"), out=np.ones(5, "int32"), backend=machine)


@each_variant
def test_large(variant, machine, rng):
    """More tiles than a group, more groups than a section, more sums than a tile."""
    n = (1 << 26) + 77 if machine == "cuda" else 3_200_003
    if machine == "sim" and variant in ("hillis_steele", "blelloch", "blelloch_padded"):
        n = 512 * 512 * 2 + 77
    x = shapes.integers(rng, n, "int32")
    check(smemkit.scan(x, variant=variant, backend=machine), x)
    check(smemkit.scan(x, "max", "exclusive", variant=variant, backend=machine), x, "max", KINDS[1])


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_small_tiles(dtype, machine, rng, monkeypatch):
    """single_pass has smaller tiles up to some length, and auto takes it at any."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "2")
    most = 6 * (8192 if dtype == "float32" else 4096)
    for n in (1, most, most + 1, 20 * most):
        x = shapes.integers(rng, n, dtype)
        there = smemkit.asarray(x, backend="sim")
        assert smemkit.explain_choice(smemkit.scan, there).variant == "single_pass"
        launched = smemkit.profile(smemkit.scan, there, blocks=1).launches
        assert ["small" in launch.kernel for launch in launched] == [n <= most]
        for kind in KINDS:
            check(
                smemkit.scan(x, "sum", kind, variant="single_pass", backend=machine), x, kind=kind
            )


@pytest.mark.parametrize("variant", VARIANTS)
def test_beyond_31_bits(variant, cuda_missing, whole_device):
    """More than 2^31 elements: on the GPU alone, for the simulator would need hours."""
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    n = (1 << 31) + (1 << 20) + 3
    ones = filled.fill(n, "int32", 1, "cuda")
    made = smemkit.scan(ones, variant=variant)
    for place in (0, 1 << 20, (1 << 31) - 1, 1 << 31, n - 1):
        assert smemkit.asnumpy(made[place : place + 1])[0] == place + 1
