"""What a launch would gain: its counts without what is wasted, and the time of these counts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from .cards import Card

    Place = tuple[str | None, int | None]

BANKED = ("shared.load", "shared.store", "shared.atomic", "async")
LINE_SECTORS = 4  # of a line of the caches
WARP = 32
CONFLICTED = 0.1  # of the wavefronts: fewer conflicts are not worth a word


class Gains(Mapping[str, float]):
    """Gains, the greatest first; those that have to be timed are found when they are read.

    known: those that cost nothing. timed: {what: its milliseconds, by a function}; each is called
    once at most.
    """

    def __init__(
        self, known: Mapping[str, float], timed: Mapping[str, Callable[[], float]] | None = None
    ) -> None:
        self._found, self._timed = dict(known), dict(timed or {})

    def _complete(self) -> dict[str, float]:
        if self._timed:
            made = {name: find() for name, find in self._timed.items()}
            self._timed = {}
            self._found |= {name: saved for name, saved in made.items() if saved > 0}
            self._found = dict(sorted(self._found.items(), key=lambda row: -row[1]))
        return self._found

    def __getitem__(self, name: str) -> float:
        return self._complete()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())

    def __repr__(self) -> str:
        return repr(self._complete())

    def __reduce__(self) -> tuple[type[Gains], tuple[dict[str, float]]]:
        return Gains, (self._complete(),)


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
            counters[name] = counters.get(name, 0) - by
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
        block, number, *middle, waves, lines, requests, serial, waits = row
        if number in coalesced:
            most = requests * math.ceil(needed / LINE_SECTORS)
            waves, lines = min(waves, most), min(lines, most)
        footprint.append((block, number, *middle, waves, lines, requests, serial, waits))
    return _change(facts, changed, footprint)


# Counters of a warp's passes; others are of bytes and lanes, which stay.
PASSES = ("instructions.warp", "branch.instructions", "branch.divergent")
BARRIER = ("barrier.count", "instructions.warp", "instructions.thread")
PASS_UNITS = ("requests", "instructions", "wavefronts", "conflicts")


def fill_lanes(facts: Mapping[str, Any], lines: Collection[int] | None) -> dict[str, Any]:
    """A counted launch whose warps have no idle lanes at some lines of the PTX; None: at all.

    The same lanes do the same work, in as few warps as hold them.
    """
    changed: dict[int, dict[str, float]] = {}
    left: dict[int, float] = {}
    for number, row in enumerate(facts["instructions"]):
        counters = row["counters"]
        passes, lanes = (counters.get(f"instructions.{unit}", 0) for unit in ("warp", "thread"))
        if (lines is not None and row["ptx_line"] not in lines) or lanes >= WARP * passes:
            continue
        left[number] = lanes / (WARP * passes)
        changed[number] = {
            name: amount * (1 - left[number])
            for name, amount in counters.items()
            if name in PASSES or name.rpartition(".")[2] in PASS_UNITS
        }
    footprint = [
        (block, number, *middle, *(each * left.get(number, 1.0) for each in last))
        for block, number, *middle, waves, lines_, requests, serial, waits in facts.get(
            "footprint", ()
        )
        for last in [(waves, lines_, requests, serial, waits)]
    ]
    return _change(facts, changed, footprint)


def drop_barriers(facts: Mapping[str, Any], places: Collection[Place]) -> dict[str, Any]:
    """A counted launch whose PTX has no barriers at some source lines: it is compiled anew."""
    text = facts["ptx"].splitlines()
    changed: dict[int, Mapping[str, float]] = {}
    for number, counters in _list_places(facts, places):
        if counters.get("barrier.count"):
            text[facts["instructions"][number]["ptx_line"] - 1] = ""
            changed[number] = {name: counters[name] for name in BARRIER if name in counters}
    return {**_change(facts, changed), "ptx": "\n".join(text) + "\n"}


LOCAL = tuple(f"local.{op}.{unit}" for op in ("load", "store") for unit in ("requests", "sectors"))


def remove_local(facts: Mapping[str, Any], places: Collection[Place]) -> dict[str, Any]:
    """A counted launch whose accesses to local memory, at some lines, are to registers."""
    changed = {}
    for number, counters in _list_places(facts, places):
        less = {name: counters[name] for name in LOCAL if counters.get(name)}
        if less:
            changed[number] = less
    return _change(facts, changed)


def widen_reads(
    facts: Mapping[str, Any], places: Collection[Place], instructions: float, wavefronts: float
) -> dict[str, Any]:
    """A counted launch whose reads of shared memory, at some lines, are fewer and wider ones.

    instructions, wavefronts: the shares of them that are left.
    """
    left = {"shared.load.instructions": instructions, "shared.load.wavefronts": wavefronts}
    changed = {
        number: {name: counters.get(name, 0) * (1 - share) for name, share in left.items()}
        for number, counters in _list_places(facts, places)
        if counters.get("shared.load.instructions")
    }
    return _change(facts, changed)


def merge_atomics(facts: Mapping[str, Any], places: Collection[Place]) -> dict[str, Any]:
    """A counted launch in which no lanes of a request meet in one address of an atomic, at places.

    On global memory each request has one lane then; in shared memory each instruction one wavefront
    and no further round of a loop.
    """
    changed: dict[int, dict[str, float]] = {}
    merged: set[int] = set()
    for number, counters in _list_places(facts, places):
        rounds = counters.get("shared.atomic.instructions", 0)
        needed = min(rounds, counters.get("instructions.warp", 0))
        if rounds:
            changed[number] = {
                "shared.atomic.instructions": rounds - needed,
                "shared.atomic.wavefronts": counters["shared.atomic.wavefronts"] - needed,
            }
        requests = counters.get("global.atomic.requests", 0)
        if requests:
            width = 8 if "64" in facts["instructions"][number]["ptx"] else 4
            less = changed.setdefault(number, {})
            for unit, needed in (("sectors", requests), ("bytes", width * requests)):
                name = f"global.atomic.{unit}"
                less[name] = max(0.0, counters.get(name, 0) - needed)
            merged.add(number)
    footprint = []
    for row in facts.get("footprint", ()):
        block, number, *middle, crowd, waves, lines, requests, serial, waits = row
        if number in merged:
            left = min(serial, requests)
            crowd, serial = crowd * left / max(serial, 1), left
            waves, lines = min(waves, requests), min(lines, requests)
        footprint.append((block, number, *middle, crowd, waves, lines, requests, serial, waits))
    return _change(facts, changed, footprint)


# Limit -> constants of a card, and by how much they change where it no longer limits.
EASED = {
    "shared": (("shared_bytes_per_clk",), 1e3),
    "l1": (("shared_bytes_per_clk", "l1_bytes_per_clk", "lsu_lanes_per_clk"), 1e3),
    "latency": (("shared_clk", "l1_clk", "l2_clk", "dram_ns", "atomic_clk"), 1e-3),
}


def ease(card: Card, limit: str) -> Card:
    """A card like this one on which a limit of its multiprocessors is none."""
    names, factor = EASED[limit]
    return dataclasses.replace(card, **{name: getattr(card, name) * factor for name in names})


def free_shared_memory(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A counted launch whose shared memory keeps no block off a multiprocessor."""
    return {**facts, "shared_bytes": 0}
