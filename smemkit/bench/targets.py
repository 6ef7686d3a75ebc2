"""The cases that are compared with peers, the goals that they have, and what became of these.

Each subject has two times: of the GPU alone, and of a call on an idle GPU, with what it takes the
host to start the work. Goals are judged by the GPU alone; both are shown. (A call of ours comes
from Python, CUB's from C, so that the calls compare more than the kernels.)
"""

from typing import NamedTuple

import smemkit

from .stopwatch import CACHES
from .workloads import BYTE_BINS, Conv2d, Dot, Gemm, Histogram, Reduce, Smooth, Transpose

SIZES = ("full", "small")
CUB, CUBLAS = ("cub", "cupy"), ("torch", "cupy")  # CuPy sums with CUB, and calls cuBLAS too


class Goal(NamedTuple):
    """The first of these peers that is there takes at least `factor` times our time."""

    peers: tuple
    factor: float


def list_cases(size="full"):
    """The cases in the order in which they run; "small" ones are for the simulator."""
    if size == "small":
        return [
            Reduce("sum 2^12", (1 << 12,), parameters={"op": "sum"}),
            Dot("dot 2^12", (1 << 12,)),
            Transpose("transpose 96", (96, 96)),
            Histogram(
                "histogram 2^14 uniform", (1 << 14, 257, 256), "uint8", {"values": "uniform"}
            ),
            Histogram(
                "histogram 2^14 constant", (1 << 14, 257, 256), "uint8", {"values": "constant"}
            ),
            Smooth("smooth 2^12", (1 << 12,)),
            Conv2d("conv2d 64 5x5", (64, 64, 5, 5)),
            Gemm("gemm 96", (96, 96, 96)),
            Gemm("gemm 95x97x93", (95, 97, 93)),
        ]
    bins = (BYTE_BINS + 1, BYTE_BINS)
    op = {"op": "sum"}
    return [
        Reduce("sum 2^20", (1 << 20,), parameters=op, goals=(Goal(CUB, 1.5),)),
        Reduce("sum 2^24", (1 << 24,), parameters=op, goals=(Goal(CUB, 1.0),)),
        Reduce("sum 2^28", (1 << 28,), parameters=op, goals=(Goal(CUB, 1.0),)),
        Dot("dot 2^28", (1 << 28,), goals=(Goal(CUBLAS, 1.0),)),
        Transpose("transpose 8192", (8192, 8192), goals=(Goal(("memcpy",), 0.97),)),
        Transpose("transpose 16384", (16384, 16384), goals=(Goal(("memcpy",), 0.97),)),
        Histogram(
            "histogram 2^30 uniform",
            (1 << 30, *bins),
            "uint8",
            {"values": "uniform"},
            (Goal(CUB, 1.9),),
        ),
        Histogram(
            "histogram 2^30 constant",
            (1 << 30, *bins),
            "uint8",
            {"values": "constant"},
            (Goal(CUB, 1.15),),
        ),
        Smooth("smooth 2^28", (1 << 28,), goals=(Goal(("memcpy",), 0.97),)),
        Conv2d("conv2d 8192 5x5", (8192, 8192, 5, 5), goals=(Goal(("cupy",), 6.0),)),
        Conv2d("conv2d 8192 11x11", (8192, 8192, 11, 11), goals=(Goal(("cupy",), 8.0),)),
        Gemm("gemm 4096", (4096, 4096, 4096), goals=(Goal(CUBLAS, 0.95),)),
        Gemm("gemm 8192", (8192, 8192, 8192), goals=(Goal(CUBLAS, 0.95),)),
        Gemm("gemm 4095x4097x4093", (4095, 4097, 4093), goals=(Goal(CUBLAS, 1.0),)),
    ]


def judge(results, chosen):
    """What became of the goals: a dict for each case, goal and state of the cache."""
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
    """The goals as a table: by the GPU's time alone, with that of calls beside it."""
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
