"""Predictions of launches that the simulator has counted, by the model of a card."""

from __future__ import annotations

import functools
import math
import re
import statistics
from typing import TYPE_CHECKING, Any

from .. import _core
from .atomics import count_atomic_slices, is_crowd_known
from .executed import map_counts
from .fit import demand_fit
from .gains import EASED, Gains, ease, is_conflicted, remove_conflicts
from .machine_code import load
from .model import OWN, REPEATED, time_launch
from .phases import is_watching
from .prediction import Prediction, Term
from .registers import GUESS, count_registers
from .turns import calm, has_turns
from .uneven import GUARD, UNEVEN, compare_blocks, has_last_block, has_loops_of_data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .cards import Card
    from .executed import ExecutedCode
    from .model import LaunchTime

USUAL = 0.15  # of the time: how far a prediction is off where all is known
# What widens the range, as a share of the time.
NO_CODE, GUESSED, UNKNOWN_REUSE, NEAR_CACHE, CONTENDED, POWER = 0.35, 0.15, 0.3, 0.25, 0.3, 0.2
COLD, EXPOSED, MUTUAL, TEXTURES, SYSTEM = 0.15, 0.15, 0.35, 0.5, 1.0
LOOPS_OF_DATA = 1.0
KEPT_NOT = 1.5  # times the L2 cache: of more than that nothing is found there again
TRIPS = 3  # to the L2 cache, of a block that takes its turn: to see it, a fence, to pass it on
LOWEST = 4.0  # of what is not known, as far as it makes a launch faster
LOCAL, SKEWED_MOST, LAST, DIVIDED = 1.0, 3.0, 0.5, 2.0
SCATTERED_CONSTANTS = 2.5
UNEVEN_MOST = 2.0  # of the time, that a launch of unequal blocks may take longer
SPREADS = 2.0  # standard errors of the mean of the counted blocks that the range has
START_US = 0.7  # by which the time of a launch varies, of several by its root of squares
NOTED = 0.1  # share of the time from which on that is said
# Whole numbers of 64 bits are divided by a short way where both fit into 32, else by a long one.
DIVISION = re.compile(r"(?:@\S+\s+)?(?:div|rem)\.[us]64\b")
DIVISION_SLOTS = 60  # that it takes more or less
# Calls of what the driver brings along, and reads and writes of the texture unit.
SYSTEM_CALL = re.compile(r"call\b.*\b(vprintf|malloc|free|__assertfail)\b")
TEXTURE_ACCESS = re.compile(GUARD + r"(?:tex|tld4|suld|sust|sured)\b", re.MULTILINE)
FEW_WATTS = 120.0  # cards below this lower their clock under load


def find_machine_code(facts: Mapping[str, Any], card: Card) -> tuple[ExecutedCode | None, str]:
    """The executed machine code of a counted launch, or why it is not known."""
    try:
        code = load(facts["ptx"], facts["kernel"], card.compute_capability.replace(".", ""))
        return map_counts(code, facts["instructions"]), ""
    except (_core.UnsupportedError, _core.InternalError) as error:
        return None, str(error)
    except _core.BackendError as error:
        raise _core.BackendError(
            f"{facts['kernel']} cannot run on {card.name}, which has compute capability "
            f"{card.compute_capability}: {error}"
        ) from None


# Term -> the counters whose greatest line is named.
PLACES = {
    "issue": ("instructions.warp",),
    "shared": ("shared.load.wavefronts", "shared.store.wavefronts", "shared.atomic.wavefronts"),
    "l1": (
        *("shared.load.wavefronts", "shared.store.wavefronts", "shared.atomic.wavefronts"),
        *("global.load.sectors", "global.store.sectors", "local.load.sectors"),
    ),
    "l2": ("global.load.sectors", "async.sectors"),
    "l2 stores": ("global.store.sectors", "global.atomic.sectors"),
    "dram": ("global.load.sectors", "global.store.sectors", "async.sectors"),
    "atomics": ("global.atomic.requests",),
    "constants": ("constant.load.addresses",),
    "tensor": ("matrix.instructions",),
    "latency": (
        "global.load.requests",
        "async.requests",
        "shared.load.instructions",
    ),
    "barriers": ("barrier.count",),
}


COUNTED = frozenset(name for names in PLACES.values() for name in names)


def find_places(facts: Mapping[str, Any]) -> dict[str, str]:
    """{term: the source line with most of its counters, as "tiled.cu:37"}, of those in PLACES."""
    sums: dict[str, dict[tuple[str | None, int | None], float]] = {name: {} for name in COUNTED}
    for row in facts["instructions"]:
        place = row["file"], row["line"]
        for name, amount in row["counters"].items():
            if amount and name in sums:
                sums[name][place] = sums[name].get(place, 0) + amount
    found = {}
    for term, names in PLACES.items():
        together: dict[tuple[str | None, int | None], float] = {}
        for name in names:
            for place, amount in sums[name].items():
                together[place] = together.get(place, 0) + amount
        lines = (place for place in together if place[0] is not None)
        file, line = max(lines, key=lambda place: together[place], default=(None, None))
        found[term] = f"{file}:{line}" if file is not None else ""
    return found


def find_class_place(executed: ExecutedCode | None, kind: str) -> str:
    """The source line with most machine instructions of a class."""
    if executed is None:
        return ""
    file, line = max(
        (place for place in executed.by_line if place[0] is not None),
        key=lambda place: executed.by_line[place].get(kind, 0.0),
        default=(None, None),
    )
    if file is None or not executed.by_line[file, line].get(kind):
        return ""
    return f"{file}:{line}"


def find_imbalance(facts: Mapping[str, Any]) -> float:
    """How many times as many requests as the mean one counted block makes, at most.

    >>> first, other = ((n, 3, False, 0, 8, 1, 1, 0, 0, 1, 10 + 20 * n, 0, 1) for n in (0, 1))
    >>> find_imbalance({"footprint": [first, other]})
    1.5
    """
    sums: dict[int, int] = {}
    for block, *_, requests, _serial, _waits in facts.get("footprint", ()):
        sums[block] = sums.get(block, 0) + requests
    mean = sum(sums.values()) / max(len(sums), 1)
    return max(sums.values()) / mean if mean > 0 else 1.0


def find_spread(facts: Mapping[str, Any]) -> float:
    """The standard error of what an average block asks for, of a few that stand for all.

    >>> first, other = ((n, 3, False, 0, 8, 1, 1, 0, 0, 10 + 20 * n, 1, 0, 1) for n in (0, 1))
    >>> find_spread({"footprint": [first, other], "blocks": 2, "blocks_total": 9})
    0.5
    """
    lines: dict[int, int] = {}
    for block, *_, asked, _requests, _serial, _waits in facts.get("footprint", ()):
        lines[block] = lines.get(block, 0) + asked
    if len(lines) < 2 or facts["blocks"] >= facts["blocks_total"] or not any(lines.values()):
        return 0.0
    error = statistics.stdev(lines.values()) / math.sqrt(len(lines))
    return error / statistics.mean(lines.values())


def find_divisions(facts: Mapping[str, Any], executed: ExecutedCode) -> float:
    """The share of issue that divisions may add, whose ways depend on data."""
    divisions = sum(
        row["counters"].get("instructions.warp", 0)
        for row in facts["instructions"]
        if DIVISION.match(row["ptx"])
    )
    return float(DIVISION_SLOTS * divisions / max(executed.issue_slots, 1.0))


def find_skew_most(facts: Mapping[str, Any], card: Card) -> float:
    """By how much more of the time atomics may take where one part of the L2 cache has them all."""
    return max(CONTENDED, min(count_atomic_slices(facts, card) - 1, SKEWED_MOST))


def note_instructions(facts: Mapping[str, Any]) -> dict[str, float]:
    """What is not known of instructions that were executed, with its share of the time."""
    notes = {}
    kernel, rows = facts["kernel"], "\n".join(row["ptx"] for row in facts["instructions"])
    if is_watching(facts):
        notes[f"how long the blocks of {kernel} wait for what others of them write"] = MUTUAL
    if TEXTURE_ACCESS.search(rows):
        notes[
            f"what {kernel} reads and writes through the texture unit: it is not counted, and so "
            "neither its rate nor the bytes of the caches and of memory are in the time"
        ] = TEXTURES
    if has_last_block(facts) and facts["blocks"] < facts["blocks_total"]:
        notes[
            f"what the last block of {kernel} does once the others are done: it is not among those "
            "that are counted"
        ] = LAST
    calls = [row["ptx_line"] for row in facts["instructions"] if "call" in row["ptx"]]
    text = facts["ptx"].splitlines() if calls else []
    # the name of what is called stands behind the first line
    if any(SYSTEM_CALL.search(" ".join(text[line - 1 : line + 2])) for line in calls):
        notes[f"what printing, or memory that {kernel} asks for, takes"] = SYSTEM
    return notes


def say_unknown(
    timed: Sequence[tuple[Mapping[str, Any], LaunchTime, ExecutedCode | None, str, bool]],
    card: Card,
    warm: bool,
    starts: int,
    time_ms: float,
) -> tuple[tuple[str, ...], float]:
    """(what is not known, how wide the range becomes by it as a share of the time)."""
    notes: dict[str, float] = {}
    usual = math.hypot(USUAL, START_US / 1e3 * math.sqrt(starts) / time_ms)
    if usual > USUAL + NOTED:
        notes[
            "what a launch takes until its first instructions are there: that is much "
            "of so short a time"
        ] = 0.0  # it is in `usual`
    if not warm:
        notes["what the cache holds instead, and must write to memory first"] = COLD
    for facts, launch, executed, why, counted_registers in timed:
        kernel, traffic = facts["kernel"], launch.traffic
        cache = card.l2_mb * 2**20
        if executed is None:
            notes[f"the machine code of {kernel}, so its PTX stands for it: {why}"] = NO_CODE
        elif executed.residual > 0.05:
            notes[
                f"{executed.residual:.0%} of the counts of {kernel} do not fit its machine code"
            ] = min(executed.residual, 0.5)
        if not counted_registers:
            notes[f"the registers of {kernel}; {GUESS} are assumed"] = GUESSED
        if not traffic.known:
            notes[
                f"which addresses the other blocks of {kernel} touch: they depend on data, and so "
                "do the hits in the caches"
            ] = UNKNOWN_REUSE
        elif 0.5 * cache < traffic.footprint < 1.5 * cache:
            notes[
                f"{kernel} touches {traffic.footprint / 2**20:.0f} MiB, about as much as the L2 "
                f"cache of {card.l2_mb:.0f} MiB holds: what stays there is not certain"
            ] = NEAR_CACHE
        if launch.limited_by in ("latency", "barriers"):
            notes[f"how latencies grow under load, for which the warps of {kernel} wait"] = EXPOSED
        notes |= note_instructions(facts)
        if executed is not None and (share := find_divisions(facts, executed)) > NOTED:
            notes[
                f"by which of two ways the machine code of {kernel} divides numbers of 64 bits: "
                "that depends on data"
            ] = DIVIDED * min(share, 1.0)
        uneven = max(find_imbalance(facts), compare_blocks(facts))
        if uneven > UNEVEN and facts["blocks"] < facts["blocks_total"]:
            share = min((uneven - 1) / max(launch.rounds, 1.0), UNEVEN_MOST)
            notes[
                f"how unequal the blocks of {kernel} are: of those that were counted one does "
                f"{uneven:.1f} times as much as the mean; blocks=None counts all of them"
            ] = max(share, SPREADS * find_spread(facts))
        elif (spread := SPREADS * find_spread(facts)) > NOTED:
            notes[
                f"how much the other blocks of {kernel} do: those that were counted differ, and so "
                "may the mean of all"
            ] = spread
        elif facts["blocks"] < facts["blocks_total"] and has_loops_of_data(facts):
            notes[
                f"how often the loops of {kernel} run in the blocks that were not counted: that "
                "depends on what they read; blocks=None counts all of them"
            ] = LOOPS_OF_DATA
        if has_turns(facts):
            longest = TRIPS * facts["blocks_total"] * card.atomic_clk / card.clocks_per_ms
            notes[
                f"how long the blocks of {kernel} wait for each other: they ask atomics until "
                "others have changed the value, at worst one block after the other"
            ] = longest / time_ms
        if "atomics" in launch.parts and launch.limited_by == "atomics":
            notes[
                "how many atomics meet at one address, or in one part of the L2 cache, depends on "
                "data"
            ] = CONTENDED if is_crowd_known(facts) else find_skew_most(facts, card)
        if launch.limited_by == "constants":
            notes[
                f"whether the cache of 2 KiB keeps the constants of which the lanes of {kernel} "
                "read different words"
            ] = SCATTERED_CONSTANTS
        if launch.local.miss:
            notes[
                f"which lines of local memory the L1 cache keeps: the threads of {kernel} have "
                "more of it than fits"
            ] = LOCAL
    if card.guessed:
        notes[
            f"{len(card.guessed)} constants of this card: no measurement of them was found, and "
            f"those of a similar card are taken (smemkit.card({card.name!r}).guessed names them, "
            ".sources says which card)"
        ] = GUESSED
    if card.watts <= FEW_WATTS:
        notes[
            f"the clock under load: with {card.watts:.0f} W the card lowers it below "
            f"{card.clock_mhz:.0f} MHz"
        ] = POWER
    return tuple(notes), math.hypot(usual, *notes.values())


def find_floor(
    timed: Sequence[tuple[Mapping[str, Any], LaunchTime, ExecutedCode | None, str, bool]],
    card: Card,
) -> float:
    """Milliseconds in which memory passes what launches ask for that no cache can hold, at best."""
    return sum(
        (launch.traffic.dram_read + launch.traffic.dram_written) / card.dram_gbs / 1e6
        for _, launch, *_ in timed
        if launch.traffic.known and launch.traffic.footprint > KEPT_NOT * card.l2_mb * 2**20
    )


def make_gains(
    known: Mapping[str, float],
    timed: Sequence[tuple[Mapping[str, Any], LaunchTime, ExecutedCode | None, str, bool]],
    card: Card,
    warm: bool,
) -> Gains:
    """The gains, with that of bank conflicts where there are many, and those of the limits."""
    conflicted = [row for row in timed if is_conflicted(row[0])]

    def time_anew(
        rows: Sequence[tuple[Mapping[str, Any], LaunchTime, ExecutedCode | None, str, bool]],
        cure: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        there: Card,
    ) -> float:
        """Milliseconds less with other counts, or on another card."""
        saved = 0.0
        for facts, launch, executed, *_ in rows:
            registers = count_registers(facts["kernel"], facts["ptx"], card.compute_capability)
            saved += launch.ms
            saved -= time_launch(cure(facts), there, registers or GUESS, executed, warm).ms
        return saved

    ordered = dict(sorted(known.items(), key=lambda row: -row[1]))
    found = {}
    if conflicted:
        found["bank conflicts"] = lambda: time_anew(conflicted, remove_conflicts, card)
    for limit in dict.fromkeys(launch.limited_by for _, launch, *_ in timed):
        if limit in EASED:
            rows = [row for row in timed if row[1].limited_by == limit]
            found[limit] = functools.partial(time_anew, rows, dict, ease(card, limit))
    return Gains(ordered, found)


def predict_launches(
    launches: Sequence[Mapping[str, Any]], card: Card, cache: str = "warm"
) -> Prediction:
    """The prediction of captured launches."""
    timed = []
    for facts in map(calm, launches):
        executed, why = find_machine_code(facts, card)
        registers = count_registers(facts["kernel"], facts["ptx"], card.compute_capability)
        launch = time_launch(facts, card, registers or GUESS, executed, cache == "warm")
        timed.append((facts, launch, executed, why, registers is not None))
    clears = sum(1 for facts in launches if facts.get("cleared"))
    starts = len(timed) + clears
    early = sum(1 for facts in launches if facts.get("early"))
    begun = card.launch_us * (len(timed) - early) + card.early_us * early
    started = (begun + card.clear_us * clears) / 1e3
    time_ms = started + sum(launch.ms for _, launch, *_ in timed)
    _, main, *_ = max(timed, key=lambda row: row[1].ms)
    names = dict.fromkeys(name for _, launch, *_ in timed for name in launch.parts)
    places: dict[int, dict[str, str]] = {}
    terms = [Term("launch", float(starts), "launches", None, started)]
    gains = {"launch": started}
    for name in names:
        having = [row for row in timed if name in row[1].parts]
        facts, launch, executed, *_ = max(having, key=lambda row: row[1].parts[name])
        if name in PLACES and id(facts) not in places:
            places[id(facts)] = find_places(facts)
        place = places[id(facts)][name] if name in PLACES else find_class_place(executed, name)
        whole = sum(row[1].parts[name] for row in having)
        amounts = [row[1].amounts[name] for row in having if name in row[1].amounts]
        amount = sum(part.amount for part in amounts) if amounts else None
        unit = amounts[0].unit if amounts else ""
        terms.append(Term(name, amount, unit, amounts[0].rate if amounts else None, whole, place))
        saved = sum(row[1].ms - row[1].without.get(name, row[1].ms) for row in having)
        if name != OWN and saved > 0:
            gains[name] = saved
    again = sum(launch.ms - launch.without[REPEATED] for _, launch, *_ in timed)
    if again > 0:
        gains[REPEATED] = again
    tail = sum(launch.tail_ms for _, launch, *_ in timed)
    if tail > 0:
        terms.append(Term("tail wave", None, "", None, tail))
        gains["tail wave"] = tail
    terms.sort(key=lambda term: -term.time_ms)
    notes, width = say_unknown(timed, card, cache == "warm", starts, time_ms)
    return Prediction(
        card=card,
        kernels=tuple(facts["kernel"] for facts, *_ in timed),
        time_ms=time_ms,
        low_ms=max(time_ms / (1 + min(width, LOWEST)), min(time_ms, find_floor(timed, card))),
        high_ms=time_ms * (1 + width),
        limited_by="launch" if started > 0.5 * time_ms else main.limited_by,
        terms={term.name: term for term in terms},
        gains=make_gains(gains, timed, card, cache == "warm"),
        occupancy=main.occupancy,
        waves=main.rounds,
        notes=notes,
    )


def predict_captured(
    launches: Sequence[Mapping[str, Any]], card: Card, cache: str, name: str
) -> Prediction:
    """The prediction of captured launches, of which some may have failed."""
    for launch in launches:
        if "refused" in launch:
            raise _core.ArgumentError(
                f"the launch of {launch['kernel']} failed, so its time is not known: "
                f"{launch['refused']}"
            )
    if not launches:
        raise _core.ArgumentError(
            f"predict: {name} launched no kernel in this thread, so there is nothing to time; "
            "calls on empty arrays launch none"
        )
    for launch in launches:
        demand_fit(launch, card)
    return predict_launches(launches, card, cache)
