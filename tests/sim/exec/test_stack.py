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


@pytest.mark.parametrize("independent", [False, True])
def test_lanes_have_tops_of_their_own(independent):
    """A path of some lanes takes memory and gives it back a thousand times."""
    body = LOOP.replace("SAVE", "stacksave.u64 %rd3;").replace("RESTORE", "stackrestore.u64 %rd3;")
    first = "setp.lt.u32 %p2, %r1, 5;\n@%p2 bra DONE;"
    got = run(first + body + "DONE:", independent=independent)
    assert got.tolist() == [0] * 5 + [1] * 27


PATHS = """
    stacksave.u64 %rd3;
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra SHORT;
    alloca.u64 %rd4, 256;
    bra JOINED;
SHORT:
    alloca.u64 %rd4, 64;
JOINED:
    stacksave.u64 %rd5;
    st.local.u32 [%rd4], %r1;
    alloca.u64 %rd6, 32;
    st.local.u64 [%rd6], -1;
    stacksave.u64 %rd7;
    ld.local.u32 %r2, [%rd4];
    sub.u64 %rd8, %rd5, %rd3;
    sub.u64 %rd9, %rd7, %rd5;
    mad.wide.u32 %rd8, %r2, 65536, %rd8;
    shl.b64 %rd9, %rd9, 40;
    add.u64 %rd8, %rd8, %rd9;
    @!%p1 bra KEPT;
    stackrestore.u64 %rd3;
KEPT:
    stacksave.u64 %rd5;
    sub.u64 %rd5, %rd7, %rd5;
    shl.b64 %rd5, %rd5, 48;
    add.u64 %rd8, %rd8, %rd5;
    st.global.u64 [%rd1], %rd8;"""


def test_paths_take_what_they_ask_for():
    """64 or 256 bytes by path, then 32; a stack of 96 bytes is given back. So on an H200."""
    taken = [64 if lane < 8 else 256 for lane in range(32)]
    expected = [
        (0 if lane >= 8 else 96) << 48 | 32 << 40 | lane << 16 | size
        for lane, size in enumerate(taken)
    ]
    assert run(PATHS).tolist() == expected


SOME = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra A;\n"
TOPS = {
    "small": ("alloca.u64 %rd4, 1; ! alloca.u64 %rd4, 9; ! alloca.u64 %rd4, 17; !", [8, 24, 48]),
    "nothing": ("alloca.u64 %rd4, 0; ! alloca.u64 %rd4, 8; !", [0, 8]),
    "by lane": (
        "mul.lo.u32 %r2, %r1, 12; cvt.u64.u32 %rd4, %r2; alloca.u64 %rd4, %rd4; !",
        [lambda lane: (12 * lane + 7) // 8 * 8],
    ),
    "one path": (
        f"{SOME} alloca.u64 %rd4, 64; A: ! alloca.u64 %rd4, 32; !",
        [lambda lane: 0 if lane < 8 else 64, lambda lane: 32 if lane < 8 else 96],
    ),
    "restored on one path": (
        f"alloca.u64 %rd4, 64; {SOME} stackrestore.u64 %rd3; alloca.u64 %rd4, 16; bra B;\n"
        "A: alloca.u64 %rd4, 128;\nB: !",
        [lambda lane: 192 if lane < 8 else 16],
    ),
    "loop": (
        "mov.u32 %r3, 0; and.b32 %r4, %r1, 3;\nL: alloca.u64 %rd4, 32; add.u32 %r3, %r3, 1;"
        "setp.le.u32 %p2, %r3, %r4;\n@%p2 bra L; !",
        [lambda lane: 32 * (lane % 4 + 1)],
    ),
}


@pytest.mark.parametrize("name", TOPS)
def test_how_far_the_stack_reaches(name):
    """Distances that an H200 has too, whose stack grows down."""
    body, wanted = TOPS[name]
    for shift in range(len(wanted)):
        take = f"stacksave.u64 %rd5; sub.u64 %rd5, %rd5, %rd3; shl.b64 %rd5, %rd5, {16 * shift};"
        body = body.replace("!", f"{take} add.u64 %rd6, %rd6, %rd5;", 1)
    got = run(f"stacksave.u64 %rd3; mov.u64 %rd6, 0;\n{body}\nst.global.u64 [%rd1], %rd6;")
    for lane, value in enumerate(got.tolist()):
        reaches = [value >> 16 * i & 0xFFFF for i in range(len(wanted))]
        assert reaches == [each(lane) if callable(each) else each for each in wanted]


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
