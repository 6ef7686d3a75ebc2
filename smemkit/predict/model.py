"""Counts and rates to terms, and terms to a time: pure functions of numbers.

Blocks run in rounds: as many as fit on all multiprocessors, then as many again; the last round may
be smaller. A round ends when its slowest part ends. The parts overlap: the issue of instructions
and the waiting for results, as one multiprocessor sees them; the banks of shared memory and the L1
cache, the L2 cache, memory, and the atomic units, which serve all blocks one after the other. Parts
of nearly equal length do not overlap perfectly: OVERLAP says how sharply the longest one decides.
Where blocks read all before they write, a launch takes at least what phases.py says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .. import _core
from . import local_memory
from .atomics import list_gathered, time_atomics
from .latency import Latencies, LineAccess, WarpTimes, time_warps
from .opcode_classes import PARTITIONS, WARP_SIZE, pipe_clocks
from .phases import find_late, find_phases, is_watching, time_phases
from .ptx_chain import time_chain
from .ptx_counts import count_classes
from .reuse import LINE, SECTOR, Traffic, collect_accesses, count_noted, find_traffic
from .service import (
    CONSTANTS,
    count_constants,
    count_idle,
    count_matrix_clocks,
    count_occupied,
    find_instruction_clocks,
    find_latencies,
    find_lines,
    find_service,
    has_idle,
)
from .turns import time_relay, time_turns
from .uneven import split_last, time_busiest, time_last

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .cards import Card
    from .executed import ExecutedCode
    from .local_memory import LocalTraffic

    Triple = tuple[int, int, int]
    Place = tuple[str | None, int | None]

OWN = "multiprocessor"
STARTS = "block starts"
LONGEST, TURNS, LAST_BLOCK = "longest warp", "turns", "last block"
LONGER = 1.25  # times the launch that the longest warp must take: two simulations differ by less
# Parts of sectors that the L2 cache takes in the time of one that is alone in its line, where lines
# have several (our probe on an H200, "strided_stores" of tests/predict/rates_h200.json).
PARTIAL_MOST = 1.35
REPEATED = "repeated reads of memory"
OVERLAP = 4.0  # exponent of the norm by which parts of a round are combined
SM_L2_MOST = 64.0  # bytes a clock between one multiprocessor and the L2 cache, each way
# Share of the L2 cache that data can fill: on an H200 48 MB of 60 were seen to hit, 64 were not.
L2_KEPT = 0.85


@dataclass(frozen=True)
class Part:
    """A part of a round: what is used, how much of it in all, and its clocks for one block.

    clocks: of a multiprocessor for one block, while all multiprocessors work.
    """

    name: str
    amount: float
    unit: str
    rate: float
    clocks: float
    place: Place = (None, None)


@dataclass(frozen=True)
class LaunchTime:
    """The time of one launch: `ms` without the cost of launching, and what makes it up.

    parts: {name: ms that the part alone would take}; "multiprocessor" is what its schedulers,
    pipes, banks and waiting take together, "latency" and "barriers" are what it waits of that.
    without: {part: ms if this part took no time; REPEATED: ms if memory were read once}. limit:
    what limits the resident blocks. rounds: of blocks. tail_ms: what a last round that is not full
    adds.
    """

    kernel: str
    ms: float
    parts: Mapping[str, float]
    amounts: Mapping[str, Part]
    without: Mapping[str, float]
    limited_by: str
    limit: str
    resident: int
    occupancy: float
    rounds: float
    tail_ms: float
    traffic: Traffic
    local: LocalTraffic


def count_resident(
    limits: Mapping[str, Any], threads: int, registers: int, shared_bytes: int
) -> tuple[int, str]:
    """(blocks that a multiprocessor holds at once, what limits them)."""
    warps = -(-threads // WARP_SIZE)
    unit = limits["register_allocation_unit"]
    warp_registers = -(-registers * WARP_SIZE // unit) * unit
    warps_most = limits["registers_per_multiprocessor"] // PARTITIONS // warp_registers * PARTITIONS
    shared_unit = limits["shared_allocation_unit_bytes"]
    reserved = limits["shared_bytes_per_block_reserved"]
    shared = -(-(shared_bytes + reserved) // shared_unit) * shared_unit
    bounds = {
        "threads": limits["warps_per_multiprocessor_max"] // warps,
        "blocks": limits["blocks_per_multiprocessor_max"],
        "registers": warps_most // warps,
        "shared memory": limits["shared_bytes_per_multiprocessor"] // shared if shared else 1 << 30,
    }
    least = min(bounds, key=lambda name: bounds[name])
    return max(1, bounds[least]), least


def combine(clocks: Sequence[float], sharpness: float = OVERLAP) -> float:
    """The time of parts that overlap: at least the longest, more where several are as long.

    >>> combine([100.0, 10.0]) < 101, round(combine([100.0, 100.0]))
    (True, 119)
    """
    longest = max(clocks, default=0.0)
    if longest <= 0:
        return 0.0
    together = math.fsum((each / longest) ** sharpness for each in clocks)
    return float(longest * together ** (1 / sharpness))


def spread(total: int, multiprocessors: int, resident: int) -> tuple[int, int, int]:
    """(full rounds, blocks of a multiprocessor in a full round, those of the last round)."""
    rounds, rest = divmod(total, multiprocessors * resident)
    return rounds, resident, -(-rest // multiprocessors)


@dataclass(frozen=True)
class Demand:
    """What a launch asks of a card: parts that grow with the blocks, and how its warps wait.

    parts: served for all blocks one after the other. executed: the machine code, or None.
    latencies, service, lines: as time_warps takes them. lone: clocks of a block that is alone,
    where the machine code is not known.
    """

    parts: Sequence[Part]
    executed: ExecutedCode | None
    latencies: Latencies
    service: Mapping[str, float]
    lines: Mapping[int, LineAccess]
    lone: float
    warps: int
    warps_most: int
    resident: int
    limit: str
    traffic: Traffic
    local: LocalTraffic
    lonely: bool


def find_demand(
    facts: Mapping[str, Any],
    card: Card,
    registers: int,
    executed: ExecutedCode | None,
    warm: bool,
) -> Demand:
    """What a counted launch asks of a card."""
    blocks, total = facts["blocks"], facts["blocks_total"]
    counters = facts["counters"]
    threads = math.prod(facts["block"])
    limits = _core.limits(card.compute_capability)
    resident, limit = count_resident(limits, threads, registers, facts["shared_bytes"])
    active = min(card.multiprocessors, total)
    traffic = find_traffic(
        collect_accesses(facts.get("footprint", ())),
        facts["grid"],
        count_noted(facts),
        int(card.multiprocessors * resident),
        card.l2_mb * 2**20 * L2_KEPT,
        warm,
        card.l2_mb * 2**20,
        int(card.multiprocessors),
        local_memory.find_room(facts, card, resident),
    )
    scale = total / blocks
    kinds = executed.by_class if executed else count_classes(facts["instructions"])
    issued = sum(kinds.values())

    def part(name: str, amount: float, unit: str, rate: float) -> Part:
        """amount: of the counted blocks; rate: of a multiprocessor in a clock."""
        return Part(name, amount * scale, unit, rate, amount / blocks / rate)

    parts = [part("issue", issued, "warp instructions", PARTITIONS)]
    clocks = pipe_clocks(card.compute_capability.replace(".", ""))
    occupied = count_occupied(executed, clocks) if executed else {}
    parts += [
        part(name, number, "warp instructions", PARTITIONS * number / busy)
        for name, number in kinds.items()
        if name in clocks and (busy := occupied.get(name, number * clocks[name]))
    ]
    if executed and (products := count_matrix_clocks(executed, card)):
        parts.append(
            Part(
                "tensor",
                kinds["tensor"] * scale,
                "warp instructions",
                PARTITIONS * kinds["tensor"] / products,
                products / PARTITIONS / blocks,
            )
        )
    service = find_service(facts, card, traffic)
    shared = sum(
        counters[f"{space}.wavefronts"]
        for space in ("shared.load", "shared.store", "shared.atomic", "async")
    )
    parts.append(part("shared", shared, "wavefronts", card.shared_bytes_per_clk / LINE))
    looked_up = sum(
        counters[f"global.{op}.requests"] * service[f"{op}.global"] / PARTITIONS
        for op in ("load", "store", "atomic")
    ) + sum(
        counters[f"local.{op}.requests"] * service[f"{op}.local"] / PARTITIONS
        for op in ("load", "store")
    )
    looked_up += counters["async.wavefronts"] * LINE / card.shared_bytes_per_clk + sum(
        counters[f"shared.{op}.instructions"] * service[f"{op}.shared"] / PARTITIONS
        for op in ("load", "store", "atomic")
    )
    if has_idle(card):
        looked_up += kinds.get("shuffle", 0.0) + count_idle(counters, kinds)
    parts.append(part("l1", looked_up, "wavefronts", 1.0))
    if words := count_constants(facts, executed):
        parts.append(part("constants", words, "words", CONSTANTS))
    local = local_memory.find_traffic(facts, card, resident, card.l2_mb * 2**20 * L2_KEPT)
    parts += add_memory(facts, card, traffic, local, active)
    parts += add_atomics(facts, card, active, list_gathered(executed))
    warps = -(-threads // WARP_SIZE)
    starts = max(card.block_clk, card.warp_clk * warps)
    parts.append(part(STARTS, blocks, "blocks", 1 / starts))
    latencies = find_latencies(facts, card, traffic, local, warps)
    lone = 0.0
    if executed is None:
        clocks_alone = time_chain(facts["instructions"], facts["ptx"], latencies, warps)
        lone = clocks_alone / (warps * blocks)
    return Demand(
        parts,
        executed,
        latencies,
        find_instruction_clocks(service, counters, executed, card) if executed else service,
        find_lines(facts, card, executed) if executed else {},
        lone,
        warps,
        limits["warps_per_multiprocessor_max"],
        resident,
        limit,
        traffic,
        local,
        total <= card.multiprocessors,
    )


def add_memory(
    facts: Mapping[str, Any], card: Card, traffic: Traffic, local: LocalTraffic, active: float
) -> list[Part]:
    """The parts of the L2 cache and of memory."""
    total = facts["blocks_total"]
    loaded = facts["counters"]["global.load.sectors"] + facts["counters"]["async.sectors"]
    asked = max(loaded * total / facts["blocks"], traffic.read, 1.0)
    rate = min(SM_L2_MOST, card.l2_bytes_per_clk * card.multiprocessors / active)
    packets = traffic.lines * traffic.read / asked  # lines of which the L1 cache lacks a part
    read = max(traffic.read * SECTOR / rate, packets / card.l2_packets_per_clk)
    read += local.read * SECTOR / rate
    stored, partly = local.written, local.partly
    crowded = {
        access.instruction: counters.get("global.store.sectors", 0)
        / max(counters.get("global.store.requests", 0), 1)
        * access.requests
        / access.lines
        for access in collect_accesses(facts.get("footprint", ()))
        if access.writes and (counters := facts["instructions"][access.instruction]["counters"])
    }
    for i, row in enumerate(facts["instructions"]):
        sectors = row["counters"].get("global.store.sectors", 0) * total / facts["blocks"]
        whole = row["counters"].get("global.store.bytes", 0) * total / facts["blocks"] / SECTOR
        # What lanes write side by side has two ends, which the L1 cache mends by the next store.
        requests = row["counters"].get("global.store.requests", 0) * total / facts["blocks"]
        beside = sectors <= min(whole + 2 * requests, 2 * whole)
        ends = 0.0 if beside else min(sectors, 2 * max(sectors - whole, 0.0))
        partly += ends / min(PARTIAL_MOST, max(crowded.get(i, 1.0), 1.0))
        stored += sectors - ends
    alone = card.multiprocessors / active  # few multiprocessors have the whole cache
    rates = [
        min(SM_L2_MOST / SECTOR, each * alone)
        for each in (card.l2_stores_per_clk, card.l2_partial_stores_per_clk)
    ]
    written = stored / rates[0] + partly / rates[1]
    dram_read = traffic.dram_read + local.dram_read
    dram_written = traffic.dram_written + local.dram_written
    dram = dram_read + dram_written
    mixed = 4 * dram_read * dram_written / dram**2 if dram else 0.0
    anywhere = local.dram_read + local.dram_written
    scattered = (traffic.scattered * (dram - anywhere) + anywhere) / max(dram, 1.0)
    share = card.dram_share - card.dram_turn_share * mixed
    share *= 1 - scattered * (1 - card.dram_random_share)
    dram_rate = card.dram_gbs * share * 1e3 / card.clock_mhz / active
    written += anywhere / dram_rate  # the cache holds such a store until memory has given the rest
    return [
        Part("l2", (traffic.read + local.read) * SECTOR, "bytes", rate, read / total),
        Part("l2 stores", stored + partly, "sectors", rates[0], written / total),
        Part("dram", dram, "bytes", dram_rate, dram / total / dram_rate),
    ]


def add_atomics(
    facts: Mapping[str, Any], card: Card, active: float, gathered: frozenset[int]
) -> list[Part]:
    """The part of atomics on global memory."""
    sectors, ns = time_atomics(facts, card, gathered)
    if not sectors:
        return []
    total = facts["blocks_total"]
    clocks = ns * card.clock_mhz / 1e3 / total * active
    return [Part("atomics", sectors, "sectors", sectors / total / clocks, clocks)]


ROUNDS = 3  # that are simulated where there are many
COMMON = (
    "l2",
    "l2 stores",
    "dram",
    "atomics",
    STARTS,
)  # parts that serve all multiprocessors
DECISIVE = 0.7  # of a multiprocessor's time: a part that takes so much of it limits it


@dataclass(frozen=True)
class Residents:
    """Clocks in which a multiprocessor runs some blocks, and those without an issue, by cause."""

    clocks: float
    waits: Mapping[str, float]


def simulate(demand: Demand, blocks: int, rounds: int) -> WarpTimes:
    """A partition of a multiprocessor that has so many blocks at once, and as many again."""
    assert demand.executed is not None
    per = max(1, round(demand.warps / PARTITIONS))
    return time_warps(
        demand.executed,
        demand.latencies,
        max(per, -(-demand.warps * blocks // PARTITIONS) // per * per),
        warps_per_block=per,
        rounds=rounds,
        service=demand.service,
        lines=demand.lines,
        longest=demand.lonely,
    )


def time_residents(demand: Demand, card: Card, blocks: int, rounds: int) -> Residents:
    """Clocks of a multiprocessor that has so many blocks at once, for one of so many rounds."""
    if not blocks or not rounds:
        return Residents(0.0, {})
    if demand.executed is None:
        own = [part.clocks * blocks for part in demand.parts if part.name not in COMMON]
        clocks = combine([*own, demand.lone])
        waited = {"load.global": max(0.0, clocks - max(own))}
        return Residents(clocks + card.block_clk / rounds, waited)
    times = simulate(demand, blocks, rounds)
    # The path that is simulated may be longer or shorter than that of the counted warps.
    passed = demand.executed.issue_slots / demand.executed.warps * times.warps * rounds
    scale = passed / max(times.issued, 1.0)
    scale = max(scale, 1.0) if demand.lonely else scale
    scale /= rounds
    least = max(part.clocks * blocks for part in demand.parts if part.name not in COMMON)
    waits = {name: clocks * scale for name, clocks in times.by_wait.items()}
    return Residents(max(times.clocks * scale, least) + card.block_clk / rounds, waits)


def find_unrepeated(parts: Sequence[Part], traffic: Traffic) -> list[Part]:
    """The parts, if the caches kept all that later blocks read again."""
    left = 1 - traffic.repeated / max(traffic.dram_read + traffic.dram_written, 1.0)
    return [
        replace(part, clocks=part.clocks * left) if part.name == "dram" else part for part in parts
    ]


def share_memory(parts: Sequence[Part], traffic: Traffic, skip: str) -> tuple[float, float]:
    """Clocks in which what a block reads comes, and in which what it writes goes."""
    clocks = {part.name: part.clocks for part in parts if part.name != skip}
    dram, moved = clocks.get("dram", 0.0), traffic.dram_read + traffic.dram_written
    read = dram * traffic.dram_read / moved if moved else 0.0
    return max(clocks.get("l2", 0.0), read), max(clocks.get("l2 stores", 0.0), dram - read)


def time_launch(
    facts: Mapping[str, Any],
    card: Card,
    registers: int,
    executed: ExecutedCode | None = None,
    warm: bool = True,
) -> LaunchTime:
    """The time of a counted launch on a card."""
    demand = find_demand(facts, card, registers, executed, warm)
    # Of few blocks the longest path is simulated, which the last one takes.
    parted = split_last(facts, executed) if executed is not None and not demand.lonely else None
    if parted is not None:
        demand = replace(demand, executed=parted[0])
    total, multiprocessors = facts["blocks_total"], int(card.multiprocessors)
    rounds, full, last = spread(total, multiprocessors, demand.resident)
    in_full = time_residents(demand, card, full, min(rounds, ROUNDS))
    in_last = time_residents(demand, card, last, 1)
    late = find_late(facts, demand.resident * multiprocessors)
    common = [part for part in demand.parts if part.name in COMMON]

    starts = next(part.clocks for part in common if part.name == STARTS)
    rest = (total - rounds * full * multiprocessors) / min(multiprocessors, total)
    phased = find_phases(facts) if executed is not None else None
    in_step = phased is not None and is_watching(facts)
    alone = time_residents(demand, card, 1, 1).clocks if phased and (in_step or rounds < 2) else 0.0

    once = find_unrepeated(common, demand.traffic)
    last_block = 0.0
    if parted is not None:
        last_block = time_last(*parted[1:], demand.latencies, demand.service, demand.lines)

    def walk(blocks: float, skip: str) -> float:
        """Clocks of blocks that read all before they write, one behind the other or in step."""
        if not alone:
            return 0.0
        read, written = share_memory(once if skip == REPEATED else common, demand.traffic, skip)
        known = 0.0 if skip == OWN else alone
        pieces = math.ceil(blocks) if phased and phased.meet else math.inf
        return time_phases(known, read * blocks, written * blocks, 1 if in_step else pieces)

    def run(skip: str = "", times: float = rounds, rest: float = rest) -> float:
        """Milliseconds of all rounds, as if the part that is skipped took no time."""
        clocks = 0.0
        ends = 0.0  # of the last round's blocks, while none of them runs beside them
        for many, own, blocks in ((times, in_full, full), (1.0, in_last, rest)):
            kept = [part for part in (once if skip == REPEATED else common) if part.name != skip]
            behind = [part.clocks * blocks for part in kept if part.name in late]
            others = [part.clocks * blocks for part in kept if part.name not in late]
            if blocks:
                together = combine([*others, 0.0 if skip == OWN else own.clocks])
                if in_step:
                    together = max(together, walk(blocks, skip))
                clocks += many * (together + sum(behind))
                ends = min(starts * blocks, own.clocks)
        if skip not in (STARTS, OWN):
            clocks += ends
        behind_all = 0.0 if skip == OWN else last_block
        return (max(clocks, walk(times * full + rest, skip)) + behind_all) / card.clocks_per_ms

    share = total / min(multiprocessors, total) / card.clocks_per_ms
    parts = {part.name: part.clocks * share for part in demand.parts}
    parts[OWN] = (rounds * in_full.clocks + in_last.clocks) / card.clocks_per_ms
    parts["latency"] = parts["barriers"] = 0.0
    for name in {*in_full.waits, *in_last.waits}:
        lost = rounds * in_full.waits.get(name, 0.0) + in_last.waits.get(name, 0.0)
        if not name.startswith("pipe."):
            parts["barriers" if name == "barrier" else "latency"] += lost / card.clocks_per_ms
    whole = even = run()
    least = {
        LONGEST: time_busiest(
            facts,
            executed,
            demand.latencies,
            demand.service,
            demand.lines,
            demand.warps,
            max(part.clocks for part in demand.parts if part.name not in COMMON),
        ),
        TURNS: time_turns(facts, card, demand.resident * multiprocessors) + time_relay(facts, card),
    }
    without = {name: run(name) for name in (*(part.name for part in common), OWN, REPEATED)}
    if last_block:
        without[LAST_BLOCK] = even - last_block / card.clocks_per_ms
    limited_by = find_limit(parts)
    if last_block:
        parts[LAST_BLOCK] = last_block / card.clocks_per_ms
    bound = max(least, key=lambda name: least[name])
    if least[bound] / card.clocks_per_ms > LONGER * even:
        limited_by, whole = bound, least[bound] / card.clocks_per_ms
        parts[bound] = whole
        without = {name: max(whole, ms) for name, ms in without.items()} | {bound: even}
    return LaunchTime(
        kernel=facts["kernel"],
        ms=whole,
        parts=parts,
        amounts={part.name: part for part in demand.parts},
        without=without,
        limited_by=limited_by,
        limit=demand.limit,
        resident=demand.resident,
        occupancy=demand.resident * demand.warps / demand.warps_most,
        rounds=total / (multiprocessors * demand.resident),
        tail_ms=max(0.0, even - run("", total / (multiprocessors * full), 0)) if rounds else 0.0,
        traffic=demand.traffic,
        local=demand.local,
    )


def find_limit(times: Mapping[str, float]) -> str:
    """The part that limits a launch: the longest, and where it is a multiprocessor, what limits it.

    >>> find_limit({"dram": 1.0, "multiprocessor": 3.0, "shared": 2.5, "latency": 0.4})
    'shared'
    >>> find_limit({"dram": 1.0, "multiprocessor": 3.0, "shared": 1.0, "latency": 1.9})
    'latency'
    """
    longest = max((name for name in times if name in (*COMMON, OWN)), key=lambda name: times[name])
    if longest != OWN:
        return longest
    outer = (*COMMON, OWN, "latency", "barriers", "l1")
    inner = {name: value for name, value in times.items() if name not in outer}
    most = max(inner, key=lambda name: inner[name], default="issue")
    if times.get("l1", 0.0) > 1.1 * inner.get(most, 0.0):
        most = "l1"
    if times.get(most, 0.0) >= DECISIVE * times[OWN]:
        return most
    return max(("latency", "barriers", most), key=lambda name: times.get(name, 0.0))
