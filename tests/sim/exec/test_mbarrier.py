"""mbarrier: counts of arrivals in shared memory, as cuda::barrier and cuda::pipeline use them."""

import numpy as np
import pytest

import smemkit

HEAD = """.version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;
.shared .align 8 .b64 bar;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
mov.u32 %r1, %tid.x; mov.u32 %r2, bar;
mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
setp.eq.u32 %p1, %r1, 0;
"""
OF_CLUSTER = HEAD.replace(")\n{", ")\n.reqnctapercluster 1\n{")
START = "@%p1 mbarrier.init.shared.b64 [bar], {count};\nbar.sync 0;\n"
WAIT = {
    "state": "mbarrier.arrive.shared.b64 %rd9, [bar];\n"
    "W{n}: mbarrier.test_wait.shared.b64 %p2, [bar], %rd9;\n@!%p2 bra W{n};\n",
    "try": "mbarrier.arrive.release.cta.shared::cta.b64 %rd9, [%r2];\n"
    "W{n}: mbarrier.try_wait.acquire.cta.shared::cta.b64 %p2, [%r2], %rd9, 1000;\n"
    "@!%p2 bra W{n};\n",
    "parity": "mbarrier.arrive.shared.b64 _, [bar];\n"
    "W{n}: mbarrier.try_wait.parity.shared.b64 %p2, [bar], {parity};\n@!%p2 bra W{n};\n",
}
REVERSE = (
    "ld.global.u32 %r5, [%rd4];\nmov.u32 %r6, tile;\nmad.lo.u32 %r7, %r1, 4, %r6;\n"
    "st.shared.u32 [%r7], %r5;\n{wait}xor.b32 %r8, %r1, {mask};\nmad.lo.u32 %r8, %r8, 4, %r6;\n"
    "ld.shared.u32 %r5, [%r8];\nst.global.u32 [%rd3], %r5;\n"
)


def launch(body, machine, n=128, arrays=None, head=HEAD):
    out = np.zeros(n, np.uint32)
    values = np.arange(n, dtype=np.uint32) * 3 + 1 if arrays is None else arrays
    text = head + body + "ret;\n}\n"
    smemkit.RawModule(text, backend=machine).get_function("k")(1, n, (out, values), backend=machine)
    return out, values


@pytest.mark.parametrize("way", WAIT)
@pytest.mark.parametrize("n", [32, 128, 1024])
def test_all_arrive_and_wait(way, n, machine):
    """Each thread reads what a thread of another warp has written."""
    wait = WAIT[way].format(n=0, parity=0)
    body = START.format(count=n) + REVERSE.format(wait=wait, mask=n - 1)
    out, values = launch(body, machine, n)
    np.testing.assert_array_equal(out, values[::-1])
    text = HEAD + body + "ret;\n}\n"
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    assert smemkit.check(kernel, 1, n, (out, values)).findings == []


@pytest.mark.parametrize("way", WAIT)
def test_phases_follow_one_another(way, machine):
    """Sums that each thread of a ring takes from its neighbour, 20 times over."""
    n, rounds = 64, 20
    loop = [
        f"ld.global.u32 %r5, [%rd4];\nmov.u32 %r6, tile;\nmad.lo.u32 %r7, %r1, 4, %r6;\n"
        f"add.u32 %r8, %r1, 1;\nand.b32 %r8, %r8, {n - 1};\nmad.lo.u32 %r8, %r8, 4, %r6;\n"
    ]
    for i in range(rounds):
        loop.append("st.shared.u32 [%r7], %r5;\n" + WAIT[way].format(n=2 * i, parity=0))
        loop.append("ld.shared.u32 %r9, [%r8];\nadd.u32 %r5, %r5, %r9;\n")
        loop.append(WAIT[way].format(n=2 * i + 1, parity=1))
    body = START.format(count=n) + "".join(loop) + "st.global.u32 [%rd3], %r5;\n"
    out, values = launch(body, machine, n)
    for _ in range(rounds):
        values = values + np.roll(values, -1)
    np.testing.assert_array_equal(out, values)


def test_a_missing_wait_is_a_race():
    body = START.format(count=128) + REVERSE.format(
        wait="mbarrier.arrive.shared.b64 %rd9, [bar];\n", mask=127
    )
    kernel = smemkit.RawModule(HEAD + body + "ret;\n}\n", backend="sim").get_function("k")
    arrays = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    kinds = [finding.kind for finding in smemkit.check(kernel, 1, 128, arrays).findings]
    assert kinds == ["race"]


def test_a_barrier_that_nobody_completes():
    body = START.format(count=129) + WAIT["state"].format(n=0)
    with pytest.raises(smemkit.DeadlockError):
        launch(body, "sim")


def test_relaxed_waits_order_nothing():
    wait = WAIT["try"].replace("release", "relaxed").replace("acquire", "relaxed").format(n=0)
    body = START.format(count=128) + REVERSE.format(wait=wait, mask=127)
    kernel = smemkit.RawModule(HEAD + body + "ret;\n}\n", backend="sim").get_function("k")
    arrays = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    assert smemkit.check(kernel, 1, 128, arrays).findings != []


COUNTS = {
    # arrivals by hand of one thread, and what pending_count says before each
    "one by one": ("4", ["mbarrier.arrive.shared.b64 %rd9, [bar];"] * 5, [4, 3, 2, 1, 4]),
    "several at once": ("6", ["mbarrier.arrive.shared.b64 %rd9, [bar], 2;"] * 4, [6, 4, 2, 6]),
    "in a register": ("%r10", ["mbarrier.arrive.shared.b64 %rd9, [bar], %r11;"] * 3, [9, 6, 3]),
    "dropped": (
        "4",
        ["mbarrier.arrive_drop.shared.b64 %rd9, [bar];"]
        + ["mbarrier.arrive.shared.b64 %rd9, [bar];"] * 7,
        [4, 3, 2, 1, 3, 2, 1, 3],
    ),
    "without completion": (
        "3",
        ["mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 2;"]
        + ["mbarrier.arrive.shared.b64 %rd9, [bar];"] * 2,
        [3, 1, 3],
    ),
    "generic": ("2", ["mbarrier.arrive.b64 %rd9, [%rd10];"] * 3, [2, 1, 2]),
}


@pytest.mark.parametrize("name", COUNTS)
def test_pending_counts(name, machine):
    count, steps, expected = COUNTS[name]
    body = (
        "mov.u32 %r10, 9;\nmov.u32 %r11, 3;\nmov.u64 %rd10, bar;\ncvta.shared.u64 %rd10, %rd10;\n"
    )
    body += f"mbarrier.init.shared.b64 [bar], {count};\n"
    for i, step in enumerate(steps):
        body += (
            f"{step}\nmbarrier.pending_count.b64 %r5, %rd9;\nst.global.u32 [%rd1+{4 * i}], %r5;\n"
        )
    out, _ = launch("@!%p1 bra END;\n" + body + "mbarrier.inval.shared.b64 [bar];\nEND:\n", machine)
    assert out[: len(expected)].tolist() == expected


def test_guards(machine):
    """Lanes whose guard is false neither arrive nor get a result."""
    body = START.format(count=17) + (
        "setp.lt.u32 %p3, %r1, 16;\nmov.u64 %rd9, 0;\nsetp.ne.u32 %p2, %r1, %r1;\n"
        "@%p3 mbarrier.arrive.shared.b64 %rd9, [bar];\nbar.sync 0;\n"
        "@%p1 mbarrier.arrive.shared.b64 %rd11, [bar];\nbar.sync 0;\n"
        "@!%p3 mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
        "selp.u32 %r5, 1, 0, %p2;\nst.global.u32 [%rd3], %r5;\n"
    )
    out, _ = launch(body, machine, 64)
    assert out.tolist() == [0] * 16 + [1] * 48


COPY = (
    "mov.u32 %r6, tile;\nmad.lo.u32 %r7, %r1, 4, %r6;\n"
    "cp.async.ca.shared.global [%r7], [%rd4], 4;\n{arrive}"
    "W0: mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra W0;\n"
    "xor.b32 %r8, %r1, 127;\nmad.lo.u32 %r8, %r8, 4, %r6;\n"
    "ld.shared.u32 %r5, [%r8];\nst.global.u32 [%rd3], %r5;\n"
)


@pytest.mark.parametrize(
    "arrive",
    [
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n",
        "cp.async.mbarrier.arrive.noinc.b64 [%r2];\n",
        "cp.async.mbarrier.arrive.shared.b64 [bar];\nmbarrier.arrive.shared.b64 %rd9, [bar];\n",
    ],
    ids=["noinc", "unnamed", "inc"],
)
def test_copies_arrive(arrive, machine):
    body = START.format(count=128) + COPY.format(arrive=arrive)
    out, values = launch(body, machine)
    np.testing.assert_array_equal(out, values[::-1])
    kernel = smemkit.RawModule(HEAD + body + "ret;\n}\n", backend="sim").get_function("k")
    assert smemkit.check(kernel, 1, 128, (out, values)).findings == []


TRANSACTIONS = {
    # arrivals and bytes by hand of one thread, and whether the first phase is complete behind them
    "expected, then completed": ("arrive.expect_tx _ 48", "complete_tx 48", True),
    "completed, then expected": ("complete_tx 48", "arrive.expect_tx _ 48", True),
    "some are missing": ("arrive.expect_tx _ 48", "complete_tx 32", False),
    "expected apart": ("expect_tx 1048575", "complete_tx 1048575", "arrive _", True),
    "in several steps": (
        "expect_tx 16",
        "arrive.expect_tx _ 32",
        "complete_tx 40",
        "complete_tx 8",
        True,
    ),
    "an arrival is missing": ("expect_tx 16", "complete_tx 16", False),
    "dropped": ("arrive_drop.expect_tx _ 16", "complete_tx 16", True),
    "none": ("arrive.expect_tx _ 0", True),
}


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_transactions(name, machine):
    *steps, complete = TRANSACTIONS[name]
    body = "mbarrier.init.shared.b64 [bar], 1;\n"
    for step in steps:
        word, *operands = step.split()
        state = ["%rd9"] if "_" in operands else []
        numbers = [operand for operand in operands if operand != "_"]
        body += f"mbarrier.{word}.shared.b64 {', '.join([*state, '[bar]', *numbers])};\n"
    body += "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\nselp.u32 %r5, 1, 0, %p2;\n"
    body += "st.global.u32 [%rd1], %r5;\n"
    out, _ = launch("@!%p1 bra END;\n" + body + "END:\n", machine)
    assert out[0] == complete


def test_bytes_in_registers_and_phases(machine):
    """Ten phases, each of a warp whose lanes expect what one of them completes."""
    n = 32
    body = START.format(count=n) + "mov.u32 %r10, 0;\nmul.lo.u32 %r11, %r1, 3;\n"
    for i in range(10):
        body += "mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], %r11;\n"
        body += f"@%p1 mbarrier.complete_tx.shared.b64 [bar], {3 * n * (n - 1) // 2};\n"
        body += f"W{i}: mbarrier.try_wait.parity.shared.b64 %p2, [bar], {i % 2};\n@!%p2 bra W{i};\n"
        body += "add.u32 %r10, %r10, 1;\n"
    out, _ = launch(body + "st.global.u32 [%rd3], %r10;\n", machine, n)
    assert out.tolist() == [10] * n


STORES = {
    "b32": ("st.async.weak", "b32 [%r7], %r5", 4),
    "v4": ("st.async", "v4.b32 [%r7], {%r5, %r5, %r5, %r5}", 16),
    "sum": ("red.async.relaxed.cluster", "add.u32 [%r7], %r5", 4),
}


@pytest.mark.parametrize("name", STORES)
def test_stores_that_count_bytes(name, machine):
    """Each thread stores to the cell of another thread, which waits for the bytes."""
    word, rest, step = STORES[name]
    n = 64
    body = START.format(count=1) + "ld.global.u32 %r5, [%rd4];\nmov.u32 %r6, tile;\n"
    body += f"xor.b32 %r8, %r1, {n - 1};\nmad.lo.u32 %r7, %r8, {step}, %r6;\n"
    body += f"mad.lo.u32 %r9, %r1, {step}, %r6;\nst.shared.u32 [%r9], 0;\nbar.sync 0;\n"
    body += f"@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], {n * step};\n"
    body += f"{word}.shared::cluster.mbarrier::complete_tx::bytes.{rest}, [bar];\n"
    body += "W0: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra W0;\n"
    body += "ld.shared.u32 %r5, [%r9];\nst.global.u32 [%rd3], %r5;\n"
    out, values = launch(body, machine, n, head=OF_CLUSTER)
    np.testing.assert_array_equal(out, values[::-1])
    kernel = smemkit.RawModule(OF_CLUSTER + body + "ret;\n}\n", backend="sim").get_function("k")
    assert smemkit.check(kernel, 1, n, (out, values)).findings == []
