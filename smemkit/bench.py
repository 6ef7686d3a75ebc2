"""Measuring: one protocol for our kernels and for their peers, and the command that runs it.

Each subject works on arrays that lie on the device; its result is checked first. Then, on a GPU:

- warm-up calls, which also compile, load and allocate what is made once;
- a sample is the time between two CUDA events in the default stream, divided by the calls between.
  "cold": a memory as large as several L2 caches is cleared before each sample of one call. "warm":
  the call has just run, and a sample has as many calls as fill some 0.2 ms, 16 at most. In both the
  GPU is kept busy while the host enqueues, so that a sample holds no waiting for Python unless the
  call itself waits;
- every sample is kept; what is shown is the median, with the quantiles 20 % and 80 %.

On the simulator there is no clock: counters, and the host's time, which says nothing about a GPU.
"""

import argparse
import json
import math
import platform
import sys
import time
import warnings

import numpy

import smemkit

from . import _core, cases, peers
from .command import UsageError
from .results import Results, describe_run

WARM_UPS = 3
SAMPLES_MIN, SAMPLES_MAX = 10, 100
SAMPLE_MS = 0.2  # that the calls of a warm sample take together
CALLS_MAX = 16
FLUSH_CACHES = 4  # memory that is cleared for a cold sample, in L2 caches
BUSY_BYTES = 1 << 30  # cleared while the host enqueues the calls of a warm sample
TRIAL_SAMPLES = 3  # of each of our variants, to find the fastest
CACHES = ("warm", "cold")
SEED = 20260721


class WrongResultError(smemkit.Error):
    """A subject of a benchmark gave a wrong result: its time means nothing."""


def load(path):
    """The Results of a file that bench has written; ArgumentError where it is something else."""
    return Results.load(path)


# A GPU's clock -----------------------------------------------------------------------------------


class Stopwatch:
    """CUDA events around calls on the present device.

    Parameters
    ----------
    seconds : float
        That the samples of one subject may take together; SAMPLES_MIN of them are taken anyway.
    """

    def __init__(self, seconds=0.5):
        self.backend, self.seconds = "cuda", seconds
        self.timer = _core._timer()
        l2_bytes = smemkit.device_info(backend="cuda")["l2_cache_bytes"]
        flushed = max(FLUSH_CACHES * l2_bytes, 1 << 28)
        self.flushed = smemkit.empty((flushed,), "uint8", backend="cuda")
        self.busy = smemkit.empty((BUSY_BYTES,), "uint8", backend="cuda")

    def time_once(self, call, cache, calls=1):
        """Milliseconds a call."""
        if cache == "cold":
            _core._clear(self.flushed)
        else:
            _core._clear(self.busy)
            call()
        _core._timer_start(self.timer)
        for _ in range(calls):
            call()
        return _core._timer_stop(self.timer) / calls

    def choose_calls(self, call, cache):
        """Calls of a sample: more than one only where they are warm and short."""
        if cache == "cold":
            return 1
        once = self.time_once(call, cache)
        return min(CALLS_MAX, max(1, math.ceil(SAMPLE_MS / max(once, 1e-4))))

    def time(self, call, cache, samples=SAMPLES_MAX):
        """Every sample, in milliseconds a call."""
        for _ in range(WARM_UPS):
            call()
        calls = self.choose_calls(call, cache)
        self.time_once(call, cache, calls)  # the first one also warms the clock
        times, end = [], time.perf_counter() + self.seconds
        while len(times) < samples:
            if len(times) >= SAMPLES_MIN and time.perf_counter() > end:
                break
            times.append(self.time_once(call, cache, calls))
        return tuple(times)


# One case ----------------------------------------------------------------------------------------


def check(case, expected, subject, result):
    """Raises WrongResultError where a subject's result is not that of the case."""
    result = numpy.asarray(result)
    if result.shape != tuple(case.result_shape):
        reason = f"its shape is {result.shape}, not {tuple(case.result_shape)}"
    else:
        reason = case.find_fault(expected, result)
    if reason is not None:
        raise WrongResultError(f"{case.name}: the result of {subject} is wrong: {reason}")


def list_ours(case):
    """Our variants that can be compared, and do the case: what "auto" may take."""
    return [
        name
        for name, facts in smemkit.variants(case.family).items()
        if facts["auto"] and case.accepts(facts["dtypes"])
    ]


class Ours:
    """Our variants on device arrays of their own."""

    def __init__(self, case, inputs, backend):
        self.case, self.expected = case, case.expect(inputs)
        self.arrays = tuple(smemkit.asarray(array, backend=backend) for array in inputs)
        self.out = smemkit.empty(case.result_shape, case.result_dtype, backend=backend)

    def make_call(self, variant):
        return lambda: self.case.call(self.arrays, self.out, variant)

    def check(self, variant):
        """Runs a variant on a poisoned output; False where the machine cannot run it."""
        poison = numpy.full(self.case.result_shape, 77, self.case.result_dtype)
        poisoned = smemkit.asarray(poison, backend=self.out.backend)
        try:
            self.case.call(self.arrays, poisoned, variant)
        except (smemkit.BackendError, smemkit.SharedMemoryError):
            return False
        check(self.case, self.expected, f"variant {variant!r}", smemkit.asnumpy(poisoned))
        return True


def measure_ours(case, ours, watch, whole):
    """Rows of our fastest variant; where `whole`, of all."""
    trials = {}
    for variant in list_ours(case):
        if ours.check(variant):
            times = watch.time(ours.make_call(variant), "warm", TRIAL_SAMPLES)
            trials[variant] = float(numpy.median(times))
    best = min(trials, key=trials.get) if trials else None
    for variant in trials if whole else [best] if best else []:
        for cache in CACHES:
            times = watch.time(ours.make_call(variant), cache)
            yield case.make_row(variant, "cuda", times_ms=times, cache=cache)


def measure_peers(case, inputs, ours, watch, found, warn):
    """Rows of each peer that does the case."""
    for peer in found:
        try:
            subject = peer.prepare(case, inputs, ours)
            if subject is None:
                continue
            call, fetch = subject
            call()
            result = fetch() if fetch else None
        except Exception as error:  # a stranger's, of any kind: the others can still be measured
            warn(f"{case.name}: without {peer.name}: {error!r:.300}")
            continue
        if fetch:
            check(case, ours.expected, peer.name, result)
        for cache in CACHES:
            times = watch.time(call, cache)
            yield case.make_row(peer.name, "cuda", times_ms=times, cache=cache)
        del call, fetch, subject, result
        peer.forget()


def measure_on_gpu(case, rng, watch, found, whole, warn):
    """All rows of a case."""
    inputs = case.make_inputs(rng)
    ours = Ours(case, inputs, watch.backend)
    yield from measure_ours(case, ours, watch, whole)
    yield from measure_peers(case, inputs, ours, watch, found, warn)


def measure_on_simulator(case, rng, whole):
    """Rows with counters, and with the host's time of one call."""
    inputs = case.make_inputs(rng)
    ours = Ours(case, inputs, "sim")
    variants = list_ours(case)
    for variant in variants if whole else variants[-1:]:
        ours.check(variant)
        start = time.perf_counter()
        ours.make_call(variant)()
        host_ms = (time.perf_counter() - start) * 1e3
        counters = dict(smemkit.profile(ours.make_call(variant)).counters)
        yield case.make_row(variant, "sim", host_times_ms=(host_ms,), counters=counters)


# All of them -------------------------------------------------------------------------------------


def run_cases(
    chosen, backend, found=(), *, whole=False, seconds=0.5, seed=SEED, say=None, warn=warnings.warn
):
    """Measures cases; Results with every sample and what they were made on.

    Parameters
    ----------
    chosen : list of cases.Case
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


DEVICE_FACTS = (
    "multiprocessors clock_khz memory_clock_khz global_memory_bytes l2_cache_bytes ecc_enabled"
).split()


def describe_protocol(backend, found, seed):
    """What results.describe_run does not know of a run."""
    facts = smemkit.device_info(backend=backend)
    return {
        "python": platform.python_version(),
        "device_facts": {name: facts[name] for name in DEVICE_FACTS if name in facts},
        "peers": {peer.name: peer.version for peer in found},
        "seed": seed,
        "protocol": __doc__.partition("\n\n")[2].strip(),
    }


# Goals -------------------------------------------------------------------------------------------


def judge(results, chosen):
    """What became of the goals: a dict for each case, goal and state of the cache."""
    verdicts = []
    for case in chosen:
        rows = [row for row in results if case.owns(row) and row.times_ms]
        for cache in CACHES:
            here = [row for row in rows if row.cache == cache]
            ours = [row for row in here if row.variant in smemkit.variants(case.family)]
            best = min(ours, key=lambda row: row.median_ms, default=None)
            for names, factor in case.goals:
                peer = next((r for name in names for r in here if r.variant == name), None)
                if best is None or peer is None:
                    continue
                ratio = peer.median_ms / best.median_ms
                verdicts.append(
                    {
                        "case": case.name,
                        "cache": cache,
                        "variant": best.variant,
                        "time_us": best.median_ms * 1e3,
                        "peer": peer.variant,
                        "peer_time_us": peer.median_ms * 1e3,
                        "ratio": ratio,
                        "goal": factor,
                        "met": ratio >= factor,
                    }
                )
    return verdicts


def show_row(case, row):
    """One line of a row."""
    if row.times_ms:
        low, high = row.quantile_ms(0.2) * 1e3, row.quantile_ms(0.8) * 1e3
        rate = f"{row.gflop_per_s:9.0f} GFLOP/s" if case.by_flops else f"{row.gb_per_s:9.0f} GB/s"
        text = (
            f"{row.median_ms * 1e3:11.2f} us  {low:11.2f} to {high:11.2f}  {rate}  "
            f"{len(row.times_ms)} samples"
        )
    else:
        steps = row.counters["instructions.warp"]
        text = (
            f"{steps:9} warp instructions; simulated in {row.host_times_ms[0]:.1f} ms of the host"
        )
    cache = row.cache or "-"
    print(f"{case.name:26} {row.variant:16} {row.machine:4} {cache:4}  {text}", flush=True)


def show_verdicts(verdicts):
    """The goals as a table."""
    head = (
        f"\n{'case':26} {'cache':5} {'ours':16} {'us':>11}  {'peer':6} {'us':>11}  "
        f"{'ratio':>6}  {'goal':>5}"
    )
    print(head)
    for v in verdicts:
        print(
            f"{v['case']:26} {v['cache']:5} {v['variant']:16} {v['time_us']:11.2f}  "
            f"{v['peer']:6} {v['peer_time_us']:11.2f}  {v['ratio']:6.2f}  {v['goal']:5.2f}  "
            f"{'met' if v['met'] else 'MISSED'}"
        )


# The command -------------------------------------------------------------------------------------


def add_arguments(parser):
    """Adds what `smemkit bench` takes."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    parser.add_argument(
        "--peers", action="store_true", help="CuPy, torch, CUB and the device's copy beside ours"
    )
    parser.add_argument("--only", action="append", default=[], metavar="FAMILY", help="repeatable")
    parser.add_argument("--all", action="store_true", help="every variant, not our fastest alone")
    parser.add_argument("--size", choices=cases.SIZES, help="default: full on a GPU, else small")
    parser.add_argument("--seconds", type=float, default=0.5, help="of samples a subject (0.5)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the values ({SEED})")
    parser.add_argument("--backend", help="cuda or sim; default: the GPU where there is one")
    parser.add_argument("--json", metavar="FILE", help="write every sample; - is standard output")
    parser.set_defaults(run=run_command)


def choose_cases(chosen, backend):
    """The cases that the command line asks for."""
    size = chosen.size or ("full" if backend == "cuda" else "small")
    known = cases.list_cases(size)
    families = list(dict.fromkeys(case.family for case in known))
    for family in chosen.only:
        if family not in families:
            raise UsageError(f"--only {family!r}: there are cases of {', '.join(families)}")
    return [case for case in known if not chosen.only or case.family in chosen.only]


def complain(text):
    """A line for the person who waits, beside the results."""
    print(f"smemkit: {text}", file=sys.stderr, flush=True)


def run_command(chosen):
    """Runs the command; the exit status. A goal that is missed is shown, and is no failure."""
    if not chosen.seconds >= 0:
        raise UsageError(f"--seconds {chosen.seconds}: 0 or more is needed")
    if chosen.backend:
        smemkit.set_backend(chosen.backend)
    backend = smemkit.get_backend()
    if chosen.peers and backend != "cuda":
        raise smemkit.BackendError(
            "bench --peers compares times, and the simulator has none: it needs a GPU"
        )
    wanted = choose_cases(chosen, backend)
    found = peers.find_peers(complain) if chosen.peers else []
    quiet = chosen.json == "-"
    results = run_cases(
        wanted,
        backend,
        found,
        whole=chosen.all,
        seconds=chosen.seconds,
        seed=chosen.seed,
        say=None if quiet else show_row,
        warn=complain,
    )
    verdicts = judge(results, wanted)
    results.provenance["goals"] = verdicts
    if verdicts and not quiet:
        show_verdicts(verdicts)
    if quiet:
        print(json.dumps(results.to_dict(), indent=1))
    elif chosen.json:
        results.save(chosen.json)
    return 0
