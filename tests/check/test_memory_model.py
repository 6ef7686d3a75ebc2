"""Findings of random programs are the races that the definitions of the memory model give."""

import os
import random

import memory_model
import numpy as np
import pytest

import smemkit

PROGRAMS, PARTS = int(os.environ.get("SMEMKIT_TEST_PROGRAMS", "400")), 8
FIRST = random.randrange(1 << 30)  # fresh ones each time; a failure names its own


def find_races(program):
    """{(line, line) of a finding: kind}, and the oracle's races by lines."""
    text, line_of, turning = memory_model.spell(program)
    kernel = smemkit.RawModule(text, backend="sim").get_function("program")
    args = (np.zeros(16, np.uint32), np.zeros(1, np.uint32))
    report = kernel.check(program.blocks, 32 * program.warps, args, backend="sim")
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
    told, races, line_of, text = find_races(program)
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
    assert 0.2 < racy / len(seeds) < 0.98  # both kinds are tested
