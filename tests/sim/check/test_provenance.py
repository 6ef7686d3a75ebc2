"""By way of which variable or argument an access goes: what is followed, and what is left alone."""

import numpy as np
import pytest

import smemkit

# Two arrays of 64 words, a and b, that lie %rd9 bytes apart; two shared variables side by side.
PTX = """
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 table[64];
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 far, .param .u32 words,
                  .param .align 8 .b8 both[16])
{
    .reg .b32 %r<20>;
    .reg .b64 %rd<30>;
    .reg .pred %p<4>;
    .shared .align 4 .b8 left[128];
    .shared .align 4 .b8 right[128];
    .local .align 8 .b8 room[16];
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd9, [far];
    ld.param.u32 %r9, [words];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, left;
    add.u32 %r4, %r3, %r2;
    mov.u32 %r5, right;
    add.u32 %r6, %r5, %r2;
    st.shared.u32 [%r4], %r1;
    st.shared.u32 [%r6], %r1;
    bar.sync 0;
    BODY
    ret;
}
"""
LEAVES = {
    "sum": "add.u64 %rd10, %rd4, %rd9; ld.global.u32 %r10, [%rd10];",
    "sum turned": "add.u64 %rd10, %rd9, %rd4; ld.global.u32 %r10, [%rd10];",
    "mad": "mad.wide.u32 %rd10, %r9, 4, %rd4; ld.global.u32 %r10, [%rd10];",
    "generic": "add.u64 %rd10, %rd4, %rd9; ld.u32 %r10, [%rd10];",
    "atomic": "add.u64 %rd10, %rd4, %rd9; red.global.add.u32 [%rd10], 1;",
    "loaded index": "ld.global.u32 %r10, [%rd4];"
    " mul.wide.u32 %rd11, %r10, 0; add.u64 %rd11, %rd11, %rd9;"
    "add.u64 %rd10, %rd4, %rd11; ld.global.u32 %r10, [%rd10];",
    "loaded number": "ld.global.u64 %rd11, [%rd1]; and.b64 %rd11, %rd11, 0;"
    "add.u64 %rd11, %rd11, %rd9; add.u64 %rd10, %rd11, %rd4; ld.global.u32 %r10, [%rd10];",
    "kept alignment": "add.u64 %rd10, %rd4, %rd9;"
    " and.b64 %rd10, %rd10, -4; ld.global.u32 %r10, [%rd10];",
    "struct": "ld.param.u64 %rd10, [both+8]; add.u64 %rd10, %rd10, %rd3; sub.u64 %rd11, 0, %rd9;"
    "add.u64 %rd10, %rd10, %rd11; ld.global.u32 %r10, [%rd10];",
    "vector of parameters": "ld.param.v2.u64 {%rd10, %rd11}, [both]; add.u64 %rd10, %rd10, %rd9;"
    "ld.global.u32 %r10, [%rd10];",
    "loop": "mov.u32 %r10, 0; mov.u64 %rd10, %rd4;\nL: ld.global.u32 %r11, [%rd10];"
    "add.u64 %rd10, %rd10, %rd9; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 2; @%p1 bra L;",
    "variable": "mov.u64 %rd10, table; mov.u64 %rd11, %rd1;"
    " sub.u64 %rd12, %rd11, %rd10; and.b64 %rd12, %rd12, 0;"
    "ld.global.u32 %r10, [table]; add.u64 %rd13, %rd4, %rd9; ld.global.u32 %r10, [%rd13];",
    "shared": "ld.shared.u32 %r10, [%r4+128];",
    "shared by name": "ld.shared.u32 %r10, [left+128];",
    "shared before": "ld.shared.u32 %r10, [%r6+-128];",
    "shared swizzle": "xor.b32 %r10, %r4, 128; ld.shared.u32 %r11, [%r10];",
    "shared in a wide register": "cvt.u64.u32 %rd10, %r4;"
    " cvta.shared.u64 %rd11, %rd10; ld.u32 %r10, [%rd11+128];",
}
STAYS = {
    "inside": "ld.global.u32 %r10, [%rd4];"
    " ld.global.u32 %r10, [%rd5+64]; ld.shared.u32 %r10, [%r4];",
    "difference": "sub.u64 %rd10, %rd2, %rd1;"
    " add.u64 %rd10, %rd4, %rd10; ld.global.u32 %r10, [%rd10];",
    "difference in words": "sub.u64 %rd10, %rd2, %rd1;"
    " shr.u64 %rd10, %rd10, 2; shl.b64 %rd10, %rd10, 2;"
    "add.u64 %rd10, %rd4, %rd10; ld.global.u32 %r10, [%rd10];",
    "a choice": "setp.lt.u32 %p1, %r1, 16;"
    " selp.b64 %rd10, %rd4, %rd5, %p1; add.u64 %rd11, %rd10, 4;"
    "ld.global.u32 %r10, [%rd11];",
    "both in turn": "mov.u64 %rd10, %rd4; mov.u32 %r10, 0;"
    "\nL: ld.global.u32 %r11, [%rd10]; mov.u64 %rd10, %rd5;"
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 2; @%p1 bra L;",
    "both in turn, by a copy made above": "mov.u64 %rd11, %rd4; mov.u32 %r10, 0;"
    "\nL: mov.u64 %rd10, %rd11; ld.global.u32 %r11, [%rd10]; mov.u64 %rd11, %rd5;"
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 2; @%p1 bra L;",
    "through memory": "st.local.u64 [room], %rd4;"
    " ld.local.u64 %rd10, [room]; add.u64 %rd10, %rd10, %rd9;"
    "ld.global.u32 %r10, [%rd10];",
    "in halves": "mov.b64 {%r10, %r11}, %rd4;"
    " mov.b64 %rd10, {%r10, %r11}; add.u64 %rd10, %rd10, %rd9;"
    "ld.global.u32 %r10, [%rd10];",
    "exchanged": "add.u64 %rd10, %rd4, %rd5;"
    " sub.u64 %rd10, %rd10, %rd4; ld.global.u32 %r10, [%rd10];",
    "xor of both": "xor.b64 %rd10, %rd4, %rd5;"
    " xor.b64 %rd10, %rd10, %rd4; ld.global.u32 %r10, [%rd10];",
    "the other's name": "ld.shared.u32 %r10, [right];"
    " add.u32 %r10, %r3, 128; sub.u32 %r10, %r10, %r3;"
    "add.u32 %r10, %r10, %r3; ld.shared.u32 %r10, [%r10];",
    "beyond and back": "add.u64 %rd10, %rd4, %rd9;"
    " sub.u64 %rd10, %rd10, %rd9; ld.global.u32 %r10, [%rd10];",
}


def check(body):
    a, b = (smemkit.asarray(np.arange(64, dtype=np.uint32), backend="sim") for _ in range(2))
    far = b.pointer - a.pointer
    text = PTX.replace("BODY", body)
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    both = np.zeros(1, [("a", np.uint64), ("b", np.uint64)])
    both["a"], both["b"] = a.pointer, b.pointer
    args = (a, b, np.uint64(far), np.uint32(far // 4), both[0])
    return kernel.check(1, 32, args, backend="sim")


@pytest.mark.parametrize("body", LEAVES.values(), ids=LEAVES)
def test_what_leaves(body):
    report = check(body)
    assert [finding.kind for finding in report.findings] == ["overrun"]
    (finding,) = report.findings
    assert finding.second is None and "by way of" in finding.message
    if "shared" in body:
        assert finding.first.space == "shared" and "(128 bytes)" in finding.message
    else:
        assert finding.first.space == "global" and " touches args[" in finding.message


@pytest.mark.parametrize("body", STAYS.values(), ids=STAYS)
def test_what_stays_or_cannot_be_told(body):
    assert check(body).findings == []
