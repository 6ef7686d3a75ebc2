"""What ptxas makes of shared atomics, and what it costs: worked out by hand."""

import pytest
from sim.profile.count_tools import profile
from support.handmade import build

import smemkit

HEAD = """
    .shared .align 128 .b8 s[1024];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, {shift};
    mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2;
    cvt.u64.u32 %rd1, %r1;
    sub.u32 %r4, 31, %r1;
    cvt.u64.u32 %rd2, %r4;
    cvt.rn.f32.u32 %f1, %r4;
    setp.lt.u32 %p1, %r1, 5;
    mov.u32 %r6, 0;
    st.shared.v2.u32 [%r3], {{%r6, %r6}};
"""
END = "    st.global.u32 [p], %r5;\n"
NAMES = ("instructions", "wavefronts", "ideal", "conflicts", "bytes")


def count(text, shift=0, model=True):
    """(atomics, loads), each as NAMES; with shift 7 all lanes are on one bank, with 2 side by side,
    with 0 nowhere sensible: for what names its address itself."""
    body = HEAD.format(shift=shift) + text + END
    launch = profile(build(body, before=".global .u32 p;"), model=model)
    counters = launch["counters"]
    return [
        tuple(int(counters[f"shared.{kind}.{name}"]) for name in NAMES)
        for kind in ("atomic", "load")
    ]


NONE = (0, 0, 0, 0, 0)


@pytest.mark.parametrize("model", [True, False])
def test_compare_and_swap(model):
    """Two operands a lane: two wavefronts where other atomics take one."""
    text = "atom.shared.cas.b32 %r5, [{}], %r1, %r4;\n"
    assert count(text.format("%r3"), 3, model)[0] == (1, 4, 2, 1, 128)
    assert count(text.format("s"), 3, model)[0] == (1, 64, 2, 31, 128)


def test_additions_of_one_count_lanes():
    text = "red.shared.add.u32 [s], 1;\n mov.u32 %r5, 0;\n"
    assert count(text, 3) == [(1, 1, 1, 0, 128), NONE]
    assert count(text, 3, model=False) == [(1, 32, 1, 31, 128), NONE]
    unused = "atom.shared.add.u32 %r7, [s], 1;\n mov.u32 %r5, 0;\n"
    assert count(unused, 3) == [(1, 1, 1, 0, 128), NONE]


def test_one_lane_for_the_warp():
    """All lanes on an address that ptxas knows to be one: it adds their values up first."""
    red = "red.shared.add.u32 [s+8], %r4;\n mov.u32 %r5, 0;\n"
    assert count(red, 3)[0] == (1, 1, 1, 0, 4)
    assert count("@%p1 " + red, 3)[0] == (1, 1, 1, 0, 4)
    assert count(red, 3, model=False)[0] == (1, 32, 1, 31, 128)
    returns = "atom.shared.add.u32 %r5, [s+8], %r4;\n"
    assert count(returns, 3)[0] == (1, 1, 1, 0, 4)  # all 32 lanes: a scan
    assert count("mov.u32 %r5, 0;\n @%p1 " + returns, 3)[0] == (1, 5, 1, 4, 20)
    assert count("atom.shared.max.u32 %r5, [s], %r4;\n", 3)[0] == (1, 32, 1, 31, 128)


def test_float_additions_take_turns():
    text = "red.shared.add.f32 [{}], %f1;\n mov.u32 %r5, 0;\n"
    assert count(text.format("%r3"), 3) == [(2, 4, 4, 0, 128), (2, 3, 2, 1, 4 * (32 + 16))]
    everyone = 4 * sum(range(1, 33))
    assert count(text.format("s"), 3) == [(32, 64, 64, 0, 128), (32, 32, 32, 0, everyone)]
    assert count(text.format("s"), 3, model=False) == [(1, 32, 1, 31, 128), NONE]


def test_wide_maximum():
    """All on one word of 8 bytes that holds 0; a lane that brings no more than is there leaves."""
    text = "red.shared.max.u64 [s], {};\n mov.u32 %r5, 0;\n"
    # Ascending: lane 0 leaves, each other one gets its turn; two phases while the first has any.
    atomics, loads = count(text.format("%rd1"), 3)
    assert atomics == (31, 15 * 4 + 16 * 2, 15 * 4 + 16 * 2, 0, 256)
    assert loads[0] == 31 and loads[4] == 8 * (32 + sum(range(1, 31)))
    # Descending: lane 31 leaves at once, lane 0 brings the most, and nobody stores after it.
    atomics, loads = count(text.format("%rd2"), 3)
    assert atomics == (1, 4, 4, 0, 256) and loads[0] == 2 and loads[4] == 8 * (32 + 30)


def test_wide_minimum_is_signed_or_not():
    low = "sub.s64 %rd2, 0, %rd1;\n"  # 0, -1, -2, ...
    text = low + "red.shared.min.{} [s], %rd2;\n mov.u32 %r5, 0;\n"
    assert count(text.format("s64"), 3)[0][0] == 31  # each less than the one before
    assert count(text.format("u64"), 3) == [(0, 0, 0, 0, 256), (1, 1, 1, 0, 256)]


def test_vector_of_which_the_ends_are_used():
    text = "ld.shared.v4.u32 {%r5, %r7, %r8, %r9}, [s];\n add.u32 %r5, %r5, %r9;\n"
    assert count(text, 3)[1] == (2, 2, 2, 0, 256)
    assert count(text, 3, model=False)[1] == (1, 2, 2, 0, 512)


TWO_OF_A_BANK = """
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u32 bank)
{
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[8192];
    ld.param.u32 %r1, [bank];
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r2, 32, %r1;
    shl.b32 %r3, %r3, 2;
    mov.u32 %r4, tile;
    add.u32 %r3, %r3, %r4;
    mov.f32 %f1, 0f3F800000;
    st.shared.f32 [%r3], %f1;
    atom.shared.add.f32 %f2, [%r3], %f1;
    ret;
}
"""


def test_each_bank_makes_a_loop_wait():
    """Lanes that meet in a bank go round one after the other, in the last bank as in the first."""
    kernel = smemkit.RawModule(TWO_OF_A_BANK, backend="sim").get_function("k")
    for bank in range(32):
        counters = kernel.profile((1,), (5,), (bank,), backend="sim").counters
        assert counters["shared.atomic.instructions"] == 5, bank
