"""Uneven work: a launch takes at least as long as the warp and the block that have most to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .executed import map_counts
from .latency import time_warps
from .ptx_chain import read_step, time_chain
from .ptx_lines import list_loops

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .executed import ExecutedCode
    from .latency import Latencies, LineAccess

BUSIER = 2.0  # times the mean, from where on a warp or a block is timed by itself
BRANCH = re.compile(r"@!?%\w+\s+bra\b")


def compare_blocks(facts: Mapping[str, Any]) -> float:
    """How many times as many instructions as the mean one counted block executes, at most.

    >>> counters = {"instructions.warp": 80}
    >>> compare_blocks({"busiest": (20, 60, []), "counters": counters, "blocks": 4})
    3.0
    """
    _, most, _ = facts.get("busiest", (0, 0, ()))
    total = facts["counters"].get("instructions.warp", 0)
    return max(1.0, most * facts["blocks"] / total) if total else 1.0


def time_busiest(
    facts: Mapping[str, Any],
    executed: ExecutedCode | None,
    latencies: Latencies,
    service: Mapping[str, float],
    lines: Mapping[int, LineAccess],
    warps: int,
    block_clocks: float,
) -> float:
    """Clocks that the busiest warp takes alone, and the busiest block; 0 where all do as much.

    warps: of a block. block_clocks: that the mean block occupies its multiprocessor.
    """
    most, _, counts = facts.get("busiest", (0, 0, ()))
    uneven = compare_blocks(facts)
    clocks = uneven * block_clocks if uneven >= BUSIER else 0.0
    mean = facts["counters"].get("instructions.warp", 0) / (facts["blocks"] * warps)
    if most < BUSIER * mean:
        return clocks
    rows = [
        {**row, "counters": {"instructions.warp": times}}
        for row, times in zip(facts["instructions"], counts, strict=True)
        if times
    ]
    if executed is None:
        return max(clocks, time_chain(rows, facts["ptx"], latencies, warps))
    alone = map_counts(executed.code, rows)
    times = time_warps(alone, latencies, 1, service=service, lines=lines)
    issued = alone.issue_slots / alone.warps if alone.warps else alone.issue_slots
    return max(clocks, times.clocks * issued / max(times.issued, 1.0))


def list_ends(facts: Mapping[str, Any]) -> set[tuple[str, int]]:
    """(function, line) of the last instruction of each loop."""
    functions = dict.fromkeys(row["function"] for row in facts["instructions"])
    return {
        (function, loop.last)
        for function in functions
        for loop in list_loops(facts["ptx"], function)
    }


def has_turns(facts: Mapping[str, Any]) -> bool:
    """Do blocks ask an atomic again and again until others have changed what it gives?

    Not so where the next atomic writes what was made of the result of the one before.
    """
    rows = facts["instructions"]
    made: set[str] = set()
    for row in rows + rows:
        step = read_step(row["ptx"])
        if step.kind == "atomic.global":
            if not made.isdisjoint(step.operands):
                return False
            made.update(step.results)
        elif not made.isdisjoint(step.operands):
            made.update(step.results)
    ends = list_ends(facts)
    return any(
        (row["function"], row["ptx_line"]) in ends
        and BRANCH.match(row["ptx"]) is not None
        and read_step(row["ptx"]).guard in made
        for row in rows
    )


def has_loops_of_data(facts: Mapping[str, Any]) -> bool:
    """Do loops run as often as values say that the kernel has read?"""
    read: set[str] = set()
    rows = facts["instructions"]
    shared, before = False, -1
    while before != len(read):  # until nothing more is found: registers are made in loops too
        before = len(read)
        for row in rows:
            step = read_step(row["ptx"])
            depends = not read.isdisjoint(step.operands)
            if step.kind == "store.shared":
                shared = shared or depends
            loads = step.kind in ("load.global", "atomic.global", "atomic.shared")
            if depends or loads or (step.kind == "load.shared" and shared):
                read.update(step.results)
    ends = list_ends(facts)
    return any(
        BRANCH.match(row["ptx"]) is not None and read_step(row["ptx"]).guard in read
        for row in rows
        if (row["function"], row["ptx_line"]) in ends
    )
