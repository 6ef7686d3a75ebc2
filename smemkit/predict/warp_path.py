"""The path of a warp through machine code, as blocks one after the other, from executed counts.

At a branch a warp takes its ways as often as all warps together did. In a loop it stays as long as
the mean trip count says; at a branch that a warp meets once, warps of different phase (0 to 1) take
different ways, each way by its share of them. Where lanes part it takes one way up to the block
where they meet, and then the other one. Long loops are shortened: `shorten` scales the trips
of one loop, and time that is linear in them is extrapolated by the caller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .executed import ExecutedCode
    from .parting import Parting

LONGEST = 200_000  # blocks of a path
ALMOST_ONE = 1 - 1e-6
LITTLE = 1e-3  # of visits: less is a rounding
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
    often: whether a warp comes here several times. callee, returns: of the block. parting: of lanes
    that take `both` ways.
    """

    others: tuple[tuple[int | None, float], ...]
    last: int | None
    often: bool
    callee: int | None
    returns: bool
    parting: Parting | None = None
    both: tuple[int, ...] = ()


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
        parting = executed.partings.get(i)
        passes = float(executions[i]) * (1 + (parting.share if parting else 0.0))
        wanted = max(passes - outside, 0.0)
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
        parted: list[list[int | None]] = []  # where lanes meet, and the way that is left
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
            if fork.others or fork.parting:
                visit = visits.get(i, 0)
                visits[i] = visit + 1
                offset = ALMOST_ONE if fork.often else 1 - phase
                self.alone = self.alone and (fork.often or not fork.others)
                if fork.parting and _is_due(fork.parting.share, visit, offset):
                    following, other = fork.both
                    parted.append([fork.parting.join, other])
                else:
                    following = _take(fork, visit, offset)
            while parted and parted[-1][0] == following:
                if parted[-1][1] is None:
                    parted.pop()
                else:
                    following, parted[-1][1] = parted[-1][1], None
            if following is None:
                break
            i = following
        return path

    def _find_fork(self, i: int) -> Fork:
        block, ways = self.executed.code.blocks[i], self._list_ways(i)
        parting = self.executed.partings.get(i)
        both = tuple(way for way, _ in ways if way is not None)
        parting = parting if len(both) == 2 else None
        if parting:  # what is left for visits of one way
            most = parting.share * float(self.executed.executions[i])
            ways = [(way, flow - most) for way, flow in ways if flow > (1 + LITTLE) * most] or ways[
                :1
            ]
        total, before, others = sum(flow for _, flow in ways), 0.0, []
        for way, flow in ways[:-1]:
            before += flow / total
            others.append((way, before))
        returns = block.leaves and block.instructions[-1].opcode.startswith("RET")
        often = bool(self.executed.executions[i] > OFTEN * self.executed.warps)
        last = ways[-1][0] if ways else None
        return Fork(tuple(others), last, often, block.callee, returns, parting, both)

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


def _is_due(share: float, visit: int, offset: float) -> bool:
    """Whether a visit is one of a share of them, evenly spread."""
    return int((visit + 1) * share + offset) > int(visit * share + offset)


def _take(fork: Fork, visit: int, offset: float) -> int | None:
    """The way of a visit, so that visits are shared out evenly.

    >>> [_take(Fork(((1, 0.75),), 2, True, None, False), visit, ALMOST_ONE) for visit in range(8)]
    [1, 1, 1, 2, 1, 1, 1, 2]
    """
    for way, share in fork.others:
        if _is_due(share, visit, offset):
            return way
    return fork.last
