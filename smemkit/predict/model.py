"""Counts and rates to terms, and terms to a time: pure functions of numbers.

Blocks run in rounds: as many as fit on all multiprocessors, then as many again; the last round may
be smaller. A round ends when its slowest part ends. The parts overlap: the issue of instructions
and the waiting for results, as one multiprocessor sees them; the banks of shared memory and the L1
cache, the L2 cache, memory, and the atomic units, which serve all blocks one after the other. Parts
of nearly equal length do not overlap perfectly: OVERLAP says how sharply the longest one decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import _core
from .latency import Latencies, time_warps
from .opcode_classes import pipe_clocks
from .ptx_counts import add_waits, count_classes
from .reuse import SECTOR, Traffic, collect_accesses, find_traffic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .cards import Card
    from .executed import ExecutedCode

    Triple = tuple[int, int, int]
    Place = tuple[str | None, int | None]

WARP, PARTITIONS = 32, 4
LINE = 128
OVERLAP = 4.0  # exponent of the norm by which parts of a round are combined
DEPENDENT = 4.5  # clocks between two instructions of one warp of which the second needs the first
SM_L2_MOST = 64.0  # bytes a clock that one multiprocessor can have from the L2 cache
L2_KEPT = 0.8  # share of the L2 cache that data of a launch can fill


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

    parts: as above, whole launch. round_clocks: of a full round. limited_by: the name of the
    longest part. without: {part: ms if this part took no time}.
    """

    kernel: str
    grid: Triple
    block: Triple
    ms: float
    parts: Mapping[str, float]
    amounts: Mapping[str, Part]
    without: Mapping[str, float]
    limited_by: str
    resident: int
    occupancy: float
    rounds: float
    tail_ms: float
    traffic: Traffic
    notes: Sequence[str] = field(default_factory=tuple)


def count_resident(
    limits: Mapping[str, Any], threads: int, registers: int, shared_bytes: int
) -> tuple[int, str]:
    """(blocks that a multiprocessor holds at once, what limits them)."""
    warps = -(-threads // WARP)
    unit = limits["register_allocation_unit"]
    warp_registers = -(-registers * WARP // unit) * unit
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
    return longest * sum((each / longest) ** sharpness for each in clocks) ** (1 / sharpness)


def spread(total: int, multiprocessors: int, resident: int) -> tuple[int, int, int]:
    """(full rounds, blocks of a multiprocessor in a full round, those of the last round)."""
    rounds, rest = divmod(total, multiprocessors * resident)
    return rounds, resident, -(-rest // multiprocessors)


@dataclass(frozen=True)
class Demand:
    """What a launch asks of a card: parts that grow with the blocks, and how its warps wait.

    parts: served for all blocks one after the other. executed: the machine code, or None.
    latencies, service: as time_warps takes them. lone: clocks of a block that is alone, where the
    machine code is not known.
    """

    parts: Sequence[Part]
    executed: ExecutedCode | None
    latencies: Latencies
    service: Mapping[str, float]
    lone: float
    warps: int
    warps_most: int
    resident: int
    limit: str
    traffic: Traffic


def mean(amount: float, requests: float) -> float:
    """Of each request; 1 where there is none."""
    return max(1.0, amount / requests) if requests else 1.0


def find_service(facts: Mapping[str, Any], card: Card, traffic: Traffic) -> dict[str, float]:
    """{class: clocks for which an instruction of a warp occupies the load/store unit}.

    Four partitions share it: as seen by one of them, each takes four times as long.
    """
    counters = facts["counters"]
    banks = PARTITIONS * LINE / card.shared_bytes_per_clk
    scale = facts["blocks_total"] / facts["blocks"]
    found = {}
    for op in ("load", "store", "atomic"):
        found[f"{op}.shared"] = banks * mean(
            counters[f"shared.{op}.wavefronts"], counters[f"shared.{op}.instructions"]
        )
    found["matrix.shared"] = found["load.shared"]
    loads = counters["global.load.requests"] + counters["async.requests"]
    data = counters["global.load.bytes"] / card.l1_bytes_per_clk
    found["load.global"] = PARTITIONS * mean(
        max(traffic.lines / scale, min(data, counters["global.load.sectors"])), loads
    )
    found["store.global"] = PARTITIONS * mean(
        traffic.store_lines / scale, counters["global.store.requests"] + counters["global.atomic.requests"]
    )
    found["atomic.global"] = found["store.global"]
    found["async"] = PARTITIONS * mean(
        counters["async.wavefronts"] + traffic.lines / scale * 0, counters["async.copies"]
    )
    for op in ("load", "store"):
        found[f"{op}.local"] = PARTITIONS * mean(
            counters[f"local.{op}.sectors"] / 4, counters[f"local.{op}.requests"]
        )
    return found


def find_latencies(card: Card, traffic: Traffic) -> Latencies:
    """Latencies of a launch on a card."""
    miss = card.l2_clk + traffic.far * (card.dram_clk - card.l2_clk)
    return Latencies(
        shared=card.shared_clk,
        global_load=card.l1_clk + traffic.miss * (miss - card.l1_clk),
        constant=30.0,
        special=23.0,
        double=16.0,
        tensor=33.0,
        shuffle=24.0,
        atomic_shared=2 * card.shared_clk,
        atomic_global=card.l2_clk,
        texture=card.l1_clk,
        special_register=22.0,
        uniform=12.0,
        barrier=card.barrier_clk,
    )


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
        blocks,
        int(card.multiprocessors * resident),
        card.l2_mb * 2**20 * L2_KEPT,
        warm,
    )
    scale = total / blocks
    kinds = executed.by_class if executed else count_classes(facts["instructions"])
    issued = sum(kinds.values())

    def part(name: str, amount: float, unit: str, rate: float) -> Part:
        """amount: of the counted blocks; rate: of a multiprocessor in a clock."""
        return Part(name, amount * scale, unit, rate, amount / blocks / rate)

    parts = [part("issue", issued, "warp instructions", PARTITIONS)]
    clocks = pipe_clocks(card.compute_capability.replace(".", ""))
    parts += [
        part(name, number, "warp instructions", PARTITIONS / clocks[name])
        for name, number in kinds.items()
        if name in clocks
    ]
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
    parts.append(part("l1", looked_up + shared * LINE / card.shared_bytes_per_clk, "wavefronts", 1.0))
    rate = min(SM_L2_MOST, card.l2_bytes_per_clk * card.multiprocessors / active)
    parts.append(part("l2", traffic.read * SECTOR / scale, "bytes", rate))
    parts.append(part("l2 stores", traffic.store_lines / scale, "packets", card.l2_packets_per_clk))
    dram = traffic.dram_read + traffic.dram_written
    rate = card.dram_gbs * card.dram_share * 1e3 / card.clock_mhz / active
    parts.append(part("dram", dram / scale, "bytes", rate))
    parts += add_atomics(facts, card, active)
    latencies = find_latencies(card, traffic)
    waits, _ = add_waits(
        facts["instructions"],
        {
            "load.global": latencies.global_load,
            "load.local": card.l1_clk,
            "load.shared": card.shared_clk,
            "matrix.shared": card.shared_clk,
            "atomic.shared": latencies.atomic_shared,
            "atomic.global": latencies.atomic_global,
            "barrier": card.barrier_clk,
        },
    )
    warps = -(-threads // WARP)
    lone = (waits + DEPENDENT * issued) / (warps * blocks)
    return Demand(parts, executed, latencies, service, lone, warps,
        limits["warps_per_multiprocessor_max"], resident, limit, traffic)


def add_atomics(facts: Mapping[str, Any], card: Card, active: float) -> list[Part]:
    """The part of atomics on global memory."""
    counters = facts["counters"]
    operations = counters["global.atomic.bytes"]
    if not operations:
        return []
    floats, width = 0.0, 4.0
    total_lanes = 0.0
    for row in facts["instructions"]:
        requested = row["counters"].get("global.atomic.bytes", 0)
        if requested:
            width = 8.0 if "64" in row["ptx"].partition(" ")[0] else 4.0
            total_lanes += requested / width
            floats += requested / width if ".f" in row["ptx"] else 0.0
    scale = facts["blocks_total"] / facts["blocks"]
    lines = set()
    spans = 0.0
    for access in collect_accesses(facts.get("footprint", ())):
        if access.writes and facts["instructions"][access.instruction]["counters"].get("global.atomic.bytes"):
            spans = max(spans, (max(access.high) - min(access.low)) / LINE)
    places = max(1.0, min(spans, 64.0))
    each = (card.float_atomic_ns * floats + card.atomic_ns * (total_lanes - floats)) / total_lanes
    clk = each * card.clock_mhz / 1e3 / places
    amount = total_lanes * scale
    del lines
    return [Part("atomics", amount, "lanes", 1 / clk, amount * clk / facts["blocks_total"] * active)]


OWN = ("issue", "shared", "l1")  # parts that the simulation of a partition has too
ROUNDS = 3  # that are simulated where there are many


def time_residents(demand: Demand, card: Card, blocks: int, rounds: int, cache: dict[Any, Any]) -> float:
    """Clocks in which a multiprocessor runs so many blocks at once, so many times."""
    if demand.executed is None:
        own = [
            part.clocks * blocks
            for part in demand.parts
            if not part.name.startswith(("l2", "dram", "atomics"))
        ]
        return rounds * combine([*own, demand.lone]) + card.block_clk
    per = max(1, round(demand.warps / PARTITIONS))
    warps = max(1, -(-demand.warps * blocks // PARTITIONS))
    warps = max(per, warps // per * per)
    key = warps, per, rounds
    if key not in cache:
        cache[key] = time_warps(
            demand.executed,
            demand.latencies,
            warps,
            warps_per_block=per,
            rounds=rounds,
            service=demand.service,
        )
    return cache[key].clocks + card.block_clk


def time_launch(
    facts: Mapping[str, Any],
    card: Card,
    registers: int,
    executed: ExecutedCode | None = None,
    warm: bool = True,
) -> LaunchTime:
    """The time of a counted launch on a card."""
    demand = find_demand(facts, card, registers, executed, warm)
    total = facts["blocks_total"]
    multiprocessors = int(card.multiprocessors)
    rounds, full, last = spread(total, multiprocessors, demand.resident)
    cache: dict[Any, Any] = {}
    shared = [part for part in demand.parts if part.name.startswith(("l2", "dram", "atomics"))]
    many = min(rounds, ROUNDS)
    in_full = time_residents(demand, card, full, many, cache) / many if many else 0.0
    in_last = time_residents(demand, card, last, 1, cache) if last else 0.0

    def run(skip: str = "") -> float:
        clocks = 0.0
        for times, own, blocks in ((rounds, in_full, full), (1, in_last, last)):
            others = [part.clocks * blocks for part in shared if part.name != skip]
            clocks += times * combine([*others, 0.0 if skip == "latency" else own])
        return clocks / card.clocks_per_ms

    share = total / min(multiprocessors, total)
    times = {part.name: part.clocks * share / card.clocks_per_ms for part in demand.parts}
    times["latency"] = (rounds * in_full + in_last) / card.clocks_per_ms
    whole = run()
    others = [part.clocks * full for part in shared]
    even = total / (multiprocessors * full) * combine([*others, in_full]) / card.clocks_per_ms
    return LaunchTime(
        facts["kernel"],
        facts["grid"],
        facts["block"],
        whole,
        times,
        {part.name: part for part in demand.parts},
        {name: run(name) for name in times},
        max(times, key=lambda name: times[name]),
        demand.resident,
        demand.resident * demand.warps / demand.warps_most,
        total / (multiprocessors * demand.resident),
        max(0.0, whole - even) if rounds else 0.0,
        demand.traffic,
    )
