"""Streams and events: what calls take as one, and what the simulator makes of it."""

import copy
import ctypes
import gc
import inspect
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

import smemkit

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 to, .param .u64 value)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [value];
    cvta.to.global.u64 %rd3, %rd1;
    st.global.u64 [%rd3], %rd2;
    ret;
}
"""


@pytest.fixture
def stream():
    return smemkit.Stream(backend="sim")


def ones(*shape):
    return smemkit.ones(shape, backend="sim")


# What takes one -----------------------------------------------------------------------------------


def test_every_function_has_the_argument():
    functions = [name for name, facts in smemkit.families().items() if facts["signature"]]
    functions += ["asarray", "asnumpy", "empty", "zeros", "ones", "full", "arange", "from_dlpack"]
    functions += ["empty_like", "zeros_like", "ones_like", "full_like"]
    methods = [getattr(smemkit.DeviceArray, name) for name in ("copy", "astype", "fill")]
    for function in [getattr(smemkit, name) for name in functions] + methods:
        parameter = inspect.signature(function).parameters["stream"]
        assert parameter.default is None and parameter.kind is parameter.KEYWORD_ONLY, function


@pytest.mark.parametrize("kind", ["none", "ours", "zero", "default", "wrapped"])
def test_calls_on_the_simulator(stream, kind, rng):
    given = {
        "none": None,
        "ours": stream,
        "zero": 0,
        "default": 1,
        "wrapped": smemkit.Stream(stream),
    }[kind]
    x = rng.integers(-4, 5, (30, 20)).astype("f4")
    d = smemkit.asarray(x, backend="sim", stream=given)
    assert np.array_equal(smemkit.asnumpy(smemkit.gemm(d, d.T, stream=given)), x @ x.T)
    assert np.array_equal(smemkit.gemm(x, x.T, backend="sim", stream=given), x @ x.T)
    assert np.array_equal(smemkit.gather(x[0], [3, 1], backend="sim", stream=given), x[0][[3, 1]])
    counts = np.histogram(x, 5, (-5, 5))[0]
    assert np.array_equal(smemkit.histogram(x, 5, (-5, 5), backend="sim", stream=given), counts)
    assert np.array_equal(
        smemkit.asnumpy(smemkit.histogram(d, 5, (-5, 5), stream=given), stream=given), counts
    )
    assert np.array_equal(smemkit.asnumpy(d.T.copy(stream=given)), x.T)
    assert np.array_equal(smemkit.asnumpy(d.astype("i4", stream=given)), x.astype("i4"))
    d.fill(3, stream=given)
    assert (smemkit.asnumpy(d) == 3).all()
    assert smemkit.from_dlpack(x, copy=True, stream=given).shape == x.shape
    out = np.zeros(4, "u8")
    kernel = smemkit.RawKernel(PTX, "store")
    kernel(1, 1, (out, 7), backend="sim", stream=given)
    assert out[0] == 7
    kernel[1, 1, given](out, 8, backend="sim")
    assert out[0] == 8


def test_a_stream_names_the_machine(stream):
    """As backend= does, where neither it nor an array says one."""
    assert smemkit.zeros(3, stream=stream).backend == "sim"
    assert smemkit.asarray([1, 2], stream=stream).backend == "sim"
    assert smemkit.vector_add([1.0], [2.0], stream=stream).tolist() == [3]
    with stream:
        assert smemkit.zeros(3).backend == "sim" and smemkit.get_backend() == "sim"


def test_a_launch_keeps_its_stream_in_the_configuration(stream):
    kernel = smemkit.RawKernel(PTX, "store")
    assert repr(kernel[1, 2, stream]) == f"{kernel!r}[1, 2, {stream!r}]"
    assert repr(kernel[1, 2, 0, 64]) == f"{kernel!r}[1, 2, 0, 64]"
    assert kernel[1, 2, stream, 64].stream is stream
    assert kernel[1, 2, 0].stream is None and kernel[1, 2].stream is None
    with pytest.raises(smemkit.ArgumentTypeError, match="stream is bool"):
        kernel[1, 1, True](ones(2), 1)


# What is one --------------------------------------------------------------------------------------


class Thing:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Raises:
    @property
    def ptr(self):
        raise ZeroDivisionError("of my own")


@pytest.mark.parametrize(
    "value",
    [
        *(Thing(ptr=0), Thing(cuda_stream=0), Thing(handle=0), Thing(handle=ctypes.c_void_p())),
        *(Thing(__cuda_stream__=lambda: (0, 0)), Thing(__cuda_stream__=(0, 1)), Thing(ptr=1)),
    ],
)
def test_default_streams_of_other_libraries(value):
    assert smemkit.asnumpy(smemkit.full(2, 5, backend="sim", stream=value)).tolist() == [5, 5]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("x", smemkit.ArgumentTypeError, "empty: stream is str; a smemkit.Stream, an object with"),
        (True, smemkit.ArgumentTypeError, "stream is bool"),
        (1.5, smemkit.ArgumentTypeError, "stream is float"),
        (object(), smemkit.ArgumentTypeError, "stream is object"),
        (Thing(ptr="x"), smemkit.ArgumentTypeError, "stream is Thing"),
        (Thing(handle=object()), smemkit.ArgumentTypeError, "stream is Thing"),
        (Thing(__cuda_stream__=lambda: 5), smemkit.ArgumentTypeError, "__cuda_stream__ gave 5"),
        (-1, smemkit.ArgumentError, "stream is -1; a handle is an address"),
        (1 << 64, smemkit.ArgumentError, "a handle is an address"),
        (Thing(ptr=-5), smemkit.ArgumentError, "stream is -5"),
        (Raises(), ZeroDivisionError, "of my own"),
    ],
)
def test_what_is_no_stream(value, kind, text):
    with pytest.raises(kind, match=text):
        smemkit.empty(3, backend="sim", stream=value)
    with pytest.raises(kind):
        smemkit.Stream(value)


def test_a_closed_stream(stream):
    d = smemkit.ones(3, stream=stream)
    stream.close()
    stream.close()
    assert stream.closed and repr(stream) == "Stream(device='sim', closed)"
    other, event = smemkit.Stream(backend="sim"), smemkit.Event()
    for work in (
        lambda: smemkit.vector_add(d, d, stream=stream),
        lambda: d.copy(stream=stream),
        lambda: smemkit.RawKernel(PTX, "store")(1, 1, (d, 1), stream=stream),
        lambda: stream.synchronize(),
        lambda: stream.wait(other),
        lambda: other.wait(stream),
        lambda: event.record(stream),
        lambda: stream.done,
        lambda: stream.__enter__(),
        lambda: smemkit.Stream(stream),
    ):
        with pytest.raises(smemkit.ArgumentError, match=r"is closed$"):
            work()
    assert smemkit.asnumpy(d).tolist() == [1, 1, 1]


def test_arguments_of_a_new_stream(stream):
    with pytest.raises(smemkit.ArgumentError, match="is a stream already"):
        smemkit.Stream(stream, non_blocking=True)
    with pytest.raises(smemkit.ArgumentError):
        smemkit.Stream(device="cuda:0", backend="sim")
    with pytest.raises(smemkit.ArgumentError):
        smemkit.Stream(device=3, backend="sim")
    with pytest.raises(TypeError):
        smemkit.Stream(priority="high")
    assert smemkit.Stream(device="sim", non_blocking=True, priority=-1).done


def test_a_stream_of_the_simulator_is_none_of_cuda(stream):
    assert (stream.handle, stream.backend, stream.device) == (0, "sim", "sim")
    assert repr(stream) == "Stream(device='sim')"
    with pytest.raises(smemkit.BackendError, match="no stream of CUDA"):
        stream.__cuda_stream__()


def test_they_are_not_copied(stream):
    for thing in (stream, smemkit.Event()):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(smemkit.ArgumentTypeError, match="cannot be pickled or copied"):
                make(thing)


def test_streams_live_no_longer_than_needed():
    stream = smemkit.Stream(backend="sim")
    gone = weakref.ref(stream)
    d = smemkit.ones(3, stream=stream)
    del stream
    gc.collect()
    assert gone() is None and d.shape == (3,)


# Blocks -------------------------------------------------------------------------------------------


def test_blocks_nest(stream):
    other = smemkit.Stream(backend="sim")
    with stream as entered, other, stream:
        assert entered is stream
        assert smemkit.vector_add(np.ones(2), np.ones(2)).tolist() == [2, 2]
    with pytest.raises(ZeroDivisionError), stream:
        raise ZeroDivisionError
    assert smemkit.zeros(2, backend="sim").shape == (2,)


def test_a_block_ends_where_it_began(stream):
    other = smemkit.Stream(backend="sim")
    said = "ends in the thread in which it began"
    with pytest.raises(smemkit.ArgumentError, match=said):
        stream.__exit__(None, None, None)
    with other, pytest.raises(smemkit.ArgumentError, match=said):
        stream.__exit__(None, None, None)


def test_blocks_of_generators_end_in_any_order(stream, monkeypatch):
    """A block that began before another one may end before it."""
    monkeypatch.setenv("SMEMKIT_BACKEND", "auto")

    def work(on):
        with on:
            yield smemkit.get_backend()

    before = smemkit.get_backend()
    for order in ((0, 1, 2), (2, 0, 1), (1, 0, 2), (0, 2, 1)):
        running = [work(on) for on in (stream, smemkit.Stream(backend="sim"), stream)]
        assert [next(each) for each in running] == ["sim"] * 3
        for count, place in enumerate(order):
            assert smemkit.get_backend() == "sim", count
            running[place].close()
        assert smemkit.get_backend() == before


def test_a_block_is_of_its_thread(stream, monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "auto")
    before, found = smemkit.get_backend(), []
    with stream:
        thread = threading.Thread(target=lambda: found.append(smemkit.get_backend()))
        thread.start()
        thread.join()
    assert found == [before] == [smemkit.get_backend()]


def test_a_block_keeps_its_stream():
    entered = smemkit.Stream(backend="sim").__enter__()
    gone = weakref.ref(entered)
    del entered
    gc.collect()
    stream = gone()
    assert stream is not None
    stream.__exit__(None, None, None)
    del stream
    gc.collect()
    assert gone() is None


# Order and time -----------------------------------------------------------------------------------


def test_order_on_the_simulator(stream):
    """Work has ended when its call returns, so there is nothing to wait for."""
    other, event = smemkit.Stream(backend="sim"), smemkit.Event(timing=False)
    d = smemkit.full(3, 2.0, stream=stream)
    event.record(stream)
    other.wait(event)
    other.wait(stream)
    assert smemkit.asnumpy(smemkit.vector_add(d, d, stream=other)).tolist() == [4, 4, 4]
    stream.synchronize()
    event.synchronize()
    assert stream.done and event.done
    for wrong in (None, "x", 1.5):
        with pytest.raises(smemkit.ArgumentTypeError, match="wait: other is"):
            other.wait(wrong)


def test_time_on_the_simulator(stream):
    """It is the host's: the simulator has no clock."""
    start, end = smemkit.Event(), smemkit.Event()
    assert repr(start) == "Event(not recorded)"
    start.record(stream)
    assert repr(start) == "Event(device='sim')"
    time.sleep(0.02)
    with stream:
        end.record()
    took = start.elapsed(end)
    assert isinstance(took, float) and 20 <= took < 2000
    assert end.elapsed(start) == -took
    start.record(stream)
    assert start.elapsed(end) < 0  # recorded anew


def test_events_that_cannot_be_asked(stream):
    event, other = smemkit.Event(), smemkit.Event(timing=False)
    for ask in (
        lambda: event.done,
        lambda: event.synchronize(),
        lambda: event.elapsed(other),
        lambda: stream.wait(event),
    ):
        with pytest.raises(smemkit.ArgumentError, match="was not recorded"):
            ask()
    event.record(stream)
    with pytest.raises(smemkit.ArgumentError, match="elapsed: end: the event was not recorded"):
        event.elapsed(other)
    other.record(stream=stream)
    with pytest.raises(smemkit.ArgumentError, match="timing=False keeps no time"):
        event.elapsed(other)
    with pytest.raises(smemkit.ArgumentTypeError, match=r"end must be a smemkit\.Event, not int"):
        event.elapsed(5)
    with pytest.raises(smemkit.ArgumentTypeError, match="record: stream is str"):
        event.record("x")


def test_threads_on_streams_of_their_own(rng):
    x = rng.integers(-4, 5, (40, 40)).astype("f4")
    failures = []

    def work():
        try:
            with smemkit.Stream(backend="sim") as own:
                for _ in range(5):
                    product = smemkit.gemm(smemkit.asarray(x), x_device, stream=own)
                    assert np.array_equal(smemkit.asnumpy(product), x @ x)
        except BaseException as error:
            failures.append(error)

    x_device = smemkit.asarray(x, backend="sim")
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# A GPU that is not there --------------------------------------------------------------------------


def test_a_stream_of_a_gpu_without_one(cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    for make in (
        lambda: smemkit.Stream(backend="cuda"),
        lambda: smemkit.Stream(1 << 20),
        lambda: smemkit.empty(3, stream=Thing(ptr=1 << 20)),
    ):
        with pytest.raises(smemkit.BackendError):
            make()
