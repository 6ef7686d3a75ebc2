"""Faulty kernels and their clean forms: check finds just the faults, and names their lines."""

import dataclasses
import functools
import itertools
import re

import numpy as np
import pytest
from read_tables import read_rows
from sim.check import check_cases, check_ptx, first_mistakes
from sim.check.check_cases import CASES, MARKS

import smemkit

ACTIONS = read_rows("sim/check/finding.def", "SMK_ACTION")
KINDS = [row["name"] for row in read_rows("sim/check/finding.def", "SMK_FINDING")]
RUNS = [(case, mode) for case in CASES for mode in case.modes]
CLEAN = {case.entry for case in CASES if not case.groups}


IDS = ["-".join(filter(None, (c.entry, c.label.replace(" ", "_"), mode))) for c, mode in RUNS]


@functools.cache
def check_run(number):
    """Of RUNS[number]: the report, the arguments, and copies of them from before."""
    case, mode = RUNS[number]
    module = smemkit.RawModule(check_ptx.load_ptx(case.file, mode), backend="sim")
    args = case.args()
    before = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    kernel = module.get_function(case.entry)
    report = kernel.check(case.grid, case.block, args, **case.options)
    return report, args, before


def lines_of(side, case):
    """The lines of the case's file that a side may stand for.

    Atomic operations are functions of CUDA's headers, which a debug build calls: those stand for
    any marked line that calls one.
    """
    if side.file is not None and side.file.endswith(f"{case.file}.cu"):
        return {side.line}
    assert side.op == "atomic", (side.file, side.line)
    source = check_ptx.source_of(case.file).splitlines()
    marked = {line for group in case.groups for line in group.lines}
    return {line for line in marked if "atomic" in source[line - 1]}


def places_of(finding, case):
    """All pairs of lines (or single lines) that a finding may be about."""
    sides = [side for side in (finding.first, finding.second) if side is not None]
    return list(itertools.product(*(lines_of(side, case) for side in sides)))


def describe(report):
    return "\n".join(f"{finding.kind}: {finding.message}" for finding in report.findings)


@pytest.mark.parametrize("number", range(len(RUNS)), ids=IDS)
def test_case(number):
    case = RUNS[number][0]
    report, args, before = check_run(number)
    told = describe(report)
    assert {finding.kind for finding in report.findings} <= case.kinds | case.may, told
    for group in case.groups:
        found = [finding for finding in report.findings if finding.kind in group.kinds]
        places = [lines for finding in found for lines in places_of(finding, case)]
        assert any(group.names(lines) for lines in places), (group, told)
    for finding in report.findings:
        groups = [group for group in case.groups if finding.kind in group.kinds]
        places = places_of(finding, case) if groups else []
        allowed = any(group.allows(lines) for group in groups for lines in places)
        assert allowed or finding.kind in case.may, (places, told)
    assert bool(report) == (not report.findings)
    if case.right is not None:
        expected = case.right(before)
        output = args[case.output] if case.output >= 0 else last_array(args)
        assert (output[: len(expected)] == expected).all()


def last_array(args):
    return [arg for arg in args if isinstance(arg, np.ndarray)][-1]


@pytest.mark.parametrize("number", range(len(RUNS)), ids=IDS)
def test_findings_are_complete(number):
    """Whatever is found says where, who, which address and which variable."""
    case = RUNS[number][0]
    grid, block = np.ones(3, int), np.ones(3, int)
    grid[: np.size(case.grid)], block[: np.size(case.block)] = case.grid, case.block
    for finding in check_run(number)[0].findings:
        assert finding.kind in KINDS
        assert finding.message and "\n" not in finding.message
        assert finding.count >= 1
        assert finding.first is not None
        for side in (finding.first, finding.second):
            if side is None:
                continue
            assert side.function and side.ptx_line > 0 and side.ptx
            assert (np.array(side.block) < grid).all() and (np.array(side.thread) < block).all()
            is_use = finding.kind == "shuffle" or (side.space == "shared" and not side.bytes)
            if finding.kind != "barrier" and not is_use:
                assert side.bytes in (1, 2, 4, 8, 16)
                assert side.space in ("shared", "global", "local", "const", "param")


def match_action(row, text):
    """Whether a text is that of a row of finding.def, for some lines."""
    pattern = re.sub(r"\\\{\w+\\\}", "(.+)", re.escape(row["text"]))
    return re.fullmatch(pattern, text) is not None


def find_unsaid(actions, findings):
    """(finding, situation) of rows of finding.def with a text that none of some findings says."""
    return [
        (row["finding"], row["situation"])
        for row in actions
        if not any(match_action(row, finding.action) for finding in findings)
    ]


def test_every_finding_says_what_to_do():
    """Lines that it names are its own, and each text of the table is said of some kernel."""
    findings = [finding for number in range(len(RUNS)) for finding in check_run(number)[0].findings]
    for finding in findings:
        rows = [row for row in ACTIONS if row["finding"].lower() == finding.kind]
        assert any(match_action(row, finding.action) for row in rows), finding.action
        named = {int(number) for number in re.findall(r"lines? (\d+)", finding.action)}
        named |= {int(number) for number in re.findall(r"lines \d+ and (\d+)", finding.action)}
        sides = [side for side in (finding.first, finding.second) if side is not None]
        assert named <= {side.line for side in sides}, finding.action
        assert f"advice: {finding.action[:40]}" in str(finding)
        assert finding.to_dict()["action"] == finding.action
    findings += first_mistakes.find_all()
    assert find_unsaid(ACTIONS, findings) == []
    assert find_unsaid([{"finding": "RACE", "situation": "X", "text": "planted"}], findings)


def test_every_kind_has_advice_for_what_is_left():
    last = {row["finding"]: row["situation"] for row in ACTIONS}
    assert [kind.lower() for kind in last] == KINDS
    assert set(last.values()) == {"ALWAYS"}
    assert [row["situation"] for row in ACTIONS].count("ALWAYS") == len(KINDS)


def test_every_kernel_has_a_case():
    tested = {case.entry for case in CASES}
    for name in check_ptx.names():
        assert set(MARKS[name]) <= tested
        for mode in check_ptx.MODES:
            text = check_ptx.load_ptx(name, mode)
            entries = re.findall(r"^\.visible \.entry (\w+)\(", text, re.M)
            assert set(entries) == set(MARKS[name]), f"{name}: check_ptx.py has not run"
            assert f'"{name}.cu"' in text


def find_unreported(kinds, cases):
    """Kinds without a faulty kernel, and those of which a faulty kernel has no clean form."""
    cures = {kind: [case.cure in CLEAN for case in cases if kind in case.kinds] for kind in kinds}
    return [kind for kind, cured in cures.items() if not cured or not all(cured)]


def test_every_kind_has_faulty_and_clean_kernels():
    assert len({case.entry for case in CASES}) >= 60
    unreported = find_unreported(KINDS, CASES)
    assert not unreported, f"no faulty kernel with a clean form shows {unreported}"


def test_kind_that_nobody_reports_is_named():
    assert find_unreported(["race", "planted"], CASES) == ["planted"]
    uncured = [dataclasses.replace(case, cure=None) for case in CASES if case.groups]
    assert find_unreported(["race"], uncured) == ["race"]


def test_documents_name_every_kind():
    """The docstring of check lists the kinds as the table does."""
    listed = re.search(r'each with kind\s+\(((?:"\w+"[,\s]*)+);', smemkit.check.__doc__)[1]
    names = re.findall(r'"(\w+)"', listed)
    missing = [kind for kind in KINDS if kind not in names]
    assert not missing, f"the docstring of check does not name {missing}"
    assert names == KINDS


def test_some_outputs_are_right_all_the_same():
    assert sum(bool(case.groups and case.right) for case in CASES) >= 8


@pytest.mark.skipif(check_ptx.find_nvcc() is None, reason="no nvcc here")
@pytest.mark.parametrize("mode", check_ptx.MODES)
@pytest.mark.parametrize("name", ["tile", "async"])
def test_kept_ptx_is_of_the_sources(name, mode):
    """Another nvcc may write other PTX: its lines must be those of the sources."""
    text = check_ptx.compile_ptx(check_ptx.find_nvcc(), name, mode)
    lines = lambda ptx: set(re.findall(r"^\t\.loc\t1 (\d+)", ptx, re.M))  # noqa: E731
    assert lines(text) == lines(check_ptx.load_ptx(name, mode))


def test_marks_are_read():
    source = (
        'extern "C" __global__ void one(int *x)\n'
        "    a; // <- race: first; warp_hazard 2: first, second\n"
        "    b; // <- race: second\n"
        "    c; // <- barrier: either\n"
    )
    race, hazard, barrier = check_cases.read_marks(source)["one"]
    assert (race.kinds, race.first, race.second) == (("race",), {2}, {3})
    assert race.names([3, 2]) and not race.names([2, 2]) and not race.allows([3])
    assert hazard.names([2, 2]) and not hazard.names([2, 3])
    assert barrier.allows([4]) and not barrier.allows([5])
