"""Which accesses become one: what the addresses are known to be, and what is followed at all."""

import numpy as np
import pytest
from support.handmade import build, launch

from smemkit import _core

# Two neighbouring words of shared memory, eight bytes for each thread: PLACE puts their address
# into %r3 and %r4; what is read is used.
PAIR = """
    .shared .align 16 .b8 words[512];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, words;
    PLACE
    ld.shared.u32 %r5, [%r3];
    ld.shared.u32 %r6, [%r4+4];
    add.u32 %r5, %r5, %r6;
    st.global.u32 [%rd1], %r5;"""
EIGHT = "shl.b32 %r7, %r1, 3;"  # bytes to the thread's own pair
PLACES = {
    "a pair for each thread": (EIGHT + "add.u32 %r3, %r2, %r7; mov.u32 %r4, %r3;", True),
    "a word for each thread": ("mad.lo.u32 %r3, %r1, 4, %r2; mov.u32 %r4, %r3;", False),
    "a product with 8": ("mul.lo.u32 %r7, %r1, 8; add.u32 %r3, %r2, %r7; mov.u32 %r4, %r3;", True),
    "a product with 4": ("mul.lo.u32 %r7, %r1, 4; add.u32 %r3, %r2, %r7; mov.u32 %r4, %r3;", False),
    "an even index": (
        "shl.b32 %r7, %r1, 1; cvt.u32.u16 %r7, %r7;mad.lo.u32 %r3, %r7, 4, %r2; mov.u32 %r4, %r3;",
        True,
    ),
    "an index that was a float": (
        "cvt.rn.f32.u32 %f1, %r1; cvt.rzi.u32.f32 %r7, %f1;"
        "mad.lo.u32 %r3, %r7, 4, %r2; mov.u32 %r4, %r3;",
        False,
    ),
    "a shift by 31": (
        EIGHT + "add.u32 %r3, %r2, %r7; shl.b32 %r8, %r7, 31; add.u32 %r4, %r2, %r8;",
        False,
    ),
    "a shift by all bits and more": (
        EIGHT + "add.u32 %r3, %r2, %r7; shl.b32 %r8, %r7, 64; add.u32 %r4, %r2, %r8;",
        False,
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_two_words_become_one_access_where_their_address_is_even(name):
    place, fused = PLACES[name]
    text = build(PAIR.replace("PLACE", place), ".param .u64 out")
    found = [access["role"] for access in _core._fuse(text, "k") if access["space"] == "shared"]
    assert found == (["leader", "member"] if fused else ["alone", "alone"])


def test_what_only_a_later_guard_reads_is_read():
    """The guard of the first instruction is set by the last one, of the round before."""
    body = """
AGAIN:
    @%p1 exit;
    ld.shared.u32 %r1, [words];
    setp.eq.u32 %p1, %r1, 5;
    bra AGAIN;"""
    text = build(body, before=".shared .align 4 .b32 words[4];")
    assert [access["role"] for access in _core._fuse(text, "k")] == ["alone"]


def test_a_table_of_many_targets_at_the_very_beginning():
    """The edges of the control-flow graph are counted before they are written."""
    many = ", ".join(["HERE"] * 60_000)
    body = f"""
    PLACES: .branchtargets {many};
    brx.idx %r1, PLACES;
HERE:
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], 5;"""
    out = np.zeros(1, np.uint32)
    launch(build(body, ".param .u64 out"), out)
    assert out[0] == 5


def test_where_an_access_stands():
    body = """
    .loc 1 7 3
    ld.shared.u32 %r1, [words];
    st.shared.u32 [words+64], %r1;"""
    text = build(body, before='.file 1 "a.cu"\n.shared .align 16 .b8 words[512];')
    for access in _core._fuse(text, "k"):
        assert (access["file"], access["line"]) == ("a.cu", 7)
    assert {
        access["file"]
        for access in _core._fuse(
            build(body.replace(".loc 1 7 3", ""), before=".shared .align 16 .b8 words[512];"), "k"
        )
    } == {None}
