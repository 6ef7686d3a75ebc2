"""Faulty PTX texts: each is refused with the class of error, the line, the column and the word."""

import pytest
from support.handmade import HERE, build, check_still_works, line_of, load

import smemkit


def refuse(text, error, word=None, line=True):
    """The text is refused with this error at the marked line; the message names the word."""
    with pytest.raises(error) as caught:
        load(text)
    if line:
        assert caught.value.ptx_line == line_of(text)
        assert caught.value.ptx_column >= 1
        row = text.split("\n")[caught.value.ptx_line - 1]
        assert caught.value.ptx_column <= len(row) + 1
        assert str(caught.value.ptx_line) in str(caught.value)
    if word is not None:
        assert word in str(caught.value)
    check_still_works()
    return caught.value


UNKNOWN = {
    "opcode": ("frobnicate.u32 %r1, %r2;", "frobnicate"),
    "modifier": ("add.wibble.u32 %r1, %r2, %r3;", "wibble"),
    "modifier of another opcode": ("add.bfly.u32 %r1, %r2, %r3;", "bfly"),
    "type": ("add.u33 %r1, %r2, %r3;", "u33"),
    "register": ("add.u32 %r1, %r2, %q7;", "%q7"),
    "register beyond the range": ("mov.u32 %r1, %r16;", "%r16"),
    "special register": ("mov.u32 %r1, %tid.q;", "%tid.q"),
    "label": ("bra nowhere;", "nowhere"),
    "variable": ("ld.global.u32 %r1, [absent];", "absent"),
    "parameter": ("ld.param.u32 %r1, [absent];", "absent"),
    "function": ("call absent;", "absent"),
    "directive": (".wobble 3;", "wobble"),
    "state space": ("ld.orbital.u32 %r1, [%rd1];", "orbital"),
}


@pytest.mark.parametrize("case", sorted(UNKNOWN))
def test_unknown_word(case):
    instruction, word = UNKNOWN[case]
    refuse(build(f"    {instruction} {HERE}"), smemkit.PtxError, word)


def test_column_points_at_the_word():
    text = build(f"    add.u32 %r1, %r2, %q7; {HERE}")
    error = refuse(text, smemkit.PtxError, "%q7")
    assert error.ptx_column == text.split("\n")[line_of(text) - 1].index("%q7") + 1


TYPES = [
    "add.s32 %r1, %r2, %f3;",
    "add.f32 %f1, %f2, %d3;",
    ".reg .u32 %u; add.f32 %u, %f1, %f2;",
    "add.u64 %rd1, %rd2, %r3;",
    "add.u32 %r1, %r2, %rd3;",
    "add.u32 %p1, %r2, %r3;",
    "setp.lt.s32 %r1, %r2, %r3;",
    "selp.b32 %r1, %r2, %r3, %r4;",
    "@%r1 mov.u32 %r2, %r3;",
    "ld.global.u32 %r1, [%f1];",
    "ld.global.u64 %r1, [%rd1];",
    "st.global.f64 [%rd1], %f1;",
    "mul.wide.u32 %r1, %r2, %r3;",
    "and.pred %p1, %p2, %r1;",
    "mov.u32 %r1, %d1;",
    "fma.rn.f64 %d1, %d2, %d3, %f1;",
    "atom.global.add.u64 %r1, [%rd1], %rd2;",
    "shfl.sync.bfly.b32 %rd1, %r1, 1, 31, -1;",
]


@pytest.mark.parametrize("instruction", TYPES)
def test_wrong_type(instruction):
    refuse(build(f"    {instruction} {HERE}"), smemkit.PtxTypeError)


MALFORMED = [
    "add.u32 %r1, %r2;",
    "add.u32 %r1, %r2, %r3, %r4;",
    "add.u32 %r1 %r2, %r3;",
    "add.u32 , %r2, %r3;",
    "add %r1, %r2, %r3;",
    "add.u32.u32.u32.u32.u32 %r1, %r2, %r3;",
    "mov.u32 %r1, 99999999999999999999999;",
    "mov.f32 %f1, 0fXYZ;",
    "mov.u32 %r1, 0x;",
    "ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];",
    "ld.global.v4.u64 %rd1, [%rd1];",
    "ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];",
    "ld.global.u32 %r1, %rd1;",
    "ld.global.u32 %r1, [%rd1;",
    "mov.u32 3, %r1;",
    "mov.u32 %tid.x, %r1;",
    "setp.u32 %p1, %r1, %r2;",
    "bar.sync;",
    "@ mov.u32 %r1, %r2;",
    "cvt.f32 %f1, %r1;",
    "$label: $label: $label: ;",
    ".reg .b32 %r1;",
    ".reg .b32 %x<0;",
    ".shared .align 3 .b8 s[8];",
    ".shared .b8 s[-4];",
    "\x01",
    '"text"',
]


@pytest.mark.parametrize("instruction", MALFORMED)
def test_malformed_instruction(instruction):
    refuse(build(f"    {instruction} {HERE}"), smemkit.PtxError)


DUPLICATES = {
    "label": ("L:\n mov.u32 %r1, %r2;\nL: // HERE", ""),
    "register": (".reg .b32 %x;\n.reg .b64 %x; // HERE", ""),
    "variable": (".shared .b32 s;\n.shared .b32 s; // HERE", ""),
    "parameter": ("", ".param .u32 a,\n.param .u32 a // HERE\n"),
}


@pytest.mark.parametrize("case", sorted(DUPLICATES))
def test_declared_twice(case):
    body, parameters = DUPLICATES[case]
    refuse(build(body, parameters), smemkit.PtxError)


def test_two_entries_of_one_name():
    text = build("") + ".visible .entry k() { // HERE\n ret; }\n"
    refuse(text, smemkit.PtxError, "k")


@pytest.mark.parametrize(
    "text", ["", " \n\t", "// nothing\n", ".version 7.8\n", "hello", "\x00", "{}"]
)
def test_not_a_module(text):
    with pytest.raises(smemkit.Error):
        load(text)
    check_still_works()


def test_every_truncation_is_refused():
    text = build("    ld.param.u64 %rd1, [a];\nL:\n    @%p1 bra L;\n", ".param .u64 a")
    end = text.rindex("}")
    for cut in range(end):
        with pytest.raises(smemkit.Error):
            load(text[:cut])
    load(text[: end + 1])


def test_bytes_behind_the_module():
    with pytest.raises(smemkit.PtxError):
        load(build("") + "}\n")


@pytest.mark.parametrize("version", ["0.1", "x.y", "7", "-1.0", "99999999999.0"])
def test_versions_that_are_none(version):
    with pytest.raises(smemkit.Error):
        load(build("", header=f".version {version}\n.target sm_75\n.address_size 64\n"))


def test_narrow_addresses_are_refused():
    text = build("", header=".version 7.8\n.target sm_75\n.address_size 32 // HERE\n")
    refuse(text, smemkit.PtxError, line=False)


UNSUPPORTED = [
    "tcgen05.fence::before_thread_sync;",
    "wgmma.fence.sync.aligned;",
    "multimem.u32 %r1, 8;",
    "setmaxnreg.inc.sync.aligned.u32 64;",
]


@pytest.mark.parametrize("instruction", UNSUPPORTED)
def test_known_but_not_executed(instruction):
    text = build(f"    {instruction} {HERE}")
    word = instruction.split(".")[0]
    error = refuse(text, smemkit.UnsupportedError, word)
    assert isinstance(error, NotImplementedError)


def test_classes():
    assert issubclass(smemkit.PtxError, smemkit.Error)
    assert issubclass(smemkit.PtxError, ValueError)
    assert issubclass(smemkit.PtxTypeError, smemkit.PtxError)
    assert issubclass(smemkit.PtxTypeError, TypeError)
    assert issubclass(smemkit.UnsupportedError, smemkit.PtxError)


@pytest.mark.parametrize("code", [None, 3, 2.5, [], object()])
def test_code_that_is_no_text(code):
    with pytest.raises(TypeError):
        smemkit.RawModule(code, backend="sim")


def test_missing_entry_lists_the_known():
    module = smemkit.RawModule(build(""), backend="sim")
    assert module.kernels == ("k",)
    with pytest.raises(smemkit.Error, match=r"\bk\b"):
        module.get_function("absent")
