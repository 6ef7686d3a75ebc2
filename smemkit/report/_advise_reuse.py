"""Advice on global memory that the threads of a block read again and again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._advise_global import WARP
from ._data_flow import find_axes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._captured import Instruction, Triple
    from ._kernel import Advice, Evidence, Kernel
    from .counts import Sample

REREAD = 8  # threads of a block that load the same elements
TIMES = 8  # loads of a thread, from which on a loop is meant
SHARE = 0.5  # of the sectors of all loads


def _fill(block: Sequence[int]) -> Triple:
    """The three lengths of a block."""
    x, y, z = (*block, 1, 1)[:3]
    return x, y, z


def _is_same(sample: Sample, block: Triple, axes: str) -> bool:
    """Whether lanes that differ in no index of `axes` load the same address."""
    taken: dict[tuple[int, ...], set[int]] = {}
    for lane, address in sample.active():
        index, thread = [], lane + WARP * sample.warp
        for axis, extent in zip("xyz", block, strict=True):
            thread, place = divmod(thread, extent)
            index.append(place if axis in axes else 0)
        taken.setdefault(tuple(index), set()).add(address)
    return all(len(addresses) == 1 for addresses in taken.values())


def _count_readers(kernel: Kernel, facts: Instruction, block: Triple) -> int:
    """Threads of a block that load the same element, by the indices that its address leaves out.

    1 where it leaves out all: an array that all threads read alike needs no tile.
    """
    sample = kernel.sample(facts, "global", "load")
    axes = find_axes(kernel, facts["ptx_line"])
    extents = dict(zip("xyz", block, strict=True))
    if sample is None or all(extents[axis] == 1 for axis in axes):
        return 1
    if not _is_same(sample, block, axes):
        return 1
    return math.prod(extent for axis, extent in extents.items() if axis not in axes)


def judge_rereading(kernel: Kernel) -> Iterator[Advice]:
    """Loads in a loop that many threads of a block repeat, in a kernel without shared memory."""
    blocks = {_fill(launch.block) for launch in kernel.launches}
    loaded = kernel.sums.get("global.load.sectors", 0)
    used = any(n for name, n in kernel.sums.items() if name.startswith(("shared.", "async.")))
    if used or not loaded or len(blocks) > 1:
        return
    block = blocks.pop()
    warps = sum(one.blocks for one in kernel.launches) * -(-math.prod(block) // WARP)
    rows = [
        (facts, readers)
        for facts in kernel.instructions
        if facts["counters"].get("global.load.requests")
        and (readers := _count_readers(kernel, facts, block)) >= REREAD
    ]
    sectors = sum(facts["counters"]["global.load.sectors"] for facts, _ in rows)
    if sectors < SHARE * loaded:
        return
    for place, same in kernel.gather(rows):
        requests = sum(facts["counters"]["global.load.requests"] for facts, _ in same)
        if requests < TIMES * warps:
            continue
        numbers = sorted({readers for _, readers in same})
        evidence: Evidence = {
            "global.load.requests": requests,
            "global.load.sectors": sum(f["counters"]["global.load.sectors"] for f, _ in same),
            "threads of a block on one element": numbers[0],
        }
        times = " and ".join(map(str, numbers))
        text = (
            f"{times} threads of a block load the same element from global memory, in a loop of "
            f"{requests / warps:,.0f} loads a warp. Stage a tile in shared memory: let each thread "
            "of the block load one element of it, wait at a barrier, and let all of them read it "
            "there, so that global memory is read once a block."
        )
        yield kernel.advise("global_reuse", [place], text, evidence, is_access=True)
