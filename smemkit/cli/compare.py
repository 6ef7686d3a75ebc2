"""The command compare: two saved reports, or the simulator's counts beside Nsight Compute's."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from ..bench import ncu, workloads
from ..report import Report
from .errors import UsageError
from .options import add_save, check_endings, complain, output_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

    from ..report import Comparison
    from ._types import Commands

MISSING_SHOWN = 20


class Options(argparse.Namespace):
    """The command line of `smemkit compare`."""

    reports: list[str]
    save: list[str]
    fail_on: Literal["worse"] | None
    json: str | None
    cases: list[str]
    family: list[str]
    ncu_csv: str | None
    recount: str | None
    add: str | None
    forget: list[str]
    keep_csv: str | None
    of_counts: dict[str, object]  # from option to its value by default


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    words = "two saved reports side by side, or our counts beside those of Nsight Compute"
    parser = commands.add_parser(
        "compare",
        help=words,
        description=f"{words}. With two files that `smemkit profile --save x.json` wrote it "
        "compares these; without, it counts kernels on the simulator and by Nsight Compute.",
    )
    parser.add_argument(
        "reports", nargs="*", metavar="REPORT", help="two .json files of profile --save"
    )
    add_save(parser, "of two reports: x.html, x.json")
    parser.add_argument(
        "--fail-on",
        choices=["worse"],
        help="of two reports: exit status 1 where a counter of the second one is worse",
    )
    ours = {option.dest for option in parser._actions}
    add_arguments(parser)
    others = {o.dest: o.default for o in parser._actions if o.dest not in ours}
    parser.set_defaults(run=choose, of_counts=others)


def choose(arguments: Options) -> int:
    """Runs what the arguments ask for and returns the exit status."""
    if arguments.reports:
        return compare_reports(arguments)
    if arguments.save:
        raise UsageError("--save keeps the comparison of two reports; name their .json files")
    if arguments.fail_on:
        raise UsageError("--fail-on judges two reports; name their .json files")
    return run(arguments)


def _refuse_check(path: str) -> None:
    """UsageError for a file of check, which has findings and no counters."""
    try:
        kind = json.loads(Path(path).read_text(encoding="utf-8"))["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return  # load_report says what is wrong with it
    if kind == "check":
        raise UsageError(
            f"{path} is a report of `smemkit check`, which has no counters to compare; compare "
            "takes two of `smemkit profile`"
        )


def _load_report(path: str) -> Report:
    """The report of a file that profile saved; UsageError for any other saved one."""
    report = smemkit.load_report(path)
    if not isinstance(report, Report):
        raise UsageError(f"{path} is no report of `smemkit profile`")
    return report


def judge(compared: Comparison) -> int:
    """The exit status; prints a line for each counter of the second report that is worse."""
    worse = [row for row in compared.rows if row[0] != "time" and compared.mark(row) == "worse"]
    for name, _, before, after, _ in worse:
        complain(f"failed on worse: {name} was {before:,.10g} and is {after:,.10g}")
    return 1 if worse else 0


def compare_reports(arguments: Options) -> int:
    """Prints two saved reports side by side; their names are those of the files."""
    for name, usual in arguments.of_counts.items():
        if getattr(arguments, name) != usual:
            words = name.replace("_", "-")
            raise UsageError(f"--{words} belongs to counts of Nsight Compute, not to two reports")
    if len(arguments.reports) != 2:
        raise UsageError(f"two reports are compared, not {len(arguments.reports)}")
    check_endings(arguments.save)
    for path in arguments.reports:
        _refuse_check(path)
    reports = [_load_report(path) for path in arguments.reports]
    names = [Path(path).stem for path in arguments.reports]
    compared = reports[0].compare(reports[1], names if names[0] != names[1] else None)
    print(compared)
    for path in arguments.save:
        compared.save(path)
    return judge(compared) if arguments.fail_on else 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `smemkit compare` for counts of Nsight Compute."""
    parser.add_argument("--json", type=output_file, metavar="OUT", help="write the table here")
    parser.add_argument(
        "--cases",
        metavar="FILE",
        action="append",
        default=[],
        help="Python file with CASES: kernels of your own and their launches; and EXPLAINED, "
        "differences that have a reason: {(kernel, counter): reason} (may be repeated)",
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
    parser.add_argument(
        "--recount",
        metavar="FILE",
        help="a table that --json wrote: its counts of the GPU are kept, ours are made anew",
    )
    parser.add_argument(
        "--add",
        metavar="FILE",
        help="a table that --json wrote: only the launches that it does not have are made, and it "
        "is kept with these behind it",
    )
    parser.add_argument(
        "--forget",
        metavar="KERNEL",
        action="append",
        default=[],
        help="with --recount: leave out this kernel, as gemm/tiled, because it has changed; it is "
        "then not yet counted on hardware (may be repeated)",
    )
    parser.add_argument(
        "--keep-csv", type=output_file, metavar="FILE", help="write what ncu printed here"
    )


def run(arguments: Options) -> int:
    """Compares, prints the table and returns the exit status.

    Parameters
    ----------
    arguments : argparse.Namespace of add_arguments

    Returns
    -------
    0 where every count is equal or its difference is explained, no result is wrong, and (with
    --recount) the table has every launch; else 1.

    Raises
    ------
    BackendError where there is no GPU or no ncu, or ncu may not count; ArgumentError for a file or
    a family that is not there.

    Example
    -------
    >>> import argparse
    >>> from smemkit.cli import compare
    >>> parser = argparse.ArgumentParser()
    >>> compare.add_arguments(parser)
    >>> parser.parse_args(["--family", "gemm"]).family
    ['gemm']
    """
    if arguments.forget and not arguments.recount:
        raise UsageError("--forget goes with --recount")
    if not arguments.family:
        arguments.family = workloads.list_families()
    rows, needed = ncu.choose_rows(arguments), ncu.held_counters()
    missing: list[tuple[str, str]] = []
    if not rows:
        print(f"{arguments.add} has all of these launches")
        return 0
    table = ncu.make_table()
    if arguments.recount:
        table = ncu.read_table(arguments.recount)
        rows = ncu.leave_out(rows, arguments.forget)
        joined, missing = ncu.recount(rows, table["rows"], needed)
    elif arguments.ncu_csv:
        text = ncu.read_text(arguments.ncu_csv)
        made = [ncu.Made(kernel=row.kernel, case=row.case, right=None) for row in rows]
        joined = ncu.compare_rows(rows, ncu.parse_csv(text), made, needed, partial=True)
    else:
        text, made = ncu.measure(arguments, needed)
        if arguments.keep_csv:
            Path(arguments.keep_csv).write_text(text)
        joined = ncu.compare_rows(rows, ncu.parse_csv(text), made, needed)
    table["rows"] = joined
    if arguments.add:
        table = ncu.extend_table(ncu.read_table(arguments.add), table)
    if arguments.json:
        ncu.write_table(arguments.json, table)
    good = print_table(joined, needed, ncu.list_explained(arguments.cases))
    for kernel, case in missing[:MISSING_SHOWN]:
        print(f"not in {arguments.recount}: {kernel} ({case})")
    if len(missing) > MISSING_SHOWN:
        print(f"not in {arguments.recount}: {len(missing) - MISSING_SHOWN} launches more")
    return 0 if good and not missing else 1


def print_lines(heading: str, differences: Iterable[ncu.Difference]) -> None:
    """Prints counts that differ as a table; heading: of the column of kernels."""
    lines = [(heading, "case", "counter", "sim", "ncu")]
    lines += [(d.kernel, d.case, d.counter, str(d.sim), str(d.ncu)) for d in differences]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [f"{c:<{w}}" for c, w in zip(line[:3], widths, strict=False)]
        cells += [f"{c:>{w}}" for c, w in zip(line[3:], widths[3:], strict=True)]
        print("  ".join(cells))
    print()


def print_table(
    rows: Sequence[ncu.TableRow],
    needed: ncu.Needed,
    explained: Mapping[tuple[str, str], str],
) -> bool:
    """Prints differing rows and totals; True where all is equal or explained, and right."""
    differences = ncu.list_differences(rows)
    known = [d for d in differences if (d.kernel, d.counter) in explained]
    others = [d for d in differences if (d.kernel, d.counter) not in explained]
    if others:
        print_lines("kernel", others)
    if known:
        print_lines("explained", known)
        reasons: dict[str, dict[str, None]] = {}  # kernels of each, in their order
        for d in known:
            reasons.setdefault(explained[d.kernel, d.counter], {})[d.kernel] = None
        for reason, kernels in reasons.items():
            print(f"{', '.join(kernels)}: {reason}")
        print()
    wrong = [(row, machine, text) for row in rows for machine, text in row["wrong"].items()]
    for row, machine, text in wrong:
        print(f"WRONG RESULT on {machine}: {row['kernel']} ({row['case']}): {text}")
    pairs = [pair for row in rows for pair in row["counters"].values()]
    bad = {(d.kernel, d.case) for d in differences}
    every = {row["kernel"] for row in rows}
    print(f"kernels   {len(every)}, of which {len({kernel for kernel, _ in bad})} differ")
    print(f"launches  {len(rows)}, of which {len(bad)} differ")
    print(
        f"counts    {len(pairs)} of {len(needed)} counters that are not 0 on both, "
        f"of which {len(differences)} differ, {len(known)} of them explained"
    )
    print(f"results   {len(wrong)} wrong")
    return not others and not wrong
