"""The record: all measurements of a GPU that plots and notebooks show, made in one run.

It writes PART_NAME.json files, which bench.recorded(NAME) loads from the package: variants (our
kernels), host (NumPy on the same computer), peers (libraries), ceilings, probes. What fails is
reported, left out, and named in the file's provenance; the rest is still measured.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy

from .. import probe
from . import _evolution, timing, workloads
from ._ceilings import Ceilings, measure_ceilings, measure_shared
from ._progress import Bar
from .families import CLASSES
from .rates import measure_rates
from .results import Measurement, Results, describe_run
from .stopwatch import CACHES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from .._facts import DeviceInfo
    from .._types import Machine, StrPath
    from ..probe import BankAccess, Divergence, GlobalAccess, Latency, RowColumn
    from ..probe.results import SharedAccess
    from .families import Workload
    from .types import Cache, Operands, Peer, Warn, Watch

Found = TypeVar("Found")
BUDGET_SECONDS = 130.0  # after which no new case begins
SUBJECT_SECONDS, SUBJECT_SAMPLES = 0.05, 30
HOST_SECONDS = 0.3
SLOW_MS = 400.0  # calls that would take longer are left out
TIMED_PARTS = ("variants", "host", "peers")
HERE = Path(__file__).resolve().parents[1] / "recorded"  # of this package


def list_cases(main: bool) -> list[workloads.Case]:
    """What is measured.

    The main ones NumPy on the host does too, and peers. CUB is being compiled while the first of
    them are measured, so what needs it comes last.
    """
    kinds = list(CLASSES.values())
    if main:
        kinds.sort(key=lambda kind: kind.needs_cub)
    return [
        workloads.make_case(kind, record)
        for kind in kinds
        for record in kind.records
        if record.main == main
    ]


MAIN, MORE = list_cases(True), list_cases(False)


def shorten(row: Measurement) -> Measurement:
    """The row with six figures of each sample, more than the precision of clocks."""

    def cut(times_ms: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(float(f"{ms:.6g}") for ms in times_ms)

    return replace(row, times_ms=cut(row.times_ms), host_times_ms=cut(row.host_times_ms))


# Probes -------------------------------------------------------------------------------------------


class Probe(NamedTuple):
    """A call of smemkit.probe, what makes rows of its result, and the call in words."""

    call: Callable[[Machine], Any]
    describe: Callable[[Any], Iterator[Measurement]]
    words: str


WIDTHS = {4: "uint32", 8: "uint64", 16: "uint32"}


def list_probes() -> Iterator[Probe]:
    """Every probe that is recorded."""
    for stride in (1, 2, 4, 8, 16, 32):
        yield _make_probe(describe_global, probe.global_access, stride)
    for offset in (1, 8):
        yield _make_probe(describe_global, probe.global_access, 1, offset)
    yield _make_probe(describe_global, probe.global_access, random=True)
    for stride in range(34):
        yield _make_probe(describe_bank, probe.bank_access, stride)
    for width in (8, 16):
        for stride in (0, 1, 2, 4, 8, 16, 32, 33):
            yield _make_probe(describe_bank, probe.bank_access, stride, width)
    for padded in (False, True):
        yield _make_probe(describe_row_column, probe.row_column, padded)
    for pattern in probe.PATTERNS:
        yield _make_probe(describe_divergence, probe.divergence, pattern)
    for level in probe.LEVELS:
        yield _make_probe(describe_latency, probe.latency, level)


def _make_probe(
    describe: Callable[[Found], Iterator[Measurement]],
    function: Callable[..., Found],
    *arguments: Any,
    **keywords: Any,
) -> Probe:
    def call(backend: Machine) -> Found:
        return function(*arguments, **keywords, backend=backend)

    words = [*map(str, arguments), *(f"{key}={value}" for key, value in keywords.items())]
    return Probe(call, describe, f"probe.{function.__name__}({', '.join(words)})")


def make_row(
    variant: str,
    found: GlobalAccess | BankAccess | SharedAccess | Divergence,
    shape: tuple[int, ...],
    dtype: str,
    parameters: dict[str, Any],
    nbytes: float | None = None,
) -> Measurement:
    """The row of one measurement of a probe."""
    return Measurement(
        "probe",
        variant,
        shape,
        dtype,
        found.backend,
        times_ms=tuple(found.times_ms),
        cache="warm" if found.times_ms else None,
        counters=dict(found.counters),
        nbytes=nbytes,
        parameters=parameters,
    )


def describe_global(found: GlobalAccess) -> Iterator[Measurement]:
    parameters = {"stride": found.stride, "offset": found.offset, "random": found.random}
    shape, nbytes = (found.elements,), float(found.used_bytes)
    yield make_row("global_access", found, shape, found.dtype, parameters, nbytes=nbytes)


def describe_bank(found: BankAccess) -> Iterator[Measurement]:
    parameters = {"stride": found.stride, "width": found.width, "requests": found.requests}
    yield make_row("bank_access", found, (1,), WIDTHS[found.width], parameters)


def describe_row_column(found: RowColumn) -> Iterator[Measurement]:
    for walk, part in (("row", found.row), ("column", found.column)):
        parameters = {"walk": walk, "padded": found.padded, "requests": part.requests}
        yield make_row("row_column", part, (1,), WIDTHS[part.width], parameters)


def describe_divergence(found: Divergence) -> Iterator[Measurement]:
    parameters = {"pattern": found.pattern, "steps": found.steps}
    yield make_row("divergence", found, (found.elements,), "float32", parameters)


def describe_latency(found: Latency) -> Iterator[Measurement]:
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


# The card ----------------------------------------------------------------------------------------


def record_card(path: Path, watch: Watch, facts: DeviceInfo) -> Results:
    """Measures what smemkit.predict needs of a card; writes the file that smemkit.card reads."""
    rows = [*measure_shared(watch, facts), *measure_rates(watch, facts)]
    for level in probe.LEVELS:
        rows += describe_latency(probe.latency(level, backend=watch.backend))
    told = timing.describe_protocol(watch.backend)
    told |= {"command": "python -m smemkit record --card", "part": "card", "left_out": []}
    results = Results([shorten(row) for row in rows], describe_run(**told))
    path.parent.mkdir(parents=True, exist_ok=True)
    results.save(path)
    return results


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

    def __init__(
        self,
        folder: StrPath,
        name: str,
        watch: Watch,
        found: Callable[[str], list[Peer]],
        facts: DeviceInfo,
        *,
        budget: float = BUDGET_SECONDS,
        say: Warn = print,
    ) -> None:
        self.folder, self.name, self.watch = Path(folder), name, watch
        self.find_peers, self.facts, self.say = found, facts, say
        self.start, self.budget = time.monotonic(), budget
        self.rows: dict[str, list[Measurement]] = {part: [] for part in TIMED_PARTS}
        self.left_out: list[str] = []
        self.found: list[Peer] = []
        self.libraries: dict[str, str] = {}  # from a library to the peer that called it
        self.speed: dict[tuple[str, ...], float] = {}  # milliseconds for an operation or a byte

    def complain(self, text: str) -> None:
        """Notes a measurement that is left out."""
        self.left_out.append(text)
        self.say(f"left out: {text}")

    def is_late(self, what: str) -> bool:
        """Whether the budget is spent; then notes `what` as left out."""
        late = time.monotonic() - self.start > self.budget
        if late:
            self.complain(f"{what}: no time is left of {self.budget:g} s")
        return late

    def write(
        self,
        part: str,
        rows: Sequence[Measurement],
        kind: type[Results] = Results,
        *,
        clocks: bool = True,
    ) -> None:
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

    def record_ceilings(self) -> None:
        """The part "ceilings"."""
        rows: list[Measurement] = []
        try:
            for row in measure_ceilings(self.watch, self.facts):
                rows.append(row)
        except Exception as error:  # of any kind: the other parts are still measured
            self.complain(f"ceilings after {len(rows)} of them: {error!r:.300}")
        self.write("ceilings", rows, Ceilings)

    def record_probes(self, chosen: Iterable[Probe] | None = None) -> None:
        """The part "probes"."""
        rows: list[Measurement] = []
        for one in list_probes() if chosen is None else chosen:
            if self.is_late(one.words):
                continue
            try:
                rows += one.describe(one.call(self.watch.backend))
            except Exception as error:  # as above
                self.complain(f"{one.words}: {error!r:.300}")
        self.write("probes", rows)

    def record_cases(
        self,
        main: Sequence[workloads.Case] = MAIN,
        more: Sequence[workloads.Case] = MORE,
        progress: bool | None = None,
    ) -> None:
        """The parts "variants", "host" and "peers"."""
        chosen = [(True, case) for case in main] + [(False, case) for case in more]
        with Bar(len(chosen), progress) as bar:
            for is_main, case in chosen:
                family, shape, dtype, parameters = case
                words = f"{family} {shape} {dtype} {' '.join(parameters.values())}".rstrip()
                bar.begin(words)
                if not self.is_late(words):
                    self.record_case(words, is_main, case)
                bar.advance()
        for part in TIMED_PARTS:
            self.write(part, self.rows[part])

    def record_case(self, words: str, is_main: bool, chosen: workloads.Case) -> None:
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
        caches: tuple[Cache, ...] = CACHES if is_main and memory_bound else ("warm",)
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

    def measure_ours(self, case: Workload, ours: timing.Ours, caches: Sequence[Cache]) -> None:
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

    def measure_library(self, case: Workload, inputs: Operands, ours: timing.Ours) -> None:
        """Rows of the peers; the first one that calls the family's library is named after it."""
        library = case.library
        try:
            here = self.find_peers(case.family)
        except Exception as error:  # as above
            self.complain(f"{case.name}: all peers: {error!r:.300}")
            return
        self.found += [peer for peer in here if peer not in self.found]
        callers = [name for name in case.callers if any(peer.name == name for peer in here)]
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
