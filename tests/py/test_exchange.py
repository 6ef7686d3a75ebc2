"""Arrays of other libraries, both ways: DLPack, its table of C functions, buffers.

Producers whose faults are wanted are made by ctypes, from the structures that dlpack.h declares.
"""

import ctypes
import gc
import importlib.util
import pathlib
import sys
import weakref

import numpy as np
import pytest

import smemkit

SCALARS = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
CPU, CUDA, METAL = 1, 2, 8


# Structures of DLPack ----------------------------------------------------------------------------


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("number", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """An array of float32 by DLPack, with whatever fault is wanted; counts its deletions."""

    def __init__(self, values=(1, 2, 3, 4, 5, 6), device=(CPU, 0), versioned=True, **changes):
        self.values = np.array(values, "f4")
        self.shape = (ctypes.c_int64 * 1)(len(self.values))
        self.strides = (ctypes.c_int64 * 1)(1)
        self.deletions, self.calls, self.device, self.versioned = 0, [], device, versioned
        self.deleter = DELETER(self.count)
        self.tensor = Tensor(
            data=self.values.ctypes.data,
            device=Device(*device),
            ndim=1,
            code=2,
            bits=32,
            lanes=1,
            shape=self.shape,
            strides=self.strides,
        )
        self.major, self.flags = changes.pop("major", 1), changes.pop("flags", 0)
        for name, value in changes.items():
            setattr(self.tensor, name, value)

    def count(self, _):
        self.deletions += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.calls.append(options)
        deleter = ctypes.cast(self.deleter, ctypes.c_void_p)
        if self.versioned:
            self.made = Versioned(self.major, 3, None, deleter, self.flags, self.tensor)
        else:
            if "max_version" in options:
                raise TypeError("an old library does not know max_version")
            self.made = Managed(self.tensor, None, deleter)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return new_capsule(ctypes.addressof(self.made), name, None)


# Out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SCALARS)
def test_numpy_shares_an_array_of_the_simulator(dtype):
    x = np.arange(24).astype(dtype).reshape(2, 3, 4)
    for share in (np.from_dlpack, np.asarray, lambda array: np.asarray(memoryview(array))):
        for index in (..., (slice(None, None, -1), slice(1, None)), (..., slice(None, None, 2))):
            d = smemkit.asarray(x, backend="sim")
            view, wanted = d[index].T, x[index].T
            theirs = share(view)
            assert theirs.dtype == x.dtype and theirs.strides == wanted.strides
            assert np.array_equal(theirs, wanted)
            view.fill(0)
            assert not theirs.any() and np.any(smemkit.asnumpy(d)) == (wanted.size < x.size)


def test_both_write_to_the_same_bytes():
    d = smemkit.zeros((4, 8), "int32", backend="sim")
    x = np.asarray(d)
    assert x.flags.writeable
    x[2] = 7
    d[:, 3].fill(5)
    assert smemkit.asnumpy(d)[2].tolist() == [7, 7, 7, 5, 7, 7, 7, 7]
    assert x[:, 3].tolist() == [5] * 4
    kernel = smemkit.RawKernel(INCREMENT, "increment")
    kernel(1, 32, (d,))
    assert x[2].tolist() == [8, 8, 8, 6, 8, 8, 8, 8]


def test_bytes_without_their_shape_are_refused():
    d = smemkit.ones((2, 3), "int32", backend="sim")
    with pytest.raises(BufferError, match=r"without its shape; use .*torch\.from_dlpack\(d\)"):
        np.frombuffer(d, "int32")
    whole = memoryview(d)
    assert whole.shape == (2, 3) and whole.tobytes() == np.ones(6, "int32").tobytes()
    assert np.frombuffer(d.reshape(-1), "int32").tolist() == [1] * 6


def test_memory_lives_as_long_as_any_of_both():
    d = smemkit.arange(1000, backend="sim")
    x, view = np.from_dlpack(d), d[5:]
    alive = weakref.ref(d)
    del d
    assert x.sum() == 499500 and alive() is not None
    del x
    gc.collect()
    assert smemkit.asnumpy(view)[0] == 5
    del view
    gc.collect()
    assert alive() is None


def test_capsules_that_nobody_takes_are_freed():
    d = smemkit.arange(10, backend="sim")
    references = sys.getrefcount(d)
    for version in (None, (1, 0), (1, 3), (2, 0)):
        capsule = d.__dlpack__(max_version=version)
        assert sys.getrefcount(d) == references + 1
        name = b"dltensor" if version is None else b"dltensor_versioned"
        assert get_pointer(capsule, name)
        del capsule
        assert sys.getrefcount(d) == references


def test_what_a_capsule_says():
    d = smemkit.zeros((3, 4, 5), "float64", backend="sim")[::2, :, ::-1]
    capsule = d.__dlpack__(max_version=(1, 1))
    made = Versioned.from_address(get_pointer(capsule, b"dltensor_versioned"))
    tensor = made.tensor
    assert (made.major, made.flags) == (1, 0)
    assert tensor.shape[:3] == [2, 4, 5] and tensor.strides[:3] == [40, 5, -1]
    assert (tensor.code, tensor.bits, tensor.lanes) == (2, 64, 1)
    assert (tensor.device.type, tensor.device.number) == d.__dlpack_device__() == (CPU, 0)
    copied = d.__dlpack__(max_version=(1, 1), copy=True)
    other = Versioned.from_address(get_pointer(copied, b"dltensor_versioned"))
    assert other.flags == 2 and other.tensor.data != tensor.data
    assert other.tensor.strides[:3] == [20, 5, 1]
    assert d.__dlpack__(dl_device=(CPU, 0), copy=False) is not None


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"stream": 1}, BufferError),
        ({"dl_device": (CUDA, 0)}, BufferError),
        ({"dl_device": (METAL, 0)}, BufferError),
        ({"dl_device": 3}, TypeError),
        ({"max_version": 1}, TypeError),
        ({"max_version": ("a", "b")}, TypeError),
        ({"unknown": 1}, TypeError),
    ],
    ids=str,
)
def test_exports_refused(options, error):
    d = smemkit.zeros(3, backend="sim")
    references = sys.getrefcount(d)
    with pytest.raises(error):
        d.__dlpack__(**options)
    assert sys.getrefcount(d) == references


def test_structures_have_no_dlpack():
    d = smemkit.empty(3, "i4,f4", backend="sim")
    with pytest.raises(BufferError, match="no elements of type"):
        d.__dlpack__()
    assert np.asarray(d).dtype == np.dtype("i4,f4")


def test_an_array_of_the_simulator_has_no_cuda_array_interface():
    d = smemkit.zeros(3, backend="sim")
    assert not hasattr(d, "__cuda_array_interface__")


# In ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SCALARS)
def test_from_dlpack_shares_the_memory_of_numpy(dtype):
    whole = np.arange(60).astype(dtype).reshape(3, 4, 5)
    for x in (whole, whole[::-1, 1:3, ::2], whole.T, whole[1, 2, 3:4].reshape(()), whole[:0]):
        d = smemkit.from_dlpack(x)
        assert d.backend == "sim" and d.shape == x.shape and d.dtype == x.dtype
        assert np.array_equal(smemkit.asnumpy(d), x)
        if x.size:
            assert np.shares_memory(np.asarray(d), x)
            d.fill(0)
            assert not x.any()
            whole[...] = np.arange(60).astype(dtype).reshape(3, 4, 5)


def test_from_dlpack_of_our_own():
    d = smemkit.arange(6, backend="sim")
    e = smemkit.from_dlpack(d)
    e.fill(3)
    assert smemkit.asnumpy(d).tolist() == [3] * 6
    f = smemkit.from_dlpack(d, copy=True)
    f.fill(4)
    assert smemkit.asnumpy(d).tolist() == [3] * 6


@pytest.mark.parametrize("versioned", [True, False])
def test_the_deleter_is_called_once_and_late(versioned):
    producer = Producer(versioned=versioned)
    d = smemkit.from_dlpack(producer)
    view = d[2:]
    assert producer.calls[-1].get("stream") is None
    del d
    gc.collect()
    assert smemkit.asnumpy(view).tolist() == [3, 4, 5, 6] and producer.deletions == 0
    del view
    gc.collect()
    assert producer.deletions == 1


def test_simulated_memory_is_not_used_up_by_what_is_adopted():
    """The allocation of an adopted array goes with it, and bounds are those of its bytes."""
    x = np.zeros(8, "i4")
    kernel = smemkit.RawKernel(INCREMENT, "increment")
    for _ in range(300):
        d = smemkit.from_dlpack(x)
        with pytest.raises(smemkit.OutOfBoundsError):
            kernel(1, 32, (d,))
    pointer = d.pointer
    del d
    with pytest.raises(smemkit.OutOfBoundsError):
        kernel(1, 1, (pointer,), backend="sim")


def test_elements_that_are_not_aligned_are_refused():
    producer = Producer(byte_offset=2)
    with pytest.raises(smemkit.ArgumentError, match="not aligned"):
        smemkit.from_dlpack(producer)
    gc.collect()
    assert producer.deletions == 1
    bytes_of_any_address = np.frombuffer(bytearray(40), "u1")[1:33]
    assert smemkit.from_dlpack(bytes_of_any_address).pointer % 256 == 0


def test_read_only_memory_stays_so():
    producer = Producer(flags=1)
    d = smemkit.from_dlpack(producer)
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        d.fill(1)
    with pytest.raises(smemkit.ArgumentError, match="out is read-only"):
        smemkit.smooth(smemkit.ones(6, backend="sim"), out=d)
    with pytest.raises(BufferError, match="read-only"):
        d[1:].__dlpack__()
    assert not np.asarray(d).flags.writeable
    capsule = d.__dlpack__(max_version=(1, 0))
    assert Versioned.from_address(get_pointer(capsule, b"dltensor_versioned")).flags == 1
    assert smemkit.asnumpy(smemkit.smooth(d)).shape == (6,)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"code": 4, "bits": 8}, TypeError, "8 bits"),
        ({"code": 2, "bits": 8}, TypeError, "code 2 with 8 bits"),
        ({"lanes": 4}, TypeError, "bits x 4"),
        ({"ndim": 100}, ValueError, "100 axes"),
        ({"major": 2}, TypeError, r"DLPack 2\.3; smemkit knows version 1"),
        ({"device": (METAL, 0)}, TypeError, "device of DLPack's type 8"),
    ],
    ids=str,
)
def test_tensors_refused(changes, error, text):
    producer = Producer(**changes)
    with pytest.raises(error, match=text):
        smemkit.from_dlpack(producer)
    gc.collect()
    assert producer.deletions == 1


def test_a_library_that_cannot_say_so_counts_as_read_only():
    """As in NumPy: before version 1.0 nobody could say of an array that it never changes."""
    producer = Producer(versioned=False)
    d = smemkit.from_dlpack(producer)
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        d[0] = 5
    with pytest.raises(smemkit.ArgumentError, match="out is read-only"):
        smemkit.vector_add(Producer(), Producer(), out=Producer(versioned=False), backend="sim")
    kernel = smemkit.RawKernel(INCREMENT, "increment")
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        kernel(1, 6, (producer,), backend="sim")
    assert producer.values.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_capsule_that_was_used(monkeypatch):
    producer = Producer()
    capsule = producer.__dlpack__()
    monkeypatch.setattr(Producer, "__dlpack__", lambda self, **options: capsule)
    first = smemkit.from_dlpack(producer)
    with pytest.raises(smemkit.ArgumentTypeError, match="used already"):
        smemkit.from_dlpack(producer)
    assert smemkit.asnumpy(first)[0] == 1
    del first
    gc.collect()
    assert producer.deletions == 1


@pytest.mark.parametrize("call", [smemkit.from_dlpack, smemkit.asarray, smemkit.reduce])
def test_errors_of_the_producer_come_through(call, monkeypatch):
    def fail(self, **options):
        raise RuntimeError("the producer failed")

    monkeypatch.setattr(Producer, "__dlpack__", fail)
    with pytest.raises(RuntimeError, match="the producer failed"):
        call(Producer())
    monkeypatch.setattr(Producer, "__dlpack__", lambda self, **options: 7)
    with pytest.raises(smemkit.ArgumentTypeError, match="no DLPack capsule"):
        call(Producer())
    monkeypatch.setattr(Producer, "__dlpack_device__", lambda self: "host")
    with pytest.raises(smemkit.ArgumentTypeError, match="no pair of integers"):
        call(Producer())


@pytest.mark.parametrize("bad", [None, 3, [1.0], "text", object()])
def test_what_is_no_array(bad):
    with pytest.raises(smemkit.ArgumentTypeError, match="no method __dlpack__"):
        smemkit.from_dlpack(bad)


# Calls -------------------------------------------------------------------------------------------


def test_functions_take_arrays_of_others():
    a, b = Producer(range(6)), Producer(range(6, 12), versioned=False)
    assert smemkit.dot(a, b, backend="sim") == np.dot(a.values, b.values)
    assert smemkit.vector_add(a, b.values, backend="sim").tolist() == (a.values + b.values).tolist()
    out = Producer()
    assert smemkit.vector_add(a, b, out=out, backend="sim") is out
    assert np.array_equal(out.values, a.values + b.values)
    gc.collect()
    assert (a.deletions, b.deletions, out.deletions) == (3, 2, 1)


def test_kernels_take_arrays_of_others():
    x = Producer()
    kernel = smemkit.RawKernel(INCREMENT, "increment")
    kernel(1, 6, (x,), backend="sim")
    assert x.values.view("i4").tolist() == (np.arange(1, 7, dtype="f4").view("i4") + 1).tolist()
    gc.collect()
    assert x.deletions == 1
    frozen = Producer(flags=1)
    with pytest.raises(smemkit.ArgumentError, match="read-only"):
        kernel(1, 6, (frozen,), backend="sim")
    assert frozen.values.tolist() == [1, 2, 3, 4, 5, 6] and frozen.deletions == 1


def test_profile_and_check_take_arrays_of_others():
    x = Producer()
    kernel = smemkit.RawKernel(INCREMENT, "increment")
    assert kernel.profile(1, 6, (x,)).counters["global.store.requests"] == 1
    assert kernel.check(1, 6, (x,))


def test_asarray_and_asnumpy_take_arrays_of_others():
    x = Producer()
    d = smemkit.asarray(x, backend="sim")
    x.values[:] = 0
    assert smemkit.asnumpy(d).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(smemkit.ArgumentTypeError, match="must be a smemkit.DeviceArray"):
        smemkit.asnumpy(x)


# The table of C functions ------------------------------------------------------------------------

FROM_TENSOR = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
STREAM = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


def make_type(**changes):
    """A class of producers with a table, whose functions note that they were called."""
    called = []

    def fill(producer, tensor):
        called.append(producer)
        tensor[0] = producer.tensor
        return 0

    def tell(kind, number, stream):
        stream[0] = None
        return 0

    functions = (FROM_TENSOR(fill), STREAM(tell))
    pointers = [ctypes.cast(function, ctypes.c_void_p) for function in functions]
    table = Table(1, 3, None, None, None, None, *pointers)
    for name, value in changes.items():
        setattr(table, name, value)
    made = type("Tabled", (Producer,), {"called": called, "kept": (table, functions)})
    made.__dlpack_c_exchange_api__ = new_capsule(
        ctypes.addressof(table), b"dlpack_exchange_api", None
    )
    return made


def test_a_table_is_used_where_there_is_one():
    kind = make_type()
    a, b = kind(), kind(range(6))
    assert smemkit.dot(a, b, backend="sim") == np.dot(a.values, b.values)
    kernel = smemkit.RawKernel(INCREMENT, "increment")
    kernel(1, 6, (b,), backend="sim")
    assert kind.called == [a, b, b]
    assert not a.calls and not b.calls and not a.deletions
    d = smemkit.from_dlpack(a)  # an array that stays takes the memory's ownership
    assert len(a.calls) == 1 and len(kind.called) == 3
    del d
    gc.collect()
    assert a.deletions == 1


@pytest.mark.parametrize("changes", [{"major": 2}, {"tensor_from_object": None}], ids=str)
def test_tables_that_do_not_serve_are_passed_over(changes):
    kind = make_type(**changes)
    x = kind()
    assert smemkit.reduce(x, backend="sim") == 21
    assert not kind.called and len(x.calls) == 1


@pytest.mark.parametrize("tabled", [False, True])
@pytest.mark.parametrize("length", [1, 3])
def test_negated_elements_are_refused(tabled, length, monkeypatch):
    kind = make_type() if tabled else Producer
    x = kind(range(1, 1 + length))
    if length > 1:
        strides = (ctypes.c_int64 * 1)(2)
        x.tensor.strides = strides
        x.tensor.shape[0] = 2
    calls = [
        lambda: smemkit.reduce(x, backend="sim"),
        lambda: smemkit.asarray(x, backend="sim"),
        lambda: smemkit.from_dlpack(x),
        lambda: smemkit.RawKernel(INCREMENT, "increment")(1, 1, (x,), backend="sim"),
    ]
    monkeypatch.setattr(kind, "is_neg", lambda self: True, raising=False)
    for call in calls:
        with pytest.raises(smemkit.ArgumentError, match="negatives of its elements.*resolve_neg"):
            call()
    monkeypatch.setattr(kind, "is_neg", lambda self: 1 / 0)
    for call in calls:
        with pytest.raises(ZeroDivisionError):
            call()


def test_an_older_table_behind_a_newer_one_is_used():
    old = make_type()
    table = old.kept[0]
    kind = make_type(major=2, previous=ctypes.addressof(table))
    x = kind()
    assert smemkit.reduce(x, backend="sim") == 21
    assert old.called == [x]


def test_many_types_with_tables():
    for _ in range(9):
        x = make_type()()
        assert smemkit.reduce(x, backend="sim") == 21


class OwnTable:
    """The table of DeviceArray, called as another library calls it."""

    def __init__(self):
        capsule = smemkit.DeviceArray.__dlpack_c_exchange_api__
        self.table = Table.from_address(get_pointer(capsule, b"dlpack_exchange_api"))

    def get(self, name, *types):
        return ctypes.PYFUNCTYPE(ctypes.c_int, *types)(getattr(self.table, name))


def test_our_table_describes_arrays():
    table = OwnTable().table
    assert (table.major, table.minor) >= (1, 3)
    get = OwnTable().get("tensor_from_object", ctypes.py_object, ctypes.POINTER(Tensor))
    d = smemkit.arange(12, backend="sim").reshape(3, 4)[:, ::2]
    tensor = Tensor()
    assert get(d, tensor) == 0
    assert tensor.shape[:2] == [3, 2] and tensor.strides[:2] == [4, 2]
    assert ctypes.c_int64.from_address(tensor.data).value == 0
    stream = OwnTable().get("stream", ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    found = ctypes.c_void_p(5)
    assert stream(CPU, 0, found) == 0 and not found.value


def test_our_table_gives_and_takes_ownership():
    give = OwnTable().get("from_object", ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
    take = OwnTable().get("to_object", ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
    d = smemkit.arange(5, backend="sim")
    references = sys.getrefcount(d)
    managed, made = ctypes.c_void_p(), ctypes.py_object()
    assert give(d, managed) == 0 and sys.getrefcount(d) == references + 1
    assert take(managed, made) == 0
    e = made.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(e))  # to_object gave a reference of its own
    assert smemkit.asnumpy(e).tolist() == [0, 1, 2, 3, 4]
    made.value = None
    del e
    gc.collect()
    assert sys.getrefcount(d) == references


class Interrupted:
    """A number whose conversion the user interrupts."""

    def __index__(self):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.__dlpack__(dl_device=(Interrupted(), 0)),
        lambda d: d.__dlpack__(max_version=(Interrupted(), 0)),
        lambda d: smemkit.from_dlpack(
            type("Odd", (), {"__dlpack__": d.__dlpack__, "__dlpack_device__": interrupted_device})()
        ),
    ],
)
def test_an_interrupt_is_no_wrong_argument(call):
    with pytest.raises(KeyboardInterrupt):
        call(smemkit.arange(3, backend="sim"))


def interrupted_device(self):
    return Interrupted(), 0


def test_what_the_look_up_of_a_table_raises_is_kept():
    class Meta(type):
        @property
        def __dlpack_c_exchange_api__(cls):
            raise RuntimeError("not now")

    array = Meta("Array", (), {"__dlpack__": None})()
    with pytest.raises(RuntimeError, match="not now"):
        smemkit.reduce(array, backend="sim")


def test_our_table_outlives_another_instance_of_the_module(tmp_path):
    """An instance that is made and dropped leaves the table to the one that had it."""
    own = pathlib.Path(smemkit._core.__file__)
    link = tmp_path / own.name
    link.symlink_to(own)
    spec = importlib.util.spec_from_file_location(smemkit._core.__name__, link)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    assert other.DeviceArray is not smemkit.DeviceArray
    assert not hasattr(other.DeviceArray, "__dlpack_c_exchange_api__")
    del other, spec
    gc.collect()
    test_our_table_gives_and_takes_ownership()


def test_our_table_allocates():
    failed = []
    set_error = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)(
        lambda context, kind, text: failed.append((kind, text))
    )
    allocate = OwnTable().get(
        "allocate",
        ctypes.POINTER(Tensor),
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_void_p,
        ctypes.c_void_p,
    )
    managed = ctypes.c_void_p()
    prototype = Producer().tensor
    pointer = ctypes.cast(set_error, ctypes.c_void_p)
    assert allocate(prototype, managed, None, pointer) == 0
    made = Versioned.from_address(managed.value)
    assert made.tensor.shape[0] == 6 and made.tensor.data
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made.deleter)(managed.value)
    assert not failed
    bad = Producer(code=2, bits=8).tensor
    assert allocate(bad, managed, None, pointer) == -1 and not managed.value
    assert failed and failed[0][0] == b"RuntimeError"


INCREMENT = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 to)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    ret;
}
"""
