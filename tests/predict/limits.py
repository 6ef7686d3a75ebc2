"""The limits that predictions name, beside what Nsight Compute finds busiest on an H200.

    python tests/run.py predict.limits --measure   # on an H200 with ncu; writes limits_h200.json
    python tests/run.py predict.limits             # predicts the same calls; fills docs/predict.md

One launch of each variant of every family is measured, at a size in the middle of the recorded
ones: the share of its peak that each unit reaches, and why warps wait.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

import numpy
from predict.table import PAGE, fill
from predict.unseen import write_record

import smemkit
from smemkit import _core
from smemkit.bench import ncu, timing
from smemkit.bench.results import describe_run
from smemkit.bench.workloads import make_workload
from smemkit.predict.forecast import find_machine_code
from smemkit.predict.model import time_launch
from smemkit.predict.predict_call import BLOCKS
from smemkit.predict.registers import GUESS, count_registers

FOUND = Path(__file__).with_name("limits_h200.json")
SUM = {"op": "sum"}
CASES = (
    ("gemm", (1024, 1024, 1024), "float32", {}),
    ("transpose", (4096, 4096), "float32", {}),
    ("reduce_axis", (1, 8192, 8192), "float32", SUM),
    ("reduce_axis", (8192, 8192, 1), "float32", SUM),
    ("sort", (4096,), "float32", {}),
    ("dot", (16777216,), "float32", {}),
    ("smooth", (16777216,), "float32", {}),
    ("conv2d", (4096, 4096, 5, 5), "float32", {}),
    ("vector_add", (16777216,), "float32", {}),
    ("gather", (16777216, 16777216), "float32", {"order": "random"}),
    ("gather", (16777216, 16777216), "float32", {"order": "sequential"}),
    ("reduce", (16777216,), "float32", SUM),
    ("scan", (16777216,), "float32", {**SUM, "kind": "inclusive"}),
    ("histogram", (16777216, 257, 256), "uint8", {"values": "uniform"}),
    ("gemm", (1024, 1024, 1024), "float64", {}),
    ("transpose", (1024, 1024), "float32", {}),
    ("reduce", (1048576,), "float32", SUM),
    ("scan", (1048576,), "float32", {**SUM, "kind": "inclusive"}),
    ("histogram", (1048576, 257, 256), "uint8", {"values": "constant"}),
)
SHARES = (
    "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "breakdown:gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
)
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
REASONS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
)
DURATION = "gpu__time_duration.sum"
SHARE = re.compile(r"(\w+)\.avg\.pct_of_peak_sustained_elapsed")
STALL = re.compile(STALLED.format(r"(\w+)").replace(".ratio", r"\.ratio"))
# What a unit's name contains -> the limits that a prediction may name for it; the first one counts.
UNITS = (
    (r"dram", {"dram"}),
    (r"lts__|compute_memory|ltc__|xbar", {"l2", "l2 stores", "atomics"}),
    (r"wavefronts_mem_shared", {"shared"}),
    (r"l1tex__|pipe_lsu|mio", {"l1"}),
    (r"sm__inst_(executed|issued)$|issue_active", {"issue"}),
    (r"pipe_alu", {"alu"}),
    (r"pipe_fma|fmaheavy|fmalite", {"fma", "imad"}),
    (r"fp16|half", {"half", "half_mma"}),
    (r"fp64", {"double"}),
    (r"tensor|pipe_shared", {"tensor", "double"}),
    (r"pipe_xu", {"special", "convert"}),
    (r"uniform", {"uniform"}),
)
SHARED_PART = 0.8  # of the wavefronts of the L1 cache: from there on, shared memory takes them
PIPES = {"fma", "imad", "alu", "half", "half_mma", "double", "tensor", "special", "convert"}
STALLS = {
    "barrier": {"barriers"},
    "drain": {"l2 stores", "dram"},
    "lg_throttle": {"l1", "atomics"},
    "long_scoreboard": {"latency"},
    "math_pipe_throttle": PIPES,
    "membar": {"latency"},
    "mio_throttle": {"shared", "l1"},
    "no_instruction": {"issue", "latency"},
    "not_selected": {"issue"},
    "short_scoreboard": {"shared", "latency"},
    "wait": {"latency"},
}
MOST = 12  # units of a launch that are kept
OPTIONS = ("--cache-control", "none")


# Measuring ----------------------------------------------------------------------------------------


def make_calls(cases, budget):
    """Makes each call once; [case, variant] of those that succeed."""
    made, start = [], time.monotonic()
    for words in cases:
        if time.monotonic() - start > budget:
            break
        case = make_workload(*words)
        inputs = case.make_inputs(numpy.random.default_rng(timing.SEED))
        arrays = tuple(smemkit.asarray(array, backend="cuda") for array in inputs)
        out = smemkit.empty(case.result_shape, case.result_dtype, backend="cuda")
        for variant in timing.list_ours(case, whole=True):
            try:
                case.call(arrays, out, variant)
            except smemkit.Error as error:
                print(f"{case.name}: {variant}: {error}", file=sys.stderr)
                continue
            made.append([list(words), variant])
    return made


def name_variant(kernel, family):
    """The variant whose launch a kernel is, None where it is of another family.

    >>> name_variant("gemm_column_padded_float32", "gemm")
    'column_padded'
    """
    names = [name for name in smemkit.variants(family) if kernel.startswith(f"{family}_{name}_")]
    return max(names, key=len, default=None)


def split_launches(table, made):
    """The launches of each call: those that follow each other and have the variant's name."""
    parts, place = [], 0
    for (family, *_), variant in made:
        start = place
        while place < len(table) and name_variant(read_name(table[place]), family) == variant:
            place += 1
        parts.append(table[start:place])
    if place < len(table) or not all(parts):
        sys.exit(f"ncu saw {len(table)} launches, of which {place} fit {len(made)} calls")
    return parts


def read_name(row):
    """The name of a launch's kernel."""
    return row["Kernel Name"].partition("(")[0]


def read_value(text):
    """A number of ncu's table, 0 where it has none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


def read_launch(row):
    """What is kept of a launch: its name, microseconds, shares of units in percent, stalls."""
    units, stalls = {}, {}
    for name, value in row.items():
        if found := SHARE.fullmatch(name):
            units[found[1]] = round(read_value(value), 1)
        elif found := STALL.fullmatch(name):
            stalls[found[1]] = round(read_value(value), 2)
    busiest = sorted(units, key=lambda name: -units[name])[:MOST]
    return {
        "kernel": read_name(row),
        "us": round(read_value(row[DURATION]) / 1e3, 2),
        "units": {name: units[name] for name in busiest},
        "stalls": dict(sorted(stalls.items(), key=lambda item: -item[1])[:6]),
    }


def measure(budget, shares, keep=None, first=0):
    """The record of the present GPU; keep: where to write what ncu printed, and the calls."""
    options = ["--budget", str(budget), "--first", str(first)]
    metrics = {*shares, DURATION, *(STALLED.format(name) for name in REASONS)}
    text, made = ncu.run_ncu(metrics, "predict.limits", options, OPTIONS)
    if keep:
        keep.write_text(json.dumps([text, made]), encoding="utf-8")
    parts = split_launches(ncu.parse_csv(text), made)
    facts = timing.describe_protocol("cuda")
    del facts["protocol"]
    facts |= {"ncu": ncu.read_version(), "ncu_options": list(OPTIONS), "metrics": sorted(metrics)}
    rows = []
    for launches, ((family, shape, dtype, parameters), variant) in zip(parts, made, strict=True):
        longest = max(launches, key=lambda row: read_value(row[DURATION]))
        head = {"family": family, "variant": variant, "shape": shape, "dtype": dtype}
        rows.append({**head, "parameters": parameters, **read_launch(longest)})
    return {"provenance": describe_run(**facts), "rows": rows}


# Comparing ----------------------------------------------------------------------------------------


def name_unit(units):
    """(the busiest unit, the limits that stand for it)."""
    busiest = max(units, key=units.get)
    names = next((names for text, names in UNITS if re.search(text, busiest)), set())
    shared = units.get("l1tex__data_pipe_lsu_wavefronts_mem_shared", 0.0)
    if "l1" in names and shared >= SHARED_PART * units[busiest]:
        names = {"shared", "l1"}
    return busiest, names


def name_stall(stalls):
    """(why most warps wait, the limits that stand for it); "selected" is no waiting."""
    most = max((name for name in stalls if name != "selected"), key=stalls.get)
    return most, STALLS.get(most, set())


def agrees(row):
    """Is the limit that was predicted the busiest unit, or what most warps wait for?"""
    limits = name_unit(row["units"])[1] | name_stall(row["stalls"])[1]
    return row["limited_by"] in limits


def predict_limits(rows):
    """The rows with the limit that is predicted for the longest launch of each call."""
    for row in rows:
        words = row["family"], tuple(row["shape"]), row["dtype"], row["parameters"]
        case = make_workload(*words)
        inputs = case.make_inputs(numpy.random.default_rng(timing.SEED))
        out = numpy.empty(case.result_shape, case.result_dtype)
        yield row | {"limited_by": predict_limit(case, inputs, out, row)}


def predict_limit(case, inputs, out, row):
    """What limits the longest launch of a call, without the time to launch it."""
    card = smemkit.card("h200")
    arguments = ("profile", lambda: case.call(inputs, out, row["variant"]), (), {}, BLOCKS, True)
    _, launches = _core._capture(*arguments)
    times = []
    for facts in launches:
        code, _ = find_machine_code(facts, card)
        registers = count_registers(facts["kernel"], facts["ptx"], card.compute_capability)
        times.append(time_launch(facts, card, registers or GUESS, code))
    return max(times, key=lambda launch: launch.ms).limited_by


def write_table(rows):
    """The table of the page."""
    lines = [
        "| call | shape | predicted limit | busiest unit | of its peak | most warps wait for | |",
        "| --- | --- | --- | --- | ---: | --- | --- |",
    ]
    for row in rows:
        words = " ".join([row["family"], row["variant"], row["dtype"], *row["parameters"].values()])
        shape = " x ".join(f"{length:,}" for length in row["shape"])
        unit, stall = name_unit(row["units"])[0], name_stall(row["stalls"])[0]
        lines.append(
            f"| {words} | {shape} | {row['limited_by']} | {unit} | {row['units'][unit]:.0f}% | "
            f"{stall.replace('_', ' ')} | {'' if agrees(row) else 'differs'} |"
        )
    return "\n".join(lines)


def sum_up(rows):
    """The sentence of the page."""
    same = sum(map(agrees, rows))
    return (
        f"Of {len(rows)} launches, the limit that is predicted is Nsight Compute's busiest unit or "
        f"what most warps wait for in {same}, {same / len(rows):.0%}."
    )


def fill_page(text, rows):
    """The page with the sentence and the table made of the rows."""
    return fill(text, "limits", f"{sum_up(rows)}\n\n{write_table(rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("child", nargs="?", help="where the child that ncu watches writes its list")
    parser.add_argument("--measure", action="store_true", help="count on the present GPU")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds of the calls")
    parser.add_argument("--first", type=int, default=0, help="of CASES; those before it are kept")
    parser.add_argument("--out", type=Path, default=FOUND, help="of --measure")
    parser.add_argument("--keep", type=Path, help="where to write what ncu printed")
    parser.add_argument("--shares", nargs="*", default=SHARES, help="metrics of shares, of ncu")
    chosen = parser.parse_args()
    if chosen.child:
        Path(chosen.child).write_text(json.dumps(make_calls(CASES[chosen.first :], chosen.budget)))
        return 0
    if chosen.measure:
        record = measure(chosen.budget, chosen.shares, chosen.keep, chosen.first)
        kept = json.loads(FOUND.read_text(encoding="utf-8"))["rows"] if chosen.first else []
        write_record(record | {"rows": [*kept, *record["rows"]]}, chosen.out)
        return 0
    record = json.loads(FOUND.read_text(encoding="utf-8"))
    record["rows"] = list(predict_limits(record["rows"]))
    write_record(record, FOUND)
    PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), record["rows"]), encoding="utf-8")
    print(sum_up(record["rows"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
