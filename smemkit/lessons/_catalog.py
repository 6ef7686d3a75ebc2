"""The exercises that there are: one file of catalog/ each."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from .. import _core
from . import catalog
from ._exercise import Exercise
from ._task import Task


@functools.cache
def list_tasks() -> dict[str, Task]:
    """{name: task} in the order of the notebooks; catalog/tour_guard.py is "tour.guard"."""
    found: dict[tuple[int, int], tuple[str, Task]] = {}
    for module in pkgutil.iter_modules(catalog.__path__):
        path = f"{catalog.__name__}.{module.name}"
        task = getattr(importlib.import_module(path), "TASK", None)
        if not isinstance(task, Task):
            raise _core.InternalError(f"{path} defines no TASK")
        place = (task.notebook, task.number)
        if place in found:
            raise _core.InternalError(
                f"{path} and {found[place][0]} are both exercise {place[1]} of notebook {place[0]}"
            )
        found[place] = (module.name.replace("_", ".", 1), task)
    return dict(found[place] for place in sorted(found))


class Exercises(tuple[Exercise, ...]):
    """A tuple of exercises that is shown as a table: notebook, name, title.

    Example
    -------
    >>> import smemkit
    >>> print(smemkit.exercises("00"))  # doctest: +ELLIPSIS
    00  tour.guard ...
    """

    def __repr__(self) -> str:
        width = max((len(exercise.name) for exercise in self), default=0)
        return "\n".join(f"{one.notebook}  {one.name:{width}}  {one.title}" for one in self)


def exercises(notebook: str | int | None = None) -> Exercises:
    """List the exercises: kernels to complete or to mend, from easy ones to hard ones.

    Parameters
    ----------
    notebook : str or int, optional
        Only those of this notebook: "04", or 4.

    Shapes
    ------
    None.

    Returns
    -------
    tuple of Exercise, which prints as a table, in the order of the notebooks.

    Raises
    ------
    ArgumentError (ValueError) for a notebook without exercises.

    Example
    -------
    >>> import smemkit
    >>> [exercise.name for exercise in smemkit.exercises("00")]
    ['tour.guard', 'tour.blame', 'tour.reverse']
    """
    names = list(list_tasks())
    found = Exercises(_make(name) for name in names)
    if notebook is None:
        return found
    wanted = str(notebook).zfill(2)
    chosen = Exercises(one for one in found if one.notebook == wanted)
    if not chosen:
        known = ", ".join(sorted({one.notebook for one in found}))
        raise _core.ArgumentError(f"there are no exercises of notebook {notebook!r}; of {known}")
    return chosen


def _make(name: str) -> Exercise:
    names = list(list_tasks())
    following = dict(zip(names, names[1:], strict=False))
    return Exercise(name, list_tasks()[name], following.get(name))


def exercise(name: str) -> Exercise:
    """Get an exercise: a kernel to complete or to mend, with a judge, hints and a solution.

    Parameters
    ----------
    name : str
        As smemkit.exercises() lists it, "transpose.padding".

    Shapes
    ------
    None.

    Returns
    -------
    Exercise, with text, start (the CUDA C to begin with), judge(source), hint() and solution(). Its
    hints are given one by one, and begin anew with each call of this function.

    Raises
    ------
    ArgumentError (ValueError) for a name that no exercise has, with similar ones.

    Example
    -------
    >>> import smemkit
    >>> guard = smemkit.exercise("tour.guard")
    >>> "__global__ void twice" in guard.start
    True
    >>> verdict = guard.judge(guard.start)
    >>> bool(verdict)
    False
    >>> [step.name for step in verdict.steps if step.passed is False]
    ['check']
    >>> bool(guard.judge(guard.solution()))
    True
    """
    if not isinstance(name, str) or name not in list_tasks():
        import difflib  # needed for errors only

        near = difflib.get_close_matches(str(name), list_tasks(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "smemkit.exercises() lists them"
        raise _core.ArgumentError(f"there is no exercise {name!r}; {hint}")
    return _make(name)
