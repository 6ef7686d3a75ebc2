"""Advice on code: divergence, barriers, local memory, atomics."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from ._advise_shared import CROWDED
from ._data_flow import is_merged
from ._kernel import name_place
from .counts import PTX_FILE, add_sums, place_of
from .what_if import count_crowd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ._captured import Instruction, Place
    from ._kernel import Advice, Evidence, Kernel
    from .counts import Line

DIVERGENT = 0.25  # divergent share of a branch's executions
IDLE = 0.2  # share of lanes; guards at edges and single-thread code cost less
PARTED = 0.02  # share of a kernel's lanes that idle behind a branch
ALONE = 0.1  # the same where one lane works for its warp, as at the end of a sum
MOSTLY_IDLE = 0.5  # share of lanes, from which on the kernel as a whole is worth advice
OTHERWISE = re.compile(r"\s*bra(?:\.uni)?\s+([\w$.]+)\s*;")
JUMP = re.compile(r"\bbra(?:\.uni)?\s+([\w$.]+)\s*;")


def _find_label(ptx: Sequence[str], jump: re.Match[str] | None) -> list[int]:
    """The numbers of the lines that have the label to which a branch goes."""
    if jump is None:
        return []
    return [i for i, text in enumerate(ptx, 1) if text.strip().startswith(f"{jump[1]}:")]


def _find_behind(ptx: Sequence[str], number: int) -> tuple[int, int] | None:
    """The lines between which a branch parts lanes, the else branch among them; None if unknown."""
    targets = _find_label(ptx, JUMP.search(ptx[number - 1]))
    if not targets:
        return None
    target = min(targets, key=lambda line: abs(line - number))
    if target < number:
        return target, number
    other = _find_label(ptx, OTHERWISE.match(ptx[number]))
    target = max([target, *other])  # both ways are branches: the second one leads behind the first
    onward = next((text for text in ptx[target - 2 : number : -1] if JUMP.search(text)), "")
    is_guarded = onward.strip().startswith("@")
    ends = [] if is_guarded else _find_label(ptx, JUMP.search(onward))
    return number, max([target, *ends])


def find_behind(
    ptx: Sequence[str], instructions: Iterable[Instruction], place: Place
) -> set[int] | None:
    """The PTX lines behind the branches of a source line that part lanes; None if unknown."""
    behind: set[int] = set()
    for facts in instructions:
        if place_of(facts) == place and facts["counters"].get("branch.divergent"):
            lines = _find_behind(ptx, facts["ptx_line"])
            if lines is None:
                return None
            behind.update(range(lines[0] + 1, lines[1]))
    return behind


def _count_behind(kernel: Kernel, place: Place) -> tuple[int | None, float | None]:
    """(idle lanes, mean lanes) behind the branches of a line; (None, None) if unknown."""
    behind = find_behind(kernel.sources.ptx, kernel.instructions, place)
    if behind is None:
        return None, None
    sums = add_sums(
        facts["counters"] for facts in kernel.instructions if facts["ptx_line"] in behind
    )
    lanes, warps = (sums.get(f"instructions.{name}", 0) for name in ("thread", "warp"))
    return 32 * warps - lanes, lanes / warps if warps else 32


def judge_divergence(kernel: Kernel) -> Iterator[Advice]:
    """Branches that part the lanes of warps, in a kernel with many idle lanes."""
    lanes, warps = (kernel.sums.get(f"instructions.{name}", 0) for name in ("thread", "warp"))
    if not warps or 1 - lanes / (32 * warps) < IDLE:
        return
    given = False
    for line in kernel.lines:
        divergent, branches = (
            line.counters[f"branch.{name}"] for name in ("divergent", "instructions")
        )
        if not branches or divergent < DIVERGENT * branches:
            continue
        idle, mean = _count_behind(kernel, (line.file, line.line))
        alone = mean is not None and mean <= 1
        share = None if idle is None else idle / (32 * warps)  # of all lanes
        if share is not None and share < (ALONE if alone else PARTED):
            continue
        evidence: Evidence = {
            "branch.divergent": divergent,
            "branch.instructions": branches,
            "branch.efficiency": line.counters["branch.efficiency"],
            "instructions.active_lanes": lanes / warps,
        }
        text = (
            f"{divergent:,} of {branches:,} branches part the lanes of a warp, which "
            f"then runs both ways one after the other; in this kernel {lanes / warps:.3g} of 32 "
            "lanes work in an average instruction. Let the condition be the same for all 32 lanes "
            f"of a warp."
        )
        if alone and share is not None:
            evidence["share of all lanes that idle behind it"] = share
            text = (
                "one lane of a warp works behind this branch while 31 wait, and that takes "
                f"{100 * share:.0f} % of all lanes of the kernel's instructions: let "
                "the lanes share this work."
            )
        given = True
        yield kernel.advise("divergence", [(line.file, line.line)], text, evidence)
    if not given:
        yield from _judge_idle(kernel, lanes, warps)


def _judge_idle(kernel: Kernel, lanes: int, warps: int) -> Iterator[Advice]:
    """A kernel most of whose lanes idle, though no branch of one line is the cause."""
    threads = [math.prod(launch.block) for launch in kernel.launches]
    full = min(count / -(-count // 32) for count in threads)  # lanes that a warp has
    if lanes / warps > (1 - MOSTLY_IDLE) * full:
        return
    idle: dict[Place, int] = {}
    for facts in kernel.instructions:
        counters, place = facts["counters"], place_of(facts)
        waiting = 32 * counters.get("instructions.warp", 0) - counters.get("instructions.thread", 0)
        idle[place] = idle.get(place, 0) + waiting
    places = sorted(idle, key=lambda place: (-idle[place], place))
    evidence: Evidence = {"instructions.active_lanes": lanes / warps, "instructions.warp": warps}
    text = (
        f"in this kernel {lanes / warps:.3g} of 32 lanes work in an average instruction, the "
        f"others idle; {100 * idle[places[0]] / sum(idle.values()):.0f} % of the idle ones are of "
        "this line. Let all lanes of a warp run the same code, each on elements of its own."
    )
    yield kernel.advise("divergence", places[:1], text, evidence)


BARRIER = re.compile(
    r"^\s*(bar\.sync|barrier\.sync(?:\.aligned)?|bar\.cta\.sync|barrier\.cta\.sync(?:\.aligned)?)\s+0\s*;"
)
# Instructions that leave nothing for the second of two barriers to order. Every other one, and a
# label, ends the straight run.
QUIET = re.compile(
    r"^\s*(//.*|\.loc\b.*|\.pragma\b.*|(add|sub|mul|mad|fma|neg|abs|min|max|mov|cvt|cvta|and|or|xor|not|shl|shr|"
    r"setp|selp|set|div|rem|rcp|sqrt|rsqrt|sin|cos|ex2|lg2|bfe|bfi|popc|clz|prmt|ld\.param|ld\.const)\b.*;)?\s*$"
)


def judge_barriers(kernel: Kernel) -> Iterator[Advice]:
    """Barriers that order nothing between threads, or nothing but lanes of one warp."""
    reaches = kernel.find_reach()
    doubled = [
        advice
        for advice in _find_doubled(kernel)
        if {reaches.get(place) for place in advice.lines} != {"none"}
    ]
    yield from doubled
    known = {place for advice in doubled for place in advice.lines}
    is_one_warp = all(math.prod(launch.block) <= 32 for launch in kernel.launches)
    for place, reach in sorted(reaches.items()):
        if place in known or reach == "threads" or (reach == "lanes" and is_one_warp):
            continue
        if reach == "none":
            text = (
                "a barrier that orders nothing between threads: here each thread touches elements "
                "of its own on both sides of it. Remove it; it makes all warps of the block wait."
            )
        else:
            text = (
                "a barrier that orders lanes of one warp alone: __syncwarp() does that too, and "
                "the other warps of the block need not wait."
            )
        counted = add_sums(
            facts["counters"] for facts in kernel.instructions if place_of(facts) == place
        )
        evidence: Evidence = {"barrier.count": counted.get("barrier.count", 0)}
        yield kernel.advise("redundant_barrier", [place], text, evidence)


def _find_doubled(kernel: Kernel) -> Iterator[Advice]:
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
            f"a barrier that orders nothing. Between the barrier of {name_place(first)} and this "
            "one no thread touches memory: one of the two will do."
        )
        evidence: Evidence = {"barrier.count": facts["counters"].get("barrier.count", 0)}
        yield kernel.advise("redundant_barrier", [place, first], text, evidence)


DECLARED = re.compile(
    r"(?:^|[;{(])\s*(?:(?:const|volatile|unsigned|signed)\s+)*[A-Za-z_][\w:<>]*\s+(.*)"
)
ARRAY = re.compile(r"(?:^|,)\s*\**\s*([A-Za-z_]\w*)\s*\[")
ELSEWHERE = re.compile(r"__shared__|__constant__|__device__|\bextern\b|\bstatic\b|\breturn\b|[(]")


def _list_arrays(lines: Sequence[str]) -> dict[str, int]:
    """{name: line} of the arrays that a source declares, but those in other memory."""
    found: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        code = line.partition("//")[0].partition("=")[0]
        declared = DECLARED.match(code)
        if declared and not ELSEWHERE.search(code):
            for name in ARRAY.findall(declared[1]):
                found.setdefault(name, number)
    return found


def _name_array(kernel: Kernel, place: Place) -> tuple[str, int] | None:
    """The array of the thread that a line has, as in "own, declared in line 7, lies"; or None."""
    arrays = _list_arrays(kernel.sources.lines(place[0]) or [])
    text = kernel.text(place)
    named = [name for name in arrays if re.search(rf"\b{name}\b", text)]
    return (named[0], arrays[named[0]]) if len(named) == 1 else None


LOCAL_REQUESTS = ("local.load.requests", "local.store.requests")


def judge_local_memory(kernel: Kernel) -> Iterator[Advice]:
    """Accesses to local memory."""
    names = (*LOCAL_REQUESTS, "local.load.sectors", "local.store.sectors")
    lines = [line for line in kernel.lines if line.counters.total(*names[:2])]
    if not lines:
        return
    evidence: Evidence = {name: kernel.sums.get(name, 0) for name in names}
    lines.sort(key=lambda line: -line.counters.total(*names[:2]))
    places = [(line.file, line.line) for line in lines]
    found = next(filter(None, (_name_array(kernel, place) for place in places)), None)
    subject, named = "an array of the thread", ""
    if found is not None:
        subject, named = found[0], f" of {found[0]}[] (declared in line {found[1]})"
    text = (
        f"{evidence[names[0]]:,} loads and {evidence[names[1]]:,} stores{named} go to local "
        f"memory, which lies in device memory: {subject} is indexed by what the compiler does not "
        "know, or its address is taken. Make the index constant (unroll the loop, #pragma unroll), "
        "so that it stays in registers, or keep it in shared memory."
    )
    yield kernel.advise("local_memory", places, text, evidence)


def judge_private_arrays(kernel: Kernel) -> Iterator[Advice]:
    """Arrays of a thread in local memory, in a kernel whose barriers order nothing."""
    lines = [
        line
        for line in kernel.lines
        if line.counters.total(*LOCAL_REQUESTS) and line.file != PTX_FILE
    ]
    shared = sum(kernel.sums.get(f"shared.{op}.instructions", 0) for op in ("load", "store"))
    barriers = kernel.sums.get("barrier.count", 0)
    if not lines or not barriers or (shared and set(kernel.find_reach().values()) != {"none"}):
        return
    named: dict[tuple[str, str, int], list[Line]] = {}  # by file, name and line of an array
    for line in lines:
        found = _name_array(kernel, (line.file, line.line))
        if found is not None:
            named.setdefault((line.file, *found), []).append(line)
    for (file, name, number), same in named.items():
        evidence: Evidence = {
            key: sum(line.counters.total(key) for line in same) for key in LOCAL_REQUESTS
        }
        evidence["barrier.count"] = barriers
        text = (
            f"{name} is a private array of each thread, and no other thread sees what is written "
            "to it, so that the barriers of the kernel order nothing. Did you mean __shared__? "
            f"Declare it as __shared__ {kernel.text((file, number)).partition('//')[0].strip()}"
        )
        yield kernel.advise("private_array", [(file, number)], text, evidence)


def _is_cheap(kernel: Kernel, facts: Instruction, space: str) -> bool:
    """Whether the machine code serves lanes that meet in one address of an atomic at once.

    In shared memory the counts tell it: neither conflicts nor rounds of a loop.
    """
    if space == "global":
        return is_merged(kernel, facts["ptx_line"])
    counters = facts["counters"]
    rounds = counters.get("shared.atomic.instructions", 0)
    return rounds <= counters.get("instructions.warp", 0) and not counters.get(
        "shared.atomic.conflicts"
    )


def judge_atomics(kernel: Kernel) -> Iterator[Advice]:
    """Atomics for which many lanes of a warp meet in one address."""
    for space, unit in (("shared", "instructions"), ("global", "requests")):
        name = f"{space}.atomic.{unit}"
        for facts in kernel.instructions:
            sample = kernel.sample(facts, space, "atomic")
            crowd = count_crowd(sample) if sample is not None else 0
            if crowd < CROWDED or not facts["counters"].get(name):
                continue
            if _is_cheap(kernel, facts, space):
                continue
            place = place_of(facts)
            evidence: Evidence = {name: facts["counters"][name], "lanes on one address": crowd}
            cure = (
                "add them up within the warp first (__shfl_down_sync), or in shared memory and "
                "then once a block"
                if space == "global"
                else "add them up within the warp first (__shfl_down_sync), or give each warp or "
                "lane a copy of its own"
            )
            text = (
                f"{crowd} lanes of one request meet in one address of {space} "
                f"memory, and an atomic serves them one by one: {cure}."
            )
            yield kernel.advise("atomic_contention", [place], text, evidence)
