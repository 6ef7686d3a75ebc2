"""Exercise: what a learner gets of a task."""

from __future__ import annotations

import os
from pathlib import Path

from .. import _core
from ._task import Task
from ._verdict import Step, Verdict


class Text(str):
    """A text that a notebook shows as it is, without quotes.

    Example
    -------
    >>> from smemkit import lessons
    >>> lessons.Text("Hint 1 of 2: ...")
    Hint 1 of 2: ...
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _normalize(source: str) -> str:
    return " ".join(source.split())


class Exercise:
    """A kernel to complete or to mend; smemkit.exercise gives one, and showing it says what to do.

    Attributes
    ----------
    name, title, notebook : str
        Such as "tour.guard", what it is about, and the number of its notebook, "00".
    text : str
        What to do.
    kernel : str
        The name that the kernel must have.
    start : str
        The CUDA C to begin with.

    Example
    -------
    >>> import smemkit
    >>> exercise = smemkit.exercise("tour.guard")
    >>> exercise.name, exercise.notebook
    ('tour.guard', '00')
    """

    name: str
    title: str
    notebook: str
    text: Text
    kernel: str
    start: Text

    def __init__(self, name: str, task: Task, following: str | None = None) -> None:
        self.name, self.title, self.kernel = name, task.title, task.kernel
        self.notebook = f"{task.notebook:02}"
        self.text, self.start = Text(task.text.strip()), Text(task.start)
        self._task, self._following, self._hints_given = task, following, 0

    def judge(self, source: str | os.PathLike[str]) -> Verdict:
        """Judge an attempt: by its result, by smemkit.check, and by counters of the simulator.

        Parameters
        ----------
        source : str or path
            The kernel in CUDA C (or PTX), or the path of a file that holds it. Lines that the
            verdict names are lines of this text.

        Returns
        -------
        Verdict: true where the exercise is solved; print it, or show it in a notebook.

        Raises
        ------
        ArgumentTypeError (TypeError) for anything else; ArgumentError (ValueError) for the name of
        a file as a str; CompileError where there is no compiler of CUDA C. What is wrong with the
        attempt itself is told by the verdict.

        Example
        -------
        >>> import smemkit
        >>> exercise = smemkit.exercise("tour.guard")
        >>> bool(exercise.judge(exercise.start)), bool(exercise.judge(exercise.solution()))
        (False, True)
        """
        if isinstance(source, os.PathLike):
            source = Path(source).read_text(encoding="utf-8")
        if not isinstance(source, str):
            raise _core.ArgumentTypeError(
                f"judge takes the kernel's source as a str, or a path, not {type(source).__name__}"
            )
        if source.endswith((".cu", ".ptx")) and len(source.split()) == 1:
            raise _core.ArgumentError(
                f"judge takes the kernel's text; for a file: judge(pathlib.Path({source!r}))"
            )
        from ._judge import Judgement  # imports the compilers, which others need not wait for

        judged = Judgement(self._task, source)
        unchanged = _normalize(source) == _normalize(self.start)
        steps = tuple(judged.steps)
        return Verdict(
            self.name, steps, self._advise(steps, unchanged), judged.report, judged.checked
        )

    def _advise(self, steps: tuple[Step, ...], unchanged: bool) -> str:
        """What to do next."""
        if all(step.passed for step in steps):
            more = f'; then smemkit.exercise("{self._following}")' if self._following else ""
            return f"Next: compare yours with exercise.solution(){more}."
        left = len(self._task.hints) - self._hints_given
        words = "This is the start as it was given. " if unchanged else ""
        if left:
            return f"{words}Next: change it, or ask for one of {left} hints: exercise.hint()"
        return f"{words}All hints are given; exercise.solution() shows one way to do it."

    def hint(self) -> Text:
        """The next hint; after the last one it is given again.

        Returns
        -------
        str

        Raises
        ------
        Nothing.

        Example
        -------
        >>> import smemkit
        >>> smemkit.exercise("tour.guard").hint().startswith("Hint 1 of 2: ")
        True
        """
        hints = self._task.hints
        self._hints_given = min(self._hints_given + 1, len(hints))
        number = self._hints_given
        return Text(f"Hint {number} of {len(hints)}: {hints[number - 1]}")

    def solution(self) -> Text:
        """One way to do it: CUDA C that the judge passes.

        Returns
        -------
        str

        Raises
        ------
        Nothing.

        Example
        -------
        >>> import smemkit
        >>> "if (i < n)" in smemkit.exercise("tour.guard").solution()
        True
        """
        return Text(self._task.solution)

    def __repr__(self) -> str:
        head = f"{self.name}: {self.title} (notebook {self.notebook})"
        return f"{head}\n\n{self.text}\n{self.start}"
