"""The cases that are compared with peers, the goals that they have, and what became of these."""

import smemkit

from .cases import BYTE_BINS, Conv2d, Dot, Gemm, Histogram, Reduce, Smooth, Transpose
from .stopwatch import CACHES

SIZES = ("full", "small")
CUB, CUBLAS = ("cub", "cupy"), ("torch", "cupy")  # CuPy sums with CUB, and calls cuBLAS too


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
        Reduce("sum 2^20", (1 << 20,), parameters=op, goals=((CUB, 1.5),)),
        Reduce("sum 2^24", (1 << 24,), parameters=op, goals=((CUB, 1.0),)),
        Reduce("sum 2^28", (1 << 28,), parameters=op, goals=((CUB, 1.0),)),
        Dot("dot 2^28", (1 << 28,), goals=((CUBLAS, 1.0),)),
        Transpose("transpose 8192", (8192, 8192), goals=((("memcpy",), 0.97),)),
        Transpose("transpose 16384", (16384, 16384), goals=((("memcpy",), 0.97),)),
        Histogram(
            "histogram 2^30 uniform",
            (1 << 30, *bins),
            "uint8",
            {"values": "uniform"},
            ((CUB, 1.9),),
        ),
        Histogram(
            "histogram 2^30 constant",
            (1 << 30, *bins),
            "uint8",
            {"values": "constant"},
            ((CUB, 1.15),),
        ),
        Smooth("smooth 2^28", (1 << 28,), goals=((("memcpy",), 0.97),)),
        Conv2d("conv2d 8192 5x5", (8192, 8192, 5, 5), goals=((("cupy",), 6.0),)),
        Conv2d("conv2d 8192 11x11", (8192, 8192, 11, 11), goals=((("cupy",), 8.0),)),
        Gemm("gemm 4096", (4096, 4096, 4096), goals=((CUBLAS, 0.95),)),
        Gemm("gemm 8192", (8192, 8192, 8192), goals=((CUBLAS, 0.95),)),
        Gemm("gemm 4095x4097x4093", (4095, 4097, 4093), goals=((CUBLAS, 1.0),)),
    ]


def judge(results, chosen):
    """What became of the goals: a dict for each case, goal and state of the cache."""
    verdicts = []
    for case in chosen:
        rows = [row for row in results if case.owns(row) and row.times_ms]
        for cache in CACHES:
            here = [row for row in rows if row.cache == cache]
            ours = [row for row in here if row.variant in smemkit.variants(case.family)]
            best = min(ours, key=lambda row: row.median_ms, default=None)
            for names, factor in case.goals:
                peer = next((r for name in names for r in here if r.variant == name), None)
                if best is None or peer is None:
                    continue
                ratio = peer.median_ms / best.median_ms
                verdicts.append(
                    {
                        "case": case.name,
                        "cache": cache,
                        "variant": best.variant,
                        "time_us": best.median_ms * 1e3,
                        "peer": peer.variant,
                        "peer_time_us": peer.median_ms * 1e3,
                        "ratio": ratio,
                        "goal": factor,
                        "met": ratio >= factor,
                    }
                )
    return verdicts


def show_verdicts(verdicts):
    """The goals as a table."""
    head = (
        f"\n{'case':26} {'cache':5} {'ours':16} {'us':>11}  {'peer':6} {'us':>11}  "
        f"{'ratio':>6}  {'goal':>5}"
    )
    print(head)
    for v in verdicts:
        print(
            f"{v['case']:26} {v['cache']:5} {v['variant']:16} {v['time_us']:11.2f}  "
            f"{v['peer']:6} {v['peer_time_us']:11.2f}  {v['ratio']:6.2f}  {v['goal']:5.2f}  "
            f"{'met' if v['met'] else 'MISSED'}"
        )
