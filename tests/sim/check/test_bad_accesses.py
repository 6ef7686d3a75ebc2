"""Bad accesses in a check: each is counted, none costs much, and a block that goes on with values
that it could not read is stopped."""

import time

import numpy as np
import pytest

import smemkit

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out, .param .u64 away, .param .u32 rounds)
{{
    .reg .b32 %r<9>;
    .reg .pred %p<3>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    ld.param.u64 %rd5, [away];
    ld.param.u32 %r5, [rounds];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd1, %rd1, %rd5;
    mov.u32 %r6, %ctaid.x;
    mov.u32 %r7, %ntid.x;
    mad.lo.u32 %r6, %r6, %r7, %r0;
    mul.wide.u32 %rd3, %r6, 4;
    add.u64 %rd2, %rd2, %rd3;
    mov.u32 %r2, 0;
    mov.u32 %r4, 0;
    {body}
    st.global.u32 [%rd2], %r4;
    ret;
}}
"""
LOADS = """
AGAIN:
    ld.global.u32 %r3, [%rd1];
    add.u32 %r4, %r4, %r3;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r5;
    @%p1 bra AGAIN;"""
# the length of a list that is not there: 0, which this loop never comes to
LENGTH = """
    ld.global.u32 %r3, [%rd1];
AGAIN:
    add.u32 %r2, %r2, 2;
    or.b32 %r4, %r2, 1;
    setp.ne.u32 %p1, %r4, %r3;
    @%p1 bra AGAIN;"""
FAR = 1 << 20


def check(body, away, rounds=256, threads=256, blocks=1):
    kernel = smemkit.RawModule(TEXT.format(body=body), backend="sim").get_function("k")
    x, out = np.arange(threads, dtype=np.uint32), np.zeros(threads * blocks, np.uint32)
    args = (x, out, np.uint64(away), np.uint32(rounds))
    begin = time.perf_counter()
    report = kernel.check((blocks,), (threads,), args, backend="sim")
    return report, time.perf_counter() - begin


def test_each_is_counted():
    report, _ = check(LOADS, FAR)
    (finding,) = report.findings
    assert (finding.kind, finding.count) == ("out_of_bounds", 256 * 256)
    assert finding.first.thread == (0, 0, 0)
    assert not report.stopped


@pytest.mark.parametrize("away", [FAR, 2], ids=["stray", "misaligned"])
def test_they_cost_little(away):
    """At most a few times the same launch without them, both the best of some."""
    body = LOADS.replace("@%p1 bra", "add.u32 %r4, %r4, %r2;\n@%p1 bra")
    good = min(check(body, 0, 255)[1] for _ in range(7))
    stray = min(check(body, away, 255)[1] for _ in range(7))
    assert stray < 8 * good + 2e-3


def test_lanes_that_go_astray_go_on():
    """Half of the lanes read behind the array, each time round; all of them write."""
    kernel = smemkit.RawModule(TEXT.format(body=LOADS), backend="sim").get_function("k")
    x = smemkit.asarray(np.full(32, 5, np.uint32), backend="sim")
    out = smemkit.asarray(np.full(32, 77, np.uint32), backend="sim")
    report = kernel.check(1, 32, (x, out, np.uint64(64), np.uint32(3)), backend="sim")
    (finding,) = report.findings
    assert (finding.kind, finding.count) == ("out_of_bounds", 3 * 16)
    assert smemkit.asnumpy(out).tolist() == [15] * 16 + [0] * 16


def test_a_loop_that_a_stray_value_bounds_is_stopped():
    report, seconds = check(LENGTH, FAR, threads=32)
    assert [finding.kind for finding in report.findings] == ["out_of_bounds"]
    assert "was stopped after" in report.stopped
    assert seconds < 20


def test_many_blocks_with_such_loops_are_stopped_alike(monkeypatch):
    texts = set()
    for threads in ("1", "3"):
        monkeypatch.setenv("SMEMKIT_THREADS", threads)
        report, _ = check(LENGTH, FAR, threads=32, blocks=5)
        (finding,) = report.findings
        assert finding.count == 32 * 5
        texts.add(report.stopped)
    assert len(texts) == 1


def test_too_many_end_a_block():
    report, seconds = check(LOADS, FAR, rounds=1 << 30)
    (finding,) = report.findings
    assert 1 << 16 < finding.count < 1 << 22
    assert "was stopped after" in report.stopped
    assert seconds < 20


def test_a_block_that_ends_by_itself_is_left_alone():
    report, _ = check(LOADS, FAR, rounds=100, threads=32, blocks=2000)
    assert report.findings[0].count == 32 * 100 * 2000
    assert not report.stopped


def test_a_plain_run_ends_with_the_first():
    kernel = smemkit.RawModule(TEXT.format(body=LOADS), backend="sim").get_function("k")
    args = (np.zeros(32, np.uint32), np.zeros(32, np.uint32), np.uint64(FAR), np.uint32(1 << 31))
    with pytest.raises(smemkit.OutOfBoundsError):
        kernel((1,), (32,), args, backend="sim")
