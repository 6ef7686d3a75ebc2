"""smemkit.Device, device= and devices=, where there is one device."""

import copy
import pickle
import threading
import types

import numpy as np
import pytest

import smemkit

SCALE = """
.version 7.0
.target sm_75
.address_size 64
.global .align 4 .b8 factor[4];
.visible .entry twice(.param .u64 to)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    add.u32 %r2, %r1, %r1;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""
SIMULATOR = smemkit.Device("sim")


def test_what_a_device_is():
    device = smemkit.Device(0, "sim")
    assert (device.id, device.backend, device.name) == (0, "sim", "smemkit simulator")
    assert str(device) == "sim" and repr(device) == "Device('sim')"
    assert eval(repr(device), {"Device": smemkit.Device}) == device
    assert device == SIMULATOR == smemkit.Device(SIMULATOR) == smemkit.Device("sim:0")
    assert device == "sim" and device != "cuda:0" and device != 0 and len({device, "sim"}) == 1
    assert device.info == smemkit.device_info(backend="sim") == smemkit.device_info(device)
    assert smemkit.devices("sim") == (device,)
    assert pickle.loads(pickle.dumps(device)) == device == copy.deepcopy(device)
    device.synchronize()
    with pytest.raises(TypeError):
        assert device < SIMULATOR


def test_memory_counts_arrays():
    before = SIMULATOR.memory
    assert 0 <= before.free_bytes <= before.total_bytes
    array = smemkit.empty(1 << 20, "uint8", device=SIMULATOR)
    assert SIMULATOR.memory == (before.free_bytes - array.nbytes, before.total_bytes)


MAKERS = {
    "asarray": lambda device: smemkit.asarray([1, 2], device=device),
    "empty": lambda device: smemkit.empty(2, device=device),
    "zeros": lambda device: smemkit.zeros(2, device=device),
    "ones": lambda device: smemkit.ones(2, device=device),
    "full": lambda device: smemkit.full(2, 3, device=device),
    "arange": lambda device: smemkit.arange(2, device=device),
    "empty_like": lambda device: smemkit.empty_like([1, 2], device=device),
    "full_like": lambda device: smemkit.full_like([1, 2], 3, device=device),
    "zeros_like": lambda device: smemkit.zeros_like([1, 2], device=device),
    "ones_like": lambda device: smemkit.ones_like([1, 2], device=device),
    "like an array": lambda device: smemkit.zeros_like(
        smemkit.ones(2, backend="sim"), device=device
    ),
    "from_dlpack": lambda device: smemkit.from_dlpack(np.ones(2), device=device),
    "copy": lambda device: smemkit.ones(2, backend="sim").copy(device=device),
    "move": lambda device: smemkit.asarray(smemkit.ones(2, backend="sim"), device=device),
}


@pytest.mark.parametrize("device", [SIMULATOR, "sim", "sim:0"])
@pytest.mark.parametrize("name", MAKERS)
def test_arrays_are_made_there(name, device):
    array = MAKERS[name](device)
    assert array.device == SIMULATOR and array.shape == (2,)


def call_family(device):
    return smemkit.vector_add(np.ones(2, "float32"), np.ones(2, "float32"), device=device)


def call_family_of_arrays(device):
    array = smemkit.ones(2, backend="sim")
    return smemkit.vector_add(array, array, device=device)


def call_kernel(device):
    smemkit.RawKernel(SCALE, "twice")(1, 1, (np.ones(1, "uint32"),), device=device)


def call_kernel_of_arrays(device):
    array = smemkit.ones(1, "uint32", backend="sim")
    smemkit.RawKernel(SCALE, "twice")[1, 1](array, device=device)
    assert smemkit.asnumpy(array).tolist() == [2]


CALLS = {
    "Device": smemkit.Device,
    "device_info": smemkit.device_info,
    "family": call_family,
    "family of arrays": call_family_of_arrays,
    "histogram": lambda device: smemkit.histogram(np.ones(1, "float32"), 2, (0, 2), device=device),
    "gather": lambda device: smemkit.gather([1.0], [0], device=device),
    "kernel": call_kernel,
    "kernel of arrays": call_kernel_of_arrays,
    "get_global": lambda device: smemkit.RawModule(SCALE).get_global("factor", device=device),
}


OF_ARRAYS = {"family of arrays", "kernel of arrays"}


@pytest.mark.parametrize("device", [SIMULATOR, "sim", "sim:0"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_take_a_device(name, device):
    CALLS[name](device)


@pytest.mark.parametrize(
    ("device", "error", "said"),
    [
        (
            "sim:1",
            smemkit.ArgumentError,
            "no device 1 on the machine 'sim', which is one device, 0",
        ),
        (-1, smemkit.ArgumentError, "no device -1; they are numbered from 0"),
        (1 << 70, smemkit.ArgumentError, "no device 1180591620717411303424"),
        ("gpu", smemkit.ArgumentError, "device is 'gpu'; accepted are a number"),
        ("sim:", smemkit.ArgumentError, "device is 'sim:'"),
        ("cuda:-1", smemkit.ArgumentError, "device is 'cuda:-1'"),
        ("cuda:99999999999", smemkit.ArgumentError, "device is 'cuda:99999999999'"),
        (1.0, smemkit.ArgumentTypeError, "device is of the type float"),
        (False, smemkit.ArgumentTypeError, "device is of the type bool"),
    ],
)
@pytest.mark.parametrize("name", sorted({*MAKERS, *CALLS} - OF_ARRAYS))
def test_devices_that_cannot_be(name, device, error, said):
    with pytest.raises(error, match=said):
        (MAKERS | CALLS)[name](device)


@pytest.mark.parametrize(
    "attributes",
    [{"type": "cuda", "index": 99}, {"id": 99}, {"platform": "gpu", "id": 99}],
    ids=["PyTorch", "CuPy", "JAX"],
)
def test_devices_of_other_libraries(attributes):
    device = types.SimpleNamespace(**attributes)
    said = "looking for a GPU|no GPU support|no device 99"
    with pytest.raises((smemkit.BackendError, smemkit.ArgumentError), match=said):
        smemkit.zeros(2, device=device)
    array = smemkit.zeros(2, backend="sim")
    with pytest.raises(smemkit.ArgumentError, match="x lives on 'sim', and device is"):
        smemkit.vector_add(array, array, device=device)


@pytest.mark.parametrize(
    "attributes", [{"type": "cpu", "index": None}, {"platform": "cpu", "id": 0}, {"index": None}]
)
def test_what_is_no_gpu_of_another_library(attributes):
    with pytest.raises(smemkit.ArgumentTypeError, match="device is of the type .*SimpleNamespace"):
        smemkit.zeros(2, device=types.SimpleNamespace(**attributes))


def test_an_attribute_may_raise():
    class Broken:
        @property
        def index(self):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        smemkit.zeros(2, device=Broken())


@pytest.mark.parametrize("name", ["Device", "zeros", "family", "kernel"])
def test_the_simulator_is_one_device(name):
    call = (MAKERS | CALLS)[name]
    with smemkit.Device("sim"):
        call(0)
        call(np.int64(0))
        with pytest.raises(smemkit.ArgumentError, match="no device 1 on the machine 'sim'"):
            call(1)


def test_an_array_is_where_it_is():
    array = smemkit.ones(2, backend="sim")
    with pytest.raises(smemkit.ArgumentError, match="x lives on 'sim', and device is 1; leave"):
        smemkit.vector_add(array, array, device=1)
    with pytest.raises(smemkit.ArgumentError, match="an array lives on 'sim', and device is 1"):
        smemkit.RawKernel(SCALE, "twice")(1, 1, (array,), device=1)


def test_backend_and_device_disagree():
    said = "zeros: device is 'cuda:0', and backend is 'sim'"
    with pytest.raises(smemkit.ArgumentError, match=said):
        smemkit.zeros(2, backend="sim", device="cuda:0")
    with pytest.raises(smemkit.ArgumentError, match="device is 'cuda:0', and the call is for"):
        smemkit.RawKernel(SCALE, "twice")(
            1, 1, (np.ones(1, "uint32"),), backend="sim", device="cuda:0"
        )


def test_copies():
    array = smemkit.asarray(np.arange(6).reshape(2, 3), backend="sim")
    assert smemkit.asarray(array, device="sim") is array
    copied = array.T.copy(device="sim")
    assert (np.asarray(copied) == np.arange(6).reshape(2, 3).T).all()
    copied.fill(0)
    assert np.asarray(array).sum() == 15
    host = np.arange(3)
    assert not np.shares_memory(host, smemkit.from_dlpack(host, copy=True, device="sim"))
    assert np.shares_memory(host, smemkit.from_dlpack(host, copy=False, device="sim"))
    with pytest.raises(TypeError, match="positional"):
        array.copy("sim")


def test_blocks_choose_the_machine(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "cuda")  # what a call without a device would take
    with SIMULATOR as entered:
        assert entered is SIMULATOR
        with smemkit.Device("sim"), SIMULATOR:
            assert smemkit.zeros(2).device == SIMULATOR
        assert smemkit.get_backend() == "sim"
        assert smemkit.show_config("dict")["reason"] == "asked for by the block of a smemkit.Device"
        other = threading.Thread(target=lambda: backends.append(find_backend()))
        backends = []
        other.start()
        other.join()
    assert backends == [find_backend()]  # a block is of its thread alone
    with pytest.raises(KeyError), SIMULATOR:
        raise KeyError
    assert backends == [find_backend()]
    with pytest.raises(smemkit.ArgumentError, match="in no block of a device"):
        SIMULATOR.__exit__(None, None, None)


def find_backend():
    try:
        return smemkit.get_backend()
    except smemkit.BackendError as error:
        return str(error)


def test_threads_have_blocks_of_their_own():
    faults = []

    def work(count):
        try:
            for _ in range(count):
                with smemkit.Device("sim"):
                    x = smemkit.full(10, 3, "float32")
                    assert (smemkit.asnumpy(smemkit.vector_add(x, x.copy(device=0))) == 6).all()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(20,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
