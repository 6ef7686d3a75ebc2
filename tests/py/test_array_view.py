"""DeviceArray as NumPy users know arrays: views, copies, other types and shapes, print."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import smemkit

SCALARS = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
INDICES = [
    (),
    0,
    -1,
    np.int64(1),
    np.array(1),
    slice(None),
    slice(1, None, 2),
    slice(None, None, -1),
    slice(5, 1, -3),
    slice(3, 3),
    ...,
    None,
    (..., 0),
    (slice(None, None, -1), None, 2),
    (1, slice(1, 4), ...),
    (0, 0, 0),
    (..., slice(None, None, -2), None),
]


def make(machine, shape=(4, 5, 6), dtype="int32"):
    x = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    return x, smemkit.asarray(x, backend=machine)


# Views -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_basic_indices_are_those_of_numpy(index, machine):
    x, d = make(machine)
    view, wanted = d[index], np.asarray(x[index])
    assert type(view) is smemkit.DeviceArray
    assert view.shape == wanted.shape and view.dtype == x.dtype
    if np.shares_memory(x, wanted):
        assert view.strides == wanted.strides
        offset = wanted.__array_interface__["data"][0] - x.__array_interface__["data"][0]
        assert view.pointer - d.pointer == offset
    assert np.array_equal(smemkit.asnumpy(view), wanted)
    assert smemkit.asnumpy(view).flags.c_contiguous


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_views_of_views(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    dtype = data.draw(st.sampled_from(SCALARS))
    x = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    d = smemkit.asarray(x, backend="sim")
    for _ in range(data.draw(st.integers(0, 4))):
        if data.draw(st.booleans()):
            x, d = x.T, d.T
        else:
            index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, max_dims=6))
            x, d = x[index] if np.ndim(x[index]) else np.asarray(x[index]), d[index]
    assert d.shape == x.shape
    assert np.array_equal(smemkit.asnumpy(d), x)
    assert np.array_equal(np.asarray(d), x)
    assert np.array_equal(smemkit.asnumpy(d.copy()), x)
    assert np.asarray(d.copy()).flags.c_contiguous


def test_views_share_memory_and_keep_it(machine):
    x, d = make(machine)
    view = d[1:3, ::2].T
    view[0].fill(-7)
    x[1:3, ::2].T[0] = -7
    assert np.array_equal(smemkit.asnumpy(d), x)
    del d
    assert np.array_equal(smemkit.asnumpy(view), x[1:3, ::2].T)
    deep = view[1:][:, ::-1]
    wanted = x[1:3, ::2].T[1:][:, ::-1]
    del view
    smemkit.empty(1 << 16, "uint8", backend=machine).fill(1)  # would take the room, were it free
    assert np.array_equal(smemkit.asnumpy(deep), wanted)


@pytest.mark.parametrize(
    "index, error",
    [
        (4, IndexError),
        (-5, IndexError),
        ((0, 0, 0, 0), IndexError),
        ((..., ...), IndexError),
        (slice(None, None, 0), ValueError),
        (1.0, TypeError),
        ("name", TypeError),
        (True, TypeError),
        (np.bool_(True), TypeError),
        ([0, 1], TypeError),
        (np.array([0, 1]), TypeError),
        ((0, [1]), TypeError),
    ],
    ids=repr,
)
def test_other_indices_are_refused(index, error):
    _, d = make("sim")
    with pytest.raises(error):
        d[index]


def test_a_refused_index_says_what_takes_it():
    _, d = make("sim", (5,))
    with pytest.raises(smemkit.ArgumentTypeError, match=r"gather\(d, index\) takes an array"):
        d[[1, 2]]


# Shapes, types, copies ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(120,), (4, 30), (2, 2, 5, 6), (-1,), (10, -1), 120, [60, 2]], ids=repr
)
def test_reshape(shape, machine):
    x, d = make(machine)
    assert np.array_equal(smemkit.asnumpy(d.reshape(shape)), x.reshape(shape))
    assert d.reshape(shape).pointer == d.pointer
    turned = d.T.reshape(shape)
    assert np.array_equal(smemkit.asnumpy(turned), x.T.reshape(shape))
    if isinstance(shape, tuple):
        assert d.reshape(*shape).shape == x.reshape(shape).shape


def test_reshape_refuses():
    _, d = make("sim")
    with pytest.raises(smemkit.ShapeError, match=r"120 elements does not take the shape \(7, -1\)"):
        d.reshape(7, -1)
    for bad in ((-1, -1), (121,), (7, 60)):
        with pytest.raises(ValueError):
            d.reshape(bad)
    with pytest.raises(TypeError):
        d.reshape("a")
    assert smemkit.empty((0, 3), backend="sim").reshape(5, 0).shape == (5, 0)
    assert smemkit.asarray(7, backend="sim").reshape(()).shape == ()


@pytest.mark.parametrize("to", SCALARS)
def test_astype(to, machine):
    x, d = make(machine, (3, 4), "int8")
    for array, source in ((d, x), (d.T[1:], x.T[1:])):
        found = array.astype(to)
        assert found.dtype == np.dtype(to) and found.device == d.device
        assert found.pointer != array.pointer
        assert np.array_equal(smemkit.asnumpy(found), source.astype(to))
    with pytest.raises(smemkit.ArgumentTypeError):
        d.astype("S3")


@pytest.mark.parametrize("copies", [smemkit.DeviceArray.copy, copy.copy, copy.deepcopy])
def test_copies_are_of_their_own(copies, machine):
    for index in (..., (slice(None, None, -1), slice(1, 2)), (0, 0, 0), slice(2, 2)):
        for turned in (False, True):
            x, d = make(machine)
            array, source = (d.T[index], x.T[index]) if turned else (d[index], x[index])
            source = source.copy()
            made = copies(array)
            assert made.device == d.device and made.dtype == d.dtype
            array.fill(0)
            assert np.array_equal(smemkit.asnumpy(made), source)


@pytest.mark.parametrize("dtype", [*SCALARS, "i4,f8", "V3", "V12"])
def test_fill_and_copy_of_every_type(dtype, machine):
    dtype = np.dtype(dtype)
    x = np.zeros((6, 7), dtype)
    value = np.ones(dtype.itemsize, "u1").view(dtype)[0]
    d = smemkit.asarray(x, backend=machine)
    d[1::2, ::-3].fill(value)
    x[1::2, ::-3] = value
    assert smemkit.asnumpy(d).tobytes() == x.tobytes()
    assert (
        smemkit.asnumpy(d[:, 2:].T.copy()).tobytes() == np.ascontiguousarray(x[:, 2:].T).tobytes()
    )


def test_many_axes(machine):
    shape = (2,) * 12
    x, d = make(machine, shape)
    order = d.T
    assert np.array_equal(smemkit.asnumpy(order.copy()), x.T)
    mixed = (slice(None, None, -1), ..., 0)
    assert np.array_equal(smemkit.asnumpy(d[mixed].copy()), x[mixed])


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_assignment_is_that_of_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
    dtype = data.draw(st.sampled_from(["i4", "f8", "u1"]))
    x = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    d = smemkit.asarray(x, backend="sim")
    index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, max_dims=5))
    wanted = np.shape(x[index])
    given_shape = tuple(data.draw(st.sampled_from([n, 1])) for n in wanted)
    values = (
        np.arange(np.prod(given_shape))
        .reshape(given_shape)
        .astype(data.draw(st.sampled_from(["i4", "f4", "u1"])))
    )
    x[index] = values
    d[index] = smemkit.asarray(values, backend="sim") if data.draw(st.booleans()) else values
    assert np.array_equal(smemkit.asnumpy(d), x)


def test_assignment(machine):
    x, d = make(machine)
    d[1] = 7
    d[:, 2] = [[1], [2], [3], [4]]
    d[2:, 0, ::2] = smemkit.arange(3, backend=machine)
    x[1], x[:, 2], x[2:, 0, ::2] = 7, [[1], [2], [3], [4]], np.arange(3)
    assert np.array_equal(smemkit.asnumpy(d), x)
    d[1:] = d[:-1]  # as if the right side had been copied before
    x[1:] = x[:-1].copy()
    assert np.array_equal(smemkit.asnumpy(d), x)
    for index, value, error in (
        (0, np.zeros((2, 2)), smemkit.ShapeError),
        (9, 0, IndexError),
        (0, "text", ValueError),
        ([0, 1], 0, TypeError),
    ):
        with pytest.raises(error):
            d[index] = value
    assert np.array_equal(smemkit.asnumpy(d), x)


def test_fill_refuses(machine):
    _, d = make(machine)
    with pytest.raises(smemkit.ShapeError, match="one is needed"):
        d.fill([1, 2])
    with pytest.raises((TypeError, ValueError)):
        d.fill("text")


def test_item(machine):
    x, d = make(machine)
    assert d.item(1, 2, 3) == x.item(1, 2, 3) and type(d.item(1, 2, 3)) is int
    assert d[3, 4, 5].item() == x[3, 4, 5]
    assert smemkit.asarray(2.5, backend=machine).item() == 2.5
    with pytest.raises(smemkit.ShapeError, match="120 elements"):
        d.item()
    assert [d.item(n) for n in (0, 77, -1)] == [x.item(n) for n in (0, 77, -1)]
    assert d.T[::-1].item(77) == x.T[::-1].item(77)
    for bad in ((9, 0, 0), (120,), (-121,)):
        with pytest.raises(IndexError):
            d.item(*bad)


# Calls -------------------------------------------------------------------------------------------


def test_functions_take_views(machine, rng):
    a, b = (rng.integers(-8, 8, shape).astype("f4") for shape in ((40, 30), (50, 30)))
    d, e = smemkit.asarray(a, backend=machine), smemkit.asarray(b, backend=machine)
    assert np.array_equal(smemkit.asnumpy(smemkit.gemm(d, e.T)), a @ b.T)
    assert np.array_equal(
        smemkit.asnumpy(smemkit.gemm(d[::-1, 3:], e.T[3:])), a[::-1, 3:] @ b.T[3:]
    )
    assert smemkit.asnumpy(smemkit.reduce(d[::3, 1::2])) == a[::3, 1::2].sum()
    out = smemkit.zeros((3, 50, 40), backend=machine)
    assert smemkit.gemm(e, d.T, out=out[1]).pointer == out[1].pointer
    assert np.array_equal(smemkit.asnumpy(out), np.stack([0 * b @ a.T, b @ a.T, 0 * b @ a.T]))


def test_out_must_be_whole_and_apart(machine):
    d = smemkit.zeros((40, 40), backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="side by side"):
        smemkit.transpose(d, out=smemkit.zeros((40, 40), backend=machine).T)
    both = smemkit.zeros((60, 40), backend=machine)
    with pytest.raises(smemkit.ArgumentError, match="out shares memory with a"):
        smemkit.transpose(both[:40], out=both[20:])
    with pytest.raises(smemkit.ArgumentError, match="out is a itself"):
        smemkit.transpose(d, out=d)
    part = both[40:].reshape(-1)[:400].reshape(20, 20)
    assert smemkit.transpose(both[:20, :20].copy(), out=part).pointer == part.pointer


def test_launches_take_views(machine):
    kernel = smemkit.RawKernel(STORE, "store")
    x, d = make(machine, (6, 32))
    kernel(1, 32, (d[4],))
    x[4] = np.arange(32)
    assert np.array_equal(smemkit.asnumpy(d), x)


def test_launches_refuse_other_strides(machine):
    """A kernel gets an address alone, and would take the elements in the order of the memory."""
    kernel = smemkit.RawKernel(STORE, "store")
    x, d = make(machine, (6, 32))
    for view in (d.T, d[::-1], d[:, ::2]):
        with pytest.raises(smemkit.ArgumentError, match=r"side by side in C order.*d\.copy\(\)"):
            kernel(1, 32, (view,))
        with pytest.raises(smemkit.ArgumentError, match="side by side"):
            kernel.check(1, 32, (view,))
    assert np.array_equal(smemkit.asnumpy(d), x)


# Making and printing -----------------------------------------------------------------------------


def test_making(machine):
    for made, wanted in (
        (smemkit.zeros((2, 3), backend=machine), np.zeros((2, 3), "f4")),
        (smemkit.ones(4, "u1", machine), np.ones(4, "u1")),
        (smemkit.full((), 2.5, backend=machine), np.full((), 2.5)),
        (smemkit.full((2, 0), 7, "i2", machine), np.full((2, 0), 7, "i2")),
        (smemkit.arange(5, backend=machine), np.arange(5)),
        (smemkit.arange(2, 9, 3, "f4", machine), np.arange(2, 9, 3, "f4")),
        (smemkit.arange(3, 0, -1, backend=machine), np.arange(3, 0, -1)),
    ):
        assert made.dtype == wanted.dtype and made.backend == machine
        assert np.array_equal(smemkit.asnumpy(made), wanted)
    like = smemkit.zeros((3, 2), "i8", backend=machine)
    for make_like, value in ((smemkit.zeros_like, 0), (smemkit.ones_like, 1)):
        for given_like in (like, like.T.copy().T):
            made = make_like(given_like)
            assert made.backend == machine and made.dtype == like.dtype
            assert np.array_equal(smemkit.asnumpy(made), np.full((3, 2), value))
    assert np.array_equal(
        smemkit.asnumpy(smemkit.full_like(like, 3, "f2")), np.full((3, 2), 3, "f2")
    )
    assert smemkit.empty_like([[1.0]], backend=machine).dtype == np.float64


@pytest.mark.parametrize(
    "shape", [(), (0,), (3,), (2, 3), (1001,), (2000, 3), (3, 2000), (30, 40, 2), (7, 999)]
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bool"])
def test_print_is_that_of_numpy(shape, dtype, machine):
    x = (np.arange(np.prod(shape)) * 1.25 % 977).astype(dtype).reshape(shape)
    d = smemkit.asarray(x, backend=machine)
    device = "sim" if machine == "sim" else "cuda:0"
    values = np.array2string(x, separator=", ", prefix="DeviceArray(")
    assert repr(d) == f"DeviceArray({values}, shape={shape}, dtype={dtype}, device='{device}')"
    assert str(d) == repr(d)


def test_print_follows_the_options_of_numpy():
    d = smemkit.arange(50, backend="sim")
    with np.printoptions(threshold=10, edgeitems=2):
        assert (
            repr(d) == "DeviceArray([ 0,  1, ..., 48, 49], shape=(50,), dtype=int64, device='sim')"
        )


def test_print_fetches_the_edges_alone(machine):
    """A print of a large array moves no more than it shows."""
    d = smemkit.empty((1 << 15, 1 << 15), "uint8", backend=machine)
    for rows, columns in itertools.product((slice(3), slice(-3, None)), repeat=2):
        d[rows, columns].fill(9)
    text = repr(d)
    assert text.count("9") >= 36 and "..." in text and "shape=(32768, 32768)" in text


STORE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 to)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


def test_the_end_of_a_view_leaves_the_memory(machine):
    """Also where the object of the view stands where one that owned memory stood."""
    x = smemkit.asarray(np.arange(8.0), backend=machine)
    owner = smemkit.asarray(np.zeros(8), backend=machine)
    del owner
    view = x[:]
    del view
    assert smemkit.asnumpy(x).tolist() == list(range(8))


def test_a_machine_that_is_none():
    with pytest.raises(smemkit.ArgumentError, match="backend is 'nonsense'"):
        smemkit.asarray(np.zeros(3), backend="nonsense")
