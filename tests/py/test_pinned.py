"""smemkit.pinned_empty on both machines."""

import gc

import numpy as np
import pytest

import smemkit


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [(7, "float32"), ((3, 0, 2), "int64"), ((), "bool"), ([2, 3], ">i4"), ((300, 1000), "f8")],
)
def test_an_array_like_any_other(machine, shape, dtype):
    x = smemkit.pinned_empty(shape, dtype, backend=machine)
    expected = np.empty(shape, np.dtype(dtype).newbyteorder("="))
    assert type(x) is np.ndarray and x.shape == expected.shape and x.dtype == expected.dtype
    assert x.flags.c_contiguous and x.flags.writeable and x.dtype.isnative
    x[...] = 1
    d = smemkit.asarray(x, backend=machine)
    x[...] = 0
    assert smemkit.asnumpy(d, out=x) is x and (x == 1).all()


def test_a_float32_where_no_type_is_given(machine):
    assert smemkit.pinned_empty(3, backend=machine).dtype == np.float32


def test_a_view_keeps_the_memory(machine):
    x = smemkit.pinned_empty(1 << 16, "uint8", backend=machine)
    x[:] = 5
    part = x[100:][::2]
    del x
    gc.collect()
    assert (part == 5).all()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("a",), smemkit.ArgumentTypeError, "shape is 'a'; a length, or a tuple of"),
        (((2, -1),), smemkit.ShapeError, "axis 1 has the negative length -1"),
        (((1,) * 65,), smemkit.ShapeError, "65 axes, but an array has at most"),
        (
            (3, "O"),
            smemkit.ArgumentTypeError,
            "dtype has the type object, which does",
        ),
        (
            ((1 << 40, 1 << 40),),
            smemkit.OutOfMemoryError,
            "an array of this shape has",
        ),
    ],
)
def test_what_is_refused(machine, arguments, error, words):
    with pytest.raises(error) as caught:
        smemkit.pinned_empty(*arguments, backend=machine)
    assert str(caught.value).startswith(f"pinned_empty: {words}")


def test_more_than_the_host_has():
    with pytest.raises(
        smemkit.OutOfMemoryError, match="the host has no memory for 4000000000000000 "
    ):
        smemkit.pinned_empty(10**15, backend="sim")
