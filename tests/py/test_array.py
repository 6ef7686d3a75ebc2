"""DeviceArray: what it says of itself, how long it lives, and that nothing copies it unasked."""

import gc
import math
import pathlib
import pickle
import re
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import smemkit

SCALARS = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 0, 2), (2, 3, 4), (1,) * 40])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex128"])
def test_attributes(shape, dtype, machine):
    d = smemkit.empty(shape, dtype, backend=machine)
    like = np.empty(shape, dtype)
    assert type(d) is smemkit.DeviceArray
    for name in ("dtype", "shape", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(d, name) == getattr(like, name)
    if like.size:
        assert d.strides == like.strides
    assert d.backend == machine
    assert isinstance(d.pointer, int) and (d.pointer > 0 or d.size == 0)
    assert d.device == ("sim" if machine == "sim" else "cuda:0")
    if shape:
        assert len(d) == shape[0]
    else:
        with pytest.raises(TypeError):
            len(d)
    with pytest.raises(AttributeError):
        d.shape = (1,)


def test_defaults(machine):
    smemkit.set_backend(machine)
    try:
        assert smemkit.empty(3).dtype == np.float32
        assert smemkit.empty(3).backend == machine
        assert smemkit.asarray([1.0]).backend == machine
    finally:
        smemkit.set_backend(None)


@pytest.mark.parametrize("dtype", [*SCALARS, "i4,f8", [("a", "f4", (2, 3)), ("b", "u1")], "V7"])
def test_round_trip_of_every_type(dtype, machine, rng):
    dtype = np.dtype(dtype)
    x = rng.integers(0, 2, 6 * dtype.itemsize, dtype=np.uint8).view(dtype).reshape(2, 3)
    d = smemkit.asarray(x, backend=machine)
    assert d.dtype == dtype
    back = smemkit.asnumpy(d)
    assert back.dtype == dtype and back.shape == x.shape and back.flags.c_contiguous
    assert back.tobytes() == x.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    x=hnp.arrays(
        st.sampled_from([np.dtype(order + code) for order in "<>" for code in SCALARS]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
    ),
    transposed=st.booleans(),
    reverse=st.booleans(),
)
def test_round_trip_of_every_layout(x, transposed, reverse):
    x = x.T if transposed else x
    x = x[::-1] if reverse and x.ndim else x
    before = x.tobytes()
    d = smemkit.asarray(x, backend="sim")
    assert d.dtype == x.dtype.newbyteorder("=") and d.dtype.isnative
    back = smemkit.asnumpy(d)
    assert np.array_equal(back, x, equal_nan=x.dtype.kind in "fc")
    assert x.tobytes() == before
    out = np.zeros((*x.shape, 2), d.dtype)[..., 0]
    assert smemkit.asnumpy(d, out) is out
    assert np.array_equal(out, x, equal_nan=x.dtype.kind in "fc")


def test_asarray_of_a_device_array(machine):
    d = smemkit.asarray(np.arange(5.0), backend=machine)
    assert smemkit.asarray(d) is d
    assert smemkit.asarray(d, dtype="float64") is d
    assert smemkit.asarray(d, backend=machine) is d
    e = smemkit.asarray(d, dtype="int16")
    assert e is not d and e.dtype == np.int16 and e.backend == machine
    assert smemkit.asnumpy(e).tolist() == [0, 1, 2, 3, 4]
    f = smemkit.asarray(d, backend="sim")
    assert f.backend == "sim" and smemkit.asnumpy(f).tolist() == [0, 1, 2, 3, 4]


def test_asarray_converts_and_copies(machine):
    assert smemkit.asarray([[1, 2]], backend=machine).dtype == np.asarray([1]).dtype
    assert smemkit.asarray(7, "float16", machine).shape == ()
    x = np.arange(4)
    d = smemkit.asarray(x, backend=machine)
    x[:] = -1
    assert smemkit.asnumpy(d).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("bad", [[object()], ["text"], [b"text"], np.array(["2020"], "M8[D]")])
def test_types_refused(bad):
    with pytest.raises(smemkit.ArgumentTypeError, match="float32"):
        smemkit.asarray(bad, backend="sim")


def test_other_types_refused():
    for dtype in (object, "S3", "m8[s]", [("a", object)], np.longdouble):
        with pytest.raises(smemkit.ArgumentTypeError):
            smemkit.empty(3, dtype, backend="sim")
    with pytest.raises(TypeError):
        smemkit.empty(3, "no such type", backend="sim")


def test_shapes_refused():
    for bad in (-1, (3, -2)):
        with pytest.raises(ValueError):
            smemkit.empty(bad, backend="sim")
    for bad in (2.5, "3", (2, 3.0)):
        with pytest.raises(TypeError):
            smemkit.empty(bad, backend="sim")
    for bad in ((2**62,), (2**40, 2**40), (2**31, 2**31, 2**31, 2**31)):
        with pytest.raises((MemoryError, ValueError)):
            smemkit.empty(bad, "uint8", backend="sim")


@pytest.mark.parametrize(
    "shape",
    [(0, 2**62, 2**62), (2**62, 2**62, 0), (0, 2**61), (2**40, 0, 2**40), (0, 2**63 - 1), (0, 7)],
)
def test_empty_arrays_are_those_of_numpy(shape):
    """Axes without elements do not hide that a stride would not fit."""
    try:
        expected = np.empty(shape, "f4")
    except ValueError:
        with pytest.raises(smemkit.ShapeError, match="no elements, and strides that 64 bits"):
            smemkit.empty(shape, "f4", backend="sim")
    else:
        array = smemkit.empty(shape, "f4", backend="sim")
        assert (array.nbytes, array.size, array.shape) == (0, 0, shape)
        assert smemkit.asnumpy(array).shape == expected.shape


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_strides_of_an_empty_array_fit(axis):
    shape = [2**20, 2**20, 2**21]
    shape[axis] = 0
    strides = smemkit.empty(shape, "uint8", backend="sim").strides
    products = [1 if n == 0 else n for n in shape]
    assert strides == (products[1] * products[2], products[2], 1)


def test_shapes_refused_by_numpy_are_refused_as_outputs():
    """Without elements along m or n, c has none either, whatever the other is."""
    long = smemkit.empty((2**61 - 1, 0), "f4", backend="sim")
    none = smemkit.empty((0, 2**60), "f4", backend="sim")
    assert smemkit.gemm(smemkit.empty((0, 0), "f4", backend="sim"), none).shape == (0, 2**60)
    with pytest.raises(smemkit.ShapeError):
        smemkit.gemm(long, none)


def test_asnumpy_checks_out(machine):
    d = smemkit.asarray(np.arange(6.0).reshape(2, 3), backend=machine)
    for out, error in [
        (np.zeros((2, 3), "f4"), TypeError),
        (np.zeros((2, 3), ">f8"), TypeError),
        ([[0.0] * 3] * 2, TypeError),
        (np.zeros((3, 2)), smemkit.ShapeError),
        (np.zeros(6), smemkit.ShapeError),
        (np.broadcast_to(0.0, (2, 3)), ValueError),
    ]:
        with pytest.raises(error) as caught:
            smemkit.asnumpy(d, out)
        assert isinstance(caught.value, smemkit.Error)
        assert not np.any(out)
    out = np.full((3, 2), np.nan).T
    assert smemkit.asnumpy(d, out=out) is out and out.tolist() == [[0, 1, 2], [3, 4, 5]]
    for bad in (np.zeros(3), [1, 2], None, 7):
        with pytest.raises(smemkit.ArgumentTypeError, match="DeviceArray"):
            smemkit.asnumpy(bad)


CONVERSIONS = {
    "asarray": np.asarray,
    "array": lambda d: np.array([d, d]),
    "add": lambda d: np.add(d, 1),
    "sum": np.sum,
    "dot": lambda d: np.dot(d, d),
    "right": lambda d: np.ones(6) + d,
    "left": lambda d: d + np.ones(6),
    "equal": lambda d: np.ones(6) == d,
}
REFUSED = {
    "float": float,
    "int": int,
    "bool": bool,
    "list": list,
    "contains": lambda d: 1 in d,
    "number": lambda d: d + 1,
    "pickle": pickle.dumps,
    "compare": lambda d: d == smemkit.ones(6, backend="sim"),
    "differ": lambda d: d != 3,
    "less": lambda d: d < 3,
    "delete": lambda d: d.__delitem__(0),
}


@pytest.mark.parametrize("name", [*CONVERSIONS, "memoryview"])
def test_numpy_sees_the_memory_of_the_simulator_alone(name, machine):
    values = np.arange(6.0)
    d = smemkit.asarray(values, backend=machine)
    references = sys.getrefcount(d)
    if name == "memoryview":
        convert = memoryview
    else:
        convert = CONVERSIONS[name]
    if machine == "sim":
        assert np.array_equal(convert(d), convert(values))
    else:
        with pytest.raises(
            TypeError if name != "memoryview" else BufferError, match=r"asnumpy\(d\)"
        ):
            convert(d)
    gc.collect()
    assert sys.getrefcount(d) == references


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_refuses(name, machine):
    d = smemkit.asarray(np.arange(6.0), backend=machine)
    references = sys.getrefcount(d)
    with pytest.raises(TypeError):
        REFUSED[name](d)
    gc.collect()
    assert sys.getrefcount(d) == references


def test_refusals_say_how():
    d = smemkit.asarray(np.arange(6.0), backend="sim")
    for name in ("pickle", "bool"):
        with pytest.raises(TypeError, match=r"smemkit\.asnumpy\(d\)"):
            REFUSED[name](d)
    with pytest.raises(TypeError, match=r"compare smemkit\.asnumpy\(d\), or `d is e`"):
        REFUSED["compare"](d)
    assert d in [d] and {d: 1}[d] == 1  # by identity, which is asked first


def test_cannot_be_made_otherwise():
    with pytest.raises(TypeError):
        smemkit.DeviceArray()
    with pytest.raises(TypeError):
        type("Mine", (smemkit.DeviceArray,), {})


def test_lives_as_long_as_its_last_reference(machine):
    d = smemkit.asarray(np.arange(6.0), backend=machine)
    alive = weakref.ref(d)
    assert alive() is d
    other = d
    del d
    assert alive() is other
    del other
    assert alive() is None


def test_memory_is_freed():
    """The simulator names the fault where the array of a stale pointer is gone."""
    kernel = smemkit.RawKernel(TOUCH, "touch")
    d = smemkit.empty(1024, "uint8", backend="sim")
    pointer = d.pointer
    kernel(1, 1, (pointer,), backend="sim")
    del d
    with pytest.raises(smemkit.OutOfBoundsError):
        kernel(1, 1, (pointer,), backend="sim")


def test_memory_is_not_used_up():
    for _ in range(200):
        smemkit.empty(1 << 26, "uint8", backend="sim")


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux gives memory")
def test_large_memory_costs_what_is_written():
    """Gigabytes come at once, filled as little arrays are, and take room as they need it."""

    def read_resident_kb():
        text = pathlib.Path("/proc/self/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0])

    before = read_resident_kb()
    gigabytes = [smemkit.empty(1 << 30, "uint8", backend="sim") for _ in range(2)]
    assert read_resident_kb() - before < 1 << 19
    kernel = smemkit.RawKernel(TOUCH, "touch")
    kernel(1, 1, (gigabytes[1].pointer + (1 << 29),), backend="sim")
    del gigabytes
    for size in (1 << 20, (1 << 25) - 1, 1 << 25, 3 * (1 << 24) + 5):
        found = smemkit.asnumpy(smemkit.empty(size, "uint8", backend="sim"))
        assert (found == 0xA5).all()
    first, second = (smemkit.empty((1 << 12, 1 << 13), "uint8", backend="sim") for _ in range(2))
    zeros = smemkit.asarray(np.zeros((1 << 13, 1 << 12), "uint8"), backend="sim")
    smemkit.transpose(zeros, out=first)
    assert not smemkit.asnumpy(first).any()
    assert (smemkit.asnumpy(second) == 0xA5).all()


@pytest.mark.parametrize("shape", [(3, (1 << 20) + 5), (2, 3, (1 << 20) + 1), (5, 700, 800)])
def test_large_arrays_of_another_order(shape):
    """Copied in pieces: what stands along each axis comes to its place."""
    wanted = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    swapped = wanted.astype(">i4")
    for source in (swapped, np.asfortranarray(wanted), wanted[:, ::-1], wanted[::-1]):
        found = smemkit.asnumpy(smemkit.asarray(source, backend="sim"))
        assert found.dtype == np.int32 and np.array_equal(found, source)


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux says it")
def test_large_memory_comes_back():
    def read_mapped_kb():
        text = pathlib.Path("/proc/self/status").read_text()
        return int(re.findall(r"VmSize:\s+(\d+) kB", text)[0])

    before = read_mapped_kb()
    for _ in range(32):
        smemkit.empty(1 << 28, "uint8", backend="sim")
    assert read_mapped_kb() - before < 4 << 20


def test_arrays_do_not_overlap():
    arrays = [smemkit.empty(n, "uint8", backend="sim") for n in (0, 1, 255, 256, 257, 5000, 0, 1)]
    ends = sorted((d.pointer, d.pointer + max(d.nbytes, 1)) for d in arrays)
    assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:], strict=False))
    assert all(d.pointer % 256 == 0 for d in arrays)


def test_threads_allocate_at_once():
    failures = []

    def work(value):
        try:
            for n in range(1, 60):
                d = smemkit.asarray(np.full(n * 7, value), backend="sim")
                assert (smemkit.asnumpy(d) == value).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


TOUCH = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry touch(.param .u64 to)
{
    .reg .b64 %rd<2>;
    .reg .b16 %rs<2>;
    ld.param.u64 %rd1, [to];
    ld.global.u8 %rs1, [%rd1];
    ret;
}
"""
