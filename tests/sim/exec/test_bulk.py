"""cp.async.bulk: copies between global and shared memory, with an mbarrier or in groups."""

import numpy as np
import pytest

import smemkit

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %rd<32>;
.shared .align 8 .b64 bar; .shared .align 8 .b64 bar2;
.shared .align 128 .b8 tile[8192]; .shared .align 128 .b8 other[8192];
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
mov.u32 %r1, %tid.x; mov.u32 %r2, bar; mov.u32 %r3, tile; mov.u32 %r4, other;
mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
mad.lo.u32 %r5, %r1, 4, %r3; mad.lo.u32 %r6, %r1, 4, %r4;
setp.eq.u32 %p1, %r1, 0; mov.u32 %r7, 512;
"""
N = 128  # threads, and elements of a tile
BYTES = 4 * N
INIT = (
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n@%p1 fence.mbarrier_init.release.cluster;\n"
    "@%p1 fence.proxy.async;\nbar.sync 0;\n"
)
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
EXPECT = f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {BYTES};\n"
WAIT = "W{n}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], {parity};\n@!%p2 bra W{n};\n"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
REVERSED = (
    f"sub.u32 %r8, {4 * N - 4 + 0}, 0; mad.lo.u32 %r9, %r1, 4, 0; sub.u32 %r8, %r8, %r9;\n"
    "add.u32 %r8, %r8, %r3; ld.shared.u32 %r10, [%r8]; st.global.u32 [%rd3], %r10;\n"
)


def make(body):
    return smemkit.RawModule(HEAD + body + "ret;\n}\n", backend="sim").get_function("k")


def launch(body, machine, out=None, values=None, blocks=1, head=HEAD):
    out = np.full(N, 7, np.uint32) if out is None else out
    values = np.arange(4 * N, dtype=np.uint32) * 3 + 1 if values is None else values
    module = smemkit.RawModule(head + body + "ret;\n}\n", backend=machine)
    module.get_function("k")(blocks, N, (out, values), backend=machine)
    return out, values


def find(body):
    out, values = np.zeros(4 * N, np.uint32), np.arange(4 * N, dtype=np.uint32)
    return smemkit.check(make(body), 1, N, (out, values)).findings


def kinds(body):
    return [finding.kind for finding in find(body)]


WAYS = {
    "expected before": EXPECT + f"@%p1 {LOAD} [tile], [%rd2], {BYTES}, [bar];\n",
    "expected behind": f"@%p1 {LOAD} [%r3], [%rd2], %r7, [%r2];\n" + EXPECT,
    "in two pieces": EXPECT
    + f"@%p1 {LOAD} [tile], [%rd2], 16, [bar];\n"
    + f"@%p1 {LOAD} [tile+16], [%rd2+16], {BYTES - 16}, [bar];\n",
    "expected apart": f"@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], {BYTES};\n"
    f"@%p1 {LOAD} [tile], [%rd2], {BYTES}, [bar];\n"
    "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar];\n",
    "by addresses of 64 bits": "mov.u64 %rd8, tile; mov.u64 %rd9, bar;\n"
    + EXPECT
    + f"@%p1 {LOAD} [%rd8], [%rd2], {BYTES}, [%rd9];\n",
    "with a policy": "createpolicy.fractional.L2::evict_first.b64 %rd10;\n"
    + EXPECT
    + f"@%p1 {LOAD}.L2::cache_hint [tile], [%rd2], {BYTES}, [bar], %rd10;\n",
    "completed by hand": f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {BYTES + 48};\n"
    f"@%p1 {LOAD} [tile], [%rd2], {BYTES}, [bar];\n"
    "@%p1 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 48;\n",
    "to the block itself": "cp.async.bulk.prefetch.L2.global [%rd2], 512;\n"
    "mov.u32 %r11, 0;\nmapa.shared::cluster.u32 %r12, tile, %r11;\n"
    "mapa.shared::cluster.u32 %r13, %r2, 0;\ngetctarank.shared::cluster.u32 %r14, %r12;\n"
    "add.u32 %r12, %r12, %r14;\n" + EXPECT + f"@%p1 {LOAD} [%r12], [%rd2], {BYTES}, [%r13];\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tile_arrives(way, machine):
    body = INIT + WAYS[way] + WAIT.format(n=0, parity=0) + REVERSED
    out, values = launch(body, machine)
    np.testing.assert_array_equal(out, values[:N][::-1])
    assert kinds(body) == []


def test_tiles_follow_one_another(machine):
    """Two buffers, whose copies are issued a round ahead of their use."""
    rounds = 4
    body = INIT + "mov.u32 %r15, 0;\n"
    body += EXPECT + f"@%p1 {LOAD} [tile], [%rd2], {BYTES}, [bar];\n"
    for i in range(rounds):
        here, there = ("tile", "other") if i % 2 == 0 else ("other", "tile")
        body += WAIT.format(n=i, parity=i % 2)
        if i + 1 < rounds:
            body += EXPECT + f"@%p1 {LOAD} [{there}], [%rd2+{BYTES * (i + 1)}], {BYTES}, [bar];\n"
        body += f"mad.lo.u32 %r8, %r15, 0, {'%r5' if here == 'tile' else '%r6'};\n"
        body += "ld.shared.u32 %r10, [%r8];\nadd.u32 %r15, %r15, %r10;\nbar.sync 0;\n"
    out, values = launch(body + "st.global.u32 [%rd3], %r15;\n", machine)
    np.testing.assert_array_equal(out, values.reshape(rounds, N).sum(0, dtype=np.uint32))
    assert kinds(body + "st.global.u32 [%rd3], %r15;\n") == []


GATHER = "ld.global.u32 %r10, [%rd4];\nadd.u32 %r10, %r10, 5;\nst.shared.u32 [%r5], %r10;\n"
FENCE = "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
GROUP = f"@%p1 {STORE} [%rd1], [tile], {BYTES};\n@%p1 cp.async.bulk.commit_group;\n"
DRAIN = "@%p1 cp.async.bulk.wait_group 0;\n"


@pytest.mark.parametrize(
    "end", [DRAIN, DRAIN.replace("group ", "group.read ")], ids=["written", "read"]
)
def test_a_tile_is_stored(end, machine):
    body = GATHER + FENCE + GROUP + end
    out, values = launch(body, machine)
    np.testing.assert_array_equal(out, values[:N] + 5)
    assert kinds(body) == []


def test_groups_complete_in_order(machine):
    """The first group is waited for, then its source is used again for the third."""
    body = GATHER + "add.u32 %r10, %r10, 100;\nst.shared.u32 [%r6], %r10;\n" + FENCE
    body += GROUP + GROUP.replace("[%rd1], [tile]", f"[%rd1+{BYTES}], [other]")
    body += "@%p1 cp.async.bulk.wait_group.read 1;\nbar.sync 0;\n"
    body += "add.u32 %r10, %r10, 100;\nst.shared.u32 [%r5], %r10;\n" + FENCE
    body += GROUP.replace("[%rd1]", f"[%rd1+{2 * BYTES}]") + DRAIN
    out, values = launch(body, machine, out=np.zeros(3 * N, np.uint32))
    np.testing.assert_array_equal(out, np.concatenate([values[:N] + 5 + 100 * i for i in range(3)]))
    assert kinds(body) == []


def test_from_shared_to_shared_memory(machine):
    """Without clusters an H200 calls the instruction illegal; here a block is one."""
    body = INIT + GATHER + FENCE + EXPECT
    body += "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
    body += f"[other], [tile], {BYTES}, [bar];\n" + WAIT.format(n=0, parity=0)
    body += "ld.shared.u32 %r10, [%r6];\nst.global.u32 [%rd3], %r10;\n"
    out, values = launch(body, machine, head=HEAD.replace(")\n{", ")\n.reqnctapercluster 1\n{"))
    np.testing.assert_array_equal(out, values[:N] + 5)
    assert kinds(body) == []


REDUCTIONS = {
    "add.u32": (np.uint32, lambda a, b: a + b),
    "add.s32": (np.int32, lambda a, b: a + b),
    "add.u64": (np.uint64, lambda a, b: a + b),
    "add.f32": (np.float32, lambda a, b: a + b),
    "add.f64": (np.float64, lambda a, b: a + b),
    "add.noftz.f16": (np.float16, lambda a, b: a + b),
    "min.u32": (np.uint32, np.minimum),
    "max.s32": (np.int32, np.maximum),
    "min.s64": (np.int64, np.minimum),
    "max.u64": (np.uint64, np.maximum),
    "min.f16": (np.float16, np.minimum),
    "max.f16": (np.float16, np.maximum),
    "and.b32": (np.uint32, np.bitwise_and),
    "or.b64": (np.uint64, np.bitwise_or),
    "xor.b32": (np.uint32, np.bitwise_xor),
    "inc.u32": (np.uint32, lambda a, b: np.where(a >= b, 0, a + 1)),
    "dec.u32": (np.uint32, lambda a, b: np.where((a == 0) | (a > b), b, a - 1)),
}
COPY_IN = "ld.global.u32 %r10, [%rd4];\nst.shared.u32 [%r5], %r10;\n" + FENCE


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, machine):
    dtype, function = REDUCTIONS[name]
    rng = np.random.default_rng(len(name))
    before, values = (
        rng.integers(
            -40 if np.dtype(dtype).kind != "u" else 0, 40, BYTES // np.dtype(dtype).itemsize
        ).astype(dtype)
        for _ in range(2)
    )
    out = before.copy()
    body = COPY_IN + GROUP.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    body = body.replace("bulk_group [", f"bulk_group.{name} [") + DRAIN
    launch(body, machine, out, values)
    np.testing.assert_array_equal(out, function(before, values).astype(dtype))


def test_reductions_of_many_blocks(machine):
    body = COPY_IN + GROUP.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    body = body.replace("bulk_group [", "bulk_group.add.u32 [") + DRAIN
    out, values = launch(body, machine, blocks=50, out=np.zeros(N, np.uint32))
    np.testing.assert_array_equal(out, 50 * values[:N])
    report = smemkit.check(make(body), 50, N, (np.zeros(N, np.uint32), values))
    assert report.findings == []


@pytest.mark.parametrize("name", ["add.u32", "max.s32", "xor.b32", "inc.u32"])
def test_reductions_in_shared_memory(name):
    dtype, function = REDUCTIONS[name]
    rng = np.random.default_rng(len(name))
    before, values = (rng.integers(0, 40, N).astype(dtype) for _ in range(2))
    out = before.copy()
    body = INIT + "ld.global.u32 %r10, [%rd3];\nst.shared.u32 [%r6], %r10;\n" + COPY_IN + EXPECT
    body += "@%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes."
    body += f"{name} [other], [tile], {BYTES}, [bar];\n" + WAIT.format(n=0, parity=0)
    body += "ld.shared.u32 %r10, [%r6];\nst.global.u32 [%rd3], %r10;\n"
    launch(body, "sim", out, values)
    np.testing.assert_array_equal(out, function(before, values).astype(dtype))
    assert kinds(body) == []


# The simulator alone -----------------------------------------------------------------------------


def test_a_copy_lands_when_a_thread_waits():
    """Without a wait the tile holds what was in it."""
    body = INIT + "st.shared.u32 [%r5], %r1;\nbar.sync 0;\n" + WAYS["expected before"] + REVERSED
    out, _ = launch(body, "sim")
    np.testing.assert_array_equal(out, np.arange(N, dtype=np.uint32)[::-1])


def test_a_copy_of_no_bytes():
    body = INIT + "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nmov.u32 %r7, 0;\n"
    body += "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 0;\n"
    body += f"@%p1 {LOAD} [tile], [%rd2], %r7, [bar];\n" + WAIT.format(n=0, parity=0) + REVERSED
    out, _ = launch(body, "sim")
    np.testing.assert_array_equal(out, np.arange(N, dtype=np.uint32)[::-1])
    assert kinds(body) == []


def test_bytes_that_a_mask_leaves_out():
    body = COPY_IN + "mov.u16 %h1, 0xf0f0;\n" + GROUP.replace("bulk_group ", "bulk_group.cp_mask ")
    body = body.replace(
        f"{BYTES};\n@%p1 cp.async.bulk.commit", f"{BYTES}, %h1;\n@%p1 cp.async.bulk.commit"
    )
    text = (HEAD + body + DRAIN + "ret;\n}\n").replace("sm_90", "sm_100")
    out, values = np.full(N, 7, np.uint32), np.arange(N, dtype=np.uint32)
    smemkit.RawModule(text, backend="sim").get_function("k")(1, N, (out, values), backend="sim")
    np.testing.assert_array_equal(out, np.where(np.arange(N) % 2 == 1, values, 7))


def test_a_test_that_is_not_repeated():
    """test_wait does not wait: the first one finds the copy under way."""
    body = INIT + WAYS["expected before"]
    body += "mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\nselp.u32 %r10, 1, 0, %p2;\n"
    body += (
        "mbarrier.test_wait.parity.shared::cta.b64 %p3, [bar], 0;\n@%p3 add.u32 %r10, %r10, 2;\n"
    )
    out, _ = launch(body + "st.global.u32 [%rd3], %r10;\n", "sim")
    assert set(out[:32].tolist()) == {2}


def test_a_guarded_test_waits_too():
    body = INIT + WAYS["expected before"] + "setp.ne.u32 %p4, %r1, 0;\n@%p1 bra HERE;\nbra DONE;\n"
    body += (
        "HERE:\n@!%p4 mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra HERE;\n"
    )
    body += "DONE:\nbar.sync 0;\n" + REVERSED
    out, values = launch(body, "sim")
    np.testing.assert_array_equal(out, values[:N][::-1])
    assert kinds(body) == []


ERRORS = {
    "size": (
        "mov.u32 %r7, 24;\n" + f"@%p1 {LOAD} [tile], [%rd2], %r7, [bar];\n",
        smemkit.ExecutionError,
        "a multiple of 16 bytes, not 24",
    ),
    "source": (
        f"@%p1 {LOAD} [tile], [%rd2+4], 16, [bar];\n",
        smemkit.MisalignedError,
        "of 16 bytes from 0x.*4: the address is not a multiple of 16",
    ),
    "target": (
        f"@%p1 {LOAD} [tile+8], [%rd2], 32, [bar];\n",
        smemkit.MisalignedError,
        "of 32 bytes to 0x.*8: the address is not a multiple of 16",
    ),
    "end of the source": (
        f"@%p1 {LOAD} [tile], [%rd2], {16 * N + 16}, [bar];\n",
        smemkit.OutOfBoundsError,
        "load of 16 bytes",
    ),
    "end of the target": (
        f"@%p1 {LOAD} [other+8064], [%rd2], 256, [bar];\n",
        smemkit.OutOfBoundsError,
        "store of 16 bytes",
    ),
    "mbarrier": (
        f"@%p1 {LOAD} [tile], [%rd2], 16, [bar+4];\n",
        smemkit.MisalignedError,
        "atomic operation of 8 bytes",
    ),
    "blocks": (
        f"mov.u16 %h1, 3;\n@%p1 {LOAD}.multicast::cluster [tile], [%rd2], 16, [bar], %h1;\n",
        smemkit.ExecutionError,
        "the blocks 0x3 of a cluster",
    ),
    "underflow": (
        f"@%p1 mbarrier.complete_tx.shared.b64 [bar], 1048000;\n"
        f"@%p1 {LOAD} [tile], [%rd2], 1024, [bar];\n" + WAIT.format(n=0, parity=0),
        smemkit.ExecutionError,
        "expects -1048000 bytes, and counts down to -1048575",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    body, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        launch(INIT + body, "sim")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{LOAD} [tile], [%rd2], 24, [bar];", "a multiple of 16 bytes, not 24"),
        ("cp.async.bulk.prefetch.L2.global [%rd2], 8;", "a multiple of 16 bytes, not 8"),
        (
            "cp.async.bulk.shared::cta.global.bulk_group [%rd2], [tile], 16;",
            "names the space of the target, '.global', before that of the source",
        ),
    ],
)
def test_what_ptxas_refuses(line, message):
    with pytest.raises(smemkit.PtxError, match=message):
        launch(line + "\n", "sim")


def test_tiles_of_tensors_are_refused():
    line = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
    with pytest.raises(smemkit.UnsupportedError, match="cp.async.bulk.tensor"):
        launch(f"{line} [tile], [%rd2, {{%r1, %r1}}], [bar];\n", "sim")


# Faults that check finds -------------------------------------------------------------------------

READY = INIT + WAYS["expected before"]
ONE_WAITS = "@!%p1 bra DONE;\n" + WAIT.format(n=0, parity=0) + "DONE:\n"
FAULTS = {
    "nobody waits": (READY + REVERSED, ["async_read", "race", "warp_hazard"]),
    "nobody waits, behind a barrier": (READY + "bar.sync 0;\n" + REVERSED, ["async_read"]),
    "one thread waits": (READY + ONE_WAITS + REVERSED, ["race", "warp_hazard"]),
    "a wait for another phase": (
        READY + WAIT.format(n=0, parity=1) + REVERSED,
        ["async_read", "race", "warp_hazard"],
    ),
    "a wait for another mbarrier": (
        INIT
        + "@%p1 mbarrier.init.shared::cta.b64 [bar2], 1;\nbar.sync 0;\n"
        + WAYS["expected before"]
        + f"@%p1 {LOAD} [other], [%rd2], 16, [bar2];\n"
        + "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar2], 16;\n"
        + WAIT.format(n=0, parity=0).replace("[bar]", "[bar2]")
        + "bar.sync 0;\n"
        + REVERSED,
        ["async_read"],
    ),
    "a store into the target": (
        READY + "bar.sync 0;\nst.shared.u32 [%r5], %r1;\n" + WAIT.format(n=0, parity=0),
        ["async_read"],
    ),
    "a store into the source": (
        GATHER + FENCE + GROUP + "bar.sync 0;\nst.shared.u32 [%r5], %r1;\nbar.sync 0;\n" + DRAIN,
        ["async_read"],
    ),
    "a store into the source, by its thread": (
        GATHER + FENCE + GROUP + "@%p1 st.shared.u32 [%r5], %r1;\n" + DRAIN,
        ["async_read"],
    ),
    "only the read is waited for": (
        GATHER
        + FENCE
        + GROUP
        + "@%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\nld.global.u32 %r10, [%rd3];\n"
        + "st.global.u32 [%rd3+512], %r10;\n",
        ["async_read"],
    ),
    "an mbarrier without a value": (
        f"@%p1 {LOAD} [tile], [%rd2], {BYTES}, [bar];\n",
        ["uninitialized"],
    ),
    "behind the end of the source": (
        INIT + f"@%p1 {LOAD} [tile], [%rd2], {16 * N + 16}, [bar];\n",
        ["out_of_bounds"],
    ),
    "from memory that nobody has written": (
        f"@%p1 {STORE} [%rd1], [tile], {BYTES};\n@%p1 cp.async.bulk.commit_group;\n" + DRAIN,
        ["uninitialized"],
    ),
}
CURES = {
    "one thread waits, then a barrier": READY + ONE_WAITS + "bar.sync 0;\n" + REVERSED,
    "waited for, then written": READY
    + WAIT.format(n=0, parity=0)
    + "st.shared.u32 [%r5], %r1;\nbar.sync 0;\n"
    + REVERSED,
    "the write is waited for": GATHER
    + FENCE
    + GROUP
    + "@%p1 cp.async.bulk.wait_group 0;\nbar.sync 0;\nld.global.u32 %r10, [%rd3];\n"
    + "st.global.u32 [%rd3+512], %r10;\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name):
    body, expected = FAULTS[name]
    assert sorted(set(kinds(body))) == expected


@pytest.mark.parametrize("name", CURES)
def test_cures_are_not(name):
    assert kinds(CURES[name]) == []
