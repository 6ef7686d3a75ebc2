"""Advice on global memory: uncoalesced and misaligned accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._kernel import add_rows, name_place
from .what_if import SECTOR, find_runs, find_step, list_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._captured import Instruction, Place
    from ._kernel import Advice, Evidence, Kernel, Row
    from .counts import Sample

NOTICED = 0.005  # share of a kernel's work; what wastes less is not worth a change
UNCOALESCED = 1.5  # sectors counted for each one needed
MISALIGNED = 1.2
IRREGULAR_LANES = 8  # fewer lanes show no pattern
WARP = 32
NEIGHBOUR = 128  # bytes to the aligned access beside which a stencil has others
COVERED = 0.7  # share of the sectors of a load that another one takes too


def _is_scattered(sample: Sample) -> bool:
    """Whether requests touch many short pieces, not a few long ones that may be misaligned."""
    runs = find_runs(sample)
    return len(runs) > 1 and sum(runs) < SECTOR * len(runs)


def _list_starts(sample: Sample) -> list[int]:
    """Addresses at which the contiguous pieces of a request begin."""
    return [start for start, _ in list_pieces(sample)]


def _is_halo(sample: Sample) -> bool:
    """Whether rows lie whole sectors apart, so that a shift alone makes their pieces begin beside
    a sector: as where a tile is loaded with what surrounds it."""
    starts = _list_starts(sample)
    return len(starts) > 1 and len({start % SECTOR for start in starts}) == 1


def _is_aligned(sample: Sample) -> bool:
    """Whether each contiguous piece touches as few sectors as its bytes fill."""
    return sample.cost <= sum(-(-run // SECTOR) for run in find_runs(sample))


def _count_least(facts: Instruction, op: str) -> int:
    """The fewest sectors that an instruction's requests can touch: whole ones for each request."""
    names = (f"global.{op}.requests", f"global.{op}.bytes")
    requests, nbytes = (facts["counters"].get(name, 0) for name in names)
    return requests * max(1, -(-nbytes // (SECTOR * requests))) if requests else 0


def _find_distance(sample: Sample, other: Sample) -> int:
    """Bytes from a warp's elements to those of another warp, where lanes walk side by side."""
    return (other.warp - sample.warp) * WARP * other.bytes


def _lies_in(sample: Sample, other: Sample) -> float:
    """Share of the sectors of a request that another request touches too, both of one warp.

    Requests of one block are compared, as the costliest ones need not be of one warp; the distance
    of the warps is taken off.
    """
    if other.block != sample.block or not other.active():
        return 0
    between = _find_distance(sample, other)
    own, others = (
        {
            sector
            for _, address in one.active()
            for sector in range(
                (address + moved) // SECTOR, (address + moved + one.bytes - 1) // SECTOR + 1
            )
        }
        for one, moved in ((sample, between), (other, 0))
    )
    return len(own & others) / len(own) if own else 0


def _find_cover(kernel: Kernel, rows: Sequence[Row]) -> Place | None:
    """The place of a wider load that takes most of the sectors of some loads too, or None."""
    found: set[Place] = set()
    for _, sample in rows:
        covers = [
            other
            for other in kernel.samples.values()
            if sample is not None
            and (other.op, other.space) == ("load", "global")
            and (other.file, other.line) != (sample.file, sample.line)
            and other.bytes > sample.bytes
            and _is_aligned(other)
            and _lies_in(sample, other) > COVERED
        ]
        if not covers:
            return None
        best = min(covers, key=lambda one: one.cost)
        found.add((best.file, best.line))
    return min(found, default=None)


def _is_shifted(kernel: Kernel, rows: Sequence[tuple[Instruction, Sample]]) -> bool:
    """Whether loads are the neighbours of an aligned one, as in a stencil: one of them has to be.

    Requests of one block are compared, as the costliest ones need not be of one warp.
    """
    return all(
        any(
            (other.op, other.space, other.bytes) == ("load", "global", sample.bytes)
            and other.block == sample.block
            and _is_aligned(other)
            and abs(other.active()[0][1] - sample.active()[0][1] - _find_distance(sample, other))
            <= NEIGHBOUR
            for other in kernel.samples.values()
        )
        for _, sample in rows
    )


def _count_work(kernel: Kernel) -> float:
    """Wavefronts, sectors and issue slots of a kernel: what the waste of a line is a share of."""
    names = [f"shared.{op}.wavefronts" for op in ("load", "store", "atomic")] + [
        f"global.{op}.sectors" for op in ("load", "store", "atomic")
    ]
    names += ["async.wavefronts", "async.sectors"]
    issued = kernel.sums.get("instructions.warp", 0) / 4  # four schedulers a multiprocessor
    return issued + sum(kernel.sums.get(name, 0) for name in names)


def is_noticed(kernel: Kernel, wasted: float) -> bool:
    """Whether what a line wastes, in wavefronts or sectors, is worth advice."""
    return wasted >= NOTICED * _count_work(kernel)


def judge_coalescing(kernel: Kernel) -> Iterator[Advice]:
    """Accesses to global memory that touch more sectors than their bytes fill."""
    for op in ("load", "store", "atomic"):
        scattered, misaligned = _choose_wasteful(kernel, op)
        for place, rows in kernel.gather(scattered):
            counted = _count_sectors(kernel, rows, op)
            if counted is not None:
                evidence, text = counted
                text += _describe_scattered(kernel, rows, op, evidence)
                yield kernel.advise("uncoalesced", [place], text, evidence, is_access=True)
        for place, same in kernel.gather(misaligned):
            counted = _count_sectors(kernel, same, op)
            if counted is not None and not (op == "load" and _is_shifted(kernel, same)):
                evidence, text = counted
                text += _describe_misaligned([sample for _, sample in same], evidence)
                yield kernel.advise("misaligned", [place], text, evidence, is_access=True)


def _choose_wasteful(kernel: Kernel, op: str) -> tuple[list[Row], list[tuple[Instruction, Sample]]]:
    """Instructions whose requests touch many short pieces, and those with misaligned long ones."""
    scattered: list[Row] = []
    misaligned: list[tuple[Instruction, Sample]] = []
    for facts in kernel.instructions:
        requests, sectors = (
            facts["counters"].get(f"global.{op}.{unit}", 0) for unit in ("requests", "sectors")
        )
        if not requests:
            continue
        ratio = sectors / _count_least(facts, op)
        sample = kernel.sample(facts, "global", op)
        if sample is None or _is_scattered(sample):
            if ratio >= UNCOALESCED:
                scattered.append((facts, sample))
        elif ratio >= MISALIGNED and not _is_aligned(sample) and not _is_halo(sample):
            misaligned.append((facts, sample))
    return scattered, misaligned


def _count_sectors(kernel: Kernel, rows: Sequence[Row], op: str) -> tuple[Evidence, str] | None:
    """The evidence of a line and words on it; None where the line wastes little."""
    names = [f"global.{op}.{unit}" for unit in ("requests", "sectors", "bytes")]
    evidence = add_rows(rows, *names)
    requests, sectors, nbytes = (evidence[name] for name in names)
    least = sum(_count_least(facts, op) for facts, _ in rows)
    if not is_noticed(kernel, sectors - least):
        return None
    evidence |= {
        f"global.{op}.sectors_per_request": sectors / requests,
        "expected sectors per request": least / requests,
    }
    return evidence, (
        f"global {op} takes {sectors / requests:.3g} sectors a request where its "
        f"{nbytes / requests:.3g} bytes need {least / requests:.3g}. "
    )


def _find_piece(rows: Sequence[Row]) -> tuple[int, int] | None:
    """(bytes of a lane, bytes between lanes) where an access of 16 bytes would close the gaps."""
    pieces: set[tuple[int, int]] = set()
    for _, sample in rows:
        addresses = [address for _, address in sample.active()] if sample is not None else []
        step = find_step(addresses) if len(addresses) > 1 else None
        if sample is None or step is None or not sample.bytes < step <= 16:
            return None
        pieces.add((sample.bytes, step))
    return min(pieces, default=None)


def _is_irregular(sample: Sample | None) -> bool:
    """Whether the lanes' addresses have no common step: indices that come from data."""
    if sample is None or len(sample.active()) < IRREGULAR_LANES:
        return False
    addresses = numpy.array([address for _, address in sample.active()], dtype=numpy.int64)
    return len(numpy.unique(numpy.diff(addresses))) > len(addresses) // 4


def _describe_irregular(op: str) -> str:
    """Words on addresses that come from data."""
    if op == "atomic":
        return (
            "The lanes' addresses follow no pattern, as where data chooses them: add up in shared "
            "memory first, and to global memory once a block."
        )
    return (
        "The lanes' addresses follow no pattern, as where data chooses them: bring the indices of "
        "a warp together (sort or group them), or keep a small table in shared memory."
    )


def _describe_scattered(kernel: Kernel, rows: Sequence[Row], op: str, evidence: Evidence) -> str:
    """Words on what would bring the lanes of uncoalesced requests together."""
    cover = _find_cover(kernel, rows) if op == "load" else None
    piece = _find_piece(rows) if op != "atomic" else None
    if cover is not None:
        return (
            f"The load of {name_place(cover)} takes the same sectors: what this one needs lies in "
            "registers of other lanes, and a shuffle (__shfl_up_sync, __shfl_down_sync) fetches it."
        )
    if piece is not None:
        evidence |= {"bytes a lane": piece[0], "bytes from lane to lane": piece[1]}
        return (
            f"Each lane takes {piece[0]} bytes and leaves a gap to the next, {piece[1]} bytes on: "
            "if it needs its neighbours too, let one access take them all (float2, float4; where "
            "the source has one, the compiler has parted it); if not, let the lanes' elements lie "
            "side by side."
        )
    if all(_is_irregular(sample) for _, sample in rows):
        return _describe_irregular(op)
    return (
        "Lanes that are neighbours touch memory that is not: let threadIdx.x walk along the axis "
        "whose elements lie side by side, or pass the data through a tile in shared memory."
    )


def _describe_misaligned(samples: Sequence[Sample], evidence: Evidence) -> str:
    """Words on what would align requests whose lanes walk side by side."""
    if any(len(_list_starts(sample)) != 1 for sample in samples):
        return (
            "The lanes walk side by side, but the rows do not begin at a multiple of 32 bytes: "
            "align the start, or make the rows a multiple of 32 bytes long."
        )
    past = max(_list_starts(sample)[0] % SECTOR for sample in samples)
    evidence["bytes past a sector"] = past
    begin = f"begin {past} bytes past a multiple of {SECTOR}" if past else "cross sectors"
    return (
        f"The lanes walk side by side, but {begin}: align the start, or, where rows cause it, pad "
        "them to a multiple of 32 bytes; about a tile (halo) the sector more may stay."
    )
