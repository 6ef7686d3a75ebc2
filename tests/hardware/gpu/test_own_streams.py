"""Streams and events of csrc/gpu/ above the CUDA runtime that is made for tests: without a GPU."""

import contextlib
import ctypes

import pytest
from support.fake_runtime import build, call, count

DEFAULT, OTHER, CAPTURED, SECOND = 0, 0x50, 0x60, 0x70


class Call(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("stream", ctypes.c_void_p))


def u64(value=0):
    return ctypes.c_uint64(value)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = build(tmp_path_factory)
    made.smk_stream_enter.restype = made.smk_stream_present.restype = ctypes.c_uint64
    made.smk_stream_captured.restype = made.smk_stream_suspend.restype = ctypes.c_bool
    return made


@pytest.fixture
def gpu(library):
    yield library
    library.smk_stream_enter(0, u64(DEFAULT))
    capture(library, DEFAULT)
    assert count(library, "faults") == 0


def capture(gpu, stream):
    ctypes.c_void_p.in_dll(gpu, "runtime_captured").value = stream


@contextlib.contextmanager
def entered(gpu, stream):
    before = gpu.smk_stream_enter(0, u64(stream))
    yield
    gpu.smk_stream_enter(0, u64(before))


@contextlib.contextmanager
def noted(gpu):
    """A list that gets (name, stream) of each call of a block that takes a stream."""
    found = []
    ctypes.c_int.in_dll(gpu, "runtime_call_count").value = 0
    yield found
    calls = (Call * 4096).in_dll(gpu, "runtime_calls")
    found += [
        (calls[i].name.decode().removeprefix("cuda"), calls[i].stream or 0)
        for i in range(count(gpu, "call_count"))
    ]


def create(gpu):
    made = u64()
    assert call(gpu, "smk_stream_create", True, 0, ctypes.byref(made)) is None
    return made.value


def borrow(gpu, size=64):
    address = u64()
    assert call(gpu, "smk_buffer_borrow", u64(size), ctypes.byref(address)) is None
    return address.value


def give_back(gpu, address, size=64):
    assert call(gpu, "smk_buffer_give_back", u64(address), u64(size)) is None


def test_suspended_streams(gpu):
    with entered(gpu, OTHER):
        assert gpu.smk_stream_suspend(True) is False
        assert gpu.smk_stream_present(0) == DEFAULT
        assert gpu.smk_stream_suspend(False) is True
        assert gpu.smk_stream_present(0) == OTHER
    for device in (-1, 64, 1000):  # there is no such one to enter
        assert gpu.smk_stream_enter(device, u64(OTHER)) == gpu.smk_stream_present(device) == 0


def test_each_stream_of_ours_has_zeros_of_its_own(gpu):
    shared = borrow(gpu)
    blocks, before = count(gpu, "blocks"), count(gpu, "streams")
    give_back(gpu, shared)
    streams, found = [create(gpu), create(gpu)], []
    for stream in streams * 2:
        with entered(gpu, stream):
            found.append(borrow(gpu))
            give_back(gpu, found[-1])
    assert found[:2] == found[2:] and len({shared, *found}) == 3
    assert borrow(gpu) == shared
    for stream in streams:
        gpu.smk_stream_destroy(u64(stream))
    gpu.smk_stream_destroy(u64(streams[0]))  # no stream of ours any more
    assert count(gpu, "blocks") == blocks and count(gpu, "streams") == before


@pytest.mark.parametrize("which", ["foreign", "captured"])
def test_other_streams_borrow_a_block_each_time(gpu, which):
    stream = OTHER if which == "foreign" else create(gpu)
    blocks = count(gpu, "blocks")
    if which == "captured":
        capture(gpu, stream)
    with entered(gpu, stream), noted(gpu) as calls:
        first, second = borrow(gpu), borrow(gpu)
        assert first != second and count(gpu, "blocks") == blocks + 2
        give_back(gpu, first)
        give_back(gpu, second)
    assert count(gpu, "blocks") == blocks
    assert calls == [("MemsetAsync", stream)] * 2
    capture(gpu, DEFAULT)
    if which == "captured":
        gpu.smk_stream_destroy(u64(stream))


@pytest.mark.parametrize(
    ("waiting", "awaited", "waits"),
    [
        (OTHER, SECOND, True),
        (DEFAULT, OTHER, True),
        (OTHER, OTHER, False),
        (OTHER, CAPTURED, False),  # what is captured runs later
        (CAPTURED, OTHER, False),
        (CAPTURED, CAPTURED, False),
    ],
)
def test_order_beside_a_capture(gpu, waiting, awaited, waits):
    capture(gpu, CAPTURED)
    with noted(gpu) as calls:
        assert call(gpu, "smk_stream_order", u64(waiting), u64(awaited)) is None
    expected = [("EventRecord", awaited), ("StreamWaitEvent", waiting)]
    assert calls == (expected if waits else [])
    with noted(gpu) as calls:  # as the user asks for it
        assert call(gpu, "smk_stream_follow", u64(waiting), u64(awaited)) is None
    assert calls == (expected if waiting != awaited else [])
    assert count(gpu, "events") == 0


def test_turns(gpu):
    """What one launch at a time may use is handed from stream to stream."""

    def turn(stream):
        with entered(gpu, stream), noted(gpu) as calls:
            assert call(gpu, "smk_stream_take_turn") is None
            assert call(gpu, "smk_stream_end_turn") is None
        return calls

    assert turn(DEFAULT) == turn(DEFAULT) == []
    assert turn(OTHER) == [
        ("EventRecord", DEFAULT),
        ("StreamWaitEvent", OTHER),
        ("EventRecord", OTHER),
    ]
    assert turn(SECOND) == [("StreamWaitEvent", SECOND), ("EventRecord", SECOND)]
    assert turn(DEFAULT) == [("StreamWaitEvent", DEFAULT)]
    assert turn(DEFAULT) == []


def test_memory_given_up_during_a_capture(gpu):
    blocks, addresses = count(gpu, "blocks"), [u64(), u64()]
    for address in addresses:
        assert call(gpu, "smk_buffer_allocate", u64(64), ctypes.byref(address)) is None
    capture(gpu, CAPTURED)
    with entered(gpu, CAPTURED):
        assert call(gpu, "smk_buffer_retire", addresses[0]) is None
        assert count(gpu, "blocks") == blocks + 2
    capture(gpu, DEFAULT)
    assert call(gpu, "smk_buffer_retire", addresses[1]) is None
    assert call(gpu, "smk_buffer_retire", u64(0)) is None
    assert count(gpu, "blocks") == blocks


def test_events(gpu):
    events = ctypes.c_void_p(), ctypes.c_void_p()
    done, time_ms = ctypes.c_bool(), ctypes.c_double(-1)
    before = count(gpu, "events")
    with noted(gpu) as calls:
        for event in events:
            assert call(gpu, "smk_event_create", True, ctypes.byref(event)) is None
            assert call(gpu, "smk_event_record", event, u64(OTHER)) is None
        assert call(gpu, "smk_event_await", u64(SECOND), events[0]) is None
    assert calls == [("EventRecord", OTHER)] * 2 + [("StreamWaitEvent", SECOND)]
    assert call(gpu, "smk_event_query", events[1], ctypes.byref(done)) is None and done.value
    assert call(gpu, "smk_event_elapsed", *events, ctypes.byref(time_ms)) is None
    assert time_ms.value == 0
    for event in events:
        gpu.smk_event_free(event)
    gpu.smk_event_free(None)
    assert count(gpu, "events") == before


def test_the_stream_for_waits_alone(gpu):
    found = [u64(), u64()]
    for made in found:
        assert call(gpu, "smk_stream_common", 0, ctypes.byref(made)) is None
    assert found[0].value == found[1].value != 0
    assert not gpu.smk_stream_captured(found[0])
