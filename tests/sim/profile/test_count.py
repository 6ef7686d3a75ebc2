"""What profile counts, by kernels small enough to count by hand: instructions, lines, blocks."""

import re

import numpy as np
import pytest
from read_tables import read_rows
from sim.profile.count_tools import ROWS, SUMS, check, check_absent, check_sums, profile
from support.handmade import build

import smemkit
from smemkit import _core

# The table ---------------------------------------------------------------------------------------


def test_rows():
    names = [
        row["name"] for row in read_rows("sim/profile/counters.def", "SMK_COUNTER", "SMK_RATIO")
    ]
    assert names == list(ROWS) and len(set(names)) == len(names) > 40
    assert len(SUMS) < len(ROWS)
    for name, row in ROWS.items():
        assert row.keys() == {"name", "unit", "ncu", "meaning", "ratio"}
        assert re.fullmatch(r"[a-z]+(\.[a-z_]+){1,2}", name)
        assert row["unit"] and row["meaning"] and row["name"] == name
        for metric in filter(None, row["ncu"].split("+")):
            suffix = r"\.(ratio|pct)" if row["ratio"] else r"\.sum"
            assert re.fullmatch(r"(smsp|l1tex)__[a-z0-9_]+" + suffix, metric)


@pytest.mark.parametrize("name", sorted(set(ROWS) - SUMS))
def test_ratios_without_a_divisor_are_none(name):
    launch = profile(build(""))
    value = launch["counters"][name]
    assert value is None or name == "instructions.active_lanes"


# Variables in shared memory ----------------------------------------------------------------------


def test_shared_variables_are_listed_in_the_order_of_the_text():
    """However the modules lie in memory of the host, where each function has its own table."""
    heads = [f".shared .align 4 .b8 s{i}[{4 + 4 * i}];" for i in range(9)]
    text = (
        ".version 7.0\n.target sm_75\n.address_size 64\n.extern .shared .align 16 .b8 arena[];\n"
        + "\n".join(f".func f{i}()\n{{\n{head}\nret;\n}}" for i, head in enumerate(heads))
        + "\n.visible .entry k()\n{\n.reg .b32 %r<2>;\n.shared .b32 last;\nmov.u32 %r1, arena;\n"
        + "\n".join(f"call f{i}, ();" for i in reversed(range(9)))
        + "\nret;\n}\n"
    )
    kept = []
    for _ in range(20):
        kept.append(smemkit.RawModule(text, backend="sim"))
        kernel = kept[-1].get_function("k")
        _, (launch,) = _core._capture("profile", kernel, (1, 32, ()), {"backend": "sim"}, 0, True)
        names = [name for name, _, _ in launch["shared"]]
        assert names == ["arena", *(f"s{i}" for i in range(9)), "last"]


# Instructions, guards, loops, calls --------------------------------------------------------------


def test_instructions():
    launch = profile(build("mov.u32 %r1, 1;\n add.u32 %r1, %r1, 1;"), grid=3, block=48)
    # three instructions (with ret), three blocks of two warps with 48 threads
    check(launch, "instructions", warp=3 * 3 * 2, thread=3 * 3 * 48)
    assert launch["counters"]["instructions.active_lanes"] == 24.0
    assert launch["blocks"] == launch["blocks_total"] == 3
    assert _core._run_stats()["steps"] == 18


def test_guard():
    launch = profile(
        build(
            """
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 5;
    @%p1 add.u32 %r2, %r1, 1;
    @!%p1 add.u32 %r2, %r1, 2;"""
        )
    )
    check(launch, "instructions", warp=5, thread=32 + 32 + 5 + 27 + 32)
    by_line = {one["ptx"]: one["counters"] for one in launch["instructions"]}
    assert by_line["@%p1 add.u32 %r2, %r1, 1;"] == {
        "instructions.warp": 1,
        "instructions.thread": 5,
    }


def test_guard_without_lanes():
    launch = profile(
        build(
            """
    .shared .align 4 .b8 s[128];
    setp.ne.u32 %p1, 0, 0;
    @%p1 ld.shared.u32 %r1, [s];
    @%p1 st.shared.u32 [s], %r1;"""
        )
    )
    check(launch, "instructions", warp=4, thread=64)
    check_absent(launch, "shared")


def test_loop():
    launch = profile(
        build(
            """
    mov.u32 %r1, 0;
again:
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 10;
    @%p1 bra again;"""
        ),
        grid=2,
    )
    check(launch, "instructions", warp=2 * (1 + 30 + 1), thread=2 * 32 * (1 + 20 + 1) + 2 * 32 * 9)
    check(launch, "branch", instructions=20, uniform=20)
    assert launch["counters"]["branch.efficiency"] == 100.0


def test_loop_of_each_lanes_own_length():
    launch = profile(
        build(
            """
    mov.u32 %r2, %tid.x;
    mov.u32 %r1, 0;
again:
    add.u32 %r1, %r1, 1;
    setp.le.u32 %p1, %r1, %r2;
    @%p1 bra again;"""
        )
    )
    # round i (from 1) has the lanes i - 1 and above; lane i - 1 leaves, and the last round has one
    lanes = sum(range(1, 33))
    check(launch, "instructions", warp=2 + 3 * 32 + 1, thread=64 + 2 * lanes + (lanes - 32) + 32)
    check(launch, "branch", instructions=32, divergent=31, uniform=1)
    assert launch["counters"]["branch.efficiency"] == 100 / 32


def test_divergence():
    launch = profile(
        build(
            """
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra even;
    add.u32 %r3, %r1, 1;
    bra.uni join;
even:
    add.u32 %r3, %r1, 2;
join:
    add.u32 %r3, %r3, 1;"""
        ),
        block=64,
    )
    # a warp: 3 + branch, both ways with half of the lanes (2 and 1), then 2 together
    check(launch, "instructions", warp=2 * 9, thread=2 * (3 * 32 + 16 + 2 * 16 + 16 + 2 * 32))
    check(launch, "branch", instructions=4, divergent=2, uniform=2)
    assert launch["counters"]["branch.efficiency"] == 50.0


def test_early_exit():
    launch = profile(
        build(
            """
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, 20;
    @%p1 exit;
    add.u32 %r1, %r1, 1;"""
        )
    )
    check(launch, "instructions", warp=5, thread=32 + 32 + 12 + 20 + 20)


def test_branch_table():
    launch = profile(
        build(
            """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 4;
table: .branchtargets first, second;
    brx.idx %r2, table;
first:
    bra.uni join;
second:
    add.u32 %r1, %r1, 1;
join:"""
        )
    )
    check(launch, "branch", instructions=2, divergent=1, uniform=1)


def test_call():
    launch = profile(
        build(
            """
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 8;
    {
    .param .b32 x;
    .param .b32 y;
    st.param.b32 [x], %r1;
    @%p1 call (y), twice, (x);
    ld.param.b32 %r3, [y];
    }""",
            before="""
.func (.param .b32 y) twice(.param .b32 x)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [y], %r2;
    ret;
}""",
        )
    )
    check(launch, "instructions", warp=10, thread=3 * 32 + 8 + 4 * 8 + 2 * 32)
    assert {one["function"] for one in launch["instructions"]} == {"k", "twice"}
    check_absent(launch, "shared", "global", "local")


def test_barriers():
    launch = profile(
        build("bar.sync 0;\n bar.sync 0;\n bar.warp.sync 0xffffffff;"), block=96, grid=2
    )
    check(launch, "barrier", count=2 * 3 * 2)


# Lines -------------------------------------------------------------------------------------------


def test_source_lines():
    text = build(
        """
    .loc 1 10 1
    mov.u32 %r1, 1;
    .loc 2 3 1
    mov.u32 %r2, 2;
    .loc 1 9 1
    mov.u32 %r3, 3;
    .loc 1 10 5
    mov.u32 %r4, 4;""",
        header='.version 7.8\n.target sm_75\n.address_size 64\n.file 1 "a.cu"\n.file 2 "b.cuh"\n',
    )
    launch = profile(text)
    lines = [
        (line["file"], line["line"], line["counters"]["instructions.warp"])
        for line in launch["lines"]
    ]
    assert lines == [("a.cu", 9, 1), ("a.cu", 10, 3), ("b.cuh", 3, 1)]  # ret goes with the last


def test_without_source_lines():
    launch = profile(build("mov.u32 %r1, 1;"))
    ((file, line, count),) = [
        (line["file"], line["line"], line["counters"]["instructions.warp"])
        for line in launch["lines"]
    ]
    assert (file, line, count) == (None, None, 2)


def test_only_what_ran_is_listed():
    text = build("bra.uni over;\n mov.u32 %r1, 1;\nover:\n mov.u32 %r2, 2;")
    launch = profile(text)
    assert [one["ptx"] for one in launch["instructions"]] == [
        "bra.uni over;",
        "mov.u32 %r2, 2;",
        "ret;",
    ]
    assert launch["ptx"] == text
    for one in launch["instructions"]:
        assert text.split("\n")[one["ptx_line"] - 1].strip() == one["ptx"]
        assert one["role"] == "alone"


# Blocks and host threads -------------------------------------------------------------------------

# Block b reads with a step of b % 7 words; block 6, 13, ... cost most.
MANY = """
    .shared .align 16 .b8 s[1024];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    rem.u32 %r3, %r2, 7;
    mul.lo.u32 %r4, %r3, %r1;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    {load} %r5, [%rd3];
    mov.u32 %r6, s;
    mad.lo.u32 %r6, %r4, 4, %r6;
    setp.gt.u32 %p1, %r4, 250;
    @!%p1 st.shared.u32 [%r6], %r5;"""


def run_many(load_word, **options):
    text = build(MANY.format(load=load_word), ".param .u64 data")
    launch = profile(text, np.zeros(256, np.uint32), grid=301, **options)
    for sample in launch["samples"]:
        start = int(sample["addresses"][0])
        sample["addresses"] = [int(a) - start if a else 0 for a in sample["addresses"]]
    return launch, _core._run_stats()["threads"]


def test_independent_of_host_threads():
    several, _ = run_many("ld.global.u32")
    one, threads = run_many("ld.volatile.global.u32")  # then blocks run in order, on one thread
    assert threads == 1
    for name in ("counters", "samples"):
        assert several[name] == one[name]
    assert [i["counters"] for i in several["instructions"]] == [
        i["counters"] for i in one["instructions"]
    ]
    for _ in range(5):
        again, _ = run_many("ld.global.u32")
        assert again == several


def test_samples_are_the_first_of_the_costliest():
    launch, _ = run_many("ld.global.u32")
    load_sample, store_sample = launch["samples"]
    assert load_sample["block"] == (6, 0, 0) and load_sample["cost"] == 24
    assert load_sample["addresses"] == [24 * lane for lane in range(32)]
    assert store_sample["block"] == (4, 0, 0)  # step 4: four words in each of eight banks
    assert store_sample["cost"] == 4


def test_samples_of_blocks():
    whole, _ = run_many("ld.global.u32")
    part, _ = run_many("ld.global.u32", blocks=43)
    assert part["blocks"] == 43 and part["blocks_total"] == 301
    assert part["counters"]["global.load.requests"] == 43
    numbers = {i * 7 for i in range(43)}  # 301 is 7 times 43
    sectors = sum(max(1, -(-(number % 7) * 31 * 4 // 32)) for number in numbers)
    assert part["counters"]["global.load.sectors"] == sectors
    assert whole["counters"]["global.load.requests"] == 301
    more, _ = run_many("ld.global.u32", blocks=1000)
    assert more == whole


def test_three_axes():
    launch = profile(build("mov.u32 %r1, 1;"), grid=(2, 3, 4), block=(4, 5, 6))
    assert launch["grid"] == (2, 3, 4) and launch["block"] == (4, 5, 6)
    assert launch["blocks_total"] == 24
    check(launch, "instructions", warp=24 * 4 * 2, thread=24 * 120 * 2)


def test_shared_bytes():
    text = build(
        ".shared .align 4 .b8 s[100];\n st.shared.u32 [s], 1;",
        before=".extern .shared .align 4 .b8 more[];",
    )
    assert profile(text)["shared_bytes"] >= 100
    assert profile(text, shared_mem=1000)["shared_bytes"] >= 1100


# A kernel of ours --------------------------------------------------------------------------------


def test_gemm():
    m, n, k = 100, 70, 90  # global accesses of the tiled kernel, of 32 x 32 blocks
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    result, launches = _core._capture(
        "profile", smemkit.gemm, (a, b), {"variant": "padded"}, 0, True
    )
    assert (result == k).all()
    (launch,) = launches
    check_sums(launch)
    assert launch["kernel"] == "gemm_padded_float32" and launch["block"] == (32, 32, 1)
    counters = launch["counters"]
    assert counters["global.store.requests"] == m * 3  # each row of c in blocks of 32
    assert counters["shared.load.conflicts"] == counters["shared.store.conflicts"] == 0
    assert counters["barrier.count"] == launch["blocks"] * 32 * 3 * 2
