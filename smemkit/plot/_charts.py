"""The functions of smemkit.plot, one for each kind of chart."""

import numpy

from .. import _core
from ..bench import arguments
from ..bench.results import is_number
from ..report import Report
from ..report.counts import Sample
from .style import (
    BLACK,
    BLUE,
    LONG,
    SKY,
    UNITS,
    VERMILION,
    choose_line,
    choose_unit,
    clean,
    complete,
    draw_cells,
    find_peer,
    find_size,
    find_time,
    fit_legend,
    keep_parameter,
    keep_rated,
    label_rows,
    label_sized,
    list_cells,
    list_counted,
    list_ours,
    list_rows,
    make_axes,
    put_legend,
    separate,
    show_number,
    show_percent,
    show_wavefronts,
    spread,
    tick_powers,
    title_rows,
)

# Measured -----------------------------------------------------------------------------------------


def speed(results, *, unit=None, ax=None):
    """Speed against size: a line for each variant, its median with the 20 and 80 % quantiles.

    Parameters
    ----------
    results : Results, or an iterable of Measurement
        Of one family or more; rows without times are left out.
    unit : "gflop_per_s", "gb_per_s" or "median_ms", optional
        By default operations where there are many a byte, else bytes that must move.
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
    lines = {}
    for label, row, size in zip(label_rows(rows), rows, sizes, strict=True):
        lines.setdefault(label, []).append((size, *spread(row, unit)))
    ax = make_axes(ax, height=fit_legend(len(lines)))
    for number, (label, points) in enumerate(lines.items()):
        size, middle, below, above = zip(*sorted(points), strict=True)
        ax.errorbar(size, middle, yerr=(below, above), label=label, **choose_line(number))
    ax.set_xscale("log", base=2)
    tick_powers(ax.xaxis, sizes)
    ax.set_ylim(bottom=0)
    separate(ax.yaxis)
    ax.set_xlabel(word)
    ax.set_ylabel(UNITS[unit])
    ax.set_title(title_rows(rows), fontsize=10, loc="left")
    clean(ax)
    put_legend(ax)
    return ax


def ladder(results, *, peer=None, unit=None, ax=None):
    """The variants of one family at one shape as bars, each with its percentage of a peer.

    Parameters
    ----------
    results : Results, or an iterable of Measurement
        In the order of the bars, downwards; rows without times are left out.
    peer : str, optional
        The variant that is 100 %, as "cublas"; by default the library with which bench.evolution
        compares the family, and where that is not among the rows the last GPU row that is not ours.
    unit : "gflop_per_s", "gb_per_s" or "median_ms", optional
        As of speed.
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
    >>> [text.get_text() for text in plot.ladder(rows, peer="cublas").texts]
    ['0.262 (50 %)', '0.524 (100 %)']
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
    ax = make_axes(ax, height=0.9 + 0.32 * len(rows))
    values = [getattr(row, unit) for row in rows]
    ours = list_ours(rows[0].family)
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        mine = row.variant in ours
        ax.barh(
            place,
            value,
            color=BLUE if mine else "#dddddd",
            edgecolor=BLUE if mine else "#555555",
            hatch=None if mine else "///",
            height=0.7,
        )
        words = show_number(value)
        if whole is not None:
            part = value / getattr(whole, unit)
            part = 1 / part if unit == "median_ms" else part
            words += f" ({show_percent(100 * part)} %)"
        ax.text(value, place, f" {words}", va="center", ha="left", fontsize=9)
    for text in ax.texts:
        text.set_text(text.get_text().strip())
        text.set_x(text.get_position()[0] + 0.008 * max(values))
    ax.set_yticks(range(len(rows)), label_rows(rows))
    ax.invert_yaxis()
    ax.set_xlim(0, 1.28 * max(values))
    separate(ax.xaxis)
    note = f"; in brackets: speed as a part of {whole.variant}'s" if whole is not None else ""
    ax.set_xlabel(UNITS[unit] + note)
    shape = " x ".join(f"{length:,}" for length in rows[0].shape)
    ax.set_title(f"{rows[0].family}, {shape}, {rows[0].dtype}", fontsize=10, loc="left")
    clean(ax, grid="x")
    return ax


def roofline(results, ceilings=None, *, gb_per_s=None, gflop_per_s=None, ax=None):
    """The roof of a device, and where the variants stand below it.

    Parameters
    ----------
    results : Results, or an iterable of Measurement
        Rows without times, operations or bytes are left out.
    ceilings : Ceilings, optional
        Of bench.ceilings, or those of a record; or give both numbers:
    gb_per_s, gflop_per_s : float
        What the device reaches: memory bandwidth, and floating-point operations.
    ax : matplotlib Axes, optional

    Shapes
    ------
    Any. A point lies at operations a byte that must move, so all variants of one shape stand above
    each other, and how far below the roof is what remains to be gained. The flat part of the roof
    is multiply-adds in float32; gemm's tuned, on tensor cores, may stand above it.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ArgumentTypeError (TypeError) for what is no result of a
    benchmark; ArgumentError (ValueError) where no row has all that is needed, or a ceiling is not
    above 0.

    Example
    -------
    >>> from smemkit import plot
    >>> from smemkit.bench import Measurement
    >>> row = Measurement("dot", "shuffle", (2**20,), "float32", "cuda", times_ms=(0.01,),
    ...                   nbytes=2**23, flops=2**21)
    >>> ax = plot.roofline([row], gb_per_s=4000, gflop_per_s=60000)
    >>> ax.get_xlabel()
    'operations a byte that must move [FLOP/byte]'
    """
    gb_per_s = getattr(ceilings, "gb_per_s", None) if gb_per_s is None else gb_per_s
    gflop_per_s = getattr(ceilings, "gflop_per_s", None) if gflop_per_s is None else gflop_per_s
    if not all(is_number(rate, 0) and rate > 0 for rate in (gb_per_s, gflop_per_s)):
        raise _core.ArgumentError(
            "a roof needs ceilings, or gb_per_s and gflop_per_s, which are numbers above 0; "
            f"here they are {gb_per_s!r:.80} and {gflop_per_s!r:.80}"
        )
    gb_per_s, gflop_per_s = float(gb_per_s), float(gflop_per_s)
    rows = [row for row in list_rows(results, timed=True) if row.flops and row.nbytes]
    if not rows:
        raise _core.ArgumentError("nothing to draw: no row has both operations and bytes")
    ax = make_axes(ax, height=max(4.2, fit_legend(len(rows))))
    places = [row.flops / row.nbytes for row in rows]
    ridge = gflop_per_s / gb_per_s
    low, high = min([*places, ridge]) / 4, max([*places, ridge]) * 4
    roof = numpy.array([low, ridge, high])
    ax.plot(roof, numpy.minimum(roof * gb_per_s, gflop_per_s), color=BLACK, linewidth=2)
    labels = label_sized(rows)
    for number, (label, row, place) in enumerate(zip(labels, rows, places, strict=True)):
        style = choose_line(number) | {"linestyle": "none", "linewidth": 0, "markersize": 7}
        del style["capsize"]
        ax.plot([place], [row.gflop_per_s], label=label, **style)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    bottom = min([*(row.gflop_per_s for row in rows), low * gb_per_s])
    ax.set_ylim(bottom / 2, gflop_per_s * 3)
    roof = f"{gb_per_s:,.0f} GB/s and {gflop_per_s:,.0f} GFLOP/s"
    ax.set_title(f"roof: {roof}, which meet at {ridge:.3g} FLOP/byte", fontsize=10, loc="left")
    ax.set_xlabel("operations a byte that must move [FLOP/byte]")
    ax.set_ylabel("GFLOP/s (10⁹ operations a second)")
    clean(ax, grid="both")
    put_legend(ax)
    return ax


def stride(results, *, parameter="stride", ax=None):
    """Bandwidth of global memory against the distance of neighbouring lanes.

    Parameters
    ----------
    results : Results, or an iterable of Measurement or of what probe.global_access found
        Rows with parameters["stride"] (in elements), times and bytes; a line for each variant.
    parameter : str
        Another name of the parameter along the axis.
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
    ax = make_axes(ax)
    lines = {}
    for label, row in zip(label_rows(rows, parameter), rows, strict=True):
        lines.setdefault(label, []).append((row.parameters[parameter], *spread(row, "gb_per_s")))
    for number, (label, points) in enumerate(lines.items()):
        steps, middle, below, above = zip(*sorted(points), strict=True)
        ax.errorbar(steps, middle, yerr=(below, above), label=label, **choose_line(number))
    steps = [row.parameters[parameter] for row in rows]
    if min(steps) > 0:
        ax.set_xscale("log", base=2)
        tick_powers(ax.xaxis, steps)
    ax.set_ylim(bottom=0)
    separate(ax.yaxis)
    ax.set_xlabel(f"{parameter} between neighbouring lanes [elements]")
    ax.set_ylabel(f"useful {UNITS['gb_per_s']}")
    clean(ax)
    if len(lines) > 1:
        put_legend(ax)
    return ax


def bank_stride(results, *, parameter="stride", ax=None):
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
    counted, timed = {}, {}
    for row in rows:
        step, table = row.parameters[parameter], complete(row.counters)
        requests = table["shared.load.instructions"]
        values = ((counted, requests, table["shared.load.wavefronts"] / (requests or 1)),)
        has_time = row.median_ms > 0  # rows without times give NaN
        values += ((timed, has_time, spread(row, "median_ms") if has_time else None),)
        for kept, there, value in values:
            if there and step in kept and kept[step] != value:
                raise _core.ArgumentError(
                    f"two rows have {parameter} {step}: choose one kind by results.select(...)"
                )
            if there:
                kept[step] = value
    if not counted and not timed:
        raise _core.ArgumentError("nothing to draw: no row has counters of shared loads, or times")
    ax = make_axes(ax)
    steps = sorted(counted.keys() | timed.keys())
    places = {step: place for place, step in enumerate(steps)}
    if counted:
        ax.bar(
            [places[step] for step in sorted(counted)],
            [counted[step] for step in sorted(counted)],
            color=SKY,
            edgecolor=BLUE,
            width=0.7,
            label="wavefronts, counted",
        )
        ax.set_ylabel("wavefronts a request")
    if timed:
        _draw_times(ax, places, counted, timed)
    ax.set_ylim(bottom=0)
    ax.set_xticks(range(len(steps)), [str(step) for step in steps])
    ax.tick_params(axis="x", labelsize=8 if len(steps) > 16 else 10)
    ax.set_xlabel(f"{parameter} between neighbouring lanes [elements]")
    clean(ax)
    if counted and timed:
        put_legend(ax, above=True)  # the right side has an axis
    return ax


def _draw_times(ax, places, counted, timed):
    """Draws times as marks, on the scale of the wavefronts where these were counted."""
    common = [step for step in sorted(timed) if step in counted]
    scale = counted[common[0]] / timed[common[0]][0] if common else 1.0  # wavefronts a millisecond
    values = numpy.array([timed[step] for step in sorted(timed)]) * scale
    ax.errorbar(
        [places[step] for step in sorted(timed)],
        values[:, 0],
        yerr=values[:, 1:].T,
        color=VERMILION,
        marker="D",
        markersize=5,
        linestyle="none",
        capsize=2,
        label="time, measured",
    )
    if not counted:
        ax.set_ylabel(UNITS["median_ms"])
        return
    right = ax.secondary_yaxis("right", functions=(lambda y: y / scale, lambda y: y * scale))
    right.set_ylabel(UNITS["median_ms"])


# Counted ------------------------------------------------------------------------------------------


def sectors(source, *, op="load", ax=None):
    """Sectors a request of global memory, and how many the lanes' bytes would fill side by side.

    Fewer than that are possible where lanes share an address.

    Parameters
    ----------
    source : Results, a Report, or a mapping from label to Report or counters
        Subjects without requests of that kind are left out.
    op : "load", "store" or "atomic"
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
    ax = make_axes(ax, height=1.3 + 0.32 * len(bars))
    counted, least = [], []
    for bar in bars:
        requests, found, lanes = (bar.counters[name] for name in names)
        counted.append(found / requests)
        least.append(lanes / 32 / requests)
    places = list(range(len(bars)))
    ax.barh(places, counted, color=SKY, edgecolor=BLUE, height=0.7, label="counted")
    ax.plot(
        least,
        places,
        color=VERMILION,
        marker="|",
        markersize=15,
        markeredgewidth=3,
        linestyle="none",
        label="the lanes' bytes, side by side",
    )
    for place, value in zip(places, counted, strict=True):
        hidden = value <= least[place] < value + 0.1 * max(*counted, *least)  # by the mark
        ax.text(
            (least[place] if hidden else value) + 0.012 * max(*counted, *least),
            place,
            f"{value:.3g}",
            va="center",
            fontsize=9,
        )
    ax.set_yticks(places, [bar.label for bar in bars])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12 * max(*counted, *least, 1))
    ax.set_xlabel(f"sectors (32 bytes) a request, global {op}s")
    clean(ax, grid="x")
    put_legend(ax, above=True)
    return ax


def divergence(source, *, ax=None):
    """What diverging costs: the time of each subject, or where none was measured its instructions.

    Parameters
    ----------
    source : Results, a list of what probe.divergence found, a Report, or a mapping from label to
        Report or counters. The first subject is the one to which the others are compared.
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
    >>> [text.get_text() for text in plot.divergence(tables).texts]
    ['1 x, 32 of 32 lanes', '2 x, 16 of 32 lanes']
    """
    bars = list_counted(source, "instructions.warp")
    times = [find_time(source, bar) for bar in bars]
    if all(time is not None for time in times):
        values, word = times, UNITS["median_ms"]
    else:
        values, word = [bar.counters["instructions.warp"] for bar in bars], "warp instructions"
    ax = make_axes(ax, height=1.1 + 0.32 * len(bars))
    ax.barh(range(len(bars)), values, color=SKY, edgecolor=BLUE, height=0.7)
    for place, (bar, value) in enumerate(zip(bars, values, strict=True)):
        lanes = bar.counters["instructions.thread"] / bar.counters["instructions.warp"]
        ax.text(
            value + 0.012 * max(values),
            place,
            f"{value / values[0]:.3g} x, {lanes:.3g} of 32 lanes",
            va="center",
            fontsize=9,
        )
    ax.set_yticks(range(len(bars)), [bar.label for bar in bars])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.5 * max(values))
    separate(ax.xaxis)
    ax.set_xlabel(f"{word}; beside it: ratio to the first, mean active lanes")
    clean(ax, grid="x")
    return ax


def banks(access, width=4, *, mask=0xFFFFFFFF, op="load", ax=None):
    """The lanes of one access to shared memory and the banks that they meet.

    A row a lane, a column a bank. The colour is how many distinct words (of atomics: lanes) the
    bank serves in the phase in which that lane goes: more than one is a conflict. In each cell
    stands the word's row, its number / 32. Dashed lines part the phases of wide accesses.

    Parameters
    ----------
    access : 32 addresses in bytes, a Report of smemkit.profile, or what its access(...) returns
        Of a Report the access to shared memory with most conflicts.
    width, mask, op
        As of smemkit.bank_access, for addresses; a recorded access has its own.
    ax : matplotlib Axes, optional

    Shapes
    ------
    Addresses are (32,).

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BackendError without matplotlib; ShapeError, ArgumentError (both ValueError) and
    ArgumentTypeError (TypeError) as smemkit.bank_access; ArgumentError for an access to global
    memory, and for a Report without one to shared memory.

    Example
    -------
    >>> import numpy, smemkit
    >>> from smemkit import plot
    >>> ax = plot.banks(numpy.arange(32) * 128)
    >>> ax.get_title(loc="left")
    '32 wavefronts, 31 of them conflicts'
    """
    if isinstance(access, Report):
        access = access.access(space="shared")
    place = ""
    if isinstance(access, Sample):
        if access.space != "shared":
            raise _core.ArgumentError(
                f"{access.place} is an access to {access.space} memory, which has no banks"
            )
        text = " ".join(access.text.split())
        text = text if len(text) <= LONG else text[: LONG - 3] + "..."
        place = f"\n{access.place}  {text}"
        width, mask, op = access.bytes, access.mask, access.op
        access = access.addresses
    try:
        addresses = numpy.asarray(access)
    except ValueError as error:
        raise _core.ArgumentError(f"banks: access: {error}") from None
    if addresses.size and addresses.dtype.kind not in "iu":
        raise _core.ArgumentTypeError(
            "banks: access is 32 addresses, a Report of smemkit.profile or what its access(...) "
            f"returns, not {access!r:.80}"
        )
    try:
        facts = _core.bank_access(addresses, width, mask=mask, op=op)
    except _core.Error as error:
        raise type(error)(str(error).replace("bank_access:", "banks:", 1)) from None
    if addresses.ndim != 1:
        raise _core.ShapeError(f"one access is drawn: (32,) addresses, not {addresses.shape}")
    lanes, cells = list_cells(addresses, width, mask, op, int(facts.phases))
    ax = make_axes(ax, width=8.2, height=6.2)
    draw_cells(ax, cells, int(facts.words.max()))
    for start in range(lanes, 32, lanes):
        ax.axhline(start - 0.5, color=BLACK, linestyle="--", linewidth=1)
    words = show_wavefronts(int(facts.wavefronts), int(facts.conflicts))
    ax.set_title(f"{words}{place}", fontsize=10, loc="left")
    return ax
