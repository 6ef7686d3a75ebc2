"""rank: which variant, block or pad is the fastest on a card, by predictions, without the card."""

from __future__ import annotations

import dataclasses
import itertools
import reprlib
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from .. import _core, _progress
from .cards import find_card
from .predict_call import BLOCKS, predict
from .prediction import WIDTH, write_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .cards import Card
    from .prediction import Prediction

OTHER_WORK = ("copy",)  # variants that are ceilings: they do not compute what the others do
ROUNDED = ("tf32",)  # types of a variant that rounds its operands
MOST = 256  # choices that are predicted by one call


@dataclasses.dataclass(frozen=True)
class RankedChoice:
    """One choice of a ranking, and its prediction.

    Attributes
    ----------
    keywords : dict
        What the function got: {"variant": "padded"}.
    prediction : Prediction or None
        None where it cannot run.
    refusal : str or None
        Why it cannot run.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> choices = {"variant": ("naive", "padded")}
    >>> first = smemkit.rank(smemkit.transpose, a, device="t4", choices=choices).rows[0]
    >>> list(first.keywords), first.refusal
    (['variant'], None)
    """

    keywords: Mapping[str, Any]
    prediction: Prediction | None = None
    refusal: str | None = None

    @property
    def label(self) -> str:
        """The choice in words: "padded", or "pad=1, rows=8" where several keywords were chosen."""
        if list(self.keywords) == ["variant"]:
            return str(self.keywords["variant"])
        return ", ".join(f"{name}={reprlib.repr(v)}" for name, v in self.keywords.items())

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types; values that json cannot write are written as text."""
        found = self.prediction
        return {
            "keywords": {name: make_plain(value) for name, value in self.keywords.items()},
            "label": self.label,
            "prediction": None if found is None else found.to_dict(),
            "refusal": self.refusal,
        }


def make_plain(value: Any) -> Any:
    """A value that json can write: itself, a list of a tuple, or its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [make_plain(each) for each in value]
    return str(value)


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Choices of a call by their predicted time on a card; smemkit.rank gives one.

    Attributes
    ----------
    function : str
        Its name.
    card : Card
    rows : tuple of RankedChoice
        The fastest first; those that cannot run last.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((256, 256), dtype="float32")
    >>> choices = {"variant": ("column", "column_padded")}
    >>> ranking = smemkit.rank(smemkit.gemm, a, a, device="rtx 4090", choices=choices)
    >>> ranking.best, ranking.is_clear
    ({'variant': 'column_padded'}, True)
    """

    function: str
    card: Card
    rows: tuple[RankedChoice, ...]

    def _list_timed(self) -> list[tuple[RankedChoice, Prediction]]:
        return [(row, row.prediction) for row in self.rows if row.prediction is not None]

    @property
    def best(self) -> dict[str, Any]:
        """The keywords of the fastest choice, to be given to the function."""
        return dict(self.rows[0].keywords)

    @property
    def prediction(self) -> Prediction:
        """The prediction of the fastest choice."""
        return self._list_timed()[0][1]

    @property
    def rivals(self) -> tuple[RankedChoice, ...]:
        """Those beside the fastest whose range begins below its time.

        Their order is not certain: a measurement may find one of them faster.
        """
        first = self.prediction
        return tuple(row for row, found in self._list_timed()[1:] if found.low_ms <= first.time_ms)

    @property
    def is_clear(self) -> bool:
        """Whether no other choice comes so near to the fastest that it may be faster."""
        return not self.rivals

    @property
    def summary(self) -> str:
        """The fastest choice, and those that may be as fast, in one sentence or two."""
        first = self.rows[0]
        words = f"{first.label} is predicted to be the fastest on {self.card.name}: "
        words += f"{write_time(self.prediction.time_ms)}"
        rivals = self.rivals
        if rivals:
            names = ", ".join(row.label for row in rivals[:4])
            more = f" and {len(rivals) - 4} others" if len(rivals) > 4 else ""
            words += f". Within the range of their predictions {names}{more} may be as fast"
        elif len(self._list_timed()) > 1:
            second, found = self._list_timed()[1]
            ratio = found.time_ms / self.prediction.time_ms
            words += f", {ratio:.3g} times as fast as {second.label}, the next"
        return words

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain types that json can write."""
        return {
            "kind": "ranking",
            "function": self.function,
            "card": self.card.to_dict(),
            "best": self.rows[0].to_dict()["keywords"],
            "rivals": [row.label for row in self.rivals],
            "rows": [row.to_dict() for row in self.rows],
        }

    def _list_cells(self) -> Iterator[tuple[str, ...]]:
        yield "choice", "time", "from", "to", "times the fastest", "limited by"
        least = self.prediction.time_ms
        for row, found in self._list_timed():
            times = (found.time_ms, found.low_ms, found.high_ms)
            ratio = f"{found.time_ms / least:.3g}"
            yield row.label, *map(write_time, times), ratio, found.limited_by

    def _list_refusals(self) -> Iterator[str]:
        for row in self.rows:
            if row.refusal is not None:
                yield f"{row.label}: {row.refusal}"

    def __repr__(self) -> str:
        return f"<Ranking of {len(self.rows)} choices of {self.function}: {self.summary}>"

    def __str__(self) -> str:
        cells = list(self._list_cells())
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [*textwrap.wrap(f"{self.function}: {self.summary}.", WIDTH), ""]
        for row in cells:
            padded = [
                cell.rjust(width) if 0 < i < 5 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(padded).rstrip())
        refusals = list(self._list_refusals())
        if refusals:
            lines += ["", "These cannot run:"]
            for words in refusals:
                lines += textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="    ")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        heads, *rows = self._list_cells()
        most = max(found.high_ms for _, found in self._list_timed())
        head = "".join(f"<th>{html.escape(word)}</th>" for word in (*heads, ""))
        body = []
        for cells, (_, found) in zip(rows, self._list_timed(), strict=True):
            text = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            body.append(f"<tr>{text}<td>{draw_bar(found, most)}</td></tr>")
        refusals = "".join(f"<li>{html.escape(words)}</li>" for words in self._list_refusals())
        refused = f"<p>These cannot run:</p><ul>{refusals}</ul>" if refusals else ""
        return (
            f"<div><p><b>{html.escape(self.function)}</b>: {html.escape(self.summary)}.</p>"
            f"<table><tr>{head}</tr>{''.join(body)}</table>{refused}</div>"
        )


def draw_bar(found: Prediction, most: float) -> str:
    """The HTML of a hatched bar with a thin one over the range; `most` milliseconds fill it."""
    time, low, high = (100 * ms / most for ms in (found.time_ms, found.low_ms, found.high_ms))
    hatch = "repeating-linear-gradient(135deg,#7aa6c2 0 2px,#fcfcfa 2px 6px)"
    bar = f"width:{time:.1f}%;height:100%;background:{hatch};border:1px solid #7aa6c2"
    span = f"left:{low:.1f}%;width:{max(high - low, 0.5):.1f}%;height:2px;top:45%"
    return (
        '<div style="position:relative;width:16em;height:0.9em;box-sizing:border-box">'
        f'<div style="{bar};box-sizing:border-box"></div>'
        f'<div style="position:absolute;{span};background:#1f2328"></div></div>'
    )


def find_family(function: Callable[..., Any]) -> str | None:
    """The family whose variants a function of smemkit takes; None of any other function."""
    name = getattr(function, "__name__", "")
    ours = (getattr(function, "__module__", None) or "").partition(".")[0] == "smemkit"
    return name if ours and name in _core.families() else None


def list_variants(family: str, precision: str) -> dict[str, list[str]]:
    """{"variant": the variants of a family that do its work, in that precision}."""
    return {
        "variant": [
            name
            for name, facts in _core.variants(family).items()
            if name not in OTHER_WORK and (facts["dtypes"] != ROUNDED or precision == "tf32")
        ]
    }


def check_choices(
    function: Callable[..., Any],
    choices: Mapping[str, Sequence[Any]] | None,
    precision: str = "full",
) -> list[dict[str, Any]]:
    """A dict of keywords for each choice; errors for what is none."""
    family = find_family(function)
    if choices is None:
        if family is None:
            raise _core.ArgumentError(
                "rank needs choices: for a keyword of the function the values to compare, as in "
                "choices={'pad': (0, 1)}"
            )
        choices = list_variants(family, precision)
    if not isinstance(choices, Mapping):
        raise _core.ArgumentTypeError(
            "choices is a dict from keywords of the function to values, not "
            f"{reprlib.repr(choices)}"
        )
    values: dict[str, list[Any]] = {}
    for name, given in choices.items():
        if not isinstance(name, str) or isinstance(given, str | bytes | Mapping):
            raise _core.ArgumentTypeError(
                f"choices of {name!r:.40} are a list of values, not {reprlib.repr(given)}"
            )
        try:
            values[name] = list(given)
        except TypeError:
            raise _core.ArgumentTypeError(
                f"choices of {name!r:.40} are a list of values, not {reprlib.repr(given)}"
            ) from None
    made = [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]
    if not made or not values:
        raise _core.ArgumentError("choices has nothing to compare: give values of a keyword")
    if len(made) > MOST:
        raise _core.ArgumentError(f"choices are {len(made):,} combinations; {MOST} are the most")
    return made


def rank(
    function: Callable[..., Any],
    *args: Any,
    device: str | Card = "h200",
    choices: Mapping[str, Sequence[Any]] | None = None,
    cache: Literal["warm", "cold"] = "warm",
    blocks: int | None = BLOCKS,
    **kwargs: Any,
) -> Ranking:
    """Which variant, block or pad is the fastest on a card: by predictions, without the card.

    The function is predicted once for each choice, as smemkit.predict does it.

    Parameters
    ----------
    function : callable
        A function of smemkit, or any Python function that launches kernels, and whose keywords say
        how: def launch(pad): ...
    *args, **kwargs
        Of the function, the same for all choices.
    device : str or Card
        The card, as smemkit.card takes it.
    choices : dict, optional
        {keyword of the function: values}; of several keywords all combinations. By default, of
        functions of smemkit, {"variant": all that do the same work}.
    cache, blocks
        As those of smemkit.predict.

    Shapes
    ------
    Those of the function.

    Returns
    -------
    Ranking, with best (the keywords of the fastest), prediction, rivals, is_clear and rows; print
    it, or show it in a notebook. The fastest on the card is best, or one of the rivals, where the
    ranges of the predictions hold.

    Raises
    ------
    ArgumentTypeError (TypeError), ArgumentError (ValueError) for choices that are none and for a
    card that is not in the table. A choice that smemkit refuses is a row with the reason; where all
    are refused, the first error is raised. Whatever else the function raises.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((512, 512), dtype="float32")
    >>> ranking = smemkit.rank(smemkit.transpose, a, device="rtx 4090")
    >>> "naive" in [row.label for row in ranking.rows[1:]]
    True
    >>> b = smemkit.transpose(a, **ranking.best)
    """
    if not callable(function):
        raise _core.ArgumentTypeError(
            "rank takes a function and then its arguments, as in smemkit.rank(smemkit.gemm, a, b), "
            f"not {reprlib.repr(function)}"
        )
    from .fit import demand_capability  # brings the modules of the compilers

    card = find_card(device)
    wanted = check_choices(function, choices, str(kwargs.get("precision")))
    family = find_family(function)
    known = {} if family is None else _core.variants(family)
    rows: list[RankedChoice] = []
    first: _core.Error | None = None
    unable: list[_core.BackendError] = []  # what the card itself refused
    with _progress.operation("rank"):
        for keywords in wanted:
            words = {**kwargs, **keywords}
            try:
                facts = known.get(str(words.get("variant")))
                if facts is not None:
                    needed = facts["compute_capability"]
                    demand_capability(f"{family} variant {words['variant']!r}", needed, card)
                found = predict(function, *args, device=card, cache=cache, blocks=blocks, **words)
            except _core.Error as error:
                first = first or error
                if isinstance(error, _core.BackendError):
                    unable.append(error)
                rows.append(RankedChoice(keywords, refusal=str(error)))
                continue
            rows.append(RankedChoice(keywords, found))
    if first is not None and all(row.prediction is None for row in rows):
        if len(rows) == 1 or not unable:
            raise first
        others = len(rows) - len(unable)
        taken = f" that take these arguments ({others} others do not)" if others else ""
        raise _core.BackendError(
            f"none of the {len(unable)} choices{taken} can run on {card.name}: {unable[0]}"
        ) from unable[0]
    rows.sort(key=lambda row: float("inf") if row.prediction is None else row.prediction.time_ms)
    return Ranking(getattr(function, "__name__", "the function"), card, tuple(rows))
