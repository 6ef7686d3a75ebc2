"""Counts of Nsight Compute beside those of the simulator, launch by launch.

A child process makes every call once on the GPU under ncu; the same calls are then counted on the
simulator. The results of all are checked on both machines. The exit status is 0 where all counts
are equal, but for those that a file of --cases explains, and all results are right.
"""

from __future__ import annotations

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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypedDict

import numpy

import smemkit

from .. import _core
from ..report import profile
from ..report.counts import counters as list_counters
from . import workloads
from .timing import read_driver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import ModuleType
    from typing import Protocol

    from .._types import Machine, StrPath
    from ..report import Counters, Launch
    from .types import Sizes

    Needed = Mapping[str, Sequence[str]]  # from counter to the metrics that add up to it
    Metrics = dict[str, str]  # a row of ncu's table, from column to text

    class CaseLaunch(Protocol):
        """One launch of a Case; check raises AssertionError where its result is wrong."""

        grid: tuple[int, ...]
        block: tuple[int, ...]
        shared: int
        args: tuple[Any, ...]

        def check(self) -> None: ...

    class Case(Protocol):
        """What CASES of a file of --cases has: PTX, and how it is launched."""

        name: str
        label: str
        entry: str
        ptx: str

        def make(self) -> CaseLaunch: ...

    class Selection(Protocol):
        """The options that select launches."""

        family: list[str]
        cases: list[str]
        add: str | None


# Counters of these kinds must be equal. Instructions and branches are counted in PTX by the
# simulator, and in machine code by Nsight Compute.
HELD = ("shared.", "global.", "local.", "async.")
PERMISSION = "ERR_NVGPUCTRPERM"


class Call(NamedTuple):
    """A call: run gives its result, check raises AssertionError where the result is wrong."""

    run: Callable[[Machine], Any]
    check: Callable[[Any], None]


@dataclass
class Row:
    """A call that can be made anew, and the name of its launches."""

    kernel: str
    case: str
    make: Callable[[], Call]


class Made(TypedDict):
    """A call that the child has made; right: None, or what is wrong with its result."""

    kernel: str
    case: str
    right: str | None


class Pair(TypedDict):
    """A counter of both machines."""

    sim: int
    ncu: int


class TableRow(TypedDict):
    """A launch: counters that are not 0 on both machines, and faults of results by machine."""

    kernel: str
    case: str
    grid: list[int]
    block: list[int]
    shared_bytes: int
    counters: dict[str, Pair]
    wrong: dict[str, str]


class Table(TypedDict):
    """What compare --json writes: the machine of the counts, and a row for each launch.

    measured_again: kernels by the date of their counts, where that is not the table's.
    """

    device: str | None
    driver: str | None
    cuda: str
    nvcc: str | None
    smemkit: str
    date: str
    measured_again: NotRequired[dict[str, list[str]]]
    rows: list[TableRow]


class Difference(NamedTuple):
    """A counter of a launch that the machines count differently."""

    kernel: str
    case: str
    counter: str
    sim: int
    ncu: int


# Launches ----------------------------------------------------------------------------------------


def _list_family(family: str) -> Iterator[Row]:
    """Every kernel of a family, at each of its sizes."""
    for number, sizes in enumerate(workloads.list_sizes(family)):
        choices = workloads.list_choices(family, regular=number == 0)
        for variant, facts in smemkit.variants(family).items():
            for dtype, keywords in itertools.product(facts["dtypes"], choices):
                sample = functools.partial(_make_sample, family, sizes, dtype, keywords)
                made = sample()
                yield Row(made.entry(variant), made.label, _make_call(sample, variant))


def _make_sample(
    family: str, sizes: Sizes, dtype: str, keywords: dict[str, str]
) -> workloads.Sample:
    """A sample with the same numbers in every run and NumPy version."""
    seed = zlib.crc32(repr((family, sizes, dtype, keywords)).encode())
    return workloads.make_sample(family, sizes, dtype, numpy.random.RandomState(seed), keywords)


def _make_call(sample: Callable[[], workloads.Sample], variant: str) -> Callable[[], Call]:
    def make() -> Call:
        made = sample()
        return Call(
            lambda backend: made.call(variant, backend), lambda result: made.check(result, variant)
        )

    return make


def _make_case(case: Case) -> Callable[[], Call]:
    def make() -> Call:
        launch = case.make()
        kernel = smemkit.RawKernel(case.ptx, case.entry)

        def run(backend: Machine) -> None:
            shared = launch.shared
            kernel(launch.grid, launch.block, launch.args, shared_mem=shared, backend=backend)

        return Call(run, lambda result: launch.check())

    return make


def _load_file(name: StrPath) -> ModuleType:
    """A Python file with CASES, as a module."""
    path = Path(name)
    if not path.is_file():
        raise _core.ArgumentError(f"--cases: there is no file {path}")
    spec = importlib.util.spec_from_file_location("smemkit_compared_" + path.stem, path)
    if spec is None or spec.loader is None:
        raise _core.ArgumentError(f"--cases: {path} is no Python file: its name ends otherwise")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not getattr(module, "CASES", None):
        raise _core.ArgumentError(f"--cases: {path} has no CASES")
    return module


def list_rows(families: Iterable[str], files: Iterable[StrPath]) -> list[Row]:
    """All calls, in the order in which they are made.

    Parameters
    ----------
    families : names of kernel families of the package
    files : Python files with CASES, a list of Case

    Returns
    -------
    list of Row
    """
    rows: list[Row] = []
    known = workloads.list_families()
    for family in families:
        if family not in known:
            raise _core.ArgumentError(
                f"--family: {family!r} cannot be compared; known: {', '.join(known)}"
            )
        rows += _list_family(family)
    for path in files:
        rows += [Row(case.name, case.label, _make_case(case)) for case in _load_file(path).CASES]
    return rows


def choose_rows(chosen: Selection) -> list[Row]:
    """The calls that the options select."""
    rows = list_rows(chosen.family, chosen.cases)
    if chosen.add:
        known = read_table(chosen.add)["rows"]
        calls = {(row["kernel"], re.sub(r", launch \d+$", "", row["case"])) for row in known}
        rows = [row for row in rows if (row.kernel, row.case) not in calls]
    return rows


def list_explained(files: Iterable[StrPath]) -> dict[tuple[str, str], str]:
    """{(kernel, counter): reason} from EXPLAINED of the files that define it."""
    explained: dict[tuple[str, str], str] = {}
    for path in files:
        explained |= getattr(_load_file(path), "EXPLAINED", {})
    return explained


def held_counters() -> dict[str, list[str]]:
    """The counters that both machines must agree on: {name: list of metrics that add up to it}."""
    ratios = {row["name"] for row in _core._counters() if row["ratio"]}
    return {
        name: facts["ncu"].split("+")
        for name, facts in list_counters().items()
        if facts["ncu"] and name not in ratios and name.startswith(HELD)
    }


# Nsight Compute ----------------------------------------------------------------------------------


def refuse_errors(text: str) -> None:
    """Raises BackendError where ncu reports an error."""
    if PERMISSION in text:
        raise _core.BackendError(
            f"ncu may not read the GPU's counters ({PERMISSION}): an administrator must allow it, "
            "see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        )
    errors = [line for line in text.splitlines() if line.startswith("==ERROR==")]
    if errors:
        raise _core.BackendError("ncu: " + "; ".join(line[9:].strip() for line in errors))


def parse_csv(text: str) -> list[Metrics]:
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


def read_number(text: str) -> int:
    """1,024 -> 1024; BackendError unless the count is a whole number."""
    value = float(text.replace(",", ""))
    if not value.is_integer():
        raise _core.BackendError(f"ncu: {text!r} is not a count")
    return int(value)


def read_counters(row: Metrics, needed: Needed, partial: bool = False) -> dict[str, int]:
    """The counters of one launch from its metrics; with `partial` those that it has."""
    found = {}
    for name, metrics in needed.items():
        missing = [metric for metric in metrics if not row.get(metric)]
        if not missing:
            found[name] = sum(read_number(row[metric]) for metric in metrics)
        elif not partial:
            raise _core.BackendError(f"ncu gave no {', '.join(missing)}, which is {name}")
    return found


def find_ncu() -> str:
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


def read_version() -> str | None:
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


def measure(chosen: Selection, needed: Needed) -> tuple[str, list[Made]]:
    """Runs ncu on a child that makes all launches: (CSV text, the child's list of launches)."""
    metrics = {metric for several in needed.values() for metric in several}
    return run_ncu(metrics, "smemkit.bench.ncu", list_options(chosen))


def run_ncu(
    metrics: Iterable[str], module: str, options: Iterable[str], more: Iterable[str] = ()
) -> tuple[str, Any]:
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


def list_options(chosen: Selection) -> list[str]:
    """The child's options, which select the launches."""
    options: list[str] = []
    for path in chosen.cases:
        options += ["--cases", str(Path(path).resolve())]
    for family in chosen.family:
        options += ["--family", family]
    if chosen.add:
        options += ["--add", str(Path(chosen.add).resolve())]
    return options


class ChildOptions(argparse.Namespace):
    """The command line of the child."""

    child: str
    family: list[str]
    cases: list[str]
    add: str | None


def run_child(chosen: ChildOptions) -> int:
    """Makes every launch once on the GPU, checks its result, and writes the list of launches."""
    made = []
    for row in choose_rows(chosen):
        call = row.make()
        right = is_right(call.check, call.run("cuda"))
        made.append(Made(kernel=row.kernel, case=row.case, right=right))
    Path(chosen.child).write_text(json.dumps(made))
    return 0


def is_right(check: Callable[[Any], None], result: Any) -> str | None:
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
    counters: Counters
    launch: Launch
    wrong: str | None


def count_on_simulator(row: Row) -> list[Counted]:
    """A list of Counted, one a launch of the call; the second one's case ends in "launch 2"."""
    call = row.make()
    report = profile(lambda: call.run("sim"))
    wrong = is_right(call.check, report.result)
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


def join(counted: Counted, theirs: Mapping[str, int], wrong: str | None = None) -> TableRow:
    """A row of the table; wrong: the fault of the GPU's result, or None."""
    ours, launch = counted.counters, counted.launch
    pairs = {name: Pair(sim=int(ours[name]), ncu=n) for name, n in theirs.items()}
    return {
        "kernel": counted.kernel,
        "case": counted.case,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
        "counters": {name: pair for name, pair in pairs.items() if pair["sim"] or pair["ncu"]},
        "wrong": {
            machine: text for machine, text in (("cuda", wrong), ("sim", counted.wrong)) if text
        },
    }


def compare_rows(
    rows: Sequence[Row],
    table: Sequence[Metrics],
    made: Sequence[Made],
    needed: Needed,
    partial: bool = False,
) -> list[TableRow]:
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


def recount(
    rows: Iterable[Row], recorded: Iterable[TableRow], needed: Needed
) -> tuple[list[TableRow], list[tuple[str, str]]]:
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
        counters = old["counters"]
        theirs = {name: counters[name]["ncu"] if name in counters else 0 for name in needed}
        joined.append(join(counted, theirs, old["wrong"].get("cuda")))
    return joined, missing


def leave_out(rows: list[Row], variants: Iterable[str]) -> list[Row]:
    """The rows without those of some variants; ArgumentError for an unknown variant."""
    for name in variants:
        family, _, variant = name.partition("/")
        if not workloads.is_kernel(family, variant):
            raise _core.ArgumentError(
                f"--forget: there is no kernel {name}; the form is gemm/tiled"
            )
        entries = set(re.findall(r"\.entry\s+(\w+)", smemkit.ptx(family, variant)))
        rows = [row for row in rows if row.kernel not in entries]
    return rows


def list_differences(rows: Iterable[TableRow]) -> list[Difference]:
    """Every pair that is not equal."""
    return [
        Difference(row["kernel"], row["case"], name, pair["sim"], pair["ncu"])
        for row in rows
        for name, pair in row["counters"].items()
        if pair["sim"] != pair["ncu"]
    ]


def make_table() -> Table:
    """A table without rows of counts that are made now on this machine."""
    facts = smemkit.show_config(mode="dict")
    try:
        device: str | None = smemkit.device_info(backend="cuda")["name"]
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
        "rows": [],
    }


def extend_table(table: Table, more: Table) -> Table:
    """Appends the rows of another table, and the date of their measurement.

    They take the place of rows of the same launch: a call that makes several launches, of which
    the table lacks one, is measured whole.
    """
    kernels = [row["kernel"] for row in more["rows"]]
    again = table.setdefault("measured_again", {})
    again[more["date"]] = list(dict.fromkeys(again.get(more["date"], []) + kernels))
    rows = {(row["kernel"], row["case"]): row for row in table["rows"] + more["rows"]}
    table["rows"] = list(rows.values())
    return table


def read_text(path: StrPath) -> str:
    """The text of a file; ArgumentError where it is not text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _core.ArgumentError(f"{path} is not text in UTF-8") from None


def read_table(path: StrPath) -> Table:
    """A table that write_table wrote; ArgumentError for any other file."""
    try:
        table: Table = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise _core.ArgumentError(f"{path} is not JSON: {error}") from None
    rows = table.get("rows") if isinstance(table, dict) else None
    if not isinstance(rows, list) or not all(is_table_row(row) for row in rows):
        raise _core.ArgumentError(f"{path} is no table that compare --json wrote")
    return table


def is_table_row(row: object) -> bool:
    """Whether what JSON holds is a TableRow."""
    return isinstance(row, dict) and row.keys() >= {"kernel", "case", "counters", "wrong"}


def write_table(path: StrPath, table: Table) -> None:
    """Writes the table as JSON, a launch a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in table["rows"])
    machine = {name: value for name, value in table.items() if name != "rows"}
    head = json.dumps(machine, indent=1)[:-2]
    Path(path).write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')


def main() -> int:
    """The child that ncu watches: makes the launches that list_options chooses."""
    parser = argparse.ArgumentParser(prog="python -m smemkit.bench.ncu")
    parser.add_argument("child", help="where the list of launches is written")
    parser.add_argument("--cases", action="append", default=[])
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--add")
    try:
        return run_child(parser.parse_args(namespace=ChildOptions()))
    except smemkit.Error as error:
        print(f"smemkit: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
