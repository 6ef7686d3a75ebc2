"""profile and check: run a call on the simulator and report what its launches did."""

import operator
import reprlib

import numpy

from . import _core, trials
from ._version import __version__
from .counting import (
    OPERATORS,
    Counters,
    Launch,
    UncountedError,
    add_sums,
    collect_lines,
    count_conflicts,
    count_excess_sectors,
    counters,
    median,
    read_condition,
    split_refused,
)
from .explain import explain
from .findings import CheckReport, Finding

__all__ = ["CheckReport", "Comparison", "Finding", "Report", "check", "counters", "profile"]

WARM_UPS, REPEATS = 3, 11  # of a timed call; the median of an odd number is a sample
RANKINGS = (
    ("bank conflicts", "wavefronts", count_conflicts),
    ("excess sectors", "sectors", count_excess_sectors),
    ("divergent branches", "branches", lambda table: table["branch.divergent"]),
)


def _format(value):
    """A number for people: whole ones with separators, others with three digits of fraction."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.3f}"


def _tabulate(rows, numbers=()):
    """Lines of text with aligned columns; those whose index is in `numbers` to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{cell:>{width}}" if i in numbers else f"{cell:{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _import_pandas():
    try:
        import pandas
    except ImportError as error:
        raise _core.BackendError(
            "to_dataframe needs pandas, which is not here: pip install pandas"
        ) from error
    return pandas


class Report:
    """What the launches of a call did.

    Attributes: result (of the call), launches, main_kernel (the name of the one that did most),
    counters (sums over the launches), lines (by file and line), samples (the costliest request of
    each access), sampled ((counted, total) blocks where blocks= was given, else None), refused
    ((kernel, message) of each launch that failed, where the function went on), time_ms and times_ms
    (measured on a GPU, else None and ()).
    """

    def __init__(self, launches, result, *, blocks=0, given=None):
        launches, self.refused = split_refused(launches)
        self.launches = tuple(Launch(facts, given) for facts in launches)
        self.result = result
        self.counters = Counters(add_sums(launch.counters for launch in self.launches))
        self.lines = collect_lines(self.launches)
        self.samples = [sample for launch in self.launches for sample in launch.samples]
        self.sampled = None
        if blocks:
            self.sampled = (
                sum(launch.blocks for launch in self.launches),
                sum(launch.blocks_total for launch in self.launches),
            )

    @property
    def times_ms(self):
        """For each launch the GPU's samples, in milliseconds."""
        return tuple(launch.times_ms for launch in self.launches if launch.times_ms)

    @property
    def time_ms(self):
        """The median over the repeats of all launches together, in milliseconds; or None."""
        return median([sum(repeat) for repeat in zip(*self.times_ms, strict=True)])

    @property
    def main_kernel(self):
        """The name of the kernel that did most, by its warp instructions."""
        sums = {}
        for launch in self.launches:
            done = launch.counters["instructions.warp"]
            sums[launch.kernel] = sums.get(launch.kernel, 0) + done
        return max(sums, key=sums.get)

    @property
    def label(self):
        """How much was counted, in words."""
        if self.refused:
            kernel, message = self.refused[0]
            return (
                f"INCOMPLETE: {len(self.refused)} launch(es) failed and are not counted "
                f"({kernel}: {message}); {self._say_blocks()}"
            )
        return self._say_blocks()

    def _say_blocks(self):
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

    def _is_modelled(self):
        return all(launch.modelled for launch in self.launches)

    @property
    def advice(self):
        """What smemkit.explain says of it."""
        return explain(self)

    def holds(self, condition):
        """Whether a condition, as "shared.load.conflicts > 0", is true of the counters.

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
            raise UncountedError(f"{name} has no value here: nothing to divide by")
        return OPERATORS[sign](value, limit)

    def access(self, line=None, op=None, *, file=None, space=None):
        """The costliest recorded request, of a source line, kind or space where these are given.

        op is "load", "store", "atomic" or "async"; space is "shared" or "global". Without any,
        requests with bank conflicts come first. Raises ArgumentError where none is recorded.
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
            asked = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            raise _core.ArgumentError(
                f"no access is recorded for {asked or 'this call'}; lines with one: "
                f"{', '.join(places) or 'none'}"
            )
        return max(fitting, key=lambda sample: trials.waste(sample))

    def picture(self, line=None, op=None, *, file=None, space=None):
        """A drawing of lanes, banks and words (or sectors) of one request; see access."""
        from . import html  # drawing is for notebooks

        return html.Picture(self.access(line, op, file=file, space=space))

    def compare(self, other, names=None):
        """Both reports side by side, a Comparison; names are the headings of the two."""
        if not isinstance(other, Report):
            raise _core.ArgumentTypeError(
                f"compare takes another Report of smemkit.profile, not {type(other).__name__}"
            )
        if names is None:
            names = [report.main_kernel for report in (self, other)]
            if names[0] == names[1]:
                names = ("a", "b")
        if isinstance(names, str) or len(names) != 2:
            raise _core.ArgumentError('names must be two headings, as in ("tiled", "padded")')
        return Comparison(self, other, tuple(map(str, names)))

    def to_dict(self):
        """All of it but the result, of plain types that json can write."""
        return {
            "smemkit": __version__,
            "kind": "profile",
            "sampled": list(self.sampled) if self.sampled else None,
            "label": self.label,
            "refused": [list(one) for one in self.refused],
            "time_ms": self.time_ms,
            "counters": dict(self.counters),
            "launches": [launch.to_dict() for launch in self.launches],
            "lines": [line.to_dict() for line in self.lines],
            "samples": [sample.to_dict() for sample in self.samples],
            "advice": [advice.to_dict() for advice in self.advice],
        }

    def to_dataframe(self):
        """One row a source line, one column a counter (a pandas.DataFrame); attrs has the label."""
        pandas = _import_pandas()
        rows = [
            {"file": line.file, "line": line.line, "text": line.text, **line.counters}
            for line in self.lines
        ]
        columns = ["file", "line", "text", *self.counters]
        frame = pandas.DataFrame(rows, columns=columns)
        frame.attrs["label"] = self.label
        return frame

    def __repr__(self):
        names = ", ".join(dict.fromkeys(launch.kernel for launch in self.launches))
        sampled = f", sampled={self.sampled}" if self.sampled else ""
        return f"<Report of {names}: {len(self.launches)} launch(es){sampled}>"

    def __str__(self):
        parts = [*self._head(), "", *self._totals()]
        for title, unit, measure in RANKINGS:
            parts += self._worst(title, unit, measure)
        found = self.advice
        parts += ["", "advice" if found else "advice: none"]
        parts += [f"  {number}. {advice.text}" for number, advice in enumerate(found, 1)]
        return "\n".join(parts)

    def _head(self):
        rows = [("kernel", "grid", "block", "shared [bytes]", "GPU time [ms]")]
        for launch in self.launches[:20]:
            time_ms = "-" if launch.time_ms is None else f"{launch.time_ms:.4f}"
            shape = [" x ".join(map(str, size)) for size in (launch.grid, launch.block)]
            rows.append((launch.kernel, *shape, _format(launch.shared_bytes), time_ms))
        if self.time_ms is None:
            rows = [row[:4] for row in rows]
        yield from _tabulate(rows, numbers=(3, 4))
        if len(self.launches) > 20:
            yield f"... and {len(self.launches) - 20} more launches"
        yield self.label

    def _totals(self):
        facts = counters()
        rows = [
            (name, _format(value), facts[name]["unit"])
            for name, value in self.counters.items()
            if value
        ]
        yield from _tabulate([("counter", "value", "unit"), *rows], numbers=(1,))

    def _worst(self, title, unit, measure):
        ranked = [(measure(line.counters), line) for line in self.lines]
        ranked = sorted((row for row in ranked if row[0]), key=lambda row: -row[0])[:3]
        if ranked:
            yield from ("", f"lines with most {title} [{unit}]")
            rows = [(f"  {_format(value)}", line.place, line.text) for value, line in ranked]
            yield from _tabulate(rows, numbers=(0,))

    def _repr_html_(self):
        from . import html

        return html.draw_report(self)


class Comparison:
    """Two reports side by side: rows of (counter, unit, a, b, b / a), where one is not zero."""

    def __init__(self, a, b, names):
        self.names = names
        self.labels = (a.label, b.label)
        facts = counters()
        self.rows = [
            (name, facts[name]["unit"], a.counters[name], b.counters[name])
            for name in facts
            if a.counters[name] or b.counters[name]
        ]
        if a.time_ms is not None and b.time_ms is not None:
            self.rows.append(("time", "ms", a.time_ms, b.time_ms))
        self.rows = [(*row, self._divide(row[3], row[2])) for row in self.rows]

    @staticmethod
    def _divide(b, a):
        return b / a if a and b is not None else None

    def to_dict(self):
        keys = ("counter", "unit", *("a", "b"), "ratio")
        rows = [dict(zip(keys, row, strict=True)) for row in self.rows]
        return {"names": list(self.names), "labels": list(self.labels), "rows": rows}

    def to_dataframe(self):
        columns = ["counter", "unit", *self.names, "ratio"]
        return _import_pandas().DataFrame(self.rows, columns=columns)

    def table(self):
        """Rows of text, the heading first."""
        heading = ("counter", *self.names, "ratio", "unit")
        return [heading] + [
            (name, _format(a), _format(b), "-" if ratio is None else f"{ratio:.3f}", unit)
            for name, unit, a, b, ratio in self.rows
        ]

    def __str__(self):
        notes = [
            f"{name}: {label}"
            for name, label in zip(self.names, self.labels, strict=True)
            if label.startswith("SAMPLE")
        ]
        return "\n".join([*_tabulate(self.table(), numbers=(1, 2, 3)), *notes])

    def __repr__(self):
        return f"<Comparison of {self.names[0]} and {self.names[1]}: {len(self.rows)} counters>"

    def _repr_html_(self):
        from . import html

        return html.draw_comparison(self)


# Running -----------------------------------------------------------------------------------------


def _prepare(verb, function, blocks):
    """The number of blocks, 0 for all, after a look at both arguments."""
    if not callable(function):
        raise _core.ArgumentTypeError(
            f"{verb} takes a function and then its arguments, as in "
            f"smemkit.{verb}(smemkit.gemm, a, b), not {reprlib.repr(function)}"
        )
    if blocks is None:
        return 0
    try:
        number = operator.index(blocks)
    except TypeError:
        number = None
    if number is None or isinstance(blocks, bool):
        raise _core.ArgumentTypeError(f"blocks must be an int or None, not {blocks!r}")
    if not 1 <= number < 2**63:
        raise _core.ArgumentError(f"blocks is {number}; 1 or more is needed, or None for all")
    return number


def _demand_launches(verb, function, launches):
    ran, refused = split_refused(launches)
    name = getattr(function, "__name__", type(function).__name__)
    if refused and not ran:
        kernel, message = refused[0]
        raise UncountedError(
            f"{verb}: no launch of {name} ran to its end, so there is nothing to report; {kernel}: "
            f"{message}"
        )
    if not ran:
        raise _core.ArgumentError(
            f"{verb}: {name} launched no kernel in this thread, so there is nothing to report; "
            "give it arguments that are not empty, and launch in the thread that called"
        )


def _find_source(function):
    """The CUDA C that a RawKernel was made of, where it was."""
    source = getattr(function, "source", None) if isinstance(function, _core.RawKernel) else None
    return source if isinstance(source, str) else None


TWICE = {
    "profile": "profile counts on the simulator before it times on the GPU",
    "check": "check runs a call twice where order is 'both'",
}


def _copy(value, made, verb):
    """The value with fresh NumPy arrays in it; one array given twice stays one."""
    if isinstance(value, _core.DeviceArray):
        raise _core.BackendError(
            f"{TWICE[verb]}: pass NumPy arrays (smemkit.asnumpy) instead of device arrays"
        )
    if isinstance(value, numpy.ndarray):
        if id(value) not in made:
            copy = numpy.array(value, order="K", copy=True, subok=True)
            copy.flags.writeable = value.flags.writeable
            made[id(value)] = copy
        return made[id(value)]
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(_copy(item, made, verb) for item in value)
    if type(value) is dict:
        return {key: _copy(item, made, verb) for key, item in value.items()}
    return value


def _copy_call(args, kwargs, verb="profile"):
    return _copy((args, kwargs), {}, verb)


def _time(function, args, kwargs, launches):
    """Samples in milliseconds for each of the launches, and the result of the last, real call."""
    samples = []
    for _ in range(WARM_UPS + REPEATS):
        copies, words = _copy_call(args, kwargs)
        samples.append(_core._watch("time", function, copies, words, 0, True)[1])
    result, last = _core._watch("time", function, args, kwargs, 0, True)
    expected = [launch["kernel"] for launch in launches]
    for sample in [*samples, last]:
        found = [launch["kernel"] for launch in sample]
        if found != expected:
            raise _core.BackendError(
                f"profile: the call launched {expected} on the simulator and {found} on the GPU; "
                "time them apart"
            )
    kept = samples[WARM_UPS:]
    return result, [
        tuple(repeat[number]["time_ms"] for repeat in kept) for number in range(len(expected))
    ]


def profile(function, *args, blocks=None, model=True, **kwargs):
    """Run a call on the simulator and count what its kernels do, by source line.

    Parameters
    ----------
    function : callable
        A function of smemkit, a RawKernel, or any Python function that launches some.
    *args, **kwargs
        Of the function. With backend="cuda" the counts come from a simulator run on copies of the
        arguments; then the call is timed on the GPU (warm-up, 11 repeats on copies, and one call on
        the arguments themselves, which gives the result).
    blocks : int, optional
        Counts only so many blocks of each launch, evenly spread; the others do not run, so the
        result is incomplete. Every view says so.
    model : bool
        Count accesses as ptxas makes them of the PTX (neighbours fused); False: as written.

    Shapes
    ------
    Those of the function.

    Returns
    -------
    Report, with result, counters, lines, launches, advice, time_ms, access(), picture(), holds(),
    compare(), to_dict(), to_dataframe(); print it, or show it in a notebook.

    Raises
    ------
    ArgumentTypeError (TypeError) for what cannot be called, ArgumentError (ValueError) where
    nothing was launched, BackendError without the GPU that was asked for, and whatever the call
    raises.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((64, 64), dtype="float32")
    >>> report = smemkit.profile(smemkit.gemm, a, a, variant="column")
    >>> report.counters["shared.load.conflicts"] > 0
    True
    >>> report.counters["global.load.sectors_per_request"]
    4.0
    """
    number = _prepare("profile", function, blocks)
    given = _find_source(function)
    if kwargs.get("backend") != "cuda":
        result, launches = _core._watch("profile", function, args, kwargs, number, bool(model))
        _demand_launches("profile", function, launches)
        return Report(launches, result, blocks=number, given=given)
    copies, words = _copy_call(args, kwargs)
    _core.device_info(backend="cuda")  # without a GPU: the error that the call would give
    words["backend"] = "sim"
    _, launches = _core._watch("profile", function, copies, words, number, bool(model))
    _demand_launches("profile", function, launches)
    result, times = _time(function, args, kwargs, launches)
    report = Report(launches, result, blocks=number, given=given)
    for launch, times_ms in zip(report.launches, times, strict=True):
        launch.times_ms = times_ms
    return report


ORDERS = {"forward": (False,), "reverse": (True,), "both": (True, False)}


def _read_order(order, padding):
    """Whether each pass is reversed, and the padding, after a look at both arguments."""
    if not isinstance(order, str) or order not in ORDERS:
        raise _core.ArgumentError(
            f"order is {order!r}; accepted are {', '.join(map(repr, ORDERS))}"
        )
    try:
        number = operator.index(padding)
    except TypeError:
        number = None
    if number is None or isinstance(padding, bool):
        raise _core.ArgumentTypeError(f"padding must be an int, not {padding!r}")
    if number < 0:
        raise _core.ArgumentError(f"padding is {number} bytes; it cannot be negative")
    return ORDERS[order], number


def check(
    function,
    *args,
    blocks=None,
    ignore_same_value=False,
    order="forward",
    padding=0,
    **kwargs,
):
    """Run a call on the simulator and look for races, missing barriers and stray accesses.

    Parameters
    ----------
    function : callable
        A function of smemkit, a RawKernel, or any Python function that launches some.
    *args, **kwargs
        Of the function.
    blocks : int, optional
        Checks only so many blocks of each launch, evenly spread; the others do not run.
    ignore_same_value : bool
        Leaves out races of stores that all write one value (a flag that many threads raise); the
        report counts them as ignored. They are races by PTX's memory model, and mostly harmless.
    order : {"forward", "reverse", "both"}
        "reverse" begins with the last block, and in each block with the last warp: what the thread
        that comes first does wrong (a lock taken without a fence) shows where it comes last. "both"
        runs the call twice, first in reverse on copies of its NumPy arrays.
    padding : int
        So many bytes are kept free between shared variables, and behind each array that the call
        brings to the simulator: an access that strays so far from its own is out_of_bounds, by
        whatever way its address was made. At most 2**20.

    Shapes
    ------
    Those of the function.

    Returns
    -------
    CheckReport: true where nothing was found; findings is a list of Finding, each with kind
    ("race", "warp_hazard", "global_race", "barrier", "out_of_bounds", "overrun", "misaligned",
    "uninitialized", "shuffle", "async_read"), message, count, and first and second: the accesses,
    with file, line, text, block, thread, address, space, variable, bytes and op; same_value is true
    of a race of two stores of one value. Findings of one kind, pair of lines and variable are one,
    with their count. An overrun is an access by way of one variable or argument that lands in the
    memory of another. Of local memory and of shuffles (from a lane outside of the mask, or one that
    has exited) second is where the undefined value is used: stored, as an address, or by a branch.
    incomplete is not 0 where one byte had more accesses of blocks that wait for each other than are
    remembered: races may have been missed then, and the report's text says so.

    Raises
    ------
    ArgumentTypeError (TypeError) for what cannot be called, ArgumentError (ValueError) where
    nothing was launched, BackendError for backend="cuda", and whatever the call raises. What the
    kinds above name is a finding, not an error; a launch in which nothing was found is ended by
    TrapError (a trap, an assert that fails), DeadlockError (threads that wait without end, unless
    all wait at barriers), StepBudgetError or UnsupportedError, as a call is. Where something was
    found, stopped says so instead. What is read out of bounds or at a misaligned address is 0: a
    block that goes on with that for long, or does it tens of thousands of times, is stopped too.

    Example
    -------
    >>> import numpy, smemkit
    >>> a = numpy.ones((40, 40), dtype="float32")
    >>> report = smemkit.check(smemkit.gemm, a, a, variant="tiled")
    >>> bool(report), report.findings
    (True, [])
    """
    number = _prepare("check", function, blocks)
    if not isinstance(ignore_same_value, bool):
        raise _core.ArgumentTypeError(
            f"ignore_same_value is True or False, not {reprlib.repr(ignore_same_value)}"
        )
    passes, room = _read_order(order, padding)
    found = []
    for reverse in passes:
        again = len(passes) > 1 and reverse  # the last pass is on the arguments themselves
        given, words = _copy_call(args, kwargs, "check") if again else (args, kwargs)
        result, launches = _core._watch(
            "check", function, given, words, number, True, reverse, room
        )
        _demand_launches("check", function, launches)
        found += launches
    return CheckReport(
        found,
        result,
        blocks=number,
        given=_find_source(function),
        ignore_same_value=ignore_same_value,
    )
