"""managed_empty and mapped: arrays of a device whose memory the host reaches, too."""

import gc

import numpy as np
import pytest

import smemkit


@pytest.fixture
def device(machine):
    return smemkit.Device("cuda" if machine == "cuda" else "sim")


@pytest.mark.parametrize(("shape", "dtype"), [((3, 5), "float32"), (7, "int16"), ((), "c16")])
def test_managed_memory_is_seen_by_both(device, machine, shape, dtype):
    d = smemkit.managed_empty(shape, dtype, machine)
    assert isinstance(d, smemkit.DeviceArray) and d.backend == machine
    host = np.asarray(d)
    assert host.shape == d.shape and host.dtype == dtype
    host[...] = 3
    copy = d.copy()
    device.synchronize()
    assert (smemkit.asnumpy(copy) == 3).all()
    d.fill(5)
    device.synchronize()
    assert (host == 5).all() and (np.asarray(d) == 5).all()


def test_managed_memory_outlives_its_array(device, machine):
    d = smemkit.managed_empty(1000, "float32", machine)
    d.fill(2)
    host = np.asarray(d[::3])
    del d
    gc.collect()
    device.synchronize()
    assert host.shape == (334,) and (host == 2).all()
    assert smemkit.managed_empty(0, backend=machine).size == 0


def test_calls_take_managed_and_mapped_arrays(device, machine):
    a = smemkit.managed_empty((33, 20), backend=machine)
    pinned = smemkit.pinned_empty((20, 17), backend=machine)
    np.asarray(a)[...] = np.arange(660).reshape(33, 20)
    pinned[...] = 1
    b = smemkit.mapped(pinned, machine)
    product = smemkit.gemm(a, b)
    assert np.array_equal(smemkit.asnumpy(product), np.asarray(a) @ pinned)


def test_mapped_memory_is_that_of_the_array(device, machine):
    x = smemkit.pinned_empty((4, 6), "int32", machine)
    x[...] = np.arange(24).reshape(4, 6)
    for view in (x, x[::2, 1::2], x.T, x[::-1]):
        d = smemkit.mapped(view, machine)
        assert d.shape == view.shape and np.array_equal(np.asarray(d), view)
    d = smemkit.mapped(x, machine)
    d[1:3].fill(-1)
    device.synchronize()
    assert (x[1:3] == -1).all() and x[0].tolist() == list(range(6))
    del x
    gc.collect()
    assert np.asarray(d)[3].tolist() == list(range(18, 24))


@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        ([1, 2], smemkit.ArgumentTypeError, "x must be a numpy.ndarray, not list"),
        (np.zeros(3, ">f4"), smemkit.ArgumentTypeError, "which no device has"),
        (np.array(["text"]), smemkit.ArgumentTypeError, "which no device has"),
    ],
)
def test_what_cannot_be_mapped(machine, x, error, text):
    with pytest.raises(error, match=text):
        smemkit.mapped(x, machine)


def test_a_gpu_reaches_no_pageable_memory(machine):
    if machine != "cuda":
        assert smemkit.mapped(np.ones(5), machine).shape == (5,)
        return
    with pytest.raises(smemkit.ArgumentError, match=r"pageable memory.*pinned_empty"):
        smemkit.mapped(np.ones(5), machine)
    with pytest.raises(BufferError, match="asnumpy"):
        memoryview(smemkit.empty(5, backend="cuda"))


def test_bad_shapes_of_managed_memory(machine):
    with pytest.raises(smemkit.ShapeError, match="negative length"):
        smemkit.managed_empty((2, -1), backend=machine)
    with pytest.raises(smemkit.OutOfMemoryError):
        smemkit.managed_empty((1 << 40, 1 << 40), backend=machine)
