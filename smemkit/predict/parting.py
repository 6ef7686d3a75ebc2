"""Branches at which the lanes of a warp part, and where they meet again.

A warp executes both ways of such a branch one after the other, up to the block that follows on all
ways. Where one way leads there at once, as behind a loop, the warp takes the other one alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .machine_code import Block


class Parting(NamedTuple):
    """join: the block where lanes meet again, None where they do at the end. share: of visits."""

    join: int | None
    share: float


def find_shares(counted: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """{line of a branch of the PTX: the share of its executions at which lanes part}."""
    found = {}
    for row in counted:
        counters = row["counters"]
        parted = counters.get("branch.divergent", 0)
        if parted:
            found[row["ptx_line"]] = min(1.0, parted / max(counters["instructions.warp"], 1))
    return found


def find_joins(blocks: Sequence[Block]) -> list[int | None]:
    """For each block the first one that is on all ways from it to the end, None where none is."""
    end = len(blocks)
    everything = (1 << (end + 1)) - 1
    behind = [everything] * end + [1 << end]  # a bit for each block on all ways to the end
    changed = True
    while changed:
        changed = False
        for i in range(end - 1, -1, -1):
            ways = [*blocks[i].successors, *([end] if blocks[i].leaves else [])] or [end]
            common = everything
            for way in ways:
                common &= behind[way]
            common |= 1 << i
            if common != behind[i]:
                behind[i], changed = common, True
    sizes = [mask.bit_count() for mask in behind]
    joins: list[int | None] = []
    for i in range(end):
        others = [k for k in range(end + 1) if k != i and behind[i] >> k & 1]
        first = max(others, key=lambda k: sizes[k], default=end)
        joins.append(None if first == end else first)
    return joins


def find_partings(blocks: Sequence[Block], shares: Mapping[int, float]) -> dict[int, Parting]:
    """{block whose last instruction parts lanes that then have code on both ways: how}."""
    parting = {}
    for i, block in enumerate(blocks):
        last = block.instructions[-1]
        if len(block.successors) == 2 and not block.leaves and last.ptx_line in shares:
            parting[i] = shares[last.ptx_line]
    joins = find_joins(blocks) if parting else []
    return {
        i: Parting(joins[i], share)
        for i, share in parting.items()
        if joins[i] not in blocks[i].successors
    }
