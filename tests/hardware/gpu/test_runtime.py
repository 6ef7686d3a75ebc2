"""csrc/gpu/ above a CUDA runtime of two devices that is made for it (runtime.c): without a GPU."""

import contextlib
import ctypes
import threading
import time

import pytest
from support.fake_runtime import WAIT, build, call, count, polled


class Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_size_t),
        ("parameters", ctypes.POINTER(ctypes.c_void_p)),
        ("parameter_count", ctypes.c_size_t),
        ("packed", ctypes.c_void_p),
        ("packed_bytes", ctypes.c_size_t),
        ("arrays", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("family", ctypes.c_char_p),
        ("cooperative", ctypes.c_bool),
        ("begins_early", ctypes.c_bool),
        ("prefers_carveout", ctypes.c_bool),
        ("carveout_percent", ctypes.c_int),
    )


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return build(tmp_path_factory)


def enter(gpu, device):
    before = ctypes.c_int(-7)
    assert call(gpu, "smk_context_enter", device, ctypes.byref(before)) is None
    return before.value


def test_another_device_for_a_while(gpu):
    for present in (0, 1):
        gpu.runtime_use(present)
        for device in (0, 1):
            changes = count(gpu, "changes")
            before = enter(gpu, device)
            assert gpu.runtime_present() == device and before == present
            gpu.smk_context_leave(device, before)
            assert gpu.runtime_present() == present
            assert count(gpu, "changes") - changes == (2 if device != present else 0)
    assert "making device 5 the present one" in call(
        gpu, "smk_context_enter", 5, ctypes.byref(ctypes.c_int())
    )
    gpu.runtime_use(0)


def test_memory_is_of_the_present_device(gpu):
    address = ctypes.c_uint64()
    host = (ctypes.c_char * 64)(*range(64))
    before = enter(gpu, 1)
    assert call(gpu, "smk_buffer_allocate", ctypes.c_uint64(64), ctypes.byref(address)) is None
    for name in ("upload", "download"):
        assert call(gpu, f"smk_buffer_{name}", address, host, ctypes.c_uint64(64)) is None
    assert call(gpu, "smk_buffer_free", address) is None
    gpu.smk_context_leave(1, before)
    assert bytes(host) == bytes(range(64)) and count(gpu, "faults") == 0


def test_the_device_of_an_address(gpu):
    address, device = ctypes.c_uint64(), ctypes.c_int(-7)
    for present, other in ((0, 1), (1, 0)):
        gpu.runtime_use(present)
        assert call(gpu, "smk_buffer_allocate", ctypes.c_uint64(64), ctypes.byref(address)) is None
        gpu.runtime_use(other)
        assert call(gpu, "smk_context_find", address, ctypes.byref(device)) is None
        assert device.value == present and gpu.runtime_present() == other
        gpu.runtime_use(present)
        assert call(gpu, "smk_buffer_free", address) is None
    assert call(gpu, "smk_context_find", ctypes.c_uint64(0), ctypes.byref(device)) is None
    assert device.value == gpu.runtime_present()
    text = call(gpu, "smk_context_find", ctypes.c_uint64(0x1234), ctypes.byref(device))
    assert text == "address 0x1234 lies in the memory of no GPU"
    gpu.runtime_use(0)


def test_a_stream_follows_another(gpu):
    streams = [ctypes.c_void_p.in_dll(gpu, f"runtime_{name}") for name in ("waiting", "recorded")]
    for waiting, awaited in ((0, 0x50), (0x60, 0), (0x60, 0x50)):
        assert call(gpu, "smk_stream_follow", *map(ctypes.c_uint64, (waiting, awaited))) is None
        assert [stream.value or 0 for stream in streams] == [waiting, awaited]
    assert call(gpu, "smk_stream_follow", ctypes.c_uint64(7), ctypes.c_uint64(7)) is None
    assert [stream.value for stream in streams] == [0x60, 0x50]
    assert count(gpu, "events") == 0


@pytest.fixture
def kernel(gpu):
    library, found = ctypes.c_void_p(), ctypes.c_void_p()
    assert call(gpu, "smk_library_load", b".version 7.0", None, ctypes.byref(library)) is None
    assert call(gpu, "smk_library_kernel", library, b"kernel", ctypes.byref(found)) is None
    yield found
    gpu.smk_library_free(library)


@pytest.mark.parametrize("room", [0, 2, 3, 5])
def test_parameters(gpu, kernel, room):
    sizes, found = (ctypes.c_size_t * 5)(), ctypes.c_size_t()
    arguments = kernel, ctypes.c_size_t(room), sizes, ctypes.byref(found)
    assert call(gpu, "smk_library_parameters", *arguments) is None
    assert found.value == 3
    assert list(sizes) == ([8, 4, 12][:room] + [0] * 5)[:5]


@pytest.mark.parametrize("origin", [None, b"NVRTC 99.1 (/somewhere)"])
def test_ptx_that_is_too_new(gpu, origin):
    library = ctypes.c_void_p()
    said = call(gpu, "smk_library_load", b".version 99.0", origin, ctypes.byref(library))
    assert "cudaErrorUnsupportedPtxVersion" in said
    assert "this driver takes PTX of CUDA 12.4 at most" in said
    assert said.endswith("; the PTX was made by NVRTC 99.1 (/somewhere)") is (origin is not None)


def run(gpu, kernel, ms, carveout=None, cooperative=False, blocks=1):
    value = ctypes.c_uint32(ms)
    values = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    launch = Launch((blocks, 1, 1), (1, 1, 1), 0, values, 1, cooperative=cooperative)
    launch.prefers_carveout, launch.carveout_percent = carveout is not None, carveout or 0
    return call(gpu, "smk_launch_run", kernel, b"kernel", ctypes.byref(launch))


def test_a_cooperative_launch(gpu, kernel):
    before = count(gpu, "cooperative")
    assert run(gpu, kernel, 0, blocks=9) is None
    assert count(gpu, "cooperative") == before
    assert run(gpu, kernel, 0, 50, cooperative=True, blocks=8) is None
    assert count(gpu, "cooperative") == before + 1
    told = run(gpu, kernel, 0, cooperative=True, blocks=9)
    assert "it holds 8, 2 on each of its 4 multiprocessors; launch fewer blocks" in told


def test_a_carveout_is_of_its_launch(gpu, kernel):
    for percent in (0, 50, 100):
        assert run(gpu, kernel, 0, percent) is None
        assert count(gpu, "carveout") == percent
    assert run(gpu, kernel, 0) is None
    assert count(gpu, "shared") == 0, "an attribute of the kernel is that of all who launch it"


@pytest.mark.parametrize("name", ["smk_wait_launched", "smk_launch_synchronize"])
@pytest.mark.parametrize(("stops_at", "expected"), [(1, True), (4, True), (10**9, False)])
def test_a_wait_that_polls(gpu, kernel, name, stops_at, expected):
    asked = []

    @WAIT
    def must_stop(context):
        asked.append(time.perf_counter())
        return len(asked) >= stops_at

    start = time.perf_counter()
    assert run(gpu, kernel, 300) is None
    with polled(gpu, must_stop):
        said = call(gpu, name, b"kernel")
    took = time.perf_counter() - start
    assert (said is not None) is expected
    if expected:
        assert "waiting for kernel on the GPU: interrupted; the kernel runs on" in said
        assert len(asked) == stops_at and took < 0.29
    else:
        assert took >= 0.3 and len(asked) > 3
    assert call(gpu, name, b"kernel") is None  # nothing to poll: to the end
    assert time.perf_counter() - start >= 0.3


class Call(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("stream", ctypes.c_void_p))


@contextlib.contextmanager
def calls_noted(gpu):
    """A list that gets (name, stream) of each call of a block that takes a stream."""
    found = []
    ctypes.c_int.in_dll(gpu, "runtime_call_count").value = 0
    yield found
    calls = (Call * 4096).in_dll(gpu, "runtime_calls")
    found += [
        (calls[i].name.decode(), calls[i].stream or 0) for i in range(count(gpu, "call_count"))
    ]


ALL = ("cudaMemsetAsync", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaStreamSynchronize")


@pytest.mark.parametrize("device", [0, 1])
def test_work_goes_to_the_entered_stream(gpu, kernel, device):
    gpu.smk_stream_enter.restype = gpu.smk_stream_present.restype = ctypes.c_uint64
    address, host, size = ctypes.c_uint64(), (ctypes.c_char * 64)(), ctypes.c_uint64(64)
    gpu.runtime_use(device)
    assert call(gpu, "smk_buffer_allocate", size, ctypes.byref(address)) is None

    def work():
        with calls_noted(gpu) as calls:
            for name in ("upload", "download"):
                assert call(gpu, f"smk_buffer_{name}", address, host, size) is None
            assert call(gpu, "smk_buffer_clear", address, size) is None
            assert call(gpu, "smk_buffer_copy", address, address, size) is None
            assert run(gpu, kernel, 0) is None
            assert run(gpu, kernel, 0, 50) is None
            assert call(gpu, "smk_launch_synchronize", b"kernel") is None
        return calls

    assert {stream for _, stream in work()} == {0}
    for other in (1 - device, device):
        assert gpu.smk_stream_enter(other, ctypes.c_uint64(0x50 + other)) == 0
    calls = work()
    assert {stream for _, stream in calls} == {0x50 + device}
    assert set(ALL) <= {name for name, _ in calls}
    for other in (0, 1):
        assert gpu.smk_stream_present(other) == 0x50 + other
        assert gpu.smk_stream_enter(other, ctypes.c_uint64(0)) == 0x50 + other
    assert {stream for _, stream in work()} == {0}
    assert call(gpu, "smk_buffer_free", address) is None
    gpu.runtime_use(0)
    assert count(gpu, "faults") == 0


def test_the_driver_launches_where_the_thread_has_a_context(gpu, kernel):
    names = []

    def launch():
        with calls_noted(gpu) as calls:
            assert run(gpu, kernel, 0) is None
            assert run(gpu, kernel, 0) is None
            assert run(gpu, kernel, 0, 50) is None
        names.extend(name for name, _ in calls)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert names == ["cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernel"]


def test_packed_parameters_go_to_the_driver_at_once(gpu, kernel):
    assert run(gpu, kernel, 0) is None and run(gpu, kernel, 0) is None
    assert count(gpu, "packed_bytes") == 0
    values, one = (ctypes.c_uint32 * 3)(0, 7, 8), (1, 1, 1)
    launch = Launch(one, one, 0, None, 3, ctypes.addressof(values), 12)
    assert call(gpu, "smk_launch_run", kernel, b"kernel", ctypes.byref(launch)) is None
    assert count(gpu, "packed_bytes") == 12


def test_a_stream_is_of_its_thread(gpu):
    gpu.smk_stream_enter(0, ctypes.c_uint64(0x50))
    found = []
    thread = threading.Thread(target=lambda: found.append(gpu.smk_stream_present(0)))
    thread.start()
    thread.join()
    assert found == [0] and gpu.smk_stream_enter(0, ctypes.c_uint64(0)) == 0x50


def test_what_is_over_is_not_waited_for(gpu, kernel):
    @WAIT
    def must_stop(context):
        raise AssertionError("nobody waits")

    assert run(gpu, kernel, 0) is None
    with polled(gpu, must_stop):
        assert call(gpu, "smk_wait_launched", b"kernel") is None
