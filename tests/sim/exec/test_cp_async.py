"""cp.async that nobody waits for: what is pending stays small, and lands when it may."""

import subprocess
import sys

import numpy as np
import pytest

import smemkit

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out, .param .u32 rounds)
{{
    .reg .b32 %r<9>;
    .reg .pred %p<3>;
    .reg .b64 %rd<9>;
    .shared .align 16 .b8 room[{shared}];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r5, [rounds];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    mov.u32 %r1, room;
    mad.lo.u32 %r1, %r0, 4, %r1;
    st.shared.u32 [%r1], 0;
    mov.u32 %r2, 0;
AGAIN:
    {body}
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r5;
    @%p1 bra AGAIN;
    {end}
    ld.shared.u32 %r3, [%r1];
    st.global.u32 [%rd2], %r3;
    ret;
}}
"""
COPY = "cp.async.ca.shared.global [%r1], [%rd1], 4;\ncp.async.commit_group;"
STEP = "add.u64 %rd1, %rd1, 4;"
MEASURE = """
import resource
import numpy as np, smemkit
kernel = smemkit.RawModule({text!r}, backend="sim").get_function("k")
x, out = np.arange(4096, dtype=np.uint32), np.zeros({threads}, np.uint32)
args = (x, out, np.uint32({rounds}))
kernel((1,), ({threads},), (x, out, np.uint32(1)), backend="sim")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kernel((1,), ({threads},), args, backend="sim")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(after - before, np.array_equal(out, x[:{threads}]))
"""


def make(body, end="", shared=4096):
    return TEXT.format(body=body, end=end, shared=shared)


def load(text):
    return smemkit.RawModule(text, backend="sim").get_function("k")


def run(text, rounds, threads=32):
    x = np.arange(4096, dtype=np.uint32) + 1000
    out = np.zeros(threads, np.uint32)
    load(text)((1,), (threads,), (x, out, np.uint32(rounds)), backend="sim")
    return out


def measure(text, rounds, threads):
    """Kilobytes that a launch adds to a process of its own, and whether its last copies landed."""
    script = MEASURE.format(text=text, rounds=rounds, threads=threads)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    added, right = done.stdout.split()
    return int(added), right == "True"


@pytest.mark.parametrize(
    ("copies", "threads"),
    [
        (10**6, 32),
        (4 * 10**6, 1024),
        pytest.param(10**8, 1024, marks=pytest.mark.slow),
    ],
)
def test_copies_that_nobody_waits_for_take_little_memory(copies, threads):
    added, right = measure(make(COPY, "cp.async.wait_all;"), copies // threads, threads)
    assert right
    assert added < 20_000


def test_a_kernel_that_walks_all_of_shared_memory():
    """Each warp copies to every word there is, again and again."""
    walk = """
    shl.b32 %r6, %r2, 7;
    and.b32 %r6, %r6, 0xbf80;
    mov.u32 %r7, room;
    and.b32 %r4, %r0, 31;
    mad.lo.u32 %r7, %r4, 4, %r7;
    add.u32 %r7, %r7, %r6;
    cp.async.ca.shared.global [%r7], [%rd1], 4;"""
    added, _ = measure(make(walk, "cp.async.wait_all;", 49152), 4000, 1024)
    assert added < 50_000


@pytest.mark.parametrize("rounds", [1, 2, 7, 100, 1001])
def test_the_last_copy_wins(rounds):
    out = run(make(COPY + STEP, "cp.async.wait_all;"), rounds)
    assert np.array_equal(out, np.arange(32) + 1000 + rounds - 1)


@pytest.mark.parametrize("stay", [1, 2, 5])
def test_groups_that_may_stay_have_not_landed(stay):
    """Copies to words of their own wait however many there are."""
    body = COPY.replace("[%r1]", "[%r1+{}]")
    body = "\n".join(body.format(128 * (k % 6)) for k in range(6))
    assert not run(make(COPY, f"cp.async.wait_group {stay};"), 1).any()
    landed = run(make(body, f"cp.async.wait_group {stay};"), 1)
    assert np.array_equal(landed, np.arange(32) + 1000)


def test_check_still_sees_a_missing_wait():
    x, out = np.arange(4096, dtype=np.uint32), np.zeros(32, np.uint32)
    for end, kinds in (("", {"async_read"}), ("cp.async.wait_all;", set())):
        report = load(make(COPY, end)).check((1,), (32,), (x, out, np.uint32(5000)), backend="sim")
        assert {finding.kind for finding in report.findings} == kinds
        assert not report.stopped


def test_no_memory_for_copies_is_an_error():
    kernel = load(make(COPY, "cp.async.wait_all;"))
    x, out = np.arange(4096, dtype=np.uint32), np.zeros(32, np.uint32)
    failed = 0
    try:
        for n in range(1, 60):
            smemkit._core._fail_after(n)
            try:
                kernel((1,), (32,), (x, out, np.uint32(300)), backend="sim")
            except MemoryError:
                failed += 1
                continue
            finally:
                smemkit._core._fail_after(0)
            assert np.array_equal(out, x[:32])
    finally:
        smemkit._core._fail_after(0)
    assert failed > 3
