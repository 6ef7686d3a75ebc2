"""reduce along axes, in every variant and type, on both machines, against NumPy."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import shapes

import smemkit

VARIANTS = tuple(smemkit.variants("reduce_axis"))
DTYPES = ("float32", "float64", "int32", "int64")
OPS = ("sum", "max", "min", "mean", "argmax", "argmin")
# (m, n, k): rows of less than a read, of a warp, of more than a block; few columns and many; parts.
SHAPES = (
    (1, 1, 1),
    (5, 7, 4),
    (40, 33, 1),
    (200, 8, 1),
    (3, 517, 37),
    (1, 9001, 3),
    (2, 12_000, 8),
    (2, 5, 1000),
    (1, 700, 132),
    (1, 40_000, 1),
    (3, 30_001, 1),
    (7, 2, 1),
)

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_op = pytest.mark.parametrize("op", OPS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def expect(x, op, axis, keepdims=False):
    """NumPy's result, of the type that smemkit documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NaN
        result = getattr(np, op)(x, axis=axis, keepdims=keepdims)
    return np.asarray(result)


def check(got, x, op, axis, keepdims=False):
    expected = expect(x, op, axis, keepdims)
    assert got.dtype == expected.dtype and np.shape(got) == expected.shape
    if op == "mean":
        assert np.allclose(got, expected, rtol=2 * np.finfo(expected.dtype).eps, equal_nan=True)
    else:
        assert np.array_equal(got, expected, equal_nan=expected.dtype.kind == "f")


@each_variant
@each_op
@each_dtype
def test_middle_axis(variant, op, dtype, machine, rng):
    for shape in SHAPES:
        if variant == "strip" and shape[2] > 256:
            continue
        x = shapes.integers(rng, shape, dtype)
        before = x.copy()
        got = smemkit.reduce_axis(x, op, variant=variant, backend=machine)
        check(got, x, op, 1)
        assert np.array_equal(x, before)


@each_variant
def test_every_place_counts(variant, machine):
    """One element unlike the others is found wherever it lies, in whichever part."""
    for n, k in ((6000, 1), (4001, 1), (2500, 4), (700, 12)):
        places = np.unique(np.r_[0, 1, 31, 32, n // 2, n - 5 : n])
        x = np.zeros((len(places), n, k), np.float32)
        x[range(len(places)), places, 0] = 3
        got = smemkit.reduce_axis(x, "argmax", variant=variant, backend=machine)
        assert np.array_equal(got[:, 0], places) and not got[:, 1:].any()
        assert (smemkit.reduce_axis(x, variant=variant, backend=machine)[:, 0] == 3).all()


@each_variant
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_the_first_of_equals(variant, op, machine, rng):
    for shape in ((3, 5000, 2), (30, 40, 1), (2, 60, 40), (2, 5000, 1), (999, 8, 1), (999, 9, 1)):
        for dtype in ("float32", "int64"):
            x = rng.integers(0, 3, shape).astype(dtype)
            check(smemkit.reduce_axis(x, op, variant=variant, backend=machine), x, op, 1)
            check(smemkit.reduce_axis(x * 0, op, variant=variant, backend=machine), x * 0, op, 1)


@each_variant
@each_op
def test_not_a_number(variant, op, machine, rng):
    """NaN wins, the first of several; infinities and zeros of both signs are numbers."""
    x = rng.choice(np.array([0.0, -0.0, 1, np.inf, -np.inf], np.float32), (4, 3000, 2))
    x[0, ::3] = np.nan
    x[1, 2999] = np.nan
    x[2, 17, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check(smemkit.reduce_axis(x, op, variant=variant, backend=machine), x, op, 1)
    for fill in (np.nan, np.inf, -np.inf):
        x = np.full((2, 50, 3), fill, np.float64)
        check(smemkit.reduce_axis(x, op, variant=variant, backend=machine), x, op, 1)


@each_variant
def test_extremes_of_whole_numbers(variant, machine):
    for dtype in ("int32", "int64"):
        info = np.iinfo(dtype)
        for value in (info.min, info.max):
            x = np.full((2, 40, 3), value, dtype)
            for op in OPS if dtype == "int32" else ("max", "min", "argmax", "argmin", "mean"):
                check(smemkit.reduce_axis(x, op, variant=variant, backend=machine), x, op, 1)


# {variant: shapes whose axes are cut into parts, by packs and by elements}
SHARED = {"panel": ((1, 130, 12), (1, 300, 5)), "strip": ((1, 4000, 4), (1, 4001, 5))}


@pytest.mark.slow
@each_op
@pytest.mark.parametrize("variant", SHARED)
def test_threads_meet_without_a_race(variant, op):
    """Every barrier of every kernel is one without which check finds something here."""
    for shape, dtype in itertools.product(SHARED[variant], DTYPES):
        x = np.ones(shape, dtype)
        report = smemkit.check(smemkit.reduce_axis, x, op, variant=variant, backend="sim")
        assert report, f"{shape}, {dtype}\n{report}"


@each_variant
@pytest.mark.parametrize("shape", [(2, 1, 1), (3, 1, 1), (2, 3, 7)])
def test_reads_end_with_the_array(variant, shape):
    """A read of 16 bytes may hold several short rows, but nothing behind the last one."""
    for dtype in DTYPES:
        x = np.ones(shape, dtype)
        report = smemkit.check(smemkit.reduce_axis, x, variant=variant, backend="sim")
        assert report, f"{dtype}\n{report}"


@each_variant
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_within_the_bound(variant, dtype, machine, rng):
    x = shapes.normal(rng, (3, 20_000, 2), dtype)
    exact = x.sum(axis=1, dtype=np.longdouble)
    longest = 2_500 if variant == "thread" else 1000  # additions, one after the other
    bound = longest**0.5 * np.finfo(dtype).eps * np.abs(x).sum(axis=1) / 10
    got = smemkit.reduce_axis(x, variant=variant, backend=machine)
    assert (np.abs(got - exact) < bound).all()
    again = smemkit.reduce_axis(x, variant=variant, backend=machine)
    assert np.array_equal(got.view("u1"), again.view("u1"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_as_numpy(data):
    """Any axes of any array in any layout, of the host and of the device, with out and without."""
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = arrays.array_shapes(min_dims=0, max_dims=5, min_side=1, max_side=6)
    low = st.integers(-4, 4)
    x = data.draw(arrays.arrays(dtype, shape, elements=low.map(float) if dtype[0] == "f" else low))
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))
    op = data.draw(st.sampled_from(OPS))
    axes = st.none() | st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()
    if op[:3] != "arg":
        axes |= st.sets(st.integers(0, x.ndim - 1) if x.ndim else st.nothing()).map(tuple)
    axis, keepdims = data.draw(axes), data.draw(st.booleans())
    check(smemkit.reduce(x, op, axis, keepdims=keepdims, backend="sim"), x, op, axis, keepdims)
    for d in (
        smemkit.asarray(x.copy("C"), backend="sim"),
        smemkit.asarray(x.T.copy("C"), backend="sim").T,
    ):
        got = smemkit.reduce(d, op, axis, keepdims=keepdims)
        assert isinstance(got, smemkit.DeviceArray)
        check(smemkit.asnumpy(got), x, op, axis, keepdims)
        out = smemkit.empty(got.shape, got.dtype, backend="sim")
        assert smemkit.reduce(d, op, axis, keepdims=keepdims, out=out) is out
        check(smemkit.asnumpy(out), x, op, axis, keepdims)
    expected = expect(x, op, axis, keepdims)
    out = np.empty((2, *expected.shape), expected.dtype)[0, ...]
    assert smemkit.reduce(x, op, axis, keepdims=keepdims, out=out, backend="sim") is out
    check(out, x, op, axis, keepdims)


@pytest.mark.parametrize(
    ("variant", "bound"), [("thread", 2e-5), ("warp", 3e-7), ("strip", 3e-7), ("panel", 3e-7)]
)
def test_sums_of_parts_are_made_first(variant, bound, machine):
    """Added one by one to a growing sum, 8192 times 0.1 is 6e-5 off."""
    x = np.full((3, 8192), 0.1, "float32")
    got = smemkit.reduce(x, axis=1, variant=variant, backend=machine)
    assert (abs(got / x.sum(1, dtype="float64") - 1) < bound).all()


@pytest.mark.parametrize(
    ("shape", "dtype", "op", "expected"),
    [
        ((1, 10**7, 8), "float32", "sum", "strip"),
        ((10**7, 8, 1), "float64", "sum", "warp"),
        ((10**7, 8, 1), "float32", "argmax", "thread"),
        ((1, 8, 10**7), "int32", "sum", "thread"),
        ((8, 10**7, 1), "float32", "sum", "strip"),
        ((1, 8192, 8192), "float32", "max", "panel"),
        ((1, 1000, 100_003), "float32", "sum", "panel"),  # of 3 rounds and a block
        ((8192, 8192, 1), "float32", "argmax", "warp"),
        ((1056, 1 << 20, 1), "float32", "sum", "strip"),
    ],
)
def test_auto_takes_what_was_fastest(shape, dtype, op, expected):
    """As measured on an H200, whose multiprocessors the simulator has."""
    x = np.broadcast_to(np.zeros((), dtype), shape)
    choice = smemkit.explain_choice(smemkit.reduce_axis, x, op, backend="sim")
    assert f'auto takes "{expected}"' in str(choice)


def test_views_are_read_where_they_lie(machine, rng):
    """A whole array that is turned is not copied: a kernel reads it along the other axis."""
    x = rng.standard_normal((300, 70)).astype("float32")
    d = smemkit.asarray(x, backend=machine)
    for op in ("sum", "argmin"):
        turned = smemkit.reduce(d.T, op, axis=0)
        assert np.array_equal(smemkit.asnumpy(turned), smemkit.asnumpy(smemkit.reduce(d, op, 1)))
    part = d[3:, 5:]  # has gaps, and begins anywhere
    check(smemkit.asnumpy(smemkit.reduce(part, "max", 0)), x[3:, 5:], "max", 0)
    assert smemkit.reduce(d.reshape(-1)[3:], "max", axis=0).item() == x.ravel()[3:].max()


def test_out_that_is_not_whole(machine, rng):
    x = rng.integers(-9, 9, (6, 7, 8)).astype("int32")
    out = np.zeros((6, 16), "int64")[:, ::2]
    assert smemkit.reduce(x, axis=1, out=out, backend=machine) is out
    check(out, x, "sum", 1)
    large = smemkit.zeros((6, 16), "int64", backend=machine)
    smemkit.reduce(smemkit.asarray(x, backend=machine), axis=1, out=large[:, ::2])
    check(smemkit.asnumpy(large)[:, ::2], x, "sum", 1)
    assert not smemkit.asnumpy(large)[:, 1::2].any()


def test_nothing(machine):
    empty = np.zeros((0, 3), "float32")
    assert np.array_equal(smemkit.reduce(empty, axis=0, backend=machine), np.zeros(3))
    assert smemkit.reduce(empty, "max", axis=1, backend=machine).shape == (0,)
    for op in OPS[1:]:
        with pytest.raises(smemkit.ArgumentError, match=f"no elements have no {op}"):
            smemkit.reduce(empty, op, axis=0, backend=machine)


@pytest.mark.parametrize(
    ("op", "how", "error", "words"),
    [
        (
            "sum",
            {"axis": 2},
            smemkit.ArgumentIndexError,
            "axis 2 is out of bounds for x with 2 dim",
        ),
        ("sum", {"axis": -3}, IndexError, "axis -3 is out of bounds"),
        ("sum", {"axis": (0, -2)}, ValueError, "names an axis twice"),
        ("sum", {"axis": "rows"}, TypeError, "axis is 'rows'; an integer, a tuple"),
        ("sum", {"axis": 0.5}, smemkit.ArgumentTypeError, "axis is 0.5"),
        ("sum", {"axis": True}, smemkit.ArgumentTypeError, "axis is True; an integer"),
        ("sum", {"axis": (0, True)}, smemkit.ArgumentTypeError, r"axis is \(0, True\)"),
        ("sum", {"axis": 0, "out": np.broadcast_to(0.0, 300)}, ValueError, "out is read-only"),
        ("argmax", {"axis": (0,)}, TypeError, "argmax goes along one axis"),
        ("median", {"axis": 0}, ValueError, "op is 'median', accepted are: sum max min mean"),
        ("max", {"axis": 0, "variant": "strip"}, ValueError, "k is 300, .*'panel' takes any"),
        ("max", {"axis": 0, "variant": "shuffle"}, ValueError, "'shuffle'"),
        ("sum", {"axis": 0, "out": np.zeros(4)}, smemkit.ShapeError, r"out has the shape \(4,\)"),
        ("sum", {"axis": 0, "out": [0] * 300}, TypeError, "out must be .*, not list"),
        ("sum", {"axis": 0, "out": np.zeros(300, "f4")}, TypeError, "the result has float64"),
        ("sum", {"axis": 0, "out": np.zeros(600, "f4")[::2]}, TypeError, "the result has float64"),
    ],
)
def test_refused(op, how, error, words, machine):
    with pytest.raises(error, match=words) as caught:
        smemkit.reduce(np.ones((2, 300)), op, **how, backend=machine)
    assert isinstance(caught.value, smemkit.Error)
    assert "reduce_axis" not in str(caught.value)
    with pytest.raises(error) as caught:
        smemkit.reduce(smemkit.asarray(np.ones((2, 300)), backend=machine), op, **how)
    assert "reduce_axis" not in str(caught.value)


def test_refused_operands(machine):
    for dtype in ("float16", "uint8", "bool", "complex64", "O"):
        with pytest.raises(smemkit.ArgumentTypeError, match="float64 or int32 or int64"):
            smemkit.reduce(np.ones((4, 4), dtype), axis=0, backend=machine)
    hidden = np.ma.masked_equal(np.arange(4.0), 2)
    with pytest.raises(smemkit.ArgumentTypeError, match="hides elements"):
        smemkit.reduce(hidden, axis=0, backend=machine)
    assert smemkit.reduce(np.ma.array([1.0, 2]), axis=0, backend=machine) == 3
    with pytest.raises(smemkit.ArgumentError):
        smemkit.reduce([[1], [1, 2]], axis=0, backend=machine)
