"""The record: all measurements of a GPU that plots and notebooks show, made in one run.

It writes PART_NAME.json files, which bench.recorded(NAME) loads from the package: variants (our
kernels), host (NumPy on the same computer), peers (libraries), ceilings, probes. What fails is
reported, left out, and named in the file's provenance; the rest is still measured.
"""

import time
from dataclasses import replace
from pathlib import Path

import numpy

from .. import probe
from . import _evolution, timing, workloads
from ._ceilings import Ceilings, measure_ceilings
from ._progress import Bar
from .families import CLASSES
from .results import Measurement, Results, describe_run
from .stopwatch import CACHES

BUDGET_SECONDS = 130.0  # after which no new case begins
SUBJECT_SECONDS, SUBJECT_SAMPLES = 0.05, 30
HOST_SECONDS = 0.3
SLOW_MS = 400.0  # calls that would take longer are left out
TIMED_PARTS = ("variants", "host", "peers")
HERE = Path(__file__).resolve().parents[1] / "recorded"  # of this package


def list_cases(main):
    """(family, shape, element type, parameters) of what is measured.

    The main ones NumPy on the host does too, and peers. CUB is being compiled while the first of
    them are measured, so what needs it comes last.
    """
    kinds = list(CLASSES.values())
    if main:
        kinds.sort(key=lambda kind: kind.needs_cub)
    return [
        (kind.family, record.shape, record.dtype or kind.usual_dtype, record.parameters)
        for kind in kinds
        for record in kind.records
        if record.main == main
    ]


MAIN, MORE = list_cases(True), list_cases(False)


def shorten(row):
    """The row with six figures of each sample, more than the precision of clocks."""
    times = {
        name: tuple(float(f"{ms:.6g}") for ms in getattr(row, name))
        for name in ("times_ms", "host_times_ms")
    }
    return replace(row, **times)


# Probes -------------------------------------------------------------------------------------------


WIDTHS = {4: "uint32", 8: "uint64", 16: "uint32"}


def list_probes():
    """(function of the backend, what makes rows of its result) of each probe."""
    for stride in (1, 2, 4, 8, 16, 32):
        yield _call(probe.global_access, stride), describe_global
    for offset in (1, 8):
        yield _call(probe.global_access, 1, offset), describe_global
    yield _call(probe.global_access, random=True), describe_global
    for stride in range(34):
        yield _call(probe.bank_access, stride), describe_bank
    for width in (8, 16):
        for stride in (0, 1, 2, 4, 8, 16, 32, 33):
            yield _call(probe.bank_access, stride, width), describe_bank
    for padded in (False, True):
        yield _call(probe.row_column, padded), describe_row_column
    for pattern in probe.PATTERNS:
        yield _call(probe.divergence, pattern), describe_divergence
    for level in probe.LEVELS:
        yield _call(probe.latency, level), describe_latency


def _call(function, *arguments, **keywords):
    words = [*map(str, arguments), *(f"{key}={value}" for key, value in keywords.items())]

    def call(backend):
        return function(*arguments, **keywords, backend=backend)

    call.words = f"probe.{function.__name__}({', '.join(words)})"
    return call


def make_row(variant, found, shape, dtype, parameters, **more):
    """The row of one measurement of a probe."""
    return Measurement(
        "probe",
        variant,
        tuple(shape),
        dtype,
        found.backend,
        times_ms=tuple(found.times_ms),
        cache="warm" if found.times_ms else None,
        counters=dict(found.counters),
        parameters=parameters,
        **more,
    )


def describe_global(found):
    parameters = {"stride": found.stride, "offset": found.offset, "random": found.random}
    shape, nbytes = (found.elements,), float(found.used_bytes)
    yield make_row("global_access", found, shape, found.dtype, parameters, nbytes=nbytes)


def describe_bank(found):
    parameters = {"stride": found.stride, "width": found.width, "requests": found.requests}
    yield make_row("bank_access", found, (1,), WIDTHS[found.width], parameters)


def describe_row_column(found):
    for walk in ("row", "column"):
        part = getattr(found, walk)
        parameters = {"walk": walk, "padded": found.padded, "requests": part.requests}
        yield make_row("row_column", part, (1,), WIDTHS[part.width], parameters)


def describe_divergence(found):
    parameters = {"pattern": found.pattern, "steps": found.steps}
    yield make_row("divergence", found, (found.elements,), "float32", parameters)


def describe_latency(found):
    """A sample is the time of one read."""
    yield Measurement(
        "probe",
        "latency",
        (found.steps,),
        "uint64",
        "cuda",
        times_ms=tuple(ns * 1e-6 for ns in found.samples_ns),
        parameters={"level": found.level, "footprint_bytes": found.footprint_bytes},
    )


# The recorder -------------------------------------------------------------------------------------


class Recorder:
    """Measures part by part, and writes each part after every case.

    Parameters
    ----------
    folder : path
        Where the files go.
    name : str
        Of the machine, in the names of the files.
    watch : Stopwatch, or what behaves like one
    found : callable
        Gives the peers for a family, when they are needed.
    facts : dict
        Of smemkit.device_info.
    budget : float
        Seconds, after which no new case begins.
    say : callable
        Takes a line for each thing that is done, or left out.
    """

    def __init__(self, folder, name, watch, found, facts, *, budget=BUDGET_SECONDS, say=print):
        self.folder, self.name, self.watch = Path(folder), name, watch
        self.find_peers, self.facts, self.say = found, facts, say
        self.start, self.budget = time.monotonic(), budget
        self.rows = {part: [] for part in TIMED_PARTS}
        self.left_out, self.found, self.libraries, self.speed = [], [], {}, {}

    def complain(self, text):
        """Notes a measurement that is left out."""
        self.left_out.append(text)
        self.say(f"left out: {text}")

    def is_late(self, what):
        """Whether the budget is spent; then notes `what` as left out."""
        late = time.monotonic() - self.start > self.budget
        if late:
            self.complain(f"{what}: no time is left of {self.budget:g} s")
        return late

    def write(self, part, rows, kind=Results, *, clocks=True):
        """Writes a part unless it is empty."""
        if not rows:
            return
        facts = timing.describe_protocol(self.watch.backend, self.found, clocks=clocks)
        facts |= {"command": "python -m smemkit record", "part": part}
        facts |= {"libraries": self.libraries} if part == "peers" else {}
        facts["left_out"] = list(self.left_out)
        path = self.folder / f"{part}_{self.name}.json"
        kind([shorten(row) for row in rows], describe_run(**facts)).save(path)

    # Parts

    def record_ceilings(self):
        """The part "ceilings"."""
        rows = []
        try:
            for row in measure_ceilings(self.watch, self.facts):
                rows.append(row)
        except Exception as error:  # of any kind: the other parts are still measured
            self.complain(f"ceilings after {len(rows)} of them: {error!r:.300}")
        self.write("ceilings", rows, Ceilings)

    def record_probes(self, chosen=None):
        """The part "probes"."""
        rows = []
        for call, describe in list_probes() if chosen is None else chosen:
            if self.is_late(call.words):
                continue
            try:
                rows += describe(call(self.watch.backend))
            except Exception as error:  # as above
                self.complain(f"{call.words}: {error!r:.300}")
        self.write("probes", rows)

    def record_cases(self, main=MAIN, more=MORE, progress=None):
        """The parts "variants", "host" and "peers"."""
        chosen = [(True, *words) for words in main] + [(False, *words) for words in more]
        with Bar(len(chosen), progress) as bar:
            for is_main, family, shape, dtype, parameters in chosen:
                words = f"{family} {shape} {dtype} {' '.join(parameters.values())}".rstrip()
                bar.begin(words)
                if not self.is_late(words):
                    self.record_case(words, is_main, (family, shape, dtype, parameters))
                bar.advance()
        for part in TIMED_PARTS:
            self.write(part, self.rows[part])

    def record_case(self, words, is_main, chosen):
        """Measures one case with its peers; what fails is left out."""
        start = time.monotonic()
        try:
            case = workloads.make_workload(*chosen)
            inputs = case.make_inputs(numpy.random.default_rng(timing.SEED))
            ours = timing.Ours(case, inputs, self.watch.backend)
        except Exception as error:  # as above
            self.complain(f"{words}: {error!r:.300}")
            return
        memory_bound = not case.by_flops
        caches = CACHES if is_main and memory_bound else ("warm",)
        self.measure_ours(case, ours, caches)
        if is_main or case.compared_always:
            self.measure_library(case, inputs, ours)
        if is_main:
            try:
                row = _evolution.measure_host(case, inputs, ours.expected, HOST_SECONDS)
                self.rows["host"].append(row)
            except Exception as error:  # as above
                self.complain(f"{words} by NumPy: {error!r:.300}")
        done = sum(map(len, self.rows.values()))
        self.say(f"{words}: {time.monotonic() - start:.1f} s, {done} rows so far")
        if is_main:  # keeps what is measured, should the process be killed
            for part in TIMED_PARTS:
                self.write(part, self.rows[part], clocks=False)  # reading them takes long

    def measure_ours(self, case, ours, caches):
        """Rows of our variants, without those that would take too long."""
        work = max(case.flops or 0.0, float(case.nbytes))
        for variant in timing.list_ours(case, whole=True):
            key = case.family, variant, *case.parameters.values()
            pace = self.speed.get(key)
            if pace and pace * work > SLOW_MS:
                self.complain(f"{case.name}: {variant} would take {pace * work:.0f} ms a call")
                continue
            names = [variant]
            try:
                made = timing.measure_variants(case, ours, self.watch, names, caches, self.complain)
                for row in made:
                    self.rows["variants"].append(row)
                    pace = row.median_ms / work  # of small cases mostly that of the start
                    self.speed[key] = min(pace, self.speed.get(key, pace))
            except Exception as error:  # as above
                self.complain(f"{case.name}: {variant}: {error!r:.300}")

    def measure_library(self, case, inputs, ours):
        """Rows of the peers; the first one that calls the family's library is named after it."""
        library, callers = case.library, case.callers
        try:
            here = self.find_peers(case.family)
        except Exception as error:  # as above
            self.complain(f"{case.name}: all peers: {error!r:.300}")
            return
        self.found += [peer for peer in here if peer not in self.found]
        callers = [name for name in callers if any(peer.name == name for peer in here)]
        for peer in here:
            try:
                rows = list(
                    timing.measure_peers(
                        case, inputs, ours, self.watch, [peer], self.complain, ("warm",)
                    )
                )
            except Exception as error:  # as above
                self.complain(f"{case.name}: {peer.name}: {error!r:.300}")
                continue
            if rows and callers and peer.name == callers[0] and peer.name != library:
                self.libraries[library] = f"{peer.name} {peer.version}"
                rows = [replace(row, variant=library) for row in rows]
            self.rows["peers"] += rows
