"""python -m smemkit compare: our counts beside those of Nsight Compute, launch by launch.

A child process makes every launch once on the GPU under ncu; the same launches are then counted on
the simulator. The results of all are checked on both machines.
"""

import argparse
import csv
import datetime
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy

import smemkit

from . import _core
from .counting import counters as list_counters
from .report import profile

# Counters of these kinds are the machine's exactly. Instructions and branches are PTX's on one side
# and machine code's on the other.
HELD = ("shared.", "global.", "local.", "async.")
GEMM_SHAPES = ((64, 64, 64), (100, 70, 90))  # (m, k, n)
PERMISSION = "ERR_NVGPUCTRPERM"


@dataclass
class Row:
    """One launch: how to make it, and what to call it. make() -> (call, check)."""

    kernel: str
    case: str
    make: object


# Launches ----------------------------------------------------------------------------------------


def _list_gemm():
    for shape in GEMM_SHAPES:
        for dtype in ("float32", "float64"):
            for variant in smemkit.variants("gemm"):
                case = "m={}, k={}, n={}, {}".format(*shape, dtype)
                yield Row(f"gemm_{variant}_{dtype}", case, _make_gemm(variant, shape, dtype))


def _make_gemm(variant, shape, dtype):
    def make():
        m, k, n = shape
        random = numpy.random.RandomState(m)
        a = random.randint(-9, 10, (m, k)).astype(dtype)
        b = random.randint(-9, 10, (k, n)).astype(dtype)

        def call(backend):
            if backend == "sim":
                report = profile(smemkit.gemm, a, b, variant=variant)
                return report.result, report
            return smemkit.gemm(a, b, variant=variant, backend=backend), None

        def check(result):
            assert (result == a @ b).all(), "the product is wrong"

        return call, check

    return make


FAMILIES = {"gemm": _list_gemm}


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


def _load_cases(path):
    """The CASES of a Python file."""
    path = Path(path)
    if not path.is_file():
        raise _core.ArgumentError(f"--cases: there is no file {path}")
    spec = importlib.util.spec_from_file_location("smemkit_compared_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not getattr(module, "CASES", None):
        raise _core.ArgumentError(f"--cases: {path} has no CASES")
    return module.CASES


def list_rows(families, files):
    """All launches, in the order in which they are made.

    Parameters
    ----------
    families : names of kernel families of the package
    files : Python files whose CASES are objects with .name, .label, .entry, .ptx and .make(), which
        returns an object with .grid, .block, .shared, .args and .check()

    Returns
    -------
    list of Row
    """
    rows = []
    for family in families:
        if family not in FAMILIES:
            known = ", ".join(FAMILIES)
            raise _core.ArgumentError(f"--family: {family!r} cannot be compared; known: {known}")
        rows += FAMILIES[family]()
    for path in files:
        rows += [Row(case.name, case.label, _make_case(case)) for case in _load_cases(path)]
    return rows


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
    """Raises BackendError where ncu says that something went wrong."""
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
    >>> from smemkit.compare import parse_csv
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
    """1,024 -> 1024; a count that is no whole number is an error."""
    value = float(text.replace(",", ""))
    if not value.is_integer():
        raise _core.BackendError(f"ncu: {text!r} is no count")
    return int(value)


def read_counters(row, needed, partial=False):
    """The counters of one launch from its metrics; with `partial` those that are there."""
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


def measure(chosen, needed):
    """Starts ncu on a child that makes all launches: (CSV text, the child's list of launches)."""
    smemkit.device_info(backend="cuda")  # no GPU: a BackendError that says why
    ncu = find_ncu()
    metrics = sorted({metric for several in needed.values() for metric in several})
    with tempfile.TemporaryDirectory(prefix="smemkit-") as folder:
        log, made = Path(folder, "ncu.csv"), Path(folder, "made.json")
        command = [ncu, "--clock-control", "none", "--csv", "--page", "raw"]
        command += ["--print-units", "base", "--log-file", str(log), "--metrics", ",".join(metrics)]
        command += [sys.executable, "-m", "smemkit.compare", "--child", str(made)]
        command += list_options(chosen)
        package = str(Path(__file__).resolve().parents[1])
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
    """The options that choose the launches, for the child."""
    options = []
    for path in chosen.cases:
        options += ["--cases", str(Path(path).resolve())]
    for family in chosen.family:
        options += ["--family", family]
    return options


def run_child(chosen):
    """Makes every launch once on the GPU, checks its result, and writes what was launched."""
    made = []
    for row in list_rows(chosen.family, chosen.cases):
        call, check = row.make()
        result, _ = call("cuda")
        made.append({"kernel": row.kernel, "case": row.case, "right": is_right(check, result)})
    Path(chosen.child).write_text(json.dumps(made))
    return 0


def is_right(check, result):
    """None where the result is right, else what is wrong."""
    try:
        check(result)
    except AssertionError as error:
        return str(error) or "wrong"
    return None


# The table ---------------------------------------------------------------------------------------


def count_on_simulator(row):
    """(counters, launch facts, what is wrong with the result or None)."""
    call, check = row.make()
    result, report = call("sim")
    launches = report.launches
    if len(launches) != 1:
        raise _core.InternalError(f"{row.kernel}: {len(launches)} launches, not one")
    return report.counters, launches[0], is_right(check, result)


def compare_rows(rows, table, made, needed, partial=False):
    """Joins both machines' counts.

    Returns
    -------
    list of {"kernel", "case", "grid", "block", "shared_bytes", "counters": {name: {"sim": n,
    "ncu": n}}, "wrong": {machine: text}}; counters that are 0 on both are left out
    """
    if len(table) != len(rows):
        raise _core.BackendError(f"ncu saw {len(table)} launches, and {len(rows)} were made")
    joined = []
    for row, measured, child in zip(rows, table, made, strict=True):
        name = measured["Kernel Name"].split("(")[0]
        if name != row.kernel or child["kernel"] != row.kernel:
            raise _core.BackendError(f"ncu saw {name} where {row.kernel} was launched")
        ours, launch, wrong = count_on_simulator(row)
        theirs = read_counters(measured, needed, partial)
        pairs = {name: {"sim": int(ours[name]), "ncu": n} for name, n in theirs.items()}
        joined.append(
            {
                "kernel": row.kernel,
                "case": row.case,
                "grid": list(launch.grid),
                "block": list(launch.block),
                "shared_bytes": launch.shared_bytes,
                "counters": {name: pair for name, pair in pairs.items() if any(pair.values())},
                "wrong": {
                    machine: text
                    for machine, text in (("cuda", child["right"]), ("sim", wrong))
                    if text
                },
            }
        )
    return joined


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
        "driver": facts["cuda_driver"],
        "cuda": facts["cuda_runtime"],
        "nvcc": built.group(1) if built else None,
        "smemkit": smemkit.__version__,
        "date": datetime.date.today().isoformat(),
    }


def print_table(rows, needed):
    """The rows that differ, then totals."""
    differences = list_differences(rows)
    if differences:
        lines = [("kernel", "case", "counter", "sim", "ncu")]
        lines += [tuple(map(str, line)) for line in differences]
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        for line in lines:
            cells = [f"{c:<{w}}" for c, w in zip(line[:3], widths, strict=False)]
            cells += [f"{c:>{w}}" for c, w in zip(line[3:], widths[3:], strict=True)]
            print("  ".join(cells))
        print()
    wrong = [(row, machine, text) for row in rows for machine, text in row["wrong"].items()]
    for row, machine, text in wrong:
        print(f"WRONG RESULT on {machine}: {row['kernel']} ({row['case']}): {text}")
    pairs = [pair for row in rows for pair in row["counters"].values()]
    bad = {(kernel, case) for kernel, case, *_ in differences}
    kernels = {row["kernel"] for row in rows}
    print(f"kernels   {len(kernels)}, of which {len({kernel for kernel, _ in bad})} differ")
    print(f"launches  {len(rows)}, of which {len(bad)} differ")
    print(
        f"counts    {len(pairs)} of {len(needed)} counters that are not 0 on both, "
        f"of which {len(differences)} differ"
    )
    print(f"results   {len(wrong)} wrong")
    return not differences and not wrong


def add_arguments(parser):
    """Adds the options of `python -m smemkit compare`."""
    parser.add_argument("--json", metavar="OUT", help="write the table here")
    parser.add_argument(
        "--cases",
        metavar="FILE",
        action="append",
        default=[],
        help="Python file with CASES: kernels of your own and their launches (may be repeated)",
    )
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        help="family of the package's kernels (may be repeated; default: all)",
    )
    parser.add_argument(
        "--ncu-csv", metavar="FILE", help="what ncu printed for these launches; no GPU is needed"
    )
    parser.add_argument("--keep-csv", metavar="FILE", help="write what ncu printed here")


def run(arguments):
    """Compares, prints the table and returns the exit status: 0 where all counts are equal.

    Parameters
    ----------
    arguments : argparse.Namespace of add_arguments

    Raises
    ------
    BackendError where there is no GPU or no ncu, or ncu may not count; ArgumentError for a file or
    a family that is not there.

    Example
    -------
    >>> import argparse
    >>> from smemkit import compare
    >>> parser = argparse.ArgumentParser()
    >>> compare.add_arguments(parser)
    >>> parser.parse_args(["--family", "gemm"]).family
    ['gemm']
    """
    if not arguments.family:
        arguments.family = list(FAMILIES)
    rows, needed = list_rows(arguments.family, arguments.cases), held_counters()
    if arguments.ncu_csv:
        text = Path(arguments.ncu_csv).read_text()
        made = [{"kernel": row.kernel, "case": row.case, "right": None} for row in rows]
    else:
        text, made = measure(arguments, needed)
    if arguments.keep_csv:
        Path(arguments.keep_csv).write_text(text)
    joined = compare_rows(rows, parse_csv(text), made, needed, bool(arguments.ncu_csv))
    if arguments.json:
        lines = ",\n".join("  " + json.dumps(row) for row in joined)
        head = json.dumps(describe_machine(), indent=1)[:-2]
        Path(arguments.json).write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')
    return 0 if print_table(joined, needed) else 1


def main():
    parser = argparse.ArgumentParser(prog="python -m smemkit.compare")
    parser.add_argument("--child", metavar="OUT", help=argparse.SUPPRESS)
    add_arguments(parser)
    arguments = parser.parse_args()
    try:
        return run_child(arguments) if arguments.child else run(arguments)
    except smemkit.Error as error:
        print(f"smemkit: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
