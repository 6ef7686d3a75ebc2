"""Charts of what was measured: speed against size, ladders, strides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from . import _points
from ._rows import (
    HOST,
    UNITS,
    choose_unit,
    describe_rows,
    describe_spread,
    find_peer,
    find_size,
    find_source,
    keep_parameter,
    keep_rated,
    label_rows,
    list_references,
    list_rows,
    read_value,
    show_number,
    show_percent,
    spread,
)
from .style import (
    FAINT,
    INK,
    PAPER,
    REFERENCE,
    REST,
    add_grid,
    choose_colour,
    choose_line,
    fit_labels,
    hatch,
    in_style,
    label_ends,
    list_inks,
    make_axes,
    put_header,
    separate,
    text_colour,
    tick_decades,
    tick_powers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..bench.results import Measurement
    from ._rows import LinePoint, Rows
    from .style import Labelled

APART = 25  # times that the fastest line is above the slowest: from there on a logarithmic axis


@in_style
def speed(
    results: Rows,
    *,
    unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Speed against size: a line for each variant, its median with the 20 and 80 % quantiles.

    Lines of predicted rows are dashed, with hollow marks, and bars over the range of the
    prediction. The axis of speed is logarithmic where the lines lie far apart.

    Parameters
    ----------
    results : Results, or an iterable of Measurement
        Of one family or more; rows without times are left out.
    unit : "gflop_per_s", "gb_per_s" or "median_ms", optional
        By default operations where there are many a byte, else bytes that must move.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional
        Drawn into this one instead of a new figure's.

    Shapes
    ------
    The size is the length of the dimensions that change from row to row, where they are equal; else
    the product of all.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no result of a
    benchmark; ArgumentError (ValueError) where no row has times, and for an unknown unit.

    Example
    -------
    >>> from smemkit import plot
    >>> from smemkit.bench import Measurement
    >>> rows = [Measurement("gemm", "tiled", (n, n, n), "float32", "cuda", times_ms=(n**3 / 4e9,),
    ...                     nbytes=12 * n * n, flops=2 * n**3) for n in (256, 512)]
    >>> plot.speed(rows).get_ylabel()
    'GFLOP/s (10⁹ operations a second)'
    """
    rows = list_rows(results, timed=True)
    unit = choose_unit(rows, unit)
    rows = keep_rated(rows, unit)
    sizes, word = find_size(rows)
    references = list_references(rows)
    lines: dict[str, list[LinePoint]] = {}
    names: dict[str, str] = {}  # of the variants, by label
    guessed: set[str] = set()  # labels of predicted lines
    for label, row, size in zip(label_rows(rows), rows, sizes, strict=True):
        lines.setdefault(label, []).append((size, *spread(row, unit)))
        names[label] = row.variant
        if row.is_predicted:
            guessed.add(label)
    ax = make_axes(ax, height=fit_labels(len(lines)))
    ends: list[Labelled] = []
    greys = 0
    for label, points in lines.items():
        across, middle, below, above = zip(*sorted(points), strict=True)
        look = choose_line(names[label], greys, names[label] in references)
        greys += look["color"] == REST
        if names[label] == HOST:
            look["linestyle"] = (0, (2, 1))
        if label in guessed:
            look = {**look, "linestyle": (0, (4, 2))}
            ax.errorbar(
                across, middle, yerr=(below, above), label=label, capsize=2, mfc=PAPER, **look
            )
        else:
            ax.errorbar(across, middle, yerr=(below, above), label=label, capsize=2, **look)
        ends.append((across[-1], middle[-1], label, look["color"]))
    ax.set_xscale("log", base=2)
    tick_powers(ax.xaxis, sizes)
    last = [value for _, value, *_ in ends]
    if max(last) > APART * min(last):
        ax.set_yscale("log")
        tick_decades(ax.yaxis)
    else:
        ax.set_ylim(bottom=0)
        separate(ax.yaxis)
    ax.set_xlabel(word)
    ax.set_ylabel(UNITS[unit])
    add_grid(ax)
    point, named = _points.compare_sizes(rows, sizes, unit)
    facts = f"{describe_rows(rows)} · {find_source(results, rows)}"
    put_header(ax, title, point, f"{facts} · {describe_spread(rows)}")
    label_ends(ax, ends, {label for label, name in names.items() if name in named})
    return ax


@in_style
def ladder(
    results: Rows,
    *,
    peer: str | None = None,
    unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The variants of one family at one shape as bars, each with its percentage of a peer.

    Bars of measured rows are full. Those of predicted rows are hatched, with a whisker over the
    range of the prediction, and a legend says so.

    Parameters
    ----------
    results : Results, or an iterable of Measurement
        In the order of the bars, downwards; rows without times are left out.
    peer : str, optional
        The variant that is 100 %, as "cublas"; by default the library with which bench.evolution
        compares the family, and where that is not among the rows the last GPU row that is not ours.
    unit : "gflop_per_s", "gb_per_s" or "median_ms", optional
        As of speed.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional

    Shapes
    ------
    All rows must have one shape; Results.select picks it.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no result of a
    benchmark; ArgumentError (ValueError) for rows of several shapes or types, and where the peer is
    not among them.

    Example
    -------
    >>> from smemkit import plot
    >>> from smemkit.bench import Measurement
    >>> words = {"shape": (64, 64, 64), "dtype": "float32", "machine": "cuda", "flops": 2 * 64**3,
    ...          "nbytes": 12 * 64**2}
    >>> rows = [Measurement("gemm", "tiled", times_ms=(2.0,), **words),
    ...         Measurement("gemm", "cublas", times_ms=(1.0,), **words)]
    >>> plot.ladder(rows, peer="cublas").get_title(loc="left")
    "tiled reaches 50 % of cublas's speed"
    """
    rows = list_rows(results, timed=True)
    for what, found in (
        ("shape", {tuple(row.shape) for row in rows}),
        ("element type", {row.dtype for row in rows}),
        ("family", {row.family for row in rows}),
    ):
        if len(found) > 1:
            raise _core.ArgumentError(
                f"a ladder has one {what}, these rows have {sorted(map(str, found))}: "
                "choose by results.select(...)"
            )
    unit = choose_unit(rows, unit)
    rows = keep_rated(rows, unit)
    whole = find_peer(rows, peer)

    ax = make_axes(ax, height=1.35 + 0.27 * len(rows))
    values = [read_value(row, unit) for row in rows]
    references = list_references(rows, peer)
    point, named = _points.compare_rows(rows, unit, peer)
    colours = [choose_colour(row.variant, row.variant in references) for row in rows]
    ends = draw_bars(ax, rows, unit, colours)
    if whole is not None:  # the reference, through all bars
        ax.axvline(read_value(whole, unit), color=REFERENCE, linewidth=2.4, zorder=0.5)
    ink = list_inks(ax)[0]
    ax.set_yticks(range(len(rows)), label_rows(rows))
    for place, (row, value, colour) in enumerate(zip(rows, values, colours, strict=True)):
        words = show_number(value)
        if whole is not None:
            part = value / read_value(whole, unit)
            part = 1 / part if unit == "median_ms" else part
            words += f" ({show_percent(100 * part)} %)"
        weight = "bold" if row.variant in named else "normal"
        ax.annotate(
            words,
            (ends[place], place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center_baseline",
            gid="value",
            fontsize=8.5,
            fontweight=weight,
            color=INK,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8},
        )
        label = ax.get_yticklabels()[place]
        label.set_fontweight(weight)
        label.set_color(text_colour(colour) if colour not in (REFERENCE, REST) else ink)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.28 * max(ends))
    separate(ax.xaxis)
    note = f"; in brackets: speed as a part of {whole.variant}'s" if whole is not None else ""
    ax.set_xlabel(UNITS[unit] + note)
    add_grid(ax, "x")
    if any(row.is_predicted for row in rows):
        explain_hatching(ax, rows)
    facts = f"{describe_rows(rows)} · {find_source(results, rows)}"
    medians = "" if all(row.is_predicted for row in rows) else " · medians"
    put_header(ax, title, point, facts + medians)
    return ax


@in_style
def stride(
    results: Rows,
    *,
    parameter: str = "stride",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Bandwidth of global memory against the distance of neighbouring lanes.

    Parameters
    ----------
    results : Results, or an iterable of Measurement or of what probe.global_access found
        Rows with parameters["stride"] (in elements), times and bytes; a line for each variant.
    parameter : str
        Another name of the parameter along the axis.
    title : str, optional
        Instead of the sentence with the point.
    ax : matplotlib Axes, optional

    Shapes
    ------
    Any.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no result of a
    benchmark; ArgumentError (ValueError) where no row has times and that parameter.

    Example
    -------
    >>> from smemkit import plot
    >>> from smemkit.bench import Measurement
    >>> rows = [Measurement("probe", "global_access", (2**20,), "float32", "cuda",
    ...                     times_ms=(0.01 * step,), nbytes=2**22, parameters={"stride": step})
    ...         for step in (1, 2, 4)]
    >>> [float(x) for x in plot.stride(rows).lines[0].get_xdata()]
    [1.0, 2.0, 4.0]
    """
    rows = [row for row in list_rows(results, timed=True) if row.nbytes]
    rows = keep_parameter(rows, parameter)
    lines: dict[str, list[LinePoint]] = {}
    names: dict[str, str] = {}  # of the variants, by label
    for label, row in zip(label_rows(rows, parameter), rows, strict=True):
        lines.setdefault(label, []).append((row.parameters[parameter], *spread(row, "gb_per_s")))
        names[label] = row.variant
    ax = make_axes(ax, height=fit_labels(len(lines)))
    ends: list[Labelled] = []
    for number, (label, points) in enumerate(lines.items()):
        points.sort()
        steps, middle, below, above = zip(*points, strict=True)
        look = choose_line(names[label], number)
        if len(lines) == 1:
            look.update({"color": INK, "linewidth": 2.0, "marker": "o", "markersize": 5.5})
        ax.errorbar(steps, middle, yerr=(below, above), label=label, capsize=2, **look)
        ends.append((steps[-1], middle[-1], label, look["color"]))
        if len(lines) == 1:
            label_values(ax, points)
    places = [row.parameters[parameter] for row in rows]
    if min(places) > 0:
        ax.set_xscale("log", base=2)
        tick_powers(ax.xaxis, places)
    ax.set_ylim(bottom=0)
    separate(ax.yaxis)
    ax.set_xlabel(f"{parameter} between neighbouring lanes [elements]")
    ax.set_ylabel(f"useful {UNITS['gb_per_s']}")
    add_grid(ax)
    label, points = next(iter(lines.items()))
    point = _points.compare_strides(label, points, parameter)
    put_header(ax, title, point, f"{describe_rows(rows)} · {find_source(results, rows)} · medians")
    if len(lines) > 1:
        label_ends(ax, ends)
    return ax


def draw_bars(
    ax: Axes, rows: Sequence[Measurement], unit: str, colours: Sequence[str]
) -> list[float]:
    """Draws a bar for each row, hatched and with a whisker where it is predicted; their ends."""
    ends = []
    for place, (row, colour) in enumerate(zip(rows, colours, strict=True)):
        middle, below, above = spread(row, unit)
        if not row.is_predicted:
            ax.barh(place, middle, color=colour, height=0.72)
            ends.append(middle)
            continue
        ax.barh(place, middle, height=0.72, **hatch(colour))
        ax.errorbar(
            [middle],
            [place],
            xerr=([below], [above]),
            fmt="none",
            ecolor=INK,
            elinewidth=1.1,
            capsize=2.5,
            zorder=3,
        )
        ends.append(middle + above)
    return ends


def explain_hatching(ax: Axes, rows: Sequence[Measurement]) -> None:
    """Writes below the Axes which bars are measured, and which predicted."""
    from matplotlib.patches import Patch

    handles = [Patch(label="predicted; the whisker is its range", **hatch(FAINT))]
    if not all(row.is_predicted for row in rows):
        handles.insert(0, Patch(label="measured", color=FAINT))
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0, -0.3 / (0.27 * len(rows) + 0.35)),
        ncols=2,
        fontsize=8.5,
        labelcolor=list_inks(ax)[0],
        borderaxespad=0.9,
    )


def label_values(ax: Axes, points: Sequence[LinePoint]) -> None:
    """Writes the value beside each point of an only line."""
    for step, middle, *_ in points:
        ax.annotate(
            show_number(middle),
            (step, middle),
            xytext=(5, 5),
            textcoords="offset points",
            gid="value",
            fontsize=8.5,
            color=INK,
        )
