"""Where the time of a prediction goes: a bar for each of its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from ..predict.prediction import Prediction, write_time
from .style import (
    FAINT,
    INK,
    NAIVE,
    PAPER,
    REFERENCE,
    REST,
    add_grid,
    hatch,
    in_style,
    list_inks,
    make_axes,
    put_header,
    separate,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..predict import Term

LEAST = 0.01  # of the time: shorter terms are left out
UNITS = ((1.0, 1.0, "ms"), (0.0, 1e3, "µs"))  # from so many milliseconds on: factor, unit


@in_style
def terms(prediction: Prediction, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Where the time goes: what each part of the card would take alone, the longest first.

    The bars are hatched, because they are predicted. The one that limits the call has a colour of
    its own; beside each stand its time, its amount and the line of the source that asks most of it.
    The black line is the predicted time of all together, in a band over its range.

    Parameters
    ----------
    prediction : Prediction
        Of smemkit.predict, report.time or kernel.predict.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional
        Drawn into this one instead of a new figure's.

    Shapes
    ------
    None.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no Prediction.

    Example
    -------
    >>> import numpy, smemkit
    >>> from smemkit import plot
    >>> a = numpy.ones((256, 256), dtype="float32")
    >>> found = smemkit.predict(smemkit.gemm, a, a, variant="column", device="rtx 4090")
    >>> ax = plot.terms(found)
    >>> "shared" in [label.get_text() for label in ax.get_yticklabels()]
    True
    """
    if not isinstance(prediction, Prediction):
        raise _core.ArgumentTypeError(
            f"terms draws a Prediction of smemkit.predict, not {prediction!r:.80}"
        )
    shown = [
        term for term in prediction.terms.values() if term.time_ms >= LEAST * prediction.time_ms
    ]
    factor, unit = next(row[1:] for row in UNITS if prediction.time_ms >= row[0])
    ax = make_axes(ax, height=1.5 + 0.27 * len(shown))
    for place, term in enumerate(shown):
        limits = term.name == prediction.limited_by
        ax.barh(place, term.time_ms * factor, height=0.72, **hatch(NAIVE if limits else REST))
        ax.annotate(
            describe_term(term),
            (term.time_ms * factor, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center_baseline",
            gid="value",
            fontsize=8.5,
            fontweight="bold" if limits else "normal",
            color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8},
        )
    low, high = prediction.low_ms * factor, prediction.high_ms * factor
    ax.axvspan(low, high, color=FAINT, alpha=0.15, linewidth=0, zorder=0.4)
    ax.axvline(prediction.time_ms * factor, color=REFERENCE, linewidth=2.4, zorder=0.5)
    ax.set_yticks(range(len(shown)), [term.name for term in shown])
    for label, term in zip(ax.get_yticklabels(), shown, strict=True):
        if term.name == prediction.limited_by:
            label.set(color=NAIVE, fontweight="bold")
        else:
            label.set_color(list_inks(ax)[0])
    ax.invert_yaxis()
    ends = [high, *(term.time_ms * factor for term in shown)]
    ax.set_xlim(0, 1.62 * max(ends))
    separate(ax.xaxis)
    ax.set_xlabel(f"what each part alone would take [{unit}]; black: all together, with its range")
    add_grid(ax, "x")
    kernels = ", ".join(dict.fromkeys(prediction.kernels))
    point = f"Limited by {prediction.limited_by}: {write_time(prediction.time_ms)}"
    span = f"{write_time(prediction.low_ms)} to {write_time(prediction.high_ms)}"
    put_header(ax, title, point, f"{kernels} · predicted for {prediction.card.name}, {span}")
    return ax


def describe_term(term: Term) -> str:
    """The time of a term, its amount, and the line that asks most of it."""
    words = [write_time(term.time_ms)]
    if term.amount is not None:
        words.append(f"{show_amount(term.amount)} {term.unit}")
    if term.source:
        words.append(term.source)
    return " · ".join(words)


def show_amount(amount: float) -> str:
    """A count in three figures and a word: "320 million", "1,024"."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if amount >= size:
            return f"{amount / size:.3g} {word}"
    return f"{amount:,.0f}"
