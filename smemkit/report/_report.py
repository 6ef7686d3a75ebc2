"""Report: what the launches of a call did."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from .. import _core
from .._pandas import import_pandas
from .._version import __version__
from ._advice import explain
from ._comparison import Comparison
from ._condition_result import ConditionResult
from ._layout import tabulate, wrap, write_number
from .counts import (
    OPERATORS,
    Counters,
    Launch,
    UncountedError,
    add_sums,
    collect_lines,
    count_blocks,
    count_conflicts,
    count_excess_sectors,
    count_waste,
    counters,
    median,
    read_condition,
    split_refused,
)
from .saved import Saved, describe_sources, pack_launches, unpack_launches
from .what_if import rank_waste

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self, TypeAlias

    from pandas import DataFrame

    from ..predict import Card, Prediction
    from ._captured import Counted, Refused
    from ._kernel import Advice
    from .counts import Line, Sample
    from .html import Picture
    from .saved import Json

    Measure: TypeAlias = Callable[[Counters], int]
    Access: TypeAlias = tuple[str, str, int, str, str]  # kernel, file, line, space, op

RANKINGS: tuple[tuple[str, str, Measure], ...] = (
    ("bank conflicts", "wavefronts", count_conflicts),
    ("excess sectors", "sectors", count_excess_sectors),
    ("divergent branches", "branches", lambda table: table["branch.divergent"]),
)


def _write_line(line: Line) -> str:
    """The line's text, with what explains an access that stands in no line of the source."""
    return f"{line.text}  (moved by the compiler)" if line.moved else line.text


def _name_access(sample: Sample) -> Access:
    """What the accesses of one source line, space and kind have in common."""
    return sample.kernel, sample.file, sample.line, sample.space, sample.op


def _drop_lines(facts: Counted | Refused) -> Counted | Refused:
    """The facts of a launch without its lines, which are sums over its instructions."""
    if "refused" not in facts:
        facts = {**facts}
        facts.pop("lines", None)
    return facts


class Report(Saved):
    """What the launches of a call did; smemkit.profile gives one.

    Attributes
    ----------
    result
        What the call returned.
    launches : tuple of Launch
    counters : Counters
        Sums over the launches; a ratio is that of the sums.
    lines : list of Line
        By file and line.
    samples : list of Sample
        The costliest request of each access.
    main_kernel : str
        The name of the kernel that did most.
    sampled : tuple of two ints or None
        The blocks that were counted and all blocks, where blocks= was given.
    refused : tuple
        (kernel, message) of each launch that failed, where the function went on.
    time_ms, times_ms : float or None, tuple
        Measured on a GPU; else None and ().
    origin : dict
        Date, version and machines.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> report.main_kernel, bool(report.holds("shared.load.conflicts > 0"))
    ('gemm_column_float32', True)
    >>> max(report.lines, key=lambda line: line.counters["shared.load.conflicts"]).place
    'column.cu:37'
    """

    result: Any
    launches: tuple[Launch, ...]
    counters: Counters
    lines: list[Line]
    samples: list[Sample]
    sampled: tuple[int, int] | None
    refused: tuple[tuple[str, str], ...]

    def __init__(
        self,
        launches: Iterable[Counted | Refused],
        result: Any,
        *,
        blocks: int = 0,
        given: str | None = None,
    ) -> None:
        super().__init__()
        self._blocks = blocks
        self._captured = [_drop_lines(facts) for facts in launches]
        ran, self.refused = split_refused(self._captured)
        self.launches = tuple(Launch(facts, given) for facts in ran)
        self.result = result
        self.counters = Counters(add_sums(launch.counters for launch in self.launches))
        self.lines = collect_lines(self.launches)
        self.samples = [sample for launch in self.launches for sample in launch.samples]
        self.sampled = count_blocks(ran) if blocks else None
        self._predicted: tuple[Card, str, Prediction] | None = None  # by the last call of time()
        self._gains: dict[tuple[str, str, str], Advice] = {}

    @property
    def times_ms(self) -> tuple[tuple[float, ...], ...]:
        """For each launch the GPU's samples, in milliseconds."""
        return tuple(launch.times_ms for launch in self.launches if launch.times_ms)

    @property
    def time_ms(self) -> float | None:
        """The median over the repeats of all launches together, in milliseconds; or None."""
        return median([sum(repeat) for repeat in zip(*self.times_ms, strict=True)])

    @property
    def main_kernel(self) -> str | None:
        """The name of the kernel that did most, by its warp instructions."""
        sums: collections.Counter[str] = collections.Counter()
        for launch in self.launches:
            sums[launch.kernel] += launch.counters["instructions.warp"]
        return max(sums, key=lambda name: sums[name], default=None)

    @property
    def label(self) -> str:
        """How much was counted, in words."""
        if self.refused:
            kernel, message = self.refused[0]
            return (
                f"INCOMPLETE: {len(self.refused)} launch(es) failed and are not counted "
                f"({kernel}: {message}); {self._say_blocks()}"
            )
        return self._say_blocks()

    def _say_blocks(self) -> str:
        how = "accesses as ptxas makes them" if self._is_modelled() else "PTX accesses as written"
        if self.sampled is None:
            return f"all blocks counted on the simulator; {how}"
        counted, total = self.sampled
        if counted == total:
            return f"all {total:,} blocks counted on the simulator; {how}"
        return (
            f"SAMPLE: {counted:,} of {total:,} blocks counted on the simulator, the others not run "
            f"(the result is incomplete); {how}"
        )

    def _is_modelled(self) -> bool:
        return all(launch.modelled for launch in self.launches)

    @property
    def advice(self) -> list[Advice]:
        """What smemkit.explain says of it; after time(), with what each would save on the card."""
        return explain(self)

    def _add_gains(self, found: list[Advice]) -> list[Advice]:
        """The advice with what it would save on the card of the last call of time()."""
        if self._predicted is None:
            return found
        from ._gains import add_gain  # which needs the model of cards

        card, cache, prediction = self._predicted
        for advice in found:
            key = card.name, cache, advice.text
            if key not in self._gains:
                made = add_gain(advice, self._captured, prediction, card, cache)
                self._gains[key] = made
        return [self._gains[card.name, cache, advice.text] for advice in found]

    def holds(self, condition: str) -> ConditionResult:
        """Whether a condition, as "shared.load.conflicts > 0", is true of the counters.

        A ConditionResult: True or False, whose repr tells the value, as a failing assert shows it.
        Raises ArgumentError for what is no condition, UnknownCounterError (KeyError) for a name
        that is no counter's, and UncountedError (ValueError) where there is no answer: a launch was
        refused, or the counter is a ratio of nothing.
        """
        name, sign, limit = read_condition(condition)
        if self.refused:
            kernel, message = self.refused[0]
            raise UncountedError(
                f"{name} was not counted: the launch of {kernel} failed: {message}"
            )
        value = self.counters[name]
        if value is None:
            raise UncountedError(f"{name} has no value here: its denominator is 0")
        words = f"{name} is {write_number(value)}"
        return ConditionResult(OPERATORS[sign](value, limit), words)

    def access(
        self,
        line: int | None = None,
        op: str | None = None,
        *,
        file: str | None = None,
        space: str | None = None,
    ) -> Sample:
        """The costliest request of the worst line, kind or space, where these are not given.

        op is "load", "store", "atomic" or "async"; space is "shared" or "global". The worst line is
        the one whose accesses have most bank conflicts and unneeded sectors in all. Raises
        ArgumentError where no request is recorded.
        """
        wanted = {"line": line, "op": op, "file": file, "space": space}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        fitting = [
            sample
            for sample in self.samples
            if all(getattr(sample, name) == value for name, value in wanted.items())
        ]
        if not fitting:
            places = sorted({f"{sample.line} ({sample.op})" for sample in self.samples})
            choice = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            raise _core.ArgumentError(
                f"no access is recorded for {choice or 'this call'}; lines with one: "
                f"{', '.join(places) or 'none'}"
            )
        totals = self._add_waste()
        return max(fitting, key=lambda sample: (totals[_name_access(sample)], *rank_waste(sample)))

    def _add_waste(self) -> collections.Counter[Access]:
        """What accesses cost beyond their least, those of one line, space and kind added up."""
        totals: collections.Counter[Access] = collections.Counter()
        accesses = {
            (sample.function, sample.ptx_line, launch.ptx, sample.space, sample.op): sample
            for launch in self.launches
            for sample in launch.samples
        }
        for launch in self.launches:
            for facts in launch.instructions:
                place = facts["function"], facts["ptx_line"], launch.ptx
                for space in ("shared", "global"):
                    for op in ("load", "store", "atomic", "async"):
                        sample = accesses.get((*place, space, op))
                        if sample is not None:
                            waste = count_waste(facts["counters"], space, op)
                            totals[_name_access(sample)] += waste
        return totals

    def picture(
        self,
        line: int | None = None,
        op: str | None = None,
        *,
        file: str | None = None,
        space: str | None = None,
    ) -> Picture:
        """A drawing of lanes, banks and words (or sectors) of one request; see access."""
        from . import html  # drawing is for notebooks

        return html.Picture(self.access(line, op, file=file, space=space))

    def compare(self, other: Report, names: Sequence[str] | None = None) -> Comparison:
        """Both reports side by side, a Comparison; names are the headings of the two."""
        if not isinstance(other, Report):
            raise _core.ArgumentTypeError(
                f"compare takes another Report of smemkit.profile, not {type(other).__name__}"
            )
        if names is None:
            kernels = str(self.main_kernel), str(other.main_kernel)
            names = kernels if kernels[0] != kernels[1] else ("a", "b")
        if isinstance(names, str) or len(names) != 2:
            raise _core.ArgumentError('names must be two headings, as in ("tiled", "padded")')
        return Comparison(self, other, (str(names[0]), str(names[1])))

    def to_dict(self) -> dict[str, Any]:
        """All of it but the result, of plain types that json can write."""
        return {
            "smemkit": __version__,
            "kind": "profile",
            "sampled": list(self.sampled) if self.sampled else None,
            "label": self.label,
            "refused": [list(refusal) for refusal in self.refused],
            "time_ms": self.time_ms,
            "counters": dict(self.counters),
            "launches": [launch.to_dict() for launch in self.launches],
            "lines": [line.to_dict() for line in self.lines],
            "samples": [sample.to_dict() for sample in self.samples],
            "advice": [advice.to_dict() for advice in self.advice],
        }

    def to_dataframe(self) -> DataFrame:
        """One row a source line, one column a counter (a pandas.DataFrame); attrs has the label."""
        pandas = import_pandas()
        rows = [
            {"file": line.file, "line": line.line, "text": line.text, **line.counters}
            for line in self.lines
        ]
        columns = ["file", "line", "text", *self.counters]
        frame = pandas.DataFrame(rows, columns=columns)
        frame.attrs["label"] = self.label
        return frame

    def time(self, device: str | Card = "h200", *, cache: str = "warm") -> Prediction:
        """What the launches would take on a card, a Prediction; see smemkit.predict.

        They are those that were profiled, planned for an H200: on another card variant="auto", and
        kernels that fill all multiprocessors, may launch others, which smemkit.predict times. The
        report keeps it: from then on its texts have the predicted time, and its advice says
        what would be saved on that card. Raises ArgumentError for a card that is not in the table,
        and where a launch was refused; BackendError and SharedMemoryError for a launch that the
        card cannot run.
        """
        from ..predict.cards import find_card  # a report that asks for no time needs none of it
        from ..predict.forecast import predict_captured

        card = find_card(device)
        prediction = predict_captured(self._captured, card, cache, "the call")
        if self._predicted is not None and self._predicted[0] != card:
            self._gains.clear()  # of a card that may have the same name
        self._predicted = card, cache, prediction
        return prediction

    @property
    def _title(self) -> str:
        return f"Profile of {', '.join(dict.fromkeys(launch.kernel for launch in self.launches))}"

    def _capture(self) -> Json:
        ran = iter(self.launches)
        rows: list[Counted | Refused] = []
        for facts in self._captured:
            if "refused" in facts:
                rows.append(facts)
                continue
            launch = next(ran)
            places = {row["file"] for row in facts["instructions"]}
            places |= {row["file"] for row in facts["samples"]}
            sources = describe_sources(launch.sources, places)
            rows.append({**facts, "sources": sources, "times_ms": list(launch.times_ms)})
        return {"blocks": self._blocks, **pack_launches(rows)}

    @classmethod
    def _restore(cls, captured: Json) -> Self:
        rows: list[Counted | Refused] = unpack_launches(captured)
        report = cls(rows, None, blocks=captured["blocks"])
        for launch, facts in zip(report.launches, split_refused(rows)[0], strict=True):
            launch.times_ms = tuple(facts.get("times_ms", ()))
        return report

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(launch.kernel for launch in self.launches))
        sampled = f", sampled={self.sampled}" if self.sampled else ""
        return f"<Report of {names}: {len(self.launches)} launch(es){sampled}>"

    def __str__(self) -> str:
        parts = [*self._head(), *self._list_advice()]
        for title, unit, measure in RANKINGS:
            parts += self._worst(title, unit, measure)
        return "\n".join([*parts, "", *self._totals()])

    def _list_advice(self) -> Iterator[str]:
        found = self.advice
        yield from ("", "advice" if found else "advice: none")
        for number, advice in enumerate(found, 1):
            source = f"  {advice.source}" if advice.source else ""
            yield f"  {number}. {advice.subject}{source}"
            yield from wrap(advice.message[:1].upper() + advice.message[1:], 5)

    def _head(self) -> Iterator[str]:
        rows = [["kernel", "grid", "block", "shared [bytes]", "GPU time [ms]"]]
        for launch in self.launches[:20]:
            time_ms = "-" if launch.time_ms is None else f"{launch.time_ms:.4f}"
            shape = [" x ".join(map(str, size)) for size in (launch.grid, launch.block)]
            rows.append([launch.kernel, *shape, write_number(launch.shared_bytes), time_ms])
        if self.time_ms is None:
            rows = [row[:4] for row in rows]
        yield from tabulate(rows, numbers=(3, 4))
        if len(self.launches) > 20:
            yield f"... and {len(self.launches) - 20} more launches"
        yield self.label
        if self._predicted is not None:
            yield self._say_predicted()

    def _say_predicted(self) -> str:
        """The predicted time, in one line; "" where none was asked for."""
        return "" if self._predicted is None else f"predicted: {self._predicted[2].summary}"

    def _totals(self) -> Iterator[str]:
        facts = counters()
        rows = [
            (name, write_number(value), facts[name]["unit"])
            for name, value in self.counters.items()
            if value
        ]
        yield from tabulate([("counter", "value", "unit"), *rows], numbers=(1,))

    def _worst(self, title: str, unit: str, measure: Measure) -> Iterator[str]:
        measured = [(measure(line.counters), line) for line in self.lines]
        ranked = sorted((row for row in measured if row[0]), key=lambda row: -row[0])[:3]
        if ranked:
            yield from ("", f"lines with most {title} [{unit}]")
            rows = [
                (f"  {write_number(value)}", line.place, _write_line(line))
                for value, line in ranked
            ]
            yield from tabulate(rows, numbers=(0,))

    def _repr_html_(self) -> str:
        from . import html

        return html.draw_report(self)
