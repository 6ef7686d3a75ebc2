"""The commands coverage run, combine and report: which lines of kernels a command executes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..cover import load_coverage
from ..cover.data import DEFAULT_FILE, VARIABLE, find_files
from ..cover.result import ENDINGS
from .errors import UsageError
from .run import execute

if TYPE_CHECKING:
    from ._types import Commands


class Options(argparse.Namespace):
    """The command line of `smemkit coverage`."""

    data: str
    command_line: list[str]
    append: bool
    include: list[str]
    omit: list[str]
    package: bool
    output: list[str]
    fail_under: float | None
    paths: list[str]


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--include", action="append", default=[], metavar="PATTERN", help="only files like this"
    )
    parser.add_argument(
        "--omit", action="append", default=[], metavar="PATTERN", help="no files like this"
    )
    parser.add_argument("--package", action="store_true", help="also the kernels of smemkit itself")
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help=f"also write the report to a file, which may end in {', '.join(ENDINGS)} (lcov is "
        ".info); may be given several times",
    )
    parser.add_argument(
        "--fail-under",
        type=float,
        metavar="PERCENT",
        help="exit status 1 where less of the lines and ways of branches is covered",
    )


def add_command(commands: Commands) -> None:
    """Adds the command and its parts to the subparsers of the main parser."""
    words = "which lines and branches of kernels a command executes"
    parser = commands.add_parser(
        "coverage",
        help=words,
        description=f"{words}, on the simulator: by warps and lanes, over all of its processes.",
    )
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    data = {"default": DEFAULT_FILE, "metavar": "FILE", "help": f"data file ({DEFAULT_FILE})"}
    started = parts.add_parser(
        "run",
        help="run a command and report",
        description="Runs a command, such as pytest or smemkit run, and reports what its processes "
        "executed of kernels. The exit status is that of the command.",
    )
    started.add_argument("--data", **data)  # type: ignore[arg-type]
    started.add_argument("--append", action="store_true", help="keep the data of earlier runs")
    _add_report_options(started)
    started.add_argument("command_line", nargs=argparse.REMAINDER, metavar="COMMAND ...")
    started.set_defaults(run=run)
    combined = parts.add_parser(
        "combine",
        help="add up data files",
        description="Adds up data files, as of several jobs, and what lies beside them into one.",
    )
    combined.add_argument("--data", **data)  # type: ignore[arg-type]
    combined.add_argument("paths", nargs="*", metavar="FILE", help="data files of other runs")
    combined.set_defaults(run=combine)
    reported = parts.add_parser(
        "report", help="report what was counted", description="Reports what was counted before."
    )
    reported.add_argument("--data", **data)  # type: ignore[arg-type]
    _add_report_options(reported)
    reported.set_defaults(run=report)


def _check_outputs(options: Options) -> None:
    for name in options.output:
        if Path(name).suffix not in ENDINGS:
            raise UsageError(f"{name!r:.200} does not end in {', '.join(ENDINGS)}")


def report(options: Options) -> int:
    """Prints the table and writes the files; 1 where too little is covered."""
    _check_outputs(options)
    covered = load_coverage(
        options.data, include=options.include, omit=options.omit, package=options.package
    )
    print(covered)
    for name in options.output:
        covered.save(name)
    share = covered.percent
    if options.fail_under is not None and share < options.fail_under:
        print(
            f"smemkit: {share:.2f} % is covered, less than {options.fail_under:g} %",
            file=sys.stderr,
        )
        return 1
    return 0


def combine(options: Options) -> int:
    """Makes one data file of all."""
    present = find_files(Path(options.data))
    covered = load_coverage(*(options.paths or [options.data]), *(map(str, present)))
    covered.save_data(options.data)
    for path in present:
        if path != Path(options.data):
            path.unlink()
    return 0


def run(options: Options) -> int:
    """Runs the command, then reports; its exit status."""
    command = options.command_line
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        raise UsageError("coverage run needs a command, as in: smemkit coverage run pytest tests")
    _check_outputs(options)  # not after minutes of tests
    data = Path(options.data)
    if not options.append:
        for path in find_files(data):
            path.unlink()
    try:
        # Launches on a GPU are not counted: a command that does not choose runs on the simulator.
        variables = {"SMEMKIT_BACKEND": "sim", **os.environ, VARIABLE: str(data.absolute())}
        status = execute(command, variables)
    except FileNotFoundError:
        raise UsageError(f"{command[0]!r:.200} is no program") from None
    if not find_files(data):
        print(
            "smemkit: no process of the command loaded a kernel on the simulator", file=sys.stderr
        )
        return status or (1 if options.fail_under else 0)
    told = report(options)
    return status or told
