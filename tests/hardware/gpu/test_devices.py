"""Arrays remember their device, whatever another library has made the present one."""

import contextlib
import ctypes
import gc
import threading
import time

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


MAKERS = {
    "asarray": lambda device: smemkit.asarray(np.ones(10, "float32"), device=device),
    "empty": lambda device: smemkit.empty(10, device=device),
    "zeros": lambda device: smemkit.zeros(10, device=device),
    "full": lambda device: smemkit.full(10, 3, device=device),
    "arange": lambda device: smemkit.arange(10, device=device),
    "zeros_like": lambda device: smemkit.zeros_like(np.ones(10), device=device),
    "from_dlpack": lambda device: smemkit.from_dlpack(np.ones(10), device=device),
    "copy": lambda device: make().copy(device=device),
}


@pytest.mark.parametrize("name", MAKERS)
def test_arrays_are_made_where_device_says(name, use, driver):
    for present in (0, 1):
        use(present)
        for device in (0, 1):
            for spelling in (f"cuda:{device}", smemkit.Device(device, "cuda")):
                assert MAKERS[name](spelling).device == f"cuda:{device}"
                assert driver.current() == present


def test_calls_run_where_device_says(use, driver):
    x = np.ones(1000, "float32")
    kernel = smemkit.RawKernel(PTX, "store")
    for present in (0, 1):
        use(present)
        for device in smemkit.devices("cuda")[:2]:
            assert (smemkit.vector_add(x, x, device=device) == 2).all()
            out = np.zeros(4, "uint64")
            kernel(1, 1, (out, 78), device=device)
            assert out[0] == 78
            with pytest.raises(smemkit.ArgumentError, match=f"lives on 'cuda:{1 - device.id}'"):
                smemkit.vector_add(*[make().copy(device=1 - device.id)] * 2, device=device)
            assert driver.current() == present


def test_blocks(use, driver):
    use(0)
    with smemkit.Device(1, "cuda") as device:
        assert driver.current() == 1 and make().device == device == "cuda:1"
        with smemkit.Device(0, "cuda"):
            assert driver.current() == 0 and smemkit.zeros(3).device == "cuda:0"
        with smemkit.Device("sim"):
            assert smemkit.zeros(3).device == "sim"
        assert driver.current() == 1
    assert driver.current() == 0
    assert smemkit.Device("cuda").id == 0


def test_what_a_device_says(driver):
    first, second = smemkit.devices("cuda")[:2]
    assert first != second and repr(second) == "Device('cuda:1')"
    assert second.name == smemkit.device_info(1, "cuda")["name"]
    free = second.memory.free_bytes
    held = smemkit.empty(1 << 31, "uint8", device=second)
    assert 0 < second.memory.free_bytes <= free - held.nbytes // 2
    count = len(smemkit.devices("cuda"))
    with pytest.raises(smemkit.ArgumentError, match=f"there is no device {count}; this machine"):
        smemkit.zeros(1, device=f"cuda:{count}")


@pytest.mark.parametrize("shape", [(1,), (1000, 1001), (3, 0), (), (1 << 26,)], ids=str)
def test_copies_from_device_to_device(shape, use, driver):
    use(0)
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    first = smemkit.asarray(values, device="cuda:0")
    second = first.copy(device=1)
    first.fill(-1)  # behind the copy
    assert second.device == "cuda:1" and (smemkit.asnumpy(second) == values).all()
    back = second.T.copy(device=0)
    assert back.device == "cuda:0" and (smemkit.asnumpy(back) == values.T).all()
    assert smemkit.asarray(second, device=1) is second
    first[...] = second
    assert (smemkit.asnumpy(first) == values).all()
    assert driver.current() == 0


def test_a_source_may_be_freed_at_once(use):
    use(0)
    for k in range(20):
        copied = smemkit.full(1 << 22, k, "int32", device="cuda:0").copy(device=1)
        smemkit.full(1 << 22, -1, "int32", device="cuda:0")  # perhaps in the memory of the source
        assert (smemkit.asnumpy(copied) == k).all()


# Products over devices ---------------------------------------------------------------------------


def make_product(shape, seed=0):
    """Operands of small integers and their product, exact in any order."""
    rng = np.random.default_rng(seed)
    m, k, n = shape
    a = rng.integers(-4, 5, (m, k)).astype("float32")
    b = rng.integers(-4, 5, (k, n)).astype("float32")
    return a, b, a @ b


@pytest.mark.parametrize(
    "shape", [(1024, 512, 768), (300, 70, 4100), (5, 3, 7), (0, 3, 4)], ids=str
)
@pytest.mark.parametrize("places", ["000", "111", "011", "100", "01-", "10-", "00-"])
def test_gemm_over_devices(shape, places, use, driver):
    a, b, product = make_product(shape)
    use(1)
    operands = [
        smemkit.asarray(x, device=f"cuda:{p}") for x, p in zip((a, b), places, strict=False)
    ]
    for devices in ([0, 1], [1, 0], [0, 1, 0, 1], [1]):
        out = None
        if places[2] != "-":
            out = smemkit.full(product.shape, np.nan, "float32", device=f"cuda:{places[2]}")
        result = smemkit.gemm(*operands, out=out, devices=devices)
        assert result.device == (f"cuda:{devices[0]}" if out is None else out.device)
        assert (smemkit.asnumpy(result) == product).all()
        assert driver.current() == 1
    assert all((smemkit.asnumpy(x) == y).all() for x, y in zip(operands, (a, b), strict=True))


def test_gemm_of_host_arrays_over_devices(driver):
    a, b, product = make_product((700, 300, 900))
    assert (smemkit.gemm(a, b, devices=["cuda:0", "cuda:1"]) == product).all()
    out = np.empty(product.shape, "float32")
    assert smemkit.gemm(a, b, devices=["cuda:1", "cuda:0"], out=out) is out
    assert (out == product).all()


def test_gemm_waits_for_its_operands_and_later_work_for_it(driver):
    """Large enough that a copy that does not wait would show."""
    n = 4096
    a = smemkit.zeros((n, n), device="cuda:0")
    b = smemkit.zeros((n, n), device="cuda:1")
    out = smemkit.zeros((n, n), device="cuda:0")
    for k in range(1, 6):
        a.fill(k)
        b.fill(1)
        smemkit.gemm(a, b, out=out, devices=[0, 1])
        a.fill(-1)  # behind the copies
        b.fill(-1)
        assert (smemkit.asnumpy(out) == k * n).all()


def test_gemm_over_devices_on_streams(driver):
    """What the entered streams do before and after is in order with the product."""
    n = 2048
    with contextlib.ExitStack() as stack:
        for device in ("cuda:0", "cuda:1"):
            stack.enter_context(smemkit.Stream(device=device, non_blocking=True))
        a = smemkit.zeros((n, n), device="cuda:0")
        b = smemkit.zeros((n, n), device="cuda:1")
        for k in range(1, 6):
            a.fill(k)
            b.fill(1)
            out = smemkit.gemm(a, b, devices=[1, 0])
            a.fill(-1)
            b.fill(-1)
            assert out.device == "cuda:1" and (smemkit.asnumpy(out) == k * n).all()


def test_gemm_of_torch_tensors_over_devices(driver):
    torch = pytest.importorskip("torch")
    a, b, product = make_product((1024, 512, 768))
    given = torch.tensor(a, device="cuda:1"), torch.tensor(b, device="cuda:0")
    torch.cuda.set_device(0)
    with torch.cuda.stream(torch.cuda.Stream(1)):
        result = smemkit.gemm(*given, devices=[0, 1])
    out = torch.empty(product.shape, device="cuda:1")
    assert smemkit.gemm(*given, devices=[0, 1], out=out) is out
    assert (smemkit.asnumpy(result) == product).all() and (out.cpu().numpy() == product).all()
    assert torch.cuda.current_device() == 0


# Faults and threads ------------------------------------------------------------------------------


def count_free():
    devices = smemkit.devices("cuda")[:2]
    for device in devices:
        device.synchronize()
    return [device.memory.free_bytes for device in devices]


def test_memory_short_on_one_device(driver, whole_device):
    """The panel of device 1 does not fit; what was begun is freed, and both devices go on."""
    n = 8192
    a, b = (smemkit.ones((n, n), device="cuda:0") for _ in range(2))
    expected = smemkit.asnumpy(smemkit.gemm(a, b, devices=[0, 1])[:2])
    held = []
    for size in (1 << 32, 1 << 28):  # until no block of that size is left, not in the pool either
        with contextlib.suppress(smemkit.OutOfMemoryError):
            while True:
                held.append(smemkit.empty(size, "uint8", device="cuda:1"))
    before = count_free()
    for _ in range(3):
        with pytest.raises(smemkit.OutOfMemoryError):
            smemkit.gemm(a, b, devices=[0, 1])
    after = count_free()
    assert all(
        abs(x - y) <= 1 << 30 for x, y in zip(before, after, strict=True)
    )  # the pools keep some
    del held
    assert (smemkit.asnumpy(smemkit.gemm(a, b, devices=[0, 1])[:2]) == expected).all()


def work_on_devices(seconds):
    """Eight threads on two devices: products, copies and kernels; what went wrong."""
    faults, counts = [], [0] * 8
    end = time.monotonic() + seconds

    def work(index):
        rng = np.random.default_rng(index)
        a, b, product = make_product((256, 128, 192), index)
        kernel = smemkit.RawKernel(PTX, "store")
        try:
            while time.monotonic() < end:
                home = int(rng.integers(2))
                with smemkit.Device(home, "cuda"):
                    x, y = smemkit.asarray(a), smemkit.asarray(b)
                    result = smemkit.gemm(x, y) if index % 2 else smemkit.gemm(x, y, devices=[0, 1])
                    moved = result.copy(device=1 - home)
                    cell = smemkit.zeros(1, "uint64")
                    kernel(1, 1, (cell, index))
                assert moved.device == f"cuda:{1 - home}" and cell.device == f"cuda:{home}"
                assert (smemkit.asnumpy(moved) == product).all()
                assert smemkit.asnumpy(cell)[0] == index
                counts[index] += 1
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[0]
    assert all(counts)


def test_eight_threads_on_two_devices(driver):
    work_on_devices(5)


@pytest.mark.slow
def test_eight_threads_on_two_devices_for_a_minute(driver):
    work_on_devices(60)
