"""Counts of Nsight Compute beside those of the simulator, launch by launch.

A child process makes every call once on the GPU under ncu; the same calls are then counted on the
simulator. The results of all are checked on both machines. The exit status is 0 where all counts
are equal, but for those that a file of --cases explains, and all results are right.
"""

import argparse
import csv
import datetime
import functools
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy

import smemkit

from .. import _core
from ..report import profile
from ..report.counts import counters as list_counters
from . import workloads
from .timing import read_driver

# Counters of these kinds must be equal. Instructions and branches are counted in PTX by the
# simulator, and in machine code by Nsight Compute.
HELD = ("shared.", "global.", "local.", "async.")
PERMISSION = "ERR_NVGPUCTRPERM"


@dataclass
class Row:
    """One call and the name of its launches. make() -> (call, check)."""

    kernel: str
    case: str
    make: object


# Launches ----------------------------------------------------------------------------------------


def _list_family(family):
    """Every kernel of a family, at each of its sizes."""
    for number, sizes in enumerate(workloads.list_sizes(family)):
        choices = workloads.list_choices(family, regular=number == 0)
        for variant, facts in smemkit.variants(family).items():
            for dtype, keywords in itertools.product(facts["dtypes"], choices):
                sample = functools.partial(_make_sample, family, sizes, dtype, keywords)
                made = sample()
                yield Row(made.entry(variant), made.label, _make_call(sample, variant))


def _make_sample(family, sizes, dtype, keywords):
    """A sample with the same numbers in every run and NumPy version."""
    seed = zlib.crc32(repr((family, sizes, dtype, keywords)).encode())
    return workloads.make_sample(family, sizes, dtype, numpy.random.RandomState(seed), keywords)


def _make_call(sample, variant):
    def make():
        made = sample()

        def call(backend):
            if backend == "sim":
                report = profile(lambda: made.call(variant, backend))
                return report.result, report
            return made.call(variant, backend), None

        return call, lambda result: made.check(result, variant)

    return make


def _make_case(case):
    def make():
        launch = case.make()
        kernel = smemkit.RawKernel(case.ptx, case.entry)

        def call(backend):
            place = (launch.grid, launch.block, launch.args)
            if backend == "sim":
                return None, profile(kernel, *place, shared_mem=launch.shared)
            kernel(*place, shared_mem=launch.shared, backend=backend)
            return None, None

        def check(result):
            launch.check()

        return call, check

    return make


def _load_file(path):
    """A Python file with CASES, as a module."""
    path = Path(path)
    if not path.is_file():
        raise _core.ArgumentError(f"--cases: there is no file {path}")
    spec = importlib.util.spec_from_file_location("smemkit_compared_" + path.stem, path)
    if spec is None:
        raise _core.ArgumentError(f"--cases: {path} is no Python file: its name ends otherwise")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not getattr(module, "CASES", None):
        raise _core.ArgumentError(f"--cases: {path} has no CASES")
    return module


def list_rows(families, files):
    """All calls, in the order in which they are made.

    Parameters
    ----------
    families : names of kernel families of the package
    files : Python files whose CASES are objects with .name, .label, .entry, .ptx and .make(), which
        returns an object with .grid, .block, .shared, .args and .check()

    Returns
    -------
    list of Row
    """
    rows, known = [], workloads.list_families()
    for family in families:
        if family not in known:
            raise _core.ArgumentError(
                f"--family: {family!r} cannot be compared; known: {', '.join(known)}"
            )
        rows += _list_family(family)
    for path in files:
        rows += [Row(case.name, case.label, _make_case(case)) for case in _load_file(path).CASES]
    return rows


def choose_rows(chosen):
    """The calls that the options select."""
    rows = list_rows(chosen.family, chosen.cases)
    if chosen.add:
        known = read_table(chosen.add)["rows"]
        calls = {(row["kernel"], re.sub(r", launch \d+$", "", row["case"])) for row in known}
        rows = [row for row in rows if (row.kernel, row.case) not in calls]
    return rows


def list_explained(files):
    """{(kernel, counter): reason} from EXPLAINED of the files that define it."""
    explained = {}
    for path in files:
        explained |= getattr(_load_file(path), "EXPLAINED", {})
    return explained


def held_counters():
    """The counters that both machines must agree on: {name: list of metrics that add up to it}."""
    ratios = {row["name"] for row in _core._counters() if row["ratio"]}
    return {
        name: facts["ncu"].split("+")
        for name, facts in list_counters().items()
        if facts["ncu"] and name not in ratios and name.startswith(HELD)
    }


# Nsight Compute ----------------------------------------------------------------------------------


def refuse_errors(text):
    """Raises BackendError where ncu reports an error."""
    if PERMISSION in text:
        raise _core.BackendError(
            f"ncu may not read the GPU's counters ({PERMISSION}): an administrator must allow it, "
            "see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        )
    errors = [line for line in text.splitlines() if line.startswith("==ERROR==")]
    if errors:
        raise _core.BackendError("ncu: " + "; ".join(line[9:].strip() for line in errors))


def parse_csv(text):
    """What `ncu --csv --page raw --print-units base` printed, one dict a launch.

    Parameters
    ----------
    text : str
        Lines before the header start with ==; the row after the header holds units.

    Returns
    -------
    list of dict from column to text

    Raises
    ------
    BackendError where there is no table, or ncu reported an error.

    Example
    -------
    >>> from smemkit.bench.ncu import parse_csv
    >>> parse_csv('==PROF== Connected\\n"ID","a.sum"\\n"","inst"\\n"0","1,024"\\n')
    [{'ID': '0', 'a.sum': '1,024'}]
    """
    refuse_errors(text)
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        tail = "\n".join(lines[-5:])
        raise _core.BackendError(f"ncu printed no table:\n{tail}")
    table = list(csv.reader(line for line in lines[start:] if line.startswith('"')))
    header, rows = table[0], table[2:]
    return [dict(zip(header, row, strict=True)) for row in rows]


def read_number(text):
    """1,024 -> 1024; BackendError unless the count is a whole number."""
    value = float(text.replace(",", ""))
    if not value.is_integer():
        raise _core.BackendError(f"ncu: {text!r} is not a count")
    return int(value)


def read_counters(row, needed, partial=False):
    """The counters of one launch from its metrics; with `partial` those that it has."""
    found = {}
    for name, metrics in needed.items():
        missing = [metric for metric in metrics if not row.get(metric)]
        if not missing:
            found[name] = sum(read_number(row[metric]) for metric in metrics)
        elif not partial:
            raise _core.BackendError(f"ncu gave no {', '.join(missing)}, which is {name}")
    return found


def find_ncu():
    """The path of ncu: of SMEMKIT_NCU, PATH, CUDA_HOME or /usr/local/cuda.

    Raises
    ------
    BackendError where there is none.
    """
    named = os.environ.get("SMEMKIT_NCU")
    places = [named] if named else [shutil.which("ncu")]
    if not named:
        homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
        places += [os.path.join(home, "bin", "ncu") for home in homes if home]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise _core.BackendError(
        "Nsight Compute's ncu is not found: put it on PATH or name it in SMEMKIT_NCU"
    )


def read_version():
    """The version of ncu, as "2025.3.1.0", or None where it does not say one."""
    done = subprocess.run(
        [find_ncu(), "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Version (\d[\d.]*)", done.stdout)
    return found[1] if found else None


def measure(chosen, needed):
    """Runs ncu on a child that makes all launches: (CSV text, the child's list of launches)."""
    metrics = {metric for several in needed.values() for metric in several}
    return run_ncu(metrics, "smemkit.bench.ncu", list_options(chosen))


def run_ncu(metrics, module, options, more=()):
    """Runs ncu on a child: (CSV text, the JSON that the child wrote).

    Parameters
    ----------
    metrics : names of what ncu counts
    module : that the child runs; its first argument is where it writes its JSON
    options : of the child, behind that argument
    more : options of ncu
    """
    smemkit.device_info(backend="cuda")  # BackendError without a GPU
    ncu = find_ncu()
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        log, made = Path(folder, "ncu.csv"), Path(folder, "made.json")
        command = [ncu, "--clock-control", "none", *more, "--csv", "--page", "raw"]
        command += ["--print-units", "base", "--log-file", str(log)]
        command += ["--metrics", ",".join(sorted(metrics))]
        command += [sys.executable, "-m", module, str(made), *options]
        package = str(Path(smemkit.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        text = log.read_text() if log.exists() else ""
        if done.returncode != 0 or not made.exists():
            refuse_errors(text + done.stdout)
            tail = (done.stderr + done.stdout).strip()[-2000:]
            raise _core.BackendError(f"ncu ended with status {done.returncode}:\n{tail}")
        return text, json.loads(made.read_text())


def list_options(chosen):
    """The child's options, which select the launches."""
    options = []
    for path in chosen.cases:
        options += ["--cases", str(Path(path).resolve())]
    for family in chosen.family:
        options += ["--family", family]
    if chosen.add:
        options += ["--add", str(Path(chosen.add).resolve())]
    return options


def run_child(chosen):
    """Makes every launch once on the GPU, checks its result, and writes the list of launches."""
    made = []
    for row in choose_rows(chosen):
        call, check = row.make()
        result, _ = call("cuda")
        made.append({"kernel": row.kernel, "case": row.case, "right": is_right(check, result)})
    Path(chosen.child).write_text(json.dumps(made))
    return 0


def is_right(check, result):
    """None where the result is right, else the fault in words."""
    try:
        check(result)
    except AssertionError as error:
        return str(error) or "wrong"
    return None


# The table ---------------------------------------------------------------------------------------


@dataclass
class Counted:
    """One launch on the simulator. wrong: the fault of the call's result, or None."""

    kernel: str
    case: str
    counters: dict
    launch: object
    wrong: str | None


def count_on_simulator(row):
    """A list of Counted, one a launch of the call; the second one's case ends in "launch 2"."""
    call, check = row.make()
    result, report = call("sim")
    wrong = is_right(check, result)
    return [
        Counted(
            launch.kernel,
            row.case if number == 1 else f"{row.case}, launch {number}",
            launch.counters,
            launch,
            wrong,
        )
        for number, launch in enumerate(report.launches, 1)
    ]


def join(counted, theirs, wrong=None):
    """A row of the table: {"kernel", "case", "grid", "block", "shared_bytes", "counters": {name:
    {"sim": n, "ncu": n}}, "wrong": {machine: text}}; counters that are 0 on both are left out."""
    ours, launch = counted.counters, counted.launch
    pairs = {name: {"sim": int(ours[name]), "ncu": n} for name, n in theirs.items()}
    return {
        "kernel": counted.kernel,
        "case": counted.case,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
        "counters": {name: pair for name, pair in pairs.items() if any(pair.values())},
        "wrong": {
            machine: text for machine, text in (("cuda", wrong), ("sim", counted.wrong)) if text
        },
    }


def compare_rows(rows, table, made, needed, partial=False):
    """Joins the counts of both machines, a row for each launch."""
    calls = [count_on_simulator(row) for row in rows]
    total = sum(map(len, calls))
    if len(table) != total:
        raise _core.BackendError(f"ncu saw {len(table)} launches, and {total} were made")
    joined, left = [], iter(table)
    for row, launches, child in zip(rows, calls, made, strict=True):
        for counted in launches:
            measured = next(left)
            name = measured["Kernel Name"].split("(")[0]
            if name != counted.kernel or child["kernel"] != row.kernel:
                raise _core.BackendError(f"ncu saw {name} where {counted.kernel} was launched")
            theirs = read_counters(measured, needed, partial)
            joined.append(join(counted, theirs, child["right"]))
    return joined


def recount(rows, recorded, needed):
    """Counts on the simulator again, beside the hardware's counts of an earlier table.

    Parameters
    ----------
    rows : list of Row
    recorded : the "rows" of such a table
    needed : as held_counters() has it

    Returns
    -------
    (joined, missing): rows of a table, and (kernel, case) of launches that the old one has not
    """
    kept = {(row["kernel"], row["case"]): row for row in recorded}
    joined, missing = [], []
    for counted in itertools.chain.from_iterable(map(count_on_simulator, rows)):
        old = kept.get((counted.kernel, counted.case))
        if old is None:
            missing.append((counted.kernel, counted.case))
            continue
        theirs = {name: old["counters"].get(name, {"ncu": 0})["ncu"] for name in needed}
        joined.append(join(counted, theirs, old["wrong"].get("cuda")))
    return joined, missing


def leave_out(rows, variants):
    """The rows without those of some variants; ArgumentError for an unknown variant."""
    for name in variants:
        family, _, variant = name.partition("/")
        if variant not in smemkit.families().get(family, {}).get("variants", ()):
            raise _core.ArgumentError(
                f"--forget: there is no kernel {name}; the form is gemm/tiled"
            )
        entries = set(re.findall(r"\.entry\s+(\w+)", smemkit.ptx(family, variant)))
        rows = [row for row in rows if row.kernel not in entries]
    return rows


def list_differences(rows):
    """(kernel, case, counter, sim, ncu) of every pair that is not equal."""
    return [
        (row["kernel"], row["case"], name, pair["sim"], pair["ncu"])
        for row in rows
        for name, pair in row["counters"].items()
        if pair["sim"] != pair["ncu"]
    ]


def describe_machine():
    """Device, driver and versions, for the record."""
    facts = smemkit.show_config(mode="dict")
    try:
        device = smemkit.device_info(backend="cuda")["name"]
    except _core.BackendError:
        device = None
    families = [(f, next(iter(smemkit.variants(f)))) for f in smemkit.families()]
    text = smemkit.ptx(*families[0]) if families else ""
    built = re.search(r"Cuda compilation tools, release \S+ (V\S+)", text)
    return {
        "device": device,
        "driver": read_driver(),
        "cuda": facts["cuda_runtime"],
        "nvcc": built.group(1) if built else None,
        "smemkit": smemkit.__version__,
        "date": datetime.date.today().isoformat(),
    }


def extend_table(table, machine, rows):
    """Appends rows to the table, and the date of their measurement."""
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    again = table.setdefault("measured_again", {})
    again[machine["date"]] = again.get(machine["date"], []) + kernels
    table["rows"] += rows
    return table


def read_text(path):
    """The text of a file; ArgumentError where it is not text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _core.ArgumentError(f"{path} is not text in UTF-8") from None


def read_table(path):
    """A table that write_table wrote; ArgumentError for any other file."""
    try:
        table = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise _core.ArgumentError(f"{path} is not JSON: {error}") from None
    rows = table.get("rows") if isinstance(table, dict) else None
    if not isinstance(rows, list) or not all(is_table_row(row) for row in rows):
        raise _core.ArgumentError(f"{path} is no table that compare --json wrote")
    return table


def is_table_row(row):
    return isinstance(row, dict) and row.keys() >= {"kernel", "case", "counters", "wrong"}


def write_table(path, machine, rows):
    """The table as JSON, a launch a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    head = json.dumps(machine, indent=1)[:-2]
    Path(path).write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')


def main():
    """The child that ncu watches: makes the launches that list_options chooses."""
    parser = argparse.ArgumentParser(prog="python -m smemkit.bench.ncu")
    parser.add_argument("child", help="where the list of launches is written")
    parser.add_argument("--cases", action="append", default=[])
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--add")
    try:
        return run_child(parser.parse_args())
    except smemkit.Error as error:
        print(f"smemkit: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
