"""Local memory: what of it the L1 cache cannot keep, for all threads that are resident at once."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .cards import Card

VARIABLE = re.compile(r"\.local\b[^;\[]*\.b8\s+\S+?\[(\d+)\]")


SECTORS_OF_LINE = 4
GRANULE = 64  # bytes that memory gives and takes
RESERVED = 1024  # bytes of shared memory that the driver takes for itself, of a block
SHARED_LEAST = 32 * 1024  # bytes that shared memory has of the L1 cache (Nsight Compute on an H200)


class LocalTraffic(NamedTuple):
    """Sectors that a launch reads from the L2 cache and writes there, and the share that misses.

    The L1 cache keeps what is read; what is written goes to the L2 cache at once. written: whole
    sectors, where all lanes have one index; partly: those in which lanes write words of their own.
    dram_read, dram_written: bytes between the L2 cache and memory, where the L2 cache cannot keep
    it either; memory moves 64 bytes, and gives the rest of a sector that is partly written.
    """

    read: float
    written: float
    partly: float
    miss: float
    dram_read: float
    dram_written: float


def find_bytes(ptx: str, kernel: str) -> int:
    """Bytes of local memory that a thread of a kernel has, by its PTX.

    >>> find_bytes(".entry f() { .local .align 4 .b8 __local_depot0[256]; ret; }", "f")
    256
    """
    start = re.search(rf"\.entry\s+{re.escape(kernel)}\b", ptx)
    if not start:
        return 0
    end = re.compile(r"\.(?:entry|func)\b").search(ptx, start.end())
    body = ptx[start.end() : end.start() if end else len(ptx)]
    return sum(int(found) for found in VARIABLE.findall(body))


def count_blocks(facts: Mapping[str, Any], card: Card, resident: int) -> int:
    """Blocks that a multiprocessor has at once, of which it may hold `resident`."""
    return min(resident, -(-int(facts["blocks_total"]) // int(card.multiprocessors)))


def find_room(facts: Mapping[str, Any], card: Card, resident: int) -> float:
    """Bytes of the L1 cache that shared memory leaves."""
    shared = resident * (int(facts["shared_bytes"]) + RESERVED)
    return max(card.l1_kb * 1024 - max(shared, SHARED_LEAST), 0.0)


def find_traffic(
    facts: Mapping[str, Any], card: Card, resident: int, cache_bytes: float
) -> LocalTraffic:
    """What local memory asks of the L2 cache, where its lines stay in the L1 cache by chance.

    cache_bytes: of the L2 cache, what data can fill.
    """
    loads, written, partly = facts["counters"]["local.load.sectors"], 0, 0
    for row in facts["instructions"]:
        sectors = row["counters"].get("local.store.sectors", 0)
        if sectors <= SECTORS_OF_LINE * row["counters"].get("local.store.requests", 0):
            written += sectors
        else:
            partly += sectors
    blocks = count_blocks(facts, card, resident)
    held = blocks * math.prod(facts["block"]) * find_bytes(facts["ptx"], facts["kernel"])
    room = find_room(facts, card, resident)
    miss = 1 - room / held if held > room else 0.0
    everywhere = held * min(facts["blocks_total"], int(card.multiprocessors))
    far = GRANULE * max(0.0, 1 - cache_bytes / everywhere) if miss else 0.0
    scale = facts["blocks_total"] / facts["blocks"]
    read, written, partly = miss * scale * loads, scale * written, scale * partly
    return LocalTraffic(
        read, written, partly, miss, far * (read + partly), far * (written + partly)
    )
