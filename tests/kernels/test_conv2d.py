"""conv2d in every variant, type, size, mode and form, on both machines, against SciPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from support import shapes

import smemkit

VARIANTS = tuple(smemkit.variants("conv2d"))
DTYPES = ("float32", "float64")
MODES = ("constant", "reflect", "nearest", "wrap")
FORMS = ("convolve", "correlate")

each_variant = pytest.mark.parametrize("variant", [*VARIANTS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)

# (image, filter): odd, even and mixed filters, edges of every tile, filters larger than the image
SIZES = [
    ((1, 1), (1, 1)),
    ((1, 1), (4, 7)),
    ((5, 7), (3, 3)),
    ((8, 32), (2, 2)),
    ((33, 40), (4, 6)),
    ((17, 33), (8, 1)),
    ((3, 4), (9, 7)),
    ((2, 3), (20, 33)),
    ((65, 129), (5, 5)),
    ((63, 128), (3, 8)),
    ((31, 260), (11, 11)),
    ((20, 300), (1, 13)),
    ((150, 3), (17, 1)),
    ((12, 12), (16, 16)),
    ((9, 131), (2, 34)),
    ((8, 37), (3, 2)),
]


def oracle(image, weights, mode, form):
    """What SciPy gives, in float64 (integers are exact).

    Where the image repeats three times and more, SciPy's reflect (1.17) reads beyond the array;
    there the definition is taken.
    """
    image, weights = np.asarray(image, np.float64), np.asarray(weights, np.float64)
    if any(size > 2 * n for size, n in zip(weights.shape, image.shape, strict=True)):
        return by_definition(image, weights, mode, form)
    return getattr(ndimage, form)(image, weights, mode=mode, cval=0.0)


def by_definition(image, weights, mode, form):
    if form == "convolve":
        weights = weights[::-1, ::-1]
    before = [(n if form == "correlate" else n - 1) // 2 for n in weights.shape]
    pads = [(b, n - 1 - b) for b, n in zip(before, weights.shape, strict=True)]
    words = {"constant": "constant", "reflect": "symmetric", "nearest": "edge", "wrap": "wrap"}
    wide = np.pad(image, pads, mode=words[mode])
    windows = np.lib.stride_tricks.sliding_window_view(wide, weights.shape)
    return np.einsum("hwpq,pq->hw", windows, weights)


def test_the_definition_is_scipys(rng):
    for size, mode, form in itertools.product(((3, 3), (4, 6), (14, 9)), MODES, FORMS):
        image = shapes.integers(rng, (7, 9), "float64")
        weights = shapes.integers(rng, size, "float64")
        expected = by_definition(image, weights, mode, form)
        assert np.array_equal(getattr(ndimage, form)(image, weights, mode=mode), expected)


@each_variant
@each_dtype
@pytest.mark.parametrize("mode", MODES)
def test_integers_bit_for_bit(variant, dtype, mode, machine, rng):
    for (shape, size), form in itertools.product(SIZES, FORMS):
        image = shapes.integers(rng, shape, dtype)
        weights = shapes.integers(rng, size, dtype)
        before = image.copy(), weights.copy()
        out = shapes.poisoned(shape, dtype)
        words = {"mode": mode, "form": form, "variant": variant, "backend": machine}
        assert smemkit.conv2d(image, weights, out=out, **words) is out
        assert np.array_equal(out, oracle(image, weights, mode, form)), (shape, size, form)
        assert np.array_equal(image, before[0]) and np.array_equal(weights, before[1])


def test_defaults_are_constant_and_convolve(machine, rng):
    image = shapes.integers(rng, (9, 14), "float64")
    weights = shapes.integers(rng, (4, 3), "float64")
    got = smemkit.conv2d(image, weights, backend=machine)
    assert np.array_equal(got, ndimage.convolve(image, weights, mode="constant"))
    assert type(got) is np.ndarray and got.dtype == np.float64


@pytest.mark.parametrize("variant", VARIANTS)
@each_dtype
def test_every_filter_size_up_to_18(variant, dtype, machine, rng):
    """The widths that a variant compiles in and those it puts together."""
    image = shapes.integers(rng, (21, 37), dtype)
    for q in range(1, 19):
        weights = shapes.integers(rng, (19 - q, q), dtype)
        for form in FORMS:
            got = smemkit.conv2d(
                image, weights, mode="reflect", form=form, variant=variant, backend=machine
            )
            assert np.array_equal(got, oracle(image, weights, "reflect", form)), (q, form)


@each_dtype
@pytest.mark.parametrize("mode", MODES)
def test_every_filter_size_over_whole_vectors(dtype, mode, machine, rng):
    """Rows made of 16-byte vectors, wider than a block: what "register" copies at once."""
    image = shapes.integers(rng, (21, 260), dtype)
    for q in range(1, 19):
        form = FORMS[q % 2]
        weights = shapes.integers(rng, (19 - q, q), dtype)
        got = smemkit.conv2d(
            image, weights, mode=mode, form=form, variant="register", backend=machine
        )
        assert np.array_equal(got, oracle(image, weights, mode, form)), q


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", [(643, 20), (389, 9), (257, 132)], ids=str)
def test_tall_images(variant, shape, machine, rng):
    """More rows than several blocks take, with edges of strips inside the image."""
    image = shapes.integers(rng, shape, "float32")
    for size, mode in zip(((5, 5), (11, 3), (2, 11), (24, 3)), MODES, strict=True):
        weights = shapes.integers(rng, size, "float32")
        got = smemkit.conv2d(image, weights, mode=mode, variant=variant, backend=machine)
        assert np.array_equal(got, oracle(image, weights, mode, "convolve")), (size, mode)


@pytest.mark.parametrize("variant", VARIANTS)
@each_dtype
@settings(max_examples=25, deadline=None, derandomize=False)
@given(
    size=st.tuples(*[st.integers(1, most) for most in (40, 140, 19, 19)]),
    mode=st.sampled_from(MODES),
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_size(variant, dtype, size, mode, form, seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(-8, 9, size[:2]).astype(dtype)
    weights = rng.integers(-8, 9, size[2:]).astype(dtype)
    got = smemkit.conv2d(image, weights, mode=mode, form=form, variant=variant, backend="sim")
    assert np.array_equal(got, oracle(image, weights, mode, form))


@each_variant
@each_dtype
def test_normal_data_within_the_bound(variant, dtype, machine, rng):
    for shape, size in [((70, 131), (5, 5)), ((40, 64), (11, 11)), ((20, 30), (23, 18))]:
        image, weights = shapes.normal(rng, shape, dtype), shapes.normal(rng, size, dtype)
        bound = oracle(np.abs(image), np.abs(weights), "wrap", "convolve")
        bound *= 4 * np.sqrt(weights.size) * np.finfo(dtype).eps
        got = smemkit.conv2d(image, weights, mode="wrap", variant=variant, backend=machine)
        assert (np.abs(got - oracle(image, weights, "wrap", "convolve")) <= bound).all()
        assert np.any(got)


@each_variant
def test_correlation_is_convolution_by_turned_weights(variant, machine, rng):
    image = shapes.normal(rng, (50, 61), "float32")
    weights = shapes.normal(rng, (5, 9), "float32")
    words = {"mode": "nearest", "variant": variant, "backend": machine}
    turned = np.ascontiguousarray(weights[::-1, ::-1])
    one = smemkit.conv2d(image, weights, form="convolve", **words)
    other = smemkit.conv2d(image, turned, form="correlate", **words)
    assert one.tobytes() == other.tobytes()


@each_variant
@each_dtype
def test_nan_and_infinity_reach_what_scipy_lets_them_reach(variant, dtype, machine, rng):
    """A weight of zero is left out: it makes no NaN of an infinity."""
    image = shapes.integers(rng, (70, 140), dtype)
    image[3, 5], image[64, 127], image[69, 139] = np.nan, np.inf, -np.inf
    for size in ((3, 3), (4, 10), (18, 17)):
        weights = rng.integers(0, 3, size).astype(dtype)
        weights[0, 0], weights[-1, -1] = 0, 1
        for mode in MODES:
            got = smemkit.conv2d(image, weights, mode=mode, variant=variant, backend=machine)
            with np.errstate(invalid="ignore"):
                expected = oracle(image, weights, mode, "convolve")
            assert np.array_equal(got, expected, equal_nan=True), (size, mode)
            assert 1 <= np.isnan(got).sum() + np.isinf(got).sum() < 3 * weights.size


@each_variant
@each_dtype
def test_images_of_nothing_but_nan_or_infinity(variant, dtype, machine, rng):
    """Every pixel is made anew where zeros of a filter must not meet them."""
    weights = shapes.integers(rng, (5, 6), dtype)
    weights[rng.integers(0, 2, weights.shape) == 0] = 0
    weights[2, 3] = 1
    for value, shape in itertools.product((np.nan, np.inf, -np.inf), ((9, 132), (20, 13))):
        image = np.full(shape, value, dtype)
        for mode in MODES:
            got = smemkit.conv2d(image, weights, mode=mode, variant=variant, backend=machine)
            with np.errstate(invalid="ignore"):
                expected = oracle(image, weights, mode, "convolve")
            assert np.array_equal(got, expected, equal_nan=True), (value, shape, mode)
        nothing = smemkit.conv2d(image, 0 * weights, variant=variant, backend=machine)
        assert np.array_equal(nothing, np.zeros(shape, dtype)), (value, shape)


@each_variant
def test_infinite_weights_meet_the_zeros_outside(variant, machine, rng):
    image = shapes.integers(rng, (9, 35), "float32")
    weights = shapes.integers(rng, (3, 4), "float32")
    weights[0, 1] = np.inf
    for mode in MODES:
        got = smemkit.conv2d(image, weights, mode=mode, variant=variant, backend=machine)
        with np.errstate(invalid="ignore"):
            expected = oracle(image, weights, mode, "convolve")
        assert np.array_equal(got, expected, equal_nan=True), mode
        assert not np.isfinite(got).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_row_or_column_past_a_tile(variant, machine, rng):
    tile_x, tile_y = smemkit.variants("conv2d")[variant]["tile"]
    weights = shapes.integers(rng, (3, 5), "float32")
    for more in itertools.product((-1, 0, 1), repeat=2):
        shape = tile_y + more[0], tile_x + more[1]
        image = shapes.integers(rng, shape, "float32")
        got = smemkit.conv2d(image, weights, mode="wrap", variant=variant, backend=machine)
        assert np.array_equal(got, oracle(image, weights, "wrap", "convolve"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_rows_than_a_grid_has_blocks(variant, machine, rng):
    """Beyond 65,535 blocks along y the grid folds into z."""
    rows = smemkit.variants("conv2d")["naive"]["tile"][1] * 65535 + 9
    image = np.zeros((rows, 1), np.float32)
    image[[0, rows // 2, rows - 9, rows - 1], 0] = 1, 2, 3, 4
    weights = shapes.integers(rng, (2, 1), "float32")
    got = smemkit.conv2d(image, weights, mode="reflect", variant=variant, backend=machine)
    assert np.array_equal(got, oracle(image, weights, "reflect", "convolve"))


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
def test_layouts(layout, machine, rng):
    change = shapes.LAYOUTS[layout]
    image = change(shapes.integers(rng, (35, 41), "float32"))
    weights = change(shapes.integers(rng, (4, 3), "float32"))
    got = smemkit.conv2d(image, weights, mode="reflect", backend=machine)
    assert np.array_equal(got, oracle(image, weights, "reflect", "convolve"))


@pytest.mark.parametrize("variant", VARIANTS)
@each_dtype
def test_device_arrays(variant, dtype, machine, rng):
    """Weights that change between calls: none of an earlier call is left anywhere."""
    image = shapes.integers(rng, (40, 70), dtype)
    device = smemkit.asarray(image, backend=machine)
    for size in ((5, 5), (2, 3), (5, 5)):
        weights = shapes.integers(rng, size, dtype)
        got = smemkit.conv2d(device, smemkit.asarray(weights, backend=machine), variant=variant)
        assert isinstance(got, smemkit.DeviceArray)
        assert np.array_equal(smemkit.asnumpy(got), oracle(image, weights, "constant", "convolve"))
    assert np.array_equal(smemkit.asnumpy(device), image)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing(variant, machine):
    """An image of nothing gives nothing; a filter of nothing is none."""
    weights = np.ones((3, 3), np.float32)
    for shape in ((0, 5), (5, 0), (0, 0)):
        got = smemkit.conv2d(np.zeros(shape, np.float32), weights, variant=variant, backend=machine)
        assert got.shape == shape
    for size in ((0, 3), (3, 0), (0, 0)):
        with pytest.raises(smemkit.ShapeError, match=rf"\({size[0]}, {size[1]}\)"):
            smemkit.conv2d(
                np.ones((4, 4)), np.ones(size), mode="wrap", variant=variant, backend=machine
            )


@each_dtype
def test_filters_too_large_for_a_variant(dtype, machine, rng):
    """The error names filter and limit; "auto" and "register" take any filter."""
    image = np.ones((3, 4), dtype)
    most = 32768 // image.itemsize
    weights = np.ones((most + 1, 1), dtype)
    named = rf"{most} weights of {dtype}, not for {most + 1} x 1"
    with pytest.raises(smemkit.ShapeError, match=named):
        smemkit.conv2d(image, weights, variant="constant", backend=machine)
    smemkit.conv2d(image, weights[:-1], variant="constant", backend=machine)
    limit = smemkit.device_info(backend=machine)["shared_bytes_per_block_optin"]
    wide = limit // image.itemsize // 16 - 31  # a filter of one row of these just fits
    with pytest.raises(smemkit.SharedMemoryError, match=rf"1 x {wide + 1} {dtype}.*{limit} bytes"):
        smemkit.conv2d(image, np.ones((1, wide + 1), dtype), variant="shared", backend=machine)
    for size in ((1, wide), (1, wide + 1), (150, 260)):
        weights = shapes.integers(rng, size, dtype, limit=1)
        expected = oracle(image, weights, "reflect", "convolve")
        for variant in ("register", "auto", *["shared"] * (size == (1, wide))):
            got = smemkit.conv2d(image, weights, mode="reflect", variant=variant, backend=machine)
            assert np.array_equal(got, expected), (variant, size)


def test_refused(machine):
    image, weights = np.ones((4, 4), np.float32), np.ones((3, 3), np.float32)
    for mode in ("mirror", "grid-wrap", "Reflect", "", 0, None):
        with pytest.raises((ValueError, TypeError)) as caught:
            smemkit.conv2d(image, weights, mode=mode, backend=machine)
        assert isinstance(caught.value, smemkit.Error)
    with pytest.raises(smemkit.ArgumentError, match="correlate"):
        smemkit.conv2d(image, weights, form="corelate", backend=machine)
    with pytest.raises(smemkit.ArgumentTypeError):
        smemkit.conv2d(image, weights.astype(np.float64), backend=machine)
    for bad in ("int32", "uint8", "float16"):
        with pytest.raises(smemkit.ArgumentTypeError, match=r"float32.*float64"):
            smemkit.conv2d(image.astype(bad), weights.astype(bad), backend=machine)
    with pytest.raises(smemkit.ShapeError, match="weights"):
        smemkit.conv2d(image, weights[0], backend=machine)
    with pytest.raises(smemkit.ShapeError, match="h is 4 in image and 5 in out"):
        smemkit.conv2d(image, weights, out=np.ones((5, 4), np.float32), backend=machine)


@each_variant
def test_weights_that_scipy_drops(variant, machine):
    """SciPy leaves out weights of up to 2^-52, NaN too. Here only zero makes nothing."""
    image = np.full((3, 5), 2.0**70)
    weights = np.array([[0.0, 2.0**-60, 0.0]])
    got = smemkit.conv2d(image, weights, variant=variant, backend=machine)
    assert (got == 2.0**10).all()
    weights[0, 0] = np.nan
    assert np.isnan(smemkit.conv2d(image, weights, variant=variant, backend=machine)).all()


# Stacks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", [(), (3,), (1,), (3, 1), (2, 1, 3), (0,)])
@pytest.mark.parametrize("weights", [(), (3,), (1,), (2, 1, 1), (2, 1, 3)])
@each_variant
def test_stacks(front, weights, variant, machine, rng):
    """Images and filters are broadcast as NumPy does; an item is what a call of its own makes."""
    try:
        shape = np.broadcast_shapes(front, weights)
    except ValueError:
        pytest.skip("they do not fit each other")
    image = shapes.integers(rng, (*front, 21, 36), "float32")
    filters = shapes.integers(rng, (*weights, 3, 5), "float32")
    wanted = np.empty((*shape, 21, 36), "float32")
    images = np.broadcast_to(image, wanted.shape)
    many = np.broadcast_to(filters, (*shape, 3, 5))
    for item in np.ndindex(*shape):
        wanted[item] = oracle(images[item], many[item], "reflect", "correlate")
    words = {"mode": "reflect", "form": "correlate", "variant": variant}
    got = smemkit.conv2d(image, filters, **words, backend=machine)
    assert got.shape == wanted.shape and np.array_equal(got, wanted)
    d, e = (smemkit.asarray(x, backend=machine) for x in (image, filters))
    out = smemkit.empty(wanted.shape, "float32", backend=machine)
    assert smemkit.conv2d(d, e, **words, out=out) is out
    assert np.array_equal(smemkit.asnumpy(out), wanted)


@pytest.mark.parametrize("variant", ["auto", "register"])
def test_views_of_stacks(variant, machine, rng):
    images = shapes.integers(rng, (4, 21, 40), "float32")
    filters = shapes.integers(rng, (3, 3), "float32")
    d, e = (smemkit.asarray(x, backend=machine) for x in (images, filters))
    for view in (lambda x: x[::2], lambda x: x[::-1], lambda x: x[:, 1:, 3:], lambda x: x[1:]):
        got = smemkit.asnumpy(smemkit.conv2d(view(d), e, variant=variant))
        wanted = [oracle(x, filters, "constant", "convolve") for x in view(images)]
        assert np.array_equal(got, wanted)


def test_a_stack_is_one_launch():
    image = np.zeros((8, 64, 128), "float32")
    weights = np.ones((3, 3), "float32")
    report = smemkit.profile(smemkit.conv2d, image, weights, variant="register", backend="sim")
    (launch,) = report.launches
    assert launch.grid[2] == 8 and report.counters["global.store.sectors_per_request"] == 16
    assert smemkit.check(smemkit.conv2d, image, weights, variant="register", backend="sim")


def test_stacks_that_do_not_fit(machine):
    with pytest.raises(smemkit.ShapeError, match="weights is a stack"):
        smemkit.conv2d(np.zeros((3, 5, 5)), np.zeros((2, 3, 3)), backend=machine)
