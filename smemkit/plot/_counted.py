"""Charts of what was counted: wavefronts, sectors, diverging warps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from .. import _core
from ..bench import arguments
from . import _points
from ._rows import (
    UNITS,
    complete,
    describe_rows,
    find_source,
    find_time,
    keep_parameter,
    list_counted,
    list_rows,
    name_source,
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
    colour_labels,
    in_style,
    list_inks,
    make_axes,
    put_header,
    separate,
    shade,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ._rows import Rows, Spread, Subjects


@in_style
def bank_stride(
    results: Rows, *, parameter: str = "stride", title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Wavefronts and time of shared loads against the distance of neighbouring lanes.

    Bars are the wavefronts a request that were counted, marks the measured times. The scale of
    time, at the right, is such that both meet at the smallest stride: marks on the ends of the bars
    say that wavefronts explain the time.

    Parameters
    ----------
    results : Results, or an iterable of Measurement or of what probe.bank_access found
        Rows with parameters["stride"] and counters of shared loads, times, or both.
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
    matplotlib Axes: the left one

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no result of a
    benchmark; ArgumentError (ValueError) where no row has that parameter with counters or times, or
    where two rows have the same.

    Example
    -------
    >>> from smemkit import plot, probe
    >>> rows = [probe.bank_access(stride, backend="sim") for stride in (1, 2, 32, 33)]
    >>> [float(bar.get_height()) for bar in plot.bank_stride(rows).patches]
    [1.0, 2.0, 32.0, 1.0]
    """
    rows = keep_parameter(list_rows(results), parameter)
    counted: dict[float, float] = {}  # by the parameter: wavefronts a request
    timed: dict[float, Spread] = {}
    for row in rows:
        step, table = row.parameters[parameter], complete(row.counters)
        requests = table["shared.load.instructions"]
        is_same = True
        if requests:
            wavefronts = table["shared.load.wavefronts"] / requests
            is_same = counted.setdefault(step, wavefronts) == wavefronts
        if row.median_ms > 0:  # rows without times give NaN
            time = spread(row, "median_ms")
            is_same = is_same and timed.setdefault(step, time) == time
        if not is_same:
            raise _core.ArgumentError(
                f"two rows have {parameter} {step}: choose one kind by results.select(...)"
            )
    if not counted and not timed:
        raise _core.ArgumentError("nothing to draw: no row has counters of shared loads, or times")
    ax = make_axes(ax, width=8.2)
    steps = sorted(counted.keys() | timed.keys())
    places = {step: place for place, step in enumerate(steps)}
    if counted:
        ax.bar(
            [places[step] for step in counted],
            list(counted.values()),
            color=[shade(value) for value in counted.values()],
            edgecolor=FAINT,
            linewidth=0.5,
            width=0.72,
        )
        ax.set_ylabel("wavefronts a request, counted (bars)")
        top = max(counted.values())
        for step, value in counted.items():
            if value > max(2, 0.1 * top) and step not in timed:
                ax.annotate(
                    f"{value:.3g}",
                    (places[step], value),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    gid="value",
                    fontsize=8.5,
                )
    if timed:
        _draw_times(ax, places, counted, timed)
    ax.set_ylim(bottom=0)
    ax.set_xticks(range(len(steps)), [str(step) for step in steps])
    ax.set_xlabel(f"{parameter} between neighbouring lanes [elements]")
    add_grid(ax)
    point = _points.compare_banks(counted, timed, parameter)
    note = "" if not (counted and timed) else " · bars: counted by the simulator; marks: measured"
    words = describe_rows([row for row in rows if row.times_ms] or rows)
    put_header(ax, title, point, f"{words} · {find_source(results, rows)}{note}")
    return ax


def _draw_times(
    ax: Axes,
    places: Mapping[float, int],
    counted: Mapping[float, float],
    timed: Mapping[float, Spread],
) -> None:
    """Draws times as marks, on the scale of the wavefronts where these were counted."""
    common = [step for step in sorted(timed) if step in counted]
    scale = counted[common[0]] / timed[common[0]][0] if common else 1.0  # wavefronts a millisecond
    values = numpy.array([timed[step] for step in sorted(timed)]) * scale
    ax.errorbar(
        [places[step] for step in sorted(timed)],
        values[:, 0],
        yerr=values[:, 1:].T,
        color=INK,
        marker="D",
        markersize=5,
        linestyle="none",
        capsize=2,
    )
    if not counted:
        ax.set_ylabel(UNITS["median_ms"])
        return
    scales = (lambda y: numpy.divide(y, scale), lambda y: numpy.multiply(y, scale))
    right = ax.secondary_yaxis("right", functions=scales)
    right.set_ylabel(f"{UNITS['median_ms']}, measured (marks)")
    ink, faint = list_inks(ax)
    right.tick_params(colors=faint, labelcolor=ink)
    right.yaxis.label.set_color(ink)
    right.spines[:].set_color(faint)


@in_style
def sectors(
    source: Subjects, *, op: str = "load", title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Sectors a request of global memory, and how many the lanes' bytes would fill side by side.

    Fewer than that are possible where lanes share an address.

    Parameters
    ----------
    source : Results, a Report, or a mapping from label to Report or counters
        Subjects without requests of that kind are left out.
    op : "load", "store" or "atomic"
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
    BackendError without matplotlib; ArgumentTypeError (TypeError) for another source; ArgumentError
    (ValueError) for another op, and where nothing was counted.

    Example
    -------
    >>> import numpy, smemkit
    >>> from smemkit import plot
    >>> a = numpy.ones((32, 32), dtype="float32")
    >>> reports = {name: smemkit.profile(smemkit.gemm, a, a, variant=name, backend="sim")
    ...            for name in ("naive", "naive_uncoalesced")}
    >>> [float(bar.get_width()) for bar in plot.sectors(reports).patches]
    [2.5, 16.5]
    """
    arguments.check_one_of("op", op, ("load", "store", "atomic"))
    names = [f"global.{op}.{unit}" for unit in ("requests", "sectors", "bytes")]
    bars = list_counted(source, names[0])
    ax = make_axes(ax, height=1.5 + 0.3 * len(bars))
    counted, least = [], []
    for bar in bars:
        requests, found, lanes = (bar.counters[name] for name in names)
        counted.append(found / requests)
        least.append(lanes / 32 / requests)
    places = list(range(len(bars)))
    labels = [bar.label for bar in bars]
    colours = [choose_colour(bar.name) for bar in bars]
    ax.barh(places, counted, color=colours, height=0.66)
    ax.plot(
        least,
        places,
        color=REFERENCE,
        marker="|",
        markersize=17,
        markeredgewidth=3.2,
        linestyle="none",
    )
    most = max(*counted, *least, 1)
    for place, value in zip(places, counted, strict=True):
        hidden = value <= least[place] < value + 0.1 * most  # by the mark
        ax.annotate(
            f"{value:.3g}",
            (least[place] if hidden else value, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center_baseline",
            gid="value",
            fontsize=8.5,
        )
    ax.set_yticks(places, labels)
    colour_labels(ax, colours)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12 * most)
    ax.set_xlabel(
        f"sectors (32 bytes) a request, global {op}s; black: the lanes' bytes, side by side"
    )
    add_grid(ax, "x")
    point = _points.compare_sectors(labels, counted, least)
    put_header(ax, title, point, f"global {op}s, counted by {name_source(source, bars)}")
    return ax


@in_style
def divergence(source: Subjects, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """What diverging costs: the time of each subject, or where none was measured its instructions.

    Parameters
    ----------
    source : Results, a list of what probe.divergence found, a Report, or a mapping from label to
        Report or counters. The first subject is the one to which the others are compared.
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
    BackendError without matplotlib; ArgumentTypeError (TypeError) for another source; ArgumentError
    (ValueError) where nothing was counted.

    Example
    -------
    >>> from smemkit import plot
    >>> tables = {"by warp": {"instructions.warp": 10, "instructions.thread": 320},
    ...           "by lane": {"instructions.warp": 20, "instructions.thread": 320}}
    >>> print(plot.divergence(tables).get_title(loc="left").replace("\\n", " "))
    by lane takes 2 times the instructions of by warp: 16 of 32 lanes work, not 32
    """
    bars = list_counted(source, "instructions.warp")
    found = [find_time(source, bar) for bar in bars]
    values, word = [time for time in found if time is not None], UNITS["median_ms"]
    timed = len(values) == len(bars)
    if not timed:
        values, word = [bar.counters["instructions.warp"] for bar in bars], "warp instructions"
    ax = make_axes(ax, height=1.45 + 0.3 * len(bars))
    ax.barh(range(len(bars)), values, color=[REFERENCE] + [REST] * (len(bars) - 1), height=0.66)
    ax.axvline(values[0], color=REFERENCE, linewidth=2.4, zorder=0.5)
    lanes = [
        bar.counters["instructions.thread"] / bar.counters["instructions.warp"] for bar in bars
    ]
    for place, value in enumerate(values):
        ax.annotate(
            f"{value / values[0]:.3g} x, {lanes[place]:.3g} of 32 lanes",
            (value, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center_baseline",
            gid="value",
            fontsize=8.5,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8},
        )
    labels = [bar.label for bar in bars]
    ax.set_yticks(range(len(bars)), labels)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.45 * max(values))
    separate(ax.xaxis)
    ax.set_xlabel(f"{word}; beside it: ratio to the first, mean active lanes")
    add_grid(ax, "x")
    point = _points.compare_divergence(labels, values, lanes, timed)
    facts = name_source(source, bars, timed=timed)
    put_header(ax, title, point, f"{facts} · lanes: counted" if timed else f"counted by {facts}")
    return ax
