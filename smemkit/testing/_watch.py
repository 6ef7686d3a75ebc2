"""The check of all launches of a test run: --smemkit-check and the marker smemkit_check."""

from __future__ import annotations

import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .. import _core, _kernel_code
from ..report import CheckReport

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..report import Finding

# What a plain launch on the simulator raises as an error; a launch that is watched does so, too.
RAISED: dict[str, type[_core.Error]] = {
    "out_of_bounds": _core.OutOfBoundsError,
    "misaligned": _core.MisalignedError,
    "barrier": _core.BarrierError,
}
SAME_VALUE = "same_value"  # races of stores of one value, among the kinds that are left out
PACKAGE = Path(__file__).resolve().parents[1]


class Rules(NamedTuple):
    """What of the findings counts in the present test."""

    ignored: frozenset[str] = frozenset()

    @property
    def ignore_same_value(self) -> bool:
        """Whether races of stores of one value are left out."""
        return SAME_VALUE in self.ignored


class Watch:
    """Receives what check found in each launch of the process, and keeps it for the present test.

    While it is on, smemkit checks each launch on the simulator that neither profile nor check
    runs. Threads may launch at the same time.
    """

    rules: Rules
    launches: int
    kernels: set[str]

    def __init__(self) -> None:
        self.rules, self.launches, self.kernels = Rules(), 0, set()
        self._made: list[str] = []
        if _kernel_code.compiled is None:  # reports show lines of code that is in no file
            _kernel_code.compiled = {}
        self._lock = threading.Lock()

    def turn(self, on: bool) -> None:
        """Begins or ends the check of the process's launches."""
        _core._watch(self._hear if on else None)

    def take(self) -> str:
        """What was found since the last call, as a text; "" where nothing was."""
        with self._lock:
            made, self._made = self._made, []
        if not made:
            return ""
        number = f"{len(made)} launches" if len(made) > 1 else "a launch"
        return "\n\n".join([f"smemkit check: {number} of this test had findings", *made])

    def _hear(self, launches: Sequence[Any]) -> None:
        __tracebackhide__ = True
        with self._lock:
            self.launches += len(launches)
            self.kernels.update(launch["kernel"] for launch in launches)
        for launch in launches:
            if "refused" not in launch and (launch["findings"] or launch["stopped"]):
                self._judge(launch)

    def _judge(self, launch: Any) -> None:
        __tracebackhide__ = True
        given = (_kernel_code.compiled or {}).get(launch["ptx"])
        report = CheckReport(
            [launch], None, given=given, ignore_same_value=self.rules.ignore_same_value
        )
        report.findings = [
            finding for finding in report.findings if finding.kind not in self.rules.ignored
        ]
        if report:
            return
        text = f"launched at {find_caller()}\n{report}"
        for finding in report.findings:
            if finding.kind in RAISED:
                raise make_error(finding, text)
        with self._lock:
            self._made.append(text)


def make_error(finding: Finding, text: str) -> _core.Error:
    """The error that a plain launch raises for such a fault."""
    error = RAISED[finding.kind](f"{finding.message}\n{text}")
    place = finding.first
    error.kernel, error.ptx_line = finding.kernel, place.ptx_line
    error.source_file, error.source_line = place.file, place.line
    error.block = tuple(place.block)  # type: ignore[assignment]  # three numbers
    error.thread = tuple(place.thread)  # type: ignore[assignment]
    return error


def find_caller() -> str:
    """ "test_scale.py:12": the innermost Python line outside of smemkit."""
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if PACKAGE not in path.parents:
            return f"{path.name}:{frame.lineno}"
    return "an unknown line"
