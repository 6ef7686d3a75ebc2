"""Damaged PTX never crashes, hangs or raises anything but smemkit's own errors.

SMEMKIT_ROBUST_EXAMPLES sets how many damaged texts are tried (default 80); each run draws anew.
"""

import contextlib
import os
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.handmade import build, check_still_works
from support.paths import TESTS

import smemkit
from smemkit import _core

EXAMPLES = int(os.environ.get("SMEMKIT_ROBUST_EXAMPLES", "80"))
SECONDS_MAX = 10  # of one text: of processors, for a machine that does other things too
PTX = TESTS / "programs" / "ptx"
NAMES = sorted(PTX.glob("*.ptx"))  # the short ones; long ones are kept compressed

long_run = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
)


def attempt(text):
    """Load a text and launch all that it has; only smemkit.Error may come out."""
    start = time.process_time()
    try:
        module = smemkit.RawModule(text, backend="sim")
        for name in module.kernels:
            run(module.get_function(name))
    except smemkit.Error:
        pass
    assert time.process_time() - start < SECONDS_MAX


def run(kernel):
    values = []
    for parameter in kernel.attributes["parameters"]:
        size, kind = parameter["nbytes"], parameter["type"]
        if size == 8 and kind in ("u64", "b64", "s64"):
            values.append(np.arange(1024, dtype=np.uint32) % 61)
        elif kind == "b8" or size not in (1, 2, 4, 8):
            values.append(bytes(min(size, 4096)))
        else:
            values.append(1.5 if kind[0] == "f" else 40)
    try:
        kernel(2, 64, tuple(values), shared_mem=2048, backend="sim", max_steps=20_000)
    except smemkit.Error:
        pass


damage = st.tuples(
    st.sampled_from(
        ["flip", "cut", "drop", "double", "swap", "insert", "splice", "number", "letter"]
    ),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1, exclude_max=True),
    st.binary(min_size=1, max_size=6),
)

NUMBERS = [
    "0",
    "-1",
    "1",
    "31",
    "33",
    "4294967295",
    "18446744073709551615",
    "0x7fffffff",
    "1e9",
    "0f7FC00000",
]
WORDS = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "@%p1 ",
    "%r1",
    "%rd1",
    "%f1",
    ".v4",
    ".b8",
    ".pred",
    "/*",
    "//",
    '"',
    "<",
    "$L__BB0_1",
    "call",
    "ret;",
    ".reg .b32 %zz;",
    "bra.uni $L__BB0_1;",
    "bar.sync 0;",
]


def worsen(lines, kind, at, other, payload):
    """One damage to a list of lines of bytes."""
    if not lines:
        return lines
    i, j = int(at * len(lines)), int(other * len(lines))
    line = lines[i]
    tokens = line.split(b" ")
    if kind == "flip" and line:
        place = int(other * len(line))
        lines[i] = line[:place] + bytes([line[place] ^ (payload[0] or 1)]) + line[place + 1 :]
    elif kind == "cut":
        lines = lines[: i + 1]
        lines[-1] = lines[-1][: int(other * (len(line) + 1))]
    elif kind == "drop":
        del lines[i]
    elif kind == "double":
        lines.insert(j, line)
    elif kind == "swap":
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "insert":
        place = int(other * (len(line) + 1))
        lines[i] = line[:place] + WORDS[payload[0] % len(WORDS)].encode() + line[place:]
    elif kind == "splice":
        theirs = lines[j].split(b" ")
        tokens[int(other * len(tokens))] = theirs[int(at * len(theirs))]
        lines[i] = b" ".join(tokens)
    elif kind == "number":
        digits = [k for k, c in enumerate(line) if 48 <= c < 58]
        if digits:
            place = digits[int(other * len(digits))]
            lines[i] = (
                line[:place] + NUMBERS[payload[0] % len(NUMBERS)].encode() + line[place + 1 :]
            )
    else:
        place = int(other * (len(line) + 1))
        lines[i] = line[:place] + payload + line[place:]
    return lines


@long_run
@given(st.sampled_from(NAMES), st.lists(damage, min_size=1, max_size=4))
def test_damaged_texts(path, damages):
    lines = path.read_bytes().split(b"\n")
    for kind, at, other, payload in damages:
        lines = worsen(lines, kind, at, other, payload)
    attempt(b"\n".join(lines).decode("latin-1"))


@long_run
@given(
    st.text(
        alphabet=st.sampled_from(list(" \n\t{}()[]<>;:,.@%!|+-*/\"'$_0123456789abfuxr")),
        max_size=200,
    )
)
def test_noise(text):
    with contextlib.suppress(smemkit.Error):  # RawModule takes what is no PTX for CUDA C
        _core._describe_ptx(text)
    attempt(".version 7.8\n.target sm_75\n.address_size 64\n" + text)
    attempt(build(text))


OPCODES = [
    "add",
    "mul.lo",
    "mad.lo",
    "ld",
    "st",
    "atom.add",
    "setp.lt",
    "selp",
    "cvt",
    "shfl.sync.up",
    "vote.sync.any",
    "mov",
    "bra",
    "bar.sync",
    "call",
    "brx.idx",
    "prmt",
    "fma.rn",
    "cvta.to",
    "cp.async.ca",
    "match.any.sync",
    "redux.sync.add",
    "div",
    "rem",
    "shf.l.wrap",
    "lop3",
    "bfe",
    "ex2.approx",
    "barrier.sync",
    "bar.red.popc",
    "nanosleep",
]
TYPES = [
    "",
    ".u8",
    ".s16",
    ".b32",
    ".u32",
    ".s64",
    ".f32",
    ".f64",
    ".f16x2",
    ".pred",
    ".b128",
    ".v2.u32",
    ".v4.f32",
    ".shared",
    ".global",
    ".param",
    ".local.b32",
    ".const",
]
OPERANDS = [
    "%p1",
    "!%p2",
    "%p1|%p2",
    "%h1",
    "%r1",
    "%r2",
    "%rd1",
    "%rd2",
    "%f1",
    "%d1",
    "0",
    "-1",
    "77",
    "0x8000000000000000",
    "0f3F800000",
    "0d7FF0000000000000",
    "[%rd1]",
    "[%rd1+4]",
    "[%r1-8]",
    "[a]",
    "[s]",
    "[s+60]",
    "{%r1, %r2}",
    "{%f1, %f2, %f3, %f4}",
    "_",
    "%tid.x",
    "%clock64",
    "again",
    "s",
    "k",
]

instruction = st.tuples(
    st.sampled_from(["", "@%p1 ", "@!%p2 "]),
    st.sampled_from(OPCODES),
    st.sampled_from(TYPES),
    st.sampled_from(TYPES),
    st.lists(st.sampled_from(OPERANDS), max_size=5),
).map(lambda parts: f"    {parts[0]}{parts[1]}{parts[2]}{parts[3]} {', '.join(parts[4])};")


@long_run
@given(st.lists(instruction, min_size=1, max_size=6))
def test_random_instructions(instructions):
    """Most are refused; what is accepted runs, in a loop that the step budget ends."""
    for body in (*instructions, "\n".join(instructions)):
        head = (
            "    ld.param.u64 %rd1, [a];\n    mov.u32 %r1, s;\n    mov.u32 %r2, %tid.x;\nagain:\n"
        )
        text = build(head + body, ".param .u64 a", before=".shared .align 16 .b8 s[64];")
        attempt(text)


MANY = 100_000

HOSTILE = {
    "braces": lambda: build("{" * MANY),
    "closed braces": lambda: build("{" * MANY + "}" * MANY),
    "parentheses": lambda: build(
        "", before=".global .u32 x = " + "(" * MANY + "1" + ")" * MANY + ";"
    ),
    "minus signs": lambda: build("", before=".global .u32 x = " + "-" * MANY + "1;"),
    "operators": lambda: build("", before=".global .u32 x = 1" + "+1" * MANY + ";"),
    "questions": lambda: build("", before=".global .u32 x = " + "1?1:" * MANY + "1;"),
    "nested initialiser": lambda: build(
        "", before=".global .u32 x[1] = " + "{" * MANY + "1" + "}" * MANY + ";"
    ),
    "long initialiser": lambda: build(
        "", before=f".global .u8 x[{MANY}] = {{{'1,' * (MANY - 1)}1}};"
    ),
    "dimensions": lambda: build("", before=".global .u32 x" + "[2]" * MANY + ";"),
    "vast dimensions": lambda: build("", before=".global .u32 x[65536][65536][65536][65536];"),
    "operand brackets": lambda: build("ld.u32 %r1, " + "[" * MANY + "%rd1;"),
    "operand braces": lambda: build("mov.b64 %rd1, " + "{" * MANY + "%r1" + "}" * MANY + ";"),
    "vector elements": lambda: build("mov.b64 %rd1, {" + "%r1," * MANY + "%r1};"),
    "call arguments": lambda: build("call k, (" + "%r1," * MANY + "%r1);"),
    "modifiers": lambda: build("add" + ".rn" * MANY + ".f32 %f1, %f1, %f1;"),
    "operands": lambda: build("add.u32 %r1" + ", %r1" * MANY + ";"),
    "labels": lambda: build("".join(f"L{i}:\n" for i in range(MANY))),
    "branches": lambda: build("".join(f"L{i}: @%p1 bra L{i * 7 % 2000};\n" for i in range(2000))),
    "registers": lambda: build("".join(f".reg .b32 %x{i};\n" for i in range(MANY // 4))),
    "register ranges": lambda: build("".join(f".reg .b64 %x{i}<65535>;\n" for i in range(50))),
    "vast register range": lambda: build(".reg .b64 %x<4294967295>;"),
    "vaster register range": lambda: build(".reg .b64 %x<99999999999999999999>;"),
    "parameters": lambda: build("", ",".join(f".param .u64 p{i}" for i in range(MANY // 4))),
    "vast parameter": lambda: build("", ".param .b8 p[18446744073709551615]"),
    "vast shared": lambda: build("mov.u64 %rd1, s;", before=".shared .b8 s[18446744073709551615];"),
    "vast local": lambda: build(".local .b8 l[1099511627776];\nmov.u64 %rd1, l;"),
    "large local": lambda: build(
        ".local .b8 l[500000];\nmov.u64 %rd1, l;\nst.local.u8 [%rd1+499999], %h1;"
    ),
    "vast global": lambda: build("mov.u64 %rd1, g;", before=".global .b8 g[1099511627776];"),
    "vast constant": lambda: build("mov.u64 %rd1, c;", before=".const .b8 c[1099511627776];"),
    "odd alignments": lambda: build("", before=".global .align 4611686018427387904 .b8 g[4];"),
    "one long name": lambda: build("", name="k" * MANY * 10),
    "one long line": lambda: build(" " * MANY * 10 + "frob;"),
    "one long number": lambda: build("mov.u32 %r1, " + "9" * MANY * 10 + ";"),
    "one long float": lambda: build("mov.f64 %d1, 1." + "3" * MANY * 10 + ";"),
    "one long exponent": lambda: build("mov.f64 %d1, 1e" + "9" * MANY + ";"),
    "open comment": lambda: build("/*" + "*" * MANY),
    "comments": lambda: build("/**/" * MANY),
    "open string": lambda: build('.file 1 "' + "a" * MANY),
    "files": lambda: build("", before="".join(f'.file {i} "f"\n' for i in range(1, 20_000))),
    "vast file number": lambda: build("", before='.file 4294967295 "f"'),
    "vast line number": lambda: build(".loc 1 4294967295 4294967295\n trap;", before='.file 1 "f"'),
    "functions": lambda: build(
        "", before="".join(f".func f{i}() {{ ret; }}\n" for i in range(20_000))
    ),
    "chain of calls": lambda: build(
        "call f1999, ();",
        before=".func f0() { ret; }\n"
        + "".join(f".func f{i}() {{ call f{i - 1}, (); ret; }}\n" for i in range(1, 2000)),
    ),
    "functions that call each other": lambda: build(
        "call f, ();",
        before=".func g();\n.func f() { call g, (); ret; }\n.func g() { call f, (); ret; }\n",
    ),
    "pragmas": lambda: build('.pragma "nounroll";\n' * MANY),
    "sections": lambda: build("") + ".section .debug_info {\n" + ".b8 1,2,3\n" * MANY + "}\n",
    "open section": lambda: build("") + ".section .debug_info {\n" + ".b8 1,2,3\n" * MANY,
    "zero bytes": lambda: build("\0" * MANY),
    "not ASCII": lambda: build("\u00e9\u4e2d\U0001f600" * 1000),
    "carriage returns": lambda: build("mov.u32 %r1, %r2;\r\n" * 1000).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_hostile_nesting_and_length(case):
    attempt(HOSTILE[case]())
    check_still_works()


def test_message_stays_short():
    """A word of any length does not make a message of that length."""
    with pytest.raises(smemkit.PtxError) as caught:
        smemkit.RawModule(build("q" * 1_000_000 + " %r1;"), backend="sim")
    assert len(str(caught.value)) < 2000


def test_the_undamaged_texts_are_accepted():
    """So that the tests above begin from something valid."""
    assert len(NAMES) >= 10
    for path in NAMES:
        assert smemkit.RawModule(path.read_text(), backend="sim").kernels
