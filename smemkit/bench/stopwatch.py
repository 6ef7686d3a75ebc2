"""Timing by CUDA events for calls on a GPU, and by the host's clock for NumPy.

On a GPU a sample is the time between two events in the default stream, divided by the calls between
them. "cold": a memory as large as several L2 caches is cleared before each sample of one call.
"warm": the call has just run, and a sample has as many calls as fill some 0.2 ms, 16 at most. In
both the GPU is kept busy while the host enqueues, so that a sample holds no waiting for Python
unless the call itself waits. A short sample for which the host came too late is taken again, with
the GPU busy for longer. Beside this, which is time of the GPU alone, there is the time of one call
on a GPU that has nothing to do: what it takes the host to start the work is part of it.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import smemkit

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from .types import Cache, Call

WARM_UPS = 3
SAMPLES_MIN, SAMPLES_MAX = 10, 100
LONG_MS, SAMPLES_LONG = 50.0, 5  # calls longer than this, and the number of their samples
HOST_LONG_SECONDS = 0.5  # on the host; longer calls are sampled twice
SAMPLE_MS = 0.2  # of the calls of a warm sample together
CALLS_MAX = 16
FLUSH_CACHES = 4  # sizes of the L2 cache that are cleared before a cold sample
BUSY_BYTES = 1 << 30  # cleared while the host enqueues the calls of a warm sample
ATTEMPTS = 3  # at a sample, where the GPU began before the host had enqueued all of it
WORTH_MS = 2.0  # in a longer sample the wait for the host counts for little
CACHES: tuple[Cache, ...] = ("warm", "cold")


class Stopwatch:
    """CUDA events around calls on the present device.

    Parameters
    ----------
    seconds : float
        That the samples of one subject may take together; SAMPLES_MIN of them are taken anyway, and
        of calls that take longer than LONG_MS, SAMPLES_LONG.
    most : int
        Samples of one subject.

    Raises
    ------
    BackendError (RuntimeError) without a GPU: the simulator has no clock.

    Example
    -------
    >>> import smemkit
    >>> from smemkit import bench
    >>> try:
    ...     x = smemkit.asarray([1.0, 2.0], backend="cuda")
    ...     samples = bench.Stopwatch().time(lambda: smemkit.reduce(x), "warm")
    ... except smemkit.BackendError:
    ...     print("no GPU")  # doctest: +SKIP
    """

    backend: Literal["cuda"]
    seconds: float
    most: int
    timer: Any
    flushed: smemkit.DeviceArray
    busy: smemkit.DeviceArray

    def __init__(self, seconds: float = 0.5, most: int = SAMPLES_MAX) -> None:
        self.backend = "cuda"
        self.seconds, self.most = seconds, most
        self.timer = _core._timer()
        l2_bytes = smemkit.device_info(backend="cuda")["l2_cache_bytes"]
        flushed = max(FLUSH_CACHES * l2_bytes, 1 << 28)
        self.flushed = smemkit.empty((flushed,), "uint8", backend="cuda")
        self.busy = smemkit.empty((BUSY_BYTES,), "uint8", backend="cuda")

    def time_once(self, call: Call, cache: Cache, calls: int = 1) -> float:
        """Milliseconds a call."""
        elapsed_ms = math.inf
        for attempt in range(ATTEMPTS):
            # One, two, four times as long; a cold sample begins with the memory that it clears.
            for _ in range(2**attempt - (cache == "cold")):
                _core._clear(self.busy)
            if cache == "cold":
                _core._clear(self.flushed)
            else:
                call()
            _core._timer_start(self.timer)
            for _ in range(calls):
                call()
            came_late = _core._timer_passed(self.timer)
            elapsed_ms = _core._timer_stop(self.timer)
            if not came_late or elapsed_ms > WORTH_MS:
                break
        return elapsed_ms / calls

    def choose_calls(self, once: float, cache: Cache) -> int:
        """The number of calls of a sample: several where they are warm and short."""
        if cache == "cold":
            return 1
        return min(CALLS_MAX, max(1, math.ceil(SAMPLE_MS / max(once, 1e-4))))

    def time(self, call: Call, cache: Cache, samples: int | None = None) -> tuple[float, ...]:
        """Every sample, in milliseconds a call; `samples` of them at most."""
        samples = self.most if samples is None else samples
        once = self.time_once(call, cache)
        if once < LONG_MS:
            for _ in range(WARM_UPS):
                call()
            once = self.time_once(call, cache)
        calls = self.choose_calls(once, cache)
        if calls > 1:
            self.time_once(call, cache, calls)  # the first one also warms up the timing code
        return self.repeat(lambda: self.time_once(call, cache, calls), once, samples)

    def repeat(self, sample: Callable[[], float], once: float, samples: int) -> tuple[float, ...]:
        """The number of samples that fit into the seconds, for calls of `once` milliseconds."""
        least = SAMPLES_MIN if once < LONG_MS else SAMPLES_LONG
        times: list[float] = []
        end = time.perf_counter() + self.seconds
        while len(times) < samples:
            if len(times) >= least and time.perf_counter() > end:
                break
            times.append(sample())
        return tuple(times)

    def start_alone(self, call: Call, cache: Cache) -> float:
        """Milliseconds of one call on an idle GPU, as its stream sees it, its start included."""
        if cache == "cold":
            _core._timer_start(self.timer)
            _core._clear(self.flushed)
            _core._timer_stop(self.timer)  # waits
        _core._timer_start(self.timer)
        call()
        return _core._timer_stop(self.timer)

    def time_alone(self, call: Call, cache: Cache, samples: int | None = None) -> tuple[float, ...]:
        """Every sample of `start_alone`; `samples` of them at most."""
        once = min(self.start_alone(call, cache) for _ in range(WARM_UPS))
        most = self.most if samples is None else samples
        return self.repeat(lambda: self.start_alone(call, cache), once, most)


def time_host(call: Call, seconds: float = 0.5, samples: int = SAMPLES_MAX) -> tuple[float, ...]:
    """Every sample of a call on the host, in milliseconds, after one that warms it up."""
    start = time.perf_counter()
    call()
    least = SAMPLES_LONG if time.perf_counter() - start < HOST_LONG_SECONDS else 2
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < samples:
        if len(times) >= least and time.perf_counter() > end:
            break
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return tuple(times)
