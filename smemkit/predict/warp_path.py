"""The path of a warp through machine code, as blocks one after the other, from executed counts.

At a branch a warp takes its ways as often as all warps together did. In a loop it stays as long as
the mean trip count says; at a branch that a warp meets once, warps of different phase (0 to 1) take
different ways, each way by its share of them. Long loops are shortened: `shorten` scales the trips
of one loop, and time that is linear in them is extrapolated by the caller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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


class Fork(NamedTuple):
    """Where a warp goes behind a block.

    others: (way, the share of visits that take it or one before it) of all ways but the last one.
    often: whether a warp comes here several times. callee, returns: of the block.
    """

    others: tuple[tuple[int | None, float], ...]
    last: int | None
    often: bool
    callee: int | None
    returns: bool


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
        self.forks: dict[int, Fork] = {}
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
        visits: dict[int, int] = {}
        returns: list[int] = []
        blocks, i = self.executed.code.blocks, 0
        while len(path) < LONGEST:
            path.append(i)
            fork = self.forks.get(i)
            if fork is None:
                fork = self.forks[i] = self._find_fork(i)
            if fork.callee is not None:
                block = blocks[i]
                returns.append(block.successors[0] if block.successors else 0)
                i = fork.callee
                continue
            if returns and fork.returns:
                i = returns.pop()
                continue
            following = fork.last
            if fork.others:
                visit = visits.get(i, 0)
                visits[i] = visit + 1
                offset = ALMOST_ONE if fork.often else 1 - phase
                self.alone = self.alone and fork.often
                following = _take(fork, visit, offset)
            if following is None:
                break
            i = following
        return path

    def _find_fork(self, i: int) -> Fork:
        block, ways = self.executed.code.blocks[i], self._list_ways(i)
        total, before, others = sum(flow for _, flow in ways), 0.0, []
        for way, flow in ways[:-1]:
            before += flow / total
            others.append((way, before))
        returns = block.leaves and block.instructions[-1].opcode.startswith("RET")
        often = bool(self.executed.executions[i] > OFTEN * self.executed.warps)
        return Fork(tuple(others), ways[-1][0] if ways else None, often, block.callee, returns)

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


def _take(fork: Fork, visit: int, offset: float) -> int | None:
    """The way of a visit, so that visits are shared out evenly.

    >>> [_take(Fork(((1, 0.75),), 2, True, None, False), visit, ALMOST_ONE) for visit in range(8)]
    [1, 1, 1, 2, 1, 1, 1, 2]
    """
    for way, share in fork.others:
        if int((visit + 1) * share + offset) > int(visit * share + offset):
            return way
    return fork.last
