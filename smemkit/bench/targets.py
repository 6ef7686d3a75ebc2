"""Targets: workloads that are compared with peers, their goals, and the verdicts.

Each subject has two times: of the GPU alone, and of a call on an idle GPU, with what it takes the
host to start the work. Goals are judged by the GPU alone; both are shown. (A call of ours comes
from Python, CUB's from C, so that the calls compare more than the kernels.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

import smemkit

from .families import CLASSES
from .stopwatch import CACHES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .families import Goal, Workload
    from .results import Measurement, Results
    from .types import Cache, Size

SIZES = ("full", "small")


class Verdict(TypedDict):
    """A goal, and the times that it is judged by; a time that was not measured is None.

    variant is our fastest one. call_us and peer_call_us are times of a call with its start.
    """

    case: str
    cache: Cache
    variant: str
    peer: str
    time_us: float | None
    peer_time_us: float | None
    ratio: float | None
    call_us: float | None
    peer_call_us: float | None
    call_ratio: float | None
    goal: float
    met: bool


def list_cases(size: Size = "full") -> list[Workload]:
    """The target workloads in the order of their runs; "small" ones are for the simulator."""
    kinds = sorted(CLASSES.values(), key=lambda kind: kind.target_rank)
    return [case for kind in kinds for case in kind.list_targets(size)]


def judge(results: Results, chosen: Iterable[Workload]) -> list[Verdict]:
    """The verdicts: one for each workload, goal and state of the cache."""
    verdicts: list[Verdict] = []
    for case in chosen:
        rows = [row for row in results if case.owns(row) and row.times_ms]
        for cache in CACHES:
            here = [row for row in rows if row.cache == cache]
            for goal in case.goals:
                ours = [row for row in here if row.variant in smemkit.variants(case.family)]
                best = min(ours, key=lambda row: row.median_ms, default=None)
                peer = next((r for name in goal.peers for r in here if r.variant == name), None)
                if best is not None and peer is not None:
                    verdicts.append(compare(case, cache, goal, best, peer))
    return verdicts


def compare(
    case: Workload, cache: Cache, goal: Goal, best: Measurement, peer: Measurement
) -> Verdict:
    """The verdict on one goal."""
    ratio = peer.median_ms / best.median_ms
    return {
        "case": case.name,
        "cache": cache,
        "variant": best.variant,
        "peer": peer.variant,
        "time_us": drop_nan(best.median_ms * 1e3),
        "peer_time_us": drop_nan(peer.median_ms * 1e3),
        "ratio": drop_nan(ratio),
        "call_us": drop_nan(best.call_median_ms * 1e3),
        "peer_call_us": drop_nan(peer.call_median_ms * 1e3),
        "call_ratio": drop_nan(peer.call_median_ms / best.call_median_ms),
        "goal": goal.factor,
        "met": ratio >= goal.factor,
    }


def drop_nan(value: float) -> float | None:
    """The value, or None for NaN, which JSON cannot hold."""
    return None if math.isnan(value) else value


def show_verdicts(verdicts: Iterable[Verdict]) -> None:
    """Prints the verdicts as a table: times of the GPU alone, and of whole calls beside them."""
    print(
        f"\n{'':62} {'GPU alone, us':^26}   {'a call, us':^26}\n{'case':26} {'cache':5} "
        f"{'ours':16} {'peer':12} {'ours':>9} {'peer':>9} {'ratio':>6}   {'ours':>9} {'peer':>9} "
        f"{'ratio':>6}   {'goal':>5}"
    )
    for v in verdicts:
        gpu = show_times(v["time_us"], v["peer_time_us"], v["ratio"])
        call = show_times(v["call_us"], v["peer_call_us"], v["call_ratio"])
        print(
            f"{v['case']:26} {v['cache']:5} {v['variant']:16} {v['peer']:12} {gpu}   {call}   "
            f"{v['goal']:5.2f} {'met' if v['met'] else 'MISSED'}"
        )


def show_times(ours: float | None, theirs: float | None, ratio: float | None) -> str:
    """Three cells of the table."""
    cells = ["-" if value is None else f"{value:.2f}" for value in (ours, theirs, ratio)]
    return f"{cells[0]:>9} {cells[1]:>9} {cells[2]:>6}"
