"""Advice on shared memory: bank conflicts, pads, data that is read once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy

from ._advise_global import is_noticed
from ._data_flow import is_shared_by_index
from ._kernel import add_rows
from ._pads import find_array, find_cures, guess_array, is_worth
from .counts import place_of, say_count
from .what_if import (
    ADDRESS,
    BANKED,
    compare_padding,
    count_cost,
    count_crowd,
    find_row_bytes,
    read_width,
    try_cures,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._captured import Instruction, Place
    from ._kernel import Advice, Evidence, Kernel
    from ._pads import SharedArray
    from .counts import Sample

WIDER = re.compile(r"(\d+) pad elements .* a row of (\d+) bytes")
CONFLICTED = 0.1  # conflicts for each wavefront
CROWDED = 8  # lanes on one address of an atomic


def judge_conflicts(kernel: Kernel) -> Iterator[Advice]:
    """Accesses to shared memory with bank conflicts."""
    for op in ("load", "store", "atomic", "async"):
        stem = "async" if op == "async" else f"shared.{op}"
        executed = "async.copies" if op == "async" else f"{stem}.instructions"
        names = (f"{stem}.conflicts", f"{stem}.wavefronts", executed)
        rows = [
            (facts, kernel.sample(facts, "shared", op))
            for facts in kernel.instructions
            if facts["counters"].get(names[0], 0)
        ]
        for place, same in kernel.gather(rows):
            evidence = add_rows(same, *names)
            if evidence[names[0]] < CONFLICTED * evidence[names[1]]:
                continue
            if not is_noticed(kernel, evidence[names[0]]):
                continue
            recorded = [(facts, sample) for facts, sample in same if sample is not None]
            worst = max(recorded, key=lambda row: row[1].cost, default=None)
            if op == "atomic" and worst is not None and count_crowd(worst[1]) >= CROWDED:
                continue  # lanes on one word, which judge_atomics reports
            subject = "this copy to shared memory" if op == "async" else f"shared {op}"
            if op == "load" and all(is_atomic(facts["ptx"]) for facts, _ in same):
                subject = (
                    f"this atomic, of which ptxas makes a loop, go {evidence[executed]:,} rounds "
                    "(lanes that meet in a bank take turns), and its loads"
                )
            text = (
                f"bank conflicts make {subject} take "
                f"{say_count(evidence[names[1]], 'wavefront')}, {evidence[names[0]]:,} of them "
                "conflicts. "
            )
            text += _describe_cures(kernel, worst, evidence)
            yield kernel.advise("bank_conflict", [place], text, evidence, is_access=True)


def is_atomic(ptx: str) -> bool:
    """Whether an instruction's text is that of an atomic."""
    words = ptx.split()
    return any(word.startswith(("atom.", "red.")) for word in words[:2])  # a guard may precede it


def is_matrix(ptx: str) -> bool:
    """Whether an instruction's text is an ldmatrix, whose rows go to other lanes."""
    return any(word.startswith("ldmatrix.") for word in ptx.split()[:2])


def _describe_copy(
    kernel: Kernel, facts: Instruction, sample: Sample, alone: int, evidence: Evidence
) -> str:
    """Words for a copy with more wavefronts than its target addresses explain."""
    evidence |= {
        "wavefronts of the worst request": sample.cost,
        "wavefronts by its targets alone": alone,
    }
    head = f"Its worst request takes {say_count(sample.cost, 'wavefront')}, "
    source, sources = kernel.sample(facts, "global", "async"), 0
    if source is not None:
        places = numpy.asarray(source.addresses, dtype=numpy.uint64) % BANKED  # of a cache line
        sources = count_cost(places, source.bytes, source.mask, "async")[0]
    if sources <= alone:
        return (
            f"{head}by its targets alone it would take {alone}: its sources come through banks "
            "too. Let the lanes of a warp copy what lies side by side, in that order."
        )
    evidence["wavefronts by its sources alone"] = sources
    return (
        f"{head}by its targets alone it would take {alone}, but its sources meet in the banks of "
        f"the L1 cache ({sources}): let the lanes of a warp copy what lies side by side in global "
        "memory, or 16 bytes each."
    )


def _describe_cures(
    kernel: Kernel, worst: tuple[Instruction, Sample] | None, evidence: Evidence
) -> str:
    """Words on what would remove the conflicts of the costliest request."""
    if worst is None:
        return "Let the lanes of a warp meet different banks."
    facts, sample = worst
    wavefronts, conflicts = count_cost(sample.addresses, sample.bytes, sample.mask, sample.rule)
    if sample.op == "async" and sample.cost != wavefronts:
        return _describe_copy(kernel, facts, sample, wavefronts, evidence)
    evidence |= {
        "wavefronts of the worst request": wavefronts,
        "conflicts of the worst request": conflicts,
    }
    if sample.op == "atomic":
        return (
            f"Its worst request takes {say_count(wavefronts, 'wavefront')}: lanes that meet in one "
            "bank are served one by one. A copy for each warp or lane, added up at the end, "
            "spreads them."
        )
    array = None if is_matrix(facts["ptx"]) else find_array(kernel, sample)
    if array is not None:
        return _describe_array(kernel, array, sample, wavefronts, evidence)
    element = min(read_width(facts["ptx"]) or sample.bytes, sample.bytes)
    if is_matrix(facts["ptx"]):
        element = sample.bytes  # rows of matrices begin at multiples of 16 bytes
    cures = [
        cure
        for cure in try_cures(sample, element)
        if not (wider := WIDER.match(cure[0]))
        or is_worth(kernel, guess_array(kernel, sample, element, int(wider[2])), int(wider[1]))
    ]
    if not cures:
        return (
            f"Its worst request takes {say_count(wavefronts, 'wavefront')}; neither a pad a row "
            "nor an xor swizzle was found to help: change which lane takes which element."
        )
    for words, cost in cures:
        evidence[f"wavefronts with {words}"] = cost
    listed = "; or ".join(f"{words} ({say_count(cost, 'wavefront')})" for words, cost in cures)
    return (
        f"Its worst request takes {say_count(wavefronts, 'wavefront')}; tried on it, "
        f"{'this removes' if len(cures) == 1 else 'these remove'} the conflicts: {listed}."
    )


def _describe_array(
    kernel: Kernel, array: SharedArray, sample: Sample, wavefronts: int, evidence: Evidence
) -> str:
    """Words on an array with rows: pads and swizzles, tried on all that was recorded of it."""
    head = f"Its worst request takes {say_count(wavefronts, 'wavefront')}; "
    now, cures, requests = find_cures(kernel, array)
    if now is None or not cures:
        return (
            f"{head}neither a pad behind the rows of {array.declare()} nor an xor swizzle makes "
            "its accesses much cheaper together: change which lane takes which element."
        )
    own = next((i for i, request in enumerate(requests) if request.sample is sample), None)
    for cure in cures:
        if own is not None:
            evidence[f"wavefronts with {cure.words}"] = cure.costs[own][0]
    evidence["conflicts of the array with the first"] = cures[0].conflicts
    block = kernel.launches[0].block
    if cures[0].pad * array.size > array.pitch // 2 and 1 < block[0] < 32:
        hint = (
            f"; or a block of 32 threads in x instead of {block[0]}, so that a warp stays in a row"
        )
    else:
        hint = ""
    words = "; or ".join(cure.words for cure in cures)
    if cures[0].conflicts:
        left = f"{100 * cures[0].wavefronts / now.wavefronts:.0f} %"
        return (
            f"{head}of what was tried on all recorded accesses of {array.name} this is best: "
            f"{words}. It leaves {left} of their wavefronts, and some conflicts{hint}."
        )
    this = "this removes" if len(cures) == 1 else "each of these removes"
    return (
        f"{head}tried on all recorded accesses of {array.name}, {this} all conflicts: "
        f"{words}{hint}."
    )


def judge_padding(kernel: Kernel) -> Iterator[Advice]:
    """Rows padded by one element without need: the pad prevents wide loads."""
    groups: dict[tuple[str, str, Place, int], dict[int, Instruction]] = {}
    for facts in kernel.instructions:
        width, address = read_width(facts["ptx"]), ADDRESS.search(facts["ptx"])
        if facts["role"] == "alone" and "ld" in facts["ptx"] and ".shared" in facts["ptx"]:
            if width in (4, 8) and address and not re.search(r"\.v[24]", facts["ptx"]):
                key = (facts["function"], address[1], place_of(facts), width)
                groups.setdefault(key, {})[int(address[2] or 0)] = facts
    for (_, register, place, width), members in groups.items():
        starts = [
            offset
            for offset in members
            if offset % 16 == 0 and all(offset + step in members for step in range(0, 16, width))
        ]
        if not starts:
            continue
        facts = members[starts[0]]
        sample = kernel.sample(facts, "shared", "load")
        rows = [(member, None) for member in members.values()]
        evidence = add_rows(rows, "shared.load.instructions", "shared.load.conflicts")
        pitch = find_row_bytes(kernel.sources.ptx, facts["ptx_line"], register)
        if sample is None or evidence["shared.load.conflicts"] or pitch is None:
            continue
        if pitch % 16 == 0 or (pitch - width) % 16:
            continue
        now, fused = compare_padding(sample, pitch, width)
        if fused is not None and fused < now:
            evidence |= {
                "bytes a lane and load": width,
                "bytes from row to row": pitch,
                "wavefronts of 16 bytes a lane, padded": now,
                "wavefronts of 16 bytes a lane, not padded": fused,
            }
            text = (
                f"padding costs more than it saves here. Rows of {pitch} bytes "
                f"are not aligned to 16, so {len(members)} neighbouring elements are read by "
                f"{width}-byte loads: {now} wavefronts for 16 bytes a lane. Rows of "
                f"{pitch - width} bytes let ptxas fuse them: {fused}, still without a conflict on "
                f"this read."
            )
            yield kernel.advise("padding", [place], text, evidence)


def judge_reuse(kernel: Kernel) -> Iterator[Advice]:
    """Shared memory in which each thread reads only its own values, and each once."""
    loaded = kernel.sums.get("shared.load.bytes", 0)
    stored = kernel.sums.get("shared.store.bytes", 0) + kernel.sums.get("async.bytes", 0)
    if not loaded or not stored or loaded > 1.25 * stored:
        return
    if kernel.sums.get("shared.atomic.instructions", 0):
        return
    shared = [sample for sample in kernel.samples.values() if sample.space == "shared"]
    writes = [sample for sample in shared if sample.op in ("store", "async")]
    reads = [sample for sample in shared if sample.op == "load"]
    places = sorted({(sample.file, sample.line) for sample in reads})
    if not reads or not all(any(_is_same(read, write) for write in writes) for read in reads):
        return
    if any(is_matrix(kernel.ptx(read)) for read in reads):
        return
    if set(kernel.find_reach().values()) - {"none"} or not is_shared_by_index(kernel):
        return  # threads exchange something after all, in requests that are not recorded
    evidence = {"shared.load.bytes": loaded, "shared.store.bytes": stored, "reuse": loaded / stored}
    times = "once" if loaded == stored else f"{loaded / stored:.2g} times"
    text = (
        f"each byte put into shared memory is read {times}, and in the recorded requests by the "
        "very lane that wrote it. Shared memory does not pay for data read once: keep it in a "
        "register."
    )
    yield kernel.advise("data_read_once", places, text, evidence)


def _is_same(read: Sample, write: Sample) -> bool:
    """Whether both are of one warp, and each lane reads what it has written itself."""
    where = (read.block, read.warp) == (write.block, write.warp)
    return where and set(read.active()) <= set(write.active()) and read.bytes <= write.bytes
