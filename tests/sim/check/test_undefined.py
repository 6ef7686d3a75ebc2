"""Which uses of a value that nobody has defined are found: those that matter, and no others."""

import numpy as np
import pytest

import smemkit

# %r1 is the thread's number, %p1 its parity; %r2 is defined everywhere, %r3 only in lanes 0 to 23
# (%p2), as the others take it from lane 5, which is not in their mask.
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b16 %h<4>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<10>;
    .reg .f32 %f<4>;
    .reg .pred %p<10>;
    .local .align 8 .b8 room[64];
    .shared .align 8 .b8 tile[256];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    and.b32 %r10, %r1, 1;
    setp.eq.u32 %p1, %r10, 1;
    setp.lt.u32 %p2, %r1, 24;
    mov.u32 %r2, 7;
    setp.ge.u32 %p3, %r1, 32;
    @%p3 bra DONE;
    mov.u32 %r11, 0x00ffffff;
    selp.b32 %r11, %r11, 0xff000000, %p2;
    selp.b32 %r12, %r1, 5, %p2;
    shfl.sync.idx.b32 %r3, %r1, %r12, 31, %r11;
    BODY
DONE:
    ret;
}
"""
STORE = "st.global.u32 [%rd3], {};"
DROPPED = {
    "nothing": "",
    "overwritten": "mov.u32 %r3, 5;" + STORE.format("%r3"),
    "overwritten where it was not": "@!%p2 mov.u32 %r3, 5;" + STORE.format("%r3"),
    "selected": "selp.b32 %r4, %r3, %r2, %p2;" + STORE.format("%r4"),
    "stored by the others": "@%p2 " + STORE.format("%r3"),
    "compared, and selected": "setp.gt.u32 %p4, %r3, 5; selp.b32 %r4, 1, 0, %p4;"
    "selp.b32 %r4, %r4, %r2, %p2;" + STORE.format("%r4"),
    "a condition before": "setp.gt.and.u32 %p4, %r3, 5, %p2; selp.b32 %r4, 1, 2, %p4;"
    + STORE.format("%r4"),
    "the other way": "setp.gt.or.u32 %p4, %r3, 5, !%p2; selp.b32 %r4, 1, 2, %p4;"
    + STORE.format("%r4"),
    "and": "setp.gt.u32 %p4, %r3, 5; and.pred %p5, %p2, %p4; @%p5 bra DONE;",
    "or": "setp.gt.u32 %p4, %r3, 5; not.pred %p6, %p2; or.pred %p5, %p4, %p6; @%p5 bra DONE;",
    "a mask": "selp.b32 %r5, -1, 0, %p2; and.b32 %r4, %r3, %r5;" + STORE.format("%r4"),
    "a factor": "selp.b32 %r5, 1, 0, %p2; mul.lo.u32 %r4, %r5, %r3;" + STORE.format("%r4"),
    "in local memory": "st.local.u32 [room], %r3; ld.local.u32 %r4, [room]; @%p2 "
    + STORE.format("%r4"),
    "a field": "st.local.u32 [room], %r3; ld.local.u32 %r4, [room]; and.b32 %r5, %r4, 255;"
    "st.local.u32 [room], %r5; ld.local.u32 %r6, [room]; shr.u32 %r6, %r6, 8;"
    + STORE.format("%r6"),
    "taken from those that have it": "shfl.sync.idx.b32 %r4, %r3, 3, 31, -1;" + STORE.format("%r4"),
    "bits put in": "or.b32 %r4, %r3, %r2; st.local.u32 [room], %r4; ld.local.u32 %r5, [room];"
    + STORE.format("%r5"),
}
USED = {
    "store": STORE.format("%r3"),
    "sum": "add.u32 %r4, %r3, %r2;" + STORE.format("%r4"),
    "two ways": "mov.u32 %r4, %r3; cvt.rn.f32.u32 %f1, %r4; mul.f32 %f2, %f1, 0f00000000;"
    "st.global.f32 [%rd3], %f2;",
    "vector": "@!%p1 st.global.v2.u32 [%rd3], {%r2, %r3};",
    "selected": "selp.b32 %r4, %r3, %r2, %p1;" + STORE.format("%r4"),
    "vector's first element": "@!%p1 st.global.v2.u32 [%rd3], {%r3, %r2};",
    "shared": "mov.u32 %r6, tile; shl.b32 %r7, %r1, 2;"
    " add.u32 %r6, %r6, %r7; st.shared.u32 [%r6], %r3;",
    "atomic": "red.global.add.u32 [%rd3], %r3;",
    "branch": "setp.gt.u32 %p4, %r3, 5; @%p4 bra DONE;",
    "guard": "setp.gt.u32 %p4, %r3, 5; @%p4 " + STORE.format("%r2"),
    "guarded": "setp.gt.u32 %p4, %r3, 5; mov.u32 %r4, 1; @%p4 mov.u32 %r4, 2;"
    + STORE.format("%r4"),
    "address": "and.b32 %r4, %r3, 31; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, %rd4;"
    "ld.global.u32 %r5, [%rd5];",
    "again": "shfl.sync.idx.b32 %r4, %r3, 30, 31, -1;" + STORE.format("%r4"),
    "through local memory": "st.local.u32 [room+4], %r3; ld.local.u32 %r4, [room+4];"
    + STORE.format("%r4"),
    "generic": "cvta.local.u64 %rd4, room; st.u32 [%rd4], %r3; ld.u32 %r4, [%rd4];"
    + STORE.format("%r4"),
}


def check(body, grid=1):
    text = PTX.replace("BODY", body)
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    return kernel.check(grid, 32, (np.zeros(64, np.uint32),), backend="sim")


@pytest.mark.parametrize("body", DROPPED.values(), ids=DROPPED)
def test_what_is_not_used_is_no_fault(body):
    assert check(body).findings == []


@pytest.mark.parametrize("body", USED.values(), ids=USED)
def test_what_is_used_is_one(body):
    report = check(body)
    assert {finding.kind for finding in report.findings} <= {"shuffle", "uninitialized"}
    assert report.findings
    for finding in report.findings:
        if finding.kind == "shuffle":
            assert (
                finding.first.op == "shfl"
                and "lane 24 takes the value of lane 5" in finding.message
            )
            assert "which is not in the mask 0xff000000" in finding.message
        assert finding.second.op in ("store", "atomic", "branch", "load")
        assert finding.second.thread[0] >= 24 or "again" in body or "30, 31" in body


LOCAL = {
    "ld.local.u32 %r4, [room];" + STORE.format("%r4"): 1,
    "st.local.u32 [room], 1; ld.local.u32 %r4, [room];" + STORE.format("%r4"): 0,
    "st.local.u8 [room+1], 1; ld.local.u32 %r4, [room];" + STORE.format("%r4"): 0,
    "st.local.u16 [room], 1; ld.local.v2.u32 {%r4, %r5}, [room];" + STORE.format("%r4"): 0,
    "st.local.u16 [room], 1; ld.local.v2.u32 {%r4, %r5}, [room];" + STORE.format("%r5"): 1,
    "@%p1 st.local.u32 [room], 1; ld.local.u32 %r4, [room];" + STORE.format("%r4"): 1,
    "@%p1 st.local.u32 [room], 1; ld.local.u32 %r4, [room]; @%p1 " + STORE.format("%r4"): 0,
    "ld.local.u32 %r4, [room];": 0,
    "st.local.u64 [room+8], %rd1; ld.local.u32 %r4, [room+12];" + STORE.format("%r4"): 0,
    "st.local.u64 [room+8], %rd1; ld.local.u32 %r4, [room+16];" + STORE.format("%r4"): 1,
    "cvta.local.u64 %rd4, room; st.u32 [%rd4+4], 3; ld.u32 %r4, [%rd4+4];" + STORE.format("%r4"): 0,
    "cvta.local.u64 %rd4, room; ld.u32 %r4, [%rd4+4];" + STORE.format("%r4"): 1,
}


@pytest.mark.parametrize(("body", "found"), LOCAL.items())
def test_local_memory(body, found):
    report = check(body)
    assert [finding.kind for finding in report.findings] == ["uninitialized"] * found
    for finding in report.findings:
        assert (finding.first.op, finding.first.space) == ("load", "local")
        assert finding.second.op == "store" and finding.count in (16, 32)


# Nobody has written the bytes of `tile`, which a compiler reads before it looks at the condition.
EARLY = "ld.shared.u32 %r4, [tile];"
EARLY_PAIR = "st.shared.u32 [tile], 1; bar.warp.sync -1; ld.shared.v2.u32 {%r4, %r5}, [tile];"
SHARED = {
    EARLY: 1,
    EARLY + STORE.format("%r4"): 1,
    EARLY + "setp.ne.u32 %p4, %r2, 7; selp.b32 %r5, %r4, %r2, %p4;" + STORE.format("%r5"): 0,
    EARLY + "setp.eq.u32 %p4, %r2, 7; selp.b32 %r5, %r4, %r2, %p4;" + STORE.format("%r5"): 1,
    EARLY + "selp.b32 %r5, %r4, %r2, %p1;" + STORE.format("%r5"): 1,
    EARLY + "selp.b32 %r5, %r4, %r2, %p1; @!%p1 " + STORE.format("%r5"): 0,
    EARLY + "add.u32 %r6, %r4, 1; setp.ne.u32 %p4, %r2, 7;"
    "selp.b32 %r5, %r2, %r6, !%p4;" + STORE.format("%r5"): 0,
    EARLY + "setp.gt.u32 %p4, %r2, %r4; selp.b32 %r5, %r4, %r2, %p4;" + STORE.format("%r5"): 1,
    "cvta.shared.u64 %rd4, tile; ld.u32 %r4, [%rd4]; setp.ne.u32 %p4, %r2, 7;"
    "selp.b32 %r5, %r4, %r2, %p4;" + STORE.format("%r5"): 0,
    EARLY_PAIR + "setp.ne.u32 %p4, %r2, 7; selp.b32 %r6, %r5, %r4, %p4;" + STORE.format("%r6"): 0,
    EARLY_PAIR + "setp.eq.u32 %p4, %r2, 7; selp.b32 %r6, %r5, %r4, %p4;" + STORE.format("%r6"): 1,
    "ld.volatile.shared.u32 %r4, [tile]; redux.sync.add.s32 %r5, %r4, -1; selp.b32 %r5, %r5, %r2,"
    " %p1; @!%p1 " + STORE.format("%r5"): 0,
}


@pytest.mark.parametrize(("body", "found"), SHARED.items())
def test_shared_memory(body, found):
    """A load that a selection drops is none; one without a selection is found at once."""
    report = check(body)
    assert [finding.kind for finding in report.findings] == ["uninitialized"] * found
    for finding in report.findings:
        assert (finding.first.op, finding.first.space) == ("load", "shared")
        assert finding.second is None and "that nobody has written (tile, byte" in finding.message


PADDED = "@%p4 st.{0}.u8 [{1}], 1; @%p4 st.{0}.u64 [{1}+8], %rd1; bar.warp.sync -1;"


@pytest.mark.parametrize(("space", "at"), [("shared", "tile"), ("global", "%rd1")])
@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("ld.{0}.u64 %rd4, [{1}];", 0),
        ("ld.{0}.v2.u64 {{%rd4, %rd5}}, [{1}];", 0),
        ("ld.{0}.u32 %r4, [{1}+4];", 1),
        ("ld.{0}.v2.u32 {{%r4, %r5}}, [{1}];", 1),
        ("ld.{0}.v2.u64 {{%rd4, %rd5}}, [{1}+16];", 1),
        ("ld.{0}.u64 %rd4, [{1}+16];", 1),
    ],
)
def test_padding(space, at, load, found):
    """Of {bool, long} a copy in pieces of 8 bytes reads bytes that no thread writes."""
    body = "setp.eq.u32 %p4, %r1, 0;" + (PADDED + load).format(space, at)
    module = smemkit.RawModule(PTX.replace("BODY", body), backend="sim")
    out = smemkit.empty(64, np.uint32, backend="sim")
    findings = module.get_function("k").check(1, 32, (out,), backend="sim").findings
    assert [finding.kind for finding in findings] == ["uninitialized"] * found


def test_local_memory_is_fresh_in_each_block():
    body = """
    mov.u32 %r4, %ctaid.x;
    setp.eq.u32 %p4, %r4, 0;
    @%p4 st.local.u32 [room], 1;
    ld.local.u32 %r5, [room];
    st.global.u32 [%rd3], %r5;"""
    findings = check(body, grid=4).findings
    (finding,) = [finding for finding in findings if finding.kind == "uninitialized"]
    assert finding.count == 3 * 32 and finding.second.block == (1, 0, 0)


def test_each_allocation_may_fail():
    body = USED["through local memory"]
    module = smemkit.RawModule(PTX.replace("BODY", body), backend="sim")
    kernel, out = module.get_function("k"), np.zeros(64, np.uint32)
    expected = kernel.check(1, 32, (out,), backend="sim").findings
    failed = 0
    try:
        for n in range(1, 200):
            smemkit._core._fail_after(n)
            try:
                findings = kernel.check(1, 32, (out,), backend="sim").findings
            except MemoryError:
                failed += 1
                continue
            finally:
                smemkit._core._fail_after(0)
            assert [f.message for f in findings] == [f.message for f in expected]
    finally:
        smemkit._core._fail_after(0)
    assert failed > 20
