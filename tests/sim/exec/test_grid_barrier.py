"""Blocks that wait for each other: grid.sync() of a cooperative launch."""

import numpy as np
import pytest

import smemkit

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 scratch, .param .u32 rounds)
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [scratch]; ld.param.u32 %r20, [rounds];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x;
mad.lo.u32 %r5, %r2, %r3, %r1;
mul.lo.u32 %r6, %r3, %r4;
mad.wide.u32 %rd3, %r5, 4, %rd1;
mad.wide.u32 %rd4, %r5, 4, %rd2;
"""
# What this_grid().sync() is: a word counts arrivals; block 0 adds what flips its highest bit.
SYNC = """
mov.u32 %r10, %envreg2; mov.u32 %r11, %envreg1;
mov.b64 %rd8, {%r10, %r11};
setp.ne.s64 %p1, %rd8, 0;
@%p1 bra VALID;
trap;
VALID:
barrier.sync 0;
setp.ne.u32 %p2, %r1, 0;
@%p2 bra WAITED;
setp.eq.u32 %p3, %r2, 0;
mov.u32 %r12, -2147483647;
sub.u32 %r12, %r12, %r4;
selp.b32 %r12, %r12, 1, %p3;
atom.add.release.gpu.u32 %r13, [%rd8+4], %r12;
SPIN:
ld.acquire.gpu.u32 %r14, [%rd8+4];
xor.b32 %r14, %r14, %r13;
setp.gt.s32 %p4, %r14, -1;
@%p4 bra SPIN;
WAITED:
barrier.sync 0;
"""


def rename(text, i):
    for label in ("VALID", "SPIN", "WAITED"):
        text = text.replace(label, f"{label}{i}")
    return text


# Each thread adds its neighbour's value, over and over; neighbours are in other blocks, too.
SUMS = (
    HEAD
    + "ld.global.u32 %r7, [%rd3];\nmov.u32 %r21, 0;\n"
    + "add.u32 %r8, %r5, 1;\nsetp.ge.u32 %p5, %r8, %r6;\n@%p5 sub.u32 %r8, %r8, %r6;\n"
    + "mad.wide.u32 %rd5, %r8, 4, %rd2;\nLOOP:\nst.global.u32 [%rd4], %r7;\n"
    + rename(SYNC, 0)
    + "ld.global.u32 %r9, [%rd5];\nadd.u32 %r7, %r7, %r9;\n"
    + rename(SYNC, 1)
    + "add.u32 %r21, %r21, 1;\nsetp.lt.u32 %p6, %r21, %r20;\n@%p6 bra LOOP;\n"
    + "st.global.u32 [%rd3], %r7;\nret;\n}\n"
)


def make(text, machine, cooperative=True):
    module = smemkit.RawModule(text, backend=machine, enable_cooperative_groups=cooperative)
    return module.get_function("k")


@pytest.mark.parametrize(
    ("grid", "block", "rounds"), [(1, 64, 2), (2, 32, 7), (40, 64, 3), (132, 96, 2)]
)
def test_sums_over_blocks(grid, block, rounds, machine):
    values = np.arange(grid * block, dtype=np.uint32)
    out, expected = values.copy(), values
    make(SUMS, machine)(grid, block, (out, np.zeros_like(out), np.uint32(rounds)), backend=machine)
    for _ in range(rounds):
        expected = expected + np.roll(expected, -1)
    np.testing.assert_array_equal(out, expected)


def test_counted_and_checked():
    """All blocks are run, also where fewer are asked for; waiting orders what they do."""
    arrays = np.ones(20 * 32, np.uint32), np.zeros(20 * 32, np.uint32)
    kernel = make(SUMS, "sim")
    report = smemkit.check(kernel, 20, 32, (*arrays, np.uint32(2)), blocks=3)
    assert report.findings == []
    counters = smemkit.profile(kernel, 20, 32, (*arrays, np.uint32(2)), blocks=3).counters
    assert counters["barrier.count"] == 20 * 2 * 2 * 2


def test_without_the_barrier_there_is_a_race():
    text = SUMS.replace(rename(SYNC, 0), "")
    arrays = np.ones(4 * 32, np.uint32), np.zeros(4 * 32, np.uint32)
    report = smemkit.check(make(text, "sim"), 4, 32, (*arrays, np.uint32(1)))
    assert "global_race" in [finding.kind for finding in report.findings]


def test_launches_that_are_not_cooperative_say_so():
    arrays = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    with pytest.raises(
        smemkit.TrapError, match="needs a cooperative launch.*LaunchCooperative.*enable_coop"
    ):
        make(SUMS, "sim", False)(1, 32, (*arrays, np.uint32(1)))


def test_all_blocks_must_be_there_at_once(monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "10")
    arrays = np.ones(24 * 1024, np.uint32), np.zeros(24 * 1024, np.uint32)
    kernel = make(SUMS, "sim")
    kernel(20, 1024, (*arrays, np.uint32(1)))
    with pytest.raises(smemkit.LaunchError, match="21 blocks.*holds 20, 2 on each of its 10 multi"):
        kernel(21, 1024, (*arrays, np.uint32(1)))
    with pytest.raises(smemkit.LaunchError, match="holds 10, 1 on each"):
        kernel(11, 32, (*arrays, np.uint32(1)), shared_mem=200_000)


def test_a_block_that_never_arrives():
    text = SUMS.replace("LOOP:", "setp.eq.u32 %p7, %r2, 1;\n@%p7 exit;\nLOOP:", 1)
    arrays = np.ones(3 * 32, np.uint32), np.zeros(3 * 32, np.uint32)
    with pytest.raises(smemkit.ExecutionError):
        make(text, "sim")(3, 32, (*arrays, np.uint32(1)))


def test_other_environment_registers_are_zero():
    """A GPU's driver may leave anything there."""
    body = "mov.u32 %r10, %envreg0;\nmov.u32 %r11, %envreg31;\nadd.u32 %r10, %r10, %r11;\n"
    out = np.full(1, 5, np.uint32)
    text = HEAD + body + "st.global.u32 [%rd1], %r10;\nret;\n}\n"
    make(text, "sim", False)(1, 1, (out, out, np.uint32(0)))
    assert out[0] == 0
    with pytest.raises(smemkit.PtxError, match="%envreg32"):
        make(text.replace("envreg31", "envreg32"), "sim")
