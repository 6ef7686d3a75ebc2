"""Copies by a ring of pinned buffers (csrc/gpu/bus.c), above a CUDA runtime without a GPU."""

import ctypes
import os
import threading

import numpy
import pytest
from support import bus
from support.fake_runtime import WAIT, build, call, count, polled

MB = 1 << 20


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    made = build(tmp_path_factory)
    made.smk_ring_kept.restype = bus.Memory
    return made


@pytest.fixture(autouse=True)
def leaves_nothing(gpu):
    """Each test ends with the blocks, events, streams and pinned memory with which it began."""
    names = ("blocks", "events", "streams", "pinned")
    before = [count(gpu, name) for name in names]
    for name in ("pinned_left", "copies_left"):
        put(gpu, name, -1)
    put(gpu, "copy_us", 0)
    yield
    settings(gpu)
    assert gpu.smk_ring_kept().busy == 0
    gpu.smk_ring_free_kept()
    assert [count(gpu, name) for name in names] == before
    assert threading.active_count() == 1 and count(gpu, "faults") == 0


def put(gpu, name, value):
    ctypes.c_int.in_dll(gpu, f"runtime_{name}").value = value


def settings(gpu, *values):
    gpu.smk_bus_set(ctypes.byref(bus.Settings(*values)))


class Device:
    """Blocks of the device that are freed at the end."""

    def __init__(self, gpu):
        self.gpu, self.blocks = gpu, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for address in self.blocks:
            assert call(self.gpu, "smk_buffer_free", ctypes.c_uint64(address)) is None

    def allocate(self, size):
        address = ctypes.c_uint64()
        told = call(self.gpu, "smk_buffer_allocate", ctypes.c_uint64(size), ctypes.byref(address))
        assert told is None
        self.blocks.append(address.value)
        return address.value

    def view(self, address, size):
        """The block's bytes: the runtime has them in the host's memory."""
        return numpy.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def copy(gpu, made):
    """(what it says, whether it was done)"""
    done = ctypes.c_bool()
    return call(gpu, "smk_bus_copy", ctypes.byref(made), ctypes.byref(done)), done.value


def fill(size, seed=0):
    return numpy.random.default_rng(seed).integers(0, 256, size, dtype=numpy.uint8)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("size", "slot"), [(3 * MB + 17, 4096 * 5), (MB, 0), (1, 0), (0, 0)])
def test_there_and_back(gpu, threads, size, slot):
    settings(gpu, threads, slot, 3)
    host, back = fill(size), numpy.zeros(size, "uint8")
    with Device(gpu) as device:
        address = device.allocate(size + 1)
        assert copy(gpu, bus.make(up=[bus.make_range(gpu, address, host)])) == (None, True)
        assert numpy.array_equal(device.view(address, size), host)
        assert copy(gpu, bus.make(down=[bus.make_range(gpu, address, back)])) == (None, True)
    assert numpy.array_equal(back, host)
    assert count(gpu, "pageable") == 0
    assert gpu.smk_ring_kept().rings == 1


CASES = {
    "columns": lambda a: a[:, :, ::2],
    "backwards": lambda a: a[::-1, ::3],
    "transposed": lambda a: a.transpose(2, 0, 1),
    "transposed bytes": lambda a: a.reshape(30, -1).view("uint8").T,
    "transposed halves": lambda a: a.reshape(-1, 52).view("float16")[::-1].T,
    "transposed doubles": lambda a: a.reshape(-1, 52).view("float64").T[3:],
    "part": lambda a: a[1:-2, 3:, 5:-7],
    "bytes": lambda a: a.view("uint8")[:, :, 1::5],
    "pairs": lambda a: a.view("complex64")[:, ::2].T,
    "whole": lambda a: a,
}


@pytest.mark.parametrize("name", CASES)
def test_any_strides(gpu, name):
    """Elements at any strides lie side by side on the device, and come back to the same places."""
    settings(gpu, 2, 4096 * 3)
    whole = fill(4 * 30 * 41 * 52).view("float32").reshape(30, 41, 52)
    array = CASES[name](whole)
    target = CASES[name](numpy.zeros_like(whole))
    packed = numpy.ascontiguousarray(array)
    with Device(gpu) as device:
        address = device.allocate(array.nbytes)
        assert copy(gpu, bus.make(up=[bus.make_range(gpu, address, array)])) == (None, True)
        there = device.view(address, array.nbytes)
        assert numpy.array_equal(there, packed.reshape(-1).view("uint8"))
        assert copy(gpu, bus.make(down=[bus.make_range(gpu, address, target)])) == (None, True)
    assert target.tobytes() == array.tobytes()
    rest = CASES[name](target.base if target.base is not None else target)
    assert rest.tobytes() == target.tobytes()


def test_pinned_memory_is_taken_as_it_is(gpu):
    size, memory = 3 * MB, ctypes.c_void_p()
    assert call(gpu, "smk_pinned_allocate", ctypes.c_uint64(size), ctypes.byref(memory)) is None
    array = numpy.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(memory.value))
    array[:] = fill(size)
    gpu.smk_pinned_has.restype = ctypes.c_bool
    assert gpu.smk_pinned_has(memory) and not gpu.smk_pinned_has(
        ctypes.c_void_p(memory.value + size)
    )
    with Device(gpu) as device:
        address = device.allocate(size)
        assert copy(gpu, bus.make(up=[bus.make_range(gpu, address, array)])) == (None, True)
        assert numpy.array_equal(device.view(address, size), array)
        array[:] = 0
        assert copy(gpu, bus.make(down=[bus.make_range(gpu, address, array)])) == (None, True)
    assert numpy.array_equal(array, fill(size)) and count(gpu, "pageable") == 0
    gpu.smk_pinned_free(memory)


@pytest.mark.parametrize("late", [False, True])
def test_slabs_run_between_their_copies(gpu, late):
    """A slab runs when its operands are there and none later; its result comes back after it."""
    slabs, size = 4, MB
    settings(gpu, 3, 1 << 16, 8)
    host = fill(slabs * size).reshape(slabs, size)
    back = numpy.zeros_like(host)
    order = []
    with Device(gpu) as device:
        source, target = device.allocate(host.nbytes), device.allocate(host.nbytes)

        def run(context, slab, error):
            assert gpu.runtime_queue_wait() == 0
            there = device.view(source + slab * size, size)
            assert numpy.array_equal(there, host[slab])
            assert numpy.array_equal(back[slab], numpy.zeros(size)), "nothing came back before"
            device.view(target + slab * size, size)[:] = 255 - there
            order.append((slab, count(gpu, "down")))
            return 0

        before = count(gpu, "down")
        made = bus.make(
            [bus.make_range(gpu, source + i * size, host[i], i) for i in range(slabs)],
            [bus.make_range(gpu, target + i * size, back[i], i) for i in range(slabs)],
            slabs,
            run,
            late,
        )
        assert copy(gpu, made) == (None, True)
    assert [slab for slab, _ in order] == list(range(slabs))
    assert (order[-1][1] == before) is late, "results come back early unless that is forbidden"
    assert numpy.array_equal(back, 255 - host)


def test_without_pinned_memory_nothing_is_done(gpu):
    host = fill(MB)
    with Device(gpu) as device:
        address = device.allocate(MB)
        put(gpu, "pinned_left", 0)
        assert copy(gpu, bus.make(up=[bus.make_range(gpu, address, host)])) == (None, False)
        put(gpu, "pinned_left", -1)
        assert copy(gpu, bus.make(up=[bus.make_range(gpu, address, host)])) == (None, True)


def test_pinned_arrays_come_before_kept_buffers(gpu):
    host, memory = fill(MB), ctypes.c_void_p()
    with Device(gpu) as device:
        address = device.allocate(MB)
        assert copy(gpu, bus.make(up=[bus.make_range(gpu, address, host)])) == (None, True)
    assert gpu.smk_ring_kept().rings == 1
    put(gpu, "pinned_left", 0)  # the first attempt fails
    assert call(gpu, "smk_pinned_allocate", ctypes.c_uint64(MB), ctypes.byref(memory)) is None
    assert gpu.smk_ring_kept().rings == 0
    gpu.smk_pinned_free(memory)


@pytest.mark.parametrize("after", [0, 1, 7])
@pytest.mark.parametrize("way", ["up", "down"])
def test_a_copy_that_fails(gpu, way, after):
    settings(gpu, 2, 1 << 16, 4)
    host = fill(MB)
    with Device(gpu) as device:
        address = device.allocate(MB)
        made = bus.make(**{way: [bus.make_range(gpu, address, host)]})
        put(gpu, "copies_left", after)
        told, _ = copy(gpu, made)
        assert told.startswith("copying between the host and the GPU: ")
        put(gpu, "copies_left", -1)
        assert copy(gpu, made) == (None, True)


@pytest.mark.parametrize("failing", [0, 2])
def test_a_slab_that_fails(gpu, failing):
    size, ran = MB, []
    settings(gpu, 2, 1 << 16)
    host, back = fill(4 * size).reshape(4, size), numpy.zeros((4, size), "uint8")

    def run(context, slab, error):
        ran.append(slab)
        return 4 if slab == failing else 0  # MEMORY

    with Device(gpu) as device:
        address = device.allocate(4 * size)
        ups = [bus.make_range(gpu, address + i * size, host[i], i) for i in range(4)]
        downs = [bus.make_range(gpu, address + i * size, back[i], i) for i in range(4)]
        error = ctypes.create_string_buffer(4096)
        done = ctypes.c_bool()
        made = bus.make(ups, downs, 4, run)
        assert gpu.smk_bus_copy(ctypes.byref(made), ctypes.byref(done), error) == 4
    assert ran == list(range(failing + 1))
    assert not back[failing:].any()


@pytest.mark.parametrize("way", ["up", "down"])
def test_an_interrupt_ends_a_copy(gpu, way):
    settings(gpu, 2, 1 << 16, 4)
    put(gpu, "copy_us", 5000)
    host, asked = fill(4 * MB), []

    @WAIT
    def must_stop(context):
        asked.append(1)
        return len(asked) >= 2

    with Device(gpu) as device:
        address = device.allocate(host.nbytes)
        made = bus.make(**{way: [bus.make_range(gpu, address, host)]})
        with polled(gpu, must_stop):
            assert copy(gpu, made) == ("a copy was interrupted", True)
        assert len(asked) == 2
        put(gpu, "copy_us", 0)
        assert copy(gpu, made) == (None, True)


def test_a_copy_tells_how_far_it_is(gpu):
    settings(gpu, 2, 1 << 16, 4)
    put(gpu, "copy_us", 2000)
    host, seen = fill(4 * MB), []

    @WAIT
    def look(context):
        seen.append((poll.copied, poll.to_copy))
        return False

    with Device(gpu) as device:
        address = device.allocate(host.nbytes)
        made = bus.make(up=[bus.make_range(gpu, address, host)])
        with polled(gpu, look) as poll:
            assert copy(gpu, made) == (None, True)
            assert (poll.copied, poll.to_copy) == (0, 0), "the copy is over"
    done, total = zip(*seen, strict=True)
    assert set(total) == {host.nbytes} and list(done) == sorted(done)
    assert 0 < done[0] and done[-1] <= host.nbytes


def test_a_late_copy_back_is_whole(gpu):
    """Memory that others use is written as a whole, whatever signals come."""
    settings(gpu, 2, 1 << 16, 4)
    put(gpu, "copy_us", 3000)
    back = numpy.zeros(2 * MB, "uint8")

    @WAIT
    def must_stop(context):
        return True

    with Device(gpu) as device:
        address = device.allocate(back.nbytes)
        device.view(address, back.nbytes)[:] = 7
        made = bus.make(down=[bus.make_range(gpu, address, back)], late=True)
        with polled(gpu, must_stop):
            assert copy(gpu, made) == (None, True)
    assert (back == 7).all()


def test_copies_of_several_threads(gpu):
    """More threads copy than there are rings; the pinned memory stays bounded."""
    settings(gpu, 1, 1 << 16, 4)
    told = []

    def work(seed, device):
        host, back = fill(2 * MB, seed), numpy.zeros(2 * MB, "uint8")
        gpu.runtime_use(seed % 2)
        address = device.allocate(host.nbytes)
        for _ in range(3):
            up = copy(gpu, bus.make(up=[bus.make_range(gpu, address, host)]))
            down = copy(gpu, bus.make(down=[bus.make_range(gpu, address, back)]))
            told.append((up, down, numpy.array_equal(host, back)))

    devices = [Device(gpu) for _ in range(7)]
    threads = [threading.Thread(target=work, args=(i, d)) for i, d in enumerate(devices)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, device in enumerate(devices):
        gpu.runtime_use(i % 2)
        device.__exit__()
    gpu.runtime_use(0)
    assert told == [((None, True), (None, True), True)] * 21
    assert 1 <= gpu.smk_ring_kept().rings <= 4


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_fork_in_the_middle_of_a_copy(gpu, way):
    """A signal's handler forks: the copy fails in the child, without threads, and goes on here."""
    settings(gpu, 3, 1 << 16, 4)
    put(gpu, "copy_us", 5000)
    host, children = fill(2 * MB), []

    @WAIT
    def forks(context):
        if not children:
            children.append(os.fork())
        return False

    with Device(gpu) as device:
        address = device.allocate(host.nbytes)
        made = bus.make(**{way: [bus.make_range(gpu, address, host)]})
        with polled(gpu, forks):
            told, done = copy(gpu, made)
        if children == [0]:
            os._exit(42 if told.startswith("the process was forked in the middle of a copy") else 1)
        assert (told, done) == (None, True)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 42
