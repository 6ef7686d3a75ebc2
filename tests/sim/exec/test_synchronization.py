"""Barriers and exchanges of lanes and warps: who counts, has exited, or may be elsewhere."""

import ctypes
import platform

import numpy as np
import pytest
from support.handmade import build, launch, load

import smemkit

OUT = ".param .u64 out"
HOPPER = ".version 8.0\n.target sm_90\n.address_size 64\n"
# %rd3: the thread's own word of out
BEGIN = """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
"""


def run(body, threads=32):
    out = np.full(threads, 77, np.uint32)
    launch(build(BEGIN + body, OUT), out, block=threads)
    return out


# Barriers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 40, 64, 65])
def test_a_barrier_counts_the_threads_that_there_are(threads):
    body = """
    setp.ne.u32 %p1, %r1, LEFT_OUT;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    bar.red.popc.u32 %r2, 0, %p1;
    selp.u32 %r3, 1000, 0, %p2;
    selp.u32 %r4, 2000, 0, %p3;
    add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;
    st.global.u32 [%rd3], %r2;"""
    assert (run(body.replace("LEFT_OUT", "9999"), threads) == 1000 + threads).all()
    for left_out in {0, threads - 1}:
        assert (run(body.replace("LEFT_OUT", str(left_out)), threads) == 2000 + threads - 1).all()


def test_a_barrier_counts_no_lanes_that_have_ended():
    body = """
    setp.lt.u32 %p1, %r1, 40;
    @!%p1 exit;
    setp.ge.u32 %p2, %r1, 0;
    bar.red.and.pred %p3, 0, %p2;
    selp.u32 %r2, 1, 0, %p3;
    st.global.u32 [%rd3], %r2;"""
    out = run(body, 64)
    assert (out[:40] == 1).all() and (out[40:] == 77).all()


def test_a_barrier_waits_for_no_lane_that_has_left_the_last_loop():
    """Each lane counts to its own number; the loop has a barrier, and the kernel ends behind it."""
    body = """
    mov.u32 %r2, 0;
AGAIN:
    bar.sync 0;
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd3], %r2;
    setp.le.u32 %p1, %r2, %r1;
    @%p1 bra AGAIN;
    BEHIND
    ret;"""
    assert (run(body.replace("BEHIND", ""), 64) == np.arange(1, 65)).all()
    with pytest.raises(smemkit.BarrierError, match="are on another path and wait at PTX line"):
        run(body.replace("BEHIND", "st.global.u32 [%rd3], %r1;"), 64)


def test_a_warp_of_one_thread_arrives_for_another():
    body = """
    .shared .align 4 .b32 word;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra WAIT;
    st.shared.u32 [word], 5;
    @%p1 bar.arrive 1, 64;          // nobody
    bar.arrive 1, 64;
    exit;
WAIT:
    @!%p1 bar.arrive 1, 64;
    bar.sync 1, 64;
    ld.shared.u32 %r2, [word];
    st.global.u32 [%rd3], %r2;"""
    assert run(body, 33).tolist() == [5] * 32 + [77]


HAND_OVER = """
    .shared .align 4 .b32 words[32];
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 31;
    shr.u32 %r3, %r1, 5;
    mov.u32 %r4, words;
    mad.lo.u32 %r4, %r2, 4, %r4;
    setp.eq.u32 %p1, %r3, {writer};
    setp.eq.u32 %p2, %r3, {reader};
    @%p1 bra WRITE;
    @%p2 bra READ;
    exit;
WRITE:
    st.shared.u32 [%r4], %r1;
    {arrive}
    exit;
READ:
    bar.sync 1, 64;
    ld.shared.u32 %r5, [%r4];"""


@pytest.mark.parametrize(("writer", "reader"), [(0, 1), (1, 0), (2, 5), (0, 31), (31, 0)])
def test_what_a_warp_wrote_before_it_arrived_is_known(writer, reader):
    """By the warp that waited, and by no other."""
    arrive = "bar.arrive 1, 64;"
    body = HAND_OVER.format(writer=writer, reader=reader, arrive=arrive)
    assert not load(build(body)).check(1, 1024, (), backend="sim").findings
    late = f"{arrive} st.shared.u32 [%r4], %r1;"
    body = HAND_OVER.format(writer=writer, reader=reader, arrive=late)
    (finding,) = load(build(body)).check(1, 1024, (), backend="sim").findings
    assert finding.kind == "race"


def test_the_clock_counts_steps():
    body = """
    mov.u64 %rd4, %clock64;
    mov.u32 %r2, 0;
TURN:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 200000;
    @%p1 bra TURN;
    mov.u64 %rd5, %clock64;
    sub.u64 %rd4, %rd5, %rd4;
    st.global.u32 [%rd3], %rd4;"""
    (passed,) = run(body, 1)
    assert passed == 2 + 3 * 200_000


WAIT = """
    mov.u64 %rd4, %clock64;
    mov.u64 %rd6, 0;
TURN:
    mov.u64 %rd5, %clock64;
    sub.u64 %rd5, %rd5, %rd4;
    add.u64 %rd6, %rd6, 1;WORK
    setp.lt.u64 %p1, %rd5, CLOCKS;
    @%p1 bra TURN;
    cvt.u32.u64 %r2, %rd5;
    setp.eq.u32 %p1, %r1, 0;
    @!%p1 cvt.u32.u64 %r2, %rd6;
    st.global.u32 [%rd3], %r2;"""


@pytest.mark.parametrize(
    ("clocks", "threads"), [(10, 32), (1000, 32), (2 * 10**9, 32), (10**6, 128)]
)
def test_a_wait_for_the_clock_ends_soon(clocks, threads):
    """After few turns, and no more than a quarter too late."""
    passed, turns = run(WAIT.replace("WORK", "").replace("CLOCKS", str(clocks)), threads)[:2]
    assert clocks <= passed <= 1.25 * clocks + 6 * threads
    assert turns < 100 and (clocks < 100 or turns > 10)


def test_work_beside_the_clock_takes_its_time():
    """What a loop loads may be what others write, as where it waits for them for some time only."""
    body = WAIT.replace("WORK", "ld.volatile.global.u32 %r3, [%rd1];").replace("CLOCKS", "60000")
    passed, turns = run(body)[:2]
    assert turns == 10_001 and 60_000 <= passed < 60_020


# Warps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["-1", "0x0000ffff"])
def test_a_warp_waits_for_no_lane_that_has_ended(mask):
    body = f"""
    setp.ge.u32 %p1, %r1, 16;
    @%p1 exit;
    bar.warp.sync {mask};
    st.global.u32 [%rd3], 1;"""
    assert (run(body) == np.where(np.arange(32) < 16, 1, 77)).all()


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8, 0xFFFFFFF0])
def test_one_lane_is_elected(mask):
    first = (mask & -mask).bit_length() - 1
    body = f"""
    mov.u32 %r2, 99;
    shl.b32 %r4, 1, %r1;
    and.b32 %r4, %r4, {mask};
    setp.eq.u32 %p2, %r4, 0;
    @%p2 exit;
    elect.sync %r2|%p1, {mask};
    selp.u32 %r3, 1000, 0, %p1;
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd3], %r2;"""
    out = np.full(32, 77, np.uint32)
    launch(build(BEGIN + body, OUT, header=HOPPER), out)
    named = np.array([mask >> lane & 1 for lane in range(32)], bool)
    expected = np.where(named, first, 77)
    expected[first] += 1000
    assert out.tolist() == expected.tolist()


TOGETHER = {
    "bar.warp.sync": "bar.warp.sync %r9;",
    "shfl": "shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r9;",
    "vote": "vote.sync.ballot.b32 %r2, %p7, %r9;",
    "match": "match.any.sync.b32 %r2, %r1, %r9;",
    "redux": "redux.sync.add.u32 %r2, %r1, %r9;",
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("lane", [0, 7, 31])
def test_a_lane_outside_its_own_mask_is_an_error(name, lane):
    """All lanes are here; one of them is not in the mask that it gives."""
    body = f"""
    setp.eq.u32 %p1, %r1, {lane};
    setp.ge.u32 %p7, %r1, 0;
    mov.u32 %r9, -1;
    @%p1 xor.b32 %r9, %r9, {1 << lane};
    {TOGETHER[name]}
    st.global.u32 [%rd3], 1;"""
    text = build(BEGIN + body, OUT).replace(".target sm_75", ".target sm_80")
    with pytest.raises(smemkit.BarrierError, match=rf"lane {lane}, which is not in it") as caught:
        launch(text, np.zeros(32, np.uint32))
    assert tuple(caught.value.thread) == (lane, 0, 0)


@pytest.mark.parametrize("name", TOGETHER)
def test_lanes_in_their_own_mask_are_no_error(name):
    """Two halves, each with its mask, at one instruction."""
    body = f"""
    setp.ge.u32 %p1, %r1, 16;
    setp.ge.u32 %p7, %r1, 0;
    mov.u32 %r9, 0x0000ffff;
    @%p1 mov.u32 %r9, 0xffff0000;
    {TOGETHER[name]}
    st.global.u32 [%rd3], 1;"""
    out = np.zeros(32, np.uint32)
    launch(build(BEGIN + body, OUT).replace(".target sm_75", ".target sm_80"), out)
    assert (out == 1).all()


# Floats ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fence", ["", "membar.gl;"])
@pytest.mark.parametrize("word", ["atom", "red"])
def test_a_global_atomic_flushes_subnormals(fence, word):
    """As the hardware's does; a fence makes blocks run in order, on a path of its own."""
    add = (
        "atom.global.add.f32 %f2, [%rd1], %f1;"
        if word == "atom"
        else "red.global.add.f32 [%rd1], %f1;"
    )
    body = f"""
    ld.param.u64 %rd1, [word];
    {fence}
    mov.b32 %f1, 0x00000003;
    {add}"""
    for start, expected in ((0x00000005, 0), (0x80000005, 0), (0x3F800000, 0x3F800000)):
        data = np.array([start], np.uint32)
        launch(build(body, ".param .u64 word"), data, block=1)
        assert data[0] & 0x7FFFFFFF == expected


def test_a_shared_atomic_keeps_subnormals():
    body = """
    mov.b32 %f1, 0x00000003;
    st.shared.f32 [tile], %f1;
    atom.shared.add.f32 %f2, [tile], %f1;
    ld.shared.f32 %f3, [tile];
    st.global.f32 [%rd3], %f3;"""
    out = np.zeros(1, np.uint32)
    launch(build(BEGIN + body, OUT, before=".shared .align 4 .b8 tile[4];"), out, block=1)
    assert out[0] == 6


ROUND_UP = 0x800  # FE_UPWARD of x86-64


@pytest.mark.skipif(platform.machine() != "x86_64", reason="FE_UPWARD of x86-64")
@pytest.mark.parametrize("blocks", [1, 8])
@pytest.mark.parametrize("fence", ["", "membar.gl;"])
def test_the_rounding_mode_of_the_host_is_its_own(fence, blocks):
    """A launch rounds to nearest whatever the mode is, and leaves it as it was."""
    body = f"""
    ld.param.u64 %rd1, [out];
    {fence}
    mov.b32 %f1, 0x3f800000;
    mov.b32 %f2, 0x33000000;
    add.rn.f32 %f3, %f1, %f2;
    st.global.f32 [%rd1], %f3;"""
    libm = ctypes.CDLL("libm.so.6")
    out = np.zeros(1, np.uint32)
    text = build(body, OUT)
    before = libm.fegetround()
    try:
        assert libm.fesetround(ROUND_UP) == 0
        launch(text, out, grid=blocks, block=1)
        after = libm.fegetround()
    finally:
        libm.fesetround(before)
    assert out[0] == 0x3F800000
    assert after == ROUND_UP
