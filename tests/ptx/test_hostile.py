"""Texts that mean harm: they end in a typed error, soon, whatever they are."""

import random
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.paths import ROOT

import smemkit
from smemkit import _core

SEEDS = {p.stem: p.read_bytes() for p in sorted((ROOT / "tests/fuzz/corpus").glob("*.ptx"))}
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
WORDS = (
    b"{ } [ ] ( ) ; , : . + - ! @ | & < > = ? ~ % _ .reg .b32 .pred .v4 .param .shared .align .loc "
    b".branchtargets .callprototype mov add.f32 ld.global call bra 0 -1 0x7fffffffffffffff "
    b"0f3F800000 1.5 1e999 %r<9> generic( 0xFF00( /* \x00 \xff \xc3\xa9"
).split(b" ")


def read(text):
    """Reads a text; what parses must print to a fixed point. True where it parsed."""
    try:
        once = _core._ptx_print(text)
    except (smemkit.PtxError, smemkit.OutOfMemoryError) as error:
        assert str(error)
        return False
    assert _core._ptx_print(once) == once
    return True


def as_text(data):
    return data.decode("utf-8", "replace")


@pytest.mark.parametrize("name", SEEDS)
def test_truncated_at_every_byte(name):
    text = SEEDS[name].decode()
    for cut in range(len(text)):
        read(text[:cut])


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(SEEDS)),
    st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 6), st.binary(max_size=6)), max_size=6),
)
def test_mutated_bytes(name, edits):
    data = bytearray(SEEDS[name])
    for at, remove, insert in edits:
        at %= len(data) + 1
        data[at : at + remove] = insert
    read(as_text(bytes(data)))


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(SEEDS)),
    st.lists(st.tuples(st.integers(0, 999), st.integers(0, 2), st.sampled_from(WORDS)), max_size=5),
)
def test_mutated_words(name, edits):
    parts = re.split(rb"(\s+|(?=[,;{}\[\]()]))", SEEDS[name])
    for at, remove, insert in edits:
        at %= len(parts) + 1
        parts[at : at + remove] = [insert]
    read(as_text(b"".join(part or b"" for part in parts)))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([w.decode("latin-1") for w in WORDS]), max_size=60))
def test_random_words(words):
    read(HEADER + ".entry k() {" + " ".join(words) + "}")


@pytest.mark.parametrize("text", ["\0", HEADER + "\0\0.entry k() { ret; }", "\ud7ff", "\U0010ffff"])
def test_odd_characters(text):
    assert not read(text)


def test_trailing_zeros_are_a_terminator():
    assert read(HEADER + ".entry k() { ret; }\0\0")


N = 200_000
NESTED = {
    "scopes": HEADER + ".entry k() " + "{" * N + "}" * N,
    "parentheses": HEADER + ".global .u32 x = " + "(" * N + "1" + ")" * N + ";",
    "signs": HEADER + ".global .u32 x = " + "- " * N + "1;",
    "casts": HEADER + ".global .u64 x = " + "(.s64)" * N + "1;",
    "conditions": HEADER + ".global .u32 x = " + "1 ? 2 : " * N + "3;",
    "braces": HEADER + ".global .u32 x[1] = " + "{" * N,
    "dimensions": HEADER + ".global .u32 x" + "[1]" * N + ";",
    "lists": HEADER + ".entry k() { mov.b64 " + "{" * N,
    "words": HEADER + ".entry k() { add" + ".sat" * N + " 1; }",
    "operands": HEADER + ".entry k() { add.u32 " + "1," * N + "1; }",
    "comments": HEADER + "/*" * N,
    "digits": HEADER + ".global .u64 x = " + "1" * N + ";",
    "decimals": HEADER + ".global .f64 x = 0." + "1" * N + ";",
    "dots": HEADER + "." * N,
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_or_long(name):
    start = time.process_time()
    assert not read(NESTED[name])
    assert time.process_time() - start < 5


HUGE = [
    ".entry k() { .reg .b32 %r<4000000000>; ret; }",
    ".entry k() { .reg .b32 %r<18446744073709551615>; ret; }",
    ".shared .b8 x[1 << 60];",
    ".shared .b64 x[1 << 30][1 << 30];",
    ".global .b8 x[1 << 39] = {1};",
    ".global .u32 x[][1 << 38] = {{1}, {2}};",
    ".entry k(.param .b8 x[1 << 40]) { ret; }",
    ".entry k() { .local .b8 x[1 << 40]; ret; }",
    ".entry k() .maxntid 99999999999 { ret; }",
]


@pytest.mark.parametrize("line", HUGE)
def test_huge_counts(line):
    start = time.process_time()
    assert not read(HEADER + line)
    assert time.process_time() - start < 1


def test_many_unused_registers_cost_nothing():
    lines = "".join(f".func f{i}() {{ .reg .b32 %r<1000000>; ret; }}\n" for i in range(3000))
    start = time.process_time()
    assert read(HEADER + lines)
    assert time.process_time() - start < 5


def long_texts():
    """Legal texts of a given number of lines, each of another kind."""
    yield (
        "instructions",
        lambda n: (
            ".entry k() { .reg .b32 %r<1000>;\n"
            + "".join(f"add.s32 %r{i % 1000}, %r{i * 7 % 1000}, {i};\n" for i in range(n))
            + "}"
        ),
    )
    yield (
        "names",
        lambda n: (
            ".entry k() {\n"
            + "".join(f".reg .b32 a{i}; mov.b32 a{i}, {i};\n" for i in range(n))
            + "}"
        ),
    )
    yield (
        "labels",
        lambda n: ".entry k() {\n" + "".join(f"L{i}: bra L{n - 1 - i};\n" for i in range(n)) + "}",
    )
    yield "forward jumps", lambda n: ".entry k() {\n" + "{ bra L; }\n" * n + "L: ret; }"
    yield (
        "one name in many scopes",
        lambda n: ".entry k() {\n" + "{ .reg .b32 a; mov.b32 a, 1; }\n" * n + "}",
    )
    yield (
        "functions",
        lambda n: "".join(
            f".func f{i}() {{ ret; }}\n.func g{i}() {{ call f{i}; }}\n" for i in range(n)
        ),
    )
    yield (
        "values",
        lambda n: f".global .u32 x[{n}] = {{" + ",\n".join(str(i) for i in range(n)) + "};",
    )
    yield (
        "files",
        lambda n: (
            "".join(f'.file {i} "f{i}"\n' for i in range(n))
            + ".entry k() {\n"
            + "".join(f".loc {i} 1 1\nret;\n" for i in range(n))
            + "}"
        ),
    )


@pytest.mark.parametrize(
    "kind, make", list(long_texts()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_time_is_linear_in_the_length(kind, make):
    def measure(count):
        text = HEADER + make(count)
        start = time.process_time()
        assert read(text)
        return time.process_time() - start

    small = min(measure(4000) for _ in range(3))
    large = measure(64000)
    # 16 times as much: a square would take 256 times as long
    assert large < max(64 * small, 2.0), (kind, small, large)


def test_megabytes_parse_in_well_under_a_second():
    line = "fma.rn.f32 %f1, %f2, %f3, %f1;\n"
    text = HEADER + ".entry k() { .reg .f32 %f<4>;\n" + line * (2_000_000 // len(line)) + "}"
    start = time.process_time()
    smemkit.RawModule(text, backend="sim")
    assert time.process_time() - start < 5  # some 0.1 s; the margin is for a busy machine


def test_random_bytes(rng):
    for _ in range(300):
        size = int(rng.integers(0, 200))
        read(HEADER + as_text(rng.bytes(size)))


def test_random_pieces_of_all_seeds(rng):
    pieces = [w for s in SEEDS.values() for w in s.decode().split(";")]
    picker = random.Random(int(rng.integers(1 << 30)))
    for _ in range(200):
        read(HEADER + ".entry k() {" + ";".join(picker.choices(pieces, k=12)) + "}")
