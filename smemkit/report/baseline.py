"""Baselines: the counters of kernels as they were, and which of them have moved."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import _core
from .._version import __version__
from . import counts
from ._comparison import judge
from ._layout import tabulate, write_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Values = dict[str, float]  # by counter; those that are 0 or have no value are left out


class Moved(NamedTuple):
    """A counter that has left its tolerance."""

    counter: str
    before: float
    now: float
    tolerance: float
    mark: str  # "better", "worse" or "differs"

    @property
    def change(self) -> str:
        """ "+12.5 %", or "new" where there was nothing."""
        if self.before == 0:
            return "new"
        return f"{100 * (self.now - self.before) / abs(self.before):+,.1f} %"


def keep(counters: Mapping[str, float | None]) -> Values:
    """What a baseline keeps of the counters of a launch."""
    return {name: value for name, value in counters.items() if value}


def find_tolerance(name: str, tolerances: Mapping[str, float]) -> float:
    """That of a counter: by its name, else by the first pattern that fits, else 0."""
    if name in tolerances:
        return tolerances[name]
    return next((t for p, t in tolerances.items() if fnmatch.fnmatchcase(name, p)), 0.0)


def compare(before: Values, now: Values, tolerances: Mapping[str, float]) -> list[Moved]:
    """The counters that differ by more than their tolerance, in the order of the table."""
    found = []
    for name in counts.counters():
        a, b = before.get(name, 0.0), now.get(name, 0.0)
        tolerance = find_tolerance(name, tolerances)
        if abs(b - a) > tolerance * abs(a):
            found.append(Moved(name, a, b, tolerance, judge(name, a, b) or "differs"))
    return found


def show(moved: list[Moved]) -> Iterator[str]:
    """A table of what has moved."""
    rows = [["counter", "baseline", "now", "change", "tolerance", ""]]
    for one in moved:
        numbers = write_number(one.before), write_number(one.now)
        tolerance = f"{100 * one.tolerance:g} %"
        rows.append([one.counter, *numbers, one.change, tolerance, one.mark])
    for line in tabulate(rows, numbers=(1, 2, 3, 4)):
        yield f"    {line.rstrip()}"


def read(path: str) -> dict[str, Values]:
    """{label of a launch: its counters} of a file; ArgumentError for a file that is none."""
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _core.ArgumentError(
            f"--baseline: there is no file {path}; --update writes it"
        ) from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("kind") != "baseline":
        raise _core.ArgumentError(f"--baseline: {path} is no baseline, which --update writes")
    kernels: dict[str, Values] = document["kernels"]
    return kernels


def write(path: str, kernels: Mapping[str, Values]) -> None:
    """Writes a baseline: a line a counter, so that a change of it reads well."""
    document = {
        "smemkit": __version__,
        "kind": "baseline",
        "kernels": {label: kernels[label] for label in sorted(kernels)},
    }
    Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
