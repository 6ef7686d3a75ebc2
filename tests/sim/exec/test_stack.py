"""alloca, stacksave and stackrestore: memory of a thread that lasts until the function returns."""

import numpy as np
import pytest
from support.handmade import build, launch

import smemkit

HEADER = ".version 7.3\n.target sm_80\n.address_size 64\n"
START = """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.u64 %rd1, %rd1, %rd2;"""


def run(body, *, before="", lanes=32, **options):
    out = np.zeros(lanes, np.uint64)
    launch(
        build(START + body, ".param .u64 out", header=HEADER, before=before),
        out,
        block=lanes,
        **options,
    )
    return out


def test_arrays_of_a_length_of_their_own():
    """Each thread fills lane + 1 words and adds them up, by a local and by a generic address."""
    body = """
    add.u32 %r2, %r1, 1;
    mul.wide.u32 %rd3, %r2, 4;
    alloca.u64 %rd4, %rd3;
    cvta.local.u64 %rd5, %rd4;
    mov.u32 %r3, 0;
    mov.u32 %r5, 0;
FILL:
    mad.wide.u32 %rd6, %r3, 4, %rd4;
    st.local.u32 [%rd6], %r3;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, %r2;
    @%p1 bra FILL;
SUM:
    sub.u32 %r3, %r3, 1;
    mad.wide.u32 %rd6, %r3, 4, %rd5;
    ld.u32 %r4, [%rd6];
    add.u32 %r5, %r5, %r4;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra SUM;
    cvt.u64.u32 %rd7, %r5;
    st.global.u64 [%rd1], %rd7;"""
    assert run(body).tolist() == [lane * (lane + 1) // 2 for lane in range(32)]


@pytest.mark.parametrize("bits", [32, 64])
def test_alignment_and_order(bits):
    """Pieces do not overlap, and begin at multiples of what is asked for (8 by default)."""
    a, b, c = (f"%{'r' if bits == 32 else 'rd'}{i}" for i in (5, 6, 7))
    widen = "\n".join(f"cvt.u64.u32 %rd{i}, %r{i};" for i in (5, 6, 7)) if bits == 32 else ""
    body = f"""
    alloca.u{bits} {a}, 5;
    alloca.u{bits} {b}, 40, 64;
    alloca.u{bits} {c}, 8;
    {widen}
    and.b64 %rd8, %rd5, 7;
    and.b64 %rd9, %rd6, 63;
    or.b64 %rd8, %rd8, %rd9;
    sub.u64 %rd10, %rd6, %rd5;
    sub.u64 %rd11, %rd7, %rd6;
    min.u64 %rd10, %rd10, 1000;
    min.u64 %rd11, %rd11, 1000;
    shl.b64 %rd10, %rd10, 16;
    shl.b64 %rd11, %rd11, 32;
    or.b64 %rd8, %rd8, %rd10;
    or.b64 %rd8, %rd8, %rd11;
    st.global.u64 [%rd1], %rd8;"""
    value = int(run(body)[7])
    assert value & 0xFFFF == 0 and 5 <= value >> 16 & 0xFFFF < 1000 and 40 <= value >> 32 < 1000


LOOP = """
    mov.u32 %r3, 0;
AGAIN:
    SAVE
    alloca.u64 %rd4, 4096;
    st.local.u64 [%rd4+4088], %rd1;
    RESTORE
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 1000;
    @%p1 bra AGAIN;
    st.global.u64 [%rd1], 1;"""


def test_what_is_restored_is_free_again():
    body = LOOP.replace("SAVE", "stacksave.u64 %rd3;").replace("RESTORE", "stackrestore.u64 %rd3;")
    assert run(body).tolist() == [1] * 32
    with pytest.raises(smemkit.Error, match="alloca of 4096 bytes: the thread has .* in use"):
        run(LOOP.replace("SAVE", "").replace("RESTORE", ""))


CALLEE = """
.func take(.param .b64 bytes)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [bytes];
    alloca.u64 %rd2, %rd1;
    st.local.u8 [%rd2], %rd1;
    ret;
}
"""
CALL = """
    mov.u32 %r3, 0;
    alloca.u64 %rd4, 8;
    st.local.u64 [%rd4], %rd2;
AGAIN:
    {
    .param .b64 bytes;
    st.param.b64 [bytes], 4096;
    call.uni take, (bytes);
    }
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 1000;
    @%p1 bra AGAIN;
    ld.local.u64 %rd5, [%rd4];
    st.global.u64 [%rd1], %rd5;"""


def test_a_return_gives_memory_back():
    assert run(CALL, before=CALLEE).tolist() == [8 * lane for lane in range(32)]


def test_lanes_on_different_paths():
    """What one path takes stays apart from what the other holds."""
    body = """
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 1;
    @%p1 bra ODD;
    stacksave.u64 %rd6;
    alloca.u64 %rd4, 64;
    st.local.u64 [%rd4], %rd2;
    stackrestore.u64 %rd6;
    bra.uni DONE;
ODD:
    alloca.u64 %rd4, 32;
    st.local.u64 [%rd4], %rd2;
DONE:
    ld.local.u64 %rd5, [%rd4];
    st.global.u64 [%rd1], %rd5;"""
    assert run(body).tolist() == [8 * lane for lane in range(32)]


def test_an_access_past_the_end():
    body = "\nalloca.u64 %rd4, 16;\nst.local.u64 [%rd4+4096], %rd1;"
    with pytest.raises(smemkit.OutOfBoundsError, match="local"):
        run(body)


def test_check_finds_nothing_in_it():
    text = build(START + CALL, ".param .u64 out", header=HEADER, before=CALLEE)
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    assert smemkit.check(kernel, 1, 32, (np.zeros(32, np.uint64),)).findings == []
