"""Shapes: variant="auto" beside the libraries, at random shapes and at named ones.

Every subject works on the same operands, which lie on the device; a sample is the time between two
CUDA events round as many calls as fill some 0.2 ms, 16 at most, divided by their number. Samples of
the subjects take turns. The GPU is busy while the host enqueues, and a sample has no more calls
than the host enqueues in that time. Medians are compared. The error of a product is the largest
among 8 rows and 64 columns of the result, against float64, in parts of the largest element there;
that of a convolution is of a corner, and those of other families of the whole result. cuBLAS is
called by torch.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy

from .. import _core
from . import timing
from .peers import load_cub
from .results import Measurement, describe_run
from .shape_cases import PARTS, Operands, Sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from ctypes import CDLL
    from typing import Any

    from .arrays import Libraries
    from .shape_cases import Case
    from .stopwatch import Stopwatch
    from .types import Call, Warn

OURS = "smemkit"
WARM_UPS = 2
SLOW_MS = 20.0  # calls that take longer, the first one included, have no warm-up
HOST_CALLS = 4  # of which the host's time is taken
SAMPLES = ((1.0, 11), (10.0, 7), (50.0, 5), (float("inf"), 3))  # of calls below so many ms
# An error beyond this, in parts of the largest element, means that a result is wrong.
WRONG = {"float64": 1e-9, "float32": 1e-3}
WRONG_LOW = 0.05


class SmallWatch:
    """What times calls: a Stopwatch, and how long it keeps the GPU busy before a warm sample."""

    def __init__(self, watch: Stopwatch) -> None:
        self.watch = watch
        clear = lambda: _core._clear(watch.busy)  # noqa: E731
        self.busy_ms = min(watch.time_once(clear, "cold") for _ in range(3))

    def choose_calls(self, call: Call) -> tuple[float, int]:
        """Milliseconds of a call, and the number of calls of a sample."""
        once = self.watch.time_once(call, "warm")
        if once > SLOW_MS:
            return once, 1
        for _ in range(WARM_UPS):
            call()
        once = self.watch.time_once(call, "warm")
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        host_ms = 1e3 * (time.perf_counter() - start) / HOST_CALLS
        most = max(1, int(self.busy_ms / max(host_ms, 1e-4)) - 1)
        return once, min(self.watch.choose_calls(once, "warm"), most)

    def sample(self, call: Call, calls: int) -> float:
        """Milliseconds a call."""
        return self.watch.time_once(call, "warm", calls)


def time_together(watch: SmallWatch, calls: dict[str, Call]) -> dict[str, list[float]]:
    """{subject: samples in milliseconds}, taken in turns."""
    chosen = {name: watch.choose_calls(call) for name, call in calls.items()}
    samples = {
        name: next(count for most, count in SAMPLES if once < most)
        for name, (once, _) in chosen.items()
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(max(samples.values())):
        for name, call in calls.items():
            if turn < samples[name]:
                times[name].append(watch.sample(call, chosen[name][1]))
    return times


def measure(case: Case, watch: SmallWatch) -> Iterator[Measurement]:
    """The rows of a case, ours first."""
    subjects = case.prepare()
    times = time_together(watch, subjects.calls)
    errors = subjects.judge()
    wrong = WRONG_LOW if case.group == "low precision" else WRONG.get(case.dtype, WRONG_LOW)
    if not errors[OURS] <= wrong:
        raise timing.WrongResultError(f"the error of the result is {errors[OURS]:.3g}")
    for name, samples in times.items():
        parameters: dict[str, Any] = {"group": case.group, "name": case.name}
        if name in errors:
            parameters["error"] = float(f"{errors[name]:.3g}")
        yield Measurement(
            case.family,
            name,
            tuple(map(int, case.shape)),
            case.dtype,
            "cuda",
            times_ms=tuple(samples),
            cache="warm",
            nbytes=case.nbytes,
            flops=case.flops,
            parameters=parameters,
        )


def record_shapes(
    tools: Libraries,
    watch: SmallWatch,
    sizes: Sizes,
    late: Callable[[], bool],
    say: Warn = lambda text: None,
    load_cub: Callable[[], CDLL] = load_cub,
    parts: Iterable[Callable[[Operands, Sizes], Iterator[Case]]] = PARTS,
) -> tuple[list[Measurement], dict[str, Any]]:
    """The part "shapes" of the present machine.

    Parameters
    ----------
    tools : Libraries
    watch : SmallWatch, or what behaves like one
    sizes : Sizes
    late : callable
        Whether no new case is to be begun.
    say : callable
        Takes a line for each case.
    load_cub : callable
        Gives the compiled CUB; it may be compiled while products are measured.
    parts : iterable of callable
        What lists the cases.

    Returns
    -------
    (rows, provenance); what failed or found no time is in provenance["left_out"].
    """
    held = Operands(tools, sizes.pool, load_cub)
    rows: list[Measurement] = []
    left_out: list[str] = []
    for case in (case for part in parts for case in part(held, sizes)):
        words = f"{case.name} {' x '.join(map(str, case.shape))} {case.dtype}"
        if late():
            left_out.append(f"{words}: no time is left")
            continue
        try:
            made = list(measure(case, watch))
        except Exception as error:  # of any kind: the others are still measured
            left_out.append(f"{words}: {error!r:.200}")
            continue
        rows += made
        say(f"{words}: {describe(made)}")
        if tools.torch is not None and len(rows) % 64 < 2:
            tools.torch.cuda.empty_cache()
    facts = timing.describe_protocol(tools.backend) | {
        "peers": tools.versions,
        "shapes_seed": sizes.seed,
        "protocol": (__doc__ or "").partition("\n\n")[2].strip(),
        "missing": tools.missing,
        "left_out": left_out,
    }
    return rows, describe_run(**facts)


# What a record says ----------------------------------------------------------------------------


def describe(rows: list[Measurement]) -> str:
    """The median of each subject, as one line."""
    return ", ".join(f"{row.variant} {1e3 * row.median_ms:.4g} us" for row in rows)


def compare(rows: Iterable[Measurement]) -> list[tuple[Measurement, Measurement]]:
    """(our row, that of the fastest peer) of every case that has a peer, in their order."""
    cases: dict[tuple[object, ...], list[Measurement]] = {}
    for row in rows:
        key = row.parameters["group"], row.parameters["name"], tuple(row.shape), row.dtype
        cases.setdefault(key, []).append(row)
    found = []
    for made in cases.values():
        theirs = [row for row in made if row.variant != OURS]
        if theirs and len(theirs) < len(made):
            ours = next(row for row in made if row.variant == OURS)
            found.append((ours, min(theirs, key=lambda row: row.median_ms)))
    return found


def sum_up(rows: Iterable[Measurement]) -> dict[str, dict[str, float]]:
    """{group: the number of cases, and how their speeds compare with the fastest peer's}.

    An error counts as larger from 5 % on.
    """
    groups: dict[str, list[tuple[Measurement, Measurement]]] = {}
    for ours, theirs in compare(rows):
        groups.setdefault(ours.parameters["group"], []).append((ours, theirs))
    found = {}
    for group, pairs in groups.items():
        ratios = numpy.array([theirs.median_ms / ours.median_ms for ours, theirs in pairs])
        errors = [
            (ours.parameters.get("error", 0.0), theirs.parameters.get("error", 0.0))
            for ours, theirs in pairs
        ]
        found[group] = {
            "cases": len(pairs),
            "least": float(ratios.min()),
            "median": float(numpy.median(ratios)),
            "below 0.9": int((ratios < 0.9).sum()),
            "larger errors": sum(mine > 1.05 * other + 1e-12 for mine, other in errors),
        }
    return found
