"""Faults on a GPU: blocks, events, streams and pinned memory are counted before and after."""

import gc
import os
import signal
import threading

import numpy as np
import pytest

import smemkit
from smemkit import _core

MB = 1 << 20

SCALE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 to, .param .u64 from)
{
    .reg .u64 %rd<5>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    ld.global.f32 %f1, [%rd2];
    st.global.f32 [%rd1], %f1;
    ret;
}
"""


@pytest.fixture
def cuda(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")
    yield
    _core._bus_set()


def count_held():
    gc.collect()
    smemkit.Device("cuda").synchronize()
    return _core._held() | {"busy": _core._bus_kept()[2]}


def assert_nothing_is_left(fault, times=3):
    """The first time makes what is kept for ever: a ring, streams, a loaded kernel."""
    fault()
    before = count_held()
    for _ in range(times):
        fault()
    assert count_held() == before


class Foreign:
    """An array of another library, in the memory of the GPU, whose export fails in some way."""

    def __init__(self, export):
        self.array = smemkit.ones((64, 64), "float32", backend="cuda")
        self.export = export

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.export(self.array, options)


def raise_error(array, options):
    raise ZeroDivisionError("in __dlpack__")


def raise_late(array, options):
    capsule = array.__dlpack__(**options)
    raise ZeroDivisionError(f"behind {capsule!r}")


def give_no_capsule(array, options):
    return array


def give_dead_capsule(array, options):
    capsule = array.__dlpack__(**options)
    smemkit.from_dlpack(Capsule(array, capsule))  # takes it: its name says so from now on
    return capsule


class Capsule:
    """Gives a capsule that was made before."""

    def __init__(self, array, capsule):
        self.array, self.capsule = array, capsule

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.capsule


EXPORTS = {
    raise_error: ZeroDivisionError,
    raise_late: ZeroDivisionError,
    give_no_capsule: smemkit.ArgumentTypeError,
    give_dead_capsule: smemkit.ArgumentTypeError,
}


def call_operand(a, bad):
    smemkit.gemm(a, bad)


def call_out(a, bad):
    smemkit.gemm(a, a, out=bad)


def call_kernel(a, bad):
    smemkit.RawKernel(SCALE, "scale")((1,), (1,), (a, bad))


def call_from_dlpack(a, bad):
    smemkit.from_dlpack(bad)


def call_asarray(a, bad):
    smemkit.asarray(bad)


def call_stream(a, bad):
    with smemkit.Stream(backend="cuda", non_blocking=True) as stream:
        smemkit.gemm(a, bad, stream=stream)


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.__name__)
@pytest.mark.parametrize(
    "call",
    [call_operand, call_out, call_kernel, call_from_dlpack, call_asarray, call_stream],
    ids=lambda call: call.__name__,
)
def test_a_foreign_export_that_fails(cuda, call, export):
    def fault():
        a = smemkit.ones((64, 64), "float32", backend="cuda")
        with pytest.raises(EXPORTS[export]):
            call(a, Foreign(export))

    assert_nothing_is_left(fault)


def test_a_capsule_that_nobody_takes(cuda):
    def fault():
        array = smemkit.ones(MB, "float32", backend="cuda")
        capsule = array.__dlpack__()
        del array
        assert "dltensor" in repr(capsule)

    assert_nothing_is_left(fault)


def test_arrays_of_the_wrong_machine(cuda):
    def fault():
        a = smemkit.ones((8, 8), "float32", backend="cuda")
        b = smemkit.ones((8, 8), "float32", backend="sim")
        with pytest.raises(smemkit.ArgumentError):
            smemkit.gemm(a, b)
        with pytest.raises(smemkit.ArgumentError):
            smemkit.ones(4, device="cuda:63")

    assert_nothing_is_left(fault)


def test_memory_that_no_device_has(cuda):
    x = np.ones((64, 64), "float32")

    def fault():
        with pytest.raises(smemkit.OutOfMemoryError):
            smemkit.empty(1 << 50, "uint8", backend="cuda")
        with pytest.raises(smemkit.OutOfMemoryError):
            smemkit.pinned_empty(1 << 50, "uint8", backend="cuda")
        assert smemkit.gemm(x, x, backend="cuda").shape == x.shape

    assert_nothing_is_left(fault)


def test_ctrl_c_in_a_copy(cuda):
    x = np.zeros(1 << 29, "uint8")

    def fault():
        _core._bus_set(threads=1, slot_bytes=4096, slots=2)
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                smemkit.asarray(x, backend="cuda")
        timer.join()
        _core._bus_set()

    assert_nothing_is_left(fault, times=1)
