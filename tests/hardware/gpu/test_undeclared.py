"""Kernels whose PTX our parser refuses: the GPU knows the number and the sizes of parameters."""

import numpy as np
import pytest

import smemkit

# The simulator takes no masks of addresses. The kernels do not read these bytes.
PTX = """
.version 7.8
.target sm_75
.address_size 64

.global .u32 word;
.global .u8 low[1] = {0xff(word)};

.visible .entry store(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    mov.u32 %r1, 1;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}

.visible .entry nothing()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 1;
    ret;
}

.visible .entry mixed(.param .u64 to, .param .f32 a, .param .f64 b, .param .align 4 .b8 c[12],
                      .param .u16 d)
{
    .reg .b16 %h<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, 1;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u32 %r1, [a];
    st.global.u32 [%rd2], %r1;
    ld.param.u64 %rd3, [b];
    st.global.u64 [%rd2+8], %rd3;
    ld.param.u32 %r2, [c];
    ld.param.u32 %r3, [c+4];
    ld.param.u32 %r4, [c+8];
    st.global.u32 [%rd2+16], %r2;
    st.global.u32 [%rd2+20], %r3;
    st.global.u32 [%rd2+24], %r4;
    ld.param.u16 %h1, [d];
    st.global.u16 [%rd2+28], %h1;
    ret;
}
"""


@pytest.fixture(scope="module")
def module(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")
    made = smemkit.RawModule(PTX, backend="cuda")
    assert not made.get_function("store").attributes["parameters"]  # else this file says nothing
    return made


@pytest.fixture
def out():
    return smemkit.asarray(np.zeros(4, np.uint32), backend="cuda")


def test_values_of_the_right_size(module, out):
    store = module.get_function("store")
    for value in (7, -1, True, np.uint32(9), np.int64(11), b"\x01\x02\x03\x04"):
        store(1, 1, (out, value))
        bits = value if isinstance(value, bytes) else np.int64(value).tobytes()[:4]
        assert smemkit.asnumpy(out)[0] == np.frombuffer(bits, np.uint32)[0]
    store(
        1, 1, (out, 1.5)
    )  # of what 4 bytes mean the kernel alone knows: a float is one of 4 bytes
    assert smemkit.asnumpy(out).view(np.float32)[0] == 1.5
    host = np.zeros(4, np.uint32)
    store(1, 1, [host, 5])
    assert host.tolist() == [5, 0, 0, 0]
    module.get_function("nothing")(1, 1, ())


def test_a_float_and_an_int_take_the_size_of_theirs(module):
    out = smemkit.asarray(np.zeros(32, np.uint8), backend="cuda")
    module.get_function("mixed")(1, 1, (out, 1.25, 2.5, b"abcdefghijkl", 65535))
    got = smemkit.asnumpy(out)
    assert got[:4].view(np.float32)[0] == 1.25
    assert got[8:16].view(np.float64)[0] == 2.5
    assert got[16:28].tobytes() == b"abcdefghijkl"
    assert got[28:30].view(np.uint16)[0] == 65535


@pytest.mark.parametrize("extra", [(), (1, 2), (1, 2, 3), (1,) * 40])
def test_too_few_and_too_many(module, out, extra):
    """Too few were read from beyond the list; too many were not looked at."""
    said = f"store takes 2 arguments, args has {1 + len(extra)}"
    with pytest.raises(smemkit.ArgumentTypeError, match=said):
        module.get_function("store")(1, 1, (out, *extra))
    with pytest.raises(smemkit.ArgumentTypeError, match="takes 2 arguments, args has 0"):
        module.get_function("store")(1, 1, ())
    with pytest.raises(smemkit.ArgumentTypeError, match="nothing takes 0 arguments, args has 1"):
        module.get_function("nothing")(1, 1, (out,))


@pytest.mark.parametrize(
    ("value", "kind", "match"),
    [
        (2**40, smemkit.ArgumentError, "takes -2147483648 to 4294967295"),
        (np.float64(1.5), smemkit.ArgumentError, "takes 4 bytes, the argument has 8"),
        (b"123", smemkit.ArgumentError, "takes 4 bytes, the argument has 3"),
        (1e300, smemkit.ArgumentError, "does not hold 1e.300"),
        ("text", smemkit.ArgumentTypeError, "an integer of 32 bits"),
        (np.zeros(3, np.uint32), smemkit.ArgumentTypeError, "not a pointer"),
    ],
)
def test_another_size(module, value, kind, match):
    with pytest.raises(kind, match=match):
        module.get_function("store")(1, 1, (np.zeros(4, np.uint32), value))
    with pytest.raises(smemkit.ArgumentTypeError, match="not a pointer"):
        module.get_function("store")(1, 1, (7, smemkit.asarray(np.zeros(4), backend="cuda")))


def test_the_simulator_refuses_it_all_the_same(module):
    with pytest.raises(smemkit.UnsupportedError, match="masks"):
        module.get_function("store")(1, 1, (np.zeros(4, np.uint32), 1), backend="sim")
