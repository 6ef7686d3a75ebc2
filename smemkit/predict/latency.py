"""How long warps take that issue in order: a simulation of one partition of a multiprocessor.

A partition issues one instruction a clock. A warp may issue its next instruction when the stall of
its last one is over and the scoreboards of its wait mask have fallen (the control bits say both),
when the pipe of the instruction is free, and at a barrier when the other warps of its block have
come. Of several warps that may issue, one of the oldest block does, so that blocks drift apart and
one computes while another one waits. Instructions of the load/store unit enter a queue of QUEUE
places.

Not modelled: misses of the instruction cache, conflicts of register banks. Warps of a block take
the same path but for branches that only some of them take.
"""

from __future__ import annotations

import collections
import heapq
import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

from . import warp_path
from .machine_code import NO_BARRIER
from .opcode_classes import PARTITIONS, matrix_clocks, pipe_clocks
from .register_reads import WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .executed import ExecutedCode
    from .machine_code import Instruction, MachineCode

QUEUE = 8  # instructions of the load/store unit that wait in a partition
EVENTS = 12_000  # instructions that a simulation issues, about
ALMOST_ONE = 1 - 1e-6
SELDOM = 0.02  # of warps: what fewer do counts as noise
PATHS = 8  # different paths of warps
# Class -> the field of Latencies, of what a scoreboard waits for.
WAITS = {
    "load.shared": "shared",
    "matrix.shared": "shared",
    "store.shared": "shared",
    "atomic.shared": "atomic_shared",
    "load.global": "global_load",
    "load.local": "global_load",
    "store.global": "shared",
    "store.local": "shared",
    "async": "global_load",
    "atomic.global": "atomic_global",
    "load.constant": "constant",
    "texture": "texture",
    "special": "special",
    "convert": "special",
    "double": "double",
    "tensor": "tensor",
    "shuffle": "shuffle",
    "vote": "shuffle",
    "special_register": "special_register",
    "uniform": "uniform",
    "barrier": "barrier",
    "fence": "atomic_global",
}
QUEUED = {
    *("load.shared", "store.shared", "atomic.shared", "matrix.shared", "load.global", "shuffle"),
    *("store.global", "atomic.global", "load.local", "store.local", "async", "texture"),
}


@dataclass(frozen=True)
class Latencies:
    """Clocks from issue until a result can be used, of what has no fixed latency.

    `global_load` is the mean over the launch's hits and misses, which the caller knows.
    `atomic_global`: of atomics that return a value, and of fences. `barrier`: from the last arrival
    to the first instruction behind it. `branch`: clocks that a branch that is taken holds its warp
    beyond its stall. `read`: from service until the operands of a queued instruction may change.
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
    texture: float
    special_register: float
    uniform: float
    barrier: float
    branch: float = 6.0
    read: float = 8.0
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
    of the four partitions that share it.
    """

    share: float
    service: float


class Step(NamedTuple):
    """What the simulation needs of an instruction."""

    kind: str
    queued: bool
    service: float
    latency: float
    stall: float
    write_barrier: int
    read_barrier: int
    wait_mask: int
    rendezvous: bool
    group: int  # 1: ends a group of asynchronous copies; 2: waits until at most `left` are open
    left: int
    reads: tuple[int, int]
    share: float = 1.0
    more: float = 0.0  # clocks that a miss takes beyond `latency`
    misses: float = 0.0  # share of executions


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
    clocks = {**pipe_clocks(executed.code.architecture), **service}
    for each in executed.code:
        if each.kind == "tensor":
            clocks.setdefault(each.opcode, matrix_clocks(each.opcode, executed.code.architecture))
    simulate = _Simulation(latencies, clocks, lines, warps, warps_per_block, rounds)
    simulate.longest = longest
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


def make_step(
    each: Instruction,
    latencies: Latencies,
    service: Mapping[str, float],
    lines: Mapping[int, LineAccess],
) -> Step:
    """An instruction, as a partition with these latencies and pipes treats it."""
    word = each.opcode.partition(".")[0]
    named = WAITS.get(each.kind)
    left = each.operands.rpartition(",")[2].strip() if word == "DEPBAR" else ""
    latency = getattr(latencies, named) if named else 12.0
    answer = latencies.lines.get(each.ptx_line) if named == "global_load" else None
    known = lines.get(each.ptx_line) if each.kind in QUEUED else None
    served = service.get(each.opcode, service.get(each.kind, 1.0))
    return Step(
        kind=each.kind,
        queued=each.kind in QUEUED,
        service=known.service if known else served,
        latency=answer.hit if answer else latency,
        stall=float(max(each.stall, 1)),
        write_barrier=each.write_barrier,
        read_barrier=each.read_barrier,
        wait_mask=each.wait_mask,
        rendezvous=each.kind == "barrier" and word == "BAR" and ".ARV" not in each.opcode,
        group=1 if word == "LDGDEPBAR" else 2 if word == "DEPBAR" else 0,
        left=int(left, 0) if left.startswith("0x") else 0,
        reads=each.reads,
        share=known.share if known and each.guarded else 1.0,
        more=answer.more if answer else 0.0,
        misses=answer.share if answer else 0.0,
    )


def leave_out(step: Step, phase: float, meets: bool) -> Step:
    """The step of a warp of that phase, 0 to 1: without effect where its guard has no lanes.

    meets: the warps of a block meet at barriers, where all wait for those that have such lanes.
    """
    if step.share >= 1.0 or phase < step.share:
        return step
    return step._replace(
        queued=False,
        service=1.0,
        latency=step.latency if meets else 0.0,
        more=step.more if meets else 0.0,
    )


class _Warp:
    __slots__ = (
        *("age", "at", "block", "groups", "misses", "open", "path", "reason", "since", "waits"),
    )

    def __init__(self, path: Sequence[Step], block: int) -> None:
        self.path, self.block, self.at, self.age = path, block, 0, 0
        self.waits = [(0.0, "")] * 6
        self.open, self.groups = 0.0, collections.deque[float]()
        self.misses: dict[int, float] = {}
        self.reason, self.since = "start", 0.0


class _Simulation:
    """A partition with its pipes, and what it runs."""

    def __init__(
        self,
        latencies: Latencies,
        service: Mapping[str, float],
        lines: Mapping[int, LineAccess],
        warps: int,
        block: int,
        rounds: int,
    ) -> None:
        self.latencies, self.service, self.lines = latencies, service, lines
        self.longest = False
        self.block = min(block, warps)
        self.slots = max(1, warps // self.block)
        self.rounds = rounds

    def run(self, executed: ExecutedCode) -> WarpTimes:
        steps = [
            [
                make_step(each, self.latencies, self.service, self.lines)
                for each in block.instructions
            ]
            for block in executed.code.blocks
        ]
        self.paths = []
        meets = any(step.rendezvous for block in steps for step in block)
        count = min(PATHS, self.block * self.slots)
        for i in range(count):
            phase = max(i, SELDOM) / count
            blocks = warp_path.walk(executed, 1 - phase if self.longest else (i + 0.5) / count)
            taken = [[leave_out(step, phase, meets) for step in block] for block in steps]
            self.paths.append(self._join(executed, blocks, taken))
        self.heap: list[tuple[float, int, _Warp]] = []
        self.number = self.started = 0
        self.waiting: dict[int, list[_Warp]] = collections.defaultdict(list)
        self.alive: dict[int, int] = {}
        self.left = self.slots * (self.rounds - 1)
        self.free: dict[str, float] = {}
        self.even = self.odd = 0.0
        self.blocked: dict[str, collections.deque[_Warp]] = collections.defaultdict(
            collections.deque
        )
        for block in range(self.slots):
            self._start(block, 0.0)
        return self._issue()

    def _join(
        self, executed: ExecutedCode, blocks: Sequence[int], steps: Sequence[Sequence[Step]]
    ) -> list[Step]:
        """The steps of a path; a branch that is taken holds the warp longer."""
        path: list[Step] = []
        for i, following in zip(blocks, [*blocks[1:], -1], strict=True):
            path += steps[i]
            if following not in (i + 1, -1) and path:
                path[-1] = path[-1]._replace(stall=path[-1].stall + self.latencies.branch)
        return path

    def _start(self, block: int, now: float) -> None:
        self.alive[block] = self.block
        self.started += 1
        for _ in range(self.block):
            warp = _Warp(self.paths[self.number % len(self.paths)], block)
            warp.age = self.started
            self._push(warp, now)

    def _push(self, warp: _Warp, ready: float) -> None:
        self.number += 1
        heapq.heappush(self.heap, (ready, self.number, warp))

    def _issue(self) -> WarpTimes:
        clock, issued, end = 0.0, 0.0, 0.0
        lost: dict[str, float] = collections.defaultdict(float)
        ready: list[tuple[int, int, _Warp]] = []  # by age of their blocks
        while self.heap or ready:
            if not ready and self.heap[0][0] > clock:
                lost[self.heap[0][2].reason] += self.heap[0][0] - clock
                clock = self.heap[0][0]
            while self.heap and self.heap[0][0] <= clock + 1e-9:
                _, number, warp = heapq.heappop(self.heap)
                heapq.heappush(ready, (warp.age, number, warp))
            _, _, warp = heapq.heappop(ready)
            step = warp.path[warp.at]
            pipe = "queue" if step.queued else step.kind
            even, odd = step.reads
            if even or odd:
                delay = max(self.even + even, self.odd + odd) - WINDOW - clock
                if delay > 1e-9:
                    delay = float(math.ceil(delay))
                    lost["registers"] += delay
                    clock += delay
            start, line = self._find_start(step), self.blocked[pipe]
            if start > clock + 1e-9:
                warp.reason = f"pipe.{step.kind}"
                if not line or line[0] is not warp:
                    line.append(warp)
                if line[0] is warp:  # the others of the line wait for it to go
                    self._push(warp, start)
                continue
            now, clock, issued = clock, clock + 1.0, issued + 1.0
            if even or odd:
                self.even, self.odd = max(self.even, now) + even, max(self.odd, now) + odd
            first = bool(line) and line[0] is warp
            end = max(end, self._execute(warp, step, now))
            if first:
                line.popleft()
                if line:
                    following = line[0]
                    self._push(following, self._find_start(following.path[following.at]))
        clocks = max(end, clock)
        lost["exit"] += clocks - clock
        return WarpTimes(self.slots * self.block, self.rounds, clocks, issued, dict(lost))

    def _find_start(self, step: Step) -> float:
        """When the pipe of an instruction takes it."""
        if step.queued:
            return self.free.get("queue", 0.0) - QUEUE * step.service
        return self.free.get(step.kind, 0.0)

    def _execute(self, warp: _Warp, step: Step, now: float) -> float:
        """Effects of an instruction that is issued now; when the warp is done with it."""
        pipe = "queue" if step.queued else step.kind
        begin = max(now, self.free.get(pipe, 0.0))
        if step.service > 1.0 or step.queued:
            self.free[pipe] = begin + step.service
        # The last wavefront of an access begins so much after its first one.
        last = max(step.service / PARTITIONS - 1.0, 0.0) if step.queued else 0.0
        done = begin + step.latency + last
        if step.misses:
            counted = warp.misses.get(id(step), 1.0 - step.misses) + step.misses
            if counted > ALMOST_ONE:
                done += step.more
                counted -= 1.0
            warp.misses[id(step)] = counted
        if step.write_barrier != NO_BARRIER:
            self._raise(warp, step.write_barrier, done, step.kind)
        if step.read_barrier != NO_BARRIER:
            read = begin + step.service + self.latencies.read
            self._raise(warp, step.read_barrier, read, f"read.{step.kind}")
        if step.kind == "async":
            warp.open = max(warp.open, done)
        warp.at += 1
        ready, warp.reason = now + step.stall, "stall"
        if step.group == 1:
            warp.groups.append(warp.open)
        elif step.group == 2:
            while len(warp.groups) > step.left:
                closed = warp.groups.popleft()
                if closed > ready:
                    ready, warp.reason = closed, "async"
        if step.rendezvous:
            self._meet(warp, ready)
        elif warp.at < len(warp.path):
            self._wait(warp, ready)
        else:
            self._leave(warp, now)
        return now + 1.0

    @staticmethod
    def _raise(warp: _Warp, barrier: int, until: float, reason: str) -> None:
        if barrier < 6 and until > warp.waits[barrier][0]:
            warp.waits[barrier] = until, reason

    def _wait(self, warp: _Warp, ready: float) -> None:
        """Makes the warp ready for its next instruction."""
        mask = warp.path[warp.at].wait_mask
        for i in range(6):
            if mask >> i & 1 and warp.waits[i][0] > ready:
                ready, warp.reason = warp.waits[i]
        self._push(warp, ready)

    def _meet(self, warp: _Warp, ready: float) -> None:
        """At a barrier: the last of the block's warps frees all."""
        group = self.waiting[warp.block]
        group.append(warp)
        warp.since = ready
        self._open(warp.block)

    def _open(self, block: int) -> None:
        group = self.waiting[block]
        if not group or len(group) < self.alive[block]:
            return
        free = max(warp.since for warp in group) + self.latencies.barrier
        self.waiting[block] = []
        for warp in group:
            warp.reason = "barrier"
            if warp.at < len(warp.path):
                self._wait(warp, free)
            else:
                self._leave(warp, free)

    def _leave(self, warp: _Warp, now: float) -> None:
        self.alive[warp.block] -= 1
        if self.alive[warp.block]:
            self._open(warp.block)
        elif self.left > 0:
            self.left -= 1
            self._start(warp.block, now + 1.0)


LATENCY_NAMES = tuple(each.name for each in fields(Latencies) if each.name != "lines")
