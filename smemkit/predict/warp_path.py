"""The path of a warp through machine code, as blocks one after the other, from executed counts.

At a branch a warp takes its ways as often as all warps together did. In a loop it stays as long as
the mean trip count says; at a branch that a warp meets once, warps of different phase (0 to 1) take
different ways, each way by its share of them. Long loops are shortened: `shorten` scales the trips
of one loop, and time that is linear in them is extrapolated by the caller.
"""

from __future__ import annotations

import collections
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .executed import ExecutedCode

LONGEST = 200_000  # blocks of a path
ALMOST_ONE = 1 - 1e-6
OFTEN = 1.5  # passes of a warp through a block from which on it is in a loop


class MachineLoop(NamedTuple):
    """A loop of machine code: its first and last block, trips an entry, instructions of a warp."""

    first: int
    last: int
    trips: float
    instructions: float


def list_loops(executed: ExecutedCode) -> list[MachineLoop]:
    """The loops that warps executed, outer ones before inner ones."""
    ends: dict[int, int] = {}
    for (i, way), flow in executed.flows.items():
        if way <= i and flow > 0:
            ends[way] = max(ends.get(way, 0), i)
    found = []
    for first, last in ends.items():
        passes = float(executed.executions[first])
        back = sum(
            flow for (i, way), flow in executed.flows.items() if way == first and first <= i <= last
        )
        entries = max(passes - back, executed.warps * 1e-3)
        size = sum(
            len(executed.code.blocks[i].instructions) * executed.executions[i]
            for i in range(first, last + 1)
        )
        found.append(MachineLoop(first, last, passes / entries, float(size / executed.warps)))
    return sorted(found, key=lambda loop: loop.first - loop.last)


def shorten(executed: ExecutedCode, loop: MachineLoop, trips: float) -> ExecutedCode:
    """The same code with other trips of a loop, at least 1."""
    part = max(trips, 1.0) / loop.trips
    executions = executed.executions.copy()
    executions[loop.first : loop.last + 1] *= part
    flows = dict(executed.flows)
    for i in range(loop.first, loop.last + 1):
        ways = executed.code.blocks[i].successors
        inside = [way for way in ways if loop.first <= way <= loop.last and (i, way) in flows]
        outside = sum(flows.get((i, way), 0.0) for way in ways if way not in inside)
        total = sum(flows[i, way] for way in inside)
        wanted = max(float(executions[i]) - outside, 0.0)
        for way in inside:
            flows[i, way] *= wanted / total if total > 0 else 0.0
    return replace(executed, executions=executions, flows=flows)


class Walker:
    """Finds the paths of warps through executed code."""

    def __init__(self, executed: ExecutedCode) -> None:
        self.executed = executed
        self.ways: dict[int, list[tuple[int | None, float]]] = {}
        self.alone = True  # so far no block had ways of which a warp takes one by its phase
        self.first: list[int] = []

    def walk(self, phase: float) -> list[int]:
        """The blocks of one warp, in the order of their execution."""
        if self.first and self.alone:
            return self.first
        self.first = path = self._find(phase)
        return path

    def _find(self, phase: float) -> list[int]:
        path: list[int] = []
        visits: collections.Counter[int] = collections.Counter()
        returns: list[int] = []
        blocks, i = self.executed.code.blocks, 0
        while len(path) < LONGEST:
            path.append(i)
            block = blocks[i]
            if block.callee is not None:
                returns.append(block.successors[0] if block.successors else 0)
                i = block.callee
                continue
            if returns and block.leaves and block.instructions[-1].opcode.startswith("RET"):
                i = returns.pop()
                continue
            ways = self.ways.get(i)
            if ways is None:
                ways = self.ways[i] = self._list_ways(i)
            following = ways[0][0] if ways else None
            if len(ways) > 1:
                often = self.executed.executions[i] > OFTEN * self.executed.warps
                self.alone = self.alone and bool(often)
                following = _take(ways, visits[i], ALMOST_ONE if often else 1 - phase)
                visits[i] += 1
            if following is None:
                break
            i = following
        return path

    def _list_ways(self, i: int) -> list[tuple[int | None, float]]:
        """The blocks after block i and their flows, None where warps end, the commonest first."""
        block, flows = self.executed.code.blocks[i], self.executed.flows
        ways: list[tuple[int | None, float]] = [
            (way, flows[i, way]) for way in block.successors if (i, way) in flows
        ]
        passes = float(self.executed.executions[i])
        if block.leaves:
            ways.append((None, max(passes - sum(flow for _, flow in ways), 0.0)))
        ways = [way for way in ways if way[1] > 0]
        if len(ways) > 1:  # of equal ones first that which stays in a loop
            ways.sort(key=lambda way: (-round(way[1] / passes, 6), way[0] is None or way[0] > i))
        return ways


def _take(ways: Sequence[tuple[int | None, float]], visit: int, offset: float) -> int | None:
    """Of ways with their shares that of a visit, so that visits are shared out evenly.

    >>> [_take([(1, 3.0), (2, 1.0)], visit, ALMOST_ONE) for visit in range(8)]
    [1, 1, 1, 2, 1, 1, 1, 2]
    """
    total, before = sum(flow for _, flow in ways), 0.0
    for way, flow in ways[:-1]:
        before += flow / total
        if int((visit + 1) * before + offset) > int(visit * before + offset):
            return way
    return ways[-1][0]
