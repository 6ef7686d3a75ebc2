"""Arrays of CuPy, PyTorch and Numba on a GPU, both ways, shown by pointers and by streams."""

import gc

import numpy as np
import pytest

import smemkit


def get(name):
    return pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)


@pytest.fixture
def cuda(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


@pytest.fixture
def cupy(cuda):
    return get("cupy")


@pytest.fixture
def torch(cuda):
    found = get("torch")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    return found


SCALARS = "? i1 u1 i2 i4 i8 f2 f4 f8 c8 c16".split()


# Without copies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SCALARS)
def test_cupy_both_ways(cupy, dtype):
    x = np.arange(24).astype(dtype).reshape(2, 3, 4)
    theirs = cupy.asarray(x)
    for view, wanted in ((theirs, x), (theirs[::-1, 1:, ::2].T, x[::-1, 1:, ::2].T)):
        for ours in (smemkit.from_dlpack(view), smemkit.asarray(view)):
            assert ours.pointer == view.data.ptr and ours.strides == view.strides
            assert ours.backend == "cuda" and ours.device == f"cuda:{view.device.id}"
            assert np.array_equal(smemkit.asnumpy(ours), wanted)
            for back in (cupy.from_dlpack(ours), cupy.asarray(ours)):
                assert back.data.ptr == view.data.ptr and np.array_equal(back.get(), wanted)


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "bool", "complex64"])
def test_torch_both_ways(torch, dtype):
    x = np.arange(24).astype(dtype).reshape(2, 3, 4)
    theirs = torch.asarray(x, device="cuda")
    for view, wanted in ((theirs, x), (theirs.permute(2, 0, 1)[1:], x.transpose(2, 0, 1)[1:])):
        for ours in (smemkit.from_dlpack(view), smemkit.asarray(view)):
            assert ours.pointer == view.data_ptr()
            assert np.array_equal(smemkit.asnumpy(ours), wanted)
            back = torch.from_dlpack(ours)
            assert back.data_ptr() == view.data_ptr() and back.stride() == view.stride()
            assert np.array_equal(back.cpu().numpy(), wanted)


def test_numba_both_ways(cuda):
    numba = get("numba.cuda")
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    theirs = numba.to_device(x)
    ours = smemkit.asarray(theirs)
    assert ours.pointer == theirs.__cuda_array_interface__["data"][0]
    assert np.array_equal(smemkit.asnumpy(ours), x)
    assert np.array_equal(numba.as_cuda_array(ours).copy_to_host(), x)
    assert np.array_equal(smemkit.asnumpy(smemkit.transpose(theirs)), x.T)


def test_memory_outlives_its_first_owner(cupy, torch):
    theirs = cupy.arange(1 << 20, dtype="f4")
    ours = smemkit.from_dlpack(theirs)
    del theirs
    gc.collect()
    cupy.full(1 << 20, 7, "f4")
    assert smemkit.asnumpy(ours)[-1] == (1 << 20) - 1
    back = torch.from_dlpack(ours)
    del ours
    gc.collect()
    smemkit.full(1 << 20, 9, backend="cuda")
    assert back[-1].item() == (1 << 20) - 1


def test_a_copy_for_the_host(cuda):
    d = smemkit.asarray(np.arange(12.0).reshape(3, 4), backend="cuda")
    assert d.__dlpack_device__()[0] == 2
    capsule = d.T.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    assert type(capsule).__name__ == "PyCapsule"
    with pytest.raises(BufferError, match="copy"):
        d.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        memoryview(d)


# Calls -------------------------------------------------------------------------------------------


def test_functions_take_and_give(cupy, torch, rng):
    a, b = (rng.integers(-8, 8, shape).astype("f4") for shape in ((70, 50), (50, 90)))
    for left, right, free in (
        (cupy.asarray(a), cupy.asarray(b), cupy.zeros((70, 90), "f4")),
        (torch.asarray(a).cuda(), torch.asarray(b).cuda(), torch.zeros((70, 90)).cuda()),
        (torch.asarray(a.T.copy()).cuda().T, cupy.asarray(b), cupy.zeros((70, 90), "f4")),
    ):
        product = smemkit.gemm(left, right)
        assert type(product) is smemkit.DeviceArray
        assert np.array_equal(smemkit.asnumpy(product), a @ b)
        assert smemkit.gemm(left, right, out=free) is free
        assert np.array_equal(smemkit.asnumpy(free), a @ b)


ADD = r"""
extern "C" __global__ void add(float *x, float value)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void slow(float *x, long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles) { }
    x[threadIdx.x] += 1;
}
"""


def test_kernels_take_them(cupy, torch):
    kernel = smemkit.RawKernel(ADD, "add")
    for x in (cupy.zeros(1024, "f4"), torch.zeros(1024, device="cuda")):
        kernel(4, 256, (x, 2.5))
        assert float(x.sum()) == 2.5 * 1024
    with pytest.raises(TypeError):
        kernel(4, 256, (torch.zeros(4, dtype=torch.bfloat16, device="cuda"), 2.5))


# Streams -----------------------------------------------------------------------------------------

CYCLES = 200_000_000  # about a tenth of a second


def test_the_stream_of_cupy_is_awaited(cupy):
    """Without the wait our launch reads x before the slow kernel of the other stream writes it."""
    slow = cupy.RawKernel(ADD, "slow")
    add = smemkit.RawKernel(ADD, "add")
    x = cupy.zeros(32, "f4")
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True):
        slow((1,), (32,), (x, CYCLES))
        ours = smemkit.from_dlpack(x)
    y = smemkit.zeros(32, backend="cuda")
    add(1, 32, (y, 1.0))
    assert np.array_equal(smemkit.asnumpy(smemkit.vector_add(ours, y)), np.full(32, 2))


def test_the_stream_of_torch_is_awaited_and_waits(torch):
    x = torch.zeros(1 << 24, device="cuda")
    ones = smemkit.ones(1 << 24, backend="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(CYCLES)
        x += 1
        total = smemkit.vector_add(x, ones)  # behind x += 1, on the default stream
        x += 10  # behind our launch
        kept = x.clone()
    assert np.array_equal(smemkit.asnumpy(total[:5]), np.full(5, 2))
    torch.cuda.synchronize()
    assert kept[:5].tolist() == [11] * 5


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_a_launch_lies_between_the_work_of_the_stream(library):
    """Both ways of a launch: the first converts its arguments, later ones read them."""
    module = pytest.importorskip(library)
    add = smemkit.RawKernel(ADD, "add")
    if library == "torch":
        x, stream = module.zeros(32, device="cuda"), module.cuda.Stream()
        entered, wait = module.cuda.stream(stream), module.cuda._sleep
    else:
        slow, free = module.RawKernel(ADD, "slow"), module.zeros(32, "f4")
        x, stream = module.zeros(32, "f4"), module.cuda.Stream(non_blocking=True)
        entered = stream

        def wait(cycles):
            slow((1,), (32,), (free, cycles))

    smemkit.zeros(1, backend="cuda").item()  # waits for the default stream
    with entered:
        for _ in range(3):
            wait(CYCLES)
            x *= 2  # 0, 2, 6
            add(1, 32, (x, 1.0))  # 1, 3, 7
        x += 10
        stream.synchronize()
        assert x.tolist() == [17] * 32


def test_wrong_arguments_are_refused_by_later_launches_too(cupy, torch):
    add = smemkit.RawKernel(ADD, "add")
    for x in (torch.zeros(64, device="cuda"), cupy.zeros(64, "f4"), smemkit.zeros(64, "f4")):
        add(1, 32, (x, 1))
        for wrong in ((x, 1, 2), (x,), (x, "1"), (x, 1e300), (1, x), (x[::2], 1), (None, 1)):
            with pytest.raises(smemkit.Error):
                add(1, 32, wrong)
        with pytest.raises(smemkit.LaunchError):
            add(1, 2048, (x, 1))
        with pytest.raises(smemkit.LaunchError):
            add(0, 32, (x, 1))
        with pytest.raises(smemkit.ArgumentTypeError):
            add(1, 32, (torch.zeros(64, device="cuda", dtype=torch.int32), 1))
        assert float(smemkit.asnumpy(smemkit.vector_add(x, x))[0]) == 2


def test_our_work_is_awaited_by_the_consumer(cupy):
    slow = smemkit.RawKernel(ADD, "slow")
    d = smemkit.zeros(32, backend="cuda")
    slow(1, 32, (d, CYCLES))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.from_dlpack(d)
        y = x + 1
        stream.synchronize()
        assert y.get().tolist() == [2] * 32


# Faults ------------------------------------------------------------------------------------------


def test_two_devices_do_not_mix(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU alone")
    with cupy.cuda.Device(0):
        a = cupy.ones((8, 8), "f4")
    with cupy.cuda.Device(1):
        b = cupy.ones((8, 8), "f4")
        assert smemkit.from_dlpack(b).device == smemkit.asarray(b).device == "cuda:1"
        assert np.array_equal(smemkit.asnumpy(smemkit.gemm(b, b)), np.full((8, 8), 8))
    with pytest.raises(smemkit.ArgumentError, match="device 1.*device 0"):
        smemkit.gemm(a, b)
    assert np.array_equal(smemkit.asnumpy(smemkit.gemm(b, b)), np.full((8, 8), 8))
    assert smemkit.gemm(b, b).device == "cuda:1"


def test_an_interface_that_lies(cuda):
    class Liar:
        def __init__(self, **interface):
            self.__cuda_array_interface__ = interface

    good = dict(smemkit.zeros(4, backend="cuda").__cuda_array_interface__)
    for change in (
        {"shape": "four"},
        {"data": 5},
        {"typestr": ">f4"},
        {"strides": (1, 2)},
        {"stream": 0},
    ):
        with pytest.raises(smemkit.ArgumentTypeError):
            smemkit.asarray(Liar(**{**good, **change}))
    with pytest.raises(smemkit.ArgumentError, match="in the memory of no GPU"):
        smemkit.asarray(Liar(**{**good, "data": (np.zeros(4).ctypes.data, False)}))
