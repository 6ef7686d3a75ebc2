"""Updates of memory that blocks share: what comes out does not depend on the host's threads."""

import numpy as np
import pytest

import smemkit

BLOCKS, TURNS = 512, 3
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.global .align 8 .b32 first[4];
.global .align 8 .b32 second[4];
{functions}
.visible .entry k({parameters})
{{
    .reg .b32 %r<20>;
    .reg .b64 %rd<20>;
    .reg .pred %p<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r2, %r1, 0x9E3779B1, 12345;
    shr.u32 %r3, %r2, 7;
    cvt.u64.u32 %rd3, %r2;
    mov.u32 %r4, 0;
SPIN:                       // blocks take their time, each its own
    add.u32 %r4, %r4, 1;
    and.b32 %r5, %r2, 1023;
    setp.lt.u32 %p1, %r4, %r5;
    @%p1 bra SPIN;
    {body}
    ret;
}}
"""
POINTERS = ".param .u64 x, .param .u64 y"


def load(body, functions="", parameters=POINTERS):
    text = TEXT.format(body=body, functions=functions, parameters=parameters)
    return smemkit.RawModule(text, backend="sim").get_function("k")


def run(monkeypatch, kernel, args, threads):
    """How many of the host's threads worked."""
    monkeypatch.setenv("SMEMKIT_THREADS", str(threads))
    kernel((BLOCKS,), (1,), args, backend="sim")
    return smemkit._core._run_stats()["threads"]


def values():
    numbers = (np.arange(BLOCKS, dtype=np.uint64) * 0x9E3779B1 + 12345) & 0xFFFFFFFF
    return [int(number) for number in numbers]


def signed(number):
    return number - (1 << 32) if number >> 31 else number


# Pairs that do not commute, and what one block makes of a word.
MIXED = {
    "add_max": (
        "red.global.add.u32 [%rd1], %r3;\nred.global.max.u32 [%rd1], %r2;",
        lambda word, v: max((word + (v >> 7)) & 0xFFFFFFFF, v),
    ),
    "and_or": (
        "red.global.and.b32 [%rd1], %r2;\nred.global.or.b32 [%rd1], %r3;",
        lambda word, v: word & v | v >> 7,
    ),
    "xor_add": (
        "red.global.xor.b32 [%rd1], %r2;\nred.global.add.u32 [%rd1], %r3;",
        lambda word, v: ((word ^ v) + (v >> 7)) & 0xFFFFFFFF,
    ),
    "signed_min": (
        "red.global.min.s32 [%rd1], %r2;\nred.global.min.u32 [%rd1], %r2;",
        lambda word, v: min(v, word if signed(word) <= signed(v) else v),
    ),
    "loaded_twice": (
        "red.global.add.u32 [%rd1], %r3;\nld.param.u64 %rd8, [x];\nred.global.max.u32 [%rd8], %r2;",
        lambda word, v: max((word + (v >> 7)) & 0xFFFFFFFF, v),
    ),
    "generic": (
        "red.add.u32 [%rd1], %r3;\natom.max.u32 %r9, [%rd1], %r2;",
        lambda word, v: max((word + (v >> 7)) & 0xFFFFFFFF, v),
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_kinds_that_do_not_commute_come_in_the_order_of_blocks(monkeypatch, name):
    body, step = MIXED[name]
    word = 0xF0F0F0F
    for value in values():
        word = step(word, value)
    kernel = load(body)
    for threads in (1, 2, 5, 16) * TURNS:
        x = np.full(4, 0xF0F0F0F, np.uint32)
        used = run(monkeypatch, kernel, (x, np.zeros(4, np.uint32)), threads)
        assert x.tolist() == [word, 0xF0F0F0F, 0xF0F0F0F, 0xF0F0F0F]
        assert used == 1


@pytest.mark.parametrize("name", MIXED)
def test_check_and_profile_run_them_in_that_order_too(monkeypatch, name):
    """Atomics do not race, whatever their kind."""
    body, step = MIXED[name]
    kernel, word = load(body), 0xF0F0F0F
    for value in values():
        word = step(word, value)
    monkeypatch.setenv("SMEMKIT_THREADS", "7")
    for watch in (kernel.check, kernel.profile):
        x = np.full(4, 0xF0F0F0F, np.uint32)
        report = watch((BLOCKS,), (1,), (x, np.zeros(4, np.uint32)), backend="sim")
        assert x[0] == word
        assert watch == kernel.profile or not report.findings


def test_widths_that_carry_into_each_other(monkeypatch):
    kernel = load("red.global.add.u64 [%rd1], %rd3;\nred.global.add.u32 [%rd1], %r3;")
    word = 0
    for value in values():
        word = (word + value) % (1 << 64)
        word = word >> 32 << 32 | (word + (value >> 7)) & 0xFFFFFFFF
    for threads in (1, 7) * TURNS:
        x = np.zeros(2, np.uint64)
        run(monkeypatch, kernel, (x, x), threads)
        assert int(x[0]) == word


OFFSET = "mov.u32 %r6, %ctaid.x;\nand.b32 %r6, %r6, 3;\nmul.wide.u32 %rd5, %r6, 4;\n"
SUM = "red.global.add.u32 [%rd6], %r3;\n"
MOST = "red.global.max.u32 [%rd7], %r2;"

APART = {
    "one kind": (SUM.replace("6", "1") + SUM.replace("6", "2"), {}),
    "results that nothing reads": (
        "atom.global.add.u32 %r9, [%rd1], %r3;\natom.global.add.u32 %r9, [%rd2], %r3;",
        {},
    ),
    "bits": (
        "red.global.or.b32 [%rd1], %r2;\nred.global.or.b64 [%rd1], %rd3;",
        {},
    ),
    "signs": ("red.global.add.u32 [%rd1], %r2;\nred.global.add.s32 [%rd1], %r2;", {}),
    "two arrays": (
        OFFSET + "add.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd7, %rd2, %rd5;\n" + SUM + MOST,
        {},
    ),
    "loaded index": (
        OFFSET
        + "ld.param.u64 %rd9, [n];\ncvta.to.global.u64 %rd8, %rd1;\nadd.s64 %rd9, %rd9, %rd5;\n"
        "ld.global.u32 %r7, [%rd9];\n"
        "and.b32 %r7, %r7, 3;\nmad.wide.u32 %rd6, %r7, 4, %rd8;\n"
        "mad.wide.u32 %rd7, %r7, 4, %rd2;\n" + SUM + MOST,
        {"parameters": POINTERS + ", .param .u64 n"},
    ),
    "walking pointers": (
        "mov.u64 %rd6, %rd1;\nmov.u64 %rd7, %rd2;\nmov.u32 %r6, 0;\nNEXT:\n"
        + SUM
        + MOST
        + "\nadd.s64 %rd6, %rd6, 4;\nadd.s64 %rd7, %rd7, 4;\nadd.u32 %r6, %r6, 1;\n"
        "setp.lt.u32 %p2, %r6, 4;\n@%p2 bra NEXT;",
        {},
    ),
    "variables": (
        "mov.u64 %rd6, first;\nmov.u64 %rd7, second;\n" + SUM + MOST,
        {},
    ),
    "a number": (
        "ld.param.u64 %rd5, [n];\nshl.b64 %rd5, %rd5, 2;\nadd.s64 %rd6, %rd1, %rd5;\n"
        "add.s64 %rd7, %rd2, %rd5;\n" + SUM + MOST,
        {"parameters": POINTERS + ", .param .u64 n"},
    ),
}


@pytest.mark.parametrize("name", APART)
def test_updates_that_commute_or_lie_apart_use_all_threads(monkeypatch, name):
    body, options = APART[name]
    kernel = load(body, **options)
    extra = {"loaded index": (np.arange(4, dtype=np.uint32),), "a number": (np.uint64(3),)}
    results = []
    for threads in (1, 2, 3):
        x, y = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
        assert run(monkeypatch, kernel, (x, y, *extra.get(name, ())), threads) == threads
        results.append((x.tolist(), y.tolist()))
    assert results[0] == results[1] == results[2]
    assert any(results[0][0]) or name == "variables"


TOGETHER = {
    "one array twice": (APART["two arrays"][0], {}),
    "either": (
        "setp.lt.u32 %p2, %r2, 99;\nselp.b64 %rd6, %rd1, %rd2, %p2;\nmov.u64 %rd7, %rd2;\n"
        + SUM
        + MOST,
        {},
    ),
    "pointer in memory": (
        "ld.global.u64 %rd6, [%rd1];\nsetp.ne.u64 %p2, %rd6, 0;\nmov.u64 %rd7, %rd2;\n"
        "@%p2 red.global.add.u32 [%rd6], %r3;\n" + MOST,
        {},
    ),
    "function": (
        "{ .param .b64 p; st.param.b64 [p], %rd1; call f, (p); }\nmov.u64 %rd7, %rd2;\n" + MOST,
        {
            "functions": ".func f(.param .b64 p)\n{ .reg .b64 %a; ld.param.b64 %a, [p];\n"
            "red.global.add.u32 [%a], 1; ret; }"
        },
    ),
    "function of registers": (
        "call f, (%rd1);\nmov.u64 %rd7, %rd2;\n" + MOST,
        {"functions": ".func f(.reg .b64 %a)\n{ red.global.add.u32 [%a], 1; ret; }"},
    ),
    "halves": (
        "mov.b64 {%r6, %r7}, %rd1;\nmov.b64 %rd6, {%r6, %r7};\nmov.u64 %rd7, %rd1;\n" + SUM + MOST,
        {},
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_updates_that_may_meet_come_in_the_order_of_blocks(monkeypatch, name):
    body, options = TOGETHER[name]
    kernel = load(body, **options)
    results = []
    for threads in (1, 4) * TURNS:
        x, y = (smemkit.asarray(np.zeros(8, np.uint32), backend="sim") for _ in range(2))
        y = x if name == "one array twice" else y
        assert run(monkeypatch, kernel, (x, y), threads) == 1
        results.append(smemkit.asnumpy(x).tolist())
    assert all(result == results[0] for result in results)


def test_parts_of_one_allocation_may_meet(monkeypatch):
    """A pointer into an array may walk to what another points to."""
    whole = smemkit.asarray(np.zeros(8, np.uint32), backend="sim")
    kernel = load(APART["walking pointers"][0], parameters=POINTERS)
    assert run(monkeypatch, kernel, (whole, whole), 4) == 1


# what is left to chance ---------------------------------------------------------------------------

CHANCE = {
    "stores": "st.global.u32 [%rd1], %r2;",
    "a load beside a red": "red.global.add.u32 [%rd1], %r3;\nld.global.u32 %r7, [%rd1];",
    "a store beside a red": "red.global.add.u32 [%rd1], %r3;\nst.global.u32 [%rd1], %r7;",
}


@pytest.mark.parametrize("name", CHANCE)
def test_what_depends_on_threads_is_a_race_that_check_finds(name):
    kernel = load("mov.u32 %r7, 5;\n" + CHANCE[name])
    x = np.zeros(4, np.uint32)
    report = kernel.check((BLOCKS,), (1,), (x, x), backend="sim")
    assert {finding.kind for finding in report.findings} == {"global_race"}


STRONG = {
    "volatile": "ld.volatile.global.u32 %r7, [%rd1];\nadd.u32 %r7, %r7, %r3;\n"
    "st.volatile.global.u32 [%rd1], %r7;",
    "relaxed": "ld.relaxed.gpu.global.u32 %r7, [%rd1];\nadd.u32 %r7, %r7, %r3;\n"
    "st.relaxed.gpu.global.u32 [%rd1], %r7;",
    "exchange": "atom.global.exch.b32 %r7, [%rd1], %r2;\nred.global.add.u32 [%rd2], %r7;",
    "a result": "atom.global.add.u32 %r7, [%rd1], %r3;\nred.global.xor.b32 [%rd2], %r7;",
    "floats": "cvt.rn.f32.u32 %r7, %r2;\nred.global.add.f32 [%rd1], %r7;",
}


@pytest.mark.parametrize("name", STRONG)
def test_what_may_race_by_the_rules_comes_in_the_order_of_blocks(monkeypatch, name):
    kernel = load(STRONG[name])
    results = []
    for threads in (1, 3, 16) * TURNS:
        x, y = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
        assert run(monkeypatch, kernel, (x, y), threads) == 1
        results.append((x.tolist(), y.tolist()))
    assert all(result == results[0] for result in results)
