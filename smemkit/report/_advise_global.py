"""Advice on global memory: uncoalesced and misaligned accesses."""

import numpy

from ._kernel import add_rows, name_place
from .what_if import SECTOR, find_runs, find_step

NOTICED = 0.005  # share of a kernel's work; what wastes less is not worth a change
UNCOALESCED = 1.5  # sectors counted for each one needed
MISALIGNED = 1.2
IRREGULAR_LANES = 8  # fewer lanes show no pattern
WARP = 32
NEIGHBOUR = 128  # bytes to the aligned access beside which a stencil has others
COVERED = 0.7  # share of the sectors of a load that another one takes too


def _is_scattered(sample):
    """Whether requests touch many short pieces, not a few long ones that may be misaligned."""
    if sample is None:
        return True
    runs = find_runs(sample)
    return len(runs) > 1 and sum(runs) < SECTOR * len(runs)


def _list_starts(sample):
    """Addresses at which the contiguous pieces of a request begin."""
    starts, end = [], None
    for address in sorted({address for _, address in sample.active()}):
        if end is None or address > end:
            starts.append(int(address))
        end = max(end or 0, address + sample.bytes)
    return starts


def _is_halo(sample):
    """Whether rows lie whole sectors apart, so that a shift alone makes their pieces begin beside
    a sector: as where a tile is loaded with what surrounds it."""
    starts = _list_starts(sample)
    return len(starts) > 1 and len({start % SECTOR for start in starts}) == 1


def _is_aligned(sample):
    """Whether each contiguous piece touches as few sectors as its bytes fill."""
    return sample.cost <= sum(-(-run // SECTOR) for run in find_runs(sample))


def _count_least(facts, op):
    """The fewest sectors that an instruction's requests can touch: whole ones for each request."""
    names = (f"global.{op}.requests", f"global.{op}.bytes")
    requests, nbytes = (facts["counters"].get(name, 0) for name in names)
    return requests * max(1, -(-nbytes // (SECTOR * requests))) if requests else 0


def _find_distance(sample, other):
    """Bytes from a warp's elements to those of another warp, where lanes walk side by side."""
    return (other.warp - sample.warp) * WARP * other.bytes


def _lies_in(sample, other):
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


def _find_cover(kernel, rows):
    """The place of a wider load that takes most of the sectors of some loads too, or None."""
    found = set()
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
        best = min(covers, key=lambda one: one.cost, default=None)
        found.add(best and (best.file, best.line))
    return min(found) if found and None not in found else None


def _is_shifted(kernel, rows):
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


def _count_work(kernel):
    """Wavefronts, sectors and issue slots of a kernel: what the waste of a line is a share of."""
    names = [f"shared.{op}.wavefronts" for op in ("load", "store", "atomic")] + [
        f"global.{op}.sectors" for op in ("load", "store", "atomic")
    ]
    names += ["async.wavefronts", "async.sectors"]
    issued = kernel.sums.get("instructions.warp", 0) / 4  # four schedulers a multiprocessor
    return issued + sum(kernel.sums.get(name, 0) for name in names)


def is_noticed(kernel, wasted):
    """Whether what a line wastes, in wavefronts or sectors, is worth advice."""
    return wasted >= NOTICED * _count_work(kernel)


def judge_coalescing(kernel):
    for op in ("load", "store", "atomic"):
        names = [f"global.{op}.{unit}" for unit in ("requests", "sectors", "bytes")]
        chosen = {"uncoalesced": [], "misaligned": []}
        for facts in kernel.instructions:
            requests, sectors, _ = (facts["counters"].get(name, 0) for name in names)
            if not requests:
                continue
            ratio = sectors / _count_least(facts, op)
            sample = kernel.sample(facts, "global", op)
            scattered = _is_scattered(sample)
            if scattered and ratio >= UNCOALESCED:
                chosen["uncoalesced"].append((facts, sample))
            elif not scattered and ratio >= MISALIGNED and not _is_aligned(sample):
                if not _is_halo(sample):
                    chosen["misaligned"].append((facts, sample))
        for kind, rows in chosen.items():
            for place, same in kernel.gather(rows):
                evidence = add_rows(same, *names)
                least = sum(_count_least(facts, op) for facts, _ in same)
                cover = _find_cover(kernel, same) if op == "load" else None
                shifted = kind == "misaligned" and op == "load" and _is_shifted(kernel, same)
                if is_noticed(kernel, evidence[names[1]] - least) and not shifted:
                    yield _describe_coalescing(kernel, kind, op, place, same, evidence, cover)


def _find_piece(rows):
    """(bytes of a lane, bytes between lanes) where an access of 16 bytes would close the gaps."""
    pieces = set()
    for _, sample in rows:
        addresses = [address for _, address in sample.active()] if sample is not None else []
        step = find_step(addresses) if len(addresses) > 1 else None
        pieces.add((sample.bytes, step) if step and sample.bytes < step <= 16 else None)
    return min(pieces) if pieces and None not in pieces else None


def _is_irregular(sample):
    """Whether the lanes' addresses have no common step: indices that come from data."""
    if sample is None or len(sample.active()) < IRREGULAR_LANES:
        return False
    addresses = numpy.array([address for _, address in sample.active()], dtype=numpy.int64)
    return len(numpy.unique(numpy.diff(addresses))) > len(addresses) // 4


def _describe_irregular(op):
    if op == "atomic":
        return (
            "The lanes' addresses follow no pattern, as where data chooses them: add up in shared "
            "memory first, and to global memory once a block"
        )
    return (
        "The lanes' addresses follow no pattern, as where data chooses them: bring the indices of "
        "a warp together (sort or group them), or keep a small table in shared memory"
    )


def _describe_coalescing(kernel, kind, op, place, rows, evidence, cover):
    requests, sectors, nbytes = evidence.values()
    counted = sectors / requests
    expected = sum(_count_least(facts, op) for facts, _ in rows) / requests
    evidence |= {
        f"global.{op}.sectors_per_request": counted,
        "expected sectors per request": expected,
    }
    text = (
        f"global {op} takes {counted:.3g} sectors a request where its {nbytes / requests:.3g} "
        f"bytes need {expected:.3g}. "
    )
    piece = _find_piece(rows) if kind == "uncoalesced" and op != "atomic" else None
    if kind == "uncoalesced" and cover is not None:
        text += (
            f"The load of {name_place(cover)} takes the same sectors: what this one needs lies in "
            "registers of other lanes, and a shuffle (__shfl_up_sync, __shfl_down_sync) fetches it"
        )
    elif piece is not None:
        evidence |= {"bytes a lane": piece[0], "bytes from lane to lane": piece[1]}
        text += (
            f"Each lane takes {piece[0]} bytes and leaves a gap to the next, {piece[1]} bytes on: "
            "if it needs its neighbours too, let one access take them all (float2, float4; where "
            "the source has one, the compiler has parted it); if not, let the lanes' elements lie "
            "side by side"
        )
    elif kind == "uncoalesced" and all(_is_irregular(sample) for _, sample in rows):
        text += _describe_irregular(op)
    elif kind == "uncoalesced":
        text += (
            "Lanes that are neighbours touch memory that is not: let threadIdx.x walk along the "
            "axis whose elements lie side by side, or pass the data through a tile in shared memory"
        )
    elif all(len(_list_starts(sample)) == 1 for _, sample in rows):
        past = max(_list_starts(sample)[0] % SECTOR for _, sample in rows)
        evidence["bytes past a sector"] = past
        begin = f"begin {past} bytes past a multiple of {SECTOR}" if past else "cross sectors"
        text += (
            f"The lanes walk side by side, but {begin}: align the start, or, where rows cause it, "
            "pad them to a multiple of 32 bytes; about a tile (halo) the sector more may stay"
        )
    else:
        text += (
            "The lanes walk side by side, but the rows do not begin at a multiple of 32 bytes: "
            "align the start, or make the rows a multiple of 32 bytes long"
        )
    return kernel.advise(kind, [place], f"{text}.", evidence, is_access=True)
