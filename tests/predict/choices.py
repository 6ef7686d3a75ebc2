"""What "auto" takes on cards on which no kernel was measured, and what by an H200's order.

    python tests/run.py predict.choices [--card "RTX 3060"]

For calls of other shapes than those that the table of slowdowns rests on, it predicts each variant
on each card, and writes tests/predict/choices.json and the table of docs/predict.md.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

from predict.slowdowns import make_arrays
from predict.table import PAGE, fill

import smemkit
from smemkit import _core
from smemkit.bench.workloads import make_workload
from smemkit.predict.fit import read_capability

FOUND = Path(__file__).with_name("choices.json")
CARDS = ("T4", "RTX 3060", "A100", "RTX 4090")
WHICH = ("taken", "usual")
SUM = {"op": "sum"}
CALLS = (
    *(("gemm", (n, n, n), "float32", {}) for n in (256, 1000, 3000)),
    ("gemm", (512, 12288, 512), "float32", {}),
    ("gemm", (6000, 48, 6000), "float32", {}),
    ("gemm", (3072, 3072, 4), "float32", {}),
    ("gemm", (1500, 1500, 1500), "float64", {}),
    ("transpose", (3000, 5000), "float32", {}),
    ("transpose", (6000, 6000), "uint8", {}),
    ("reduce", (1_000_000,), "float32", SUM),
    ("reduce", (40_000_000,), "float64", SUM),
    ("reduce_axis", (300, 70_000, 1), "float32", SUM),
    ("reduce_axis", (1, 3000, 5000), "float32", SUM),
    ("reduce_axis", (1, 4_000_000, 5), "float32", SUM),
    ("scan", (1_000_000,), "float32", {**SUM, "kind": "inclusive"}),
    ("scan", (20_000_000,), "float64", {**SUM, "kind": "inclusive"}),
    ("dot", (10_000_000,), "float32", {}),
    ("smooth", (10_000_000,), "float32", {}),
    ("conv2d", (2000, 3000, 7, 7), "float32", {}),
    ("conv2d", (2000, 3000, 3, 3), "float64", {}),
    ("histogram", (2_000_000, 257, 256), "uint8", {"values": "uniform"}),
    ("histogram", (20_000_000, 101, 100), "float32", {"values": "uniform"}),
    ("vector_add", (10_000_000,), "float32", {}),
    ("gather", (5_000_000, 5_000_000), "float32", {"order": "random"}),
)


def choose(case, inputs, out, card, by_predictions):
    """(the variant that "auto" takes on a card, all that it weighs there)."""
    major, minor = read_capability(card.compute_capability)
    name = card.name if by_predictions else None  # without a name the order is that of an H200
    before = _core._plan_for((name, 10 * major + minor, int(card.multiprocessors)))
    try:
        words = {**case.keywords, "out": out, "backend": "sim"}
        facts = _core._explain_choice(case.family, *inputs, **words)
    finally:
        _core._plan_for(before)
    able = [row for row in facts["candidates"] if row["takes_part"] and row["refusal"] is None]
    return facts["taken"], [row["variant"] for row in able]


def try_call(card, words):
    """A call on a card: what was taken, what is taken, and the predicted time of each variant."""
    case = make_workload(*words)
    inputs, out = make_arrays(case)
    usual, able = choose(case, inputs, out, card, by_predictions=False)
    taken, _ = choose(case, inputs, out, card, by_predictions=True)
    times = {}
    for variant in able:
        try:
            found = smemkit.predict(case.call, inputs, out, variant, device=card)
        except smemkit.Error as error:
            print(f"{card.name}: {case.name}: {variant}: {error}", file=sys.stderr)
            continue
        times[variant] = float(f"{found.time_ms:.4g}")
    family, shape, dtype, parameters = words
    head = {"card": card.name, "family": family, "shape": list(shape), "dtype": dtype}
    return {**head, "parameters": parameters, "usual": usual, "taken": taken, "times_ms": times}


def find_gain(row):
    """How many times as long as what is taken now takes what an H200's order takes."""
    return row["times_ms"][row["usual"]] / row["times_ms"][row["taken"]]


def find_loss(row, which):
    """How many times as long as the fastest variant takes the one that is chosen."""
    return row["times_ms"][row[which]] / min(row["times_ms"].values())


def write_summary(rows):
    """A line for each card."""
    lines = [
        "| card | calls | of them another variant | as fast as the best within 10 % | by an H200's "
        "order | times as fast, where another | most |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in dict.fromkeys(row["card"] for row in rows):
        members = [row for row in rows if row["card"] == name]
        other = [row for row in members if row["usual"] != row["taken"]]
        gains = [find_gain(row) for row in other] or [1.0]
        near = [sum(find_loss(row, which) <= 1.1 for row in members) for which in WHICH]
        mean = math.exp(statistics.fmean(map(math.log, gains)))
        lines.append(
            f"| {name} | {len(members)} | {len(other)} | {near[0] / len(members):.0%} | "
            f"{near[1] / len(members):.0%} | {mean:.2f} | {max(gains):.2f} |"
        )
    return "\n".join(lines)


def write_changes(rows):
    """A line for each call of which another variant is taken."""
    lines = [
        "| card | call | shape | by an H200's order | ms | now | ms | fastest | ms |",
        "| --- | --- | --- | --- | ---: | --- | ---: | --- | ---: |",
    ]
    for row in rows:
        if row["usual"] == row["taken"]:
            continue
        times = row["times_ms"]
        best = min(times, key=times.get)
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        lines.append(
            f"| {row['card']} | {row['family']} {row['dtype']} | {shape} | {row['usual']} | "
            f"{times[row['usual']]:.4g} | {row['taken']} | {times[row['taken']]:.4g} | {best} | "
            f"{times[best]:.4g} |"
        )
    return "\n".join(lines)


def fill_page(text, rows):
    """The page with its table made of the rows."""
    return fill(text, "choices", f"{write_summary(rows)}\n\n{write_changes(rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--card", action="append", help="only these")
    chosen = parser.parse_args()
    names = chosen.card or CARDS
    known = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else []
    rows = [row for row in known if row["card"] not in names]
    for name in names:
        for words in CALLS:
            rows.append(try_call(smemkit.card(name), words))
            print(json.dumps(rows[-1]), flush=True)
        rows.sort(key=lambda row: CARDS.index(row["card"]))
        lines = ",\n".join(json.dumps(row) for row in rows)
        FOUND.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print(write_summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
