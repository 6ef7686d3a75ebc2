"""The way from NumPy to the library, step by step: times and speedups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy

import smemkit

from ..predict.cards import find_card
from . import arguments, peers, timing, workloads
from ._progress import Bar
from .families import find_class
from .predicted import Predictor, check_prediction, describe_predictions, list_predictable
from .results import Results, describe_run
from .stopwatch import Stopwatch, time_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from .._types import Backend, Shape
    from ..predict import Card
    from .families import Workload
    from .results import Measurement
    from .types import Operands, Peer, Warn, Watch

HEADS = ("step", "machine", "time", "over CPU", "over naive", "of the library")
OF_PREDICTED = ("step", "machine", "time", "range", "over naive", "limited by")


@dataclass
class Step:
    """A row of the table; a number is None where its comparison is missing.

    Attributes
    ----------
    variant, machine : str
    time_ms : float or None
        The median, or the predicted time; the simulator has none.
    over_cpu, over_naive : float or None
        How many times faster than NumPy on the host, and than the family's first variant; of a
        predicted row than the predicted time of that variant.
    of_library : float or None
        Speed as a part of the library's: 1.0 is as fast. None of a predicted row.
    low_ms, high_ms : float or None
        The range of a predicted time; None of a measured one.
    limited_by : str or None
        The term that limits a predicted time.
    """

    variant: str
    machine: str
    time_ms: float | None
    over_cpu: float | None
    over_naive: float | None
    of_library: float | None
    low_ms: float | None = None
    high_ms: float | None = None
    limited_by: str | None = None


@dataclass
class Evolution(Results):
    """Results of one family at one shape, from the host's NumPy to a library, and their table.

    Attributes
    ----------
    rows : list of Measurement
    provenance : dict
    steps : list of Step
        variant, machine, time_ms, over_cpu, over_naive and of_library of each row.

    Example
    -------
    >>> from smemkit import bench
    >>> ladder = bench.evolution("gemm", 4096, results=bench.recorded("h200"))
    >>> ladder.steps[0].variant, ladder.steps[-1].of_library
    ('numpy', 1.0)
    """

    def _find(self, test: Callable[[Measurement], bool]) -> float | None:
        """The median of the first measured row that passes the test."""
        return next((row.median_ms for row in self.rows if row.times_ms and test(row)), None)

    @property
    def steps(self) -> list[Step]:
        """A Step for each row."""
        if not self.rows:
            return []
        family = self.rows[0].family
        first = workloads.first_variant(family)
        library = find_class(family).library
        cpu = self._find(lambda row: row.machine == "cpu")
        naive = self._find(lambda row: row.machine == "cuda" and row.variant == first)
        guess = self._find(lambda row: row.is_predicted and row.variant == first)
        best = self._find(lambda row: row.variant == library and is_stranger(row))
        steps = []
        for row in self.rows:
            time = row.median_ms if row.times_ms else None
            others = (None, guess, None) if row.is_predicted else (cpu, naive, best)
            ratios = [other / time if other and time else None for other in others]
            steps.append(
                Step(
                    variant=row.variant,
                    machine=row.machine,
                    time_ms=time,
                    over_cpu=ratios[0],
                    over_naive=ratios[1],
                    of_library=ratios[2],
                    low_ms=row.low_ms,
                    high_ms=row.high_ms,
                    limited_by=row.limited_by,
                )
            )
        return steps

    def _list_cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """(heads, cells of each step); ranges and limits where some steps are predicted."""
        if any(row.is_predicted for row in self.rows):
            return OF_PREDICTED, [show_predicted(step) for step in self.steps]
        return HEADS, [show_step(step) for step in self.steps]

    def to_markdown(self) -> str:
        """The table as Markdown."""
        heads, rows = self._list_cells()
        lines = ["| " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * 4]
        lines += ["| " + " | ".join(cells) + " |" for cells in rows]
        return "\n".join(lines) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __str__(self) -> str:
        heads, rows = self._list_cells()
        table = [heads, *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        lines = []
        for row in table:
            left = [f"{cell:{width}}" for cell, width in zip(row[:2], widths, strict=False)]
            right = [f"{cell:>{w}}" for cell, w in zip(row[2:], widths[2:], strict=True)]
            lines.append("  ".join(left + right).rstrip())
        return "\n".join(lines)


def is_stranger(row: Measurement) -> bool:
    """Whether a row belongs to a peer, or to a kernel that is only a ceiling."""
    ours = row.variant in smemkit.variants(row.family)
    return row.machine == "cuda" and not ours


def show_time(ms: float) -> str:
    """Three figures with a fitting unit."""
    for unit, factor in (("s", 1e-3), ("ms", 1.0)):
        if ms * factor >= 1:
            return f"{ms * factor:.3g} {unit}"
    return f"{ms * 1e3:.3g} us"


def show_ratio(ratio: float) -> str:
    """Three figures, whole numbers from 100 on."""
    return f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.3g} x"


def show_step(step: Step) -> tuple[str, ...]:
    """The cells of a step; "-" where there is nothing."""
    time = show_time(step.time_ms) if step.time_ms else "-"
    ratios = [show_ratio(r) if r else "-" for r in (step.over_cpu, step.over_naive)]
    part = f"{100 * step.of_library:.3g} %" if step.of_library else "-"
    return step.variant, step.machine, time, *ratios, part


def show_predicted(step: Step) -> tuple[str, ...]:
    """The cells of a step of a table with predictions."""
    time = show_time(step.time_ms) if step.time_ms else "-"
    span = "-"
    if step.low_ms is not None and step.high_ms is not None:
        span = f"{show_time(step.low_ms)} to {show_time(step.high_ms)}"
    ratio = show_ratio(step.over_naive) if step.over_naive else "-"
    return step.variant, step.machine, time, span, ratio, step.limited_by or "-"


# Measuring ----------------------------------------------------------------------------------------


def measure_host(case: Workload, inputs: Operands, expected: Any, seconds: float) -> Measurement:
    """The row of NumPy."""
    timing.check(case, expected, "NumPy", case.compute(inputs))
    times = time_host(lambda: case.compute(inputs), seconds)
    return case.make_row("numpy", "cpu", times_ms=times)


def measure_library(
    case: Workload,
    inputs: Operands,
    ours: timing.Ours,
    watch: Watch,
    found: Iterable[Peer],
    warn: Warn,
) -> list[Measurement]:
    """The row of the library, named after it, from the first peer that calls it."""
    name, callers = case.library, case.callers
    for caller in callers:
        mine = [peer for peer in found if peer.name == caller]
        rows = list(timing.measure_peers(case, inputs, ours, watch, mine, warn, ("warm",)))
        if rows:
            return [replace(row, variant=name) for row in rows]
    return []


def list_steps(case: Workload, variants: Sequence[str] | None = None) -> list[str]:
    """The variants of an evolution in the order of the table; a copy comes last."""
    names = timing.list_ours(case, whole=True)
    if variants is None:
        return [name for name in names if name not in case.other_work]
    return list(variants)


def select_steps(
    results: Results, case: Workload, variants: Sequence[str] | None = None
) -> list[Measurement]:
    """The rows of an evolution from other results, in the order of the table."""
    rows = [row for row in results if case.owns(row) and row.cache in (None, "warm")]
    names = ["numpy", *list_steps(case, variants), case.library]
    kept: dict[str, Measurement] = {}
    for row in rows:
        if row.variant in names and row.times_ms:
            kept.setdefault(row.variant, row)
    return [kept[name] for name in names if name in kept]


def evolution(
    family: str,
    shape: Shape | None = None,
    *,
    variants: Sequence[str] | None = None,
    dtype: DTypeLike | None = None,
    results: Results | None = None,
    found: Sequence[Peer] | None = None,
    backend: Backend | None = None,
    seconds: float = 0.5,
    seed: int = timing.SEED,
    progress: bool | None = None,
    warn: Warn | None = None,
    predicted: bool = False,
    device: str | Card | None = None,
    **parameters: str,
) -> Evolution:
    """The way from NumPy to the library: each variant's time, and what it gains.

    With predicted=True the times are those that smemkit.predict says of a card, which need not be
    here: rows have the machine "predicted", low_ms, high_ms and limited_by.

    Parameters
    ----------
    family : str
        One that has a contract: "gemm", "transpose", "reduce", ...
    shape : int or tuple of int, optional
        As of bench.run.
    variants : sequence of str, optional
        By default all, in the order of smemkit.variants.
    dtype : dtype-like, optional
        By default float32, of histogram uint8.
    results : Results, optional
        Choose from these, bench.recorded("h200") as one, instead of measuring.
    found : list of peers, optional
        By default those that call the family's library, where they are here.
    backend : "auto", "cuda" or "sim", optional
        On the simulator only NumPy has a time; the variants have counters.
    seconds : float
        That the samples of one subject may take.
    seed : int
        Of the arrays' values.
    progress : bool, optional
        False: no bar. By default there is one where standard error is a terminal and tqdm is there.
    warn : callable, optional
        Takes a line for each subject that fails, which is left out; without it our own failures
        are raised.
    predicted : bool
        True: predict, and measure nothing. With `results`, which must be of the same card, each of
        their rows stands before the prediction of its variant.
    device : str or Card, optional
        The card to predict for, as smemkit.card takes it; by default "h200".
    **parameters
        op="max" of reduce, values="constant" of histogram, order="sequential" of gather,
        precision="tf32" of gemm.

    Shapes
    ------
    The lengths are those of the family's signature, in its order.

    Returns
    -------
    Evolution: Results with steps (time_ms, over_cpu, over_naive, of_library), to_markdown().

    Raises
    ------
    ArgumentError, ShapeError (both ValueError), ArgumentTypeError (TypeError), BackendError;
    WrongResultError where a subject computes something else. ArgumentError also for a card that is
    not in the table, and for variants that it cannot run.

    Example
    -------
    >>> from smemkit import bench
    >>> table = bench.evolution("gemm", 64, variants=("naive", "tiled"), backend="sim", seconds=0)
    >>> [(step.variant, step.machine, step.time_ms is None) for step in table.steps]
    [('numpy', 'cpu', False), ('naive', 'sim', True), ('tiled', 'sim', True)]
    >>> words = {"predicted": True, "device": "rtx 4090"}
    >>> table = bench.evolution("gemm", 512, variants=("naive", "tiled"), **words)
    >>> [(step.variant, step.machine, step.low_ms < step.high_ms) for step in table.steps]
    [('naive', 'predicted', True), ('tiled', 'predicted', True)]
    """
    if predicted is not False or device is not None:
        wanted = check_prediction(predicted, device, found=found, backend=backend)
        _check_measured(results, wanted)
        return _predict_evolution(
            family, shape, wanted, variants, dtype, results, seed, progress, warn, parameters
        )
    arguments.check_results(results)
    arguments.check_seed(seed)
    arguments.check_talk(progress, warn=warn)
    found = None if found is None else arguments.check_peers(found)
    backend = arguments.choose_backend(backend)
    shape = arguments.default_shape(family, backend) if shape is None else shape
    case = workloads.make_workload(family, shape, dtype, parameters)
    names = list_steps(case, arguments.check_variants(family, variants))
    if results is not None:
        rows = select_steps(results, case, names)
        if not rows:
            raise smemkit.ArgumentError(f"the results have no times of {case.name}")
        return Evolution(rows, dict(results.provenance))
    arguments.check_seconds(seconds)
    if backend == "sim":
        arguments.check_work(case)
    said = warn or (lambda text: None)
    if found is None:  # CUB takes long to compile, so only where the family needs it
        callers = set(case.callers)
        found = peers.find_peers(said, callers) if backend == "cuda" else []
    inputs = case.make_inputs(numpy.random.default_rng(seed))
    ours = timing.Ours(case, inputs, backend)
    rows = [measure_host(case, inputs, ours.expected, seconds)]
    with Bar(len(names) + 1, progress) as bar:
        watch = Stopwatch(seconds) if backend == "cuda" else None
        for name in names:
            bar.begin(f"{case.name} {name}")
            one = [name]
            if watch is None:
                rows += timing.count_variants(case, ours, one)
            else:
                rows += timing.measure_variants(
                    case, ours, watch, one, ("warm",), warn, skip=variants is None
                )
            bar.advance()
        if watch is not None:
            rows += measure_library(case, inputs, ours, watch, found, said)
        bar.advance()
    facts = timing.describe_protocol(backend, found, seed)
    return Evolution(rows, describe_run(**facts))


# Predicting ---------------------------------------------------------------------------------------


def _check_measured(results: Results | None, card: Card) -> None:
    """ArgumentError for results of another card than the one that is predicted."""
    arguments.check_results(results)
    measured = None if results is None else str(results.provenance.get("device"))
    if measured is not None and not is_card(measured, card):
        raise smemkit.ArgumentError(
            f"the results were measured on {measured}, and the card is {card.name}: both in one "
            "table would compare two cards; leave results= out"
        )


def is_card(name: str, card: Card) -> bool:
    """Whether a device of that name is the card."""
    try:
        return find_card(name).name == card.name
    except smemkit.ArgumentError:
        return False


def _predict_evolution(
    family: str,
    shape: Shape | None,
    card: Card,
    variants: Sequence[str] | None,
    dtype: DTypeLike | None,
    results: Results | None,
    seed: int,
    progress: bool | None,
    warn: Warn | None,
    parameters: dict[str, str],
) -> Evolution:
    """An evolution of predicted rows, each behind the measured one where there are some."""
    arguments.check_seed(seed)
    arguments.check_talk(progress, warn=warn)
    shape = arguments.default_shape(family, "cuda") if shape is None else shape
    case = workloads.make_workload(family, shape, dtype, parameters)
    names = arguments.check_variants(family, variants) or list_predictable(case, card)
    measured = [] if results is None else select_steps(results, case, names)
    if results is not None and not measured:
        raise smemkit.ArgumentError(f"the results have no times of {case.name}")
    predictor = Predictor(case, card, seed, ("warm",))
    guesses: dict[str, Measurement] = {}
    with Bar(len(names), progress) as bar:
        for name in names:
            bar.begin(f"{case.name} {name}")
            for row in predictor.make_rows([name], warn, skip=variants is None):
                guesses[name] = row
            bar.advance()
    rows = []
    for row in measured:
        rows.append(row)
        if row.variant in guesses:
            rows.append(guesses.pop(row.variant))
    rows += guesses.values()
    facts = describe_predictions(card, ("warm",), seed)
    if results is not None:
        facts = {**results.provenance, "predicted_for": card.name, "card": facts["card"]}
    return Evolution(rows, facts)
