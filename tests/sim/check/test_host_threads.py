"""Findings do not depend on how many threads of the host run the blocks, nor on who is first."""

import re

import numpy as np
import pytest
from sim.check import check_cases, check_ptx

import smemkit

THREADS = ("1", "2", "5", "16")


def told(report):
    """All that a report says, without addresses of device memory, which every call has anew."""
    facts = report.to_dict()
    for finding in facts["findings"]:
        finding["message"] = re.sub(r"\b0x[0-9a-f]{9,}\b", "there", finding["message"])
        for side in (finding["first"], finding["second"]):
            if side is not None and side["space"] != "shared":
                side["address"] = None
    return facts


def same_for_all(monkeypatch, check):
    """The report, after as many checks as THREADS has entries."""
    reports = []
    for threads in THREADS:
        monkeypatch.setenv("SMEMKIT_THREADS", threads)
        reports.append(check())
    for report in reports[1:]:
        assert told(report) == told(reports[0])
    return reports[0]


# Many blocks, each with a fault of each kind that does not depend on the others, and one between
# blocks: which block is met first differs from run to run.
FAULTY = r"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry faulty(.param .u64 x, .param .u64 out)
{
    .reg .b32 %r<16>;
    .reg .pred %p<4>;
    .reg .b64 %rd<12>;
    .shared .align 16 .b8 tile[1024];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd3, %r1, 4;
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, tile;
    add.s32 %r5, %r4, %r3;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r6, [%rd4];
    st.shared.u32 [%r5], %r6;
    xor.b32 %r7, %r3, 252;
    add.s32 %r8, %r4, %r7;
    ld.shared.u32 %r9, [%r8];           // race
    ld.shared.u32 %r10, [%r5+512];      // uninitialized
    setp.ge.u32 %p1, %r2, 3;
    @%p1 ld.global.u32 %r11, [%rd4+1];  // misaligned, from the fourth block on
    setp.ge.u32 %p2, %r2, 5;
    @%p2 ld.global.u32 %r12, [%rd4+65536]; // out_of_bounds, from the sixth
    add.s64 %rd5, %rd2, %rd3;
    st.global.u32 [%rd5], %r9;          // global_race between all blocks
    ret;
}
"""


def test_many_blocks(monkeypatch):
    kernel = smemkit.RawModule(FAULTY, backend="sim").get_function("faulty")
    x = np.arange(64, dtype="int32")

    def check():
        return smemkit.check(kernel, (97,), (64,), (x, np.zeros(64, "int32")), backend="sim")

    report = same_for_all(monkeypatch, check)
    kinds = {finding.kind: finding for finding in report.findings}
    assert set(kinds) == {
        "race", "uninitialized", "misaligned", "out_of_bounds", "global_race",
    }  # fmt: skip
    assert kinds["misaligned"].first.block == (3, 0, 0)
    assert kinds["out_of_bounds"].first.block == (5, 0, 0)
    assert kinds["global_race"].count == 64  # one of each element
    assert kinds["uninitialized"].count == 97 * 64


def test_so_many_threads_work(monkeypatch):
    """The variable does what the tests here need; what is no number from 1 up changes nothing."""
    kernel = smemkit.RawModule(FAULTY, backend="sim").get_function("faulty")
    args = (np.zeros(1 << 16, "int32"), np.zeros(64, "int32"))

    def count():
        kernel((3,), (64,), args, backend="sim")
        return smemkit._core._run_stats()["threads"]

    monkeypatch.delenv("SMEMKIT_THREADS", raising=False)
    default = count()
    for text, threads in {
        "1": 1,
        "2": 2,
        "3": 3,
        "9": 3,
        "": default,
        "9" * 30: 3,
    }.items():
        monkeypatch.setenv("SMEMKIT_THREADS", text)
        assert count() == threads, text
    for text in ("0", "-1", "two", "2x", " 2"):
        monkeypatch.setenv("SMEMKIT_THREADS", text)
        with pytest.raises(smemkit.ArgumentError, match=f"SMEMKIT_THREADS is '{text}'; a whole"):
            count()


MANY = [case for case in check_cases.CASES if np.prod(case.grid) > 1]


@pytest.mark.parametrize("number", range(len(MANY)), ids=[f"{c.entry}-{c.label}" for c in MANY])
def test_cases_of_several_blocks(monkeypatch, number):
    case = MANY[number]
    text = check_ptx.load_ptx(case.file, case.modes[0])
    kernel = smemkit.RawModule(text, backend="sim").get_function(case.entry)

    def check():
        return kernel.check(case.grid, case.block, case.args(), **case.options)

    same_for_all(monkeypatch, check)
