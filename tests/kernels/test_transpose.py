"""transpose in every variant, item size, shape and layout, on both machines, against NumPy."""

import itertools

import numpy as np
import pytest
from support import shapes

import smemkit

TURNS = tuple(name for name in smemkit.variants("transpose") if name != "copy")
DTYPES = ("uint8", "uint16", "uint32", "uint64", "complex128")  # one of each item size

each_variant = pytest.mark.parametrize("variant", [*TURNS, "auto"])
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def noise(rng, shape, dtype):
    """Random bytes: each bit of each element counts."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":  # no NaN, which differs from itself
        parts = rng.integers(-(1 << 50), 1 << 50, (*shape, 2))
        return parts.astype("float64").view(dtype).reshape(shape)
    count = int(np.prod(shape)) * dtype.itemsize
    return rng.integers(0, 256, count, dtype=np.uint8).view(dtype).reshape(shape)


def poisoned(shape, dtype):
    return (
        np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize, 0xA5, np.uint8)
        .view(dtype)
        .reshape(shape)
    )


def list_shapes(tile):
    sizes = [n for n in shapes.edge_sizes(tile) if n]
    yield from ((n, n) for n in sizes)
    yield from ((n, 5) for n in sizes)
    yield from ((5, n) for n in sizes)
    # rows that are and are not multiples of a vector, on either side; tall, wide
    yield from [(2 * tile, tile + 4), (tile + 2, 2 * tile), (2 * tile + 4, tile + 1), (1, 1)]
    yield from [(300, 1), (1, 300), (3, 257), (257, 3)]


def check(got, a):
    assert type(got) is np.ndarray
    assert got.dtype == a.dtype.newbyteorder("=")
    assert got.shape == a.shape[::-1]
    assert np.array_equal(got, a.T)


@each_variant
@each_dtype
def test_every_shape(variant, dtype, machine, rng):
    tile = 128 if variant in ("vectorized", "auto") else 32
    for shape in list_shapes(tile):
        a = noise(rng, shape, dtype)
        before, out = a.copy(), poisoned(shape[::-1], dtype)
        assert smemkit.transpose(a, variant=variant, out=out, backend=machine) is out
        check(out, a)
        assert np.array_equal(a, before)


@each_dtype
def test_copy_writes_the_bytes_in_their_order(dtype, machine, rng):
    for shape in list_shapes(64):
        a, out = noise(rng, shape, dtype), poisoned(shape[::-1], dtype)
        smemkit.transpose(a, variant="copy", out=out, backend=machine)
        assert out.tobytes() == a.tobytes()


def test_copy_is_no_variant_for_auto():
    facts = smemkit.variants("transpose")
    assert not facts["copy"]["auto"]
    assert all(facts[name]["auto"] for name in TURNS)


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "float16", "int16", "float32", "int32", "complex64", "float64", "int64"),
        *("complex128", "U4"),
    ],
)
def test_any_type_of_an_item_size(dtype, machine, rng):
    a = rng.integers(0, 2, (37, 70)).astype(dtype)
    got = smemkit.transpose(a, backend=machine)
    check(got, a)


def test_bits_survive(machine):
    """Signalling NaNs, negative zeros and denormals are moved, not read."""
    bits = np.array([0x7FA00001, 0xFFA12345, 0x80000000, 1, 0x807FFFFF, 0x7F800000], np.uint32)
    a = bits.reshape(2, 3).view(np.float32)
    for variant in TURNS:
        got = smemkit.transpose(a, variant=variant, backend=machine)
        assert np.array_equal(got.view(np.uint32), bits.reshape(2, 3).T)


@pytest.mark.parametrize("dtype", ["O", "S3", "V6"])
def test_types_refused(dtype, machine):
    with pytest.raises(TypeError) as caught:
        smemkit.transpose(np.zeros((2, 2), dtype), backend=machine)
    assert isinstance(caught.value, smemkit.Error)


@pytest.mark.parametrize("layout", sorted(shapes.LAYOUTS))
@pytest.mark.parametrize("variant", ["naive", "vectorized"])
def test_layouts(layout, variant, machine, rng):
    a = shapes.LAYOUTS[layout](shapes.integers(rng, (67, 68), "float32"))
    before = np.array(a)
    check(smemkit.transpose(a, variant=variant, backend=machine), np.array(a))
    assert np.array_equal(a, before)


@pytest.mark.parametrize("shape", [(0, 0), (0, 7), (7, 0)])
def test_nothing(shape, machine):
    for variant in (*TURNS, "copy"):
        got = smemkit.transpose(np.empty(shape, "float32"), variant=variant, backend=machine)
        assert got.shape == shape[::-1]


# Axes ---------------------------------------------------------------------------------------------


def list_orders():
    """Every order of up to four axes, with lengths that are all others."""
    lengths = (17, 3, 70, 33)
    for rank in range(5):
        for order in itertools.permutations(range(rank)):
            yield lengths[:rank], order


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_order_of_axes(dtype, machine, rng):
    for shape, order in list_orders():
        a = noise(rng, shape, dtype)
        wanted = a.transpose(order)
        got = smemkit.transpose(a, order, backend=machine)
        assert got.shape == wanted.shape and got.tobytes() == wanted.tobytes(), order
        d, out = smemkit.asarray(a, backend=machine), smemkit.empty(wanted.shape, dtype, machine)
        assert smemkit.transpose(d, order, out=out) is out
        assert smemkit.asnumpy(out).tobytes() == wanted.tobytes(), order


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((2, 130, 256), (0, 2, 1)),
        ((128, 3, 132), (2, 1, 0)),
        ((5, 300, 4), (1, 0, 2)),
        ((2, 65, 3, 64), (0, 3, 2, 1)),
        ((3, 64, 64), (1, 2, 0)),
        ((1, 70, 1, 68), (3, 2, 1, 0)),
        ((2, 3, 4, 5, 6), (4, 1, 3, 0, 2)),
        ((4, 0, 3), (2, 0, 1)),
    ],
)
def test_tiles_and_rows_of_other_orders(shape, order, dtype, machine, rng):
    a = noise(rng, shape, dtype)
    before, out = a.copy(), poisoned(a.transpose(order).shape, dtype)
    assert smemkit.transpose(a, order, out=out, backend=machine) is out
    assert out.tobytes() == a.transpose(order).tobytes() and a.tobytes() == before.tobytes()
    view = smemkit.asarray(a, backend=machine)[:, ::-1]  # of any strides
    got = smemkit.asnumpy(smemkit.transpose(view, order))
    assert got.tobytes() == a[:, ::-1].transpose(order).tobytes()


def test_axes_are_numpys(machine):
    a = np.arange(24.0).reshape(2, 3, 4)
    d = smemkit.asarray(a, backend=machine)
    assert np.array_equal(smemkit.transpose(a, backend=machine), a.T)
    assert np.array_equal(smemkit.transpose(a, (-1, 0, -2), backend=machine), a.transpose(2, 0, 1))
    assert np.array_equal(smemkit.asnumpy(d.transpose(1, 0, 2).copy()), a.transpose(1, 0, 2))
    assert d.transpose((2, 0, 1)).strides == a.transpose(2, 0, 1).strides
    assert d.transpose().shape == d.transpose(None).shape == (4, 3, 2)
    for axes in ((0, 1), (0, 0, 1), (0, 1, 3), (0, 1, 2, 3)):
        with pytest.raises(smemkit.ShapeError, match="axes"):
            smemkit.transpose(a, axes, backend=machine)
        with pytest.raises(smemkit.ShapeError, match="axes"):
            d.transpose(axes)
    for axes in ("abc", 1, (0.5, 1, 2)):
        with pytest.raises(smemkit.ArgumentTypeError, match="axes"):
            smemkit.transpose(a, axes, backend=machine)


def test_axes_that_join_to_a_matrix_take_a_variant(machine, rng):
    a = noise(rng, (3, 40, 70), "uint32")
    for axes in ((2, 0, 1), (1, 2, 0)):
        got = smemkit.transpose(a, axes, variant="padded", backend=machine)
        assert np.array_equal(got, a.transpose(axes))
    with pytest.raises(smemkit.ArgumentError, match="these axes make none"):
        smemkit.transpose(a, (0, 2, 1), variant="padded", backend=machine)


def test_orders_refuse_a_wrong_out(machine):
    a = np.zeros((2, 3, 4), "float32")
    d = smemkit.asarray(a, backend=machine)
    for axes in ((0, 2, 1), (2, 0, 1)):
        for x, make in ((a, np.zeros), (d, lambda *of: smemkit.zeros(*of, backend=machine))):
            with pytest.raises(smemkit.ShapeError, match="out"):
                smemkit.transpose(x, axes, out=make((2, 3, 4), "float32"))
            wrong = make(a.transpose(axes).shape, "float64")
            with pytest.raises(smemkit.ArgumentTypeError, match="out"):
                smemkit.transpose(x, axes, out=wrong)
        with pytest.raises(smemkit.ArgumentTypeError, match="out"):
            smemkit.transpose(a, axes, out=[1], backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="shares memory"):
        smemkit.transpose(d, (0, 2, 1), out=d.reshape(2, 4, 3))
    with pytest.raises((smemkit.ArgumentError, smemkit.BackendError)):
        smemkit.transpose(d, (0, 2, 1), backend="cuda" if machine == "sim" else "sim")


@pytest.mark.parametrize(
    ("shape", "axes", "kernel"),
    [
        ((2, 128, 128), (0, 2, 1), "array_squares_bits32"),
        ((2, 128, 130), (0, 2, 1), "array_tiles_bits32"),  # rows of no whole vectors
        ((2, 3, 4096), (1, 0, 2), "array_rows_bits128"),
        ((2, 3, 64), (1, 0, 2), "array_copy_bits128"),
        ((2, 320, 640), (2, 0, 1), "transpose_vectorized_bits32"),
    ],
)
def test_which_kernel_moves_axes(shape, axes, kernel):
    report = smemkit.profile(smemkit.transpose, np.zeros(shape, "float32"), axes, backend="sim")
    assert [launch.kernel for launch in report.launches] == [kernel]
    assert smemkit.check(smemkit.transpose, np.zeros(shape, "float32"), axes, backend="sim")


def test_out_refused(machine, rng):
    a = noise(rng, (3, 4), "uint32")
    for shape, kind in [((3, 4), smemkit.ShapeError), ((4, 2), smemkit.ShapeError)]:
        with pytest.raises(kind):
            smemkit.transpose(a, out=np.zeros(shape, "uint32"), backend=machine)
    with pytest.raises(TypeError):
        smemkit.transpose(a, out=np.zeros((4, 3), "uint16"), backend=machine)


def test_out_that_overlaps(machine, rng):
    """The right result, or a refusal: never a wrong one."""
    for variant in TURNS:
        a = noise(rng, (70, 70), "uint32")
        before = a.copy()
        try:
            smemkit.transpose(a, variant=variant, out=a, backend=machine)
        except smemkit.Error:
            assert np.array_equal(a, before)
        else:
            assert np.array_equal(a, before.T)


@each_variant
@each_dtype
def test_device_arrays(variant, dtype, machine, rng):
    a = noise(rng, (130, 68), dtype)
    d = smemkit.asarray(a, backend=machine)
    result = smemkit.transpose(d, variant=variant)
    assert isinstance(result, smemkit.DeviceArray) and result.backend == machine
    check(smemkit.asnumpy(result), a)
    check(smemkit.asnumpy(smemkit.transpose(result, variant=variant)), a.T)
    assert np.array_equal(smemkit.asnumpy(d), a)


@pytest.mark.parametrize(("variant", "axis"), [("naive", 0), ("vectorized", 1)])
def test_more_tiles_than_a_grid_has_blocks(variant, axis, machine, rng):
    """Beyond 65,535 blocks along y, which is either axis, the grid folds into z."""
    shape = [1, 1]
    shape[axis] = smemkit.variants("transpose")[variant]["tile"][axis] * 65535 + 9
    a = noise(rng, shape, "uint16")
    assert np.array_equal(smemkit.transpose(a, variant=variant, backend=machine), a.T)


@pytest.mark.parametrize(
    ("shape", "taken"),
    [
        ((640, 640), "vectorized"),  # 407 * 100 blocks of 132, against 353 * 400 of 4 * 132
        ((642, 640), "padded"),  # columns of 642 floats do not begin at multiples of 16 bytes
        ((16, 16384), "padded"),  # a quarter of each tile of 64
    ],
)
def test_auto_looks_at_the_shape(shape, taken):
    report = smemkit.profile(smemkit.transpose, np.zeros(shape, "float32"), backend="sim")
    assert report.launches[0].kernel == f"transpose_{taken}_bits32"


def test_large(machine, rng):
    shape = (8191, 8196) if machine == "cuda" else (515, 388)
    for dtype in DTYPES:
        a = noise(rng, shape, dtype)
        for variant in TURNS:
            check(smemkit.transpose(a, variant=variant, backend=machine), a)


# Why the variants differ -------------------------------------------------------------------------


def count(variant, dtype, shape):
    a = np.zeros(shape, dtype)
    return smemkit.profile(smemkit.transpose, a, variant=variant, backend="sim").counters


@each_dtype
def test_only_naive_wastes_sectors(dtype):
    moved = {name: count(name, dtype, (128, 256)) for name in (*TURNS, "copy")}
    size = 128 * 256 * np.dtype(dtype).itemsize
    for name, counters in moved.items():
        assert counters["global.load.bytes_moved"] == size
        expected = 128 * 256 * 32 if name == "naive" else size
        assert counters["global.store.bytes_moved"] == expected


@each_dtype
def test_only_shared_has_conflicts(dtype):
    for name in TURNS:
        counters = count(name, dtype, (128, 256))
        conflicts = counters["shared.load.conflicts"] + counters["shared.store.conflicts"]
        assert (conflicts > 0) == (name == "shared"), name


def test_vectors_pass_shared_memory_a_quarter_as_often():
    wide, narrow = (count(name, "float32", (128, 256)) for name in ("vectorized", "swizzled"))
    for op in ("load", "store"):
        name = f"shared.{op}.instructions"
        assert 4 * wide[name] == narrow[name] == 128 * 256 // 32
