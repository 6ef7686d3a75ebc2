"""Copies and calls through the ring of pinned buffers, on a GPU."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import smemkit
from smemkit import _core

MB = 1 << 20

pytestmark = pytest.mark.usefixtures("cuda")


@pytest.fixture
def cuda(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")
    yield
    _core._bus_set()
    assert _core._bus_kept()[2] == 0, "no ring is in use"


@pytest.fixture
def rng():
    return np.random.default_rng(15)


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("size", [MB - 1, MB, 33 * MB + 5])
def test_there_and_back(rng, threads, size):
    _core._bus_set(threads=threads)
    x = rng.integers(0, 256, size, dtype="uint8")
    d = smemkit.asarray(x, backend="cuda")
    assert np.array_equal(smemkit.asnumpy(d), x)
    out = np.zeros_like(x)
    assert smemkit.asnumpy(d, out=out) is out and np.array_equal(out, x)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, ::2],
        lambda a: a.T,
        lambda a: a[::-1, 5:-3],
        lambda a: a.astype(">f4"),
        lambda a: np.broadcast_to(a[0], a.shape),
    ],
)
def test_any_strides(rng, view):
    x = view(rng.random((1500, 1100), "float32"))
    d = smemkit.asarray(x, backend="cuda")
    assert np.array_equal(smemkit.asnumpy(d), x)
    out = np.zeros((3000, 2200), "float32")[::2, ::2]
    wide = smemkit.asarray(rng.random((1500, 1100), "float32"), backend="cuda")
    assert smemkit.asnumpy(wide, out=out) is out
    assert np.array_equal(out, smemkit.asnumpy(wide)) and not out.base[1::2].any()


def test_calls_in_slabs_have_the_bits_of_whole_calls(rng):
    image = rng.random((4099, 2051), "float32")
    calls = (
        (smemkit.gemm, (rng.random((2050, 1033), "float32"), rng.random((1033, 3000), "float32"))),
        (smemkit.transpose, (image,)),
        (smemkit.conv2d, (image, rng.random((5, 4), "float32"))),
        (smemkit.smooth, (image.ravel()[:-1],)),
        (smemkit.vector_add, (image.ravel(), image.ravel())),
    )
    for function, arrays in calls:
        there = function(*(smemkit.asarray(x, backend="cuda") for x in arrays))
        for size in (MB, 16 * MB):
            _core._slabs_force(size)
            try:
                result = function(*arrays, backend="cuda")
                out = np.zeros_like(result)
                function(*arrays, backend="cuda", out=out)
            finally:
                _core._slabs_force(0)
            assert result.tobytes() == out.tobytes() == smemkit.asnumpy(there).tobytes()


def test_pinned_arrays_of_other_libraries(rng):
    torch = pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    x = torch.empty(3 * MB, dtype=torch.uint8, pin_memory=True).numpy()
    x[:] = rng.integers(0, 256, x.size, dtype="uint8")
    d = smemkit.asarray(x, backend="cuda")
    assert np.array_equal(smemkit.asnumpy(d), x)


def test_out_of_memory_in_a_call_leaves_nothing(rng, whole_device):
    """The device is full but for what the operands need: the result finds no memory."""
    x = rng.random((6000, 6000), "float32")
    room = smemkit.empty(200 * MB, "uint8", backend="cuda")  # for one operand, and not for two
    filler, size = [], 1 << 36
    while size > 64 * MB:  # until less than an operand is left
        try:
            filler.append(smemkit.empty(size, "uint8", backend="cuda"))
        except smemkit.OutOfMemoryError:
            size //= 2
    del room
    for _ in range(3):
        with pytest.raises(smemkit.OutOfMemoryError):
            smemkit.gemm(x, x, backend="cuda")
        assert _core._bus_kept()[2] == 0
    filler.clear()
    assert smemkit.gemm(x, x, backend="cuda").shape == x.shape


def test_kept_memory_is_released(rng):
    x = rng.random(5 * MB, "float32")
    assert np.array_equal(smemkit.asnumpy(smemkit.asarray(x, backend="cuda")), x)
    assert _core._bus_kept()[1] >= 1
    smemkit.release_memory()
    assert _core._bus_kept() == (0, 0, 0)
    assert np.array_equal(smemkit.asnumpy(smemkit.asarray(x, backend="cuda")), x)


def test_ctrl_c_ends_a_long_copy():
    x = np.zeros(1 << 31, "uint8")
    _core._bus_set(threads=1, slot_bytes=4096, slots=2)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            smemkit.asarray(x, backend="cuda")
    assert time.perf_counter() - started < 5
    timer.join()
    _core._bus_set()
    assert not smemkit.asnumpy(smemkit.asarray(x[: 3 * MB], backend="cuda")).any()


def test_threads_on_all_devices(rng):
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).random(5 * MB, "float32")
        for i in range(10):
            d = smemkit.asarray(x, backend="cuda", device=(seed + i) % count)
            if not np.array_equal(smemkit.asnumpy(d), x):
                wrong.append(seed)

    count = smemkit.show_config("dict")["cuda_devices"]
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and _core._bus_kept()[1] <= 4
