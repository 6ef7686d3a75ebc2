"""Predictions of kernels that the package does not have, beside their times on an H200.

    python tests/run.py predict.unseen --measure   # on an H200; writes unseen_h200.json
    python tests/run.py predict.unseen             # predicts them; fills docs/predict.md

"blind_ms" of the record are predictions that were made before the kernels were timed; the model has
been mended since. Rows with a date were timed then, the others when the record began. The .ptx
files are what nvcc 13.0 makes of the .cu files beside them by `nvcc -ptx -arch=sm_75 -O3`.
"""

import argparse
import functools
import json
import statistics
import sys
from pathlib import Path

import numpy
from predict import unseen_more_cases, unseen_usual_cases  # noqa: F401 - they fill CASES
from predict.table import PAGE, fill
from predict.unseen_cases import CASES

import smemkit
from smemkit.bench import Stopwatch, timing
from smemkit.bench.results import describe_run
from smemkit.predict.predict_call import BLOCKS

FOLDER = Path(__file__).resolve().parent
FOUND = FOLDER / "unseen_h200.json"
WAITING = ("take_turns", "pass_on")  # for other blocks: all of them are counted
PTX = [FOLDER / f"unseen_{part}.ptx" for part in ("kernels", "more", "others", "last", "usual")]


@functools.cache
def load(name):
    """The kernel of a case."""
    for path in PTX:
        ptx = path.read_text(encoding="utf-8")
        if f".entry {name}(" in ptx:
            return smemkit.RawKernel(ptx, name)
    raise KeyError(name)


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
        lambda: kernel(grid, block, placed, shared_mem=shared, backend="sim"),
        device=device,
        blocks=None if name in WAITING else BLOCKS,
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
