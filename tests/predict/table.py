"""The table of predictions: every timed launch of the recorded H200, predicted.

    python tests/run.py predict.table [--rows TEXT]

It predicts all rows of the part "variants" of the record, none of which its constants rest on, and
writes tests/predict/predicted_h200.json and the tables of docs/predict.md. --rows: only those whose
family begins so; the others keep what the file says.
"""

import argparse
import collections
import json
import math
import statistics
import sys
from pathlib import Path

import numpy

import smemkit
from smemkit import bench
from smemkit.bench.workloads import make_workload

ROOT = Path(__file__).resolve().parents[2]
FOUND = Path(__file__).with_name("predicted_h200.json")
PAGE = ROOT / "docs" / "predict.md"
NAMES = ("family", "variant", "shape", "dtype", "parameters", "cache")
PAIRS_MOST = 8  # of a ladder in wrong order that the page names
GOALS = {"median": 0.15, "near": 0.3, "share": 0.9, "tau": 0.9}


def list_rows():
    """The measured rows of the record, each as a dict that names it and its time."""
    rows = []
    for row in bench.recorded("h200", part="variants").rows:
        if row.machine == "cuda" and row.times_ms:
            rows.append(
                {
                    "family": row.family,
                    "variant": row.variant,
                    "shape": list(row.shape),
                    "dtype": str(row.dtype),
                    "parameters": dict(row.parameters),
                    "cache": row.cache,
                    "measured_ms": float(f"{statistics.median(row.times_ms):.6g}"),
                    "spread": round(find_spread(row.times_ms), 4),
                }
            )
    return rows


def find_spread(times):
    """The middle four fifths of times, as a share of their median."""
    low, *_, high = statistics.quantiles(times, n=10) if len(times) > 1 else times * 2
    return (high - low) / statistics.median(times)


def name_row(row):
    """What tells a row from all others."""
    return json.dumps(
        [row[k] for k in ("family", "variant", "shape", "dtype", "parameters", "cache")]
    )


def predict_row(row, inputs, case):
    """The row with its prediction."""
    out = numpy.empty(case.result_shape, case.result_dtype)
    done = smemkit.predict(
        lambda: case.call(inputs, out, row["variant"]), device="h200", cache=row["cache"] or "warm"
    )
    return {
        **row,
        "predicted_ms": float(f"{done.time_ms:.6g}"),
        "low_ms": float(f"{done.low_ms:.6g}"),
        "high_ms": float(f"{done.high_ms:.6g}"),
        "limited_by": done.limited_by,
    }


def predict_rows(rows, say=print):
    """All rows predicted, those of one workload with the same operands."""
    groups = collections.defaultdict(list)
    for row in rows:
        key = row["family"], tuple(row["shape"]), row["dtype"], json.dumps(row["parameters"])
        groups[key].append(row)
    for (family, shape, dtype, parameters), members in groups.items():
        case = make_workload(family, shape, dtype, json.loads(parameters))
        inputs = case.make_inputs(numpy.random.default_rng(1))
        for row in members:
            done = predict_row(row, inputs, case)
            say(
                f"{family} {row['variant']} {shape} {done['predicted_ms'] / row['measured_ms']:.2f}"
            )
            yield done


def find_error(row):
    """The relative error of a row."""
    return row["predicted_ms"] / row["measured_ms"] - 1


def find_tau(pairs):
    """Kendall's rank correlation of (measured, predicted) pairs.

    >>> find_tau([(1, 10), (2, 20), (3, 15)])
    0.3333333333333333
    """
    signs = [
        math.copysign(1, (a[0] - b[0]) * (a[1] - b[1]))
        for i, a in enumerate(pairs)
        for b in pairs[:i]
    ]
    return sum(signs) / len(signs)


def list_ladders(rows):
    """The rows of each ladder, the fastest first: of three and more variants at one shape."""
    ladders = collections.defaultdict(list)
    for row in rows:
        key = [row[name] for name in ("family", "shape", "dtype", "parameters", "cache")]
        ladders[json.dumps(key)].append(row)
    return [
        sorted(members, key=lambda row: row["measured_ms"])
        for members in ladders.values()
        if len(members) > 2
    ]


def list_taus(rows):
    """Kendall's tau of each ladder."""
    return [
        find_tau([(row["measured_ms"], row["predicted_ms"]) for row in ladder])
        for ladder in list_ladders(rows)
    ]


def list_misplaced(ladder):
    """Pairs of a ladder in wrong order: (faster, slower, by how much it is, whether noise may be).

    Measured times that differ by less than the larger of their spreads may be in either order.
    """
    found = []
    for i, fast in enumerate(ladder):
        for slow in ladder[i + 1 :]:
            if fast["predicted_ms"] >= slow["predicted_ms"]:
                gap = slow["measured_ms"] / fast["measured_ms"] - 1
                found.append((fast, slow, gap, gap < max(fast["spread"], slow["spread"])))
    return found


def sum_up(rows):
    """What is said of some rows: their number, errors, and how many lie in their range."""
    errors = [abs(find_error(row)) for row in rows]
    inside = [row["low_ms"] <= row["measured_ms"] <= row["high_ms"] for row in rows]
    taus = list_taus(rows)
    return {
        "rows": len(rows),
        "median": statistics.median(errors),
        "near": sum(error <= GOALS["near"] for error in errors) / len(rows),
        "inside": sum(inside) / len(rows),
        "tau": statistics.median(taus) if taus else None,
    }


def write_summary(rows):
    """The table by family."""
    families = dict.fromkeys(row["family"] for row in rows)
    parts = [(name, [row for row in rows if row["family"] == name]) for name in families]
    lines = [
        "| family | rows | median error | within 30 % | in the range | median tau of ladders |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, members in [*parts, ("**all**", rows)]:
        facts = sum_up(members)
        tau = "-" if facts["tau"] is None else f"{facts['tau']:.2f}"
        lines.append(
            f"| {name} | {facts['rows']} | {facts['median']:.1%} | {facts['near']:.0%} | "
            f"{facts['inside']:.0%} | {tau} |"
        )
    return "\n".join(lines)


def write_order(rows):
    """What is said of the order inside ladders, and the ladders that are not as they should be."""
    ladders = list_ladders(rows)
    taus = list_taus(rows)
    goal = GOALS["tau"]
    clear = []
    for ladder in ladders:
        pairs = len(ladder) * (len(ladder) - 1) / 2
        wrong = sum(1 for *_, noise in list_misplaced(ladder) if not noise)
        clear.append(1 - 2 * wrong / pairs)
    lines = [
        f"Of {len(ladders)} ladders, {sum(tau >= goal for tau in taus)} have a tau of {goal} or "
        f"more, and {sum(tau >= goal for tau in clear)} where pairs count as right whose measured "
        "times differ by less than their spread. The others, and what stands in wrong order there "
        "(by how much the slower one was slower):",
        "",
        "| ladder | tau | without noise | pairs in wrong order |",
        "| --- | ---: | ---: | --- |",
    ]
    for ladder, tau, without in zip(ladders, taus, clear, strict=True):
        if tau >= goal:
            continue
        row = ladder[0]
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        words = [row["family"], row["dtype"], *row["parameters"].values(), shape, row["cache"]]
        wrong = [
            f"{fast['variant']} before {slow['variant']} ({'noise, ' if noise else ''}{gap:.1%})"
            for fast, slow, gap, noise in list_misplaced(ladder)
        ]
        pairs = ", ".join(wrong[:PAIRS_MOST]) + (", ..." if len(wrong) > PAIRS_MOST else "")
        lines.append(f"| {' '.join(words)} | {tau:.2f} | {without:.2f} | {pairs} |")
    return "\n".join(lines)


def write_rows(rows):
    """The table of all rows."""
    lines = [
        "| call | shape | cache | measured, ms | predicted, ms | range, ms | error | limit |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        words = [row["family"], row["variant"], row["dtype"], *row["parameters"].values()]
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        lines.append(
            f"| {' '.join(words)} | {shape} | {row['cache']} | {row['measured_ms']:.4g} | "
            f"{row['predicted_ms']:.4g} | {row['low_ms']:.4g} to {row['high_ms']:.4g} | "
            f"{find_error(row):+.0%} | {row['limited_by']} |"
        )
    return "\n".join(lines)


def fill(text, name, made):
    """The text with what stands between the marks of that name made anew."""
    head, _, rest = text.partition(f"<!-- {name} -->")
    _, _, tail = rest.partition(f"<!-- /{name} -->")
    return f"{head}<!-- {name} -->\n{made}\n<!-- /{name} -->{tail}"


def fill_page(text, rows):
    """The page with its tables made of the rows."""
    text = fill(text, "summary", write_summary(rows))
    text = fill(text, "order", write_order(rows))
    return fill(text, "rows", write_rows(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="", help="only of families that begin so")
    chosen = parser.parse_args()
    known = {}
    if FOUND.exists():
        known = {name_row(row): row for row in json.loads(FOUND.read_text(encoding="utf-8"))}
    rows = list_rows()
    wanted = [row for row in rows if row["family"].startswith(chosen.rows)]
    known |= {name_row(row): row for row in predict_rows(wanted)}
    done = [{**row, **known[name_row(row)], **row} for row in rows if name_row(row) in known]
    lines = ",\n".join(json.dumps(row) for row in done)
    FOUND.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    if len(done) == len(rows):
        PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), done), encoding="utf-8")
    print(write_summary(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
