"""How long a warp that is alone takes for PTX instructions, where the machine code is not known.

ptxas orders the instructions between two branches so that none waits needlessly: each of them
issues once its operands are there, one a clock, and the warp goes on once all have issued. The
instructions of a loop are walked twice, one iteration after the other: the first one stands for as
many as the loop was entered, and waits for what was made before the loop; the second one stands for
all others, and waits for what the iteration before it has made. Of small loops ptxas makes UNROLLED
copies, without branches between them.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from .issue_steps import OTHER_LATENCY, WAITS
from .ptx_counts import GUARD, REGISTER, classify_ptx
from .ptx_lines import list_loops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .latency import Latencies
    from .ptx_lines import Loop

FIXED = 4.5  # clocks until what has no scoreboard can be used, more or less
PREDICATE = 13.0  # until a branch or a guard may use what a comparison has found
UNROLLED = 4  # copies that ptxas makes of a loop that has no pragma against it
LARGEST = 100  # instructions of such a loop
DEEPEST = 5  # loops in loops that are walked twice
# Classes of which an instruction writes no register.
SILENT = {"store.global", "store.shared", "store.local", "barrier", "control", "fence", "async"}
NO_RESULT = re.compile(r"red\.|prefetch|discard|applypriority|nanosleep|trap|brkpt")
COMMIT = re.compile(r"cp\.async\.commit_group")
WAIT_ALL = re.compile(r"cp\.async\.wait_all")
WAIT_SOME = re.compile(r"cp\.async\.wait_group\s+(\d+)")
FENCE = re.compile(r"(?:membar\.(?:gl|sys)|fence\.\w+\.(?:gpu|sys))")
RESULTS = re.compile(r"\S+\s+(\{[^}]*\}|[^,;]*)")


class Step(NamedTuple):
    """What a PTX instruction does, as far as its time goes.

    slots: instructions that it usually becomes. results, operands: registers; guard: "" or one.
    """

    kind: str
    slots: float
    results: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str


@functools.lru_cache(maxsize=4096)
def read_step(text: str) -> Step:
    """The step of the text of an instruction.

    >>> read_step("@%p1 ld.shared.v2.f32 {%f1, %f2}, [%r3+8];")
    Step(kind='load.shared', slots=1.0, results=('%f1', '%f2'), operands=('%r3',), guard='%p1')
    """
    plain = GUARD.sub("", text)
    guard = REGISTER.search(text[: len(text) - len(plain)])
    kind, slots = classify_ptx(text)
    found = RESULTS.match(plain)
    written, rest = "", plain
    if found is not None and kind not in SILENT and not NO_RESULT.match(plain):
        written, rest = found[1], plain[found.end() :]
    return Step(
        kind,
        slots,
        tuple(REGISTER.findall(written)),
        tuple(REGISTER.findall(rest)),
        guard[0] if guard else "",
    )


class _Piece(NamedTuple):
    """Rows from `first` to before `end` that are a loop.

    entered: share of its passes. copies: that ptxas makes of it.
    """

    first: int
    end: int
    entered: float
    copies: int


class _Walk:
    """A warp on its way through the rows of one launch."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        pieces: Mapping[int, Sequence[_Piece]],
        latencies: Latencies,
        start: float,
    ) -> None:
        self.rows, self.pieces, self.latencies = rows, pieces, latencies
        self.barrier = latencies.barrier + start
        self.ready: dict[str, float] = {}
        self.predicates: set[str] = set()
        self.now = self.copied = self.total = 0.0
        self.begun = 0.0  # of the present block of instructions without a branch
        self.stored: dict[
            str, float
        ] = {}  # the last store to each memory, before which no load goes
        self.groups: list[float] = []

    def walk(
        self, first: int, end: int, share: float, depth: int = 0, *, joined: bool = False
    ) -> None:
        """Adds the clocks of rows from `first` to before `end`, for that share of their passes.

        joined: the next copy follows without a branch.
        """
        i = first
        while i < end:
            inner = [each for each in self.pieces.get(i, ()) if each.end <= end]
            inner = [each for each in inner if (each.first, each.end) != (first, end) or not depth]
            if not inner:
                self._step(self.rows[i], share, joined and i == end - 1)
                i += 1
                continue
            loop = inner[0]
            again = depth < DEEPEST and loop.entered < 1
            self.walk(loop.first, loop.end, share * (loop.entered if again else 1.0), depth + 1)
            for left in reversed(range(loop.copies if again else 0)):
                part = share * (1 - loop.entered) / loop.copies
                self.walk(loop.first, loop.end, part, depth + 1, joined=left > 0)
            i = loop.end

    def _step(self, row: Mapping[str, Any], share: float, skipped: bool) -> None:
        text, before = row["ptx"], self.now
        step = read_step(text)
        waited = [self.ready.get(name, 0.0) for name in step.operands]
        if step.guard and not skipped:
            late = PREDICATE - FIXED if step.guard in self.predicates else 0.0
            waited.append(self.ready.get(step.guard, 0.0) + late)
        known = max(waited, default=0.0)
        if step.kind == "empty":
            for name in step.results:
                self.ready[name] = known
            return
        space = step.kind.partition(".")[2]
        known = max(known, self.begun)
        if step.kind.startswith("load."):
            known = max(known, self.stored.get(space, 0.0))
        if row["role"] not in ("member", "gone"):
            if step.kind in ("control", "barrier", "fence"):
                known = self._wait(step, text, max(known, self.now))
            slots = max(step.slots, 1.0)
            held = 0.0 if skipped else self._hold(step, text)
            self.now = max(self.now, known) + slots + held
        if step.kind.startswith(("store.", "atomic.")):
            self.stored[space] = known
        if step.kind in ("barrier", "fence") or (step.kind == "control" and not skipped):
            self.begun = self.now
        until = known + self._find_latency(step, row["ptx_line"])
        for name in step.results:
            self.ready[name] = until
            if name.startswith("%p"):
                self.predicates.add(name)
        if step.kind == "async":
            self.copied = max(self.copied, until)
        self.total += share * _count(row) * (self.now - before)

    def _hold(self, step: Step, text: str) -> float:
        """Clocks for which an instruction holds its warp beyond its issue."""
        if step.kind == "barrier":
            return self.barrier
        if step.kind == "control" and GUARD.sub("", text).startswith("bra"):
            return self.latencies.branch + FIXED
        return self.latencies.fence if FENCE.match(GUARD.sub("", text)) else 0.0

    def _wait(self, step: Step, text: str, now: float) -> float:
        """The clock at which copies have come for which an instruction waits."""
        plain = GUARD.sub("", text) if step.kind == "fence" else ""
        if COMMIT.match(plain):
            self.groups.append(self.copied)
            self.copied = 0.0
        elif WAIT_ALL.match(plain):
            now = max(now, self.copied, *self.groups)
            self.groups.clear()
        elif found := WAIT_SOME.match(plain):
            left = int(found[1])
            done = self.groups[: len(self.groups) - left] if left else self.groups
            now = max(now, *done) if done else now
            self.groups = self.groups[len(done) :]
        return now

    def _find_latency(self, step: Step, line: int) -> float:
        if step.kind == "load.global" or step.kind == "load.local":
            answer = self.latencies.lines.get(line)
            if answer is not None:
                return answer.hit + answer.share * answer.more
        name = WAITS.get(step.kind)
        if name is None:
            return FIXED * max(step.slots, 1.0)
        return float(getattr(self.latencies, name, OTHER_LATENCY))


def time_chain(
    rows: Sequence[Mapping[str, Any]], ptx: str, latencies: Latencies, warps: int
) -> float:
    """Clocks that all warps together take for the counted instructions, each of them alone.

    warps: of a block, for which a barrier waits.
    """
    pieces: dict[int, list[_Piece]] = {}
    text = ptx.splitlines()
    for function in dict.fromkeys(row["function"] for row in rows):
        for loop in list_loops(ptx, function):
            piece = _find_piece(rows, function, loop, text)
            if piece is not None:
                pieces.setdefault(piece.first, []).append(piece)
    for found in pieces.values():
        found.sort(key=lambda piece: -piece.end)
    walk = _Walk(rows, pieces, latencies, latencies.arrival * max(warps - 4, 0) / 4)
    walk.walk(0, len(rows), 1.0)
    return walk.total


def _find_piece(
    rows: Sequence[Mapping[str, Any]], function: str, loop: Loop, text: Sequence[str]
) -> _Piece | None:
    """The rows of a loop of the function; None where none of them was executed."""
    own = [(i, row) for i, row in enumerate(rows) if row["function"] == function]
    inside = [i for i, row in own if loop.first <= row["ptx_line"] <= loop.last]
    if not inside:
        return None
    first, end = inside[0], inside[-1] + 1
    passes = max(_count(rows[i]) for i in inside)
    entries = sum(_count(row) for _, row in own if row["ptx_line"] in loop.entering)
    entered = min(1.0, entries / passes) if passes else 1.0
    kinds = [read_step(rows[i]["ptx"]).kind for i in inside]
    kept = any('"nounroll"' in line for line in text[max(loop.first - 4, 0) : loop.last])
    single = not any(kind in ("control", "barrier") for kind in kinds[:-1])
    copies = UNROLLED if single and not kept and len(inside) <= LARGEST else 1
    return _Piece(first, end, entered, copies if entered * UNROLLED <= 1 else 1)


def _count(row: Mapping[str, Any]) -> float:
    return float(row["counters"].get("instructions.warp", 0))
