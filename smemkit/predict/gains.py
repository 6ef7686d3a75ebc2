"""What a launch would gain: its counts without what is wasted, and the time of these counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    Place = tuple[str | None, int | None]

BANKED = ("shared.load", "shared.store", "shared.atomic", "async")
LINE_SECTORS = 4  # of a line of the caches
CONFLICTED = 0.1  # of the wavefronts: fewer conflicts are not worth a word


def count_conflicts(facts: Mapping[str, Any]) -> tuple[float, float]:
    """(bank conflicts of a launch, its wavefronts)."""
    counters = facts["counters"]
    return (
        sum(counters[f"{name}.conflicts"] for name in BANKED),
        sum(counters[f"{name}.wavefronts"] for name in BANKED),
    )


def is_conflicted(facts: Mapping[str, Any]) -> bool:
    """Whether so many of a launch's wavefronts are conflicts that removing them may pay."""
    conflicts, wavefronts = count_conflicts(facts)
    return conflicts > CONFLICTED * wavefronts


def _change(
    facts: Mapping[str, Any],
    changed: Mapping[int, Mapping[str, float]],
    footprint: Any = None,
) -> dict[str, Any]:
    """The facts with other counters: {number of the instruction: {counter: less by so many}}."""
    sums = dict(facts["counters"])
    rows = list(facts["instructions"])
    for number, less in changed.items():
        counters = dict(rows[number]["counters"])
        for name, by in less.items():
            counters[name] -= by
            sums[name] -= by
        rows[number] = {**rows[number], "counters": counters}
    made = {**facts, "counters": sums, "instructions": rows}
    return made if footprint is None else {**made, "footprint": footprint}


def _list_places(
    facts: Mapping[str, Any], places: Collection[Place] | None
) -> list[tuple[int, Mapping[str, Any]]]:
    """(number, counters) of the instructions at these source lines; None: of all."""
    return [
        (number, row["counters"])
        for number, row in enumerate(facts["instructions"])
        if places is None or (row["file"], row["line"]) in places
    ]


def remove_conflicts(
    facts: Mapping[str, Any], places: Collection[Place] | None = None
) -> dict[str, Any]:
    """A counted launch as it would be without bank conflicts, at some source lines or all."""
    changed: dict[int, dict[str, float]] = {}
    for number, counters in _list_places(facts, places):
        for name in BANKED:
            conflicts = counters.get(f"{name}.conflicts", 0)
            if conflicts:
                less = {f"{name}.conflicts": conflicts, f"{name}.wavefronts": conflicts}
                changed.setdefault(number, {}).update(less)
    return _change(facts, changed)


def coalesce(
    facts: Mapping[str, Any], places: Collection[Place], op: str, needed: float
) -> dict[str, Any]:
    """A counted launch whose requests of one kind take `needed` sectors each, at some lines."""
    changed: dict[int, dict[str, float]] = {}
    coalesced: set[int] = set()
    for number, counters in _list_places(facts, places):
        requests = counters.get(f"global.{op}.requests", 0)
        sectors = counters.get(f"global.{op}.sectors", 0)
        if sectors > needed * requests:
            changed[number] = {f"global.{op}.sectors": sectors - needed * requests}
            coalesced.add(number)
    footprint = []
    for row in facts.get("footprint", ()):
        block, number, *middle, lines, requests, serial, waits = row
        if number in coalesced:
            lines = min(lines, requests * math.ceil(needed / LINE_SECTORS))
        footprint.append((block, number, *middle, lines, requests, serial, waits))
    return _change(facts, changed, footprint)
