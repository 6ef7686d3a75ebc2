"""What the pictures are drawn of: rows and counted subjects, their labels, device and date."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .. import _core
from .._version import __version__
from ..bench import arguments
from ..bench.families import CLASSES
from ..bench.results import Measurement, describe_run, is_count, is_number, is_table
from ..probe.results import ProbeResult
from ..report import Report
from ..report.counts import Counters, add_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    from ..bench.results import Results

    Table: TypeAlias = Mapping[str, Any]  # of counters
    Rows: TypeAlias = Results | Iterable[Measurement | ProbeResult]
    Subjects: TypeAlias = Rows | Report | Mapping[str, Report | Table]
    Spread: TypeAlias = tuple[float, float, float]  # a value, and the distances to its quantiles
    LinePoint: TypeAlias = tuple[float, float, float, float]  # a place, and the Spread there

UNITS = {
    "gflop_per_s": "GFLOP/s (10⁹ operations a second)",
    "gb_per_s": "GB/s (10⁹ bytes a second)",
    "median_ms": "median time [ms]",
}
LARGE = 2**53  # from here on floats do not represent every whole number
BALANCE = 10  # operations a byte; families with more are shown by operations, others by bytes
HOST = "numpy"  # the variant's name of NumPy's rows


class Subject:
    """One subject: its label, its variant's name, counters (or none), Measurement (or none)."""

    def __init__(self, label: str, counters: Counters, row: Measurement | None = None) -> None:
        self.label, self.counters, self.row = label, counters, row
        self.name = row.variant if row is not None else label


def adapt_probe(row: ProbeResult) -> Measurement:
    """A result of smemkit.probe as a Measurement."""
    names = ("stride", "offset", "random", "width")
    return Measurement(
        "probe",
        row.kernel.rpartition("/")[2],
        (getattr(row, "elements", 1),),
        str(getattr(row, "dtype", "")),
        row.backend,
        times_ms=row.times_ms,
        counters=dict(row.counters),
        nbytes=getattr(row, "used_bytes", None),
        parameters={name: getattr(row, name) for name in names if hasattr(row, name)},
    )


def list_rows(results: Iterable[object], *, timed: bool = False) -> list[Measurement]:
    """The Measurements of Results or of any iterable; with `timed` only those that have times."""
    try:
        found = None if isinstance(results, Report | Mapping | str | bytes) else list(results)
    except TypeError:
        found = None
    if found is None:
        raise _core.ArgumentTypeError(
            f"this takes the results of a benchmark, not {type(results).__name__}"
        )
    rows = []
    for one in found:
        row = adapt_probe(one) if isinstance(one, ProbeResult) else one
        if not isinstance(row, Measurement):
            raise _core.ArgumentTypeError(f"{row!r:.80} is not a measurement of a benchmark")
        rows.append(row)
    if timed:
        rows = [row for row in rows if row.times_ms and row.median_ms > 0]
    if not rows:
        words = "no row has measured times" if timed else "there are no rows"
        raise _core.ArgumentError(
            f"nothing to draw: {words}"
            + (
                ' (the simulator has no clock): draw bench.recorded("h200"), which has some, or '
                "print the results for their counters"
                if timed
                else ""
            )
        )
    return rows


def read_value(row: Measurement, unit: str) -> float:
    """The value of a row in a unit, a key of UNITS."""
    return float(getattr(row, unit))


def keep_rated(rows: Sequence[Measurement], unit: str) -> list[Measurement]:
    """The rows that have a value in that unit."""
    kept = [row for row in rows if math.isfinite(read_value(row, unit))]
    if not kept:
        raise _core.ArgumentError(
            f"nothing to draw: no row has {unit} (its operations or bytes are not known)"
        )
    return kept


def label_rows(rows: Sequence[Measurement], *but: str) -> list[str]:
    """A label for each row: its variant and what else differs; the GPU is not named."""
    facts = [
        {
            "family": row.family,
            "dtype": row.dtype,
            "machine": row.machine,
            "cache": row.cache,
            **row.parameters,
        }
        for row in rows
    ]
    names = dict.fromkeys(name for row_facts in facts for name in row_facts if name not in but)
    differing = []
    for name in names:
        values = {str(row_facts.get(name)) for row_facts in facts}
        if len(values - {"None"} if name == "cache" else values) > 1:
            differing.append(name)
    alone = {(row.family, row.variant) for row in rows} == {("probe", rows[0].variant)}
    labels = []
    for row, known in zip(rows, facts, strict=True):
        more = []
        for name in differing:
            value = known.get(name)
            if value is not None and (name, value) != ("machine", "cuda"):
                more.append(show_fact(name, value))
        words = ", ".join(more)
        labels.append(
            words if alone and words else f"{row.variant} ({words})" if words else row.variant
        )
    return labels


def show_fact(name: str, value: object) -> str:
    """A fact in words: "float32" of a dtype, "stride 8", of flags "random" or "not random"."""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    plain = name in ("family", "dtype", "machine", "cache")
    words = f"{value:,}" if isinstance(value, int) else str(value)
    return words if plain else f"{name} {words}"


def describe_rows(rows: Sequence[Measurement]) -> str:
    """What all rows have in common: "gemm, 4,096 x 4,096 x 4,096, float32, values uniform"."""
    if {row.family for row in rows} <= set(CLASSES):
        facts = [
            {row.family for row in rows},
            {" x ".join(f"{length:,}" for length in row.shape) for row in rows},
        ]
    else:
        facts = [{row.variant for row in rows}]  # the shape of a probe is its own matter
    facts.append({row.dtype for row in rows})
    for name in dict.fromkeys(name for row in rows for name in row.parameters):
        facts.append({show_fact(name, row.parameters.get(name)) for row in rows})
    common = [next(iter(values)) for values in facts if len(values) == 1]
    return ", ".join(words for words in common if words)


def list_counted(source: Subjects, *needed: str) -> list[Subject]:
    """A Subject for each with counters, of Results, a Report, or {label: Report or counters}."""
    if isinstance(source, Report):
        names = dict.fromkeys(launch.kernel for launch in source.launches)
        source = {", ".join(names): source}
    if isinstance(source, Mapping):
        bars = []
        for label, value in source.items():
            counters = value.counters if isinstance(value, Report) else value
            if not is_table(counters, is_count):
                raise _core.ArgumentTypeError(
                    f"{label!r} is neither a Report of smemkit.profile nor a mapping of counters: "
                    f"{value!r:.80}"
                )
            bars.append(Subject(str(label), complete(counters)))
    else:
        rows = [row for row in list_rows(source) if row.counters]
        labels = label_rows(rows) if rows else []
        bars = [
            Subject(label, complete(row.counters), row)
            for label, row in zip(labels, rows, strict=True)
        ]
    bars = [bar for bar in bars if all(bar.counters[name] for name in needed)]
    if not bars:
        words = " and ".join(needed) or "any counter"
        raise _core.ArgumentError(f"nothing to draw: no row has {words} above 0")
    return bars


def complete(counters: Table) -> Counters:
    """The counters with zeros and ratios for those that the mapping lacks."""
    return counters if isinstance(counters, Counters) else Counters(add_sums([counters]))


def choose_unit(rows: Sequence[Measurement], unit: str | None) -> str:
    """The attribute of a Measurement that is drawn."""
    if unit is None:
        if any(row.flops / row.nbytes > BALANCE for row in rows if row.flops and row.nbytes):
            return "gflop_per_s"
        return "gb_per_s" if any(row.nbytes for row in rows) else "median_ms"
    return arguments.check_one_of("unit", unit, UNITS)


def spread(row: Measurement, unit: str) -> Spread:
    """The value of a row, and the distances to its 20 and 80 % quantiles, or of a range."""
    middle = read_value(row, unit)
    scale = middle * row.median_ms
    low, high = row.range_ms
    if unit != "median_ms":
        low, high = scale / high, scale / (low or row.median_ms)
    return middle, max(0.0, middle - low), max(0.0, high - middle)


def find_size(rows: Sequence[Measurement]) -> tuple[Sequence[float], str]:
    """(a number for each shape, its meaning): the dimensions that change, where these are equal."""
    shapes = [tuple(row.shape) for row in rows]
    if len({len(shape) for shape in shapes}) == 1:
        changing = [i for i in range(len(shapes[0])) if len({shape[i] for shape in shapes}) > 1]
        changing = changing or list(range(len(shapes[0])))
        if all(len({shape[i] for i in changing}) == 1 for shape in shapes):
            alone = len(shapes[0]) == 1
            word = "elements" if alone else "size n (length of the dimensions that change)"
            if not alone and len(changing) == len(shapes[0]):
                word = "size n (every dimension is n)"
            return [shape[changing[0]] for shape in shapes], word
    return [float(math.prod(shape)) for shape in shapes], "product of all dimensions"


def label_sized(rows: Sequence[Measurement]) -> list[str]:
    """Labels with the shape where a family has several."""
    shapes = {(row.family, tuple(row.shape)) for row in rows}
    many = [family for family, _ in shapes]
    return [
        f"{label} {'x'.join(map(str, row.shape))}" if many.count(row.family) > 1 else label
        for label, row in zip(label_rows(rows), rows, strict=True)
    ]


def keep_parameter(rows: Sequence[Measurement], parameter: str) -> list[Measurement]:
    """The rows that have that parameter as a number."""
    arguments.check_text("parameter", parameter)
    kept = [row for row in rows if is_number(row.parameters.get(parameter), -LARGE, LARGE)]
    if not kept:
        raise _core.ArgumentError(f"nothing to draw: no row has the parameter {parameter!r}")
    return kept


def list_ours(family: str) -> set[str]:
    """The names of the variants of a family; none where the package has no such family."""
    try:
        return set(_core.variants(family)) - {"copy"}  # a copy is a ceiling
    except _core.Error:
        return set()


def find_peer(rows: Sequence[Measurement], peer: str | None) -> Measurement | None:
    """The row that is compared with ours: that of the peer, or of the family's library; or None."""
    if peer is None:
        ours = list_ours(rows[0].family)
        others = [row for row in rows if row.variant not in ours and row.machine == "cuda"]
        kind = CLASSES.get(rows[0].family)
        names = (kind.library, *kind.callers) if kind else ()
        wanted = (row for name in names for row in others if row.variant == name)
        return next(wanted, others[-1] if others else None)
    arguments.check_text("peer", peer)
    for row in rows:
        if row.variant == peer:
            return row
    known = ", ".join(dict.fromkeys(row.variant for row in rows))
    raise _core.ArgumentError(f"there is no row of {peer!r} to compare with; there are {known}")


def find_time(source: object, bar: Subject) -> float | None:
    """Milliseconds of a subject, or None."""
    if bar.row is not None:
        return bar.row.median_ms if bar.row.times_ms and bar.row.median_ms > 0 else None
    if isinstance(source, Report):
        return source.time_ms
    value = source.get(bar.label) if isinstance(source, Mapping) else None
    return value.time_ms if isinstance(value, Report) else None


def show_number(value: float) -> str:
    """Three figures, without an exponent up to 10^9."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def show_percent(value: float) -> str:
    """Whole numbers from 10 on, else two figures."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


# Device and date ----------------------------------------------------------------------------------


def show_today() -> str:
    """The date of today, or of SOURCE_DATE_EPOCH where builds are to be repeated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.datetime.now(datetime.UTC)
    if epoch.isdigit():
        now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    return f"{now:%Y-%m-%d}"


def name_simulator(date: str = "") -> str:
    """The simulator and a date, by default that of today."""
    return f"smemkit {__version__}'s simulator, {date or show_today()}"


def find_source(results: object, rows: Sequence[Measurement] = ()) -> str:
    """The device that worked, and the date, in words: "NVIDIA H200, 2026-11-21"."""
    facts = results if isinstance(results, dict) else getattr(results, "provenance", None) or {}
    if rows and not any(row.times_ms for row in rows):
        return name_simulator(str(facts.get("date") or "")[:10])
    if isinstance(results, list | tuple) and any(isinstance(row, ProbeResult) for row in results):
        facts = describe_run()  # measured by this process
    date = str(facts.get("date") or "")[:10]
    device = facts.get("device") or "device not given"
    guessed = find_card_of(results, rows)
    if rows and all(row.is_predicted for row in rows):
        return guessed
    if rows and not any(row.machine == "cuda" for row in rows):
        device = "NumPy on the CPU"
    return f"{device}, {date or 'date not given'}{f'; {guessed}' if guessed else ''}"


def find_card_of(results: object, rows: Sequence[Measurement]) -> str:
    """For which card the predicted rows are: "predicted for RTX 4090"; "" where there are none."""
    if not any(row.is_predicted for row in rows):
        return ""
    facts = getattr(results, "provenance", None) or {}
    return f"predicted for {facts.get('predicted_for') or 'a card that is not given'}"


def describe_spread(rows: Sequence[Measurement]) -> str:
    """What the bars of lines reach over: samples, or the range of a prediction."""
    words = []
    if any(not row.is_predicted for row in rows):
        words.append("medians, bars from 20 to 80 % of the samples")
    if any(row.is_predicted for row in rows):
        words.append("dashed lines are predictions, bars over their range")
    return "; ".join(words)


def name_source(source: object, bars: Sequence[Subject] = (), timed: bool = False) -> str:
    """As find_source, of what list_counted takes: "smemkit 0.1.0's simulator, 2026-11-21"."""
    rows = [bar.row for bar in bars if bar.row is not None]
    if timed:  # of reports: measured by this process
        return find_source(source, rows) if rows else find_source(describe_run())
    reports = list(source.values()) if isinstance(source, Mapping) else [source]
    dates = [report.origin["date"][:10] for report in reports if isinstance(report, Report)]
    return name_simulator(max(dates, default=""))


def list_references(rows: Sequence[Measurement], peer: str | None = None) -> set[str]:
    """The names of the rows to which ours are compared: the family's library, and NumPy."""
    names = {HOST}
    for family in dict.fromkeys(row.family for row in rows):
        whole = find_peer([row for row in rows if row.family == family], peer)
        names |= {whole.variant} if whole is not None else set()
    return names
