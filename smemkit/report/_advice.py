"""Advice in words. Each advice follows from counters and shows them as evidence."""

import re
from dataclasses import dataclass, field

import numpy

from .. import _core
from .counts import PTX_FILE, Launch, add_sums, choose_ptx, collect_lines, place_of, say_count
from .what_if import (
    ADDRESS,
    BANKED,
    SECTOR,
    compare_padding,
    count_cost,
    count_crowd,
    find_row_bytes,
    find_runs,
    find_step,
    read_width,
    try_cures,
)

COMPUTE_CAPABILITY = "9.0"  # of the simulated machine
UNCOALESCED = 1.5  # sectors counted for each one needed
MISALIGNED = 1.2
CONFLICTED = 0.1  # conflicts for each wavefront
DIVERGENT = 0.25  # divergent share of a branch's executions
IDLE = 0.2  # share of lanes; guards at edges and single-thread code cost less
CROWDED = 8  # lanes on one address of an atomic


@dataclass(frozen=True)
class Advice:
    """kind, lines ((file, line), ...), text, and evidence: what was counted."""

    kind: str
    lines: tuple
    text: str
    evidence: dict = field(default_factory=dict)

    @property
    def line(self):
        """Number of the first line, or None."""
        return self.lines[0][1] if self.lines else None

    def __str__(self):
        return self.text

    def to_dict(self):
        return {
            "kind": self.kind,
            "lines": [list(place) for place in self.lines],
            "text": self.text,
            "evidence": dict(self.evidence),
        }


def explain(report):
    """Say in words why a kernel is slow, from the counters of a profile.

    Parameters
    ----------
    report : Report
        What smemkit.profile returned.

    Shapes
    ------
    None.

    Returns
    -------
    list of Advice, each with kind, lines, text and evidence (counter to value). The kinds are
    "uncoalesced", "misaligned", "bank_conflict", "padding", "data_read_once", "occupancy",
    "divergence", "redundant_barrier", "local_memory" and "atomic_contention". Empty where the
    counters show nothing wrong.

    Raises
    ------
    ArgumentTypeError (TypeError) for anything but a Report.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> [advice.kind for advice in smemkit.explain(report)]
    ['bank_conflict', 'bank_conflict']
    """
    launches = getattr(report, "launches", None)
    if not isinstance(launches, tuple) or not all(
        isinstance(launch, Launch) for launch in launches
    ):
        raise _core.ArgumentTypeError(
            f"explain takes the Report that smemkit.profile returns, not {type(report).__name__}"
        )
    groups = {}
    for launch in launches:
        groups.setdefault((launch.kernel, launch.ptx), []).append(launch)
    found = []
    for group in groups.values():
        kernel = Kernel(group)
        for judge in JUDGES:
            found += judge(kernel)
    found.sort(
        key=lambda advice: advice.kind == "misaligned"
    )  # the cheapest fault, which most shapes have
    return list({(advice.kind, advice.lines, advice.text): advice for advice in found}.values())


class Kernel:
    """All launches of one kernel, with their instructions summed."""

    def __init__(self, launches):
        self.name = launches[0].kernel
        self.launches = launches
        self.sources = launches[0].sources
        self.sums = add_sums(launch.counters for launch in launches)
        self.lines = collect_lines(launches)
        rows, samples, self.first = {}, {}, {}
        for launch in launches:
            for facts in launch.instructions:
                rows.setdefault((facts["function"], facts["ptx_line"]), []).append(facts)
                place = place_of(facts)
                self.first[place] = choose_ptx(self.first.get(place), facts["ptx"])
            for sample in launch.samples:
                key = (sample.function, sample.ptx_line, sample.space, sample.op)
                if key not in samples or samples[key].cost < sample.cost:
                    samples[key] = sample
        self.samples = samples
        self.instructions = [
            {**same[0], "counters": add_sums(instruction["counters"] for instruction in same)}
            for _, same in sorted(rows.items())
        ]

    def sample(self, facts, space, op):
        return self.samples.get((facts["function"], facts["ptx_line"], space, op))

    def gather(self, chosen):
        """(place, [(facts, more)]) for chosen instructions, those of one source line together."""
        places = {}
        for facts, more in chosen:
            places.setdefault(place_of(facts), []).append((facts, more))
        return sorted(places.items())

    def text(self, place):
        """The text of the source line, or the PTX where the source is missing."""
        return self.sources.text(*place, self.first.get(place, ""))

    def access_text(self, place):
        """The same for an access, which may have been moved there."""
        moved = "; moved by the compiler" if self.sources.is_moved(*place) else ""
        return f"{self.text(place)}{moved}"

    def ptx(self, sample):
        return self.sources.text(PTX_FILE, sample.ptx_line)


def _name(place):
    return f"{place[0]}:{place[1]}"


def _add(rows, *names):
    """The sums of the counters of instructions."""
    sums = add_sums(facts["counters"] for facts, _ in rows)
    return {name: sums.get(name, 0) for name in names}


# Global memory -----------------------------------------------------------------------------------


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
                yield _describe_coalescing(kernel, kind, op, place, same, _add(same, *names))


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
    head = f"{_name(place)}: global {op} takes {counted:.3g} sectors a request"
    text = f"{head} where its {nbytes / requests:.3g} bytes need {expected:.3g}. "
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
    return Advice(kind, (place,), f"{text}. [{kernel.access_text(place)}]", evidence)


# Shared memory -----------------------------------------------------------------------------------


def judge_conflicts(kernel):
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
            evidence = _add(same, *names)
            if evidence[names[0]] < CONFLICTED * evidence[names[1]]:
                continue
            recorded = [row for row in same if row[1] is not None]
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
                f"{_name(place)}: bank conflicts make {subject} take "
                f"{say_count(evidence[names[1]], 'wavefront')}, {evidence[names[0]]:,} of them "
                "conflicts. "
            )
            yield Advice(
                "bank_conflict",
                (place,),
                f"{text}{_describe_cures(kernel, worst, evidence)} [{kernel.access_text(place)}]",
                evidence,
            )


def is_atomic(ptx):
    """Whether an instruction's text is that of an atomic."""
    words = ptx.split()
    return any(word.startswith(("atom.", "red.")) for word in words[:2])  # a guard may precede it


def is_matrix(ptx):
    """Whether an instruction's text is an ldmatrix, whose rows go to other lanes."""
    return any(word.startswith("ldmatrix.") for word in ptx.split()[:2])


def _describe_copy(kernel, worst, alone, evidence):
    """Words for a copy with more wavefronts than its target addresses explain."""
    facts, sample = worst
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


def _describe_cures(kernel, worst, evidence):
    if worst is None:
        return "Let the lanes of a warp meet different banks."
    facts, sample = worst
    wavefronts, conflicts = count_cost(sample.addresses, sample.bytes, sample.mask, sample.rule)
    if sample.op == "async" and sample.cost != wavefronts:
        return _describe_copy(kernel, worst, wavefronts, evidence)
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
    element = min(read_width(facts["ptx"]) or sample.bytes, sample.bytes)
    if is_matrix(facts["ptx"]):
        element = sample.bytes  # rows of matrices begin at multiples of 16 bytes
    cures = try_cures(sample, element)
    if not cures:
        return (
            f"Its worst request takes {say_count(wavefronts, 'wavefront')}; neither a pad a row "
            "nor an xor swizzle removes its conflicts: change which lane takes which element."
        )
    for words, cost in cures:
        evidence[f"wavefronts with {words}"] = cost
    listed = "; or ".join(f"{words}: {cost}" for words, cost in cures)
    return (
        f"Its worst request takes {say_count(wavefronts, 'wavefront')}; tried on it, "
        f"{'this removes' if len(cures) == 1 else 'these remove'} the conflicts: {listed}."
    )


def judge_padding(kernel):
    """Rows padded by one element without need: the pad prevents wide loads."""
    groups = {}
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
        evidence = _add(rows, "shared.load.instructions", "shared.load.conflicts")
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
                f"{_name(place)}: padding costs more than it saves here. Rows of {pitch} bytes "
                f"are not aligned to 16, so {len(members)} neighbouring elements are read by "
                f"{width}-byte loads: {now} wavefronts for 16 bytes a lane. Rows of "
                f"{pitch - width} bytes let ptxas fuse them: {fused}, still without a conflict on "
                f"this read. [{kernel.text(place)}]"
            )
            yield Advice("padding", (place,), text, evidence)


def judge_reuse(kernel):
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
    evidence = {"shared.load.bytes": loaded, "shared.store.bytes": stored, "reuse": loaded / stored}
    text = (
        f"{_name(places[0])}: each byte put into shared memory is read "
        f"{loaded / stored:.2g} times, and in the recorded requests by the very lane that wrote "
        "it. Shared memory does not pay for data read once: keep it in a register. "
        f"[{kernel.text(places[0])}]"
    )
    yield Advice("data_read_once", tuple(places), text, evidence)


def _is_same(read, write):
    """Whether both are of one warp, and each lane reads what it has written itself."""
    where = (read.block, read.warp) == (write.block, write.warp)
    return where and set(read.active()) <= set(write.active()) and read.bytes <= write.bytes


def _read_registers(kernel, launch):
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


def judge_occupancy(kernel):
    limits = _core.limits(COMPUTE_CAPABILITY)
    most = limits["shared_bytes_per_multiprocessor"]
    kept = limits["shared_bytes_per_block_reserved"]
    unit = limits["shared_allocation_unit_bytes"]
    all_threads = limits["threads_per_multiprocessor_max"]
    for launch in kernel.launches:
        threads = int(numpy.prod(launch.block))
        if not launch.shared_bytes:
            continue
        rounded = -(-threads // 32) * 32
        by_threads = min(all_threads // rounded, limits["blocks_per_multiprocessor_max"])
        by_shared = most // (-(-(launch.shared_bytes + kept) // unit) * unit)
        by_registers = _read_registers(kernel, launch) if by_shared < by_threads else None
        if by_shared >= (by_threads if by_registers is None else min(by_threads, by_registers)):
            continue
        evidence = {
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
            f"{kernel.name}: shared memory limits how many blocks a multiprocessor holds. "
            f"{launch.shared_bytes:,} bytes a block (and {kept:,} kept by the system) of "
            f"{most:,} let {say_count(by_shared, 'block')} of {threads} "
            f"threads stay at once, where the threads alone let {by_threads}: "
            f"{by_shared * rounded:,} of {all_threads:,} threads (compute capability "
            f"{COMPUTE_CAPABILITY}; {of_registers}). A smaller tile, or more threads "
            "for this one, raises it"
        )
        yield Advice("occupancy", (), f"{text}.", evidence)


# Control -----------------------------------------------------------------------------------------


def judge_divergence(kernel):
    lanes, warps = (kernel.sums.get(f"instructions.{name}", 0) for name in ("thread", "warp"))
    if not warps or 1 - lanes / (32 * warps) < IDLE:
        return
    for line in kernel.lines:
        divergent, branches = (
            line.counters[f"branch.{name}"] for name in ("divergent", "instructions")
        )
        if not branches or divergent < DIVERGENT * branches:
            continue
        evidence = {
            "branch.divergent": divergent,
            "branch.instructions": branches,
            "branch.efficiency": line.counters["branch.efficiency"],
            "instructions.active_lanes": lanes / warps,
        }
        text = (
            f"{line.place}: {divergent:,} of {branches:,} branches part the lanes of a warp, which "
            f"then runs both ways one after the other; in this kernel {lanes / warps:.3g} of 32 "
            "lanes work in an average instruction. Let the condition be the same for all 32 lanes "
            f"of a warp. [{line.text}]"
        )
        yield Advice("divergence", ((line.file, line.line),), text, evidence)


BARRIER = re.compile(
    r"^\s*(bar\.sync|barrier\.sync(?:\.aligned)?|bar\.cta\.sync|barrier\.cta\.sync(?:\.aligned)?)\s+0\s*;"
)
# Instructions that leave nothing for the second of two barriers to order. Every other one, and a
# label, ends the straight run.
QUIET = re.compile(
    r"^\s*(//.*|\.loc\b.*|\.pragma\b.*|(add|sub|mul|mad|fma|neg|abs|min|max|mov|cvt|cvta|and|or|xor|not|shl|shr|"
    r"setp|selp|set|div|rem|rcp|sqrt|rsqrt|sin|cos|ex2|lg2|bfe|bfi|popc|clz|prmt|ld\.param|ld\.const)\b.*;)?\s*$"
)


def judge_barriers(kernel):
    """Two barriers in a straight run without an access to memory between them."""
    ptx = kernel.sources.ptx
    executed = [facts for facts in kernel.instructions if BARRIER.match(facts["ptx"])]
    for facts in executed:
        number = facts["ptx_line"]
        above = number - 1
        while above > 0 and QUIET.match(ptx[above - 1]):
            above -= 1
        if above == 0 or not BARRIER.match(ptx[above - 1]):
            continue
        other = next(
            (instruction for instruction in executed if instruction["ptx_line"] == above), None
        )
        if other is None:
            continue
        place, first = place_of(facts), place_of(other)
        text = (
            f"{_name(place)}: a barrier that orders nothing. Between the barrier of {_name(first)} "
            "and this one no thread touches memory: one of the two will do."
        )
        evidence = {"barrier.count": facts["counters"].get("barrier.count", 0)}
        yield Advice(
            "redundant_barrier", (place, first), f"{text} [{kernel.text(place)}]", evidence
        )


# Local memory, atomics ---------------------------------------------------------------------------


def judge_local_memory(kernel):
    names = (
        "local.load.requests",
        "local.store.requests",
        "local.load.sectors",
        "local.store.sectors",
    )
    lines = [line for line in kernel.lines if line.counters.total(*names[:2])]
    if not lines:
        return
    evidence = {name: kernel.sums.get(name, 0) for name in names}
    lines.sort(key=lambda line: -line.counters.total(*names[:2]))
    text = (
        f"{lines[0].place}: {evidence[names[0]]:,} loads and {evidence[names[1]]:,} stores go to "
        "local memory, which lies in device memory: an array of the thread is indexed by what the "
        "compiler does not know, or its address is taken. Make the index constant (unroll the "
        f"loop), or keep it in shared memory. [{lines[0].text}]"
    )
    yield Advice("local_memory", tuple((line.file, line.line) for line in lines), text, evidence)


def judge_atomics(kernel):
    for space, unit in (("shared", "instructions"), ("global", "requests")):
        name = f"{space}.atomic.{unit}"
        for facts in kernel.instructions:
            sample = kernel.sample(facts, space, "atomic")
            crowd = count_crowd(sample) if sample is not None else 0
            if crowd < CROWDED or not facts["counters"].get(name):
                continue
            place = place_of(facts)
            evidence = {name: facts["counters"][name], "lanes on one address": crowd}
            cure = (
                "add them up within the warp first (__shfl_down_sync), or in shared memory and "
                "then once a block"
                if space == "global"
                else "add them up within the warp first (__shfl_down_sync), or give each warp or "
                "lane a copy of its own"
            )
            text = (
                f"{_name(place)}: {crowd} lanes of one request meet in one address of {space} "
                f"memory, and an atomic serves them one by one: {cure}. [{kernel.text(place)}]"
            )
            yield Advice("atomic_contention", (place,), text, evidence)


JUDGES = (
    judge_coalescing,
    judge_conflicts,
    judge_padding,
    judge_reuse,
    judge_occupancy,
    judge_divergence,
    judge_barriers,
    judge_local_memory,
    judge_atomics,
)
