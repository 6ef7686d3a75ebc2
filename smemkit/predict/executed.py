"""Executed machine instructions: counts of PTX instructions, carried over to the machine code.

Each machine instruction names the PTX line that it was made of. What ptxas neither removes, nor
moves out of loops, nor repeats for other reasons than unrolling are the anchors: accesses,
barriers, shuffles, products. The executions of all copies of an anchor together are the count of
its PTX instruction. The executions of blocks follow from these sums, from conservation of flow
(what enters a block leaves it), and from trip counts: where ptxas has unrolled a loop, the copy
with most instances takes as many of the trips as it can. All these are equations in the
executions; their weighted least squares without negative executions are the answer, found by
solving, dropping what is negative, and giving less weight to equations that the rest contradicts.
"""

from __future__ import annotations

import collections
import functools
import heapq
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .machine_code import Block
from .parting import Parting, find_partings, find_shares
from .ptx_lines import OPCODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from .machine_code import Instruction, MachineCode
    from .ptx_lines import Loop

    Numbers = NDArray[np.float64]

Place = tuple[str | None, int | None]

# Weights of equations, each relative to the count it speaks of.
ANCHOR, ARITHMETIC, TRIPS, FLOW, UNREACHED, TYPICAL, HINT = (
    *(1.0, 0.4, 0.5, 0.5),
    *(0.1, 0.1, 0.02),
)
ROUNDS = 5  # of weighing anew
PIVOTS = 4  # exchanges that may pass without fewer unknowns on the wrong side
TOLERANCE = 0.02  # relative misses up to this keep their weight

# PTX opcodes that ptxas keeps, by what the text begins with -> classes of what it makes of them.
KEPT = (
    (r"ld\.(?:[\w:]+\.)*shared|ld\.shared", ("load.shared",), ANCHOR),
    (r"st\.(?:[\w:]+\.)*shared|st\.shared", ("store.shared",), ANCHOR),
    (r"ldmatrix|stmatrix", ("matrix.shared",), ANCHOR),
    (r"ld\.(?:[\w:]+\.)*(?:param|const|local)", (), 0.0),
    (r"st\.(?:[\w:]+\.)*(?:param|local)", (), 0.0),
    (r"ldu?\.", ("load.global",), ANCHOR),
    (r"st\.", ("store.global",), ANCHOR),
    (r"(?:atom|red)\.(?!async)", ("atomic.global", "atomic.shared"), ANCHOR),
    (r"cp\.async\.(?:ca|cg)", ("async",), ANCHOR),
    (r"bar\.|barrier\.(?!cluster)", ("barrier",), ANCHOR),
    (r"shfl", ("shuffle",), ANCHOR),
    (r"mma\.|wgmma\.mma|wmma\.mma", ("tensor",), ANCHOR),
    (r"(?:fma|mul|add|sub)\.(?:\w+\.)*f32", ("fma",), ARITHMETIC),
    (r"(?:fma|mul|add|sub)\.(?:\w+\.)*f64", ("double",), ARITHMETIC),
    (r"(?:mad|mul)\.lo\.[us]32", ("imad",), HINT),
    (r"(?:ex2|lg2|sin|cos|tanh|rsqrt)\.approx|rcp\.approx", ("special",), ARITHMETIC),
)
# Classes of what ptxas does not execute where the PTX does not.
FIXED = {"store.shared", "store.global", "atomic.global", "atomic.shared", "barrier", "async"}
FIXED |= {"load.shared", "load.global", "matrix.shared", "shuffle", "tensor"}
KEPT_PATTERNS = tuple((re.compile(pattern), kinds, weight) for pattern, kinds, weight in KEPT)
SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


@dataclass(frozen=True)
class ExecutedCode:
    """How often the blocks of a kernel's machine code were executed, by warps of the whole count.

    executions: of each block of `code`, in warp passes. flows: of the edges between them, {(from,
    to): warp passes}. warps: that were counted. partings: {block: where its lanes part and meet}.
    by_class: {class: warp instructions}; by_line: {(file, line) of the source: {class: warp
    instructions}}, (None, None) where an instruction has no line. residual: the share by which
    counts of anchors (accesses, barriers, shuffles) are missed, 0 for a perfect mapping.
    """

    code: MachineCode
    executions: Numbers
    flows: Mapping[tuple[int, int], float]
    warps: float
    by_class: Mapping[str, float]
    by_line: Mapping[Place, Mapping[str, float]]
    residual: float
    partings: Mapping[int, Parting] = field(default_factory=dict)

    @property
    def issue_slots(self) -> float:
        """Warp instructions that were issued: what Nsight Compute calls smsp__inst_executed."""
        return float(sum(self.by_class.values()))


def map_counts(code: MachineCode, counted: Sequence[Mapping[str, Any]]) -> ExecutedCode:
    """The executed machine code of a counted launch.

    counted: the instructions of a profiled launch, dicts with `ptx_line`, `ptx`, `file`, `line`
    and `counters`. A launch of which only some blocks were counted gives counts of those blocks.
    """
    key = id(code), tuple((row["ptx_line"], *_count(row)) for row in counted)
    known = _MAPPED.get(key)
    if known is None or known.code is not code:
        while len(_MAPPED) >= MAPPED_MOST:
            _MAPPED.pop(next(iter(_MAPPED)), None)
        known = _MAPPED[key] = _map(code, counted)
    return known


MAPPED_MOST = 64
_MAPPED: dict[tuple[int, tuple[tuple[int, ...], ...]], ExecutedCode] = {}


def _count(row: Mapping[str, Any]) -> tuple[int, int]:
    counters = row["counters"]
    return counters.get("instructions.warp", 0), counters.get("branch.divergent", 0)


def _map(code: MachineCode, counted: Sequence[Mapping[str, Any]]) -> ExecutedCode:
    equations = _Equations(code, counted)
    variables = equations.solve()
    executions, flows = equations.spread(variables)
    places = {row["ptx_line"]: (row["file"], row["line"]) for row in counted}
    by_class: collections.Counter[str] = collections.Counter()
    by_line: dict[Place, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for block, times in zip(code.blocks, executions.tolist(), strict=True):
        if times <= 0:
            continue
        for instruction in block.instructions:
            by_class[instruction.kind] += times
            by_line[places.get(instruction.ptx_line, (None, None))][instruction.kind] += times
    residual = equations.measure(variables)
    warps = equations.warps
    parts = equations.list_partings()
    return ExecutedCode(code, executions, flows, warps, {**by_class}, {**by_line}, residual, parts)


def find_kept(text: str) -> tuple[tuple[str, ...], float]:
    """(classes of machine instructions, weight) of a PTX instruction that ptxas keeps."""
    found = OPCODE.match(text)
    return _find_kept(found[2]) if found else ((), 0.0)


@functools.lru_cache(maxsize=1024)
def _find_kept(opcode: str) -> tuple[tuple[str, ...], float]:
    for pattern, kinds, weight in KEPT_PATTERNS:
        if pattern.match(opcode):
            return kinds, weight
    return (), 0.0


def find_median(numbers: Sequence[float]) -> float:
    """The middle one; of an even number the mean of both.

    >>> find_median([3.0, 1.0, 2.0]), find_median([4.0, 1.0])
    (2.0, 2.5)
    """
    ordered, middle = sorted(numbers), len(numbers) // 2
    return ordered[middle] if len(numbers) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def count_parts(text: str, machine: Iterable[Instruction]) -> int:
    """Machine instructions that one matrix product of PTX becomes: by the depth of both."""
    wanted = SHAPE.search(text)
    words = {word for each in machine for word in each.opcode.split(".") if word.isdecimal()}
    if not wanted or len(words) != 1:
        return 1
    rows, columns, depth = map(int, wanted.groups())
    for m in (64, 16, 8):
        for n in (8,) if m < 64 else range(8, 264, 8):
            for k in (4, 8, 16, 32, 64, 128, 256):
                if f"{m}{n}{k}" in words:
                    return max(1, rows * columns * depth // (m * n * k))
    return 1


def is_split(text: str, opcode: str) -> bool:
    """Whether an access of several words in PTX is one of fewer words in machine code.

    >>> is_split("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];", "LDS.64")
    True
    """
    words = re.match(r"\S*\.v([248])\b", text)
    widths = [int(part) // 32 for part in opcode.split(".") if part in ("64", "128")]
    return bool(words) and max(widths, default=1) < (min(int(words[1]), 4) if words else 0)


def find_live(code: MachineCode, texts: Mapping[int, str]) -> list[int]:
    """The blocks that warps may have come to, given the lines of the PTX that were executed.

    A block with an access of a line that was not executed was not, nor one that has such lines
    alone, nor one that is behind such blocks only. Arithmetic may stand elsewhere than its line
    says, as ptxas moves it above branches. And ptxas shares code between branches that end alike,
    which then has the lines of one of them: blocks that lie before an executed access are kept.
    """
    dead = []
    for block in code.blocks:
        lines = {each.ptx_line for each in block.instructions if each.ptx_line}
        missing = {line for line in lines if line not in texts}
        fixed = bool(missing) and any(
            each.kind in FIXED and not each.guarded and each.ptx_line in missing
            for each in block.instructions
        )
        dead.append(block.cold or fixed or (bool(lines) and len(missing) == len(lines)))
    dead[0] = False
    while True:
        behind = _search(code, dead)
        seen = {i for i, (cost, _) in behind.items() if not cost}
        reached = {each.ptx_line for i in seen for each in code.blocks[i].instructions}
        more = set()
        for i in behind.keys() - seen:
            for each in code.blocks[i].instructions:
                if (
                    each.ptx_line not in reached
                    and each.ptx_line in texts
                    and each.kind in find_kept(texts[each.ptx_line])[0]
                ):
                    more.add(i)
                    break
        if not more:
            return sorted(seen)
        cheapest = min(behind[i][0] for i in more)
        for i in (i for i in more if behind[i][0] == cheapest):
            while i != 0:
                dead[i] = False
                i = behind[i][1]


def _search(code: MachineCode, dead: Sequence[bool]) -> dict[int, tuple[int, int]]:
    """{block: (dead blocks on the way to it, itself included, the block before it)}."""
    found: dict[int, tuple[int, int]] = {}
    heap = [(0, 0, 0)]
    while heap:
        cost, i, before = heapq.heappop(heap)
        if i in found:
            continue
        found[i] = cost, before
        block = code.blocks[i]
        for way in (*block.successors, *(() if block.callee is None else (block.callee,))):
            if way not in found and not code.blocks[way].cold:
                heapq.heappush(heap, (cost + dead[way], way, i))
    return found


def keep_blocks(code: MachineCode, live: Sequence[int]) -> list[Block]:
    """The blocks of a list, numbered by their places in it."""
    number = {i: place for place, i in enumerate(live)}
    found = []
    for block in (code.blocks[i] for i in live):
        ways = tuple(number[way] for way in block.successors if way in number)
        callee = number.get(block.callee or 0) or None
        found.append(Block(block.instructions, ways, callee, block.leaves, block.cold))
    return found


class _Equations:
    """The equations of one launch in the executions of the blocks."""

    def __init__(self, code: MachineCode, counted: Sequence[Mapping[str, Any]]) -> None:
        self.count: dict[int, float] = {}
        self.text: dict[int, str] = {}
        for row in counted:
            times = row["counters"].get("instructions.warp", 0)
            line = row["ptx_line"]
            if times >= self.count.get(line, 0):
                self.count[line], self.text[line] = float(times), row["ptx"]
        self.warps = next(
            (
                float(row["counters"].get("instructions.warp", 0))
                for row in counted
                if row["function"] == code.entry
            ),
            0.0,
        )
        self.loops, self.all_blocks = code.loops, len(code.blocks)
        self.live = find_live(code, self.text)
        self.blocks = keep_blocks(code, self.live)
        self.partings = find_partings(self.blocks, find_shares(counted))
        self.joins = {parting.join for parting in self.partings.values()}
        self.edges = self._list_edges()
        leaving = [i for i, block in enumerate(self.blocks) if block.leaves]
        self.width = len(self.blocks) + len(self.edges)
        self.exits = {i: self.width + place for place, i in enumerate(leaving)}
        self.width += len(leaving)
        self.rows: list[tuple[dict[int, float], float, float]] = []  # coefficients, value, weight
        self.least: set[int] = set()  # rows whose value is the least that their sum may be
        self.anchors: list[tuple[dict[int, float], float]] = []
        self._add_lines()
        self._add_unreached()
        self._add_trips()
        self.scale = self._guess()
        self._add_flow()

    # Variables: executions of blocks, flows of edges that neither end determines, exits of blocks.
    def _list_edges(self) -> dict[tuple[int, int], int]:
        self.entered: dict[int, list[int]] = collections.defaultdict(list)
        self.called: dict[int, list[int]] = collections.defaultdict(list)
        for i, block in enumerate(self.blocks):
            for way in block.successors:
                self.entered[way].append(i)
            if block.callee is not None:
                self.called[block.callee].append(i)
        free: dict[tuple[int, int], int] = {}
        for i, block in enumerate(self.blocks):
            for way in block.successors:
                alone = len(self.entered[way]) == 1 and way != 0 and way not in self.called
                alone = alone and way not in self.joins
                if (len(block.successors) > 1 or block.leaves) and not alone:
                    free[i, way] = len(self.blocks) + len(free)
        return free

    def _find_edge(self, i: int, way: int) -> int:
        """The variable of an edge."""
        if (i, way) in self.edges:
            return self.edges[i, way]
        block = self.blocks[i]
        return i if len(block.successors) == 1 and not block.leaves else way

    def _add_lines(self) -> None:
        """Equations of anchors, and hints of all other lines."""
        made: dict[int, list[tuple[int, Instruction]]] = collections.defaultdict(list)
        for i, block in enumerate(self.blocks):
            for instruction in block.instructions:
                made[instruction.ptx_line].append((i, instruction))
        self._add_typical(made)
        self.copies: dict[int, dict[int, float]] = {}
        for line, instructions in made.items():
            if not line:
                continue
            times, text = self.count.get(line, 0.0), self.text.get(line, "")
            if not times:
                continue
            kinds, weight = find_kept(text)
            guarded = text.startswith("@")
            kept = [(i, each) for i, each in instructions if each.kind in kinds]
            if kept and all(guarded or not each.guarded for _, each in kept):
                parts = count_parts(text, (each for _, each in kept))
                sums: dict[int, float] = collections.defaultdict(float)
                for i, _ in kept:
                    sums[i] += 1.0 / parts
                if is_split(text, kept[0][1].opcode):  # pieces and unrolled copies look alike
                    self.rows.append((dict(sums), times, TYPICAL))
                    continue
                self.copies[line] = dict(sums)
                self.rows.append((dict(sums), times, weight))
                if weight == ANCHOR:
                    self.anchors.append((dict(sums), times))
            elif kept:  # under a guard in place of a branch it is issued more often than reached
                self.least.add(len(self.rows))
                issued = {i for i, _ in kept}
                self.rows.append((dict.fromkeys(issued, 1.0), times, ARITHMETIC))
            else:
                hints = dict.fromkeys({i for i, _ in instructions}, 1.0)
                self.rows.append((hints, times, HINT))

    def _add_typical(self, made: Mapping[int, Sequence[tuple[int, Instruction]]]) -> None:
        """Of each block the median of the counts of lines that are in no other block."""
        own: dict[int, list[float]] = collections.defaultdict(list)
        for line, instructions in made.items():
            blocks = {i for i, _ in instructions}
            if len(blocks) == 1 and self.count.get(line):
                own[blocks.pop()].append(self.count[line])
        self.typical = {i: find_median(counts) for i, counts in own.items()}
        for i, typical in self.typical.items():
            if len(own[i]) > 2:
                self.rows.append(({i: 1.0}, typical, TYPICAL))

    def _add_unreached(self) -> None:
        """Hints of blocks that no warp came to, as most of their lines were not executed."""
        for i, block in enumerate(self.blocks):
            lines = [each.ptx_line for each in block.instructions if each.ptx_line]
            if 2 * sum(line not in self.count for line in lines) > len(lines):
                self.rows.append(({i: 1.0}, 0.0, UNREACHED))

    def _add_trips(self) -> None:
        """Where the copies of a loop's anchors lie in several blocks: who takes how many trips."""
        most_of: dict[Loop, dict[int, float]] = {loop: {} for loop in self.loops}
        for line, copies in self.copies.items():
            around = [loop for loop in self.loops if loop.first <= line <= loop.last]
            for loop in dict.fromkeys(around):
                if any(each != loop and self._is_within(each, loop) for each in around):
                    continue
                most = most_of[loop]
                for i, number in copies.items():
                    most[i] = max(most.get(i, 0.0), number)
        for loop in self.loops:
            most = most_of[loop]
            entries = sum(self.count.get(line, 0.0) for line in loop.entering)
            trips = self.count.get(loop.first, 0.0)
            if len(set(most.values())) < 2 or not 0 < entries <= trips:
                continue
            self._add_unrolled(most, entries, trips / entries)

    @staticmethod
    def _is_within(inner: Any, outer: Any) -> bool:
        return bool(outer.first <= inner.first and inner.last <= outer.last)

    def _add_unrolled(self, most: Mapping[int, float], entries: float, trips: float) -> None:
        by_number: dict[float, list[int]] = collections.defaultdict(list)
        for i, number in most.items():
            by_number[number].append(i)
        for number in sorted(by_number, reverse=True):
            rounds = np.floor(trips / number + 1e-6)
            trips -= rounds * number
            row = dict.fromkeys(by_number[number], 1.0)
            self.rows.append((row, float(rounds * entries), TRIPS))

    def _guess(self) -> Numbers:
        """A first estimate of the variables, by which equations are made relative."""
        low = [math.inf] * self.width
        for row, value, weight in self.rows:
            if weight > UNREACHED:
                for i, number in row.items():
                    low[i] = min(low[i], value / number / len(row))
        for i, typical in self.typical.items():
            if math.isinf(low[i]):
                low[i] = typical
        low[0] = self.warps
        for (i, way), variable in self.edges.items():
            low[variable] = min(low[i], low[way])
        for i, variable in self.exits.items():
            low[variable] = low[i]
        least = np.array(low)
        return np.where(np.isfinite(least) & (least > 0), least, max(self.warps, 1.0))

    def _add_flow(self) -> None:
        """What enters a block leaves it, and what enters a loop."""
        self.rows.append(({0: 1.0}, self.warps, ANCHOR))
        for i, block in enumerate(self.blocks):
            if i and (self.entered[i] or self.called[i]):
                edges = [self._find_edge(each, i) for each in self.entered[i]]
                self._add_sum([i], edges + self.called[i], self._find_parted(i))
            ways = [self._find_edge(i, way) for way in block.successors]
            if ways or block.leaves:
                parted = {i: self.partings[i].share} if i in self.partings else {}
                self._add_sum([i], ways + ([self.exits[i]] if block.leaves else []), parted)
        ends: dict[int, int] = {}
        for i, block in enumerate(self.blocks):
            for way in block.successors:
                if way <= i:
                    ends[way] = max(ends.get(way, 0), i)
        latches = collections.Counter(
            self.blocks[last].instructions[-1].ptx_line for last in ends.values()
        )
        for first, last in ends.items():
            entries = self._add_loop(first, last)
            line = self.blocks[last].instructions[-1].ptx_line
            for loop in self.loops:
                if loop.last == line and latches[line] == 1 and entries:
                    entered = sum(self.count.get(each, 0.0) for each in loop.entering)
                    entered = min(entered, self.count.get(loop.first, 0.0))
                    self.rows.append((dict.fromkeys(entries, 1.0), entered, TRIPS))

    def _add_loop(self, first: int, last: int) -> list[int]:
        """Entries and exits of a loop are equal, which sums of its many trips tell too coarsely.

        Returns the variables of the entries.
        """
        inside = range(first, last + 1)
        entries: list[int] = [0] if first == 0 else []
        exits: list[int] = []
        for i, block in enumerate(self.blocks):
            for way in block.successors:
                if (i in inside) != (way in inside):
                    (exits if i in inside else entries).append(self._find_edge(i, way))
            if block.leaves and i in inside:
                exits.append(self.exits[i])
        parted = {
            i: parting.share
            for i, parting in self.partings.items()
            if i in inside and parting.join not in inside
        }
        self._add_sum(entries, exits, parted)
        return entries

    def _find_parted(self, join: int) -> dict[int, float]:
        """{block: the share of its visits of which both ways come to this block}."""
        return {i: each.share for i, each in self.partings.items() if each.join == join}

    def list_partings(self) -> dict[int, Parting]:
        """The partings, by numbers of the code."""
        return {
            self.live[i]: Parting(None if join is None else self.live[join], share)
            for i, (join, share) in self.partings.items()
        }

    def _add_sum(
        self, whole: Sequence[int], parts: Sequence[int], twice: Mapping[int, float] | None = None
    ) -> None:
        """The parts are the whole, and as much more as `twice` says: shares of executions."""
        row: dict[int, float] = collections.defaultdict(float, twice or {})
        for each in whole:
            row[each] += 1.0
        for each in parts:
            row[each] -= 1.0
        row = {key: number for key, number in row.items() if number}
        if row:
            self.rows.append((row, 0.0, FLOW))

    def solve(self) -> Numbers:
        """The variables."""
        system = _Sparse(self.rows, self.scale)
        weights = np.array([weight for _, _, weight in self.rows])
        damping = np.ones(len(self.rows))
        answer, free = np.zeros(self.width), np.ones(self.width, bool)
        for _ in range(ROUNDS):
            answer, free = _solve_nonnegative(*system.square(damping), free)
            sums = system.multiply(answer)
            missed = np.abs(sums - system.value) / weights
            before = damping
            damping = np.sqrt(TOLERANCE / np.maximum(missed, TOLERANCE))
            damping[[r for r in self.least if sums[r] > system.value[r]]] = 0.0
            if np.abs(damping - before).max(initial=0.0) < 0.05:
                break
        return answer * self.scale

    def spread(self, found: Numbers) -> tuple[Numbers, dict[tuple[int, int], float]]:
        """Executions of all blocks of the code, and flows of the edges, by their numbers there."""
        executions = np.zeros(self.all_blocks)
        executions[self.live] = found[: len(self.blocks)]
        flows = {
            (self.live[i], self.live[way]): float(found[self._find_edge(i, way)])
            for i, block in enumerate(self.blocks)
            for way in block.successors
        }
        return executions, flows

    def measure(self, variables: Numbers) -> float:
        """The share of all counts of anchors by which their copies miss them."""
        missed = sum(
            abs(sum(number * variables[i] for i, number in row.items()) - value)
            for row, value in self.anchors
        )
        return float(missed / max(sum(value for _, value in self.anchors), 1.0))


class _Sparse:
    """Weighted equations, of which each has a few unknowns, in units of a guess of these."""

    def __init__(self, rows: Sequence[tuple[dict[int, float], float, float]], scale: Numbers):
        self.width = len(scale)
        length = np.array([len(row) for row, _, _ in rows])
        weight = np.array([weight for _, _, weight in rows])
        value = np.array([value for _, value, _ in rows])
        self.row = np.repeat(np.arange(len(rows)), length)
        self.unknown = np.array([i for row, _, _ in rows for i in row], np.int64)
        number = np.array([c for row, _, _ in rows for c in row.values()], float)
        first = np.cumsum(length) - length  # of each row
        most = np.maximum.reduceat(np.abs(number) * scale[self.unknown], first)
        unit = np.maximum(np.maximum(value, most), 1e-9)
        self.value = weight * value / unit
        self.number = weight[self.row] * number * scale[self.unknown] / unit[self.row]
        # two places of one row, each with each
        partners = length[self.row]
        a = np.repeat(np.arange(len(number)), partners)
        within = np.arange(len(a)) - np.repeat(np.cumsum(partners) - partners, partners)
        b = first[self.row[a]] + within
        self.pair_row = self.row[a]
        self.pair_place = self.unknown[a] * self.width + self.unknown[b]
        self.pair_number = self.number[a] * self.number[b]

    def square(self, damping: Numbers) -> tuple[Numbers, Numbers]:
        """The normal equations, each row multiplied by its damping."""
        factor = damping**2
        numbers = self.pair_number * factor[self.pair_row]
        square: Numbers = np.asarray(np.bincount(self.pair_place, numbers, self.width**2), float)
        right = self.number * (self.value * factor)[self.row]
        right = np.asarray(np.bincount(self.unknown, right, self.width), float)
        return square.reshape(self.width, self.width), right

    def multiply(self, answer: Numbers) -> Numbers:
        """The left sides of the equations."""
        numbers = self.number * answer[self.unknown]
        return np.asarray(np.bincount(self.row, numbers, len(self.value)), float)


def _solve_nonnegative(
    square: Numbers, right: Numbers, free: NDArray[np.bool_]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Least squares without negative unknowns, and which of them are not held at 0.

    square, right: the normal equations. free: those that are not held at first. Block principal
    pivoting: all that are negative are held, and all freed that would fall below what they are
    held at.
    """
    square[np.diag_indices_from(square)] += 1e-9
    answer = np.zeros(len(right))
    fewest, left = len(right) + 1, PIVOTS
    while left:
        answer = np.zeros(len(right))
        answer[free] = np.linalg.solve(square[np.ix_(free, free)], right[free])
        pull = right - square @ answer
        wrong = (free & (answer < -1e-9)) | (~free & (pull > 1e-9))
        count = int(wrong.sum())
        if not count:
            break
        left = PIVOTS if count < fewest else left - 1
        fewest = min(fewest, count)
        free = free ^ wrong
    return np.maximum(answer, 0.0), free
