"""histogram with weights: sums of float64, in every variant and type, against numpy.histogram."""

import numpy as np
import pytest

import smemkit

VARIANTS = tuple(smemkit.variants("histogram_weighted"))
DTYPES = ("uint8", "float32", "int32")
SIZES = (0, 1, 31, 257, 1000, 5003)

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def draw(rng, n, dtype):
    """Elements, some of them outside (0, 200), and weights whose sums are exact."""
    x = rng.integers(0, 256, n, dtype="uint8").astype(dtype)
    return x, rng.integers(-64, 64, n) / 4


def list_bins(dtype):
    """Whole arguments of histogram: bytes are counted by value, others in even and uneven bins."""
    if dtype == "uint8":
        return [(256,)]
    uneven = [-1.5, 0, 0.5, 7, 100, 255, 256]
    return [(1, (0, 200)), (7, (0, 200)), (256, (-1, 300)), (5000, (0, 256)), (uneven,)]


def check(got, x, weights, how):
    expected = np.histogram(x, *how, weights=weights)[0]
    assert type(got) is np.ndarray and got.dtype == np.float64
    assert np.array_equal(got, expected), np.flatnonzero(got != expected)[:5]


@each_variant
@each_dtype
def test_sums(variant, dtype, machine, rng):
    for n in SIZES:
        x, weights = draw(rng, n, dtype)
        for how in list_bins(dtype):
            how = (256, (0, 256)) if dtype == "uint8" else how
            got = smemkit.histogram(x, *how, weights=weights, variant=variant, backend=machine)
            check(got, x, weights, how)


@each_variant
def test_sums_of_any_numbers(variant, machine, rng):
    """Random float64: as near to the exact sum as adding in any order comes."""
    x, weights = rng.random(20_000, dtype="float32"), rng.standard_normal(20_000)
    got = smemkit.histogram(x, 50, (0, 1), weights=weights, variant=variant, backend=machine)
    expected = np.histogram(x, 50, (0, 1), weights=weights)[0]
    bound = 20_000 * np.finfo("float64").eps * np.histogram(x, 50, (0, 1), weights=abs(weights))[0]
    assert (abs(got - expected) <= bound).all()


@each_variant
def test_not_a_number_is_in_no_bin(variant, machine):
    x = np.array([0.5, np.nan, np.inf, 1, -np.inf, 2, np.nextafter(np.float32(2), 3)], "float32")
    weights = np.arange(1.0, 8)
    got = smemkit.histogram(x, 2, (0, 2), weights=weights, variant=variant, backend=machine)
    assert got.tolist() == [1.0, 4.0 + 6.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32"])
def test_types_of_weights(dtype, machine, rng):
    x, weights = rng.random((30, 40), dtype="float32"), rng.integers(0, 2, (30, 40)).astype(dtype)
    got = smemkit.histogram(x, 9, weights=weights, backend=machine)
    check(got, x, weights.astype("float64"), (9,))
    check(smemkit.histogram(x.T, 9, weights=weights.T, backend=machine), x.T, weights.T * 1.0, (9,))


def test_device_arrays(machine, rng):
    x, weights = rng.random((30, 40), dtype="float32"), rng.integers(-9, 9, (30, 40))
    on_device, beside = (smemkit.asarray(a, backend=machine) for a in (x, weights))
    for cut in (np.s_[:], np.s_[::2, 1:]):
        for operand in (beside[cut], weights[cut]):
            got = smemkit.histogram(on_device[cut], 9, (0, 1), weights=operand)
            assert isinstance(got, smemkit.DeviceArray)
            check(smemkit.asnumpy(got), x[cut], weights[cut] * 1.0, (9, (0, 1)))
    with pytest.raises(smemkit.ArgumentTypeError, match="weights is a DeviceArray and x is not"):
        smemkit.histogram(x, 9, weights=beside)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_out(dtype, machine, rng):
    x, weights = draw(rng, 100, "float32")
    out = np.full(4, 7, dtype)
    if dtype == "int64":
        with pytest.raises(smemkit.ArgumentTypeError, match="float64"):
            smemkit.histogram(x, 4, (0, 256), weights=weights, out=out, backend=machine)
        return
    assert smemkit.histogram(x, 4, (0, 256), weights=weights, out=out, backend=machine) is out
    check(out, x, weights, (4, (0, 256)))


@pytest.mark.parametrize(
    ("weights", "error", "words"),
    [
        (np.ones(4), smemkit.ShapeError, r"weights has the shape \(4,\), x has \(5,\)"),
        (1.0, smemkit.ShapeError, r"weights has the shape \(\), x has \(5,\)"),
        (np.ones(5, complex), smemkit.ArgumentTypeError, "complex128; real numbers"),
        (["a"] * 5, smemkit.ArgumentTypeError, "real numbers are needed"),
        ([[1], [1, 2]], smemkit.ArgumentError, "weights: "),
        (
            np.ma.array(np.ones(5), mask=[1, 0, 0, 0, 0]),
            smemkit.ArgumentTypeError,
            "weights.filled",
        ),
    ],
)
def test_refused(weights, error, words):
    with pytest.raises(error, match=f"histogram: .*{words}"):
        smemkit.histogram(np.zeros(5, "float32"), 3, (0, 1), weights=weights, backend="sim")


def test_shared_adds_fewer_times_in_global_memory(rng):
    x, weights = draw(rng, 8192, "uint8")
    requests = {
        variant: smemkit.profile(
            smemkit.histogram, x, weights=weights, variant=variant, backend="sim"
        ).counters["global.atomic.requests"]
        for variant in VARIANTS
    }
    assert requests["global"] == 8192 / 32 and requests["shared"] == 2 * 256 / 32
