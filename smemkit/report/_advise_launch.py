"""Advice on launches: what the block, the grid and the shared memory of a block leave idle.

Block and grid are judged of kernels of the user's own: those of the package are launched by it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from .. import _core
from ._kernel import name_place
from .counts import say_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._captured import Place
    from ._kernel import Advice, Evidence, Kernel
    from .counts import Launch

COMPUTE_CAPABILITY = "9.0"  # of the simulated machine
CARD, MULTIPROCESSORS = "an H200", 132  # a card of it; the record of its benchmarks has the number
WARP = 32
LONG_THREAD = 100  # instructions of one thread alone that are more than to set a flag or a pointer
LONG_WARP = 1000  # instructions of a warp that take about as long as a launch itself


def _list_shapes(kernel: Kernel) -> list[tuple[Launch, int, int]]:
    """(launch, threads of a block, blocks) of each different launch of a kernel of the user's."""
    shapes: dict[tuple[int, int], Launch] = {}
    for launch in kernel.launches if kernel.sources.variant is None else ():
        threads, blocks = math.prod(launch.block), math.prod(launch.grid)
        kept = shapes.setdefault((threads, blocks), launch)
        if launch.counters["instructions.warp"] > kept.counters["instructions.warp"]:
            shapes[threads, blocks] = launch
    return [(launch, *shape) for shape, launch in shapes.items()]


HALVING = re.compile(r"\bblockDim\.x\s*(?:/\s*2|>>\s*1)(?!\w)")


def _find_halving(kernel: Kernel) -> Place | None:
    """The place where the source halves the length of a block, as a tree of sums does; or None."""
    for file in dict.fromkeys(line.file for line in kernel.lines):
        for number, text in enumerate(kernel.sources.lines(file) or (), 1):
            if HALVING.search(text.partition("//")[0]):
                return file, number
    return None


def judge_block(kernel: Kernel) -> Iterator[Advice]:
    """Blocks whose last warp has idle lanes; a launch of one thread."""
    for launch, threads, blocks in _list_shapes(kernel):
        executed = launch.counters["instructions.warp"]
        if threads * blocks == 1 and executed >= LONG_THREAD:
            text = (
                f"one thread does all the work, {executed:,} instructions one after the other; a "
                "GPU runs tens of thousands of threads at once. Give each thread an element of its "
                "own, int i = blockIdx.x * blockDim.x + threadIdx.x, and launch (n + 255) / 256 "
                "blocks of 256 threads."
            )
            yield kernel.advise_launch("block_size", text, {"threads": 1})
        idle = -threads % WARP
        if not idle or threads * blocks == 1:
            continue
        warps = -(-threads // WARP)
        evidence: Evidence = {
            "threads a block": threads,
            "warps a block": warps,
            "idle lanes a block": idle,
        }
        share = 100 * idle / (WARP * warps)
        text = (
            f"a block of {say_count(threads, 'thread')} takes {say_count(warps, 'warp')} of {WARP} "
            f"lanes: {idle} of its {WARP * warps} lanes ({share:.2g} %) are idle in every "
            "instruction. "
        )
        if threads < WARP:
            text += (
                "Take 128 or 256 threads a block, and fewer blocks: lanes of a warp cost the same "
                "whether they work or not."
            )
        else:
            text += f"Take {1 << (threads - 1).bit_length()} threads, a power of two."
        halved = _find_halving(kernel)
        if halved is not None:
            text += (
                f" {name_place(halved)} halves blockDim.x, which leaves elements out unless it is "
                "a power of two."
            )
        yield kernel.advise_launch("block_size", text, evidence)


def judge_grid(kernel: Kernel) -> Iterator[Advice]:
    """Grids that leave multiprocessors without a block, of launches that are long enough."""
    for launch, threads, blocks in _list_shapes(kernel):
        warps = launch.blocks * -(-threads // WARP)
        executed = launch.counters["instructions.warp"] / warps
        if blocks >= MULTIPROCESSORS or executed < LONG_WARP or threads * blocks == 1:
            continue
        evidence = {
            "blocks": blocks,
            "multiprocessors": MULTIPROCESSORS,
            "instructions of a warp": executed,
        }
        text = (
            f"a grid of {say_count(blocks, 'block')} keeps at most {blocks} of the "
            f"{MULTIPROCESSORS} multiprocessors of {CARD} busy (other cards have other numbers), "
            f"while each warp executes {executed:,.0f} instructions. Let more blocks have less to "
            "do each: fewer elements a thread, a smaller tile, or a part of the sum a block."
        )
        yield kernel.advise_launch("small_grid", text, evidence)


def _read_registers(kernel: Kernel, launch: Launch) -> int | None:
    """The blocks that fit into a multiprocessor's registers; None if the usage is unknown."""
    if kernel.sources.variant is None:
        return None
    family, variant = kernel.sources.variant
    choice, _, dtype = kernel.name.removeprefix(f"{family}_{variant}_").rpartition("_")
    try:
        found = _core.occupancy(
            (family, variant, dtype),
            launch.block,
            compute_capability=COMPUTE_CAPABILITY,
            choice=choice or None,
        )
    except _core.Error:
        return None
    return found.limits["registers"]


def judge_occupancy(kernel: Kernel) -> Iterator[Advice]:
    """Launches whose shared memory keeps blocks off a multiprocessor."""
    limits = _core.limits(COMPUTE_CAPABILITY)
    most = limits["shared_bytes_per_multiprocessor"]
    kept = limits["shared_bytes_per_block_reserved"]
    unit = limits["shared_allocation_unit_bytes"]
    all_threads = limits["threads_per_multiprocessor_max"]
    for launch in kernel.launches:
        threads = math.prod(launch.block)
        if not launch.shared_bytes:
            continue
        rounded = -(-threads // 32) * 32
        by_threads = min(all_threads // rounded, limits["blocks_per_multiprocessor_max"])
        by_shared = most // (-(-(launch.shared_bytes + kept) // unit) * unit)
        if launch.blocks_total <= by_shared * MULTIPROCESSORS:
            continue  # all blocks stay at once
        by_registers = _read_registers(kernel, launch) if by_shared < by_threads else None
        if by_shared >= (by_threads if by_registers is None else min(by_threads, by_registers)):
            continue
        evidence: Evidence = {
            "shared bytes a block": launch.shared_bytes,
            "shared bytes a multiprocessor": most,
            "blocks a multiprocessor by shared memory": by_shared,
            "blocks a multiprocessor by threads": by_threads,
            "occupancy in percent": 100 * by_shared * rounded / all_threads,
        }
        of_registers = "registers are not considered"
        if by_registers is not None:
            evidence["blocks a multiprocessor by registers"] = by_registers
            of_registers = f"the registers let {by_registers}"
        text = (
            "shared memory limits how many blocks a multiprocessor holds. "
            f"{launch.shared_bytes:,} bytes a block (and {kept:,} kept by the system) of "
            f"{most:,} let {say_count(by_shared, 'block')} of {threads} "
            f"threads stay at once, where the threads alone let {by_threads}: "
            f"{by_shared * rounded:,} of {all_threads:,} threads (compute capability "
            f"{COMPUTE_CAPABILITY}; {of_registers}). A smaller tile, or more threads "
            "for this one, raises it"
        )
        yield kernel.advise_launch("occupancy", f"{text}.", evidence)
