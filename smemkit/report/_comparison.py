"""Comparison: the counters of two reports side by side, and what changed in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._pandas import import_pandas
from .._version import __version__
from ._layout import tabulate, wrap, write_number
from .counts import CONFLICTS, WAVEFRONTS, counters
from .saved import Saved, restore_as, say_launches

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal, Self, TypeAlias

    from pandas import DataFrame

    from ._report import Report
    from .saved import Json

    Number: TypeAlias = float | None  # None: of a ratio whose denominator is 0
    ComparedRow: TypeAlias = tuple[str, str, Number, Number, Number]  # counter, unit, a, b, b / a
    Mark: TypeAlias = Literal["better", "worse", "differs", ""]

CHANGED = 0.005  # of the larger value; less is equal in the sentence and has no mark
# Of these more is better; of those with a NEUTRAL ending neither, as they say what was asked for.
HIGHER = ("instructions.active_lanes", "branch.efficiency")
NEUTRAL = (
    ".ideal",
    ".bytes",
    ".products",
    "branch.uniform",
    "branch.instructions",
    "matrix.instructions",
)
# What the sentence names: words, and the counters that are added. The first ones weigh most.
TOPICS = (
    ("bank conflicts", CONFLICTS),
    ("wavefronts of shared memory", WAVEFRONTS),
    (
        "sectors of global memory",
        tuple(f"global.{op}.sectors" for op in ("load", "store", "atomic")),
    ),
    ("sectors of local memory", ("local.load.sectors", "local.store.sectors")),
    ("addresses of constant memory", ("constant.load.addresses",)),
    ("divergent branches", ("branch.divergent",)),
    ("barriers", ("barrier.count",)),
    ("warp instructions", ("instructions.warp",)),
)
TOLD = 4  # topics of the sentence


def _is_changed(a: Number, b: Number) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > CHANGED * max(abs(a), abs(b))


def judge(name: str, a: Number, b: Number) -> Mark:
    """The mark of a row: "better", "worse", "differs", or "" where both are alike."""
    if not _is_changed(a, b):
        return ""
    if a is None or b is None or name.endswith(NEUTRAL):
        return "differs"
    return "better" if (b > a) == (name in HIGHER) else "worse"


def _tell(words: str, a: float, b: float) -> str:
    """One part of the sentence: what of `words` the second has, against the first."""
    numbers = f"({write_number(a)} -> {write_number(b)})"
    if not b:
        return f"no {words} {numbers}"
    if not a:
        return f"{words} where there were none {numbers}"
    ratio = max(a, b) / min(a, b)
    if ratio >= 2:
        many = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}".removesuffix(".0")
        return f"{many} times {'as many' if b > a else 'fewer'} {words} {numbers}"
    share = 100 * abs(b - a) / a
    return f"{share:.2g} % {'more' if b > a else 'fewer'} {words} {numbers}"


class Comparison(Saved):
    """Two reports side by side; Report.compare gives one.

    Attributes
    ----------
    names : tuple of str
        The headings of the two.
    rows : list of tuple
        (counter, unit, a, b, b / a) where one of the two is not zero.
    summary : str
        A sentence that says what changed.
    reports : tuple of Report
    origin : dict
        Date, version and machines.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> other = smemkit.profile(smemkit.gemm, a, a, variant="column_padded")
    >>> compared = report.compare(other, names=("column", "padded"))
    >>> [row[3] for row in compared.rows if row[0] == "shared.load.conflicts"]
    [0]
    """

    names: tuple[str, str]
    rows: list[ComparedRow]
    summary: str
    reports: tuple[Report, Report]
    labels: tuple[str, str]

    def __init__(self, a: Report, b: Report, names: tuple[str, str]) -> None:
        super().__init__()
        self.names = names
        self.reports = (a, b)
        self.labels = (a.label, b.label)
        facts = counters()
        pairs = [(name, facts[name]["unit"], a.counters[name], b.counters[name]) for name in facts]
        if a.time_ms is not None and b.time_ms is not None:
            pairs.append(("time", "ms", a.time_ms, b.time_ms))
        self.rows = [
            (name, unit, one, other, self._divide(other, one))
            for name, unit, one, other in pairs
            if one or other or name == "time"
        ]
        self.summary = self._summarize(a, b)

    @staticmethod
    def _divide(b: Number, a: Number) -> Number:
        return b / a if a and b is not None else None

    def _summarize(self, a: Report, b: Report) -> str:
        parts = []
        if a.time_ms and b.time_ms and _is_changed(a.time_ms, b.time_ms):
            faster = a.time_ms / b.time_ms
            words = (
                f"{faster:.2f} times as fast" if faster > 1 else f"{1 / faster:.2f} times slower"
            )
            parts.append(f"is {words} ({a.time_ms:.4f} -> {b.time_ms:.4f} ms)")
        told = []
        for words, names in TOPICS:
            before, now = a.counters.total(*names), b.counters.total(*names)
            if _is_changed(before, now):
                told.append(_tell(words, before, now))
        if told:
            *most, last = told[:TOLD]
            parts.append(f"has {', '.join(most)} and {last}" if most else f"has {last}")
        first, second = self.names
        if not parts:
            return f"{second} counts as {first} does: no counter that costs time differs."
        return f"Against {first}, {second} {'; it '.join(parts)}."

    def mark(self, row: ComparedRow) -> Mark:
        """Of a row: "better", "worse", "differs" (neither can be said), or "" (equal)."""
        name, _, a, b, _ = row
        return judge(name, a, b)

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        keys = ("counter", "unit", "a", "b", "ratio")
        rows = [dict(zip(keys, row, strict=True)) | {"mark": self.mark(row)} for row in self.rows]
        return {
            "smemkit": __version__,
            "kind": "comparison",
            "names": list(self.names),
            "labels": list(self.labels),
            "summary": self.summary,
            "rows": rows,
        }

    @property
    def _title(self) -> str:
        return f"{self.names[0]} and {self.names[1]} compared"

    @property
    def _launched(self) -> list[str]:
        pairs = zip(self.names, self.reports, strict=True)
        told = [(name, say_launches(report._captured)) for name, report in pairs]
        return [words if words.startswith(name) else f"{name}: {words}" for name, words in told]

    def _capture(self) -> Json:
        reports = [
            {"kind": "profile", "origin": report.origin, "captured": report._capture()}
            for report in self.reports
        ]
        return {"names": list(self.names), "reports": reports}

    @classmethod
    def _restore(cls, captured: Json) -> Self:
        from . import Report  # which imports this module

        a, b = (restore_as(Report, document) for document in captured["reports"])
        first, second = captured["names"]
        return cls(a, b, (first, second))

    def to_dataframe(self) -> DataFrame:
        """The rows as a pandas.DataFrame."""
        columns = ["counter", "unit", *self.names, "ratio"]
        return import_pandas().DataFrame(self.rows, columns=columns)

    def table(self, rows: Iterable[ComparedRow] | None = None) -> list[tuple[str, ...]]:
        """Rows of text with the heading first, of some rows or of all."""
        lines: list[tuple[str, ...]] = [("counter", *self.names, "ratio", "unit", "")]
        for row in self.rows if rows is None else rows:
            name, unit, a, b, ratio = row
            written = "-" if ratio is None else f"{ratio:.3f}"
            lines.append((name, write_number(a), write_number(b), written, unit, self.mark(row)))
        return lines

    def split(self) -> tuple[list[ComparedRow], list[str]]:
        """(rows that differ, names of the counters that do not)."""
        differing = [row for row in self.rows if self.mark(row)]
        return differing, [row[0] for row in self.rows if not self.mark(row)]

    def notes(self) -> list[str]:
        """What must be known of either report: that it is a sample of the blocks."""
        return [
            f"{name}: {label}"
            for name, label in zip(self.names, self.labels, strict=True)
            if label.startswith(("SAMPLE", "INCOMPLETE"))
        ]

    def __str__(self) -> str:
        differing, equal = self.split()
        parts = wrap(self.summary, 0)
        if differing:
            parts += ["", *tabulate(self.table(differing), numbers=(1, 2, 3))]
        if equal:
            parts += ["", *wrap(f"equal ({len(equal)}): {', '.join(equal)}", 0)]
        return "\n".join([*parts, *self.notes()])

    def __repr__(self) -> str:
        return f"<Comparison of {self.names[0]} and {self.names[1]}: {len(self.rows)} counters>"

    def _repr_html_(self) -> str:
        from . import html  # drawing is for notebooks

        return html.draw_comparison(self)
