"""Blocks that read everything before they write: while all of them run at once, phases add up.

Of launches whose blocks are all resident, the first block writes once its own reads have come, and
no other block computes meanwhile: caches and memory first serve reads, then writes. The same is
true of more blocks where each waits for what those before it write: they go in step.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

WARP = 32
MOST = 0.9  # of the sectors, which lie on one side of a line
READ = ("global.load.sectors", "async.sectors")
WRITTEN = ("global.store.sectors",)
BARRIER = re.compile(r"(?:@\S+\s+)?bar(?:rier)?\.(?!warp|cluster)")
# Loads by which blocks watch what others write; those of shared memory watch warps of their own.
WATCHING = re.compile(r"ld\.(?:volatile|acquire|relaxed)(?![\w.:]*\bshared)")


def is_watching(facts: Mapping[str, Any]) -> bool:
    """Do blocks of a launch wait for what others of it write?"""
    return any(WATCHING.search(row["ptx"]) for row in facts["instructions"])


class Phases(NamedTuple):
    """How blocks read and write. meet: whether all warps of a block have read before one writes."""

    meet: bool


def find_phases(facts: Mapping[str, Any]) -> Phases | None:
    """The phases of a launch whose blocks read at once, but for little, and then write; or None."""
    rows = facts["instructions"]
    read, written = _find_line(rows, READ, 1), _find_line(rows, WRITTEN, -1)
    if not read or not written or read >= written:
        return None
    warps = facts["blocks"] * -(-math.prod(facts["block"]) // WARP)
    often = (
        row["counters"].get("instructions.warp", 0) > warps
        for row in rows
        if row["ptx_line"] in (read, written)
    )
    if any(often):
        return None
    return Phases(
        any(read < row["ptx_line"] < written and BARRIER.match(row["ptx"]) for row in rows)
    )


def find_late(facts: Mapping[str, Any], resident: int) -> set[str]:
    """What all blocks do at once, at their end: "atomics" on global memory, "l2 stores".

    So it is where all blocks run together and read nothing behind their first one: nothing else is
    left to overlap with it. Stores come at the end where blocks read in loops, and write once.
    """
    if facts["blocks_total"] > resident:
        return set()
    rows = facts["instructions"]
    atomics = [row["ptx_line"] for row in rows if row["counters"].get("global.atomic.requests")]
    loads = [row["ptx_line"] for row in rows if row["counters"].get("global.load.requests")]
    late = {"atomics"} if min(atomics, default=0) > max(loads, default=0) else set()
    warps = facts["blocks"] * -(-math.prod(facts["block"]) // WARP)
    times = {
        name: [_count_times(row) for row in rows if _names(row, name)] for name in (READ, WRITTEN)
    }
    read, written = _find_line(rows, READ, 1), _find_line(rows, WRITTEN, -1)
    looped = max(times[READ], default=0) > warps >= max(times[WRITTEN], default=0)
    return late | ({"l2 stores"} if looped and read < written else set())


def _names(row: Mapping[str, Any], counters: Sequence[str]) -> bool:
    return any(row["counters"].get(name) for name in counters)


def _count_times(row: Mapping[str, Any]) -> float:
    return float(row["counters"].get("instructions.warp", 0))


def _find_line(rows: Sequence[Mapping[str, Any]], names: Sequence[str], step: int) -> int:
    """The line by which most of the sectors are named, from the first one, or from the last."""
    named = sorted(
        (row["ptx_line"], sum(row["counters"].get(name, 0) for name in names)) for row in rows
    )
    whole = sum(sectors for _, sectors in named)
    seen = 0.0
    for line, sectors in named[::step] if whole else ():
        seen += sectors
        if seen >= MOST * whole:
            return int(line)
    return 0


def time_phases(alone: float, read: float, written: float, pieces: float) -> float:
    """Clocks in which a multiprocessor's blocks read and write, if none is written too early.

    alone: of one block that waits for nothing but latencies. read, written: of all its blocks,
    while all multiprocessors work. pieces: that are read one after the other, each of which can be
    written at once: blocks where their warps meet between, else single accesses.

    >>> time_phases(500.0, 600.0, 900.0, 2)
    1700.0
    """
    return alone + read / pieces + max(written, read * (1 - 1 / pieces))
