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


class LocalTraffic(NamedTuple):
    """Sectors that a launch reads from the L2 cache and writes there, and the share that misses.

    The L1 cache keeps what is read; what is written goes to the L2 cache at once. written: whole
    sectors, where all lanes have one index; partly: those in which lanes write words of their own.
    """

    read: float
    written: float
    partly: float
    miss: float


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


def find_traffic(facts: Mapping[str, Any], card: Card, resident: int) -> LocalTraffic:
    """What local memory asks of the L2 cache, where its lines stay in the L1 cache by chance."""
    loads, written, partly = facts["counters"]["local.load.sectors"], 0, 0
    for row in facts["instructions"]:
        sectors = row["counters"].get("local.store.sectors", 0)
        if sectors <= SECTORS_OF_LINE * row["counters"].get("local.store.requests", 0):
            written += sectors
        else:
            partly += sectors
    blocks = min(resident, -(-facts["blocks_total"] // int(card.multiprocessors)))
    held = blocks * math.prod(facts["block"]) * find_bytes(facts["ptx"], facts["kernel"])
    room = max(card.l1_kb * 1024 - blocks * facts["shared_bytes"], 0.0)
    miss = 1 - room / held if held > room else 0.0
    scale = facts["blocks_total"] / facts["blocks"]
    return LocalTraffic(miss * scale * loads, scale * written, scale * partly, miss)
