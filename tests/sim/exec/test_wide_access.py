"""Loads and stores of 256 bits, which sm_100 has, and how they are counted and checked."""

import numpy as np
import pytest
from support.handmade import build, load

import smemkit

HEADER = ".version 9.0\n.target sm_100\n.address_size 64\n"
ADDRESSES = """
    .reg .f32 %x<9>;
    .reg .f64 %y<5>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 32;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
"""
LOAD = "ld.global{}.v8.f32 {{%x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8}}, [%rd1{}];"
STORE = "st.global{}.v8.f32 [%rd2{}], {{%x8, %x7, %x6, %x5, %x4, %x3, %x2, %x1}};"
REVERSED = [LOAD.format(".nc.L2::evict_last", ""), STORE.format(".L2::evict_first", "")]


def make(lines, header=HEADER):
    parameters = ".param .u64 from, .param .u64 to"
    return load(build(ADDRESSES + "\n".join(lines), parameters, header=header))


def run(lines, count=32):
    source, result = np.arange(8 * count, dtype=np.float32), np.zeros(8 * count, np.float32)
    make(lines)(1, count, (source, result), backend="sim")
    return source.reshape(count, 8), result.reshape(count, 8)


def test_eight_words():
    source, result = run(REVERSED)
    assert (result == source[:, ::-1]).all()


def test_constants_sinks_and_guards():
    lines = [
        "mov.f32 %x2, 0f40000000;",
        "setp.lt.u32 %p1, %r1, 3;",
        "ld.relaxed.gpu.global.v8.f32 {%x1, _, %x3, _, _, _, %x7, %x8}, [%rd1];",
        "@%p1 st.volatile.v8.f32 [%rd2], {%x1, %x2, %x3, 0f3F800000, %x1, %x1, %x7, %x8};",
    ]
    source, result = run(lines)
    wanted = source[:, [0, 0, 2, 0, 0, 0, 6, 7]].copy()
    wanted[:, 1], wanted[:, 3] = 2, 1
    wanted[3:] = 0
    assert (result == wanted).all()


def test_four_doubles():
    lines = [
        "ld.v4.f64 {%y1, _, %y3, %y4}, [%rd1];",
        "st.global.L2::evict_normal.v4.b64 [%rd2], {%y4, %y3, %y3, %y1};",
    ]
    source, result = run(lines)
    assert (result.view(np.float64) == source.view(np.float64)[:, [3, 2, 2, 0]]).all()


def test_counts():
    """One request of 1024 bytes: a sector a lane, each once."""
    values = np.zeros(256, np.float32)
    arrays = values, np.zeros_like(values)
    counts = make(REVERSED).profile((1,), (32,), arrays, backend="sim").counters
    for kind in ("load", "store"):
        counters = [counts[f"global.{kind}.{x}"] for x in ("requests", "sectors", "bytes")]
        assert counters == [1, 32, 1024]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (LOAD.format("", "+16"), smemkit.MisalignedError),
        (STORE.format("", "+32"), smemkit.OutOfBoundsError),
    ],
)
def test_bad_addresses(line, error):
    with pytest.raises(error, match=r"of 32 bytes"):
        run([line])


def test_shared_memory_by_a_generic_address():
    lines = [
        ".shared .align 32 .b8 s[32];",
        "mov.u64 %rd4, s;",
        "cvta.shared.u64 %rd4, %rd4;",
        "st.v4.b64 [%rd4], {%rd1, %rd1, %rd1, %rd1};",
    ]
    with pytest.raises(smemkit.OutOfBoundsError, match="store of 32 bytes to global memory"):
        run(lines)


def test_races():
    """Two warps write the same 32 bytes."""
    lines = ["ld.param.u64 %rd2, [to];", STORE.format("", "")]
    values = np.zeros(256, np.float32)
    report = smemkit.check(make(lines), (1,), (64,), (values, values.copy()), backend="sim")
    assert "global_race" in {finding.kind for finding in report.findings}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ld.shared.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%rd1];", "which only global memory takes"),
        ("ldu.global.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%rd1];", "it takes up to 128"),
        ("mov.v4.b64 {%rd4, %rd5, %rd6, %rd7}, {%rd1, %rd1, %rd1, %rd1};", "it takes up to 128"),
        ("ld.global.L2::evict_last.f32 %x1, [%rd1];", "lacks a word: one of v8"),
    ],
)
def test_what_ptxas_refuses_too(line, shown):
    with pytest.raises(smemkit.PtxError, match=shown):
        make([line])


def test_other_targets():
    for line in (LOAD.format("", ""), "ld.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%rd1];"):
        with pytest.raises(smemkit.PtxError, match="needs .target sm_100 or later"):
            make([line], header=HEADER.replace("sm_100", "sm_90"))
