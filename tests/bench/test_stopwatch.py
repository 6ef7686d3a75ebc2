"""The protocol of samples: how many, of how many calls, and which are taken again."""

import pytest

from smemkit.bench import stopwatch


def test_time_host():
    calls = []
    times = stopwatch.time_host(lambda: calls.append(1), seconds=0)
    assert len(times) == stopwatch.SAMPLES_LONG and len(calls) == len(times) + 1
    assert all(ms >= 0 for ms in times)
    assert len(stopwatch.time_host(lambda: None, seconds=60, samples=7)) == 7


class Counted(stopwatch.Stopwatch):
    """The protocol alone, with calls of a known length."""

    def __init__(self, ms):
        self.ms, self.seconds, self.most, self.asked = ms, 0.0, 20, []

    def time_once(self, call, cache, calls=1):
        for _ in range(calls):
            call()
        self.asked.append(calls)
        return self.ms


@pytest.mark.parametrize(
    ("ms", "cache", "samples", "calls"),
    [
        (0.001, "warm", stopwatch.SAMPLES_MIN, stopwatch.CALLS_MAX),
        (0.05, "warm", stopwatch.SAMPLES_MIN, 4),
        (0.05, "cold", stopwatch.SAMPLES_MIN, 1),
        (5.0, "warm", stopwatch.SAMPLES_MIN, 1),
        (100.0, "warm", stopwatch.SAMPLES_LONG, 1),
    ],
)
def test_protocol(ms, cache, samples, calls):
    watch = Counted(ms)
    assert watch.time(lambda: None, cache) == (ms,) * samples
    assert watch.asked[-samples:] == [calls] * samples
    assert len(Counted(ms).time(lambda: None, cache, 3)) == 3


class Clock:
    """What a Stopwatch asks of the extension, for a host that is late at the first samples."""

    def __init__(self, late, ms):
        self.late, self.ms, self.cleared = list(late), ms, []

    def _clear(self, memory):
        self.cleared.append(memory)

    def _timer_start(self, timer):
        self.cleared.append("start")

    def _timer_passed(self, timer):
        return self.late.pop(0)

    def _timer_stop(self, timer):
        return self.ms.pop(0)


@pytest.mark.parametrize(
    ("cache", "late", "ms", "taken", "cleared"),
    [
        ("warm", [False], [0.4], 0.2, ["busy", "start"]),
        ("warm", [True, False], [0.9, 0.4], 0.2, ["busy", "start", "busy", "busy", "start"]),
        ("warm", [True], [3.0], 1.5, ["busy", "start"]),  # long: worth as it is
        ("cold", [False], [0.4], 0.2, ["flushed", "start"]),
        ("cold", [True, False], [0.9, 0.4], 0.2, ["flushed", "start", "busy", "flushed", "start"]),
        # A call that waits for the GPU itself: its last sample.
        ("warm", [True] * 3, [0.9, 0.8, 0.6], 0.3, [*["busy"] * 7]),
    ],
)
def test_a_late_host_is_waited_for(monkeypatch, cache, late, ms, taken, cleared):
    clock = Clock(late, list(ms))
    monkeypatch.setattr(stopwatch, "_core", clock)
    watch = object.__new__(stopwatch.Stopwatch)
    watch.timer, watch.busy, watch.flushed = None, "busy", "flushed"
    assert watch.time_once(lambda: None, cache, 2) == taken
    assert [one for one in clock.cleared if len(late) < 3 or one != "start"] == cleared
    assert not clock.late and not clock.ms
