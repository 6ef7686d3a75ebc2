"""Advice on code: divergence, barriers, local memory, atomics."""

import re

from ._advise_shared import CROWDED
from ._kernel import name_place
from .counts import place_of
from .what_if import count_crowd

DIVERGENT = 0.25  # divergent share of a branch's executions
IDLE = 0.2  # share of lanes; guards at edges and single-thread code cost less


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
            f"{divergent:,} of {branches:,} branches part the lanes of a warp, which "
            f"then runs both ways one after the other; in this kernel {lanes / warps:.3g} of 32 "
            "lanes work in an average instruction. Let the condition be the same for all 32 lanes "
            f"of a warp."
        )
        yield kernel.advise("divergence", [(line.file, line.line)], text, evidence)


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
            f"a barrier that orders nothing. Between the barrier of {name_place(first)} and this "
            "one no thread touches memory: one of the two will do."
        )
        evidence = {"barrier.count": facts["counters"].get("barrier.count", 0)}
        yield kernel.advise("redundant_barrier", [place, first], text, evidence)


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
        f"{evidence[names[0]]:,} loads and {evidence[names[1]]:,} stores go to "
        "local memory, which lies in device memory: an array of the thread is indexed by what the "
        "compiler does not know, or its address is taken. Make the index constant (unroll the "
        f"loop), or keep it in shared memory."
    )
    places = [(line.file, line.line) for line in lines]
    yield kernel.advise("local_memory", places, text, evidence)


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
                f"{crowd} lanes of one request meet in one address of {space} "
                f"memory, and an atomic serves them one by one: {cure}."
            )
            yield kernel.advise("atomic_contention", [place], text, evidence)
