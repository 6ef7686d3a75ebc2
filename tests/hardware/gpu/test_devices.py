"""Arrays remember their device, whatever another library has made the present one."""

import ctypes
import gc

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


class Driver:
    """The present device as any library sets it: by the driver that all of them share."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        assert self.cuda.cuInit(0) == 0
        count = ctypes.c_int()
        assert self.cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
        self.contexts = []
        for ordinal in range(count.value):
            device, context = ctypes.c_int(), ctypes.c_void_p()
            assert self.cuda.cuDeviceGet(ctypes.byref(device), ordinal) == 0
            assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
            self.contexts.append(context)

    def use(self, device):
        assert self.cuda.cuCtxSetCurrent(self.contexts[device]) == 0

    def current(self):
        context = ctypes.c_void_p()
        assert self.cuda.cuCtxGetCurrent(ctypes.byref(context)) == 0
        return [made.value for made in self.contexts].index(context.value)


@pytest.fixture(scope="module")
def driver(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")
    made = Driver()
    if len(made.contexts) < 2:
        pytest.skip(f"{len(made.contexts)} device; 2 are needed")
    return made


@pytest.fixture(params=["runtime", "driver"])
def use(request, driver):
    """Makes a device the present one: as PyTorch does, by a runtime of its own, or as others do."""
    if request.param == "driver":
        change = driver.use
    else:
        torch = pytest.importorskip("torch")
        change = torch.cuda.set_device
    change(0)
    yield change
    driver.use(0)


def make(value=1.0):
    return smemkit.asarray(np.full(1000, value, "float32"), backend="cuda")


def test_copies_and_frees(use, driver):
    first = make(3)
    use(1)
    second = make(4)
    assert (smemkit.asnumpy(first) == 3).all()
    assert driver.current() == 1
    use(0)
    assert (smemkit.asnumpy(second) == 4).all()
    assert driver.current() == 0
    converted = smemkit.asarray(second, "float64")  # uploaded to device 1, where second is
    assert driver.current() == 0
    assert (smemkit.asnumpy(converted) == 4).all()
    assert driver.current() == 0
    del second
    gc.collect()
    use(1)
    del first
    gc.collect()
    again = [make(k) for k in range(50)]
    assert all((smemkit.asnumpy(x) == k).all() for k, x in enumerate(again))


def test_kernels_run_where_their_arrays_are(use, driver):
    first = make(3)
    use(1)
    second = make(4)
    for x, value in ((first, 3), (second, 4)):
        for device in (0, 1):
            use(device)
            assert (smemkit.asnumpy(smemkit.vector_add(x, x)) == 2 * value).all()
            assert smemkit.asnumpy(smemkit.reduce(x, variant="single_pass")) == 1000 * value
            counts = smemkit.histogram(x, 10, (0, 10))
            assert smemkit.asnumpy(counts)[value] == 1000
            matrix = smemkit.asarray(np.ones((130, 70), "float32"))
            assert (smemkit.asnumpy(smemkit.gemm(matrix, matrix_of(matrix))) == 70).all()
            out = smemkit.asarray(np.zeros(4, "uint64"))
            use(1 - device)
            smemkit.RawKernel(PTX, "store")(1, 1, (out, 77))
            assert smemkit.asnumpy(out)[0] == 77
            assert driver.current() == 1 - device


def matrix_of(matrix):
    return smemkit.asarray(np.ones(matrix.shape[::-1], "float32"))


def test_arrays_of_two_devices_do_not_mix(use):
    first = make(3)
    use(1)
    second = make(4)
    with pytest.raises(smemkit.ArgumentError, match="y lives on device 1, x on device 0"):
        smemkit.vector_add(first, second)
    with pytest.raises(smemkit.ArgumentError, match="out lives on device 0, x on device 1"):
        smemkit.vector_add(second, second, out=first)
    said = "lives on device 1, another array of this call on device 0"
    with pytest.raises(smemkit.ArgumentError, match=said):
        smemkit.RawKernel(PTX, "store")(1, 1, (first, second))
    for x, value in ((first, 3), (second, 4)):  # nothing is lost
        assert (smemkit.asnumpy(x) == value).all()


def test_host_arrays_go_to_the_present_device(use, driver):
    x = np.ones(1000, "float32")
    for device in (1, 0):
        use(device)
        assert (smemkit.vector_add(x, x, backend="cuda") == 2).all()
        out = np.zeros(4, "uint64")
        smemkit.RawKernel(PTX, "store")(1, 1, (out, 77), backend="cuda")
        assert out[0] == 77
        assert driver.current() == device
