"""Measuring: one protocol for our kernels, for their peers, and for NumPy on the host.

Each subject works on arrays that lie on the device; its result is checked first. Then, on a GPU:

- warm-up calls, which also compile, load and allocate what is made once;
- a sample is the time between two CUDA events in the default stream, divided by the calls between.
  "cold": a memory as large as several L2 caches is cleared before each sample of one call. "warm":
  the call has just run, and a sample has as many calls as fill some 0.2 ms, 16 at most. In both the
  GPU is kept busy while the host enqueues, so that a sample holds no waiting for Python unless the
  call itself waits;
- beside this time of the GPU alone, for cases that have goals, the time of one call on a GPU that
  has nothing to do, between two events round it: with what it takes the host to start the work;
- every sample is kept; what is shown is the median, with the quantiles 20 % and 80 %;
- the GPU's clocks are read from nvidia-smi, where that is there, after the last sample.

On the simulator there is no clock: counters, and the host's time, which says nothing about a GPU.
"""

from __future__ import annotations

import platform
import re
import subprocess
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

import smemkit

from .results import Results, describe_run
from .stopwatch import CACHES, Stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from .._types import Machine
    from .families import Workload
    from .results import Measurement
    from .types import Cache, Call, Operands, Peer, Result, Say, Warn, Watch

TRIAL_SAMPLES = 3  # of each variant, to find the fastest
SEED = 20260721
DRIVER = Path("/proc/driver/nvidia/version")
DEVICE_FACTS = (
    "multiprocessors clock_khz memory_clock_khz memory_bus_width_bits global_memory_bytes "
    "l2_cache_bytes ecc_enabled"
).split()


class WrongResultError(smemkit.Error):
    """A subject of a benchmark gave a wrong result: its time means nothing."""


def check(case: Workload, expected: Any, subject: str, made: Result) -> None:
    """Raises WrongResultError where the result that a subject has made is wrong."""
    result = numpy.asarray(made)
    reason: str | None
    if result.shape != tuple(case.result_shape):
        reason = f"its shape is {result.shape}, not {tuple(case.result_shape)}"
    else:
        reason = case.find_fault(expected, result)
    if reason is not None:
        raise WrongResultError(f"{case.name}: the result of {subject} is wrong: {reason}")


def list_ours(case: Workload, whole: bool = False) -> list[str]:
    """Our variants for the workload: those that "auto" may choose; with `whole`, all others too."""
    return [
        name
        for name, facts in smemkit.variants(case.family).items()
        if (whole or facts["auto"]) and case.accepts(facts["dtypes"])
    ]


class Ours:
    """Our variants on device arrays of their own."""

    def __init__(self, case: Workload, inputs: Operands, backend: Machine) -> None:
        self.case, self.inputs, self.expected = case, inputs, case.expect(inputs)
        self.arrays = tuple(smemkit.asarray(array, backend=backend) for array in inputs)
        self.out = smemkit.empty(case.result_shape, case.result_dtype, backend=backend)

    def make_call(self, variant: str) -> Call:
        """The call of a variant, without arguments."""
        return lambda: self.case.call(self.arrays, self.out, variant)

    def run_checked(self, variant: str) -> float:
        """Runs a variant on a poisoned output and checks the result; milliseconds of the host."""
        poison = numpy.full(self.case.result_shape, 77, self.case.result_dtype)
        poisoned = smemkit.asarray(poison, backend=self.out.backend)
        start = time.perf_counter()
        self.case.call(self.arrays, poisoned, variant)
        result = smemkit.asnumpy(poisoned)
        host_ms = (time.perf_counter() - start) * 1e3
        expected = self.case.expect_of(variant, self.inputs, self.expected)
        check(self.case, expected, f"variant {variant!r}", result)
        return host_ms

    def check(self, variant: str) -> bool:
        """Runs a variant on a poisoned output; False where the machine cannot run it."""
        try:
            self.run_checked(variant)
        except UNFIT:
            return False
        return True


# One case on a GPU -------------------------------------------------------------------------------


UNFIT = (smemkit.BackendError, smemkit.SharedMemoryError)  # the machine cannot run the kernel


def measure_variants(
    case: Workload,
    ours: Ours,
    watch: Watch,
    variants: Iterable[str],
    caches: Sequence[Cache],
    warn: Warn | None = None,
    *,
    skip: bool = False,
) -> Iterator[Measurement]:
    """Rows of these variants. With `warn`, a variant that fails is reported and left out.

    With `skip`, a variant that this GPU cannot run is left out without a report.
    """
    for variant in variants:
        try:
            ours.run_checked(variant)
            found = [(cache, watch.time(ours.make_call(variant), cache)) for cache in caches]
        except smemkit.Error as error:
            if skip and isinstance(error, UNFIT):
                continue
            if warn is None:
                raise
            warn(f"{case.name}: without {variant}: {error}")
            continue
        for cache, times in found:
            yield case.make_row(variant, "cuda", times_ms=times, cache=cache)


def find_fastest(case: Workload, ours: Ours, watch: Watch) -> tuple[str | None, list[str]]:
    """(our fastest variant or None, all that run)."""
    found = {}
    for variant in list_ours(case):
        if ours.check(variant):
            times = watch.time(ours.make_call(variant), "warm", TRIAL_SAMPLES)
            found[variant] = float(numpy.median(times))
    return min(found, key=found.__getitem__, default=None), list(found)


def time_with_start(
    case: Workload, name: str, call: Call, watch: Watch, cache: Cache
) -> Measurement:
    """A row with both times: of the GPU alone, and of a call with its start."""
    times, alone = watch.time(call, cache), watch.time_alone(call, cache)
    return case.make_row(name, "cuda", times_ms=times, call_times_ms=alone, cache=cache)


def measure_ours(case: Workload, ours: Ours, watch: Watch, whole: bool) -> Iterator[Measurement]:
    """Rows of our fastest variant; where `whole`, of all that "auto" may take."""
    best, every = find_fastest(case, ours, watch)
    for variant in every if whole or best is None else [best]:
        for cache in CACHES:
            yield time_with_start(case, variant, ours.make_call(variant), watch, cache)


def measure_peers(
    case: Workload,
    inputs: Operands,
    ours: Ours,
    watch: Watch,
    found: Iterable[Peer],
    warn: Warn,
    caches: Sequence[Cache] = CACHES,
    *,
    starts: bool = False,
) -> Iterator[Measurement]:
    """Rows of each peer for the workload; with `starts`, also with times of whole calls."""
    for peer in found:
        try:
            subject = peer.prepare(case, inputs, ours)
            if subject is None:
                continue
            call, fetch = subject
            call()
            result = fetch() if fetch else None
        except Exception as error:  # of any kind, from a peer: the others are still measured
            warn(f"{case.name}: without {peer.name}: {error!r:.300}")
            continue
        if result is not None:
            check(case, ours.expected, peer.name, result)
        for cache in caches:
            if starts:
                yield time_with_start(case, peer.name, call, watch, cache)
            else:
                times = watch.time(call, cache)
                yield case.make_row(peer.name, "cuda", times_ms=times, cache=cache)
        del call, fetch, subject, result
        peer.forget()


def measure_on_gpu(
    case: Workload,
    rng: numpy.random.Generator,
    watch: Watch,
    found: Iterable[Peer],
    whole: bool,
    warn: Warn,
) -> Iterator[Measurement]:
    """All rows of a workload that has goals."""
    inputs = case.make_inputs(rng)
    ours = Ours(case, inputs, watch.backend)
    yield from measure_ours(case, ours, watch, whole)
    yield from measure_peers(case, inputs, ours, watch, found, warn, starts=True)


# One case on the simulator -----------------------------------------------------------------------


def count_variants(case: Workload, ours: Ours, variants: Iterable[str]) -> Iterator[Measurement]:
    """Rows with counters, and with the host's time of one call."""
    for variant in variants:
        host_ms = ours.run_checked(variant)
        counters = dict(smemkit.profile(ours.make_call(variant)).counters)
        yield case.make_row(variant, "sim", host_times_ms=(host_ms,), counters=counters)


def measure_on_simulator(
    case: Workload, rng: numpy.random.Generator, whole: bool
) -> Iterator[Measurement]:
    """Counted rows of all variants that "auto" may choose, or of the fastest."""
    ours = Ours(case, case.make_inputs(rng), "sim")
    variants = list_ours(case)
    yield from count_variants(case, ours, variants if whole else variants[-1:])


# Several cases -----------------------------------------------------------------------------------


def run_cases(
    chosen: Iterable[Workload],
    backend: Machine,
    found: Sequence[Peer] = (),
    *,
    whole: bool = False,
    seconds: float = 0.5,
    seed: int = SEED,
    say: Say | None = None,
    warn: Warn = warnings.warn,
) -> Results:
    """Measures workloads; Results with every sample and their provenance.

    Parameters
    ----------
    chosen : list of families.Workload
    backend : "cuda" or "sim"
    found : list of peers (peers.find_peers)
    whole : bool
        Every variant of ours, and not the fastest alone.
    seconds : float
        For the samples of one subject.
    seed : int
        Of the arrays' values.
    say : callable, optional
        Takes the case and each row of it when it is there.
    warn : callable
        Takes a line for each peer that fails.

    Raises
    ------
    WrongResultError where a subject computes something else; whatever a call raises.
    """
    rows = []
    watch = Stopwatch(seconds) if backend == "cuda" else None
    for case in chosen:
        rng = numpy.random.default_rng(seed)
        made = (
            measure_on_gpu(case, rng, watch, found, whole, warn)
            if watch
            else measure_on_simulator(case, rng, whole)
        )
        for row in made:
            rows.append(row)
            if say:
                say(case, row)
    return Results(rows, describe_run(**describe_protocol(backend, found, seed)))


def read_driver() -> str | None:
    """The version of NVIDIA's driver, as "580.65.06", or None."""
    try:
        text = DRIVER.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"\s(\d{3,}\.\d[\d.]*)\s", text)
    return found[1] if found else None


def read_clocks(uuid: str) -> dict[str, int]:
    """The current clocks of a GPU, {name: MHz}; {} where nvidia-smi does not report them."""
    names = ("sm", "memory")
    command = ["nvidia-smi", f"--id={uuid}", "--query-gpu=clocks.sm,clocks.mem"]
    try:
        done = subprocess.run(
            [*command, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return dict(zip(names, map(int, done.stdout.split(",")), strict=True))
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}


def describe_protocol(
    backend: Machine, found: Iterable[Peer] = (), seed: int = SEED, *, clocks: bool = True
) -> dict[str, Any]:
    """Facts of a run beside those of results.describe_run; clocks=False leaves out the clocks."""
    facts = smemkit.device_info(backend=backend)
    return {
        "backend": backend,
        "python": platform.python_version(),
        "driver": read_driver(),
        "host": platform.processor() or platform.machine(),
        "device_facts": {name: value for name, value in facts.items() if name in DEVICE_FACTS},
        "clocks_mhz": read_clocks(facts["uuid"]) if clocks and "uuid" in facts else {},
        "peers": {peer.name: peer.version for peer in found},
        "seed": seed,
        "protocol": (__doc__ or "").partition("\n\n")[2].strip(),
    }
