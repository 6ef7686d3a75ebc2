"""profile and check of a folder: every launch of its smemkit.toml, one after the other."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy

import smemkit

from .. import report
from ..report import baseline, counts, junit, sarif
from . import suite_file
from .errors import UsageError
from .kernel_arguments import make_argument, say_type
from .options import complain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .profile import CheckOptions, Options, ProfileOptions
    from .suite_file import Launch, Suite

    Work = Callable[..., report.Report | report.CheckReport]
    Opener = Callable[[str, str | None, Sequence[str]], smemkit.RawKernel]

Done = TypeVar("Done", report.Report, report.CheckReport)


@dataclass
class Problem:
    """Something that is not as it should be: rule is "claim", "baseline" or a kind of finding."""

    rule: str
    message: str  # a line
    text: str  # all of it


@dataclass
class Row:
    """A launch and what came of it; error: why it could not be judged."""

    launch: Launch
    seconds: float = 0.0
    done: Any = None
    error: smemkit.Error | None = None
    problems: list[Problem] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)  # claims, and the baseline

    @property
    def word(self) -> str:
        """ "failed", "wrong" or "right"."""
        return "failed" if self.error is not None else "wrong" if self.problems else "right"


# Running -----------------------------------------------------------------------------------------


def choose(suite: Suite, name: str | None) -> list[Launch]:
    """The launches, or those whose kernel, file or label --kernel names."""
    if name is None:
        return suite.launches
    found = [
        launch
        for launch in suite.launches
        if name in (launch.name, launch.path.name, launch.path.stem, launch.label)
    ]
    if not found:
        labels = ", ".join(launch.label for launch in suite.launches)
        raise UsageError(f"{suite.path} has no launch {name!r}; it has {labels}")
    return found


def list_unlisted(suite: Suite) -> list[str]:
    """The .cu files of the folder that no launch names."""
    named = {launch.path.resolve() for launch in suite.launches}
    return sorted(
        path.name for path in suite.path.parent.glob("*.cu") if path.resolve() not in named
    )


def run_launch(
    launch: Launch, chosen: Options, open_kernel: Opener, work: Callable[..., Any]
) -> Row:
    """Compiles and runs a launch; an error of smemkit is its outcome."""
    row = Row(launch)
    begun = time.perf_counter()
    try:
        if not launch.path.exists():
            raise UsageError(f"there is no file {launch.path}")
        rng = numpy.random.default_rng(launch.seed)
        values = tuple(make_argument(text, rng) for text in launch.args)
        kernel = open_kernel(str(launch.path), launch.name, launch.options)
        keywords: dict[str, Any] = {"shared_mem": launch.shared_mem}
        if chosen.backend is not None:
            keywords["backend"] = chosen.backend
        if chosen.blocks or launch.blocks:
            keywords["blocks"] = chosen.blocks or launch.blocks
        row.done = work(launch, kernel, (launch.grid, launch.block, values), keywords)
    except smemkit.InterruptedError:
        raise
    except smemkit.ArgumentTypeError as error:
        row.error = say_type(error, launch.args)
    except smemkit.Error as error:
        row.error = error
    row.seconds = time.perf_counter() - begun
    return row


def run_all(
    chosen: Options, open_kernel: Opener, work: Callable[..., Any]
) -> tuple[Suite, list[Row]]:
    """Every launch that is asked for; names the files that have none."""
    suite = suite_file.read(chosen.what)
    launches = choose(suite, chosen.kernel)
    rows = [run_launch(launch, chosen, open_kernel, work) for launch in launches]
    unlisted = list_unlisted(suite)
    if unlisted and chosen.kernel is None:
        complain(f"{suite.path} has no launch of {', '.join(unlisted)}")
    return suite, rows


# check -------------------------------------------------------------------------------------------


def check(chosen: CheckOptions, open_kernel: Opener) -> int:
    """Checks every launch of a folder; the exit status."""

    def work(launch: Launch, kernel: Any, arguments: Any, keywords: Any) -> report.CheckReport:
        order = chosen.order if chosen.order != "forward" else launch.order
        return report.check(
            kernel,
            *arguments,
            order=order,
            padding=chosen.padding or launch.padding,
            ignore_same_value=chosen.ignore_same_value or launch.ignore_same_value,
            **keywords,
        )

    suite, rows = run_all(chosen, open_kernel, work)
    for row in rows:
        if row.done is not None:
            judge_check(row)
    return finish(chosen, suite, rows, {"right": "clean", "wrong": "findings", "failed": "failed"})


def judge_check(row: Row) -> None:
    """Notes the findings of a launch, and why it ended early."""
    done = row.done
    for finding in done.findings:
        if finding.kind not in row.launch.known:
            words = f"{finding.first.place}: {finding.message}"
            row.problems.append(Problem(finding.kind, words, str(finding)))
    if done.stopped is not None and not done.findings:
        row.error = smemkit.ExecutionError(done.stopped)


# profile -----------------------------------------------------------------------------------------


def profile(chosen: ProfileOptions, open_kernel: Opener) -> int:
    """Profiles every launch of a folder and judges claims and the baseline; the exit status."""
    before = read_baseline(chosen)
    conditions = list_refused(chosen)

    def work(launch: Launch, kernel: Any, arguments: Any, keywords: Any) -> report.Report:
        model = not chosen.as_written
        return report.profile(kernel, *arguments, model=model, **keywords)

    suite, rows = run_all(chosen, open_kernel, work)
    for row in rows:
        if row.done is not None:
            judge_claims(
                row, [*((claim, claim, False) for claim in row.launch.claims), *conditions]
            )
            if before is not None and not chosen.update:
                judge_baseline(row, before)
    if chosen.baseline is not None:
        labels = {launch.label for launch in suite.launches}
        gone = sorted((before or {}).keys() - labels) if chosen.kernel is None else []
        if chosen.update:
            update(chosen.baseline, before, rows, gone)
        for label in () if chosen.update else gone:
            complain(f"the baseline has {label}, which {suite.path} has not; --update drops it")
    return finish(chosen, suite, rows, {"right": "right", "wrong": "wrong", "failed": "failed"})


def list_refused(chosen: ProfileOptions) -> list[tuple[str, str, bool]]:
    """The conditions of --fail-on, for judge_claims."""
    return [(f"--fail-on {text}", text, True) for text in chosen.fail_on]


def judge_claims(row: Row, conditions: Iterable[tuple[str, str, bool]]) -> None:
    """Notes the conditions (words, text, whether it must not hold) that are not as they should."""
    for words, text, is_refused in conditions:
        row.judged.append(words)
        name = counts.read_condition(text)[0]
        try:
            held = row.done.holds(text)
        except report.UncountedError as error:
            if not is_refused:
                row.problems.append(Problem("claim", f"{words}: {error}", str(error)))
            continue
        if bool(held) == is_refused:
            value = row.done.counters[name]
            said = (
                f"{words}: it is {value:,g}"
                if isinstance(value, float)
                else f"{words}: it is {value:,}"
            )
            row.problems.append(Problem("claim", said, said))


def judge_baseline(row: Row, before: dict[str, baseline.Values]) -> None:
    """Notes the counters that have moved."""
    row.judged.append("baseline")
    label = row.launch.label
    if label not in before:
        words = "it is not in the baseline; --update adds it"
        row.problems.append(Problem("baseline", words, words))
        return
    moved = baseline.compare(before[label], baseline.keep(row.done.counters), row.launch.tolerance)
    if moved:
        worst = moved[0]
        words = f"{worst.counter} has moved ({worst.change})"
        if len(moved) > 1:
            words = f"{len(moved)} counters have moved, {worst.counter} ({worst.change}) the first"
        text = "\n".join([f"{words}:", *baseline.show(moved)])
        row.problems.append(Problem("baseline", words, text))


def read_baseline(chosen: ProfileOptions) -> dict[str, baseline.Values] | None:
    """The baseline that is named; None where there is none, or --update makes the first."""
    if chosen.baseline is None:
        if chosen.update:
            raise UsageError("--update writes the file that --baseline names, and none is named")
        return None
    if chosen.update and not Path(chosen.baseline).exists():
        return None
    return baseline.read(chosen.baseline)


def update(
    path: str,
    before: dict[str, baseline.Values] | None,
    rows: Iterable[Row],
    gone: Sequence[str] = (),
) -> None:
    """Writes the baseline; launches that did not run keep what they had."""
    kernels = {label: values for label, values in (before or {}).items() if label not in gone}
    fresh = {row.launch.label: baseline.keep(row.done.counters) for row in rows if row.done}
    moved = [label for label, values in fresh.items() if kernels.get(label) != values]
    baseline.write(path, {**kernels, **fresh})
    words = f"{len(moved)} of {len(fresh)} launches" if fresh else "no launch"
    complain(f"{path}: {words} updated")


# One launch of the command line ------------------------------------------------------------------


def make_launch(chosen: Options, what: str) -> Launch:
    """A launch that stands for the one of the command line."""
    family, _, variant = what.partition("/")
    if family in smemkit.families():
        variant = variant or chosen.variant
        return suite_file.make_plain(Path(family), None if variant == "auto" else variant)
    return suite_file.make_plain(Path(what), chosen.kernel)


def write_one(
    chosen: Options, what: str, done: Done | None, error: smemkit.Error | None, took: float
) -> None:
    """Writes the JUnit and SARIF of one launch; error: why there is no report."""
    if not (chosen.junit or chosen.sarif):
        return
    row = Row(make_launch(chosen, what), took, done, error)
    if isinstance(done, report.CheckReport):
        judge_check(row)
    elif isinstance(done, report.Report):
        judge_claims(row, list_refused(cast("ProfileOptions", chosen)))
        before = read_baseline(cast("ProfileOptions", chosen))
        if before is not None and not cast("ProfileOptions", chosen).update:
            judge_baseline(row, before)
    write_xml(chosen, chosen.what, [row])


def judge_one(
    chosen: ProfileOptions, done: report.Report, before: dict[str, baseline.Values] | None
) -> int:
    """The exit status by the baseline of one launch; prints what has moved, or updates it."""
    if chosen.baseline is None:
        return 0
    row = Row(make_launch(chosen, chosen.what), done=done)
    if chosen.update:
        update(chosen.baseline, before, [row])
    else:
        judge_baseline(row, before or {})
    for problem in row.problems:
        print(f"smemkit: {problem.text}", file=sys.stderr)
    return int(bool(row.problems))


# Reports -----------------------------------------------------------------------------------------


def find_place(row: Row) -> sarif.Place:
    """Where a launch's source begins."""
    return sarif.Place(str(row.launch.path))


def find_worst(row: Row, problem: Problem) -> sarif.Place:
    """The line with most of the counter that a claim is about."""
    name = problem.message.removeprefix("--fail-on ").split()[0].partition(":")[0]
    for sign in ("<", ">", "=", "!"):
        name = name.partition(sign)[0]
    lines = [line for line in row.done.lines if line.line and line.counters.get(name)]
    if problem.rule != "claim" or not lines:
        return find_place(row)
    worst = max(lines, key=lambda line: line.counters[name])
    return sarif.Place(worst.file, worst.line, worst.text)


def first_line(text: str) -> str:
    """What a text says first; of a compiler's log, its first error."""
    lines = text.splitlines()
    return next((line for line in lines if "error:" in line), "".join(lines[:1]))


def make_cases(group: str, rows: Iterable[Row]) -> list[junit.Case]:
    """JUnit's cases: one for each launch; of profile, one for each claim."""
    cases = []
    for row in rows:
        file = str(row.launch.path)
        name = row.launch.label
        if row.error is not None:
            message = first_line(str(row.error))
            kind = type(row.error).__name__
            cases.append(
                junit.Case(group, name, row.seconds, "error", kind, message, str(row.error), file)
            )
            continue
        judged = row.judged if isinstance(row.done, report.Report) else []
        for number, words in enumerate(judged or [""]):
            own = [
                problem
                for problem in row.problems
                if not words or problem.rule == words or problem.message.startswith(f"{words}:")
            ]
            case = junit.Case(
                group,
                f"{name}: {words}" if words else name,
                0.0 if number else row.seconds,
                file=file,
            )
            if own:
                text = "\n\n".join(problem.text for problem in own)
                case = case._replace(
                    outcome="failure", kind=own[0].rule, message=own[0].message, text=text
                )
            cases.append(case)
    return cases


def make_results(rows: Iterable[Row]) -> tuple[list[sarif.Result], list[sarif.Failure]]:
    """SARIF's results, and what could not be judged."""
    results, failures = [], []
    for row in rows:
        if row.error is not None:
            failures.append(sarif.Failure(f"{row.launch.label}: {row.error}", find_place(row)))
        elif isinstance(row.done, report.CheckReport):
            results += [
                sarif.result_of(finding)
                for finding in row.done.findings
                if finding.kind not in row.launch.known
            ]
        else:
            label = row.launch.label
            results += [
                sarif.Result(
                    problem.rule,
                    f"{label}: {problem.text}",
                    find_worst(row, problem),
                    identity=(problem.rule, label, problem.message.partition(":")[0]),
                )
                for problem in row.problems
            ]
    return results, failures


def write_xml(chosen: Options, group: str, rows: Sequence[Row]) -> None:
    """Writes what --junit and --sarif name."""
    if chosen.junit:
        text = junit.write(f"smemkit {chosen.command}", make_cases(group, rows))
        Path(chosen.junit).write_text(text, encoding="utf-8")
    if chosen.sarif:
        Path(chosen.sarif).write_text(sarif.write(*make_results(rows)), encoding="utf-8")


def write_files(chosen: Options, suite: Suite, rows: Sequence[Row]) -> None:
    """Writes what --junit, --sarif and --json name."""
    write_xml(chosen, suite.path.parent.name or suite.path.stem, rows)
    if chosen.json:
        document = {
            "smemkit": smemkit.__version__,
            "kind": f"{chosen.command} of a folder",
            "file": str(suite.path),
            "launches": [describe(row) for row in rows],
        }
        text = json.dumps(document, indent=1, allow_nan=False) + "\n"
        if chosen.json == "-":
            print(text, end="")
        else:
            Path(chosen.json).write_text(text, encoding="utf-8")


def describe(row: Row) -> dict[str, Any]:
    """A launch and its outcome, of plain types."""
    return {
        "label": row.launch.label,
        "file": str(row.launch.path),
        "outcome": row.word,
        "seconds": round(row.seconds, 3),
        "error": None if row.error is None else str(row.error),
        "problems": [vars(problem) for problem in row.problems],
        "report": None if row.done is None else row.done.to_dict(),
    }


def show(rows: Sequence[Row], words: dict[str, str]) -> None:
    """Prints a line for each launch, below it what is wrong, and the sums."""
    wide = max(map(len, words.values()))
    for row in rows:
        print(f"{words[row.word]:{wide}}  {row.launch.label}")
        for problem in row.problems:
            print("\n".join(f"    {line}".rstrip() for line in problem.text.splitlines()))
        if row.error is not None:
            print("\n".join(f"    {line}".rstrip() for line in str(row.error).splitlines()))
    sums = [
        f"{number} {'with ' if words[word] == 'findings' else ''}{words[word]}"
        for word in ("right", "wrong", "failed")
        if (number := sum(1 for row in rows if row.word == word))
    ]
    print(f"{len(rows)} launch{'' if len(rows) == 1 else 'es'}: {', '.join(sums)}")


def finish(chosen: Options, suite: Suite, rows: Sequence[Row], words: dict[str, str]) -> int:
    """Prints and writes all of it; 0, 1 for what is wrong, 2 for what could not be judged."""
    if chosen.json != "-":
        show(rows, words)
        sys.stdout.flush()
    write_files(chosen, suite, rows)
    outcomes = {row.word for row in rows}
    return 2 if "failed" in outcomes else int("wrong" in outcomes)
