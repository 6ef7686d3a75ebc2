"""How long instructions of a launch occupy their units, and when their results come.

The load/store unit serves a wavefront of shared memory, or a pass through the L1 cache, at a time;
what is known of the accesses of a line of the PTX goes before the mean of the launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .issue_steps import QUEUED
from .latency import Answer, Latencies, LineAccess
from .opcode_classes import PARTITIONS, WARP_SIZE, count_clocks, matrix_clocks
from .reuse import LINE, collect_accesses, count_noted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .cards import Card
    from .executed import ExecutedCode
    from .local_memory import LocalTraffic
    from .reuse import Traffic

LED = 0.1  # pairs of sectors that an access is the first to touch, for each sector, if others lead
# Words of constant memory that a multiprocessor reads in a clock, and clocks by which each further
# one that lanes of a request ask for comes later (our probe on an H200, "constants" of
# tests/predict/rates_h200.json).
CONSTANTS, NEXT_CONSTANT = 0.5, 11.0


def mean(amount: float, requests: float) -> float:
    """Of each request; 1 where there is none."""
    return max(1.0, amount / requests) if requests else 1.0


def find_service(facts: Mapping[str, Any], card: Card, traffic: Traffic) -> dict[str, float]:
    """{class: clocks for which an instruction of a warp occupies the load/store unit}.

    Four partitions share it: as seen by one of them, each takes four times as long.
    """
    counters = facts["counters"]
    banks = PARTITIONS * LINE / card.shared_bytes_per_clk
    least = PARTITIONS * WARP_SIZE / card.lsu_lanes_per_clk  # whatever a warp asks for
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
        max(traffic.waves / scale, min(data, counters["global.load.sectors"])), loads
    )
    found["store.global"] = PARTITIONS * mean(
        traffic.store_waves / scale,
        counters["global.store.requests"] + counters["global.atomic.requests"],
    )
    found["atomic.global"] = found["store.global"]
    found["async"] = PARTITIONS * mean(counters["async.wavefronts"], counters["async.copies"])
    for op in ("load", "store"):
        found[f"{op}.local"] = PARTITIONS * mean(
            counters[f"local.{op}.sectors"] / 4, counters[f"local.{op}.requests"]
        )
    return {name: max(clocks, least) for name, clocks in found.items()}


def share_service(
    service: Mapping[str, float], counters: Mapping[str, float], issued: Mapping[str, float]
) -> dict[str, float]:
    """The service of an instruction that is issued, also where its predicate may be false.

    >>> counters = {"shared.load.instructions": 10}
    >>> share_service({"load.shared": 16.0}, counters, {"load.shared": 40})
    {'load.shared': 4.0}
    """
    units = {"shared": "instructions", "global": "requests", "local": "requests"}
    found = {}
    for name, clocks in service.items():
        op, _, space = name.partition(".")
        asked = counters.get(f"{space}.{op}.{units.get(space)}", 0)
        known = asked and issued.get(name, 0) > asked
        found[name] = clocks * asked / issued[name] if known else clocks
    return found


def find_instruction_clocks(
    service: Mapping[str, float],
    counters: Mapping[str, float],
    executed: ExecutedCode,
    card: Card,
) -> dict[str, float]:
    """{class, or opcode of small matrices: clocks for which an instruction occupies its unit}."""
    found = share_service(service, counters, executed.by_class)
    for each in executed.code:
        if each.kind == "tensor":
            architecture = executed.code.architecture
            found[each.opcode] = matrix_clocks(each.opcode, architecture, card.matrix_share)
    return found


# Counters of requests, of which an access has one.
ASKING = {f"shared.{op}.instructions" for op in ("load", "store", "atomic")}
# Of these, also those without lanes under their guard take a wavefront.
SHARED = tuple(sorted(ASKING))
ASKING |= {f"global.{op}.requests" for op in ("load", "store", "atomic")}
ASKING.add("constant.load.requests")


def find_lines(
    facts: Mapping[str, Any], card: Card, executed: ExecutedCode
) -> dict[int, LineAccess]:
    """What is known of the accesses of each line of the PTX."""
    made: dict[int, float] = {}
    for block, times in zip(executed.code.blocks, executed.executions.tolist(), strict=True):
        for each in block.instructions:
            if each.kind in QUEUED:
                made[each.ptx_line] = made.get(each.ptx_line, 0.0) + times
    passed: dict[int, float] = {}
    for access in collect_accesses(facts.get("footprint", ())):
        waves = access.waves * facts["blocks"] / count_noted(facts)
        passed[access.instruction] = passed.get(access.instruction, 0.0) + waves
    found = {}
    for i, row in enumerate(facts["instructions"]):
        counters, line = row["counters"], row["ptx_line"]
        if counters.keys().isdisjoint(ASKING):
            continue
        requests = waves = 0.0
        for op in ("load", "store", "atomic"):
            requests += counters.get(f"shared.{op}.instructions", 0)
            waves += counters.get(f"shared.{op}.wavefronts", 0) * LINE / card.shared_bytes_per_clk
            asked = counters.get(f"global.{op}.requests", 0)
            requests += asked
            if asked:
                data = counters.get(f"global.{op}.bytes", 0) / card.l1_bytes_per_clk
                sectors = counters.get(f"global.{op}.sectors", 0)
                waves += max(passed.get(i, asked), min(data, sectors) if op == "load" else 0.0)
        if asked := counters.get("constant.load.requests", 0):
            different = counters["constant.load.addresses"] / asked
            later = NEXT_CONSTANT * (different - 1)
            found[line] = LineAccess(1.0, PARTITIONS * different / CONSTANTS, later=later)
        if requests and made.get(line):
            share = min(1.0, requests / made[line])
            least = WARP_SIZE / card.lsu_lanes_per_clk
            shared = any(counters.get(name) for name in SHARED)
            idle = PARTITIONS * least if shared and has_idle(card) else 0.0
            found[line] = LineAccess(share, PARTITIONS * max(least, waves / requests), idle)
    return found


def has_idle(card: Card) -> bool:
    """Do accesses without lanes take a wavefront? They do on an H200; an A100 is faster."""
    return card.compute_capability.startswith("9.")


def count_idle(counters: Mapping[str, float], issued: Mapping[str, float]) -> float:
    """Accesses to shared memory that are issued without lanes, a wavefront each.

    Nsight Compute counts them on an H200 among the wavefronts of the data pipe, and shuffles too,
    though not among those of loads and stores.
    """
    ops = ("load", "store", "atomic")
    made = sum(issued.get(f"{op}.shared", 0.0) for op in ops)
    return max(0.0, made - sum(counters[f"shared.{op}.instructions"] for op in ops))


def count_constants(facts: Mapping[str, Any], executed: ExecutedCode | None) -> float:
    """Words of constant memory that loads read; what stands in other instructions costs nothing."""
    if executed is None or not facts["counters"].get("constant.load.requests"):
        return float(facts["counters"].get("constant.load.addresses", 0))
    made: dict[int, float] = {}
    for block, times in zip(executed.code.blocks, executed.executions.tolist(), strict=True):
        for each in block.instructions:
            if each.kind == "load.constant":
                made[each.ptx_line] = made.get(each.ptx_line, 0.0) + times
    words = 0.0
    for row in facts["instructions"]:
        requests = row["counters"].get("constant.load.requests", 0)
        if requests and made.get(row["ptx_line"]):
            share = min(1.0, made[row["ptx_line"]] / requests)
            words += share * row["counters"]["constant.load.addresses"]
    return words


def find_latencies(
    facts: Mapping[str, Any], card: Card, traffic: Traffic, local: LocalTraffic, warps: int
) -> Latencies:
    """Latencies of a launch on a card."""
    farther = traffic.far * (card.dram_clk - card.l2_clk)
    miss = card.l2_clk + farther
    lines: dict[int, Answer] = {}
    for access in collect_accesses(facts.get("footprint", ())):
        if not access.writes:
            line = facts["instructions"][access.instruction]["ptx_line"]
            # The lines that a request lacks are asked for, and come, one after the other.
            packets = (access.lines / access.requests - 1) / card.l2_packets_per_clk
            share = access.waits / access.requests
            # Memory hands out 64 bytes: the L2 cache has what an access before it was the first of.
            led = sum(access.pairs) < LED * sum(access.sectors)
            more = card.l2_clk + (0.0 if led else farther) - card.l1_clk + packets
            lines[line] = Answer(card.l1_clk, more, share)
    if local.miss:
        for row in facts["instructions"]:
            if row["counters"].get("local.load.requests"):
                lines[row["ptx_line"]] = Answer(card.l1_clk, card.l2_clk - card.l1_clk, local.miss)
    return Latencies(
        shared=card.shared_clk,
        global_load=card.l1_clk + traffic.miss * (miss - card.l1_clk),
        constant=30.0,
        special=23.0,
        double=16.0,
        tensor=33.0,
        shuffle=24.0,
        atomic_shared=2 * card.shared_clk,
        atomic_global=card.atomic_clk,
        fence=card.fence_clk,
        texture=card.l1_clk,
        special_register=22.0,
        uniform=12.0,
        # the other partitions of the multiprocessor have as many warps before the last one
        barrier=card.barrier_clk + card.barrier_warp_clk * (min(warps, PARTITIONS) - 1),
        start=card.block_gap_clk,
        warp_start=PARTITIONS * card.warp_clk,
        arrival=PARTITIONS * card.barrier_warp_clk,
        lines=lines,
    )


def count_occupied(executed: ExecutedCode, clocks: Mapping[str, float]) -> dict[str, float]:
    """{class: clocks for which its instructions occupy the pipes of partitions, one by one}."""
    found: dict[str, float] = {}
    for block, times in zip(executed.code.blocks, executed.executions.tolist(), strict=True):
        for each in block.instructions:
            if each.kind in clocks:
                busy = times * count_clocks(each.opcode, clocks)
                found[each.kind] = found.get(each.kind, 0.0) + busy
    return found


def count_matrix_clocks(executed: ExecutedCode, card: Card) -> float:
    """Clocks for which the products of small matrices occupy the tensor cores of partitions."""
    code = executed.code
    clocks = (
        times * matrix_clocks(each.opcode, code.architecture, card.matrix_share)
        for block, times in zip(code.blocks, executed.executions.tolist(), strict=True)
        for each in block.instructions
        if each.kind == "tensor"
    )
    return float(sum(clocks))
