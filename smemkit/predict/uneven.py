"""Uneven work: a launch takes at least as long as the warp and the block that have most to do."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from . import ptx_chain
from .executed import map_counts
from .latency import time_warps
from .phases import is_watching
from .ptx_chain import read_step, time_chain
from .turns import BRANCH, list_jumps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .executed import ExecutedCode
    from .latency import Latencies, LineAccess

UNEVEN = 1.3  # times the mean of the counted blocks: from there on one that asks for more is named
MORE_WORK = 2_000_000  # warp instructions that are counted where some blocks do not tell enough
MORE_LEAST = 8  # times as many blocks as before: fewer tell little more
# Warp instructions, and bytes that are read, of launches so short that their last block is counted.
LAST_WORK, LAST_BYTES = 6_000_000, 1 << 24
LITTLE = 0.05  # of the instructions: of a loop with fewer blocks will seldom have many
# Of instructions, a line each: a fence and an atomic whose result is read; by them a block finds
# out that it is the last one.
GUARD = r"^(?:@\S+\s+)?"
FENCE = re.compile(GUARD + ptx_chain.FENCE.pattern + r"\b", re.MULTILINE)
TICKET = re.compile(GUARD + r"atom\.(?!shared)", re.MULTILINE)
TURN = re.compile(GUARD + r"atom\.(?!shared)(?:\w+\.)*inc\b", re.MULTILINE)
RARE = 0.1  # times as often as the busiest warp: what others execute less often is the last one's
BUSIER = 2.0  # times the mean, from where on a warp or a block is timed by itself


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


def has_last_block(facts: Mapping[str, Any]) -> bool:
    """Do blocks draw tickets, so that the last one of a group may do what no other does?"""
    rows = "\n".join(row["ptx"] for row in facts["instructions"])
    return bool(TURN.search(rows) or (TICKET.search(rows) and FENCE.search(rows)))


def split_last(
    facts: Mapping[str, Any], executed: ExecutedCode
) -> tuple[ExecutedCode, ExecutedCode, ExecutedCode] | None:
    """What blocks do before the last one goes on alone, what it does, and what an average one does.

    The second is that of the warp that has most to do, the third that of another warp. None where
    not all blocks were counted, or none is the last one.
    """
    _, _, counts = facts.get("busiest", (0, 0, ()))
    if facts["blocks"] < facts["blocks_total"] or is_watching(facts) or not counts:
        return None
    if not executed.warps or not has_last_block(facts):
        return None
    kept, busiest, usual = [], [], []
    for row, times in zip(facts["instructions"], counts, strict=True):
        often = row["counters"].get("instructions.warp", 0) / executed.warps
        kept += [row] if often >= RARE * times else []
        busiest += [{**row, "counters": {"instructions.warp": times}}] if times else []
        mean = round(often)
        usual += [{**row, "counters": {"instructions.warp": mean}}] if mean else []
    before, last, one = (map_counts(executed.code, rows) for rows in (kept, busiest, usual))
    return before, last, one


def time_last(
    last: ExecutedCode,
    usual: ExecutedCode,
    latencies: Latencies,
    service: Mapping[str, float],
    lines: Mapping[int, LineAccess],
) -> float:
    """Clocks that the last block takes behind all others: what it does more, while it is alone."""

    def time(alone: ExecutedCode) -> float:
        times = time_warps(alone, latencies, 1, service=service, lines=lines)
        return times.clocks * alone.issue_slots / max(alone.warps * times.issued, 1.0)

    return max(0.0, time(last) - time(usual))


def has_loops_of_data(facts: Mapping[str, Any]) -> bool:
    """Do loops run as often as values say that the kernel has read?"""
    read: set[str] = set()
    rows = facts["instructions"]
    if not any(BRANCH.match(row["ptx"]) for row in rows):
        return False
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
    work = facts["counters"].get("instructions.warp", 0)
    return any(
        sum(
            row["counters"].get("instructions.warp", 0)
            for row in rows
            if row["function"] == jump.function and jump.first <= row["ptx_line"] <= jump.last
        )
        > LITTLE * work
        for jump in list_jumps(facts, read)
    )


def is_unsure(facts: Mapping[str, Any]) -> bool:
    """May blocks that were not counted do much more than those that were?"""
    if facts["blocks"] >= facts["blocks_total"] or is_watching(facts):
        return False
    return compare_blocks(facts) > UNEVEN or has_loops_of_data(facts)


def is_last_short(facts: Mapping[str, Any]) -> bool:
    """Is the launch so short that its last block matters, which was not counted?"""
    counted, total = facts["blocks"], facts["blocks_total"]
    counters = facts["counters"]
    work = counters.get("instructions.warp", 0) / counted * total
    read = counters.get("global.load.bytes", 0) / counted * total
    short = counted < total and work <= LAST_WORK and read <= LAST_BYTES
    return short and has_last_block(facts) and not is_watching(facts)


def find_more(launches: Sequence[Mapping[str, Any]]) -> int | None:
    """How many blocks of each launch to count anew, 0 for all; None where it is enough, or dear."""
    if not any(is_unsure(facts) for facts in launches):
        return 0 if any(map(is_last_short, launches)) else None
    counted = max(facts["blocks"] for facts in launches)
    work = [
        (facts["counters"].get("instructions.warp", 0) / facts["blocks"], facts["blocks_total"])
        for facts in launches
    ]
    if math.fsum(each * total for each, total in work) <= MORE_WORK:
        return 0
    most = int(MORE_WORK / math.fsum(each for each, _ in work))
    return most if most >= MORE_LEAST * counted else None
