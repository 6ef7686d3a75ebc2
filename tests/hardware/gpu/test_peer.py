"""csrc/gpu/peer.c above a CUDA runtime of two devices that is made for it: without a GPU."""

import ctypes

import numpy as np
import pytest
from support.fake_runtime import build, call, count


class Rows(ctypes.Structure):
    _fields_ = (("device", ctypes.c_int), ("address", ctypes.c_uint64), ("pitch", ctypes.c_uint64))


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return build(tmp_path_factory)


class Matrix:
    """Bytes in the memory of a device."""

    def __init__(self, gpu, device, shape):
        self.gpu, self.device, self.shape = gpu, device, shape
        address = ctypes.c_uint64()
        present = gpu.runtime_present()
        gpu.runtime_use(device)
        size = ctypes.c_uint64(shape[0] * shape[1])
        assert call(gpu, "smk_buffer_allocate", size, ctypes.byref(address)) is None
        gpu.runtime_use(present)
        self.address = address.value
        self.values = np.ctypeslib.as_array(
            ctypes.cast(address.value, ctypes.POINTER(ctypes.c_uint8)), shape
        )

    def rows(self, row, column):
        return Rows(self.device, self.address + row * self.shape[1] + column, self.shape[1])


def copy(gpu, to, from_, row_bytes, row_count, stream=0):
    size = (ctypes.c_uint64(row_bytes), ctypes.c_uint64(row_count), ctypes.c_uint64(stream))
    return call(gpu, "smk_peer_copy", ctypes.byref(to), ctypes.byref(from_), *size)


@pytest.mark.parametrize("reaches", [0, 1])
@pytest.mark.parametrize("present", [0, 1])
@pytest.mark.parametrize("devices", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_regions(gpu, devices, present, reaches):
    ctypes.c_int.in_dll(gpu, "runtime_reaches").value = reaches
    source, target = (
        Matrix(gpu, device, shape)
        for device, shape in zip(devices, [(9, 20), (7, 30)], strict=True)
    )
    source.values[:] = np.arange(180).reshape(9, 20)
    target.values[:] = 255
    gpu.runtime_use(present)
    assert copy(gpu, target.rows(1, 4), source.rows(2, 3), 11, 5) is None
    expected = np.full((7, 30), 255)
    expected[1:6, 4:15] = np.arange(180).reshape(9, 20)[2:7, 3:14]
    assert (target.values == expected).all()
    assert gpu.runtime_present() == present
    if devices[0] != devices[1]:
        assert (count(gpu, "peer_from"), count(gpu, "peer_to")) == devices


def test_whole_rows_are_one_copy_on_the_stream(gpu):
    source, target = Matrix(gpu, 0, (4, 8)), Matrix(gpu, 1, (4, 8))
    source.values[:] = 7
    assert copy(gpu, target.rows(0, 0), source.rows(0, 0), 8, 4, stream=99) is None
    assert (target.values == 7).all()
    assert ctypes.c_void_p.in_dll(gpu, "runtime_peer_stream").value == 99
    for row_bytes, row_count in ((0, 4), (8, 0)):
        assert copy(gpu, target.rows(0, 0), source.rows(0, 0), row_bytes, row_count) is None


def test_access_is_granted_once_each_way(gpu):
    test_whole_rows_are_one_copy_on_the_stream(gpu)
    before = count(gpu, "enabled")
    test_whole_rows_are_one_copy_on_the_stream(gpu)
    assert count(gpu, "enabled") == before <= 2


def test_a_stream_waits_for_that_of_another_device(gpu):
    stream = ctypes.c_uint64
    for present in (0, 1):
        gpu.runtime_use(present)
        events = count(gpu, "events")
        assert call(gpu, "smk_peer_follow", 1, stream(5), 0, stream(6)) is None
        assert ctypes.c_void_p.in_dll(gpu, "runtime_recorded").value == 6
        assert ctypes.c_void_p.in_dll(gpu, "runtime_waiting").value == 5
        assert count(gpu, "events") == events and gpu.runtime_present() == present
    assert "making device 7 wait for device 0" in call(
        gpu, "smk_peer_follow", 7, stream(5), 0, stream(6)
    )
    assert gpu.runtime_present() == 1
    gpu.runtime_use(0)


def test_streams_for_copies_are_kept(gpu):
    made = {}
    for _ in range(2):
        for key in ((0, 0), (0, 1), (1, 0), (1, 1)):
            found = ctypes.c_uint64()
            assert call(gpu, "smk_peer_stream", *key, ctypes.byref(found)) is None
            assert made.setdefault(key, found.value) == found.value != 0
    assert len(set(made.values())) == 4
    assert "device 64: 64 are supported" in call(
        gpu, "smk_peer_stream", 64, 0, ctypes.byref(ctypes.c_uint64())
    )
