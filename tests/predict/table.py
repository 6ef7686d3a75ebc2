"""The table of predictions: every timed launch of the recorded H200, predicted.

    python tests/run.py predict.table [--rows TEXT]
    python tests/run.py predict.table --repeat OTHER.json --changed gemm/direct ...

It predicts all rows of the part "variants" of the record, none of which its constants rest on, and
writes tests/predict/predicted_h200.json and the tables of docs/predict.md. --rows: only those whose
family begins so; the others keep what the file says. --repeat: takes the times of another record of
the same kernels, but for those that have changed between both, into repeats_h200.json; they tell
by how much two kernels must differ to be in any order at all.
"""

import argparse
import collections
import itertools
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
REPEATS = Path(__file__).with_name("repeats_h200.json")
CLOSE = 0.1  # pairs of kernels whose times differ by less tell how certain an order is
PAGE = ROOT / "docs" / "predict.md"
NAMES = ("family", "variant", "shape", "dtype", "parameters", "cache")
PAIRS_MOST = 8  # of a ladder in wrong order that the page names
GOALS = {"median": 0.15, "near": 0.3, "share": 0.9, "tau": 0.9}


def list_rows(record=None):
    """The measured rows of the record, each as a dict that names it and its time."""
    rows = []
    for row in (record or bench.recorded("h200", part="variants")).rows:
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


def take_repeats(path, changed):
    """What another record of the same kernels measured, in the order of the rows of ours."""
    other = bench.load(path)
    times = {name_row(row): row["measured_ms"] for row in list_rows(other)}
    rows = [
        {**{name: row[name] for name in NAMES}, "measured_ms": times[name_row(row)]}
        for row in list_rows()
        if name_row(row) in times and f"{row['family']}/{row['variant']}" not in changed
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = json.dumps({"device": other.provenance["device"], "date": other.provenance["date"]})
    REPEATS.write_text(f'{{"provenance": {head},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")


def find_certainty(rows, repeats):
    """(by how much the ratio of two times of a ladder changes in nine of ten, such pairs).

    rows, repeats: of two records. Of pairs that differ by less than CLOSE in both.
    """
    again = {name_row(row): row["measured_ms"] for row in repeats}
    changes = []
    for ladder in list_ladders([row for row in rows if name_row(row) in again]):
        for fast, slow in itertools.combinations(ladder, 2):
            first = slow["measured_ms"] / fast["measured_ms"]
            second = again[name_row(slow)] / again[name_row(fast)]
            if max(first, second, 1 / second) < 1 + CLOSE:
                changes.append(abs(first / second - 1))
    return statistics.quantiles(changes, n=10)[-1], len(changes)


def list_misplaced(ladder, certainty):
    """Pairs of a ladder in wrong order: (faster, slower, by how much it is, whether noise may be).

    certainty: measured times that differ by less may be in either order.
    """
    found = []
    for fast, slow in itertools.combinations(ladder, 2):
        if fast["predicted_ms"] >= slow["predicted_ms"]:
            gap = slow["measured_ms"] / fast["measured_ms"] - 1
            found.append((fast, slow, gap, gap < certainty))
    return found


def find_clear_tau(ladder, certainty):
    """Kendall's tau over the pairs of a ladder whose measured times tell their order."""
    clear = sum(
        slow["measured_ms"] / fast["measured_ms"] - 1 >= certainty
        for fast, slow in itertools.combinations(ladder, 2)
    )
    wrong = sum(not noise for *_, noise in list_misplaced(ladder, certainty))
    return 1 - 2 * wrong / clear if clear else 1.0


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
    repeats = json.loads(REPEATS.read_text(encoding="utf-8"))
    certainty, pairs = find_certainty(rows, repeats["rows"])
    clear = [find_clear_tau(ladder, certainty) for ladder in ladders]
    lines = [
        f"Of {len(ladders)} ladders, {sum(tau >= goal for tau in taus)} have a tau of {goal} or "
        f"more, and {sum(tau >= goal for tau in clear)} over the pairs whose order is certain. "
        f"Another record of the same kernels (`repeats_h200.json`, {len(repeats['rows'])} rows) "
        f"tells which these are: of {pairs} pairs in a ladder whose times differ by less than "
        f"{CLOSE:.0%}, the ratio of both times was another one by less than {certainty:.1%} in "
        "nine of ten. What differs by less is noise. The other ladders, and what stands in wrong "
        "order there (by how much the slower one was slower):",
        "",
        "| ladder | tau | where the order is certain | pairs in wrong order |",
        "| --- | ---: | ---: | --- |",
    ]
    for ladder, tau, certain in zip(ladders, taus, clear, strict=True):
        if tau >= goal:
            continue
        row = ladder[0]
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        words = [row["family"], row["dtype"], *row["parameters"].values(), shape, row["cache"]]
        wrong = [
            f"{fast['variant']} before {slow['variant']} ({'noise, ' if noise else ''}{gap:.1%})"
            for fast, slow, gap, noise in list_misplaced(ladder, certainty)
        ]
        named = ", ".join(wrong[:PAIRS_MOST]) + (", ..." if len(wrong) > PAIRS_MOST else "")
        lines.append(f"| {' '.join(words)} | {tau:.2f} | {certain:.2f} | {named} |")
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
    parser.add_argument("--repeat", type=Path, help="another record of the same kernels")
    parser.add_argument("--changed", nargs="*", default=(), help="kernels that it has otherwise")
    chosen = parser.parse_args()
    if chosen.repeat:
        take_repeats(chosen.repeat, chosen.changed)
        return 0
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
