"""Atomics on global memory: how long the parts of the L2 cache that execute them take."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from .reuse import LINE, collect_accesses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .cards import Card
    from .executed import ExecutedCode
    from .reuse import Access

ATOMIC_CHUNK = 512  # bytes that lie in one part of the L2 cache
# Of an atomic of whole numbers at one address for the warp ptxas lets a lane make what all add: it
# has their votes and counts or adds them, by opcodes with the line of the atomic.
VOTING, ADDING = "VOTE", ("POPC", "UPOPC", "REDUX")
SIZE = re.compile(r"\.[usbf](\d+)\b")
CROWDED_LEAST = 3  # blocks that tell whether atomics of all meet in one part


def list_gathered(executed: ExecutedCode | None) -> frozenset[int]:
    """The PTX lines of atomics on global memory that one lane makes for all lanes of its warp."""
    opcodes: dict[int, set[str]] = {}
    atomics = set()
    for each in executed.code if executed is not None else ():
        opcodes.setdefault(each.ptx_line, set()).add(each.opcode)
        if each.kind == "atomic.global" and each.guarded:
            atomics.add(each.ptx_line)
    return frozenset(
        line
        for line in atomics
        if any(name.startswith(VOTING) for name in opcodes[line])
        and any(name.startswith(ADDING) for name in opcodes[line])
    )


def time_atomics(
    facts: Mapping[str, Any], card: Card, gathered: frozenset[int] = frozenset()
) -> tuple[float, float]:
    """(sectors that atomics of a launch name, nanoseconds that they take if nothing else does).

    A part of the L2 cache executes the atomics of its lines: a sector of a request at a time, once
    more for each further lane with the same address, and an address takes no more than one in
    `atomic_next_ns`. Neighbouring lines lie in one part. gathered: PTX lines of which one lane
    makes the atomic of all.
    """
    rows = facts["instructions"]
    accesses = list_atomics(facts)
    scale = facts["blocks_total"] / facts["blocks"]
    passes = sectors = chain = 0.0
    for access in accesses:
        row = rows[access.instruction]
        counted = row["counters"]["global.atomic.sectors"]
        requests = row["counters"].get("global.atomic.requests", 0)
        meeting, moved = access.serial / access.requests, row["counters"]["global.atomic.bytes"]
        if row["ptx_line"] in gathered and (size := SIZE.search(row["ptx"])):
            meeting, moved = 1.0, requests * int(size[1]) // 8
        passes += scale * max(meeting * requests, counted)
        more = card.float_atomic_next_ns if ".f" in row["ptx"] else card.atomic_next_ns
        sectors += counted * scale
        extent = max(access.high) - min(access.low)
        words = extent / max(moved, 1)
        chain = max(chain, scale * more / max(words, 1e-12))
    most = max(1 / max(spread_atomics(accesses, card), 1.0), find_crowd(accesses))
    return sectors, max(passes * card.atomic_ns * most, chain)


def is_crowd_known(facts: Mapping[str, Any]) -> bool:
    """Do enough blocks tell where atomics of a launch meet?"""
    accesses = list_atomics(facts)
    return len({block for access in accesses for block in access.blocks}) >= CROWDED_LEAST


def find_crowd(accesses: Sequence[Access]) -> float:
    """The share of atomics on the 512 bytes where most blocks have most of them, else 0.

    It is a little more than that of an average part also where atomics are spread evenly.
    """
    crowds = {  # of all atomics of a block, so that they are the same in each access
        block: crowd
        for access in accesses
        for block, crowd in zip(access.blocks, access.crowds, strict=True)
    }
    if len(crowds) < CROWDED_LEAST:
        return 0.0
    groups = [
        [passes for other, passes in crowds.values() if abs(other - line) * LINE < ATOMIC_CHUNK]
        for line, _ in crowds.values()
    ]
    fullest = max(groups, key=len)
    serial = sum(access.serial for access in accesses)
    return sum(fullest) / max(serial, 1) if 2 * len(fullest) > len(crowds) else 0.0


def spread_atomics(accesses: Sequence[Access], card: Card) -> float:
    """Parts of the L2 cache over which atomics of these accesses are spread, if evenly."""
    extent = max((max(access.high) - min(access.low) for access in accesses), default=0)
    chunks = max(1.0, extent / ATOMIC_CHUNK)
    return card.atomic_slices * -math.expm1(-chunks / card.atomic_slices)


def list_atomics(facts: Mapping[str, Any]) -> list[Access]:
    """The accesses of a launch that are atomics on global memory."""
    rows = facts["instructions"]
    return [
        access
        for access in collect_accesses(facts.get("footprint", ()))
        if access.writes and rows[access.instruction]["counters"].get("global.atomic.sectors")
    ]


def count_atomic_slices(facts: Mapping[str, Any], card: Card) -> float:
    """Parts of the L2 cache that may execute the atomics of a launch: at worst one executes all."""
    return spread_atomics(list_atomics(facts), card)
