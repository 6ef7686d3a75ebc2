"""explain: advice in words. Each advice follows from counters and shows them as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from . import (
    _advise_code,
    _advise_constant,
    _advise_double,
    _advise_global,
    _advise_launch,
    _advise_reuse,
    _advise_shared,
    _advise_spill,
)
from ._advise_settle import settle
from ._kernel import Kernel
from .counts import Launch

if TYPE_CHECKING:
    from ._kernel import Advice
    from ._report import Report

JUDGES = (
    _advise_launch.judge_block,
    _advise_launch.judge_grid,
    _advise_global.judge_coalescing,
    _advise_reuse.judge_rereading,
    _advise_shared.judge_conflicts,
    _advise_shared.judge_padding,
    _advise_shared.judge_reuse,
    _advise_launch.judge_occupancy,
    _advise_double.judge_doubles,
    _advise_code.judge_private_arrays,
    _advise_code.judge_divergence,
    _advise_code.judge_barriers,
    _advise_code.judge_local_memory,
    _advise_spill.judge_spills,
    _advise_constant.judge_constants,
    _advise_code.judge_atomics,
)


FIRST, LAST = (
    ("private_array", "block_size"),
    ("small_grid", "misaligned"),
)  # small grids are often of a trial


def _rank(advice: Advice) -> tuple[int, bool, float]:
    """The sort key: idle lanes first, then by what accesses waste, what is often cheap last."""
    evidence = advice.evidence
    wasted = sum(value for name, value in evidence.items() if name.endswith(".conflicts"))
    for op in ("load", "store", "atomic"):
        if f"global.{op}.sectors" in evidence and "expected sectors per request" in evidence:
            needed = evidence["expected sectors per request"] * evidence[f"global.{op}.requests"]
            wasted += evidence[f"global.{op}.sectors"] - needed
    first = FIRST.index(advice.kind) if advice.kind in FIRST else len(FIRST)
    return first, advice.kind in LAST, -wasted


def explain(report: Report) -> list[Advice]:
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
    list of Advice, each with kind, lines, text and evidence (counter to value); text is made of
    subject (file:line, or the kernel), message and source (the text of the line). The kinds are
    "block_size", "small_grid", "uncoalesced", "misaligned", "bank_conflict", "padding",
    "data_read_once", "global_reuse", "occupancy", "double_arithmetic", "divergence",
    "redundant_barrier", "local_memory", "register_spill", "constant_memory", "private_array" and
    "atomic_contention". Private arrays and idle lanes come first, then what wastes most, then what
    is often cheap. Empty where the counters show nothing wrong. After report.time(card) the texts
    on bank conflicts, padding, accesses that are not coalesced, local memory, atomics and occupancy
    also say what would be saved on that card, by prediction: with what they are about gone, and all
    else the same. Spills are known where ptxas is found, or NVRTC for CUDA C.

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
    groups: dict[tuple[str, str], list[Launch]] = {}
    for launch in launches:
        groups.setdefault((launch.kernel, launch.ptx), []).append(launch)
    found: list[Advice] = []
    for group in groups.values():
        kernel = Kernel(group)
        given = [advice for judge in JUDGES for advice in judge(kernel)]
        found += settle(kernel, given)
    found.sort(key=_rank)
    found = list({(advice.kind, advice.lines, advice.text): advice for advice in found}.values())
    return report._add_gains(found)
