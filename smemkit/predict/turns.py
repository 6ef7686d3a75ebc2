"""Blocks that wait for each other: the turns that they take, and how often they ask in vain.

How often a block asks before the value has changed is no work of the kernel's: on the simulator
blocks run one after the other for long, and one that waits for a later one asks a million times.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .phases import WATCHING
from .ptx_chain import FENCE, read_step
from .ptx_counts import GUARD
from .ptx_lines import list_loops

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .cards import Card
    from .ptx_lines import Loop

BRANCH = re.compile(r"@!?%\w+\s+bra\b")
WORK = ("store.", "load.shared", "atomic.shared", "barrier", "shuffle", "vote", "async", "tensor")


def list_ended(facts: Mapping[str, Any], guards: set[str]) -> list[tuple[str, Loop]]:
    """(function, loop) of the loops at whose end a branch depends on one of these registers."""
    ends = {
        (row["function"], row["ptx_line"])
        for row in facts["instructions"]
        if BRANCH.match(row["ptx"]) and read_step(row["ptx"]).guard in guards
    }
    return [  # loops are looked for last, as that takes longest
        (function, loop)
        for function in dict.fromkeys(function for function, _ in ends)
        for loop in list_loops(facts["ptx"], function)
        if (function, loop.last) in ends
    ]


def find_answers(facts: Mapping[str, Any]) -> set[str]:
    """Registers made of what atomics on global memory answer.

    None where the next atomic writes what was made of the answer to the one before.
    """
    rows = facts["instructions"]
    made: set[str] = set()
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
    return bool(answers) and bool(list_ended(facts, answers))


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
    return bool(compared) and bool(list_ended(facts, compared))


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
    fences = any(FENCE.match(GUARD.sub("", row["ptx"])) for row in facts["instructions"])
    step = 1.5 * card.atomic_clk + 2.5 * queue + (card.fence_clk if fences else 0.0)
    return total * step


def find_watched(facts: Mapping[str, Any]) -> set[str]:
    """Registers made of what loads have read that watch what other blocks write."""
    rows = facts["instructions"]
    made: set[str] = set()
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
    for function, loop in list_ended(facts, asked) if asked else []:
        own = [
            (i, row, read_step(row["ptx"]))
            for i, row in enumerate(rows)
            if row["function"] == function
        ]
        inside = [each for each in own if loop.first <= each[1]["ptx_line"] <= loop.last]
        made = {name for *_, step in inside for name in step.results}
        if any(step.kind.startswith(WORK) for *_, step in inside) or any(
            not made.isdisjoint(step.operands)
            for *_, step in inside
            if step.kind in ("atomic.global", "load.global")
        ):
            continue
        entries = sum(_count(row) for _, row, _ in own if row["ptx_line"] in loop.entering)
        passes = max((_count(row) for _, row, _ in inside), default=0)
        if 0 < entries < passes:
            shares |= {i: entries / passes for i, *_ in inside}
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
