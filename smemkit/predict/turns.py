"""Blocks that wait for each other: the turns that they take, and how often they ask in vain.

How often a block asks before the value has changed is no work of the kernel's: on the simulator
blocks run one after the other for long, and one that waits for a later one asks a million times.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from .phases import WATCHING, is_watching
from .ptx_chain import FENCE, read_step
from .ptx_counts import GUARD
from .ptx_lines import list_loops
from .reuse import collect_accesses

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .cards import Card
    from .reuse import Access

# Trips to the L2 cache from one block's turn to that of the next one: by loads that watch, and by
# atomics that ask; and the share of the queue for one address in which each of a block's atomics
# and fences waits (our probe on an H200, "turns" of tests/predict/rates_h200.json).
WATCHED, ASKED, QUEUED = 1.65, 1.45, 0.55
BRANCH = re.compile(r"@!?%\w+\s+bra(?:\.uni)?\s+([\w$%]+)")
WORK = ("store.", "load.shared", "atomic.shared", "barrier", "shuffle", "vote", "async", "tensor")


class Jump(NamedTuple):
    """A branch back: its function, the line of its target and its own."""

    function: str
    first: int
    last: int


def list_jumps(facts: Mapping[str, Any], guards: set[str]) -> list[Jump]:
    """The branches back that depend on one of these registers."""
    found = []
    for row in facts["instructions"]:
        branch = BRANCH.match(row["ptx"])
        if branch is None or read_step(row["ptx"]).guard not in guards:
            continue
        before = [line for line in _find_label(facts["ptx"], branch[1]) if line <= row["ptx_line"]]
        if before:
            found.append(Jump(row["function"], before[-1], row["ptx_line"]))
    return found


@functools.lru_cache(maxsize=1024)
def _find_label(ptx: str, name: str) -> list[int]:
    """The lines that begin with a label: functions may have labels of one name."""
    found, place = [], ptx.find(f"{name}:")
    while place >= 0:
        if not ptx[ptx.rfind("\n", 0, place) + 1 : place].strip():
            found.append(ptx.count("\n", 0, place) + 1)
        place = ptx.find(f"{name}:", place + 1)
    return found


def find_answers(facts: Mapping[str, Any]) -> set[str]:
    """Registers made of what atomics on global memory answer.

    None where the next atomic writes what was made of the answer to the one before.
    """
    rows = facts["instructions"]
    made: set[str] = set()
    if not any("atom" in row["ptx"] for row in rows):
        return made
    for row in rows + rows:
        step = read_step(row["ptx"])
        if step.kind == "atomic.global":
            if not made.isdisjoint(step.operands):
                return set()
            made.update(step.results)
        elif not made.isdisjoint(step.operands):
            made.update(step.results)
    return made


def has_turns(facts: Mapping[str, Any]) -> bool:
    """Do blocks ask an atomic again and again until others have changed what it gives?"""
    answers = find_answers(facts)
    return bool(answers) and bool(list_jumps(facts, answers))


def is_chain(facts: Mapping[str, Any]) -> bool:
    """Does each block wait until an atomic answers a number of its own, one behind the other?"""
    rows = facts["instructions"]
    answers, own = find_answers(facts), {"%ctaid"}
    if not answers:
        return False
    for row in rows + rows:
        step = read_step(row["ptx"])
        if not own.isdisjoint(step.operands) and step.kind in ("alu", "imad", "convert", "empty"):
            own.update(step.results)
    compared = {
        name
        for row in rows
        if (step := read_step(row["ptx"])).operands and row["ptx"].lstrip().startswith("setp")
        if not answers.isdisjoint(step.operands) and not (own - answers).isdisjoint(step.operands)
        for name in step.results
    }
    return bool(compared) and bool(list_jumps(facts, compared))


def time_turns(facts: Mapping[str, Any], card: Card, resident: int) -> float:
    """Clocks in which blocks take their turns one behind the other; 0 where they do not.

    A block that has its turn changes the value by an atomic, which takes half a trip to the L2
    cache and back; the next one asks once a trip, so that the answer comes one trip later in the
    mean. All that wait ask one address: where they are so many that the cache takes longer for
    them than a trip, both atomics queue. resident: blocks that wait at once.
    """
    if not has_turns(facts) or not is_chain(facts):
        return 0.0
    total = facts["blocks_total"]
    waiting = min(total, resident) * card.atomic_next_ns * card.clock_mhz / 1e3
    queue = max(0.0, waiting - card.atomic_clk)
    rows = facts["instructions"]
    fences = any(FENCE.match(GUARD.sub("", row["ptx"])) for row in rows)
    end = max(jump.last for jump in list_jumps(facts, find_answers(facts)))
    reads = any(
        row["ptx_line"] > end and read_step(row["ptx"]).kind == "load.global" for row in rows
    )
    step = ASKED * card.atomic_clk + (1 + fences) * QUEUED * queue
    step += card.fence_clk * fences + card.l2_clk * reads
    return float(total * step)


def time_relay(facts: Mapping[str, Any], card: Card) -> float:
    """Clocks in which blocks hand something on, each to the one behind it; 0 where they do not.

    Each waits until a place has changed that another block writes, and then writes one of its own,
    equally far on for each next block; it has written nothing before. A step is half a trip to the
    L2 cache for the write, and one for the read that sees it; then the fences and the reads
    between both, one behind the other.
    """
    loops = list_jumps(facts, find_watched(facts))
    if not loops:
        return 0.0
    rows, end = facts["instructions"], max(loop.last for loop in loops)
    lines = {i: row["ptx_line"] for i, row in enumerate(rows)}
    inside = [loop for loop in loops if loop.last == end][0]
    accesses = collect_accesses(facts.get("footprint", ()))
    watched = [
        access
        for access in accesses
        if not access.writes and inside.first <= lines[access.instruction] <= end
    ]
    written = [access for access in accesses if access.writes]
    if any(lines[access.instruction] < end for access in written):
        return 0.0
    far = min(
        (apart for one in watched for other in written if (apart := _find_distance(one, other))),
        default=0,
    )
    if not far:
        return 0.0
    behind = [row for row in rows if row["ptx_line"] > end and _count(row)]
    step = WATCHED * card.l2_clk
    step += card.fence_clk * sum(bool(FENCE.match(GUARD.sub("", row["ptx"]))) for row in behind)
    step += card.l2_clk * any(read_step(row["ptx"]).kind == "load.global" for row in behind)
    return float(facts["blocks_total"] / far * step)


def _find_distance(watched: Access, written: Access) -> int:
    """How many blocks behind the one that writes a place is the one that watches it; 0: none is.

    >>> from types import SimpleNamespace
    >>> watched = SimpleNamespace(blocks=(1, 2, 9), low=(0, 4, 32))
    >>> _find_distance(watched, SimpleNamespace(blocks=(0, 1, 8), low=(0, 4, 32)))
    1
    """
    slopes: list[float] = []
    for access in (watched, written):
        if len(access.blocks) < 2:
            return 0
        steps = {
            (low - access.low[0]) / (block - access.blocks[0])
            for block, low in zip(access.blocks[1:], access.low[1:], strict=True)
        }
        slopes += steps
    if len(set(slopes)) != 1 or slopes[0] <= 0:
        return 0
    apart = (written.low[0] - watched.low[0]) / slopes[0] + watched.blocks[0] - written.blocks[0]
    return int(apart) if apart == int(apart) and apart > 0 else 0


def find_watched(facts: Mapping[str, Any]) -> set[str]:
    """Registers made of what loads have read that watch what other blocks write."""
    rows = facts["instructions"]
    made: set[str] = set()
    if not is_watching(facts):
        return made
    for row in rows + rows:
        step = read_step(row["ptx"])
        if WATCHING.search(row["ptx"]) or not made.isdisjoint(step.operands):
            made.update(step.results)
    return made


def calm(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The counts, as if blocks that only wait asked once.

    So do loops that read one place again and again, and do nothing else.
    """
    rows = facts["instructions"]
    asked = find_answers(facts) | find_watched(facts)
    shares: dict[int, float] = {}
    for jump in list_jumps(facts, asked) if asked else []:
        inside = {
            i: read_step(row["ptx"])
            for i, row in enumerate(rows)
            if row["function"] == jump.function and jump.first <= row["ptx_line"] <= jump.last
        }
        made = {name for step in inside.values() for name in step.results}
        if any(step.kind.startswith(WORK) for step in inside.values()) or any(
            not made.isdisjoint(step.operands)
            for step in inside.values()
            if step.kind in ("atomic.global", "load.global")
        ):
            continue
        passes = max(_count(rows[i]) for i in inside)
        behind = [
            (row["ptx_line"], _count(row))
            for row in rows
            if row["function"] == jump.function and row["ptx_line"] > jump.last
        ]
        if behind and min(behind)[1] >= passes:
            continue  # they are found changed at once
        entries = _count_entries(facts, jump)
        if 0 < entries < passes:
            shares |= dict.fromkeys(inside, entries / passes)
    if not shares:
        return facts
    scaled = [_scale(row, shares.get(i, 1.0)) for i, row in enumerate(rows)]
    counters = dict(facts["counters"])
    for old, new in zip(rows, scaled, strict=True):
        for name, amount in old["counters"].items() if new is not old else ():
            if isinstance(amount, int):  # others are ratios
                counters[name] -= amount - new["counters"][name]
    touched = [
        (*row[:8], *(each * shares.get(row[1], 1.0) for each in row[8:]))
        for row in facts.get("footprint", ())
    ]
    found = {**facts, "instructions": scaled, "counters": counters, "footprint": touched}
    found.pop("busiest", None)
    return found


def _count_entries(facts: Mapping[str, Any], jump: Jump) -> float:
    loops = list_loops(facts["ptx"], jump.function)  # last, as that takes longest
    lines = {line for loop in loops if loop.last == jump.last for line in loop.entering}
    return sum(
        _count(row)
        for row in facts["instructions"]
        if row["function"] == jump.function and row["ptx_line"] in lines
    )


def _count(row: Mapping[str, Any]) -> float:
    return float(row["counters"].get("instructions.warp", 0))


def _scale(row: Mapping[str, Any], share: float) -> Mapping[str, Any]:
    if share == 1.0:
        return row
    counters = {
        name: share * each if isinstance(each, int) else each
        for name, each in row["counters"].items()
    }
    return {**row, "counters": counters}
