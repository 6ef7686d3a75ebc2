"""Judges an attempt: it compiles, gives NumPy's result, is safe, and keeps to the limits."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy

from .. import _core, compile
from ..report import CheckReport, Report
from ..report.counts import OPERATORS, RATIOS
from ._task import LAUNCH, Case, Limit, Task
from ._verdict import Step

OPTIONS = ("-arch=compute_90",)  # the simulator's, whatever GPU is here: counts are the same
MAX_STEPS = 500_000  # warp instructions of a launch; every case is far below
MAX_LINES = 15  # of a compiler's log: the first error tells most
NEEDED = {
    "==": "Needed: {}.",
    "<=": "Needed: at most {}.",
    "<": "Needed: fewer than {}.",
    ">=": "Needed: at least {}.",
    ">": "Needed: more than {}.",
    "!=": "Needed: any number but {}.",
}
# Counters that count everywhere: the line with most of them is not at fault.
WITHOUT_LINE = ("instructions.", "launch.", "barrier.")
ADDRESS = re.compile(r" (?:at )?0x[0-9a-f]+")
PLACE = re.compile(r"(?:PTX line \d+ \()?\bkernel\.cu:(\d+)\)?")
ARGUMENT = re.compile(r"args\[\d+\] \((\w+), ([^()]*)\)")
KINDS = {
    "race": "a race",
    "warp_hazard": "a hazard within a warp",
    "global_race": "a race between blocks",
    "barrier": "a wrong barrier",
    "out_of_bounds": "an access out of bounds",
    "overrun": "an access that leaves its variable",
    "misaligned": "a misaligned access",
    "uninitialized": "a read of uninitialized memory",
    "shuffle": "a wrong shuffle",
    "async_read": "a read of a copy that has not ended",
}


class Judgement:
    """The steps of one attempt, and the reports that they come from."""

    def __init__(self, task: Task, source: str) -> None:
        self.task = task
        self.steps: list[Step] = []
        self.report: Report | None = None
        self.checked: CheckReport | None = None
        if not (compile.find_nvrtc() or compile.find_nvcc()) and ".version" not in source:
            raise _core.CompileError(compile.ADVICE)
        if self._compile(source) and self._run():
            self._count()
        self._fill()

    def _add(self, name: str, passed: bool, sentence: str = "") -> bool:
        self.steps.append(Step(name, passed, sentence))
        return passed

    def _fill(self) -> None:
        """Adds the demands that were not judged because of an earlier one."""
        names = ["compiles", "result", "check", *(limit.condition for limit in self.task.limits)]
        self.steps += [Step(name, None) for name in names[len(self.steps) :]]

    def _compile(self, source: str) -> bool:
        try:
            self.kernel = _core.RawKernel(source, self.task.kernel, options=OPTIONS)
        except _core.CompileError as error:
            return self._add("compiles", False, f"It does not compile.\n{quote(str(error))}")
        except _core.Error as error:
            words = f'Keep the kernel\'s name, {self.task.kernel}, and its extern "C": {error}'
            return self._add("compiles", False, f"{words}.")
        return self._add("compiles", True)

    # Result and check ---------------------------------------------------------------------------

    def _run(self) -> bool:
        """Runs all cases under check, and compares their results."""
        right: list[str] = []
        wrong = found = ""
        for sizes in self.task.sizes:
            case = self.task.make_case(sizes)
            before = copy_arrays(case.args)
            try:
                checked = self.kernel.check(
                    case.grid,
                    case.block,
                    tuple(case.args.values()),
                    shared_mem=case.shared_mem,
                    max_steps=MAX_STEPS,
                )
            except (_core.ArgumentError, _core.ArgumentTypeError, _core.LaunchError) as error:
                head = f"The judge could not launch it ({case.label}); keep the start's parameters"
                return self._add("result", False, f"{head}: {error}.")
            except _core.ExecutionError as error:
                return self._add("result", False, say_stopped(case, str(error)))
            self.checked = checked
            wrong = compare(case, before)
            found = say_findings(case, checked, not wrong)
            if found or wrong:
                break
            right.append(case.label)
        names = join(right)
        if wrong:
            wrong = f"It is right for {names}, but not for {wrong}" if right else f"For {wrong}"
        self._add("result", not wrong, wrong or f"It is right for {names or case.label}.")
        self._add("check", not found, found)
        return not (wrong or found)

    # Limits -------------------------------------------------------------------------------------

    def _count(self) -> None:
        case = self.task.make_case(self.task.sizes[0])
        self.report = self.kernel.profile(
            case.grid,
            case.block,
            tuple(case.args.values()),
            shared_mem=case.shared_mem,
            max_steps=MAX_STEPS,
        )
        for limit in self.task.limits:
            self._add(limit.condition, *judge_limit(limit, self.report, case))


def judge_limit(limit: Limit, report: Report, case: Case) -> tuple[bool, str]:
    """Whether a report keeps to a limit, and the sentence on it."""
    name, sign, bound = limit.read()
    if name.startswith(LAUNCH):
        value = operator.attrgetter(name.removeprefix(LAUNCH))(report.launches[0])
    else:
        value = report.counters[name] or 0  # a ratio of nothing
    if OPERATORS[sign](value, bound):
        return True, ""
    place = find_line(report, name) if sign in ("==", "<=", "<") else ""
    words = limit.words.format(value=write_number(value))
    needed = NEEDED[sign].format(write_number(bound))
    return False, f"Your kernel gives the right result, but {words} ({case.label}). {needed}{place}"


def find_line(report: Report, name: str) -> str:
    """The line of the source with most of a counter, quoted; "" where no line is at fault."""
    if name.startswith(WITHOUT_LINE):
        return ""
    weight = RATIOS[name][0] if name in RATIOS else name
    rows = [line for line in report.lines if line.counters[weight] and line.counters[name]]
    worst = max(rows, key=lambda line: (line.counters[name], line.counters[weight]), default=None)
    if worst is None:
        return ""
    moved = "  (moved here by the compiler)" if worst.moved else ""
    return f"\n  line {worst.line}: {worst.text}{moved}"


def say_stopped(case: Case, message: str) -> str:
    if "step budget" in message:
        return (
            f"It did not end within {MAX_STEPS:,} warp instructions ({case.label}): does a loop "
            "never end?"
        )
    return f"It was stopped ({case.label}): {tidy(message)}."


def say_findings(case: Case, checked: CheckReport, right: bool) -> str:
    """A sentence on the first finding, with the lines of its accesses; "" where there is none."""
    if checked:
        return ""
    if not checked.findings:
        return say_stopped(case, checked.stopped or "it was stopped")
    first = checked.findings[0]
    message = tidy(first.message)
    stop = "" if message.endswith(".") else "."
    head = "Your kernel gives the right result, but check finds" if right else "Check finds"
    kind = KINDS.get(first.kind, first.kind)
    lines = [f"{head} {kind} ({case.label}). {message[:1].upper()}{message[1:]}{stop}"]
    sides = [side for side in (first.first, first.second) if side is not None]
    lines += dict.fromkeys(f"  line {side.line}: {side.text}" for side in sides)
    more = len(checked.findings) - 1
    if more:
        words = "is 1 more finding" if more == 1 else f"are {more} more findings"
        lines.append(f"There {words}: the verdict's .checked shows all.")
    return "\n".join(lines)


def tidy(message: str) -> str:
    """A message without addresses; lines are those of the attempt, arrays have their names."""
    message = PLACE.sub(r"line \1", ADDRESS.sub("", message))
    return ARGUMENT.sub(r"\1 (\2)", message)


# Comparing arrays --------------------------------------------------------------------------------


def copy_arrays(args: Any) -> dict[str, Any]:
    return {name: value.copy() for name, value in args.items() if hasattr(value, "shape")}


def compare(case: Case, before: dict[str, Any]) -> str:
    """What is wrong with the arrays that a launch has left, or ""."""
    for name, old in before.items():
        got = case.args[name]
        if name not in case.expected:
            if not numpy.array_equal(got, old, equal_nan=got.dtype.kind == "f"):
                return f"{case.label}: the kernel has changed {name}, which it should only read."
            continue
        expected = case.expected[name]
        wrong = find_wrong(got, expected, case.tolerance)
        if wrong.any():
            return f"{case.label}: {describe_wrong(name, got, expected, old, wrong)}"
    return ""


def find_wrong(got: Any, expected: Any, tolerance: float) -> Any:
    """A mask of the elements that differ by more than the tolerance; NaN is always wrong."""
    if not tolerance:
        return got != expected
    scale = max(1e-30, float(numpy.abs(expected).max(initial=0)))
    with numpy.errstate(invalid="ignore"):
        return ~(numpy.abs(got.astype("float64") - expected) <= tolerance * scale)


def describe_wrong(name: str, got: Any, expected: Any, old: Any, wrong: Any) -> str:
    where = tuple(int(number) for number in numpy.argwhere(wrong)[0])
    count, size = int(wrong.sum()), wrong.size
    element = name + "".join(f"[{number}]" for number in where)
    value = write_number(expected[where])
    kind = got.dtype.kind
    untouched = numpy.array_equal(got[wrong], old[wrong], equal_nan=kind == "f")
    if untouched and count == size:
        return f"the kernel has not changed {name}; {element} should be {value}."
    if untouched:
        head = f"{element} has not been changed; it should be {value}"
    else:
        head = f"{element} is {write_number(got[where])}; it should be {value}"
    if size == 1:
        return f"{head}."
    if count == size:
        return f"{head}, and all other elements are wrong too."
    if count == 1:
        return f"{head}. The other {size - 1:,} elements are right."
    return f"{head}. {count:,} of {size:,} elements are wrong, this is the first."


# Words -------------------------------------------------------------------------------------------


def write_number(value: Any) -> str:
    number = float(value)
    if number.is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:.4g}"


def join(names: list[str]) -> str:
    """As in "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def quote(text: str) -> str:
    """A compiler's log as quoted lines, its file's lines named as lines of the attempt."""
    text = re.sub(r"kernel\.cu\((\d+)\)", r"line \1", text)
    text = re.sub(r"\n*\d+ errors? detected in the compilation of .*", "", text)
    text = re.sub(r"^(NVRTC:|.* failed with status \d+:)$", "", text, flags=re.MULTILINE)
    lines = [f"  {line}" for line in text.splitlines() if line.strip()]
    more = ["  ..."] if len(lines) > MAX_LINES else []
    return "\n".join(lines[:MAX_LINES] + more)
