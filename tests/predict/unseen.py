"""Predictions of kernels that the package does not have, beside their times on an H200.

    python tests/run.py predict.unseen --measure   # on an H200; writes unseen_h200.json
    python tests/run.py predict.unseen             # predicts them; fills docs/predict.md

"blind_ms" of the record are predictions that were made before the kernels were timed; the model has
been mended since. unseen_kernels.ptx is what nvcc 13.0 makes of unseen_kernels.cu by
`nvcc -ptx -arch=sm_75 -O3`.
"""

import argparse
import functools
import json
import statistics
import sys
from pathlib import Path

import numpy
from predict.table import PAGE, fill

import smemkit
from smemkit.bench import Stopwatch, timing
from smemkit.bench.results import describe_run

FOLDER = Path(__file__).resolve().parent
FOUND = FOLDER / "unseen_h200.json"
CASES = {}


def case(function):
    """Registers a function that gives (grid, block, arguments, bytes of dynamic shared memory)."""
    CASES[function.__name__] = function
    return function


@functools.cache
def load(name):
    """The kernel of a case."""
    ptx = (FOLDER / "unseen_kernels.ptx").read_text(encoding="utf-8")
    return smemkit.RawKernel(ptx, name)


def make_random(count, dtype=numpy.float32, most=1 << 30):
    """Numbers that are the same in each run."""
    random = numpy.random.RandomState(7)
    if numpy.dtype(dtype).kind == "f":
        return random.rand(count).astype(dtype)
    return random.randint(1, most, count).astype(dtype)


@case
def stencil7():
    n = 256
    arrays = make_random(n**3), numpy.empty(n**3, numpy.float32)
    return (n // 32, n // 8), (32, 8), [*arrays, *map(numpy.int32, (n, n, n))], 0


@case
def matvec_warp():
    n = 8192
    arrays = make_random(n * n), make_random(n), numpy.empty(n, numpy.float32)
    return (n // 8,), (256,), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def matvec_thread():
    n = 8192
    arrays = make_random(n * n), make_random(n), numpy.empty(n, numpy.float32)
    return (n // 128,), (128,), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def count64():
    n = 1 << 24
    arrays = make_random(n, numpy.uint32), numpy.zeros(64, numpy.uint32)
    return (528,), (256,), [*arrays, numpy.int32(n)], 0


@case
def softmax_rows():
    rows, columns = 8192, 2048
    arrays = make_random(rows * columns), numpy.empty(rows * columns, numpy.float32)
    return (rows,), (256,), [*arrays, numpy.int32(columns)], 0


@case
def embed():
    n, words = 1 << 18, 1 << 20
    arrays = (
        make_random(n, numpy.int32, words),
        make_random(words * 64),
        numpy.empty(n * 64, numpy.float32),
    )
    return (n // 8,), (256,), [*arrays, numpy.int32(n)], 0


@case
def collatz():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32, 1 << 20), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def double_chain():
    n = 1 << 22
    arrays = make_random(n, numpy.float64), numpy.empty(n, numpy.float64)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def special():
    n = 1 << 22
    arrays = make_random(n), numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def chains8():
    grid = 132 * 4
    out = numpy.empty(grid * 256, numpy.float32)
    return (grid,), (256,), [out, numpy.float32(0.5), numpy.int32(2000)], 0


@case
def chase():
    n = 1 << 23
    table = make_random(n, numpy.int32, n)
    return (132,), (64,), [table, numpy.empty(132 * 64, numpy.int32), numpy.int32(64)], 100 << 10


@case
def stride9():
    n = 1 << 22
    arrays = make_random(n * 9), numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def banks4():
    grid = 132 * 4
    out = numpy.empty(grid * 256, numpy.float32)
    return (grid,), (256,), [out, numpy.int32(2000)], 0


@case
def half_pairs_chain():
    grid = 132 * 4
    out = numpy.empty(grid * 256, numpy.uint32)
    return (grid,), (256,), [out, numpy.float32(0.5), numpy.int32(2000)], 0


@case
def hash():  # noqa: A001 - the name of its kernel
    n = 1 << 23
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def box9():
    n = 4096
    arrays = make_random(n * n), numpy.empty(n * n, numpy.float32)
    return (n // 32, n // 16), (32, 16), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def saxpy():
    n = 1 << 24
    return (
        (n // 256,),
        (256,),
        [make_random(n), make_random(n), numpy.float32(3), numpy.int32(n)],
        0,
    )


@case
def saxpy_small():
    n = 1 << 12
    return (
        (n // 256,),
        (256,),
        [make_random(n), make_random(n), numpy.float32(3), numpy.int32(n)],
        0,
    )


@case
def many_blocks():
    n = 1 << 26
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 32,), (32,), [*arrays, numpy.uint32(n)], 0


@case
def one_block_scan():
    n = 1 << 18
    return (1,), (1024,), [make_random(n), numpy.empty(n, numpy.float32), numpy.int32(n)], 0


@case
def tree_max():
    n = 1 << 24
    return (n // 1024,), (1024,), [make_random(n), numpy.empty(n // 1024, numpy.float32)], 0


@case
def sparse_rows():
    rows, each = 1 << 18, 16
    random = numpy.random.RandomState(11)
    first = numpy.zeros(rows + 1, numpy.int32)
    first[1:] = numpy.cumsum(random.randint(1, 2 * each, rows))
    columns = random.randint(0, rows, first[-1]).astype(numpy.int32)
    arrays = first, columns, make_random(len(columns)), make_random(rows)
    return (
        (rows // 128,),
        (128,),
        [*arrays, numpy.empty(rows, numpy.float32), numpy.int32(rows)],
        0,
    )


@case
def bodies():
    n = 1 << 15
    return (n // 256,), (256,), [make_random(4 * n), numpy.empty(4 * n, "f4"), numpy.int32(n)], 0


@case
def matmul_banks():
    n = 1024
    arrays = make_random(n * n), make_random(n * n), numpy.empty(n * n, numpy.float32)
    return (n // 32, n // 32), (32, 32), [*arrays, numpy.int32(n)], 0


@case
def jacobi_double():
    n = 4096
    arrays = make_random(n * n, numpy.float64), numpy.empty(n * n, numpy.float64)
    return (n // 32, n // 8), (32, 8), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def wmma_tiles():
    n = 2048
    arrays = make_random(n * n, "f2"), make_random(n * n, "f2"), numpy.empty(n * n, numpy.float32)
    return (n // 64, n // 64), (128,), [*arrays, numpy.int32(n)], 0


@case
def turned_image():
    n = 4096
    image = make_random(n * n).reshape(n, n)
    texture = functools.partial(smemkit.Texture, image, filter="linear")
    size = numpy.int32(n), numpy.int32(n)
    angle = numpy.float32(0.8), numpy.float32(0.6)
    out = numpy.empty(n * n, numpy.float32)
    return (n // 32, n // 8), (32, 8), [texture, out, *size, *angle], 0


@case
def printing():
    n = 1 << 22
    return (n // 256,), (256,), [make_random(n), numpy.empty(n, numpy.float32), numpy.int32(n)], 0


@case
def count_skewed():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.zeros(4096, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def local_tables():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 128,), (128,), [*arrays, numpy.int32(n)], 0


@case
def sort_rows():
    rows = 4096
    return (rows,), (512,), [make_random(rows * 1024)], 0


@case
def remainders():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.uint32(1000003), numpy.int32(n)], 0


# ------------------------------------------------------------------------------------------------


def place(argument, backend):
    """An argument of a case on a machine: arrays are copied, textures are made."""
    if isinstance(argument, numpy.ndarray):
        return smemkit.asarray(argument, backend=backend)
    return argument(backend=backend) if isinstance(argument, functools.partial) else argument


def measure(seconds):
    """The record of the present GPU: the median of the times of each case, and their quantiles."""
    watch, rows = Stopwatch(seconds), []
    for name, make in CASES.items():
        grid, block, arguments, shared = make()
        placed = [place(each, "cuda") for each in arguments]
        kernel = load(name)
        call = functools.partial(kernel, grid, block, placed, shared_mem=shared, backend="cuda")
        call()
        times = sorted(watch.time(call, "warm"))
        spread = [times[len(times) // 5], times[-1 - len(times) // 5]]
        middle = float(f"{statistics.median(times):.6g}")
        rows.append({"kernel": name, "measured_ms": middle, "spread_ms": spread})
    facts = timing.describe_protocol("cuda")
    del facts["protocol"]
    return {"provenance": describe_run(**facts), "rows": rows}


def predict(name, device="h200"):
    """The prediction of a case."""
    grid, block, arguments, shared = CASES[name]()
    placed = [
        place(each, "sim") if isinstance(each, functools.partial) else each for each in arguments
    ]
    kernel = load(name)
    return smemkit.predict(
        lambda: kernel(grid, block, placed, shared_mem=shared, backend="sim"), device=device
    )


def predict_row(row):
    """The row of a record with its prediction."""
    done = predict(row["kernel"])
    return row | {
        "predicted_ms": float(f"{done.time_ms:.6g}"),
        "low_ms": float(f"{done.low_ms:.6g}"),
        "high_ms": float(f"{done.high_ms:.6g}"),
        "limited_by": done.limited_by,
    }


def list_errors(rows, name="predicted_ms"):
    """The relative errors of rows."""
    return [row[name] / row["measured_ms"] - 1 for row in rows]


def write_table(rows):
    """The table of the page."""
    lines = [
        "| kernel | measured, ms | predicted before, ms | error | predicted, ms | error | limit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row, before, now in zip(
        rows, list_errors(rows, "blind_ms"), list_errors(rows), strict=True
    ):
        lines.append(
            f"| {row['kernel']} | {row['measured_ms']:.4g} | {row['blind_ms']:.4g} | "
            f"{before:+.0%} | {row['predicted_ms']:.4g} | {now:+.0%} | {row['limited_by']} |"
        )
    before, now = (
        statistics.median(map(abs, list_errors(rows, name)))
        for name in ("blind_ms", "predicted_ms")
    )
    lines.append(f"| **median error** | | | {before:.0%} | | {now:.0%} | |")
    return "\n".join(lines)


def fill_page(text, rows):
    """The page with the table made of the rows."""
    return fill(text, "unseen", write_table(rows))


def write_record(record, path):
    """Writes a record, a row a line."""
    lines = ",\n".join(json.dumps(row) for row in record["rows"])
    head = json.dumps(record["provenance"], indent=1)
    path.write_text(f'{{"provenance": {head},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", action="store_true", help="time on the present GPU")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each kernel's samples")
    parser.add_argument("--out", type=Path, default=FOUND, help="of --measure")
    chosen = parser.parse_args()
    if chosen.measure:
        write_record(measure(chosen.seconds), chosen.out)
        return 0
    record = json.loads(FOUND.read_text(encoding="utf-8"))
    record["rows"] = [predict_row(row) for row in record["rows"]]
    write_record(record, FOUND)
    page = fill_page(PAGE.read_text(encoding="utf-8"), record["rows"])
    PAGE.write_text(page, encoding="utf-8")
    print(write_table(record["rows"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
