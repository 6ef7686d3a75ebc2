"""Constants that an instruction has too few bits for: machine code has their lowest ones."""

import numpy as np
import pytest
from support.handmade import build, launch

START = """
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;"""


def run(body, values=None, **options):
    out = np.zeros(32, np.uint32) if values is None else values
    header = ".version 9.0\n.target sm_90\n.address_size 64\n"
    launch(build(START + body, ".param .u64 out", header=header, **options), out)
    return out


@pytest.mark.parametrize(
    ("table", "low"), [(256, 0x00), (-1, 0xFF), (0x1E8, 0xE8), (-24, 0xE8), (2**32 + 0x96, 0x96)]
)
@pytest.mark.parametrize("written", ["%r6", "%r6|%p1"])
def test_truth_tables(table, low, written, rng):
    """As ptxas 13.0 writes them into LOP3.LUT."""
    values = rng.integers(2**32, size=(4, 32), dtype=np.uint32)
    loads = "".join(f"ld.global.u32 %r{i + 2}, [%rd1+{128 * i}];" for i in range(3))
    words, more = (".or", ", %p2") if "|" in written else ("", "")
    line = f"setp.ne.u32 %p2, %r2, %r2; lop3{words}.b32 {written}, %r2, %r3, %r4, {table}{more};"
    got = run(f"{loads} {line} st.global.u32 [%rd1+384], %r6;", values.copy())[3]
    a, b, c = values[:3]
    terms = [(a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c) for i in range(8)]
    expected = np.bitwise_or.reduce([x for i, x in enumerate(terms) if low >> i & 1] + [a & ~a])
    assert (got == expected).all()


@pytest.mark.parametrize(
    ("groups", "arrived"), [(0, 1), (1, 0), (2**32, 1), (2**32 + 1, 0), (-1, 0), (100, 0)]
)
def test_groups_that_stay(groups, arrived):
    """DEPBAR takes 6 bits of the lowest 32; one group is under way."""
    body = f"""
    mov.u32 %r2, s;
    mad.lo.u32 %r2, %r1, 4, %r2;
    mov.u32 %r3, 0;
    st.shared.u32 [%r2], %r3;
    cp.async.ca.shared.global [%r2], [%rd1], 4;
    cp.async.commit_group;
    cp.async.wait_group {groups};
    ld.shared.u32 %r4, [%r2];
    st.global.u32 [%rd1], %r4;"""
    got = run(body, np.arange(5, 37, dtype=np.uint32), before=".shared .align 4 .b8 s[128];")
    assert (got == (np.arange(5, 37) if arrived else 0)).all()


@pytest.mark.parametrize("name", ["%pm0", "%pm7", "%envreg31"])
def test_registers_that_read_0(name):
    got = run(f"mov.u32 %r2, {name}; add.u32 %r2, %r2, 7; st.global.u32 [%rd1], %r2;")
    assert (got == 7).all()


def test_wide_registers_that_read_0():
    body = "mov.u64 %rd3, %pm5_64; cvt.u32.u64 %r2, %rd3; st.global.u32 [%rd1], %r2;"
    assert (run(body, np.ones(32, np.uint32)) == 0).all()
