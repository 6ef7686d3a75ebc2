"""The function that notes a failed assertion (csrc/gpu/assertion.c): its PTX, on the simulator."""

import ctypes

import numpy as np
import pytest
from programs import regenerate
from support.fake_runtime import build

import smemkit
from smemkit import compile

TEXTS = {"condition": 32, "file": 32 + 256, "function": 32 + 512}


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    made = build(tmp_path_factory)
    made.smk_assertion_rewrite.restype = ctypes.c_void_p
    return made


def rewrite(gpu, image):
    address = gpu.smk_assertion_rewrite(image)
    if address is None:
        return None
    text = ctypes.string_at(address).decode()
    gpu.smk_heap_free(ctypes.c_void_p(address))
    return text


@pytest.mark.parametrize("mode", regenerate.MODES)
def test_the_first_thread_that_fails_is_noted(gpu, mode):
    text = rewrite(gpu, regenerate.load_ptx("assertion", mode).encode())
    module = smemkit.RawModule(text, backend="sim")
    kernel = module.get_function("assertion")
    record = smemkit.zeros(800, "uint8", backend="sim")
    good = np.arange(64, dtype=np.int32)
    out = np.zeros_like(good)
    kernel(2, 32, (good, out))
    assert (out == 2 * good).all() and not smemkit.asnumpy(record).any()
    faulty = good.copy()
    faulty[37:40] = -1
    with pytest.raises(smemkit.KernelAssertionError):
        kernel(2, 32, (faulty, out))  # nobody has said where to write
    assert not smemkit.asnumpy(record).any()
    module.get_global("smk_assertion_address", "uint64").fill(find_address(record))
    with pytest.raises(smemkit.KernelAssertionError) as caught:
        kernel(2, 32, (faulty, out))
    noted = smemkit.asnumpy(record)
    words = noted[:32].view("uint32").tolist()
    assert words == [1, 9, 1, 0, 0, 5, 0, 0], "written, line, block, thread"
    found = {name: noted[at:].tobytes().partition(b"\0")[0].decode() for name, at in TEXTS.items()}
    assert found["condition"] == "in[i] >= 0" and found["file"].endswith("assertion.cu")
    assert "assertion" in found["function"]
    assert found["condition"] in str(caught.value)


def find_address(d):
    """That of a simulator's array, as a kernel sees it."""
    seen = np.zeros(1, "uint64")
    text = """.version 7.0
.target sm_75
.address_size 64
.visible .entry tell(.param .u64 of, .param .u64 to)
{
    .reg .u64 %rd<3>;
    ld.param.u64 %rd1, [of];
    ld.param.u64 %rd2, [to];
    st.global.u64 [%rd2], %rd1;
    ret;
}
"""
    there = smemkit.asarray(seen, backend="sim")
    smemkit.RawKernel(text, "tell")(1, 1, (d, there))
    return int(smemkit.asnumpy(there)[0])


def test_what_is_loaded_as_it_is(gpu):
    assert rewrite(gpu, regenerate.load_ptx("print", "O3").encode()) is None
    text = regenerate.load_ptx("assertion", "O3").encode()
    assert rewrite(gpu, b"\x50\xed\x55\xba" + text) is None, "machine code"
    assert rewrite(gpu, rewrite(gpu, text).encode()) is None, "it was rewritten before"


@pytest.mark.skipif(compile.find_ptxas() is None, reason="no ptxas here")
@pytest.mark.parametrize("mode", regenerate.MODES)
def test_the_assembler_takes_it(gpu, mode, tmp_path):
    text = rewrite(gpu, regenerate.load_ptx("assertion", mode).encode())
    compile.assemble_usage(compile.find_ptxas(), text, "90")
