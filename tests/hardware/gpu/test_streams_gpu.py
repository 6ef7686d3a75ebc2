"""Streams, events and graphs on a GPU: order between streams of every library, and overlap."""

import gc
import threading
import time

import numpy as np
import pytest

import smemkit

CYCLES = 200_000_000  # about a tenth of a second

CODE = r"""
extern "C" __global__ void slow(float *x, long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles) { }
    x[threadIdx.x] += 1;
}
extern "C" __global__ void add(const float *x, float *y, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + value;
}
"""


def get(name):
    return pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)


@pytest.fixture(autouse=True, scope="module")
def cuda(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


@pytest.fixture
def cupy():
    return get("cupy")


@pytest.fixture
def torch():
    found = get("torch")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    return found


@pytest.fixture(scope="module")
def kernels():
    module = smemkit.RawModule(CODE)
    x = smemkit.zeros(32, backend="cuda")
    slow, add = module.get_function("slow"), module.get_function("add")
    slow(1, 32, (x, 1))  # loaded, before anything is measured or captured
    add(1, 32, (x, x, 0.0))
    smemkit.asnumpy(x)
    return slow, add


def streams(count, **options):
    return [smemkit.Stream(backend="cuda", non_blocking=True, **options) for _ in range(count)]


def zeros(n=32):
    array = smemkit.zeros(n, backend="cuda")
    smemkit.Device("cuda").synchronize()
    return array


# Order between streams of our own -----------------------------------------------------------------


@pytest.mark.parametrize("order", ["none", "stream", "event", "handle"])
def test_a_consumer_on_another_stream(kernels, order):
    """Without a wait the consumer reads what was there before."""
    slow, add = kernels
    x, y = zeros(), zeros()
    first, second = streams(2)
    slow(1, 32, (x, CYCLES), stream=first)
    if order == "event":
        event = smemkit.Event(timing=False)
        event.record(first)
        second.wait(event)
    elif order != "none":
        second.wait(first if order == "stream" else first.handle)
    add(1, 32, (x, y, 10.0), stream=second)
    second.synchronize()
    assert first.done is (order != "none")
    assert set(smemkit.asnumpy(y, stream=second).tolist()) == {10.0 if order == "none" else 11.0}


@pytest.mark.parametrize("how", ["argument", "block"])
def test_calls_made_again_stay_on_their_stream(kernels, how):
    """What the first call found is used again, but for the stream."""
    slow, _ = kernels
    x, y, (stream,) = zeros(), zeros(), streams(1)
    smemkit.vector_add(x, x, out=y)  # on the default stream, which waits for no other here
    for turn in range(1, 4):
        slow(1, 32, (x, CYCLES), stream=stream)
        if how == "argument":
            smemkit.vector_add(x, x, out=y, stream=stream)
        else:
            with stream:
                smemkit.vector_add(x, x, out=y)
        assert not stream.done
        assert set(smemkit.asnumpy(y).tolist()) == {2.0 * turn}


def test_a_blocking_stream_and_the_default_stream_wait_for_each_other(kernels):
    slow, add = kernels
    x, y = zeros(), zeros()
    stream = smemkit.Stream(backend="cuda")
    slow(1, 32, (x, CYCLES), stream=stream)
    add(1, 32, (x, y, 10.0))
    slow(1, 32, (y, CYCLES))
    add(1, 32, (y, x, 10.0), stream=stream)
    assert set(smemkit.asnumpy(y).tolist()) == {12.0}
    assert set(smemkit.asnumpy(x).tolist()) == {22.0}


@pytest.mark.parametrize("look", ["asnumpy", "item", "repr", "view", "assign"])
def test_values_for_the_host_come_behind_all_work(kernels, look):
    slow, _ = kernels
    x = zeros()
    with streams(1)[0]:
        slow(1, 32, (x, CYCLES))
    if look == "asnumpy":
        assert smemkit.asnumpy(x)[0] == 1
    elif look == "item":
        assert x.item(31) == 1
    elif look == "repr":
        assert repr(x).startswith("DeviceArray([1., 1.")
    elif look == "view":
        assert smemkit.asnumpy(x[::-2])[0] == 1
    else:
        host = np.zeros(32, "f4")
        assert smemkit.asnumpy(x, host)[0] == 1


def test_copies_of_pinned_memory_do_not_wait(kernels):
    slow, _ = kernels
    (stream,) = streams(1)
    x, host = zeros(), smemkit.pinned_empty(32, backend="cuda")
    there = smemkit.pinned_empty(32, backend="cuda")
    there[:] = 5
    slow(1, 32, (x, CYCLES), stream=stream)
    d = smemkit.asarray(there, stream=stream)
    host[:] = -1
    assert smemkit.asnumpy(x, host, stream=stream) is host
    assert not stream.done and host[0] == -1
    stream.synchronize()
    assert set(host.tolist()) == {1.0} and set(smemkit.asnumpy(d).tolist()) == {5.0}
    host[:] = -1
    slow(1, 32, (x, CYCLES), stream=stream)
    assert set(smemkit.asnumpy(x, host).tolist()) == {2.0}  # no stream is named: it waits
    slow(1, 32, (x, CYCLES), stream=stream)
    kept = smemkit.asarray(smemkit.full(32, 7.0, backend="sim").copy(device="cuda"), stream=stream)
    assert smemkit.asnumpy(kept)[0] == 7


def test_memory_is_freed_behind_the_work_of_all_streams(kernels):
    """A late write to memory that is another array's by then would show in that array."""
    slow, _ = kernels
    for used_last in (0, 1):
        some = streams(2)
        x = zeros(1 << 20)
        slow(1, 32, (x, CYCLES), stream=some[0])
        if used_last == 1:
            smemkit.reduce(x, stream=some[1])  # done soon; the slow kernel is not
        del x
        gc.collect()
        others = [zeros(1 << 20) for _ in range(8)]
        smemkit.Device("cuda").synchronize()
        assert not any(smemkit.asnumpy(other).any() for other in others)


def test_streams_work_beside_each_other(kernels):
    slow, _ = kernels
    arrays, some = [zeros() for _ in range(4)], streams(4)
    times = []
    for chosen in (some[:1], some):
        start = time.perf_counter()
        for x, stream in zip(arrays, chosen, strict=False):
            slow(1, 32, (x, CYCLES), stream=stream)
        for stream in chosen:
            stream.synchronize()
        times.append(time.perf_counter() - start)
    assert times[1] < 1.5 * times[0], times


def test_events_measure(kernels):
    slow, _ = kernels
    x, (stream,) = zeros(), streams(1)
    events = [smemkit.Event() for _ in range(3)]
    with stream:
        events[0].record()
        slow(1, 32, (x, CYCLES))
        events[1].record()
        slow(1, 32, (x, 2 * CYCLES))
        events[2].record()
    assert not events[1].done and not stream.done
    first, second = events[0].elapsed(events[1]), events[1].elapsed(events[2])
    assert events[2].done and 30 < first < 1000
    assert second == pytest.approx(2 * first, rel=0.1)


CALLS = (
    ("gemm", lambda x: (x, x.T.copy())),
    ("reduce", lambda x: (x,)),
    ("conv2d", lambda x: (x, np.ones((3, 3), "f4"))),
    ("histogram", lambda x: (x, 9, (0, 9))),
    ("transpose", lambda x: (x,)),
    ("gather", lambda x: (x.ravel(), np.arange(0, 6300, 7))),
)


@pytest.mark.parametrize(("family", "make"), CALLS, ids=[name for name, _ in CALLS])
def test_families_take_a_stream(rng, family, make):
    (stream,) = streams(1)
    arguments = make(rng.integers(0, 9, (70, 90)).astype("f4"))
    function = getattr(smemkit, family)
    expected = function(*arguments, backend="sim")
    assert np.array_equal(function(*arguments, stream=stream), expected)  # NumPy in, NumPy out
    on_device = [
        smemkit.asarray(a, backend="cuda", stream=stream) if isinstance(a, np.ndarray) else a
        for a in arguments
    ]
    assert np.array_equal(smemkit.asnumpy(function(*on_device, stream=stream)), expected)
    with stream:
        assert np.array_equal(smemkit.asnumpy(function(*on_device)), expected)


def test_threads_on_streams_of_their_own(rng):
    """Each thread shares with the others what a library keeps: zeros for reductions, constants."""
    failures = []
    image, weights = (rng.integers(0, 5, n).astype("f4") for n in ((200, 300), (5, 5)))
    matrix = rng.integers(-4, 5, (150, 150)).astype("f4")

    def work(k):
        try:
            with streams(1)[0]:
                x, w = smemkit.asarray(image + k), smemkit.asarray(weights + k)
                convolved = smemkit.conv2d(image + k, weights + k, variant="naive")
                for _ in range(50):
                    total = smemkit.reduce(x, variant="single_pass")
                    blurred = smemkit.conv2d(x, w, variant="constant")
                    m = smemkit.asarray(matrix)
                    product = smemkit.gemm(m, m)
                    del m
                    assert smemkit.asnumpy(total) == (image + k).sum()
                    assert np.array_equal(smemkit.asnumpy(blurred), convolved)
                    assert np.array_equal(smemkit.asnumpy(product), matrix @ matrix)
        except BaseException as error:
            failures.append(error)

    with smemkit.Device("cuda"):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures, failures[0]


def test_streams_leave_nothing_behind():
    device = smemkit.Device("cuda")
    x = smemkit.ones(100_003, backend="cuda")
    device.synchronize()  # the streams that do not block do not wait for the ones
    before = None
    for turn in range(300):
        stream = smemkit.Stream(backend="cuda", non_blocking=turn % 2 == 0)
        total = smemkit.reduce(x, variant="single_pass", stream=stream)
        assert smemkit.asnumpy(total) == 100_003
        del stream, total
        if turn == 100:
            device.synchronize()
            before = device.memory.free_bytes
    device.synchronize()
    assert before - device.memory.free_bytes < 16 << 20


def test_streams_of_other_devices():
    every = smemkit.devices("cuda")
    if len(every) < 2:
        pytest.skip("one GPU alone")
    first, second = (smemkit.Stream(device=device) for device in every[:2])
    x, y = (smemkit.ones((8, 8), device=device) for device in every[:2])
    said = "stream is one of device 1, the call runs on device 0"
    with pytest.raises(smemkit.ArgumentError, match=said):
        smemkit.gemm(x, x, stream=second)
    with second:
        assert smemkit.ones(3).device == "cuda:1"
        assert np.array_equal(smemkit.asnumpy(smemkit.gemm(x, x)), np.full((8, 8), 8))  # device 0
    first.wait(second)
    assert np.array_equal(smemkit.asnumpy(smemkit.gemm(y, y, stream=second)), np.full((8, 8), 8))


# Other libraries ----------------------------------------------------------------------------------


class NoWait:
    """An array of another library that does not order its consumer's stream."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None, **options):
        return self.array.__dlpack__(stream=-1, **options)


@pytest.mark.parametrize("awaited", [True, False])
def test_a_producer_on_a_stream_of_torch(torch, kernels, awaited):
    """The second case shows that the first tests something."""
    _, add = kernels
    x = torch.zeros(32, device="cuda")
    y, (ours,) = zeros(), streams(1)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(CYCLES)
        x += 1
        add(1, 32, (x if awaited else NoWait(x), y, 10.0), stream=ours)
    assert set(smemkit.asnumpy(y).tolist()) == {11.0 if awaited else 10.0}
    torch.cuda.synchronize()


@pytest.mark.parametrize("awaited", [True, False])
def test_a_producer_on_a_stream_of_cupy(cupy, kernels, awaited):
    _, add = kernels
    slow = cupy.RawKernel(CODE, "slow")
    x = cupy.zeros(32, "f4")
    slow((1,), (32,), (x, 1))
    x[:] = 0
    y, (ours,) = zeros(), streams(1)
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as theirs:
        slow((1,), (32,), (x, CYCLES))
        add(1, 32, (x if awaited else NoWait(x), y, 10.0), stream=ours)
    assert set(smemkit.asnumpy(y).tolist()) == {11.0 if awaited else 10.0}
    theirs.synchronize()


@pytest.mark.parametrize("way", ["dlpack", "interface"])
def test_a_consumer_on_a_stream_of_cupy(cupy, kernels, way):
    slow, _ = kernels
    d, (ours,) = zeros(), streams(1)
    with cupy.cuda.Stream(non_blocking=True) as theirs:
        slow(1, 32, (d, CYCLES), stream=ours)
        y = (cupy.from_dlpack(d) if way == "dlpack" else cupy.asarray(d)) + 10
        theirs.synchronize()
        assert set(y.get().tolist()) == {11.0}


def test_a_consumer_on_a_stream_of_torch(torch, kernels):
    slow, _ = kernels
    d, (ours,) = zeros(), streams(1)
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        slow(1, 32, (d, CYCLES), stream=ours)
        y = torch.from_dlpack(d) + 10
        torch.cuda.current_stream().synchronize()
        assert set(y.cpu().tolist()) == {11.0}


def test_streams_of_other_libraries_are_taken(torch, cupy, kernels):
    slow, add = kernels
    theirs = [torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)]
    theirs += [theirs[1].ptr, torch.cuda.default_stream(), 0, 1, None]
    for stream in theirs:
        x, y = zeros(), zeros()
        slow(1, 32, (x, CYCLES // 10), stream=stream)
        add[1, 32, stream](x, y, 1.0)
        assert set(smemkit.asnumpy(y, stream=stream).tolist()) == {2.0}
        if stream not in (None, 0, 1):
            wrapped = smemkit.Stream(stream)
            wrapped.synchronize()
            assert wrapped.done and wrapped.device == x.device
    with pytest.raises(smemkit.ArgumentTypeError):
        slow(1, 32, (zeros(), 1), stream="torch")


def test_numba_streams_are_taken(kernels):
    numba = get("numba.cuda")
    slow, add = kernels
    stream = numba.stream()
    x, y = zeros(), zeros()
    slow(1, 32, (x, CYCLES // 10), stream=stream)
    add(1, 32, (x, y, 1.0), stream=stream)
    assert set(smemkit.asnumpy(y, stream=stream).tolist()) == {2.0}


def test_our_stream_serves_cupy_and_torch(cupy, torch, kernels):
    slow, _ = kernels
    (ours,) = streams(1)
    d = zeros()
    version, handle = ours.__cuda_stream__()
    assert version == 0 and handle == ours.handle != 0
    slow(1, 32, (d, CYCLES), stream=ours)
    with torch.cuda.stream(torch.cuda.ExternalStream(handle)):
        assert torch.from_dlpack(d)[0].item() == 1
    slow(1, 32, (d, CYCLES), stream=ours)
    external = getattr(cupy.cuda.Stream, "from_external", None)
    with external(ours) if external else cupy.cuda.ExternalStream(handle):
        assert float(cupy.from_dlpack(d)[0]) == 2


def test_arrays_keep_the_stream_that_worked_on_them(cupy):
    """The stream goes away before the array: its memory is freed all the same."""
    x = smemkit.ones(1000, backend="cuda")
    smemkit.Device("cuda").synchronize()  # streams that do not block do not wait for the ones
    for make in (lambda: cupy.cuda.Stream(non_blocking=True), lambda: streams(1)[0]):
        stream = make()
        y = smemkit.vector_add(x, x, stream=stream)
        if isinstance(stream, smemkit.Stream):
            stream.close()
        del stream
        gc.collect()
        assert smemkit.asnumpy(y)[0] == 2
        del y
        gc.collect()


# Graphs -------------------------------------------------------------------------------------------


def test_a_graph_of_torch(torch, kernels, rng):
    _, add = kernels
    a = torch.zeros((96, 64), device="cuda")
    b = torch.asarray(rng.integers(-4, 5, (64, 80)).astype("f4")).cuda()
    product = torch.zeros((96, 80), device="cuda")
    total = smemkit.zeros((), backend="cuda")
    flipped, shifted = (torch.zeros(n, device="cuda") for n in ((80, 96), (80, 96)))

    def work(stream):
        smemkit.gemm(a, b, out=product, stream=stream)
        smemkit.reduce(product, variant="single_pass", out=total, stream=stream)
        smemkit.transpose(product, out=flipped, stream=stream)
        add(30, 256, (flipped, shifted, 0.5), stream=stream)

    work(torch.cuda.current_stream())  # loads all kernels
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(torch.cuda.current_stream())
    for _ in range(3):
        values = rng.integers(-4, 5, (96, 64)).astype("f4")
        a.copy_(torch.asarray(values))
        graph.replay()
        torch.cuda.synchronize()
        expected = values @ b.cpu().numpy()
        assert np.array_equal(product.cpu().numpy(), expected)
        assert smemkit.asnumpy(total) == expected.sum()
        assert np.array_equal(shifted.cpu().numpy(), expected.T + 0.5)


def test_a_graph_of_cupy(cupy, kernels):
    slow, add = kernels
    x, y = cupy.zeros(32, "f4"), zeros()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        slow(1, 32, (x, 1000), stream=stream)
        add(1, 32, (x, y, 10.0), stream=stream)
        graph = stream.end_capture()
    assert not cupy.asnumpy(x).any() and not smemkit.asnumpy(y).any()  # captured, not run
    for turn in range(1, 4):
        graph.launch(stream)
        stream.synchronize()
        assert set(smemkit.asnumpy(y).tolist()) == {10.0 + turn}


def test_a_stream_of_ours_is_captured(torch, kernels):
    """With a fork to a second stream, and back."""
    slow, add = kernels
    first, second = streams(2)
    x, y, z = zeros(), zeros(), zeros()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.ExternalStream(first.handle)):
        slow(1, 32, (x, 1000), stream=first)
        second.wait(first)
        add(1, 32, (x, y, 10.0), stream=second)
        add(1, 32, (x, z, 20.0), stream=first)
        first.wait(second)
    for turn in range(1, 4):
        graph.replay()
        torch.cuda.synchronize()
        assert y.item(0) == 10 + turn and z.item(31) == 20 + turn


def test_what_a_graph_cannot_repeat_is_refused(torch, kernels):
    slow, add = kernels
    x = torch.ones((64, 64), device="cuda")
    d = smemkit.ones((64, 64), backend="cuda")
    w, blurred = smemkit.ones((3, 3), backend="cuda"), smemkit.zeros((64, 64), backend="cuda")
    out = torch.zeros((64, 64), device="cuda")
    spare, turned = (smemkit.ones((64, 64), backend="cuda") for _ in range(2))
    smemkit.gemm(x, x, out=out)
    smemkit.conv2d(d, w, out=blurred)
    smemkit.transpose(spare, out=turned)
    for variant in smemkit.variants("conv2d"):
        smemkit.conv2d(d, w, out=blurred, variant=variant)
    smemkit.Device("cuda").synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = torch.cuda.current_stream()
        with pytest.raises(smemkit.ArgumentError, match="out="):
            smemkit.gemm(x, x, stream=stream)
        with pytest.raises(smemkit.ArgumentError, match="make them before the capture"):
            smemkit.gemm(np.ones((8, 8), "f4"), np.ones((8, 8), "f4"), stream=stream)
        with pytest.raises(smemkit.ArgumentError, match="no value is there before the graph runs"):
            smemkit.asnumpy(d, stream=stream)
        with pytest.raises(smemkit.ArgumentError, match="torch.cuda.current_stream"):
            smemkit.gemm(x, x, out=out)
        with pytest.raises(smemkit.ArgumentError, match="torch.cuda.current_stream"):
            add(16, 256, (x, out, 1.0))
        with pytest.raises(smemkit.ArgumentError, match="name another variant"):
            smemkit.conv2d(d, w, out=blurred, variant="constant", stream=stream)
        smemkit.conv2d(d, w, out=blurred, stream=stream)  # "auto" takes another one
        smemkit.gemm(x, x, out=out, stream=stream)
        smemkit.transpose(spare, out=turned, stream=stream)
        del spare  # its memory is freed when the capture has ended
        gc.collect()
    graph.replay()
    torch.cuda.synchronize()
    assert out[0, 0].item() == 64 and blurred.item(5, 5) == 9
    assert smemkit.asnumpy(smemkit.ones(3, backend="cuda")).tolist() == [1, 1, 1]
