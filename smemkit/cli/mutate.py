"""The command mutate: which small faults in kernels do their tests see?"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import random
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import smemkit

from ..bench import workloads
from . import mutant_runs, ptx_mutations, ptx_statements
from .errors import UsageError
from .options import add_seed, complain, output_or_stdout, seconds, suggest, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ._types import Commands

SOURCE_NAME = "kernel.cu"  # of CUDA C that was given as a text
KERNELS = Path(smemkit.__file__).parent / "kernels"
LIMIT_FACTOR, LIMIT_LEAST_S = 5, 60
WIDTH = 100


class Options(argparse.Namespace):
    """The command line of `smemkit mutate`."""

    files: list[str]
    kind: list[str]
    every: bool
    sample: int | None
    seed: int
    jobs: int
    limit: float | None
    at_least: float
    equivalent: str | None
    json: str | None
    only_list: bool
    arguments: list[str]


class Candidate(NamedTuple):
    """A mutant of a file: the PTX it changes, and the line of the source.

    place is file and text of the line, numbered where the file has several of it.
    """

    file: str
    line: int
    text: str
    place: str
    ptx: str
    mutant: ptx_mutations.Mutant

    @property
    def name(self) -> str:
        """What it is called in --equivalent: file, source line and change."""
        return f"{self.place}: {self.mutant.kind}: {self.mutant.words}"


def describe_kinds() -> str:
    """The kinds of mutants, a line each."""
    rows = (f"  {name:10} {words}" for name, words in ptx_mutations.KINDS.items())
    return "\n".join(
        [
            "kinds of mutants:",
            *rows,
            "",
            "A mutant is one fault in one PTX instruction, of each kind one for each place in the",
            "source. It is killed where the command fails: by a test, by smemkit check, or because",
            "it takes too long, as in a livelock.",
        ]
    )


def read_kind(text: str) -> str:
    """The type of --kind."""
    if text not in ptx_mutations.KINDS:
        known = ", ".join(ptx_mutations.KINDS)
        near = suggest(text, ptx_mutations.KINDS)
        raise argparse.ArgumentTypeError(f"{text!r:.80} is none of {known}{near}")
    return text


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    words = "plants small faults in kernels, one at a time, and says which the tests do not see"
    parser = commands.add_parser(
        "mutate",
        help=words,
        usage="%(prog)s [OPTIONS] FILE [FILE ...] -- COMMAND [ARGUMENTS ...]",
        description=textwrap.fill(
            f"{words}. The command behind -- runs once as it is, which tells what PTX it loads of "
            "the files and what of that runs, and once for each mutant.",
            80,
        ),
        epilog=describe_kinds(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, arguments=[])
    parser.add_argument(
        "files",
        nargs="+",
        help="sources: .cu or .ptx files, .py files with CUDA C in texts or kernels of Triton or "
        "Numba, kernels of the package (gemm/tiled)",
    )
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        type=read_kind,
        help="only this one; see below (repeatable)",
    )
    parser.add_argument(
        "--every",
        action="store_true",
        help="a mutant of each instruction, also of copies that the compiler made of one place",
    )
    parser.add_argument(
        "--sample", type=whole(1), metavar="N", help="only so many, chosen at random"
    )
    add_seed(parser, 0, "of that choice (default: 0)")
    parser.add_argument("--jobs", type=whole(1), default=1, help="commands side by side")
    parser.add_argument(
        "--limit",
        type=seconds(zero=False),
        metavar="SECONDS",
        help=f"of a run (default: {LIMIT_FACTOR} times that of the first, {LIMIT_LEAST_S} at "
        "least)",
    )
    parser.add_argument(
        "--at-least",
        type=float,
        default=100.0,
        metavar="PERCENT",
        help="exit status 1 where a smaller part is killed (default: 100)",
    )
    parser.add_argument(
        "--equivalent",
        metavar="FILE",
        help="mutants that change nothing, by name as the list of survivors has it, each with its "
        "reason in indented lines below it; they do not count",
    )
    parser.add_argument(
        "--json",
        type=output_or_stdout,
        metavar="FILE",
        help="write all mutants as JSON; - is standard output",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        dest="only_list",
        help="say which mutants there are, and stop",
    )


# The files ---------------------------------------------------------------------------------------


class Source:
    """A file whose kernels are mutated."""

    def __init__(self, name: str) -> None:
        family, slash, variant = name.partition("/")
        path = Path(name)
        if slash and not path.exists() and workloads.is_kernel(family, variant):
            path = KERNELS / family / f"{variant}.cu"
        if not path.is_file():
            raise UsageError(f"there is no file {name}")
        is_package = path != Path(name)
        self.shown, self.path = f"{family}/{path.name}" if is_package else name, path
        self.title = self.shown if is_package else path.name  # in names of mutants
        try:
            self.text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{name} is not text in UTF-8") from None
        self.lines = self.text.split("\n")
        # PTX of the package names files without their folder
        self.ours: set[str] = set()
        self.others: set[str] = set()
        for other in KERNELS.glob(f"*/{path.stem}.ptx"):
            is_own = other.with_suffix(".cu").read_text(encoding="utf-8") == self.text
            (self.ours if is_own else self.others).add(other.read_text(encoding="utf-8"))

    def find_line(self, line: int) -> str:
        """The text of a line, without its blanks."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def name_line(self, line: int) -> str:
        """The same; the second of two equal lines has "(2)" behind it."""
        text = self.find_line(line)
        times = sum(1 for other in self.lines[:line] if other.strip() == text)
        return text if times == 1 else f"{text} ({times})"

    def find_files(
        self, listing: ptx_statements.Listing, loaded: mutant_runs.Loaded
    ) -> dict[int, int]:
        """{number of a file in PTX: what is added to its lines} of the names that mean this one."""
        if loaded.ptx in self.others:
            return {}
        if loaded.ptx in self.ours:
            return {
                number: 0
                for number, name in listing.files.items()
                if Path(name).name == self.path.name
            }
        found = {number: 0 for number, name in listing.files.items() if self._is_its_name(name)}
        source = loaded.source
        if not found and source and not source.startswith("#line") and source.strip():
            offset = self.text.find(source)
            if offset < 0 and self.text.strip() in source:
                shift = -source[: source.find(self.text.strip())].count("\n")
            elif offset < 0:
                return {}
            else:
                shift = self.text[:offset].count("\n")
            found = {
                number: shift
                for number, name in listing.files.items()
                if Path(name).name == SOURCE_NAME
            }
        return found

    def _is_its_name(self, name: str) -> bool:
        if Path(name).name != self.path.name:
            return False
        try:
            return os.path.samefile(name, self.path)
        except OSError:  # a name without its folder
            return "/" not in name


def find_place(
    statement: ptx_statements.Statement, listing: ptx_statements.Listing, files: dict[int, int]
) -> tuple[int, int] | None:
    """(line, column) in the file of an instruction; of inlined code, where it was called."""
    location, seen = statement.location, set()
    while location is not None and location not in seen:
        seen.add(location)
        number, line, column = location
        if number in files and line:
            return line + files[number], column
        location = listing.callers.get(location)
    return None


def list_places(
    source: Source, loaded: mutant_runs.Loaded
) -> Iterator[tuple[ptx_mutations.Mutant, int, int]]:
    """(mutant, line, column) of each mutant of a text that stands in a line of the file."""
    if source.path.suffix == ".ptx":
        if source.text.rstrip("\0") == loaded.ptx:
            for mutant in ptx_mutations.list_mutants(ptx_statements.read(loaded.ptx)):
                yield mutant, mutant.statement.number, 0
        return
    if source.path.name not in loaded.ptx and SOURCE_NAME not in loaded.ptx:
        return
    listing = ptx_statements.read(loaded.ptx)
    files = source.find_files(listing, loaded)
    for mutant in ptx_mutations.list_mutants(listing) if files else ():
        place = find_place(mutant.statement, listing, files)
        if place is not None and source.find_line(place[0]):
            yield mutant, *place


def _make(source: Source, line: int, ptx: str, mutant: ptx_mutations.Mutant) -> Candidate:
    text, place = source.find_line(line), f"{source.title}: {source.name_line(line)}"
    return Candidate(source.shown, line, text, place, ptx, mutant)


class Choice(NamedTuple):
    """The mutants that are judged, by file and line, and what no launch has executed."""

    picked: list[Candidate]
    unexecuted: list[tuple[str, int]]  # file and line


def choose(chosen: Options, texts: Sequence[mutant_runs.Loaded]) -> Choice:
    """Which mutants are judged: of each kind one a place of the source, of executed code."""
    groups: dict[Any, list[Candidate]] = collections.defaultdict(list)
    executed: set[tuple[str, int]] = set()
    others: set[tuple[str, int]] = set()
    for source in [Source(name) for name in chosen.files]:
        for loaded in texts:
            for mutant, line, column in list_places(source, loaded):
                if not loaded.is_executed(mutant.statement):
                    others.add((source.shown, line))
                    continue
                executed.add((source.shown, line))
                one = _make(source, line, loaded.ptx, mutant)
                key = (source.shown, line, column, mutant.kind)
                groups[len(groups) if chosen.every else key].append(one)
    if not groups and not others:
        raise UsageError(
            f"the command has loaded no kernel of {', '.join(chosen.files)} that has lines of it: "
            "mutants need PTX with line information (RawKernel, RawModule and the kernels of the "
            "package have it)"
        )
    kinds = chosen.kind or list(ptx_mutations.KINDS)
    rng = random.Random(chosen.seed)
    kept = [group for group in groups.values() if group[0].mutant.kind in kinds]
    picked = [rng.choice(group) for group in kept]
    if chosen.sample is not None and chosen.sample < len(picked):
        picked = rng.sample(picked, chosen.sample)
    picked.sort(key=lambda one: (one.file, one.line, one.mutant.statement.number))
    return Choice(picked, sorted(others - executed))


def read_equivalents(path: str | None) -> dict[str, str]:
    """{name: reason} of a file of mutants that change nothing."""
    found: dict[str, str] = {}
    name = None
    for line in Path(path).read_text(encoding="utf-8").splitlines() if path else ():
        if line.startswith("#") or not line.strip():
            continue
        if not line[0].isspace():
            name = line.rstrip()
            found[name] = ""
        elif name is not None:
            found[name] = f"{found[name]} {line.strip()}".strip()
    lacking = [name for name, reason in found.items() if not reason]
    if lacking:
        raise UsageError(f"{path} gives no reason for {lacking[0]!r}")
    return found


# The report --------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """A mutant and what became of it; reason: why it is equivalent."""

    candidate: Candidate
    verdict: mutant_runs.Verdict
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types."""
        one, mutant = self.candidate, self.candidate.mutant
        statement = mutant.statement
        return {
            "file": one.file,
            "line": one.line,
            "source": one.text,
            "kind": mutant.kind,
            "change": mutant.words,
            "name": one.name,
            "function": statement.function,
            "ptx_line": statement.number,
            "before": one.ptx[statement.start : statement.end],
            "after": mutant.after,
            "result": self.verdict.result,
            "by": self.verdict.by,
            "equivalent": self.reason,
            "seconds": round(self.verdict.seconds, 2),
        }


def show_head(one: Candidate) -> str:
    """ "softmax.cu:12  guard: branch around the guarded code removed"."""
    return f"{one.file}:{one.line}  {one.mutant.kind}: {one.mutant.words}"


def show_change(one: Candidate) -> list[str]:
    """The source line, and the PTX before and after."""
    statement = one.mutant.statement
    before = " ".join(one.ptx[statement.start : statement.end].split())
    after = one.mutant.after or "(nothing)"
    margin = "        "
    return [
        f"{one.line:>6}  {one.text}",
        f"     -  {before}    ({statement.function}, line {statement.number} of the PTX)",
        *textwrap.wrap(f"     +  {after}", WIDTH, subsequent_indent=margin, drop_whitespace=False),
    ]


def count(rows: Iterable[Judged]) -> collections.Counter[str]:
    """How many of each result; "equivalent" ones are no survivors."""
    return collections.Counter(
        "equivalent" if row.verdict.result == "survived" and row.reason else row.verdict.result
        for row in rows
    )


def show_summary(rows: Sequence[Judged], unexecuted: Sequence[tuple[str, int]]) -> list[str]:
    """The survivors, and how many of each kind were killed."""
    lines = []
    if unexecuted:
        places = ", ".join(f"{file}:{line}" for file, line in unexecuted)
        lines += ["", *textwrap.wrap(f"no mutants of lines that never ran: {places}", WIDTH)]
    survivors = [row for row in rows if row.verdict.result == "survived" and not row.reason]
    if survivors:
        lines += ["", "survivors, which no test has seen:"]
    for row in survivors:
        lines += ["", f"  {show_head(row.candidate)}", *show_change(row.candidate)]
        lines.append(f"        name: {row.candidate.name}")
    lines += ["", "kind        killed  survived  equivalent"]
    for kind in ptx_mutations.KINDS:
        sums = count(row for row in rows if row.candidate.mutant.kind == kind)
        if sums:
            numbers = sums["killed"], sums["survived"], sums["equivalent"]
            lines.append("{:10}  {:>6}  {:>8}  {:>10}".format(kind, *numbers))
    sums = count(rows)
    total = sums["killed"] + sums["survived"]
    late = sum(1 for row in rows if (row.verdict.by or "").startswith("time: "))
    words = f"{sums['killed']} of {total} killed"
    words += f": {find_share(rows):.1f} %" if total else ""
    words += f", {late} of them by time" if late else ""
    lines += ["", words]
    if sums["unloaded"]:
        lines.append(f"{sums['unloaded']} not judged: their PTX was not loaded again")
    if sums["invalid"]:
        lines.append(f"{sums['invalid']} not judged: PTX that does not load")
    return lines


def find_share(rows: Sequence[Judged]) -> float:
    """How many of a hundred mutants that count were killed."""
    sums = count(rows)
    total = sums["killed"] + sums["survived"]
    return 100 * sums["killed"] / total if total else 100.0


# The command -------------------------------------------------------------------------------------


def is_valid(candidate: Candidate) -> bool:
    """Whether the mutant's PTX loads, so that what kills it is a test."""
    try:
        smemkit.RawModule(candidate.mutant.apply(candidate.ptx))
    except smemkit.Error:
        return False
    return True


def judge_all(
    chosen: Options, command: Sequence[str], picked: Sequence[Candidate], folder: Path, limit: float
) -> list[Judged]:
    """Runs the command on each mutant; prints each verdict as it comes."""
    reasons = read_equivalents(chosen.equivalent)
    out = sys.stderr if chosen.json == "-" else sys.stdout

    def judge(number: int) -> Judged:
        candidate = picked[number]
        if is_valid(candidate):
            verdict = mutant_runs.judge(
                command, candidate.ptx, candidate.mutant, folder / str(number), limit
            )
        else:
            verdict = mutant_runs.Verdict("invalid", None, 0.0, "")
        reason = reasons.get(candidate.name)
        word = "equivalent" if verdict.result == "survived" and reason else verdict.result
        by = f"  by {verdict.by}" if verdict.by else ""
        print(f"{word:10} {show_head(candidate)}{by}", file=out, flush=True)
        return Judged(candidate, verdict, reason)

    pool = concurrent.futures.ThreadPoolExecutor(chosen.jobs)
    try:
        with mutant_runs.stopping():
            return list(pool.map(judge, range(len(picked))))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def read_command(words: Sequence[str]) -> list[str]:
    """The command behind --."""
    if not words:
        raise UsageError(
            "mutate needs a command that tests the kernels, behind --: "
            "smemkit mutate kernel.cu -- pytest tests"
        )
    return list(words)


def run(chosen: Options) -> int:
    """Judges mutants; 1 where too few are killed."""
    command = read_command(chosen.arguments)
    read_equivalents(chosen.equivalent)
    for name in chosen.files:
        Source(name)
    with tempfile.TemporaryDirectory(prefix="smemkit-mutate-") as place:
        folder = Path(place)
        first = folder / "first"
        first.mkdir()
        baseline, texts = mutant_runs.run_baseline(command, first)
        picked, unexecuted = choose(chosen, texts)
        limit = chosen.limit or max(LIMIT_LEAST_S, LIMIT_FACTOR * baseline.seconds)
        if chosen.only_list:
            for one in picked:
                print("\n".join([show_head(one), *show_change(one)]))
            return 0
        number = f"{len(picked)} mutant{'' if len(picked) == 1 else 's'}"
        complain(f"{number}; the command takes {baseline.seconds:.1f} s without one")
        rows = judge_all(chosen, command, picked, folder, limit)
    write(chosen, command, baseline.seconds, rows, unexecuted)
    return int(find_share(rows) < chosen.at_least)


def write(
    chosen: Options,
    command: Sequence[str],
    took: float,
    rows: Sequence[Judged],
    unexecuted: Sequence[tuple[str, int]],
) -> None:
    """Prints the summary, and writes the JSON that was asked for."""
    if chosen.json != "-":
        print("\n".join(show_summary(rows, unexecuted)))
    if chosen.json:
        sums = count(rows)
        facts = {
            "smemkit": smemkit.__version__,
            "kind": "mutate",
            "command": list(command),
            "files": chosen.files,
            "seed": chosen.seed,
            "seconds": round(took, 2),
            "share": round(find_share(rows), 2),
            "counts": {name: sums[name] for name in sorted(sums)},
            "unexecuted": [list(place) for place in unexecuted],
            "mutants": [row.to_dict() for row in rows],
        }
        text = json.dumps(facts, indent=1) + "\n"
        if chosen.json == "-":
            print(text, end="")
        else:
            Path(chosen.json).write_text(text, encoding="utf-8")
