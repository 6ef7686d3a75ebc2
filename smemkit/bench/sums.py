"""The counters that set variants of a family apart: what results and commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._types import Count

# Reads and writes of shared memory that can have bank conflicts, and their counters.
SHARED = {
    "shared.load": "instructions",
    "shared.store": "instructions",
    "shared.atomic": "instructions",
    "async": "requests",
}
READS = ("global.load", "async")  # of global memory
SECTOR_BYTES = 32


class Sums(NamedTuple):
    """What a call did, summed over its launches; None where nothing was read.

    Attributes
    ----------
    instructions : of warps
    conflicts : bank conflicts
    conflicts_per_access : of accesses to shared memory
    sectors_per_request : of 32 bytes, of reads of global memory
    read_bytes : from global memory
    divergent : branches
    """

    instructions: int
    conflicts: int
    conflicts_per_access: float
    sectors_per_request: float | None
    read_bytes: int
    divergent: int


def sum_up(counters: Mapping[str, Count]) -> Sums:
    """The Sums of a mapping from counters to values."""

    def add(names: Iterable[str]) -> int:
        return sum(int(counters.get(name) or 0) for name in names)

    conflicts = add(f"{kind}.conflicts" for kind in SHARED)
    accesses = add(f"{kind}.{unit}" for kind, unit in SHARED.items())
    sectors = add(f"{kind}.sectors" for kind in READS)
    requests = add(f"{kind}.requests" for kind in READS)
    return Sums(
        add(["instructions.warp"]),
        conflicts,
        conflicts / max(accesses, 1),
        sectors / requests if requests else None,
        sectors * SECTOR_BYTES,
        add(["branch.divergent"]),
    )
