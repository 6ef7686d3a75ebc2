"""An instruction under a guard: it is executed by the lanes whose guard holds, and by no other."""

import numpy as np
import pytest

import smemkit

LANES = 32
UNTOUCHED = 0x1234ABCD

# Instructions that exchange between lanes, count them, or give each the same: d is %r1, p is %q1.
# M is the mask of the lanes whose guard holds, %r9 a value of the lane's own, %r8 one of few
# values, %q8 a predicate of its own.
FORMS = [
    "activemask.b32 %r1;",
    "vote.sync.all.pred %q1, %q8, M;",
    "vote.sync.any.pred %q1, %q8, M;",
    "vote.sync.uni.pred %q1, %q8, M;",
    "vote.sync.all.pred %q1, !%q8, M;",
    "vote.sync.ballot.b32 %r1, %q8, M;",
    "vote.sync.ballot.b32 %r1, !%q8, M;",
    "shfl.sync.idx.b32 %r1|%q1, %r9, 4, 31, M;",
    "shfl.sync.up.b32 %r1|%q1, %r9, 4, 0, M;",
    "shfl.sync.down.b32 %r1|%q1, %r9, 4, 31, M;",
    "shfl.sync.bfly.b32 %r1|%q1, %r9, 4, 31, M;",
    "match.any.sync.b32 %r1, %r8, M;",
    "match.any.sync.b64 %r1, %d8, M;",
    "match.all.sync.b32 %r1|%q1, %r8, M;",
    "match.all.sync.b64 %r1|%q1, %d8, M;",
    "redux.sync.add.u32 %r1, %r9, M;",
    "redux.sync.min.s32 %r1, %r9, M;",
    "redux.sync.max.u32 %r1, %r9, M;",
    "redux.sync.xor.b32 %r1, %r9, M;",
    "bar.warp.sync M;",
    "mov.u32 %r1, %laneid;",
    "mov.u32 %r1, %lanemask_lt;",
    "mov.u32 %r1, %ntid.x;",
    "isspacep.global %q1, %p0;",
    "setp.lt.u32 %q1|%q2, %r9, 1000;",
    "add.cc.u32 %r1, %r9, 0xfffffff0;",
    "atom.shared.add.u32 %r1, [room], 0;",
    "ld.shared.u32 %r1, [room];",
]


def run(machine, line, guard, guarded):
    """%r1, %q1, the carry and %q2 behind `line`: under a guard, or with a branch round it."""
    text = f"{guard} {line}" if guarded else f"{guard} bra DO;\nbra DONE;\nDO: {line}\nDONE:"
    body = f"""
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .b64 %p0, %d<9>;
    .reg .b32 %r<19>;
    .reg .pred %q<9>;
    .shared .align 4 .u32 room;
    ld.param.u64 %p0, [a];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d1, %r2, 4;
    add.u64 %p0, %p0, %d1;
    st.shared.u32 [room], 99;
    bar.sync 0;
    mad.lo.u32 %r9, %r2, 0x9E3779B1, 7;
    shr.u32 %r8, %r2, 3;
    cvt.u64.u32 %d8, %r8;
    and.b32 %r3, %r2, 6;
    setp.ne.u32 %q8, %r3, 4;
    and.b32 %r4, %r2, 1;
    setp.eq.u32 %q3, %r4, 0;     // even lanes
    setp.eq.u32 %q4, %r2, 99;    // nobody
    mov.u32 %r1, {UNTOUCHED};
    setp.eq.u32 %q1, %r8, 1;
    setp.eq.u32 %q2, %r8, 2;
    add.cc.u32 %r5, %r9, %r9;
    {text}
    addc.u32 %r6, 0, 0;
    selp.u32 %r7, 1, 0, %q1;
    selp.u32 %r10, 1, 0, %q2;
    st.global.u32 [%p0], %r1;
    st.global.u32 [%p0+128], %r6;
    st.global.u32 [%p0+256], %r7;
    st.global.u32 [%p0+384], %r10;
    ret;
}}
"""
    out = np.full((4, LANES), 0xEEEEEEEE, np.uint32)
    kernel = smemkit.RawModule(body, backend=machine).get_function("k")
    kernel((1,), (LANES,), (out,), backend=machine)
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("guard", "mask"),
    [("@%q3", 0x55555555), ("@!%q3", 0xAAAAAAAA), ("@!%q4", 0xFFFFFFFF), ("@%q4", 0xFFFFFFFF)],
    ids=["even", "odd", "all", "none"],
)
def test_a_guard_is_a_branch_round(machine, form, guard, mask):
    if machine == "cuda" and form.startswith("add.cc"):
        pytest.skip("PTX keeps the carry in straight lines only")
    line = form.replace("M;", f"0x{mask:08x};")
    got, wanted = (run(machine, line, guard, guarded) for guarded in (True, False))
    assert np.array_equal(got, wanted)
    lanes = 0 if guard == "@%q4" else mask
    away = np.array([lanes >> lane & 1 == 0 for lane in range(LANES)])
    if " %r1" in form:
        assert np.all(got[0][away] == UNTOUCHED)
    assert np.array_equal(got[2][away], np.repeat([0, 1, 0, 0], 8)[away])


@pytest.mark.parametrize(("guard", "mask"), [("@%q3", 0x55555555), ("@!%q3", 0xAAAAAAAA)])
def test_activemask_is_who_executes_it(machine, guard, mask):
    out = run(machine, "activemask.b32 %r1;", guard, True)[0]
    inside = np.array([mask >> lane & 1 for lane in range(LANES)], bool)
    assert np.all(out[inside] == mask)
    assert np.all(out[~inside] == UNTOUCHED)


def test_activemask_names_those_who_vote(machine):
    """The idiom of compacting loops: who is here votes, with the mask of who is here."""
    line = "{ .reg .b32 %m; @%q3 activemask.b32 %m;\n@%q3 vote.sync.ballot.b32 %r1, %q8, %m; }"
    out = run(machine, line, "", True)[0]
    lanes = np.arange(LANES)
    ballot = sum(1 << lane for lane in range(0, LANES, 2) if lane & 6 != 4)
    assert np.array_equal(out, np.where(lanes % 2 == 0, ballot, UNTOUCHED))
