"""gemm(a, b, devices=...) on the simulator, where one device takes the panels of several.

A device that is named again copies its operands as another device would.
"""

import numpy as np
import pytest

import smemkit

SHAPES = [(50, 70, 30), (1, 1, 1), (3, 5, 7), (129, 33, 200), (7, 3, 300), (0, 3, 4), (3, 0, 4)]
SHAPES += [(3, 4, 0)]
DEVICES = [[0], [0, 0], ("sim", 0, smemkit.Device("sim")), [0] * 9]


def make(shape, dtype="float32", seed=0):
    """Operands of small integers, whose products are exact in any order."""
    rng = np.random.default_rng(seed)
    m, k, n = shape
    return rng.integers(-4, 5, (m, k)).astype(dtype), rng.integers(-4, 5, (k, n)).astype(dtype)


@pytest.mark.parametrize("devices", DEVICES, ids=len)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_device_arrays(shape, devices):
    a, b = make(shape)
    on_device = [smemkit.asarray(x, backend="sim") for x in (a, b)]
    result = smemkit.gemm(*on_device, devices=devices)
    assert result.device == "sim" and result.shape == (shape[0], shape[2])
    assert (np.asarray(result) == a @ b).all()
    out = smemkit.full(result.shape, np.nan, "float32", backend="sim")
    assert smemkit.gemm(*on_device, devices=devices, out=out, variant="padded") is out
    assert (np.asarray(out) == a @ b).all()
    assert all((np.asarray(x) == y).all() for x, y in zip(on_device, (a, b), strict=True))


@pytest.mark.parametrize("devices", DEVICES, ids=len)
def test_host_arrays(devices):
    a, b = make((50, 20, 40))
    for given in ((a, b), (a.tolist(), b.tolist()), (np.asfortranarray(a), b[::-1][::-1])):
        given = [np.asarray(x, "float32") if isinstance(x, list) else x for x in given]
        result = smemkit.gemm(*given, devices=devices, backend="sim")
        assert type(result) is np.ndarray and (result == a @ b).all()
    out = np.full((40, 50), np.nan, "float32").T
    assert smemkit.gemm(a, b, devices=devices, backend="sim", out=out) is out
    assert (out == a @ b).all()
    square = make((24, 24, 24))
    product = square[0] @ square[1]
    assert smemkit.gemm(*square, devices=devices, backend="sim", out=square[0]) is square[0]
    assert (square[0] == product).all()  # which overlaps an input


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_views_types_and_variants(dtype):
    a, b = make((40, 24, 56), dtype)
    whole = smemkit.asarray(np.ascontiguousarray(a.T), backend="sim")
    padded = smemkit.asarray(np.pad(b, ((0, 0), (3, 5))), backend="sim")
    for name, facts in smemkit.variants("gemm").items():
        if dtype in facts["dtypes"] and name in ("naive", "tiled", "register_2d"):
            result = smemkit.gemm(whole.T, padded[:, 3:-5], devices=[0, 0], variant=name)
            assert result.dtype == dtype and (np.asarray(result) == a @ b).all()


def test_arrays_of_other_libraries():
    a, b = make((30, 20, 10))

    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **words):
            return self.array.__dlpack__(**words)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    given = (Foreign(a), Foreign(b))
    assert (smemkit.gemm(*given, devices=[0, 0], backend="sim") == a @ b).all()


@pytest.mark.parametrize("devices", [range(1), np.zeros(2, "int32"), smemkit.devices("sim")])
def test_devices_of_any_sequence(devices):
    a, b = make((5, 3, 4))[:2]
    assert np.allclose(smemkit.gemm(a, b, devices=devices, backend="sim"), a @ b)


@pytest.mark.parametrize(
    ("devices", "error", "said"),
    [
        ([], smemkit.ArgumentError, "gemm: devices is empty"),
        ([1], smemkit.ArgumentError, "gemm: there is no device 1 on the machine 'sim'"),
        (
            [0, "cuda:0"],
            smemkit.ArgumentError,
            "gemm: devices has 'cuda:0', and the call is for 'sim'",
        ),
        ([0, None], smemkit.ArgumentTypeError, "gemm: device is of the type NoneType"),
        (0, smemkit.ArgumentTypeError, "gemm: devices must be a list of devices, not int"),
        ("sim", smemkit.ArgumentTypeError, "gemm: devices must be a list of devices, not str"),
        (b"0", smemkit.ArgumentTypeError, "gemm: devices must be a list of devices, not bytes"),
        ({0}, smemkit.ArgumentTypeError, "gemm: devices must be a list of devices, not set"),
    ],
)
@pytest.mark.parametrize("on_device", [False, True])
def test_devices_that_cannot_be(devices, error, said, on_device):
    operands = make((4, 4, 4))
    if on_device:
        operands = [smemkit.asarray(x, backend="sim") for x in operands]
    free = smemkit.Device("sim").memory.free_bytes
    with pytest.raises(error, match=said):
        smemkit.gemm(*operands, devices=devices, backend="sim")
    assert smemkit.Device("sim").memory.free_bytes == free


def test_arguments_are_checked_as_of_one_device():
    a, b = make((4, 4, 4))
    with pytest.raises(smemkit.ArgumentError, match="takes device or devices, not both"):
        smemkit.gemm(a, b, device=0, devices=[0])
    with pytest.raises(smemkit.ArgumentError, match="takes stream or devices, not both"):
        smemkit.gemm(a, b, stream=smemkit.Stream(backend="sim"), devices=[0])
    with pytest.raises(smemkit.ShapeError, match="gemm: k is 4 in a and 3 in b"):
        smemkit.gemm(a, b[:3], devices=[0, 0], backend="sim")
    with pytest.raises(smemkit.ArgumentError, match="variant"):
        smemkit.gemm(a, b, devices=[0, 0], backend="sim", variant="no such")
    with pytest.raises(smemkit.ArgumentTypeError, match="do not mix"):
        smemkit.gemm(a, smemkit.asarray(b, backend="sim"), devices=[0])
    x = smemkit.asarray(a, backend="sim")
    with pytest.raises(smemkit.ArgumentError, match="out is a itself"):
        smemkit.gemm(x, x, devices=[0, 0], out=x)
    with pytest.raises(TypeError, match="devices"):
        smemkit.transpose(a, devices=[0])


def test_faults_leave_nothing_behind(monkeypatch):
    a, b = make((64, 64, 64))
    operands = [smemkit.asarray(x, backend="sim") for x in (a, b)]
    free = smemkit.Device("sim").memory.free_bytes
    monkeypatch.setenv("SMEMKIT_MAX_STEPS", "10")
    with pytest.raises(smemkit.StepBudgetError):
        smemkit.gemm(*operands, devices=[0, 0, 0])
    assert smemkit.Device("sim").memory.free_bytes == free
    monkeypatch.delenv("SMEMKIT_MAX_STEPS")
    assert (np.asarray(smemkit.gemm(*operands, devices=[0, 0, 0])) == a @ b).all()
    assert smemkit.Device("sim").memory.free_bytes == free


def test_each_product_is_counted():
    a, b = make((64, 16, 64))
    report = smemkit.profile(smemkit.gemm, a, b, variant="tiled", devices=[0, 0])
    whole = smemkit.profile(smemkit.gemm, a, b, variant="tiled")
    assert len(report.launches) > 2 and len(whole.launches) == 1
