"""Verdict: which demands of an exercise an attempt meets, and what it misses."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from ..report import CheckReport, Report

WIDTH = 96  # columns of printed sentences
MARKS = {True: "ok", False: "no", None: "--"}
STYLE = (
    "margin:0;white-space:pre-wrap;line-height:1.45;color:inherit;background:none;"
    "font-family:ui-monospace,monospace;font-size:13px"
)
COLOURS = {True: "rgb(0,158,115)", False: "rgb(213,94,0)", None: "inherit"}  # for every sight


@dataclass(frozen=True)
class Step:
    """One demand of an exercise.

    Attributes
    ----------
    name : str
    passed : bool or None
        None where it was not judged.
    sentence : str
        What was found.

    Example
    -------
    >>> from smemkit import lessons
    >>> lessons.Step("result", False, "element 3 is 1.0").passed
    False
    """

    name: str
    passed: bool | None
    sentence: str = ""


class Verdict:
    """The judgement of an attempt. True where the exercise is solved.

    Attributes
    ----------
    exercise : str
        Its name.
    steps : tuple of Step
        One for each demand, in order.
    sentence : str
        What to change next; "" where it is solved.
    next : str
        What to do after reading it.
    report : Report or None
        The report whose counters were judged.
    checked : CheckReport or None
        Of the case in which something was found, else of the last one.

    Example
    -------
    >>> import smemkit
    >>> exercise = smemkit.exercise("tour.guard")
    >>> verdict = exercise.judge(exercise.start)
    >>> bool(verdict), [step.name for step in verdict.steps if step.passed is False]
    (False, ['check'])
    """

    exercise: str
    steps: tuple[Step, ...]
    next: str
    report: Report | None
    checked: CheckReport | None

    def __init__(
        self,
        exercise: str,
        steps: tuple[Step, ...],
        next: str,
        report: Report | None = None,
        checked: CheckReport | None = None,
    ) -> None:
        self.exercise, self.steps, self.next = exercise, steps, next
        self.report, self.checked = report, checked

    def __bool__(self) -> bool:
        return all(step.passed for step in self.steps)

    @property
    def sentence(self) -> str:
        """What to change next; "" where the exercise is solved."""
        return next((step.sentence for step in self.steps if step.passed is False), "")

    @property
    def title(self) -> str:
        """The name of the exercise, and how far the attempt has come."""
        if self:
            return f"{self.exercise}: solved"
        done = sum(step.passed is True for step in self.steps)
        return f"{self.exercise}: not yet ({done} of {len(self.steps)})"

    def __repr__(self) -> str:
        lines = [self.title]
        for step in self.steps:
            lines.append(f"  {MARKS[step.passed]}  {step.name}")
            lines += [f"      {line}" for line in self._wrap(step)]
        return "\n".join([*lines, self.next])

    @staticmethod
    def _wrap(step: Step) -> list[str]:
        """The lines of a step's sentence; lines that quote code stay as they are."""
        wrapped: list[str] = []
        for line in step.sentence.splitlines():
            quoted = line.startswith(" ")
            wrapped += [line] if quoted else textwrap.wrap(line, WIDTH, break_long_words=False)
        return wrapped

    def _repr_html_(self) -> str:
        from html import escape  # import smemkit would load it each time

        lines = [f"<b>{escape(self.title)}</b>"]
        for step in self.steps:
            mark = f'<b style="color:{COLOURS[step.passed]}">{MARKS[step.passed]}</b>'
            lines.append(f"  {mark}  {escape(step.name)}")
            lines += [f"      {escape(line)}" for line in self._wrap(step)]
        return f'<pre style="{STYLE}">' + "\n".join([*lines, escape(self.next)]) + "</pre>"
