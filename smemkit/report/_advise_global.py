"""Advice on global memory: uncoalesced and misaligned accesses."""

from ._kernel import add_rows
from .what_if import SECTOR, find_runs, find_step

UNCOALESCED = 1.5  # sectors counted for each one needed
MISALIGNED = 1.2


def _is_scattered(sample):
    """Whether requests touch many short pieces, not a few long ones that may be misaligned."""
    if sample is None:
        return True
    runs = find_runs(sample)
    return len(runs) > 1 and sum(runs) < SECTOR * len(runs)


def _is_aligned(sample):
    """Whether each contiguous piece touches as few sectors as its bytes fill."""
    return sample.cost <= sum(-(-run // SECTOR) for run in find_runs(sample))


def _count_least(facts, op):
    """The fewest sectors that an instruction's requests can touch: whole ones for each request."""
    names = (f"global.{op}.requests", f"global.{op}.bytes")
    requests, nbytes = (facts["counters"].get(name, 0) for name in names)
    return requests * max(1, -(-nbytes // (SECTOR * requests))) if requests else 0


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
                chosen["misaligned"].append((facts, sample))
        for kind, rows in chosen.items():
            for place, same in kernel.gather(rows):
                yield _describe_coalescing(kernel, kind, op, place, same, add_rows(same, *names))


def _find_piece(rows):
    """(bytes of a lane, bytes between lanes) where an access of 16 bytes would close the gaps."""
    pieces = set()
    for _, sample in rows:
        addresses = [address for _, address in sample.active()] if sample is not None else []
        step = find_step(addresses) if len(addresses) > 1 else None
        pieces.add((sample.bytes, step) if step and sample.bytes < step <= 16 else None)
    return min(pieces) if pieces and None not in pieces else None


def _describe_coalescing(kernel, kind, op, place, rows, evidence):
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
    if piece is not None:
        evidence |= {"bytes a lane": piece[0], "bytes from lane to lane": piece[1]}
        text += (
            f"Each lane takes {piece[0]} bytes and leaves a gap to the next, {piece[1]} bytes on: "
            "if it needs its neighbours too, let one access take them all (float2, float4; where "
            "the source has one, the compiler has parted it); if not, let the lanes' elements lie "
            "side by side"
        )
    elif kind == "uncoalesced":
        text += (
            "Lanes that are neighbours touch memory that is not: let threadIdx.x walk along the "
            "axis whose elements lie side by side, or pass the data through a tile in shared memory"
        )
    else:
        text += (
            "The lanes walk side by side, but the rows do not begin at a multiple of 32 bytes: "
            "align the start, or make the rows a multiple of 32 bytes long"
        )
    return kernel.advise(kind, [place], f"{text}.", evidence, is_access=True)
