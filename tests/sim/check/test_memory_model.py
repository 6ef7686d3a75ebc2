"""Findings of random programs are the races that the definitions of the memory model give."""

import os
import random

import numpy as np
import pytest
from sim.check import memory_model

import smemkit

PROGRAMS, PARTS = int(os.environ.get("SMEMKIT_TEST_PROGRAMS", "240")), 8
FIRST = random.randrange(1 << 30)  # fresh ones each time; a failure names its own


def find_races(program, order):
    """{(line, line): finding}, the definitions' races, lines of steps, and the text."""
    text, line_of, turning = memory_model.spell(program)
    kernel = smemkit.RawModule(text, backend="sim").get_function("program")
    args = (np.zeros(16, np.uint32), np.zeros(1, np.uint32))
    # In lock step: the first lane of a warp waits for its turn, and the others with it.
    how = {"backend": "sim", "order": order, "independent": False}
    report = kernel.check(program.blocks, 32 * program.warps, args, **how)
    assert report.stopped is None and not report.truncated and report.incomplete == 0
    told = {}
    for finding in report.findings:
        sides = (finding.first, finding.second)
        if not all(side is not None and side.ptx_line in turning for side in sides):
            assert finding.kind in ("race", "warp_hazard", "global_race"), str(finding)
            told[tuple(sorted(side.ptx_line for side in sides))] = finding
    races = memory_model.Model(program).races()
    return told, races, line_of, text


def describe(program, text):
    steps = "\n".join(f"{number}: {step}" for number, step in enumerate(program.steps))
    return f"{steps}\n{text}"


def judge(seed):
    program = memory_model.make_program(seed)
    told, races, line_of, text = find_races(program, "reverse" if seed % 3 == 0 else "forward")
    pairs = {tuple(sorted((line_of[a.number], line_of[b.number]))) for a, b in races}
    words = f"seed {seed}\n{describe(program, text)}"
    for lines, finding in told.items():
        assert lines in pairs, f"{finding}\nis no race; {words}"
    for line in {line_of[b.number] for _, b in races}:
        theirs = {p for p in pairs if line in p}
        assert theirs & set(told), f"of the races {theirs} none is found; {words}"
    return bool(races)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part):
    seeds = range(FIRST + part, FIRST + PROGRAMS, PARTS)
    racy = sum(judge(seed) for seed in seeds)
    assert 0.2 < racy / len(seeds) < 0.95  # both kinds are tested


# Blocks in any order -----------------------------------------------------------------------------

ANY = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry program(.param .u64 cells)
{{
    .reg .b32 %r<16>;
    .reg .pred %p<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [cells];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
{body}
    ret;
}}
"""
WORDS = {
    "load": "ld.global.u32 %r3, [%rd1+{}];",
    "store": "st.global.u32 [%rd1+{}], {value};",
    "add": "red.relaxed.gpu.global.add.u32 [%rd1+{}], 1;",
}


def make_unordered(rng):
    """[(block, thread or None for a barrier, word, cell, value)] in program order."""
    steps = []
    for _ in range(rng.randint(3, 14)):
        block, thread = rng.randrange(6), rng.choice((0, 1, 33, None))
        word = rng.choice(("load", "load", "store", "add"))
        steps.append((block, thread, word, 4 * rng.randrange(4), rng.choice((7, 7, 7, 9))))
    return steps


def spell_unordered(steps):
    lines, line_of = ANY.split("{body}")[0].replace("{{", "{").splitlines(), {}
    for number, (block, thread, word, cell, value) in enumerate(steps):
        lines += [f"    setp.ne.u32 %p1, %r2, {block};", f"    @%p1 bra L{number};"]
        if thread is None:
            lines.append("    barrier.sync 0;")
        else:
            lines += [f"    setp.eq.u32 %p2, %r1, {thread};"]
            lines.append("    @%p2 " + WORDS[word].format(cell, value=value))
            line_of[number] = len(lines)
        lines.append(f"L{number}:")
    return "\n".join([*lines, "    ret;", "}"]) + "\n", line_of


def find_unordered(steps):
    """Pairs of steps that race: of two blocks, or of a block with no barrier between them."""
    pairs = set()
    for j, b in enumerate(steps):
        for i, a in enumerate(steps[:j]):
            if None in (a[1], b[1]) or a[3] != b[3] or a[:2] == b[:2]:
                continue
            words = {a[2], b[2]}
            if words in ({"load"}, {"add"}):
                continue
            between = [one for one in steps[i + 1 : j] if one[0] == a[0] and one[1] is None]
            if a[0] != b[0] or not between:
                pairs.add((i, j))
    return pairs


@pytest.mark.parametrize("part", range(4))
def test_random_programs_of_blocks_in_any_order(monkeypatch, part):
    """Each byte that has a race has a finding, of a pair that races; for any number of threads."""
    for seed in range(FIRST + part, FIRST + PROGRAMS, 4):
        steps = make_unordered(random.Random(seed))
        text, line_of = spell_unordered(steps)
        races = find_unordered(steps)
        step_of = {line: number for number, line in line_of.items()}
        seen = []
        for threads in ("1", "3"):
            monkeypatch.setenv("SMEMKIT_THREADS", threads)
            kernel = smemkit.RawModule(text, backend="sim").get_function("program")
            cells = np.zeros(16, np.uint32)
            report = kernel.check(6, 64, (cells,), backend="sim")
            found = {}
            for one in report.findings:
                lines = sorted(side.ptx_line for side in (one.first, one.second))
                found[tuple(step_of[line] for line in lines)] = one
            words = f"seed {seed}\n{steps}\n{text}\n{report}"
            assert set(found) <= races, words
            assert {steps[i][3] for i, _ in found} == {steps[i][3] for i, _ in races}, words
            for (i, j), one in found.items():
                stores = steps[i][2] == steps[j][2] == "store"
                values = {
                    step[4] for step in steps if step[2] == "store" and step[3] == steps[i][3]
                }
                if one.same_value:
                    assert stores and steps[i][4] == steps[j][4], words
                assert one.same_value or not stores or len(values) > 1, words
            seen.append([str(one) for one in report.findings])
        mended = [[line.partition("global 0x")[0] for line in told] for told in seen]
        assert mended[0] == mended[1]
