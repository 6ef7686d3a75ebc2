"""Targets: workloads that are compared with peers, their goals, and the verdicts.

Each subject has two times: of the GPU alone, and of a call on an idle GPU, with what it takes the
host to start the work. Goals are judged by the GPU alone; both are shown. (A call of ours comes
from Python, CUB's from C, so that the calls compare more than the kernels.)
"""

import smemkit

from .families import CLASSES
from .stopwatch import CACHES

SIZES = ("full", "small")


def list_cases(size="full"):
    """The target workloads in the order of their runs; "small" ones are for the simulator."""
    kinds = sorted(CLASSES.values(), key=lambda kind: kind.target_rank)
    return [case for kind in kinds for case in kind.list_targets(size)]


def judge(results, chosen):
    """The verdicts: a dict for each workload, goal and state of the cache."""
    verdicts = []
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


def compare(case, cache, goal, best, peer):
    """The verdict on one goal."""
    ratio = peer.median_ms / best.median_ms
    found = {
        "case": case.name,
        "cache": cache,
        "variant": best.variant,
        "peer": peer.variant,
        "time_us": best.median_ms * 1e3,
        "peer_time_us": peer.median_ms * 1e3,
        "ratio": ratio,
        "call_us": best.call_median_ms * 1e3,
        "peer_call_us": peer.call_median_ms * 1e3,
        "call_ratio": peer.call_median_ms / best.call_median_ms,
        "goal": goal.factor,
        "met": ratio >= goal.factor,
    }
    return {name: None if value != value else value for name, value in found.items()}  # no NaN


def show_verdicts(verdicts):
    """Prints the verdicts as a table: times of the GPU alone, and of whole calls beside them."""
    print(
        f"\n{'':62} {'GPU alone, us':^26}   {'a call, us':^26}\n{'case':26} {'cache':5} "
        f"{'ours':16} {'peer':12} {'ours':>9} {'peer':>9} {'ratio':>6}   {'ours':>9} {'peer':>9} "
        f"{'ratio':>6}   {'goal':>5}"
    )
    names = ("time_us", "peer_time_us", "ratio", "call_us", "peer_call_us", "call_ratio")
    for v in verdicts:
        times = ["-" if v[name] is None else f"{v[name]:.2f}" for name in names]
        gpu, call = (f"{one:>9} {two:>9} {ratio:>6}" for one, two, ratio in (times[:3], times[3:]))
        print(
            f"{v['case']:26} {v['cache']:5} {v['variant']:16} {v['peer']:12} {gpu}   {call}   "
            f"{v['goal']:5.2f} {'met' if v['met'] else 'MISSED'}"
        )
