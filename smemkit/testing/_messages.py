"""What failing tests of kernels print: unequal elements, claims that do not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from .. import _declarations
from ..report.counts import counters, read_condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..report import Report

LINES_SHOWN = 3
ULPS = 16  # by which floats may differ where no tolerance is given


def name_argument(source: str | None, kernel: str, number: int) -> str:
    """ "y (args[1])", or "args[1]" where the source does not tell the parameter's name."""
    parameters = _declarations.read_kernel(source, kernel) if source else None
    name = parameters[number].name if parameters and number < len(parameters) else ""
    return f"{name} (args[{number}])" if name else f"args[{number}]"


def choose_tolerance(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """The relative tolerance where none is given: 16 units in the last place of floats, else 0."""
    kinds = [array.dtype for array in (found, expected) if array.dtype.kind in "fc"]
    return max((ULPS * float(numpy.finfo(kind).eps) for kind in kinds), default=0.0)


def compare_arrays(
    found: NDArray[Any], expected: Any, rtol: float | None, atol: float
) -> list[str] | None:
    """Lines that say how two arrays differ; None where they do not."""
    expected = numpy.asarray(expected)
    try:
        wanted = numpy.broadcast_to(expected, found.shape)
    except ValueError:
        return [f"its shape is {found.shape}, that of what is expected {expected.shape}"]
    if found.dtype.names or found.dtype.kind not in "biufc" or wanted.dtype.kind not in "biufc":
        differ = found != wanted
    else:
        rtol = choose_tolerance(found, wanted) if rtol is None else rtol
        exact = found.dtype.kind in "biu" and wanted.dtype.kind in "biu" and not (rtol or atol)
        differ = (
            found != wanted
            if exact
            else ~numpy.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
        )
    count = int(numpy.count_nonzero(differ))
    if count == 0:
        return None
    first = tuple(int(index[0]) for index in numpy.nonzero(numpy.atleast_1d(differ)))
    at = first if found.ndim else ()
    index = f"[{', '.join(map(str, first))}]"
    lines = [
        f"{count:,} of {found.size:,} elements differ",
        f"the first at {index}: {found[at]!s}, expected {wanted[at]!s}",
    ]
    if found.dtype.kind in "iuf" and wanted.dtype.kind in "iuf":
        with numpy.errstate(all="ignore"):
            distance = numpy.abs(found.astype(float) - wanted.astype(float))
        distance = numpy.where(differ, distance, 0.0)
        if numpy.isfinite(distance).any():
            lines.append(f"the largest difference is {numpy.nanmax(distance):.6g}")
    return lines


def explain_claim(report: Report, claim: str) -> list[str]:
    """Lines with the claim, the counter's value, and the source lines that it comes from."""
    name, sign, _ = read_condition(claim)
    value = report.counters[name]
    lines = [f"claim    {claim.strip()}", f"counted  {name} = {_write(value)}"]
    lines.append(f"         ({counters()[name]['meaning']})")
    counted = [line for line in report.lines if line.counters[name]]
    counted.sort(key=lambda line: float(line.counters[name]), reverse=not sign.startswith(">"))
    for line in counted[:LINES_SHOWN]:
        lines.append(f"  {line.place}  {_write(line.counters[name])}")
        if line.text:
            lines.append(f"      {line.text.strip()}")
    if len(counted) > LINES_SHOWN:
        rest = len(counted) - LINES_SHOWN
        lines.append(f"  and {rest} more line{'' if rest == 1 else 's'}")
    return lines


def _write(value: Any) -> str:
    if value is None:
        return "no value (its denominator is 0)"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def indent(lines: Sequence[str], by: int = 4) -> str:
    """The lines as one text, each moved to the right."""
    return "\n".join(" " * by + line for line in lines)
