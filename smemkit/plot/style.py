"""Parts of the charts of smemkit.plot: axes, colours, labels, and the choice of rows."""

import math
from collections.abc import Mapping

import numpy

from .. import _core
from ..bench import arguments
from ..bench.families import CLASSES
from ..bench.results import Measurement, is_count, is_number, is_table
from ..probe.results import ProbeResult
from ..report import Report
from ..report.counts import Counters, add_sums

# Okabe and Ito, Color Universal Design (2008), without the yellow, too faint for lines on white.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
MARKS = "osD^vPX<>*"
DASHES = ("-", "--", "-.", ":")
UNITS = {
    "gflop_per_s": "GFLOP/s (10⁹ operations a second)",
    "gb_per_s": "GB/s (10⁹ bytes a second)",
    "median_ms": "median time [ms]",
}
TICKS_MOST = 10  # along an axis
LARGE = 2**53  # from here on floats do not represent every whole number
LONG = 64  # characters of a source line in a title
BALANCE = 10  # operations a byte; families with more are shown by operations, others by bytes
ADVICE = "drawing needs matplotlib, which is not installed: pip install 'smemkit[plot]'"


def make_axes(ax, width=7.0, height=3.6):
    """The given Axes, or those of a new figure."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError as error:
        raise _core.BackendError(ADVICE) from error
    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise _core.ArgumentTypeError(f"ax is an Axes of matplotlib, not {type(ax).__name__}")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def fit_legend(lines):
    """The height of a figure in inches that fits so many lines in a legend at its side."""
    return max(3.6, 0.5 + 0.22 * lines)


def clean(ax, grid="y"):
    """Removes frame lines and adds a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)


def put_legend(ax, *, above=False):
    """Adds a legend beside or above the data, so that it hides none."""
    if above:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def tick_powers(axis, values):
    """Sets the ticks of a logarithmic axis at the values, without those too near a neighbour."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, *rest = sorted(set(values))
    kept, apart = [first], (max(values) / first) ** (1 / TICKS_MOST)
    for value in rest:
        if value >= kept[-1] * apart:
            kept.append(value)
    axis.set_major_locator(FixedLocator(kept))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: shorten(value)))


def shorten(value):
    """Formats whole numbers: with separators up to a million, else as 2^n or in three figures."""
    if value < 1e6:
        return f"{value:,.0f}"
    power = round(math.log2(value))
    return f"$2^{{{power}}}$" if value == 2**power else f"{value:.3g}"


def separate(axis):
    """Formats the ticks of a linear axis as 60,000 instead of 60000."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


class Subject:
    """One subject: its label, counters (or none) and the Measurement (or none)."""

    def __init__(self, label, counters, row=None):
        self.label, self.counters, self.row = label, counters, row


def adapt_probe(row):
    """A result of smemkit.probe as a Measurement; anything else unchanged."""
    if not isinstance(row, ProbeResult):
        return row
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


def list_rows(results, *, timed=False):
    """The Measurements of Results or of any iterable; with `timed` only those that have times."""
    try:
        rows = None if isinstance(results, Report | Mapping | str | bytes) else list(results)
    except TypeError:
        rows = None
    if rows is None:
        raise _core.ArgumentTypeError(
            f"this takes the results of a benchmark, not {type(results).__name__}"
        )
    rows = [adapt_probe(row) for row in rows]
    for row in rows:
        if not isinstance(row, Measurement):
            raise _core.ArgumentTypeError(f"{row!r:.80} is not a measurement of a benchmark")
    if timed:
        rows = [row for row in rows if row.times_ms and row.median_ms > 0]
    if not rows:
        words = "no row has measured times" if timed else "there are no rows"
        raise _core.ArgumentError(
            f"nothing to draw: {words}" + (" (the simulator has no clock)" if timed else "")
        )
    return rows


def keep_rated(rows, unit):
    """The rows that have a value in that unit."""
    kept = [row for row in rows if math.isfinite(getattr(row, unit))]
    if not kept:
        raise _core.ArgumentError(
            f"nothing to draw: no row has {unit} (its operations or bytes are not known)"
        )
    return kept


def label_rows(rows, *but):
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


def show_fact(name, value):
    """A fact in words: "float32" of a dtype, "stride 8", of flags "random" or "not random"."""
    if isinstance(value, bool):
        return name if value else f"not {name}"
    plain = name in ("family", "dtype", "machine", "cache")
    return str(value) if plain else f"{name} {value}"


def title_rows(rows):
    """What all rows have in common: "gemm, float32"."""
    facts = [{row.family for row in rows}, {row.dtype for row in rows}]
    return ", ".join(next(iter(values)) for values in facts if len(values) == 1)


def list_counted(source, *needed):
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


def complete(counters):
    """The counters with zeros and ratios for those that the mapping lacks."""
    return counters if isinstance(counters, Counters) else Counters(add_sums([counters]))


def choose_unit(rows, unit):
    """The attribute of a Measurement that is drawn."""
    if unit is None:
        known = [row for row in rows if row.flops and row.nbytes]
        busy = any(row.flops / row.nbytes > BALANCE for row in known)
        if busy:
            return "gflop_per_s"
        return "gb_per_s" if any(row.nbytes for row in rows) else "median_ms"
    return arguments.check_one_of("unit", unit, UNITS)


def spread(row, unit):
    """The value of a row, and the distances to its 20 and 80 % quantiles."""
    middle = getattr(row, unit)
    scale = middle * row.median_ms
    quantiles = row.quantile_ms(0.2), row.quantile_ms(0.8)
    ends = quantiles
    if unit != "median_ms":
        ends = scale / quantiles[1], scale / (quantiles[0] or row.median_ms)
    return middle, max(0.0, middle - ends[0]), max(0.0, ends[1] - middle)


def find_size(rows):
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


def choose_line(number):
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKS[number % len(MARKS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
        "markersize": 5,
        "linewidth": 1.6,
        "capsize": 2,
    }


def label_sized(rows):
    """Labels with the shape where a family has several."""
    shapes = {(row.family, tuple(row.shape)) for row in rows}
    many = [family for family, _ in shapes]
    return [
        f"{label} {'x'.join(map(str, row.shape))}" if many.count(row.family) > 1 else label
        for label, row in zip(label_rows(rows), rows, strict=True)
    ]


def keep_parameter(rows, parameter):
    arguments.check_text("parameter", parameter)
    rows = [row for row in rows if is_number(row.parameters.get(parameter), -LARGE, LARGE)]
    if not rows:
        raise _core.ArgumentError(f"nothing to draw: no row has the parameter {parameter!r}")
    return rows


def list_ours(family):
    try:
        return set(_core.variants(family)) - {"copy"}  # a copy is a ceiling
    except _core.Error:
        return set()


def find_peer(rows, peer):
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
    names = ", ".join(dict.fromkeys(row.variant for row in rows))
    raise _core.ArgumentError(f"there is no row of {peer!r} to compare with; there are {names}")


def find_time(source, bar):
    """Milliseconds of a subject, or None."""
    if bar.row is not None:
        return bar.row.median_ms if bar.row.times_ms and bar.row.median_ms > 0 else None
    if isinstance(source, Report):
        return source.time_ms
    value = source[bar.label] if bar.label in source else None
    return value.time_ms if isinstance(value, Report) else None


def show_number(value):
    """Three figures, without an exponent up to 10^9."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def show_wavefronts(wavefronts, conflicts):
    """ "2 wavefronts, 1 of them a conflict"."""
    words = f"{wavefronts} wavefront{'s' if wavefronts != 1 else ''}"
    if conflicts == 0:
        return f"{words}, no conflict"
    return f"{words}, {conflicts} of them {'a conflict' if conflicts == 1 else 'conflicts'}"


def show_percent(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def list_cells(addresses, width, mask, op, phases):
    """(lane, bank, row of the word, words that the bank serves in the phase) of each lane."""
    active = [lane for lane in range(32) if mask >> lane & 1]
    lanes = 32 if op in ("atomic", "cas", "increment") else {8: 16, 16: 8}.get(width, 32)
    while lanes < 32 and len({lane // lanes for lane in active}) > phases:
        lanes *= 2  # pairs of lanes with equal addresses share a phase
    alone = op in ("atomic", "async", "cas")  # each lane counts, even several on one word
    served, words = {}, []
    for lane in active:
        address = int(addresses[lane])
        for word in range(address // 4, (address + width - 1) // 4 + 1):
            key = (lane // lanes, word % 32)
            served.setdefault(key, set()).add((word, lane) if alone else word)
            words.append((lane, word, key))
    return lanes, [(lane, key[1], word // 32, len(served[key])) for lane, word, key in words]


def draw_cells(ax, cells, most):
    from matplotlib.colors import BoundaryNorm, ListedColormap

    # One word: blue, no conflict. More: from pale orange to dark vermilion.
    shades = [SKY, "#FBE3BF", "#F5BE7A", "#EC9150", "#D55E00", "#8F3F00"]
    bounds = [1, 2, 3, 5, 9, 17, 33]
    names = ["1", "2", "3-4", "5-8", "9-16", "17-32"]
    kept = next(i for i, bound in enumerate(bounds[1:], 1) if bound > max(most, 1))
    kept = max(kept, 2)
    norm = BoundaryNorm(bounds[: kept + 1], kept)
    heat = numpy.full((32, 32), numpy.nan)
    for lane, bank, _, count in cells:
        heat[lane, bank] = count
    image = ax.pcolormesh(
        numpy.arange(33) - 0.5,
        numpy.arange(33) - 0.5,
        heat,
        cmap=ListedColormap(shades[:kept]),
        norm=norm,
        edgecolors="#eeeeee",
        linewidth=0.5,
    )
    for lane, bank, row, count in cells:
        colour = "white" if count > 4 else "black"
        ax.text(bank, lane, str(row), ha="center", va="center", fontsize=6, color=colour)
    ax.set_xticks(range(0, 32, 2))
    ax.set_yticks(range(0, 32, 2))
    ax.set_xlim(-0.5, 31.5)
    ax.set_ylim(31.5, -0.5)
    ax.set_xlabel("bank (its words are numbered bank + 32 row; the row stands in the cell)")
    ax.set_ylabel("lane")
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, anchor=(0, 1), pad=0.02)
    middles = [(a + b) / 2 for a, b in zip(bounds[:kept], bounds[1 : kept + 1], strict=True)]
    bar.set_ticks(middles, labels=names[:kept])
    bar.ax.tick_params(length=0)
    bar.set_label("words that the bank must serve")
