"""Predictions: a time with its range, and the terms that make it up."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .cards import Card

CURABLE = "bank conflicts"
WIDTH = 100  # columns of a printed prediction
# Term -> what it is, for readers who see the word for the first time.
MEANINGS = {
    "issue": "instructions, of which each of the four schedulers issues one a clock",
    "fma": "additions and multiply-adds of float32",
    "imad": "products of integers",
    "alu": "additions of integers, logic, comparisons",
    "half": "arithmetic of 16-bit floats",
    "half_mma": "arithmetic of 16-bit floats by the pipe of HFMA2.MMA",
    "double": "arithmetic of float64",
    "special": "reciprocals, roots, exponentials",
    "convert": "conversions between types",
    "tensor": "products of small matrices",
    "shuffle": "exchange between lanes",
    "vote": "votes of a warp",
    "uniform": "arithmetic of the warp as a whole",
    "shared": "wavefronts of shared memory",
    "l1": "wavefronts of the load/store unit: shared memory and the L1 cache",
    "constants": "different words of constant memory that warps read at computed addresses",
    "l2": "bytes from the L2 cache",
    "l2 stores": "sectors that stores send to the L2 cache",
    "block starts": "starting blocks and their warps",
    "dram": "bytes from and to memory",
    "atomics": "atomic operations that meet at one address",
    "latency": "waiting for results, while no warp can issue",
    "barriers": "waiting at barriers, while no warp can issue",
    "multiprocessor": "issue, pipes, banks and waiting together, as simulated",
    "launch": "starting kernels, and clearing memory for them",
    "longest warp": "the warp or block that has most to do, when the others have ended",
    "turns": "blocks that wait for the one before them, one behind the other",
    "tail wave": "the last round of blocks, which does not fill the card",
}


@dataclasses.dataclass(frozen=True)
class Term:
    """What one part of a card would take if it alone limited the launches.

    Attributes
    ----------
    name : str
    amount, unit : float, str
        How much of it the launches need; None where there is no such number.
    rate : float or None
        Of the unit in a clock of one multiprocessor.
    time_ms : float
    source : str
        The file and line that ask most of it; "" where there is none.
    place : str
        source without its folders.
    meaning : str

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> term = smemkit.predict(smemkit.gemm, a, a, variant="column").terms["shared"]
    >>> term.unit, term.source
    ('wavefronts', 'column.cu:37')
    """

    name: str
    amount: float | None
    unit: str
    rate: float | None
    time_ms: float
    source: str = ""

    @property
    def place(self) -> str:
        """The source without its folders, as it is printed."""
        return self.source.replace("\\", "/").rpartition("/")[2]

    @property
    def meaning(self) -> str:
        """What the term is, in a few words."""
        return MEANINGS.get(self.name, "")

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types."""
        return {**dataclasses.asdict(self), "meaning": self.meaning}


def write_time(ms: float) -> str:
    """A time in the unit that suits it.

    >>> write_time(0.0042), write_time(4.2), write_time(4200.0)
    ('4.20 us', '4.20 ms', '4.20 s')
    """
    for size, unit in ((1e3, "s"), (1.0, "ms")):
        if ms >= size:
            return f"{ms / size:.3g} {unit}" if ms / size >= 100 else f"{ms / size:.2f} {unit}"
    return f"{ms * 1e3:.2f} us"


def align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of text with aligned columns, the second and the third to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{cell:>{width}}" if i in (1, 2) else f"{cell:{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def write_amount(amount: float | None) -> str:
    """A count with four digits.

    >>> write_amount(1234567.0), write_amount(None)
    ('1.235e+06', '-')
    """
    return "-" if amount is None else f"{amount:.4g}"


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What a call would take on a card; smemkit.predict and Report.time give one.

    Attributes
    ----------
    card : Card
    kernels : tuple of str
        Of the launches.
    time_ms, low_ms, high_ms : float
        Of all launches, one behind the other, and the range in which the time is expected.
    limited_by : str
        The name of the longest term.
    terms : dict
        {name: Term}, the longest first.
    gains : dict
        {what: milliseconds that the call would take less without it}, the greatest first. "repeated
        reads of memory" are those of what an earlier wave of blocks has read and the L2 cache has
        not kept: another order of the blocks, or larger tiles, would spare some of them.
    occupancy : float
        Resident warps of the longest launch, as a share of those that a multiprocessor can hold.
    waves : float
        Rounds in which its blocks run.
    notes : tuple of str
        What the prediction does not know, and how it widens the range.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> prediction = smemkit.predict(smemkit.gemm, a, a, variant="naive", device="h200")
    >>> prediction.low_ms < prediction.time_ms < prediction.high_ms
    True
    """

    card: Card
    kernels: tuple[str, ...]
    time_ms: float
    low_ms: float
    high_ms: float
    limited_by: str
    terms: Mapping[str, Term]
    gains: Mapping[str, float]
    occupancy: float
    waves: float
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The time, its range and what limits it, in one sentence."""
        return (
            f"{write_time(self.time_ms)} on {self.card.name} "
            f"({write_time(self.low_ms)} to {write_time(self.high_ms)}), "
            f"limited by {self.limited_by}"
        )

    @property
    def advice(self) -> str:
        """What the greatest gain would be, in one sentence; "" where there is none.

        That of bank conflicts comes first, since a pad removes them.
        """
        worth = [name for name, saved in self.gains.items() if saved > 0.02 * self.time_ms]
        if not worth:
            return ""
        name = CURABLE if CURABLE in worth else worth[0]
        saved = self.gains[name]
        return (
            f"without {name} it would take {write_time(self.time_ms - saved)}, "
            f"{write_time(saved)} less"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "kind": "prediction",
            "card": self.card.to_dict(),
            "kernels": list(self.kernels),
            "time_ms": self.time_ms,
            "low_ms": self.low_ms,
            "high_ms": self.high_ms,
            "limited_by": self.limited_by,
            "terms": {name: term.to_dict() for name, term in self.terms.items()},
            "gains": dict(self.gains),
            "occupancy": self.occupancy,
            "waves": self.waves,
            "notes": list(self.notes),
        }

    def _say_occupancy(self) -> str:
        rounds = f"{self.waves:,.1f}" if self.waves >= 1 else f"{self.waves:.2g}"
        return f"occupancy {self.occupancy:.0%}, {rounds} rounds of blocks"

    def _say_limit(self) -> str:
        term = self.terms[self.limited_by]
        where = f", most of all at {term.place}" if term.place else ""
        return f"Limited by {term.name}: {term.meaning}{where}"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "term", "alone", "amount", "unit", "line"
        for term in self.terms.values():
            if term.time_ms >= 0.01 * self.time_ms:
                yield (
                    term.name,
                    write_time(term.time_ms),
                    write_amount(term.amount),
                    term.unit,
                    term.place,
                )

    def __repr__(self) -> str:
        return f"<Prediction of {', '.join(dict.fromkeys(self.kernels))}: {self.summary}>"

    def __str__(self) -> str:
        kernels = ", ".join(dict.fromkeys(self.kernels))
        parts = [f"{kernels}: {self.summary}", ""]
        parts += align(list(self._rows()))
        parts += ["", *textwrap.wrap(self._say_limit(), WIDTH), self._say_occupancy()]
        if self.advice:
            parts += textwrap.wrap(self.advice[:1].upper() + self.advice[1:], WIDTH)
        for note in self.notes:
            parts += textwrap.wrap(f"Not known: {note}", WIDTH)
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        import html

        longest = max((term.time_ms for term in self.terms.values()), default=1.0) or 1.0
        rows = []
        for term in self.terms.values():
            if term.time_ms < 0.01 * self.time_ms:
                continue
            width = 100 * term.time_ms / longest
            style = f"width:{width:.1f}%;min-width:2px;height:0.8em;background:#7aa6c2"
            cells = (term.name, write_time(term.time_ms), write_amount(term.amount), term.unit)
            row = "".join(f"<td>{html.escape(cell)}</td>" for cell in (*cells, term.place))
            rows.append(
                f'<tr title="{html.escape(term.meaning)}">{row}'
                f'<td style="width:16em"><div style="{style}"></div></td></tr>'
            )
        heads = ("term", "alone", "amount", "unit", "line", "")
        head = "".join(f"<th>{word}</th>" for word in heads)
        words = [
            self._say_limit(),
            self._say_occupancy(),
            self.advice,
            *(f"Not known: {note}" for note in self.notes),
        ]
        notes = "".join(f"<p>{html.escape(word)}</p>" for word in words if word)
        kernels = html.escape(", ".join(dict.fromkeys(self.kernels)))
        return (
            f"<div><p><b>{kernels}</b>: {html.escape(self.summary)}</p>"
            f"<table><tr>{head}</tr>{''.join(rows)}</table>{notes}</div>"
        )
