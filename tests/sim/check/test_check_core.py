"""check's core: findings do not depend on luck, on host threads, or on which allocation fails."""

import numpy as np
import pytest

import smemkit

PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry neighbours(.param .u64 data, .param .u64 out)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 128, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    shl.b32 %r4, %r1, 2;
    mov.u32 %r5, tile;
    add.u32 %r6, %r5, %r4;
    st.shared.f32 [%r6], %f1;
    BARRIER
    xor.b32 %r7, %r4, 128;
    add.u32 %r7, %r5, %r7;
    ld.shared.f32 %f2, [%r7];
    st.global.f32 [%rd5], %f2;
    ret;
}
"""


def check_neighbours(barrier, blocks=16):
    kernel = smemkit.RawModule(PTX.replace("BARRIER", barrier), backend="sim").get_function(
        "neighbours"
    )
    data = np.arange(blocks * 128, dtype=np.float32)
    out = np.zeros_like(data)
    return kernel.check((blocks,), (128,), (data, out), backend="sim")


def test_a_barrier_orders():
    report = check_neighbours("bar.sync 0;")
    assert bool(report)
    assert not report.findings


def test_a_missing_barrier_is_one_race_with_a_count():
    report = check_neighbours("")
    assert not report
    assert [finding.kind for finding in report.findings] == ["race"]
    finding = report.findings[0]
    assert finding.count == 16 * 128
    assert {finding.first.op, finding.second.op} == {"store", "load"}
    assert finding.first.variable.startswith("tile, byte ")
    assert tuple(finding.first.block) == (0, 0, 0)


def test_a_meeting_of_warps_in_themselves_is_not_enough():
    assert {f.kind for f in check_neighbours("bar.warp.sync 0xffffffff;").findings} == {"race"}


@pytest.mark.parametrize("barrier", ["", "bar.sync 0;"])
def test_the_same_again_and_again(barrier):
    reports = [check_neighbours(barrier) for _ in range(5)]
    messages = [[(f.kind, f.message, f.count) for f in report.findings] for report in reports]
    assert all(message == messages[0] for message in messages)


def test_each_allocation_may_fail():
    try:
        for n in range(1, 400):
            smemkit._core._fail_after(n)
            try:
                report = check_neighbours("", blocks=2)
            except MemoryError:
                continue
            finally:
                smemkit._core._fail_after(0)
            assert len(report.findings) == 1
    finally:
        smemkit._core._fail_after(0)


@pytest.mark.parametrize(
    ("instruction", "op"),
    [
        ("bar.sync 0;", "barrier"),
        ("bar.warp.sync 0xffffffff;", "barrier"),
        ("shfl.sync.idx.b32 %r8, %r1, 0, 31, 0xffffffff;", "shfl"),
        ("vote.sync.ballot.b32 %r8, %p1, 0xffffffff;", "vote"),
    ],
)
def test_what_the_other_lanes_do_is_no_barrier(instruction, op):
    body = f"setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra JOIN;\n{instruction}\nJOIN:"
    text = PTX.replace("BARRIER", body).replace("%r<8>;", "%r<9>;\n.reg .pred %p<2>;")
    kernel = smemkit.RawModule(text, backend="sim").get_function("neighbours")
    data = np.zeros(32, np.float32)
    report = kernel.check(1, 32, (data, np.zeros_like(data)), backend="sim")
    (finding,) = [finding for finding in report.findings if finding.kind == "barrier"]
    lines = text.split("\n")
    join = lines.index("JOIN:") + 2
    assert (finding.first.op, finding.first.ptx) == (op, instruction)
    assert (finding.second.op, finding.second.ptx_line) == ("wait", join)
    first, second = str(finding.first), str(finding.second)
    assert f"{op} by thread (" in first
    assert "waits here for the other lanes" in second and "barrier" not in second
    assert f"are on another path and wait at PTX line {join}" in finding.message


def test_a_trap_is_an_error():
    with pytest.raises(smemkit.TrapError):
        check_neighbours("bar.sync 0;\ntrap;")


# Barriers that a compiler has made of one ---------------------------------------------------------

PARTED = """
.version 7.0
.target sm_70DEBUG
.address_size 64
.file 1 "a.cu"
.func meet()
{
    .loc 1 2 5
    bar.sync 0;
    ret;
}
.visible .entry parted()
{
    .reg .b32 %r<2>;
    .reg .pred %p<2>;
    .loc BRANCH
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra OTHER;
    .loc FIRST
    MEET;
    bra.uni JOIN;
OTHER:
    .loc SECOND
    MEET;
JOIN:
    ret;
}
"""
IN_4 = ", function_name $name, inlined_at 1 4 1"
IN_5 = ", function_name $name, inlined_at 1 5 1"


@pytest.mark.parametrize("meet", ["bar.sync 0", "call.uni meet"])
@pytest.mark.parametrize(
    ("branch", "first", "second", "found"),
    [
        ("1 8 1", "1 9 5", "1 9 5", False),  # what stands behind the branch, copied to its sides
        ("1 9 1", "1 9 5", "1 9 5", True),  # one line has it all
        ("1 8 1", "1 9 5", "1 9 9", True),
        ("1 8 1", "1 9 5", "1 10 5", True),
        ("1 8 1", "1 9 5" + IN_4, "1 9 5" + IN_4, False),
        ("1 4 1", "1 9 5" + IN_4, "1 9 5" + IN_4, True),
        ("1 8 1", "1 9 5" + IN_4, "1 9 5" + IN_5, True),
        ("1 9 3" + IN_4, "1 9 5" + IN_4, "1 9 5" + IN_4, True),
        ("1 9 3" + IN_5, "1 9 5" + IN_4, "1 9 5" + IN_4, False),
    ],
)
def test_barriers_of_one_place(meet, branch, first, second, found):
    text = PARTED.replace("MEET", meet).replace("DEBUG", "")
    text = text.replace("BRANCH", branch).replace("FIRST", first).replace("SECOND", second)
    text += ".section .debug_str\n{\n$name:\n.b8 0\n}\n" if "$name" in text else ""
    kernel = smemkit.RawModule(text, backend="sim").get_function("parted")
    report = kernel.check(1, 64, (), backend="sim")
    assert [finding.kind for finding in report.findings] == ["barrier"] * found
    for finding in report.findings:
        lines = text.split("\n")
        ptx = sorted([finding.first.ptx_line, finding.second.ptx_line])
        assert [lines[line - 1].strip() for line in ptx] == [f"{meet};"] * 2
        assert ptx[0] < ptx[1]
    assert kernel.check(1, 32, (), backend="sim")


def test_barriers_of_code_that_was_not_optimised_are_those_of_the_source():
    text = (
        PARTED.replace("MEET", "bar.sync 0").replace("DEBUG", ", debug").replace("BRANCH", "1 8 1")
    )
    text = text.replace("FIRST", "1 2 5").replace("SECOND", "1 2 5")
    kernel = smemkit.RawModule(text, backend="sim").get_function("parted")
    (finding,) = kernel.check(1, 64, (), backend="sim").findings
    assert "different barriers of a.cu:2: some at PTX line" in finding.message


DIVERGENT = """
.version 7.0
.target sm_70
.address_size 64
.file 1 "two.cu"
.visible .entry two()
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra other;
    .loc 1 7 0
    bar.sync 0;
    ret;
other:
    .loc 1 9 0
    bar.sync 0;
    ret;
}
"""


def test_warps_at_two_barriers_are_told_so():
    kernel = smemkit.RawModule(DIVERGENT, backend="sim").get_function("two")
    (finding,) = kernel.check((1,), (64,), (), backend="sim").findings
    assert finding.kind == "barrier"
    assert finding.message.startswith("Warps of one block meet at different barriers: some at ")
    assert "two.cu:7" in finding.message and "two.cu:9" in finding.message
