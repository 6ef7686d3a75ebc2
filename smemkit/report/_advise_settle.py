"""Advice of one kernel together: what another advice makes void is left out."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._kernel import Advice, Kernel

VOID_IN_PRIVATE = ("redundant_barrier", "local_memory", "data_read_once")
VOID_IN_TILE = ("redundant_barrier", "data_read_once")
NAIVE = re.compile(r"Lanes that are neighbours touch memory that is not: .*$")


def _is_one_thread(kernel: Kernel) -> bool:
    """Whether all blocks of a kernel of the user's own have one thread."""
    own = kernel.sources.variant is None
    return own and all(math.prod(launch.block) == 1 for launch in kernel.launches)


def _turn_tile(advice: Advice, read: Advice) -> Advice:
    """The advice on an uncoalesced access, where each thread reads back its part of a tile."""
    line = f"line {read.line}" if read.line is not None else read.subject
    text = NAIVE.sub(
        "The data goes through shared memory, but each thread reads back its own element there "
        f"({line}). Let it read the element of another thread, as tile[threadIdx.x][threadIdx.y] "
        "where it wrote tile[threadIdx.y][threadIdx.x], and swap the indices of the blocks in "
        "global memory, so that neighbours in threadIdx.x load and store along rows. The barrier "
        "between both is then needed.",
        advice.message,
    )
    evidence = {**read.evidence, **advice.evidence}
    return replace(advice, message=text, evidence=evidence)


def settle(kernel: Kernel, found: Sequence[Advice]) -> Sequence[Advice]:
    """The advice that holds where all of it is followed together."""
    if _is_one_thread(kernel):
        return [advice for advice in found if advice.kind == "block_size"]
    kinds = {advice.kind for advice in found}
    if "private_array" in kinds:
        return [advice for advice in found if advice.kind not in VOID_IN_PRIVATE]
    if "uncoalesced" in kinds:  # comes before a tile, or asks for one
        found = [advice for advice in found if advice.kind != "global_reuse"]
    read = next((advice for advice in found if advice.kind == "data_read_once"), None)
    naive = [
        advice for advice in found if advice.kind == "uncoalesced" and NAIVE.search(advice.message)
    ]
    if read is None or not naive:
        return found
    return [
        _turn_tile(advice, read) if advice in naive else advice
        for advice in found
        if advice.kind not in VOID_IN_TILE
    ]
