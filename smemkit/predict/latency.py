"""How long warps take that issue in order: a simulation of one partition of a multiprocessor.

A partition issues one instruction a clock. A warp may issue its next instruction when the stall of
its last one is over and the scoreboards of its wait mask have fallen (the control bits say both),
when the pipe of the instruction is free, and at a barrier when the other warps of its block have
come. Of several warps that may issue, one of the oldest block does, so that blocks drift apart and
one computes while another one waits. Instructions of the load/store unit enter a queue of QUEUE
places. csrc/sim/issue/partition.c simulates it.

A block starts its warps one after the other, and a barrier takes them one after the other. Not
modelled: loops that are larger than the caches of instructions. Warps of a block take the same path
but for branches that only some of them take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from . import issue_steps, warp_path
from .opcode_classes import PARTITIONS, matrix_clocks, pipe_clocks
from .register_reads import WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from .executed import ExecutedCode
    from .machine_code import MachineCode

QUEUE = 8  # instructions of the load/store unit that wait in a partition
EVENTS = 12_000  # instructions that a simulation issues, about
SELDOM = 0.02  # of warps: what fewer do counts as noise
PATHS = 8  # different paths of warps


@dataclass(frozen=True)
class Latencies:
    """Clocks from issue until a result can be used, of what has no fixed latency.

    `global_load` is the mean over the launch's hits and misses, which the caller knows.
    `atomic_global`: of atomics that return a value. `fence`: that a fence holds its warp.
    `barrier`: from the last arrival to the first instruction behind it. `branch`: clocks that a
    branch that is taken holds its warp beyond its stall. `read`: from service until the operands of
    a queued instruction may change.
    `start`: from the end of a block to the first instruction of that which takes its place.
    `warp_start`, `arrival`: from one warp of a block, as the partition has them, to the next one:
    where the block starts, and at a barrier.
    `lines`: of loads that are known better, by their lines in the PTX text.
    """

    shared: float
    global_load: float
    constant: float
    special: float
    double: float
    tensor: float
    shuffle: float
    atomic_shared: float
    atomic_global: float
    fence: float
    texture: float
    special_register: float
    uniform: float
    barrier: float
    branch: float = 6.0
    read: float = 8.0
    start: float = 0.0
    warp_start: float = 0.0
    arrival: float = 0.0
    lines: Mapping[int, Answer] = field(default_factory=dict)


class Answer(NamedTuple):
    """How loads of one line are answered: clocks of a hit, more of a miss, and the share of misses.

    A warp misses at regular intervals: of loads of one word each, every eighth, say.
    """

    hit: float
    more: float
    share: float


@dataclass(frozen=True)
class WarpTimes:
    """Clocks of one partition of a multiprocessor, from the start of its warps to their exit.

    warps: resident at once. rounds: how often these were replaced by others, and the first. clocks:
    for all together. issued: instructions, one a clock. by_wait: clocks in which nothing was
    issued, by the class of what the next warp waited for; "stall" is a fixed latency,
    "pipe.<class>" a pipe that was busy.
    """

    warps: int
    rounds: int
    clocks: float
    issued: float
    by_wait: Mapping[str, float]

    @property
    def exposed(self) -> float:
        """Clocks in which no warp could issue."""
        return self.clocks - self.issued


class LineAccess(NamedTuple):
    """What is known of the accesses that a line of the PTX makes.

    share: of its machine instructions that have lanes under their guard; the others are issued and
    do nothing. service: clocks for which one that does occupies the load/store unit, as seen by one
    of the four partitions that share it; idle: the same of the others. later: clocks beyond the
    latency of its class.
    """

    share: float
    service: float
    idle: float = 0.0
    later: float = 0.0


def time_warps(
    executed: ExecutedCode,
    latencies: Latencies,
    warps: int,
    *,
    warps_per_block: int = 1,
    rounds: int = 1,
    service: Mapping[str, float] | None = None,
    lines: Mapping[int, LineAccess] | None = None,
    longest: bool = False,
) -> WarpTimes:
    """Clocks that the warps of one partition take, by a simulation of their issue.

    warps: resident in the partition at once (a quarter of the multiprocessor's). warps_per_block:
    those of one block that this partition has, which wait for each other at barriers. rounds: a
    block that has ended is replaced until `rounds` times as many have run. service: {class, or
    opcode: clocks for which an instruction of a warp occupies its pipe of the partition}; it adds
    to `opcode_classes.pipe_clocks` of the code's architecture. For what the load/store unit serves
    the caller gives the mean, such as four times the wavefronts of an access, as four partitions
    share the unit. lines: what is known better, by the lines of the PTX. longest: the first
    warp takes the ways that few take, as one that does ends last.
    """
    given = tuple(sorted((service or {}).items())), tuple(sorted((lines or {}).items()))
    asked = warps, max(1, warps_per_block), rounds, longest
    key = _describe(executed), _list_latencies(latencies), given, asked
    known = _TIMES.get(key)
    if known is None or known[0] is not executed.code:
        made = _time(executed, latencies, dict(service or {}), lines or {}, *asked)
        while len(_TIMES) >= TIMES_MOST:
            _TIMES.pop(next(iter(_TIMES)), None)
        known = _TIMES[key] = executed.code, made
    return known[1]


# What has been simulated: a call that is predicted again, for another cache or choice, has most of
# it. The code stands beside its times so that its id stays its own.
TIMES_MOST = 256
_TIMES: dict[Any, tuple[MachineCode, WarpTimes]] = {}


def _describe(executed: ExecutedCode) -> tuple[Any, ...]:
    flows = tuple(sorted(executed.flows.items()))
    return id(executed.code), executed.executions.tobytes(), flows, executed.warps


def _list_latencies(latencies: Latencies) -> tuple[Any, ...]:
    values = tuple(getattr(latencies, name) for name in LATENCY_NAMES)
    return values, tuple(sorted(latencies.lines.items()))


def _time(
    executed: ExecutedCode,
    latencies: Latencies,
    service: Mapping[str, float],
    lines: Mapping[int, LineAccess],
    warps: int,
    warps_per_block: int,
    rounds: int,
    longest: bool,
) -> WarpTimes:
    """As time_warps, which knows what was asked for before."""
    architecture = executed.code.architecture
    clocks = {**pipe_clocks(architecture), **service}
    for each in executed.code:
        if each.kind == "tensor":
            clocks.setdefault(each.opcode, matrix_clocks(each.opcode, architecture))
    steps = issue_steps.fill(executed.code.steps, latencies, clocks, lines)
    simulate = _Simulation(steps, latencies, warps, warps_per_block, rounds, longest)
    loops = [loop for loop in warp_path.list_loops(executed) if loop.trips > 6]
    length = executed.issue_slots / max(executed.warps, 1.0)
    wanted = EVENTS / (warps * rounds)
    loop = next((each for each in loops if each.instructions > 0.5 * length), None)
    if length <= wanted or loop is None:
        return simulate.run(executed)
    rest = length - loop.instructions
    once = loop.instructions / loop.trips
    many = math.ceil(min(max((wanted - 2 * rest) / once / 1.5, 6.0), loop.trips))
    few = many // 2  # whole numbers, as a path has whole trips
    short = simulate.run(warp_path.shorten(executed, loop, few))
    long = simulate.run(warp_path.shorten(executed, loop, many))
    return _extend(short, long, (loop.trips - many) / (many - few))


def _extend(short: WarpTimes, long: WarpTimes, steps: float) -> WarpTimes:
    """What lies as many steps beyond the longer one as there is one between both."""

    def beyond(a: float, b: float) -> float:
        return b + steps * max(b - a, 0.0)

    names = {*short.by_wait, *long.by_wait}
    waits = {
        name: beyond(short.by_wait.get(name, 0.0), long.by_wait.get(name, 0.0)) for name in names
    }
    clocks = beyond(short.clocks, long.clocks)
    issued = beyond(short.issued, long.issued)
    total = sum(waits.values())
    part = max(clocks - issued, 0.0) / total if total > 0 else 0.0
    waits = {name: part * value for name, value in waits.items()}
    return WarpTimes(long.warps, long.rounds, clocks, issued, waits)


class _Simulation:
    """A partition with its pipes, and what it runs."""

    def __init__(
        self,
        steps: NDArray[np.float64],
        latencies: Latencies,
        warps: int,
        block: int,
        rounds: int,
        longest: bool,
    ) -> None:
        self.steps, self.longest = steps, longest
        self.block = min(block, warps)
        self.slots = max(1, warps // self.block)
        self.rounds = rounds
        waits = (latencies.branch, latencies.read, latencies.barrier)
        blocks = (latencies.start, latencies.warp_start, latencies.arrival)
        self.clocks = (float(QUEUE), float(PARTITIONS), float(WINDOW), *waits, *blocks)

    def run(self, executed: ExecutedCode) -> WarpTimes:
        table = executed.code.steps
        count = min(PATHS, self.block * self.slots)
        phases = [max(i, SELDOM) / count for i in range(count)]
        walker = warp_path.Walker(executed)
        paths = [
            walker.walk(1 - phase if self.longest else (i + 0.5) / count)
            for i, phase in enumerate(phases)
        ]
        clocks, issued, lost = _core._time_partition(
            self.steps,
            table.first,
            np.array(phases),
            np.array([len(path) for path in paths], np.uint32),
            np.concatenate([np.array(path, np.uint32) for path in paths]),
            (len(table.kinds), self.slots, self.block, self.rounds),
            self.clocks,
        )
        waits = {name: each for name, each in zip(table.causes, lost, strict=True) if each}
        return WarpTimes(self.slots * self.block, self.rounds, clocks, issued, waits)


LATENCY_NAMES = tuple(each.name for each in fields(Latencies) if each.name != "lines")
