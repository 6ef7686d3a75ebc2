"""Results of benchmarks: rows with every sample, and their provenance."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

import smemkit

from .._pandas import import_pandas
from .sums import sum_up

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Any, Self

    from pandas import DataFrame

    from .._types import Count, StrPath

PREDICTED = "predicted"  # the machine of rows whose times were measured nowhere
OF_PREDICTIONS = ("low_ms", "high_ms", "limited_by")  # None of measured rows, and left out of files
PARTS = ("variants", "host", "peers", "ceilings", "probes")  # of a record: a file each
FORMAT = 1  # version of the file format; a reader refuses other versions
LENGTH_MOST = 2**63 - 1


def is_number(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether the value is a finite real number in that range, and not a bool."""
    kinds = int | float | numpy.integer | numpy.floating
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    try:
        return math.isfinite(value) and bool(least <= value <= most)
    except OverflowError:  # an int beyond the range of floats
        return False


def is_table(value: object, test: Callable[[object], bool] = lambda _: True) -> bool:
    """Whether the value is a mapping from names to values that pass the test."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return False
    return all(map(test, value.values()))


def is_count(value: object) -> bool:
    """Whether the value may be a counter's; a ratio whose denominator is 0 is None."""
    return value is None or is_number(value, 0)


def _is_shape(value: object) -> bool:
    lengths = value if isinstance(value, tuple | list) else [None]
    whole = all(isinstance(n, int | numpy.integer) for n in lengths)
    return whole and all(is_number(n, 1, LENGTH_MOST) for n in lengths)


def _is_time(value: object) -> bool:
    return is_number(value, 0) or (isinstance(value, float) and math.isnan(value))  # not measured


def _is_times(value: object) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_time, value))


RULES: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("family variant dtype machine", lambda value: isinstance(value, str), "a str"),
    ("cache", lambda value: value is None or isinstance(value, str), "a str or None"),
    ("shape", _is_shape, "a tuple of ints, 1 and more"),
    ("times_ms host_times_ms call_times_ms", _is_times, "a tuple of numbers, 0 and more"),
    ("nbytes flops low_ms high_ms", is_count, "a number, 0 or more, or None"),
    ("limited_by", lambda value: value is None or isinstance(value, str), "a str or None"),
    ("counters", lambda value: is_table(value, is_count), "a dict from names to numbers"),
    ("parameters", is_table, "a dict from names to values"),
)


@dataclass(frozen=True)
class Measurement:
    """One subject at one size: samples of time, or counters, or both.

    Attributes
    ----------
    family, variant : str
        Ours; or the family and the name of a peer ("cublas", "numpy", "memcpy").
    shape : tuple of int
        One length for each dimension of the family's signature, in its order.
    dtype : str
    machine : "cuda", "sim", "cpu" or "predicted"
        What worked: the GPU, the simulator, or NumPy on the host; or nothing did, and the time is
        what smemkit.predict says of a card, which the provenance of the results names.
    times_ms : tuple of float
        Every sample. On "cuda" by CUDA events, on "cpu" by the host's clock; the simulator has no
        clock: empty. The one time of a prediction.
    call_times_ms : tuple of float
        Every sample of one call on a GPU that has nothing to do, by CUDA events: with the time that
        the host takes to start the work, between its launches too. Empty where not measured.
    host_times_ms : tuple of float
        What the call took on the host's clock, copies and simulation included: no GPU time.
    cache : "warm", "cold" or None
        Whether the operands may lie in the GPU's L2 cache when a sample begins.
    counters : dict
        Simulated counts by name (smemkit.counters()); empty where none were made.
    nbytes, flops : float or None
        That must move through memory, and operations that must be done.
    parameters : dict
        What else tells this row from others: {"op": "max"}, {"stride": 8}.
    low_ms, high_ms : float or None
        The range in which a predicted time is expected; None of measured rows.
    limited_by : str or None
        Of a prediction, the term that limits it: "shared".

    Example
    -------
    >>> from smemkit import bench
    >>> row = bench.Measurement("dot", "mine", (1000,), "float32", "cuda", (2.0, 4.0), nbytes=8e6)
    >>> row.median_ms, round(row.gb_per_s, 3)
    (3.0, 2.667)
    """

    family: str
    variant: str
    shape: tuple[int, ...]
    dtype: str
    machine: str
    times_ms: tuple[float, ...] = ()
    host_times_ms: tuple[float, ...] = ()
    cache: str | None = None
    counters: dict[str, Count] = field(default_factory=dict)
    nbytes: float | None = None
    flops: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    call_times_ms: tuple[float, ...] = ()
    low_ms: float | None = None
    high_ms: float | None = None
    limited_by: str | None = None

    def __post_init__(self) -> None:
        for names, test, words in RULES:
            for name in names.split():
                value = getattr(self, name)
                if not test(value):
                    raise smemkit.ArgumentError(
                        f"{name} of a measurement is {words}; {value!r:.80} is none"
                    )

    def _rate(self, amount: float | None) -> float:
        if amount is None or not self.times_ms:
            return float("nan")
        return amount / self.median_ms / 1e6 if self.median_ms else float("inf")

    def quantile_ms(self, q: float) -> float:
        """The q-quantile of the samples in milliseconds, 0 <= q <= 1; NaN where there are none."""
        if not is_number(q, 0, 1):
            raise smemkit.ArgumentError(f"q is {q!r:.80}; a number from 0 to 1 is needed")
        return float(numpy.quantile(self.times_ms, q)) if self.times_ms else float("nan")

    @property
    def median_ms(self) -> float:
        """Milliseconds, NaN where there are no samples."""
        return self.quantile_ms(0.5)

    @property
    def is_predicted(self) -> bool:
        """Whether the time is a prediction, and was measured nowhere."""
        return self.machine == PREDICTED

    @property
    def range_ms(self) -> tuple[float, float]:
        """The range of a prediction; of measured rows the quantiles 20 % and 80 %."""
        if self.is_predicted:
            middle = self.median_ms
            low = middle if self.low_ms is None else self.low_ms
            return low, middle if self.high_ms is None else self.high_ms
        return self.quantile_ms(0.2), self.quantile_ms(0.8)

    @property
    def call_median_ms(self) -> float:
        """Milliseconds of one call with its start, NaN where not measured."""
        return float(numpy.median(self.call_times_ms)) if self.call_times_ms else float("nan")

    @property
    def gb_per_s(self) -> float:
        """Bytes that must move over the median: 10^9 bytes a second, NaN where not known."""
        return self._rate(self.nbytes)

    @property
    def gflop_per_s(self) -> float:
        """Operations over the median: 10^9 a second, NaN where not known."""
        return self._rate(self.flops)

    @property
    def key(self) -> tuple[Any, ...]:
        """The key that equal measurements of different runs share."""
        rest = tuple(sorted((name, str(value)) for name, value in self.parameters.items()))
        where = (self.dtype, self.machine, self.cache)
        return (self.family, self.variant, tuple(self.shape), *where, rest)


@dataclass
class Results:
    """Measurements of one run, with what they were made on.

    An iterable of its rows; len is their number.

    Parameters
    ----------
    rows : list of Measurement
    provenance : dict
        Versions, date and device of the run.

    Raises
    ------
    ArgumentTypeError (TypeError) for rows of another type.

    Example
    -------
    >>> from smemkit import bench
    >>> results = bench.recorded("h200").select(family="transpose", variant={"naive", "padded"})
    >>> sorted({row.variant for row in results}), results.provenance["device"]
    (['naive', 'padded'], 'NVIDIA H200')
    """

    rows: list[Measurement]
    provenance: dict[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.rows, list | tuple) or not isinstance(self.provenance, Mapping):
            raise smemkit.ArgumentTypeError(
                "results are made of a list of Measurement and a dict, not of "
                f"{type(self.rows).__name__} and {type(self.provenance).__name__}"
            )
        for row in self.rows:
            if not isinstance(row, Measurement):
                raise smemkit.ArgumentTypeError(
                    f"a row of results is a Measurement, not {row!r:.80}"
                )

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Measurement:
        return self.rows[index]

    def __repr__(self) -> str:
        return f"<Results of {len(self.rows)} measurements: {self.provenance.get('device')}>"

    def __str__(self) -> str:
        if self.rows and all(row.counters and not row.times_ms for row in self.rows):
            return self._show_counts()
        if any(row.is_predicted for row in self.rows):
            return self._show_predictions()
        rows = [("family", "shape", "dtype", "variant", "cache", "median [us]", "conflicts")]
        for row in self.rows:
            time_us = f"{row.median_ms * 1e3:,.2f}" if row.times_ms else "-"
            found = row.counters or {}
            conflicts = sum(found.get(name) or 0 for name in found if name.endswith(".conflicts"))
            shape = "x".join(map(str, row.shape))
            cells = (row.family, shape, row.dtype, row.variant, row.cache or "-", time_us)
            rows.append((*cells, f"{conflicts:,}" if found else "-"))
        return align(rows)

    def _show_predictions(self) -> str:
        """A row for each measurement: predicted ones with their range and what limits them."""
        heads = ("family", "shape", "dtype", "variant", "machine", "time [us]", "from", "to")
        rows: list[tuple[str, ...]] = [(*heads, "limited by")]
        for row in self.rows:
            times = (row.median_ms, *row.range_ms) if row.times_ms else ()
            cells = [f"{1e3 * ms:,.2f}" for ms in times] or ["-", "-", "-"]
            shape = "x".join(map(str, row.shape))
            names = (row.family, shape, row.dtype, row.variant, row.machine)
            rows.append((*names, *cells, row.limited_by or "-"))
        return align(rows, range(5, 8))

    def _show_counts(self) -> str:
        """A row for each measurement of the simulator, with the counters of `smemkit bench`."""
        counted = ("instructions", "conflicts", "sectors", "read [MB]", "divergent")
        rows = [("family", "shape", "dtype", "variant", *counted)]
        for row in self.rows:
            found = sum_up(row.counters)
            sectors = found.sectors_per_request
            rows.append(
                (
                    row.family,
                    "x".join(map(str, row.shape)),
                    row.dtype,
                    row.variant,
                    f"{found.instructions:,}",
                    f"{found.conflicts:,}",
                    "-" if sectors is None else f"{sectors:.1f}",
                    f"{found.read_bytes / 1e6:.3f}",
                    f"{found.divergent:,}",
                )
            )
        return align(rows, range(len(rows[0]) - len(counted), len(rows[0])))

    def select(self, **wanted: Any) -> Results:
        """The rows whose attributes or parameters have the wanted values, as Results."""

        def has(row: Measurement, name: str, value: object) -> bool:
            held = getattr(row, name, row.parameters.get(name))
            if isinstance(value, numpy.ndarray):
                raise smemkit.ArgumentTypeError(
                    f"{name} is one value or a set of them, not an array: {value!r:.80}"
                )
            return held in value if isinstance(value, set | frozenset) else bool(held == value)

        rows = [r for r in self.rows if all(has(r, name, value) for name, value in wanted.items())]
        return Results(rows, self.provenance)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        rows = []
        for row in self.rows:
            facts = asdict(row)
            without = [name for name in OF_PREDICTIONS if facts[name] is None]
            rows.append({name: value for name, value in facts.items() if name not in without})
        return {"format": FORMAT, "provenance": self.provenance, "rows": rows}

    def to_json(self) -> str:
        """The text that save writes: a line for each row, so that two of them can be compared."""
        data = self.to_dict()
        rows = ",\n  ".join(json.dumps(row) for row in data["rows"])
        provenance = json.dumps(data["provenance"], indent=1).replace("\n", "\n ")
        return (
            f'{{\n "format": {FORMAT},\n "provenance": {provenance},\n'
            f' "rows": [\n  {rows}\n ]\n}}\n'
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The Results of a dict that to_dict wrote; ArgumentError for any other."""
        try:
            if data["format"] != FORMAT:
                raise smemkit.ArgumentError(
                    f"results of format {data['format']}; this version reads {FORMAT}"
                )
            rows = []
            for row in data["rows"]:
                tuples = {name: tuple(row[name]) for name in ("shape", "times_ms", "host_times_ms")}
                tuples["call_times_ms"] = tuple(row.get("call_times_ms", ()))  # old files lack it
                rows.append(Measurement(**{**row, **tuples}))
            return cls(rows, dict(data["provenance"]))
        except smemkit.Error:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise smemkit.ArgumentError(
                f"these are not results of a benchmark: {reason}"
            ) from error

    def save(self, path: StrPath) -> None:
        """Write to a JSON file."""
        check_path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read a file that save wrote; ArgumentError for any other file."""
        file = check_path(path)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise smemkit.ArgumentError(f"{file} is not JSON: {error}") from error
        try:
            return cls.from_dict(data)
        except smemkit.ArgumentError as error:
            raise smemkit.ArgumentError(f"{file}: {error}") from error

    def to_dataframe(self) -> DataFrame:
        """A pandas.DataFrame: a row each, with medians, quantiles and rates; units in the names.

        Where rows are predicted there are also low_ms, high_ms and limited_by.
        """
        more = OF_PREDICTIONS if any(row.is_predicted for row in self.rows) else ()
        return import_pandas().DataFrame(
            {
                "family": row.family,
                "variant": row.variant,
                "shape": row.shape,
                "dtype": row.dtype,
                "machine": row.machine,
                "cache": row.cache,
                "samples": len(row.times_ms),
                "median_ms": row.median_ms,
                "q20_ms": row.quantile_ms(0.2),
                "q80_ms": row.quantile_ms(0.8),
                "gb_per_s": row.gb_per_s,
                "gflop_per_s": row.gflop_per_s,
                "host_median_ms": (
                    float(numpy.median(row.host_times_ms)) if row.host_times_ms else float("nan")
                ),
                **{name: getattr(row, name) for name in more},
                **row.parameters,
                **row.counters,
            }
            for row in self.rows
        )

    def compare(self, before: Results) -> list[tuple[Measurement, Measurement, float]]:
        """(row, row of the other run, ratio of their medians) for all that both have with times.

        A ratio above 1 says that this run was slower than `before`.
        """
        known = {row.key: row for row in list_measured(before) if row.median_ms > 0}
        return [
            (row, known[row.key], row.median_ms / known[row.key].median_ms)
            for row in self.rows
            if row.times_ms and row.key in known
        ]

    def compare_counters(
        self, before: Results
    ) -> list[tuple[Measurement, Measurement, dict[str, tuple[float, float]]]]:
        """(row, row of the other run, {counter: (then, now)}) for all that both have counted.

        The dict holds what changed: counts are the same from run to run, so that an empty one says
        that the kernel makes the accesses that it made before.
        """
        known = {row.key: row for row in list_measured(before) if row.counters}
        pairs = [(row, known[row.key]) for row in self.rows if row.counters and row.key in known]
        return [(row, other, find_changes(row.counters, other.counters)) for row, other in pairs]


def align(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows of cells as lines of text; the columns of these numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for cells in rows:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def list_measured(results: Iterable[Measurement]) -> list[Measurement]:
    """The Measurements of Results or of an iterable; ArgumentTypeError for anything else."""
    try:
        rows = None if isinstance(results, str | bytes | Mapping) else list(results)
    except TypeError:
        rows = None
    if rows is None or not all(isinstance(row, Measurement) for row in rows):
        raise smemkit.ArgumentTypeError(
            f"this takes Results, or a list of Measurement, not {results!r:.80}"
        )
    return rows


def check_path(path: StrPath) -> Path:
    """The path as a Path; ArgumentTypeError unless it is a str or a Path."""
    if not isinstance(path, str | os.PathLike):
        raise smemkit.ArgumentTypeError(f"path is a str or a Path, not {type(path).__name__}")
    return Path(path)


def find_changes(
    now: Mapping[str, Count], then: Mapping[str, Count]
) -> dict[str, tuple[float, float]]:
    """{name: (then, now)} of the counters that differ; a missing one is 0."""
    pairs: dict[str, tuple[float, float]] = {
        name: (then.get(name) or 0, now.get(name) or 0) for name in {**then, **now}
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def describe_run(**more: Any) -> dict[str, Any]:
    """Provenance of a run made now: versions, date, and the device where there is one."""
    config = smemkit.show_config(mode="dict")
    facts: dict[str, Any] = {
        "smemkit": config["smemkit"],
        "numpy": config["numpy"],
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": None,
        "cuda_driver": config["cuda_driver"],
        "cuda_runtime": config["cuda_runtime"],
    }
    if config["cuda_devices"]:
        device = smemkit.device_info(backend="cuda")
        facts["device"] = device["name"]
        facts["compute_capability"] = device["compute_capability"]
    return {**facts, **more}
