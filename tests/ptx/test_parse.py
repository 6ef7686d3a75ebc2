"""The PTX front end: what it reads, and that what it prints says the same."""

import re

import pytest
from support.paths import ROOT

import smemkit
from smemkit import _core

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """\
.reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
.reg .f32 %f<4>;
.reg .f64 %d<4>;
"""
SEEDS = sorted((ROOT / "tests" / "fuzz" / "corpus").glob("*.ptx"))
PROGRAMS = sorted((ROOT / "tests" / "programs").rglob("*.ptx"))


def body(*lines, before=""):
    return (
        HEADER + before + ".visible .entry k()\n{\n" + REGISTERS + "\n".join(lines) + "\nret;\n}\n"
    )


def instructions(text):
    """The printed instructions, without registers, labels, braces and the module's head."""
    inside = text[text.index("{\n") :]
    return [x.strip() for x in inside.splitlines() if x.endswith(";") and ".reg" not in x]


def printed(*lines, before=""):
    text = _core._ptx_print(body(*lines, before=before))
    assert _core._ptx_print(text) == text
    return instructions(text)[:-1]


@pytest.mark.parametrize("path", SEEDS + PROGRAMS, ids=lambda p: p.name)
def test_printing_is_a_fixed_point(path):
    once = _core._ptx_print(path.read_text())
    assert _core._ptx_print(once) == once


def test_there_is_ptx_of_every_kind():
    assert SEEDS, "tests/fuzz/corpus is empty"
    kinds = {p.name.split(".")[-2] for p in PROGRAMS if p.name.count(".") > 1}
    assert {"O0", "O3"} <= kinds, kinds


def test_built_kernels_round_trip():
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            once = _core._ptx_print(smemkit.ptx(family, variant))
            assert _core._ptx_print(once) == once


def test_kernels_lists_entries_only():
    text = HEADER + ".func f() { ret; }\n.entry b() { ret; }\n.visible .entry a() { ret; }\n"
    assert set(smemkit.RawModule(text, backend="sim").kernels) == {"a", "b"}


LITERALS = [
    ("add.f32 %f1, %f2, 1.5;", "0f3FC00000"),
    ("add.f32 %f1, %f2, 0d3FF8000000000000;", "0f3FC00000"),
    ("add.f32 %f1, %f2, -0f3FC00000;", "0fBFC00000"),
    ("add.f64 %d1, %d2, 0f3FC00000;", "0d3FF8000000000000"),
    ("add.f64 %d1, %d2, 1e-3;", "0d3F50624DD2F1A9FC"),
    ("mov.b32 %r1, 0f3FC00000;", str(0x3FC00000)),
    ("mov.u32 %r1, -1;", str(2**32 - 1)),
    ("mov.u32 %r1, 0x10;", "16"),
    ("mov.u32 %r1, 010;", "8"),
    ("mov.u32 %r1, 0b101;", "5"),
    ("mov.u32 %r1, 7U;", "7"),
    ("mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF;", str(2**64 - 1)),
    ("mov.u16 %h1, 65537;", "1"),
    ("mov.u32 %r1, WARP_SZ;", "32"),
    ("mov.u32 %r1, (1 + 2) * 3 - 4 / 2 % 5;", "7"),
    ("mov.u32 %r1, 1 << 4 | 3 ^ 1 & 5;", "18"),
    ("mov.s32 %r1, -7 / 2;", str(2**32 - 3)),
    ("mov.s32 %r1, -7 % 2;", str(2**32 - 1)),
    ("mov.u64 %rd1, (.u64)-1 >> 63;", "1"),
    ("mov.u64 %rd1, (.s64)-1 >> 63;", str(2**64 - 1)),
    ("mov.u64 %rd1, (.s64)-1 >> 64;", str(2**64 - 1)),
    ("mov.u64 %rd1, (.s64)0 >> 64;", "0"),
    ("mov.u64 %rd1, (.s64)0 >> 1;", "0"),
    ("mov.u32 %r1, 1 && 0;", "0"),
    ("mov.u32 %r1, 0 && 1;", "0"),
    ("mov.u32 %r1, 1 || 0;", "1"),
    ("mov.u64 %rd1, (.s64)-9223372036854775808 / -1;", str(2**63)),
    ("mov.u32 %r1, 3 < 4 && !0 ? 11 : 12;", "11"),
    ("mov.u32 %r1, ~0 == -1 || 0;", "1"),
    ("mov.u64 %rd1, 1 << 64;", "0"),
    ("add.f64 %d1, %d2, 1.5 + 2.25;", "0d400E000000000000"),
    ("add.f64 %d1, %d2, 1.5 - 2.25;", "0dBFE8000000000000"),
    ("add.f64 %d1, %d2, (1.0 + 0.5) * 2.5;", "0d400E000000000000"),
    ("add.f64 %d1, %d2, 1.0 / 4.0;", "0d3FD0000000000000"),
    ("add.f32 %f1, %f2, 0f3FC00000 + 2.25;", "0f40700000"),
    ("mov.u32 %r1, 0.25 ? 11 : 12;", "11"),
    ("mov.u32 %r1, 0.5 - 0.5 ? 11 : 12;", "12"),
]


@pytest.mark.parametrize("instruction, value", LITERALS)
def test_constants(instruction, value):
    (line,) = printed(instruction)
    assert line.endswith(f", {value};"), line


def test_inner_scopes_hide_outer_names():
    lines = printed(
        "mov.b32 %r1, 1;",
        "{ .reg .f32 %r1; mov.f32 %r1, 0f00000000; { .reg .b64 %r<2>; mov.b64 %r1, 2; } }",
        "mov.b32 %r1, 3;",
    )
    names = [re.match(r"mov\.\w+ (\S+),", line)[1] for line in lines]
    assert names[0] == names[3] and len(set(names)) == 3


def test_labels_belong_to_their_scope():
    text = _core._ptx_print(
        body("bra L;", "{ bra L; L: bra L; }", "{ bra L; L: }", "L:", "{ bra L; }")
    )
    targets = re.findall(r"bra (\S+);", text)
    order = re.findall(r"^(\S+):", text, re.M)
    inner, second, outer = order
    assert targets == [outer, inner, inner, second, outer]


FILES = '.file 9 "inner.h"\n.file 7 "outer.cu", 12, 34\n.file 8 "middle.h"\n'


def places(*lines):
    """(file, line) of the marks that are printed, one an instruction where it changes."""
    out = _core._ptx_print(body(*lines) + FILES)
    assert _core._ptx_print(out) == out
    names = dict(re.findall(r'\.file (\d+) "(.*)"', out))
    return [(names[file], int(line)) for file, line in re.findall(r"\.loc (\d+) (\d+)", out)]


def mark(place, outer=None):
    """A .loc, with the place of the call where it was inlined."""
    inlined = f", function_name $L__s{'' if outer[1] % 2 else '+8'}, inlined_at" if outer else ""
    return " ".join(map(str, [".loc", *place])) + " ".join(map(str, [inlined, *(outer or ())]))


CALL, OTHER_CALL = (7, 22, 4), (7, 25, 4)


def test_loc_of_a_header_is_that_of_the_call():
    found = places(
        mark((7, 21, 3)), "mov.u32 %r1, 1;",
        mark((9, 5, 1), CALL), "mov.u32 %r1, 2;",
        mark((9, 5, 1), OTHER_CALL), "mov.u32 %r1, 3;",
        mark((7, 23, 3)), "mov.u32 %r1, 4;",
    )  # fmt: skip
    assert found == [("outer.cu", 21), ("outer.cu", 22), ("outer.cu", 25), ("outer.cu", 23)]


def test_loc_of_a_function_of_the_same_file_is_its_own():
    assert places(mark((7, 21, 3)), mark((7, 5, 1), CALL), "ret;") == [("outer.cu", 5)]


def test_loc_of_calls_in_calls():
    """Each mark has one step of the way; the steps need not stand side by side."""
    found = places(
        mark((7, 21, 3)), "mov.u32 %r1, 1;",
        mark((8, 6, 2), CALL), mark((9, 5, 1), (8, 6, 2)), "mov.u32 %r1, 2;",
        mark((7, 30, 1)), "mov.u32 %r1, 3;",
        mark((9, 4, 1), (8, 6, 2)), "mov.u32 %r1, 4;",
        mark((8, 6, 2), OTHER_CALL), mark((9, 5, 1), (8, 6, 2)), "mov.u32 %r1, 5;",
    )  # fmt: skip
    assert [line for _, line in found] == [21, 22, 30, 22, 25]
    assert {file for file, _ in found} == {"outer.cu"}


def test_loc_that_stands_alone_goes_the_way_it_went():
    """Two ways meet in one helper; its names tell them apart where its marks stand alone."""
    a = (8, 6, 2), (9, 3, 1), (9, 5, 1)
    b = (8, 7, 2), (9, 3, 1), (9, 6, 1)
    found = places(
        mark((7, 21, 3)), "mov.u32 %r1, 1;",
        mark(a[0], CALL), mark(a[1], a[0]), mark(a[2], a[1]), "mov.u32 %r1, 2;",
        mark(b[0], OTHER_CALL), mark(b[1], b[0]), mark(b[2], b[1]), "mov.u32 %r1, 3;",
        mark(a[2], a[1]), "mov.u32 %r1, 4;",
        mark(b[2], b[1]), "mov.u32 %r1, 5;",
    )  # fmt: skip
    assert [line for _, line in found] == [21, 22, 25, 22, 25]


def test_loc_without_a_way_out_stays():
    """A header's own function, a step that nobody tells, and a ring of steps."""
    assert places(mark((9, 5, 1)), "ret;") == [("inner.h", 5)]
    assert places(mark((7, 1, 1)), mark((9, 5, 1), (8, 6, 2)), "ret;") == [("middle.h", 6)]
    ring = places(mark((7, 1, 1)), mark((8, 6, 2), (9, 5, 1)), mark((9, 5, 1), (8, 6, 2)), "ret;")
    assert ring[0][0] in ("middle.h", "inner.h")


def test_loc_begins_anew_with_each_function():
    one = body(mark((7, 21, 3)), mark((9, 5, 1), CALL), "ret;")
    two = ".func second() { .loc 9 7 1\n.loc 9 8 1\nret; }\n"
    out = _core._ptx_print(one + two + FILES)
    assert re.findall(r"\.loc \d+ (\d+)", out) == ["22", "8"]


DECLARATIONS = {
    ".global .u32 x[2][2] = {{1}, {2, 3}};": "x[4] = {1,0,2,3}",
    ".global .f32 x[] = {1.0, 2.0};": "x[2] = {0f3F800000,0f40000000}",
    ".global .v4 .f32 x;": ".align 16 .f32 x[4]",
    ".global .u8 x = 0;": ".u8 x = 0;",
    ".const .align 32 .b8 x[3] = {255, -1, 256};": ".const .align 32 .b8 x[3] = {255,255}",
    ".global .u32 y; .global .u64 x = generic(y)+4;": "x = generic(y)+4",
    ".global .u32 generic; .global .u64 x = generic+4;": "x = generic+4",
    ".extern .shared .align 16 .b8 x[];": ".extern .shared .align 16 .b8 x[]",
    ".shared .b8 x[1 << 10];": "x[1024]",
    ".func f(); .global .u64 x[2] = {f, f};": "x[2] = {f,f}",
    ".func f(.reg .b32 _, .reg .b32 _)\n{\nret;\n}": ".func f (.reg .b32 %r0, .reg .b32 %r1)\n{",
}


@pytest.mark.parametrize("text", DECLARATIONS)
def test_declarations(text):
    out = _core._ptx_print(HEADER + text + "\n")
    assert DECLARATIONS[text] in out
    assert _core._ptx_print(out) == out


def test_only_generic_takes_an_address():
    with pytest.raises(smemkit.PtxError, match="'other' is not declared"):
        _core._ptx_print(HEADER + ".global .u32 y;\n.global .u64 x = other(y);\n")


@pytest.mark.parametrize("target", ["sm_90", "sm_90, debug", "debug, sm_90", "debug, sm_90a"])
def test_the_target_is_printed_without_options(target):
    out = _core._ptx_print(f".version 9.0\n.target {target}\n.address_size 64\n")
    wanted = "sm_90a" if target.endswith("a") else "sm_90"
    assert re.search(r"^\.target (.*)$", out, re.MULTILINE)[1].strip() == wanted


def test_pairs_of_halves_in_integer_registers():
    """Old compilers keep them there."""
    lines = ".reg .u32 %u<4>;\n.reg .s32 %s<4>;\nadd.f16x2 %u1, %u2, %s3;\nret;\n"
    text = f"{HEADER}.visible .entry k()\n{{\n{lines}}}\n"
    assert "add.f16x2" in _core._ptx_print(text)


def test_masked_addresses_are_one_address():
    masks = ", ".join(f"0x{0xFF << 8 * i:X}(y)" for i in range(8))
    text = HEADER + f".global .u32 y;\n.global .align 1 .b8 x[9] = {{7, {masks}}};\n"
    out = _core._ptx_print(text)
    assert re.sub(r"\s", "", masks) in out.replace(" ", "")


OPERANDS = [
    "ld.global.u32 %r1, [%rd1+-4];",
    "ld.global.v2.f32 {%f1, _}, [%rd1];",
    "ld.global.b8 %r1, [%rd1];",
    "ld.local.b32 %r1, [16];",
    "/* a * b */ add.u32 %r1, /* c\n * d **/ %r2, /**/ 1; // e /* f",
    "st.global.v4.b32 [%rd1], {%r1, 1, 2, %r2};",
    "mov.b64 {%r1, %r2}, %rd1;",
    "mov.b32 %r1, {%h1, %h2};",
    "setp.eq.and.f32 %p1|%p2, %f1, %f2, !%p3;",
    "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;",
    "@!%p1 bra.uni L; L:",
    "bar.red.popc.u32 %r1, 0, !%p1;",
    "bar.red.and.pred %p1, 0, 64, %p2;",
    "cp.async.ca.shared.global [s], [%rd1], 4, %r1;",
    "cp.async.ca.shared.global [s], [%rd1], 8, %p1;",
    "cp.async.cg.shared.global.L2::cache_hint [s], [%rd1], 16, %rd2;",
    "atom.global.relaxed.gpu.cas.b64 %rd1, [%rd2], %rd3, 0;",
    "atom.shared.add.f32 _, [s+4], %f1;",
    "red.global.add.noftz.f16x2 [%rd1], %r1;",
    "ld.global.u32 %r1, x[1];",
    "mov.u64 %rd1, x+4;",
    "cvta.to.shared.u64 %rd1, %rd2;",
    "cvt.rn.f16x2.f32 %r1, %f1, %f2;",
    "cvt.u32.u8 %r1, %r2;",
    "mad.wide.s32 %rd1, %r1, -4, %rd2;",
    "mov.u16 %h1, %tid.x;",
    "mov.u32 %r1, %gridid;",
]


@pytest.mark.parametrize("instruction", OPERANDS)
def test_operand_shapes(instruction):
    before = ".shared .align 16 .b8 s[64];\n.global .u32 x[4];\n"
    assert len(printed(instruction, before=before)) == 1
