"""Equality of modules: what is printed and read again is equal, each small change is not."""

import pytest
from fuzz.fuzz_texts import load_texts
from support.handmade import build

from smemkit import _core

TEXTS = dict(load_texts())


@pytest.mark.parametrize("name", sorted(TEXTS)[::3])
def test_what_is_printed_is_equal(name):
    assert _core._ptx_equal(TEXTS[name], _core._ptx_print(TEXTS[name]))


BASE = """
    mov.u32 %r1, %tid.x;
    @%p1 add.u32 %r2, %r1, 7;
    st.shared.u32 [tile+4], %r2;
again:
    setp.lt.u32 %p1, %r2, 9;
    @%p1 bra again;"""
CHANGES = {
    "opcode": ("add.u32", "sub.u32"),
    "type": ("setp.lt.u32", "setp.lt.s32"),
    "word": ("setp.lt.u32", "setp.le.u32"),
    "a word more": ("st.shared.u32", "st.volatile.shared.u32"),
    "register": ("%r2, %r1, 7", "%r3, %r1, 7"),
    "constant": ("%r1, 7", "%r1, 8"),
    "guard": ("@%p1 add", "@!%p1 add"),
    "no guard": ("@%p1 add", "add"),
    "other guard": ("@%p1 add", "@%p2 add"),
    "offset": ("tile+4", "tile+8"),
    "special": ("%tid.x", "%tid.y"),
    "label's place": ("again:\n    setp.lt.u32 %p1, %r2, 9;", "setp.lt.u32 %p1, %r2, 9;\nagain:"),
    "an instruction more": ("again:", "add.u32 %r5, %r5, 1;\nagain:"),
    "space": ("st.shared.u32 [tile+4]", "st.u32 [tile+4]"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_difference_is_seen(change):
    old, new = CHANGES[change]
    assert old in BASE
    before = ".shared .align 8 .b8 tile[64];"
    text = build(BASE, before=before)
    assert _core._ptx_equal(text, text)
    assert not _core._ptx_equal(text, build(BASE.replace(old, new), before=before))


@pytest.mark.parametrize(
    "before",
    [
        ".shared .align 16 .b8 tile[64];",
        ".shared .align 8 .b8 tile[72];",
        ".shared .align 8 .b8 tile[64];\n.global .u32 more;",
    ],
)
def test_other_variables_are_a_difference(before):
    text = build(BASE, before=".shared .align 8 .b8 tile[64];")
    assert not _core._ptx_equal(text, build(BASE, before=before))


@pytest.mark.parametrize("values", ["{1, 2, 4}", "{1, 2}", "{1, 2, 3, 4}"])
def test_other_values_are_a_difference(values):
    count = max(3, values.count(",") + 1)
    text = build("", before=".global .u32 list[3] = {1, 2, 3};")
    assert not _core._ptx_equal(text, build("", before=f".global .u32 list[{count}] = {values};"))


HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u32 a) .maxntid 64, 2, 1 .minnctapersm 2
{ .reg .b32 r; mov.b32 r, 1; ret; }"""
FUNCTION = ".func (.param .b32 y) f(.param .b32 a, .param .b32 b) { ret; }"
HEADS = {
    "name of an entry": (KERNEL, KERNEL.replace("k(", "l(")),
    "name of a function": (FUNCTION, FUNCTION.replace("f(", "g(")),
    "entry or function": (".entry k() { ret; }", ".func k() { ret; }"),
    "threads": (KERNEL, KERNEL.replace("64, 2, 1", "64, 1, 1")),
    "threads, required": (KERNEL, KERNEL.replace(".maxntid", ".reqntid")),
    "blocks": (KERNEL, KERNEL.replace(".minnctapersm 2", ".minnctapersm 3")),
    "a register's type": (KERNEL, KERNEL.replace("reg .b32 r;", "reg .f32 r;")),
    "a parameter more": (KERNEL, KERNEL.replace("u32 a", "u32 a, .param .u32 b")),
    "a variable more": (KERNEL, KERNEL.replace("ret;", ".local .b32 x; ret;")),
    "result or parameter": (
        FUNCTION,
        ".func f(.param .b32 y, .param .b32 a, .param .b32 b) { ret; }",
    ),
    "defined": (FUNCTION, FUNCTION.replace("{ ret; }", ";")),
}


@pytest.mark.parametrize("change", HEADS)
def test_another_head_is_a_difference(change):
    """Bodies are as long as each other; what stands before them is not the same."""
    old, new = (HEAD + text + "\n" for text in HEADS[change])
    assert old != new
    assert _core._ptx_equal(old, old) and _core._ptx_equal(new, new)
    assert not _core._ptx_equal(old, new)
