"""What fences and strong accesses order: between many blocks, by scope, and among lanes of a warp.

Kernels are written as PTX, one body for each test. Random ones are test_memory_model.py's.
"""

import re

import numpy as np
import pytest

import smemkit

TEXT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry test(.param .u64 x, .param .u64 flag, .param .u64 out)
{{
    .reg .b32 %r<32>, %t, %b, %n, %lane, %warp, %i;
    .reg .pred %p<8>, %done;
    .reg .b64 %rd<16>, %x, %flag, %out, %mine;
    .shared .align 16 .b8 words[256];
    ld.param.u64 %x, [x];
    ld.param.u64 %flag, [flag];
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %n, %nctaid.x;
    and.b32 %lane, %t, 31;
    shr.u32 %warp, %t, 5;
    mul.wide.u32 %rd1, %b, 4;
    add.u64 %mine, %flag, %rd1;         // the block's own flag
{body}
    ret;
}}
"""


def check(body, grid, block, **keywords):
    kernel = smemkit.RawModule(TEXT.format(body=body), backend="sim").get_function("test")
    args = [np.zeros(8192, np.uint32) for _ in range(3)]
    report = kernel.check(grid, block, args, backend="sim", **keywords)
    assert report.stopped is None
    return report


def kinds(body, grid, block):
    return {finding.kind for finding in check(body, grid, block).findings}


# Many readers, of which one is not waited for -----------------------------------------------------

# All blocks but the last read or change x[0] and raise a flag, but for the `silent` one; the last
# waits for the flags and writes.
READERS = """
    sub.u32 %r1, %n, 1;
    setp.eq.u32 %p1, %b, %r1;
    @%p1 bra LAST;
    {access}
    setp.eq.u32 %p2, %b, {silent};
    @%p2 bra DONE;
    st.release.gpu.global.u32 [%mine], 1;
    bra DONE;
LAST:
    mov.u32 %i, 0;
NEXT:
    setp.eq.u32 %p2, %i, {silent};
    @%p2 bra SKIP;
    mul.wide.u32 %rd2, %i, 4;
    add.u64 %rd3, %flag, %rd2;
WAIT:
    ld.acquire.gpu.global.u32 %r2, [%rd3];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra WAIT;
SKIP:
    add.u32 %i, %i, 1;
    setp.lt.u32 %p3, %i, %r1;
    @%p3 bra NEXT;
    {last}
DONE:
"""
PAIRS = {
    "read, write": ("ld.global.u32 %r3, [%x];", "st.global.u32 [%x], 5;"),
    "add, write": ("red.relaxed.gpu.global.add.u32 [%x], 1;", "st.global.u32 [%x], 5;"),
    "add, read": ("red.relaxed.gpu.global.add.u32 [%x], 1;", "ld.global.u32 %r3, [%x];"),
    "volatile, write": ("ld.volatile.global.u32 %r3, [%x];", "st.global.u32 [%x], 5;"),
    "read, volatile": ("ld.global.u32 %r3, [%x];", "st.volatile.global.u32 [%x], 5;"),
    "read, add": ("ld.global.u32 %r3, [%x];", "red.relaxed.gpu.global.add.u32 [%x], 5;"),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("readers", [*range(1, 17), 40])
def test_each_of_many_readers_counts(pair, readers):
    access, last = PAIRS[pair]
    silences = range(readers) if readers <= 4 else {0, 1, readers // 2, readers - 1}
    for silent in silences:
        body = READERS.format(access=access, last=last, silent=silent)
        report = check(body, readers + 1, 1)
        assert [finding.kind for finding in report.findings] == ["global_race"], silent
        sides = (report.findings[0].first, report.findings[0].second)
        assert {side.block[0] for side in sides} == {silent, readers}
    assert check(READERS.format(access=access, last=last, silent=99), readers + 1, 1)


# Warps of block 0 read x[0] and meet, or not; thread `teller` tells block 1, which writes.
WARPS = """
    setp.ne.u32 %p1, %b, 0;
    @%p1 bra OTHER;
    setp.ne.u32 %p2, %lane, {lane};
    @%p2 bra MET;
    ld.global.u32 %r1, [%x];
MET:
    {meet}
    setp.ne.u32 %p2, %t, {teller};
    @%p2 bra DONE;
    st.release.gpu.global.u32 [%flag], 1;
    bra DONE;
OTHER:
    setp.ne.u32 %p2, %t, 0;
    @%p2 bra DONE;
WAIT:
    ld.acquire.gpu.global.u32 %r2, [%flag];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra WAIT;
    st.global.u32 [%x], 7;
DONE:
"""


@pytest.mark.parametrize("warps", [1, 2, 3, 8, 32])
@pytest.mark.parametrize("lane", [0, 5])
def test_each_warp_that_reads_counts(warps, lane):
    """Only what the telling thread did or knows of is told."""
    block = 32 * warps
    last = block - 32 + lane
    alone = warps == 1
    body = WARPS.format(lane=lane, meet="", teller=last)
    assert kinds(body, 2, block) == (set() if alone else {"global_race"})
    assert not kinds(WARPS.format(lane=lane, meet="bar.sync 0;", teller=last), 2, block)
    body = WARPS.format(lane=lane, meet="", teller=block - 1)  # a lane that has not read
    assert kinds(body, 2, block) == {"global_race"}
    body = WARPS.format(lane=lane, meet="bar.warp.sync -1;", teller=block - 1)
    assert kinds(body, 2, block) == (set() if alone else {"global_race"})


# Block 0 has two warps that each tell at a flag of their own; block 1 hears only one of them.
TWO_FLAGS = """
    setp.ne.u32 %p2, %lane, 0;
    @%p2 bra DONE;
    mul.wide.u32 %rd2, %warp, 4;
    setp.ne.u32 %p1, %b, 0;
    @%p1 bra OTHER;
    add.u64 %rd3, %x, %rd2;
    add.u64 %rd4, %flag, %rd2;
    st.global.u32 [%rd3], 1;
    st.release.gpu.global.u32 [%rd4], 1;
    bra DONE;
OTHER:
    setp.ne.u32 %p2, %warp, 0;
    @%p2 bra DONE;
WAIT:
    ld.acquire.gpu.global.u32 %r2, [%flag+{heard}];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra WAIT;
    ld.global.u32 %r3, [%x+{read}];
DONE:
"""


@pytest.mark.parametrize("heard", [0, 4])
@pytest.mark.parametrize("read", [0, 4])
def test_a_flag_tells_of_its_own_warp_alone(heard, read):
    found = kinds(TWO_FLAGS.format(heard=heard, read=read), 2, 64)
    assert found == (set() if heard == read else {"global_race"})


# Block 0 writes x[0], meets and raises the flag; another block raises it further, by a thread of
# the same place that orders nothing; the last block waits for that.
OVERTAKEN = """
    setp.eq.u32 %p1, %b, 0;
    setp.eq.and.u32 %p1, %t, 40, %p1;
    @%p1 st.global.u32 [%x], 1;
    bar.sync 0;
    setp.ne.u32 %p1, %t, {thread};
    @%p1 bra DONE;
    setp.eq.u32 %p1, %b, {other};
    @%p1 bra SECOND;
    setp.eq.u32 %p1, %b, 24;
    @%p1 bra WAIT;
    setp.ne.u32 %p1, %b, 0;
    @%p1 bra DONE;
    st.release.gpu.global.u32 [%flag], 1;
    bra DONE;
SECOND:
    ld.relaxed.gpu.global.u32 %r2, [%flag];
    setp.ne.u32 %p3, %r2, 1;
    @%p3 bra SECOND;
    {second}
    bra DONE;
WAIT:
    ld.acquire.gpu.global.u32 %r2, [%flag];
    setp.ne.u32 %p3, %r2, 2;
    @%p3 bra WAIT;
    ld.global.u32 %r3, [%x];
DONE:
"""


@pytest.mark.parametrize("thread", [0, 32, 65])
def test_a_block_releases_nothing_in_the_name_of_one_before(monkeypatch, thread):
    """A store of another thread ends what the flag releases; an atomic operation does not."""
    monkeypatch.setenv("SMEMKIT_THREADS", "1")  # blocks come after each other where they can
    for other in range(1, 24):
        store = "st.relaxed.gpu.global.u32 [%flag], 2;"
        found = check(OVERTAKEN.format(thread=thread, other=other, second=store), 25, 96).findings
        assert [finding.kind for finding in found] == ["global_race"], other
        sides = {(side.block[0], side.thread[0]) for side in (found[0].first, found[0].second)}
        assert sides == {(0, 40), (24, thread)}
    add = "red.relaxed.gpu.global.add.u32 [%flag], 1;"
    assert not kinds(OVERTAKEN.format(thread=thread, other=1, second=add), 25, 96)


# Too many readers to remember ---------------------------------------------------------------------


def test_what_is_not_remembered_is_told():
    """A note where a race may have been missed; none where no access could have raced."""
    access, last = PAIRS["read, write"]
    count = 5000  # more than a cell remembers
    body = READERS.format(access=access, last=last, silent=99999)
    report = check(body, count + 1, 1)
    assert not report.findings and report.incomplete == 1
    assert "Races may have been missed: at 1 accesses" in str(report)
    assert report.to_dict()["incomplete"] == 1
    report = check(READERS.format(access=access, last="", silent=99999), count + 1, 1)
    assert not report.findings and report.incomplete == 0 and report.warning is None
    report = check(READERS.format(access=access, last=last, silent=7), count + 1, 1)
    assert len(report.findings) == 1


@pytest.mark.parametrize("copier", [0, 1])
def test_a_copy_reads_global_memory_that_another_block_writes(copier):
    """Blocks that order something: whoever comes second looks up the first."""
    body = f"""
    setp.ne.u32 %p1, %b, {copier};
    @%p1 bra OTHER;
    mov.u32 %r1, words;
    cp.async.ca.shared.global [%r1], [%x], 4;
    cp.async.wait_all;
    bra DONE;
OTHER:
    st.global.u32 [%x], 5;
DONE:
    red.release.gpu.global.add.u32 [%flag], 1;
    ld.acquire.gpu.global.u32 %r4, [%flag];"""
    (finding,) = check(body, 2, 1).findings
    assert finding.kind == "global_race"
    assert (finding.first.op, finding.second.op) == ("load", "store")


RELEASED_BY = {
    "store": "st.release.gpu.global.u32 [%flag], 1;",
    "exchange": "atom.global.release.gpu.exch.b32 %r4, [%flag], 1;",
    "addition": "red.global.release.gpu.add.u32 [%flag], 1;",
    "fence": "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%flag], 1;",
}


@pytest.mark.parametrize("name", RELEASED_BY)
@pytest.mark.parametrize("late", [False, True])
def test_what_comes_behind_a_release_is_not_released(name, late):
    write = "st.global.u32 [%x], 5;"
    body = f"""
    setp.ne.u32 %p1, %b, 0;
    @%p1 bra READ;
    st.global.u32 [%x+64], 5;
    {"" if late else write}
    {RELEASED_BY[name]}
    {write if late else ""}
    exit;
READ:
    ld.acquire.gpu.global.u32 %r1, [%flag];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra READ;
    ld.global.u32 %r2, [%x];"""
    assert kinds(body, 2, 1) == ({"global_race"} if late else set())


# Scopes -------------------------------------------------------------------------------------------

ATOMICS = {  # of both blocks: do they race?
    ("gpu", "gpu"): False,
    ("gpu", "sys"): False,
    ("cta", "cta"): True,
    ("cta", "gpu"): True,
    ("sys", "cta"): True,
    ("cluster", "gpu"): True,  # without clusters a block is its own
}


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("result", ["red", "atom"])
@pytest.mark.parametrize("scopes", ATOMICS, ids="-".join)
def test_atomic_operations_by_scope(monkeypatch, scopes, result, threads):
    monkeypatch.setenv("SMEMKIT_THREADS", threads)
    to = "%r1, " if result == "atom" else ""
    body = f"""
    setp.ne.u32 %p1, %b, 0;
    @%p1 bra OTHER;
    {result}.relaxed.{scopes[0]}.global.add.u32 {to}[%x], 1;
    bra DONE;
OTHER:
    {result}.relaxed.{scopes[1]}.global.add.u32 {to}[%x], 1;
DONE:
    """
    found = check(body, 4, 64).findings
    assert {finding.kind for finding in found} == ({"global_race"} if ATOMICS[scopes] else set())
    assert all("the scope of one of them is its own block" in finding.message for finding in found)
    assert not kinds(body, 1, 64)  # within a block every scope will do
    shared = body.replace(".global", ".shared").replace("[%x]", "[words]")
    found = kinds(f"st.shared.u32 [words], 0;\nbar.sync 0;\n{shared}", 4, 1)
    assert not found


# One block hands x[0] to the other by a flag: what releases, and what acquires.
HANDING = """
    setp.ne.u32 %p1, %lane, 0;
    @%p1 bra DONE;
    setp.ne.u32 %p1, %b, 0;
    @%p1 bra OTHER;
    st.global.u32 [%x], 1;
    {release}
    bra DONE;
OTHER:
WAIT:
    {acquire}
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra WAIT;
    {fence}
    ld.global.u32 %r3, [%x];
DONE:
"""
RELEASES = {
    "st.release.{}.global.u32 [%flag], 1;": 1,
    "fence.acq_rel.{};\n    st.relaxed.{}.global.u32 [%flag], 1;": 2,
    "fence.sc.{};\n    atom.relaxed.{}.global.exch.b32 %r1, [%flag], 1;": 2,
    "atom.release.{}.global.add.u32 %r1, [%flag], 1;": 1,
    "fence.release.{};\n    st.relaxed.{}.global.u32 [%flag], 1;": 2,
    "fence.acquire.gpu;\n    st.relaxed.gpu.global.u32 [%flag], 1;": -1,
    "membar.gl;\n    st.volatile.global.u32 [%flag], 1;": 0,
    "membar.cta;\n    st.volatile.global.u32 [%flag], 1;": -1,
}
ACQUIRES = {
    ("ld.acquire.{}.global.u32 %r2, [%flag];", ""): 1,
    ("ld.relaxed.{}.global.u32 %r2, [%flag];", "fence.acq_rel.{};"): 2,
    ("ld.relaxed.{}.global.u32 %r2, [%flag];", "fence.acquire.{};"): 2,
    ("ld.relaxed.gpu.global.u32 %r2, [%flag];", "fence.release.gpu;"): -1,
    ("ld.volatile.global.u32 %r2, [%flag];", "membar.sys;"): 0,
    ("ld.volatile.global.u32 %r2, [%flag];", "membar.cta;"): -1,
    ("ld.volatile.global.u32 %r2, [%flag];", ""): -1,
    ("atom.acq_rel.{}.global.add.u32 %r2, [%flag], 0;", ""): 1,
}


def spellings(forms):
    """(texts, whether all scopes reach beyond the block) of forms with their places for scopes."""
    for form, places in forms.items():
        texts = (form,) if isinstance(form, str) else form
        if places <= 0:
            yield texts, places == 0
            continue
        for near in range(places + 1):  # which of the places is near; the last: none
            scopes = ["cta" if place == near else "gpu" for place in range(places)]
            filled = [
                text.format(*scopes[i:]) if "{}" in text else text for i, text in enumerate(texts)
            ]
            if len(texts) == 1:
                filled = [texts[0].format(*scopes)]
            yield tuple(filled), near == places


def test_a_flag_orders_blocks_where_all_scopes_reach():
    for (release,), far in spellings(RELEASES):
        for (acquire, fence), wide in spellings(ACQUIRES):
            body = HANDING.format(release=release, acquire=acquire, fence=fence)
            report = check(body, 2, 1)
            lines = body.splitlines()
            start = TEXT.split("{body}")[0].count("\n")
            touched = [
                {lines[side.ptx_line - start - 1] for side in (one.first, one.second)}
                for one in report.findings
            ]
            x = [texts for texts in touched if all("[%x]" in text for text in texts)]
            assert bool(x) == (not (far and wide)), (body, str(report))
            wrong = "fence.acquire" in release or "fence.release" in fence
            words = re.findall(r"\.(cta|gpu)\.global|(volatile)", release + acquire)
            near = "cta" in [scope for scope, _ in words]  # the flag itself races then
            assert any("[%flag]" in text for texts in touched for text in texts) == near, body
            within = body.replace("%b, 0", "%warp, 0")
            if ("volatile" not in acquire or fence) and not wrong:
                assert not kinds(within, 1, 64), within


# A lock, whose fences reach as far as they say.
LOCK = """
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
WAIT:
    atom.relaxed.gpu.global.cas.b32 %r1, [%flag], 0, 1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra WAIT;
    {enter}
    ld.global.u32 %r2, [%x];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%x], %r2;
    {leave}
    {unlock}
DONE:
"""


@pytest.mark.parametrize("enter", ["membar.gl;", "membar.cta;", ""])
@pytest.mark.parametrize("leave", ["membar.gl;", "membar.cta;", ""])
def test_a_lock_needs_fences_that_reach(enter, leave):
    unlock = "atom.relaxed.gpu.global.exch.b32 %r1, [%flag], 0;"
    found = kinds(LOCK.format(enter=enter, leave=leave, unlock=unlock), 3, 32)
    assert found == (set() if enter == leave == "membar.gl;" else {"global_race"})


def test_a_plain_unlock_releases_nothing():
    body = LOCK.format(enter="membar.gl;", leave="membar.gl;", unlock="st.global.u32 [%flag], 0;")
    report = check(body, 3, 32)
    variables = [finding.first.address % 4096 for finding in report.findings]
    assert len(report.findings) >= 2 and len(set(variables)) >= 1  # the word and the lock itself


# Lanes of one warp --------------------------------------------------------------------------------

# The usual lock by each lane in turn, of one bucket for all or of several.
LANES = """
    and.b32 %r9, %t, {buckets};
    mul.wide.u32 %rd2, %r9, 8;
    add.u64 %rd3, %x, %rd2;
    mov.u32 %i, 0;
LOOP:
    atom.global.cas.b32 %r1, [%rd3], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    {enter}
    ld.global.u32 %r2, [%rd3+4];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd3+4], %r2;
    {leave}
    atom.global.exch.b32 %r3, [%rd3], 0;
    mov.u32 %i, 1;
AGAIN:
    setp.eq.u32 %p2, %i, 0;
    @%p2 bra LOOP;
"""
LOCKS = [(1, 32), (1, 64), (3, 32), (2, 96)]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("buckets", [0, 1, 3, 7])
@pytest.mark.parametrize("size", LOCKS, ids=str)
def test_lanes_order_themselves_by_a_lock(size, buckets, space):
    def body(enter, leave):
        text = LANES.format(buckets=buckets, enter=enter, leave=leave)
        if space == "global":
            return text
        shared = text.replace(".global", ".shared").replace("%rd3", "%r8")
        shared = shared.replace("add.u64 %r8, %x, %rd2", "shl.b32 %r8, %r9, 3")
        shared = shared.replace("[%r8", "[%r8").replace("mov.u32 %i, 0;", START, 1)
        return shared

    start = "shl.b32 %r7, %t, 2;\n    mov.u32 %r6, words;\n    add.u32 %r8, %r8, %r6;\n"
    start += "    setp.ge.u32 %p3, %t, 64;\n    add.u32 %r7, %r7, %r6;\n"
    START = start + "    @!%p3 st.shared.u32 [%r7], 0;\n    bar.sync 0;\n    mov.u32 %i, 0;"
    kind = {"global_race"} if space == "global" else {"race", "warp_hazard"}
    assert not check(body("membar.gl;", "membar.gl;"), *size).findings
    for enter, leave in (("", "membar.gl;"), ("membar.gl;", ""), ("", "")):
        found = kinds(body(enter, leave), *size)
        assert found and found <= kind


# Lanes of a warp hand on a word one after another; lane `skipped` does not acquire.
CHAIN = """
    mov.u32 %i, 0;
NEXT:
    setp.ne.u32 %p1, %lane, %i;
    @%p1 bra BEHIND;
    setp.eq.u32 %p2, %lane, {skipped};
    @!%p2 ld.acquire.cta.global.u32 %r1, [%flag];
    ld.global.u32 %r2, [%x];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%x], %r2;
    st.release.cta.global.u32 [%flag], %i;
BEHIND:
    add.u32 %i, %i, 1;
    setp.lt.u32 %p3, %i, 32;
    @%p3 bra NEXT;
"""


@pytest.mark.parametrize("skipped", [1, 2, 15, 31, 99])
def test_each_lane_of_a_chain_counts(skipped):
    report = check(CHAIN.format(skipped=skipped), 1, 32)
    if skipped == 99:
        assert report, str(report)
        return
    threads = {side.thread[0] for one in report.findings for side in (one.first, one.second)}
    assert report.findings and skipped in threads, str(report)


def test_what_a_warp_read_before_it_met_is_not_forgotten():
    """__syncwarp orders the lanes of a warp, not the warps: another one's write still races."""
    body = """
    mov.u32 %r5, words;
    shl.b32 %r6, %lane, 2;
    add.u32 %r7, %r5, %r6;
    st.shared.u32 [%r7], %t;
    bar.sync 0;
    setp.ne.u32 %p1, %warp, 0;
    @%p1 bra OTHER;
    ld.shared.u32 %r1, [%r7];
    bar.warp.sync -1;
    ld.shared.u32 %r2, [%r5];
    bar.warp.sync -1;
    ld.shared.u32 %r2, [%r5+4];
    bar.warp.sync -1;
    and.b32 %r8, %lane, 15;
    shl.b32 %r8, %r8, 2;
    add.u32 %r8, %r5, %r8;
    ld.shared.u32 %r2, [%r8];
    bra DONE;
OTHER:
    st.shared.u32 [%r7], 5;
DONE:
    """.replace("    st.shared.u32 [%r7], %t;", "    @!%p7 st.shared.u32 [%r7], %t;")
    body = "    setp.ne.u32 %p7, %warp, 0;\n" + body
    report = check(body, 1, 64)
    assert {finding.kind for finding in report.findings} == {"race"}
    lines = {side.ptx_line for one in report.findings for side in (one.first, one.second)}
    text = TEXT.format(body=body).splitlines()
    assert any(text[line - 1].strip() == "ld.shared.u32 %r1, [%r7];" for line in lines)


@pytest.mark.parametrize("step", [4, 0])
def test_each_load_of_a_warp_is_named(step):
    """Two loads of the same words, between the same barriers: the store races with either."""
    body = f"""
    mov.u32 %r1, words;
    mad.lo.u32 %r1, %lane, {step}, %r1;
    setp.ne.u32 %p1, %warp, 0;
    @%p1 st.shared.u32 [%r1], 0;
    bar.sync 0;
    @%p1 bra WRITE;
    ld.shared.u32 %r2, [%r1];
    ld.shared.u32 %r3, [%r1];
    exit;
WRITE:
    st.shared.u32 [%r1], 1;"""
    lines = TEXT.format(body=body).split("\n")
    loads = [i for i, line in enumerate(lines, 1) if "ld.shared" in line]
    found = [one for one in check(body, 1, 64).findings if one.kind == "race"]
    assert [one.first.ptx_line for one in found] == loads


@pytest.mark.parametrize(
    "change", ["atom.shared.add.u32 %r2, [words], 1;", "st.volatile.shared.u32 [words], 3;"]
)
def test_a_change_races_with_a_write_that_was_replaced(change):
    """Warp 1 replaces what warp 0 wrote and meets warp 2, which nothing orders behind warp 0."""
    body = f"""
    setp.ne.u32 %p1, %lane, 0;
    @%p1 exit;
    setp.eq.u32 %p2, %warp, 1;
    @%p2 bra SECOND;
    setp.eq.u32 %p3, %warp, 2;
    @%p3 bra THIRD;
    st.shared.u32 [words], 1;
    exit;
SECOND:
    st.shared.u32 [words], 2;
    bar.sync 1, 64;
    exit;
THIRD:
    bar.sync 1, 64;
    {change}"""
    lines = TEXT.format(body=body).split("\n")
    first, second = (lines.index(f"    st.shared.u32 [words], {value};") + 1 for value in (1, 2))
    third = lines.index(f"    {change}") + 1
    found = [(one.first.ptx_line, one.second.ptx_line) for one in check(body, 1, 96).findings]
    assert sorted(found) == [(first, second), (first, third)]


# Writes that another one has replaced ------------------------------------------------------------


def named(body, threads):
    """The pairs of comments, one letter each, of the lines that races are between."""
    lines = TEXT.format(body=body).splitlines()
    found = check(body, 1, threads).findings
    assert {finding.kind for finding in found} == {"race"}
    return {
        "".join(sorted(lines[side.ptx_line - 1][-1] for side in (one.first, one.second)))
        for one in found
    }


def test_a_write_that_another_one_races_with_is_not_forgotten():
    """Warp 2 comes after warp 1's write, and not after warp 0's, which that one has replaced."""
    body = """
    setp.ne.u32 %p1, %lane, 3;
    setp.eq.u32 %p2, %warp, 1;
    @%p2 bra ONE;
    setp.eq.u32 %p2, %warp, 2;
    @%p2 bra TWO;
    @!%p1 st.shared.u32 [words], 1; // A
    bra DONE;
ONE:
    @!%p1 st.shared.u32 [words], 2; // B
    bar.sync 1, 64;
    bra DONE;
TWO:
    bar.sync 1, 64;
    @!%p1 ld.shared.u32 %r1, [words]; // C
DONE:
    """
    assert named(body, 96) == {"AB", "AC"}


@pytest.mark.parametrize("lane", [0, 1, 31])
def test_of_the_writes_of_a_lane_the_last_is_named(lane):
    """Warp 1 writes twice, and warp 2 between and after it; warp 3 comes after what warp 2 does.

    Warp 0 meets warp 2 and then warp 1, so that warp 1's second write comes after warp 2's first.
    """
    body = f"""
    setp.ne.u32 %p1, %lane, {lane};
    setp.eq.u32 %p2, %warp, 1;
    @%p2 bra ONE;
    setp.eq.u32 %p2, %warp, 2;
    @%p2 bra TWO;
    setp.eq.u32 %p2, %warp, 3;
    @%p2 bra THREE;
    bar.sync 2, 64;
    bar.sync 1, 64;
    bra DONE;
ONE:
    @!%p1 st.shared.u32 [words], 1; // A
    bar.sync 1, 64;
    @!%p1 st.shared.u32 [words], 2; // B
    bra DONE;
TWO:
    @!%p1 st.shared.u32 [words], 3; // C
    bar.sync 2, 64;
    @!%p1 st.shared.u32 [words], 4; // D
    bar.sync 3, 64;
    bra DONE;
THREE:
    bar.sync 3, 64;
    @!%p1 ld.shared.u32 %r1, [words]; // E
DONE:
    """
    assert named(body, 128) == {"AC", "BD", "BE"}


def test_loads_before_a_warp_met_are_named_beside_the_later_one():
    """The lane's load behind __syncwarp does not stand for all of those before it."""
    body = """
    setp.ne.u32 %p1, %lane, 3;
    setp.eq.u32 %p2, %t, 0;
    @%p2 st.shared.u32 [words], 0;
    bar.sync 0;
    setp.eq.u32 %p2, %warp, 1;
    @%p2 bra OTHER;
    @!%p1 ld.shared.u32 %r1, [words];
    @!%p1 ld.shared.u32 %r1, [words]; // A
    bar.warp.sync -1;
    @!%p1 ld.shared.u32 %r1, [words]; // B
    bra DONE;
OTHER:
    @!%p1 st.shared.u32 [words], 2; // C
DONE:
    """
    assert named(body, 64) >= {"AC", "BC"}
