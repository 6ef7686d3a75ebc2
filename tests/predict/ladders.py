"""Published ladders: kernels that others timed on their cards, predicted.

    python tests/run.py predict.ladders [--ladder TEXT]

Each rung is a kernel of ours, written after the publication's description, with its grid and block:
one of ladder_*.cu, compiled by nvcc for the card and predicted for it. Nothing of a publication but
facts is here: what was timed, how it was launched, and how long it took. The command writes
tests/predict/ladders.json and the tables of docs/predict.md. --ladder: only those whose name has
the text; the others keep what the file says.
"""

import argparse
import dataclasses
import functools
import json
import math
import statistics
import sys
from pathlib import Path

import numpy
from predict.table import GOALS, fill, find_tau

import smemkit

FOLDER = Path(__file__).parent
FOUND = FOLDER / "ladders.json"
PAGE = FOLDER.parents[1] / "docs" / "predict.md"
NEAR = 0.25  # the median error of a ladder that is aimed at
ALIKE = 0.05  # published times that differ by less have no order


@dataclasses.dataclass(frozen=True)
class Rung:
    """A kernel of a ladder, and what its publication says that it takes.

    file: ladder_<file>.cu. kernel: its name there. options: of the compiler. launch: makes grid,
    block and arguments of the ladder's operands.
    """

    name: str
    measured_ms: float
    file: str
    kernel: str
    options: tuple
    grid: tuple
    block: tuple


@dataclasses.dataclass(frozen=True)
class Ladder:
    """Rungs that one publication timed on one card.

    operands: makes the arguments of the kernels. clock_mhz: where the publication tells the clock,
    or how it was set; else that of the card's row. timed: whether its times are those of kernels
    alone at a clock that is known; else only their order is judged.
    """

    name: str
    card: str
    source: str
    work: str
    operands: object
    rungs: tuple
    clock_mhz: float | None = None
    note: str = ""
    timed: bool = True

    def find_card(self):
        card = smemkit.card(self.card)
        return dataclasses.replace(card, clock_mhz=self.clock_mhz) if self.clock_mhz else card


# Products of matrices --------------------------------------------------------------------------

SIDE = 4096


def make_matrices(index):
    """Arguments of ladder_gemm.cu: alpha and beta as the publications have them."""
    a, b, c = (smemkit.empty((SIDE, SIDE), dtype="float32") for _ in range(3))
    length = index(SIDE)
    return length, length, length, numpy.float32(0.5), a, b, numpy.float32(3.0), c


def make_product(speed, kernel, threads, tile=(32, 32), plane=False, **options):
    """name, time and launch of a rung; speed in GFLOP/s."""
    words = [f"-D{name}={value}" for name, value in options.items()]
    grid = (SIDE // tile[0], SIDE // tile[1])
    return 2 * SIDE**3 / speed / 1e6, "gemm", kernel, tuple(words), grid, (threads, 1, 1)


A6000_SPEEDS = (309.0, 1986.5, 2980.3, 8474.7, 15971.7, 18237.3, 16213.4, 16459.2, 19721.0, 21779.3)
RTX_4090_SPEEDS = (
    673.5,
    5217.8,
    6481.4,
    19308,
    35636.5,
    42464.2,
    36609.9,
    37057.6,
    42827.2,
    45319.9,
)


def list_boehm(speeds):
    """Rungs of S. Boehm's article, with GFLOP/s of a card."""
    base = {"INDEX": "int", "CHECKED": 0, "DOWN": 0}
    square = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}
    wide = base | square | {"TURNED": 1, "WIDE": 1}
    warps = {"BM": 128, "BN": 128, "BK": 16, "TM": 8, "TN": 4, "WM": 64, "WN": 64, "WARP_STEP_N": 4}
    return (
        ("1, naive", *make_product(speeds[0], "strided", 32, **base)[:-1], (32, 32, 1)),
        ("2, coalesced", *make_product(speeds[1], "coalesced", 1024, **base | {"DOWN": 1})),
        ("3, shared memory", *make_product(speeds[2], "tiled", 1024, **base | {"DOWN": 1})),
        (
            "4, 1D tiles of a thread",
            *make_product(
                speeds[3], "tiled", 512, (64, 64), **base, BM=64, BN=64, BK=8, TM=8, TN=1
            ),
        ),
        (
            "5, 2D tiles of a thread",
            *make_product(speeds[4], "tiled", 256, (128, 128), **base | square),
        ),
        ("6, vectors", *make_product(speeds[5], "tiled", 256, (128, 128), **wide)),
        (
            "7, columns permuted",
            *make_product(speeds[6], "tiled", 256, (128, 128), **wide, SPREAD=1),
        ),
        ("8, columns padded", *make_product(speeds[7], "tiled", 256, (128, 128), **wide, PAD=5)),
        ("9, tuned", *make_product(speeds[8], "tiled", 256, (128, 128), **wide | {"BK": 16})),
        (
            "10, tiles of a warp",
            *make_product(speeds[9], "tiled", 128, (128, 128), **base | warps, TURNED=1, WIDE=1),
        ),
    )


def list_3090():
    """Rungs of Lei Mao's article."""
    base = {"INDEX": "size_t", "CHECKED": 1, "DOWN": 0}
    square = base | {"BM": 128, "BN": 128, "BK": 16, "TM": 8, "TN": 8}
    warps = square | {"WM": 64, "WN": 32, "WARP_STEP_N": 1, "TURNED": 1}
    plane = (32, 32, 1)
    return (
        ("V00, strided", *make_product(278.129, "strided", 32, **base)[:-1], plane),
        ("V01, coalesced", *make_product(1721.8, "coalesced", 32, **base)[:-1], plane),
        ("V02, shared memory", *make_product(2661.57, "tiled", 1024, **base)),
        (
            "V03, 1D tiles of a thread",
            *make_product(8913.18, "tiled", 512, (64, 64), **base, BM=64, BN=64, BK=8, TM=8, TN=1),
        ),
        ("V04, 2D tiles of a thread", *make_product(13024.7, "tiled", 256, (128, 128), **square)),
        ("V04, vectors", *make_product(15027.0, "tiled", 256, (128, 128), **square, WIDE=1)),
        ("V05, transposed", *make_product(11144.8, "tiled", 256, (128, 128), **square, TURNED=1)),
        (
            "V05, vectors",
            *make_product(19668.8, "tiled", 256, (128, 128), **square, TURNED=1, WIDE=1),
        ),
        ("V06, tiles of a warp", *make_product(11070.3, "tiled", 256, (128, 128), **warps)),
        ("V06, vectors", *make_product(20164.9, "tiled", 256, (128, 128), **warps, WIDE=1)),
    )


# Sums ------------------------------------------------------------------------------------------


def make_sum(length, kind):
    """Arguments of ladder_reduce.cu."""
    return (
        smemkit.empty(length, dtype=kind),
        smemkit.empty(length, dtype=kind),
        numpy.uint32(length),
    )


def make_sums(length, block, kind, rungs):
    """Rungs of sums: (name, milliseconds, kernel, elements of a thread, blocks or None, atomic)."""
    for name, ms, kernel, each, blocks, *atomic in rungs:
        options = (f"-DELEMENT={kind}", f"-DBLOCK={block}", f"-DEACH={each}", *atomic)
        grid = blocks or length // (block * max(each, 1))
        yield name, ms, "reduce", kernel, options, (grid, 1, 1), (block, 1, 1)


A100_SUMS = (
    ("v0, remainder", 0.99066, "by_remainder", 1, None),
    ("v1, strided", 0.47958, "strided", 1, None),
    ("v2, sequential", 0.46202, "sequential", 1, None),
    ("v3, two loads", 0.24416, "sequential", 2, None),
    ("v4, last warp", 0.16710, "last_warp", 2, None),
    ("v5, unrolled", 0.15878, "unrolled", 2, None),
    ("v6, many loads", 0.10547, "unrolled", 128, 1024),
    ("v7, shuffles", 0.1017, "shuffled", 128, 1024),
    ("v8, vectors", 0.09971, "packed", 0, 864),
)
T4_SUMS = (
    ("v0, remainder", 3.835, "by_remainder", 1, None),
    ("v1, mask", 3.065, "masked", 1, None),
    ("v2, sequential", 2.300, "sequential", 1, None),
    ("v3, two loads", 1.147, "sequential", 2, None),
    ("v4, last warp", 0.694, "last_warp", 2, None),
    ("v5, unrolled", 0.656, "unrolled", 2, None),
    ("shuffles", 1.254, "shuffled", 0, 100000),
)
# GB/s of 2**25 elements
RTX_3090_SUMS = (
    ("2, remainder", 223, "by_remainder", 1),
    ("3, strided", 317, "strided", 1),
    ("4, sequential", 331, "sequential", 1),
    ("5, two loads", 618, "sequential", 2),
    ("6, last warp", 859, "last_warp", 2),
)
# Milliseconds of 2**26 and of 2**25 elements
PMPP_SUMS = ("by_remainder", "strided", "sequential", "sequential", "last_warp", "unrolled")
PMPP_NAMES = ("remainder", "strided", "sequential", "two loads", "last warp", "unrolled")


# Transposes ------------------------------------------------------------------------------------

H100_SIDE = 32768


def make_turned():
    """Arguments of ladder_transpose.cu."""
    a, b = (smemkit.empty((H100_SIDE, H100_SIDE), dtype="float32") for _ in range(2))
    return a, b, numpy.int32(H100_SIDE)


def make_turn(name, ms, tile, each, rows, pad=1, kernel="tiled"):
    """A rung of the ladder of transposes."""
    options = (f"-DTILE={tile}", f"-DEACH={each}", f"-DROWS={rows}", f"-DPAD={pad}")
    grid = (H100_SIDE // tile, H100_SIDE // tile, 1)
    return name, ms, "transpose", kernel, options, grid, (tile // each, rows, 1)


H100_TURNS = (
    make_turn("naive", 18.0645, 32, 1, 32, kernel="naive"),
    make_turn("tiled", 8.6235, 32, 1, 32, pad=0),
    make_turn("padded", 5.0724, 32, 1, 32),
    make_turn("2 rows a thread", 3.6014, 32, 1, 16),
    make_turn("4 rows a thread", 3.0984, 32, 1, 8),
    make_turn("8 rows a thread", 3.0951, 32, 1, 4),
    make_turn("vectors of 2", 3.6041, 32, 2, 32),
    make_turn("vectors of 2, 4 rows", 3.0953, 32, 2, 8),
    make_turn("vectors of 4", 3.0997, 32, 4, 32),
    make_turn("vectors of 4, 4 rows", 3.0960, 32, 4, 8),
    make_turn("tile of 64, vectors of 2", 2.9910, 64, 2, 32),
    make_turn("tile of 64, vectors of 4", 2.9228, 64, 4, 32),
)


# Histograms ------------------------------------------------------------------------------------


def make_bins(length, kind, bins, values=None):
    """Arguments of ladder_histogram.cu; the elements are zeros, or `values`, or drawn."""
    if values is None:
        data = smemkit.zeros(length, dtype=kind)
    else:
        data = smemkit.asarray(values(length).astype(kind))
    return data, smemkit.zeros(bins, dtype="int32"), numpy.int32(length)


def make_histogram(name, ms, kernel, kind, bins, sparse, blocks, block):
    """A rung of a ladder of histograms."""
    options = (f"-DELEMENT={kind}", f"-DBINS={bins}", f"-DSPARSE={sparse}")
    kinds = options[0].replace(" ", "_"), *options[1:]
    return name, ms, "histogram", kernel, kinds, (blocks, 1, 1), (block, 1, 1)


def draw_bytes(length):
    """Random bytes."""
    return numpy.random.default_rng(1).integers(0, 256, length, dtype="uint8")


def count_up(length):
    """0 to 255, again and again."""
    return numpy.arange(length, dtype="int32") & 255


PMPP = "R100001, Programming-Massively-Parallel-Processors on GitHub, tables of NVBench"
# Card, its clock as the driver tells it; sums: milliseconds of 2**26 and of 2**25 elements;
# histograms: with global atomics, and with shared ones by blocks of 64, 128, ... threads.
NVBENCH = (
    (
        "RTX 3080",
        1725,
        ((1.917, 0.978679), (1.003, 0.521324), (0.907432, 0.473532))
        + ((0.628279, 0.334466), (0.423784, 0.233493), (0.422447, 0.232476)),
        36.159,
        (11.310, 5.667, 2.843, 1.432, 0.732670),
    ),
    (
        "RTX 3060",
        1882,
        ((4.605, 2.354), (2.429, 1.267), (2.214, 1.160))
        + ((1.537, 0.821848), (0.984112, 0.546987), (0.968700, 0.538082)),
        36.536,
        (11.589, 5.768, 2.895, 1.473, 1.535),
    ),
    (
        "RTX 2060",
        1680,
        ((5.797, 2.949), (3.369, 1.734), (3.089, 1.596))
        + ((1.796, 0.944112), (1.393, 0.746575), (1.386, 0.747085)),
        38.051,
        (11.942, 5.984, 3.691, 3.429, 3.685),
    ),
)


FIRST = (
    "the first launch of a program, so that loading the kernel and the clock of an idle card are "
    "in the time: only the order is judged"
)


def list_ladders():
    """All ladders, in the order of the page."""
    made = [
        Ladder(
            "sgemm, RTX A6000",
            "RTX A6000",
            "S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance, 2022, and "
            "the table of its repository siboehm/SGEMM_CUDA on GitHub",
            "float32, 4,096 x 4,096 x 4,096",
            functools.partial(make_matrices, numpy.int32),
            list_boehm(A6000_SPEEDS),
        ),
        Ladder(
            "sgemm, RTX 4090",
            "RTX 4090",
            "S. Boehm's kernels, timed by another author: the README of a repository on GitHub "
            "that begins with 'Running the kernels on a NVIDIA RTX 4090 (Ada, SM89)'",
            "float32, 4,096 x 4,096 x 4,096",
            functools.partial(make_matrices, numpy.int32),
            list_boehm(RTX_4090_SPEEDS),
        ),
        Ladder(
            "sgemm, RTX 3090",
            "RTX 3090",
            "Lei Mao, CUDA Matrix Multiplication Optimization, 2024, and the table of its "
            "repository leimao/CUDA-GEMM-Optimization on GitHub, which varies by up to 25 %",
            "float32, 4,096 x 4,096 x 4,096",
            functools.partial(make_matrices, numpy.uint64),
            list_3090(),
        ),
        Ladder(
            "transpose, H100",
            "H100",
            "yencal, gpu-matrix-transpose on GitHub",
            "float32, 32,768 x 32,768",
            make_turned,
            H100_TURNS,
        ),
        Ladder(
            "sum, A100",
            "A100",
            "BBuf, how-to-optim-algorithm-in-cuda on GitHub, cuda-kernels/reduce",
            "float32, 33,554,432",
            functools.partial(make_sum, 1 << 25, "float32"),
            tuple(make_sums(1 << 25, 256, "float", A100_SUMS)),
            clock_mhz=765,
            note="timed by Nsight Compute, which holds the card at its base clock, 765 MHz",
        ),
        Ladder(
            "sum, T4",
            "T4",
            "RussWong, CUDATutorial on GitHub, 5_reduce and 6_warp_level_reduce.cu",
            "float32, 25,600,000",
            functools.partial(make_sum, 25_600_000, "float32"),
            tuple(make_sums(25_600_000, 256, "float", T4_SUMS)),
            note=FIRST,
            timed=False,
        ),
        Ladder(
            "sum, RTX 3090",
            "RTX 3090",
            "MasterSkepticista, Embarrassingly Parallel Reduction in CUDA, 2025, and "
            "parallel_reductions_cuda on GitHub",
            "float32, 33,554,432",
            functools.partial(make_sum, 1 << 25, "float32"),
            tuple(
                make_sums(
                    1 << 25,
                    256,
                    "float",
                    [
                        (name, 4e-6 * (1 << 25) / speed, kernel, each, None, "-DATOMIC=1")
                        for name, speed, kernel, each in RTX_3090_SUMS
                    ],
                )
            ),
        ),
        Ladder(
            "histogram, T4",
            "T4",
            "RussWong, CUDATutorial on GitHub, 7_histogram.cu and 7_1_histogram.cu",
            "int32, 25,600,000, 0 to 255 in turn",
            functools.partial(make_bins, 25_600_000, "int32", 256, count_up),
            (
                make_histogram("global atomics", 2.386, "straight", "int", 256, 0, 100_000, 256),
                make_histogram("shared atomics", 2.389, "privatized", "int", 256, 0, 100_000, 256),
            ),
            note=FIRST,
            timed=False,
        ),
        Ladder(
            "histogram, H100",
            "H100",
            "yencal, gpu-histogram-optimization on GitHub",
            "uint8, 1,073,741,824, random",
            functools.partial(make_bins, 1 << 30, "uint8", 256, draw_bytes),
            tuple(
                make_histogram(name, ms, kernel, "uchar", 256, 1, 132 * 32, 512)
                for name, ms, kernel in (
                    ("global atomics", 276.13, "straight"),
                    ("shared atomics", 1.53, "privatized"),
                    ("vectors", 0.47, "packed"),
                )
            ),
        ),
    ]
    for card, clock, sums, straight, shared in NVBENCH:
        rungs = [
            (name, whole - half, kernel, 2 if at > 2 else 1, None)
            for at, (name, kernel, (whole, half)) in enumerate(
                zip(PMPP_NAMES, PMPP_SUMS, sums, strict=True)
            )
        ]
        made.append(
            Ladder(
                f"sum, {card}",
                card,
                f"{PMPP} for reductions",
                "uint32, 33,554,432: the time of twice as many less that of so many",
                functools.partial(make_sum, 1 << 25, "uint32"),
                tuple(make_sums(1 << 25, 512, "unsigned", rungs)),
                clock_mhz=clock,
            )
        )
        blocks = [64 << i for i in range(len(shared))]
        made.append(
            Ladder(
                f"histogram, {card}",
                card,
                f"{PMPP} for histograms",
                "uint32, 67,108,864, all 0; 512 bins, an element a thread",
                functools.partial(make_bins, 1 << 26, "uint32", 512),
                (
                    make_histogram(
                        "global atomics", straight, "straight", "unsigned", 512, 0, 1 << 17, 512
                    ),
                    *(
                        make_histogram(
                            f"shared atomics, blocks of {block}",
                            ms,
                            "privatized",
                            "unsigned",
                            512,
                            0,
                            (1 << 26) // block,
                            block,
                        )
                        for block, ms in zip(blocks, shared, strict=True)
                    ),
                ),
                clock_mhz=clock,
            )
        )
    return [
        dataclasses.replace(ladder, rungs=tuple(Rung(*each) for each in ladder.rungs))
        for ladder in made
    ]


# The command -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def compile_rung(file, kernel, options, capability):
    """The kernel of a rung for an architecture."""
    source = (FOLDER / f"ladder_{file}.cu").read_text(encoding="utf-8")
    options = (
        *(word.replace("=uchar", "=unsigned char") for word in options),
        f"-arch=sm_{capability}",
    )
    return smemkit.RawKernel(source, kernel, options=options)


def predict_rung(ladder, rung, operands):
    """The row of a rung."""
    card = ladder.find_card()
    kernel = compile_rung(
        rung.file, rung.kernel, rung.options, card.compute_capability.replace(".", "")
    )
    done = smemkit.predict(kernel, rung.grid, rung.block, operands, device=card)
    return {
        "ladder": ladder.name,
        "rung": rung.name,
        "measured_ms": float(f"{rung.measured_ms:.6g}"),
        "predicted_ms": float(f"{done.time_ms:.6g}"),
        "low_ms": float(f"{done.low_ms:.6g}"),
        "high_ms": float(f"{done.high_ms:.6g}"),
        "limited_by": done.limited_by,
    }


def predict_ladder(ladder):
    """All rungs predicted."""
    operands = ladder.operands()
    for rung in ladder.rungs:
        row = predict_rung(ladder, rung, operands)
        print(
            f"{ladder.name} | {rung.name} | {row['measured_ms']:.4g} | {row['predicted_ms']:.4g} | "
            f"{row['predicted_ms'] / row['measured_ms']:.2f} {row['limited_by']}",
            flush=True,
        )
        yield row


def find_order(rows):
    """Kendall's tau of rows, of pairs whose published times differ by more than ALIKE."""
    pairs = [
        find_tau([(a["measured_ms"], a["predicted_ms"]), (b["measured_ms"], b["predicted_ms"])])
        for i, a in enumerate(rows)
        for b in rows[:i]
        if abs(math.log(a["measured_ms"] / b["measured_ms"])) > ALIKE
    ]
    return statistics.mean(pairs) if pairs else None


def sum_up(ladder, rows):
    """Median error and order of a ladder."""
    errors = [abs(row["predicted_ms"] / row["measured_ms"] - 1) for row in rows]
    return {"median": statistics.median(errors) if ladder.timed else None, "tau": find_order(rows)}


def group_rows(rows):
    """(ladder, its rows) of all ladders."""
    for ladder in list_ladders():
        yield ladder, [row for row in rows if row["ladder"] == ladder.name]


def write_summary(rows):
    """The table by ladder."""
    lines = [
        "| ladder | rows | median error | tau | clock, MHz | source |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for ladder, members in group_rows(rows):
        facts = sum_up(ladder, members)
        median = "-" if facts["median"] is None else f"{facts['median']:.0%}"
        tau = "-" if facts["tau"] is None else f"{facts['tau']:.2f}"
        words = f"{ladder.source}; {ladder.note}" if ladder.note else ladder.source
        lines.append(
            f"| {ladder.name} | {len(members)} | {median} | {tau} | "
            f"{ladder.find_card().clock_mhz:.0f} | {words} |"
        )
    timed = [row for ladder, members in group_rows(rows) if ladder.timed for row in members]
    errors = [abs(row["predicted_ms"] / row["measured_ms"] - 1) for row in timed]
    near = sum(error <= GOALS["near"] for error in errors) / len(errors)
    lines.append(
        f"| **all with times** | {len(errors)} | {statistics.median(errors):.0%} | | | "
        f"within 30 %: {near:.0%} |"
    )
    return "\n".join(lines)


def write_rows(rows):
    """The table of all rungs."""
    lines = [
        "| ladder | rung | published, ms | predicted, ms | range, ms | error | limit |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for ladder, members in group_rows(rows):
        for row in members:
            error = row["predicted_ms"] / row["measured_ms"] - 1
            lines.append(
                f"| {ladder.name}, {ladder.work} | {row['rung']} | {row['measured_ms']:.4g} | "
                f"{row['predicted_ms']:.4g} | {row['low_ms']:.4g} to {row['high_ms']:.4g} | "
                f"{error:+.0%} | {row['limited_by']} |"
            )
    return "\n".join(lines)


def fill_page(text, rows):
    """The page with its tables made of the rows."""
    text = fill(text, "ladders", write_summary(rows))
    return fill(text, "rungs", write_rows(rows))


def read_rows():
    """The rows of the file."""
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ladder", default="", help="only those whose name has the text")
    chosen = parser.parse_args()
    ladders = list_ladders()
    known = {(row["ladder"], row["rung"]): row for row in read_rows()}
    for ladder in ladders:
        if chosen.ladder in ladder.name:
            known |= {(row["ladder"], row["rung"]): row for row in predict_ladder(ladder)}
    places = [(ladder.name, rung.name) for ladder in ladders for rung in ladder.rungs]
    rows = [known[place] for place in places if place in known]
    lines = ",\n".join(json.dumps(row) for row in rows)
    FOUND.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    if len(rows) == len(places):
        PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
        print(write_summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
