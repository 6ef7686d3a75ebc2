"""Every counter of counters.def is incremented in some launch of the record, or its row says why.

A counter that nobody increments is 0 everywhere, and no other test would see it.
"""

from pathlib import Path

from read_tables import read_rows

from smemkit.bench import ncu, workloads

# Counters that no recorded launch increments: {name: the reason}.
IDLE = {}

NAMES = [row["name"] for row in read_rows("sim/profile/counters.def", "SMK_COUNTER", "SMK_RATIO")]


def list_first_calls():
    """A call of each recorded kernel; the small ones, which show one thing each, come first."""
    files = [Path(__file__).parent / name for name in ("count_cases.py", "probe_cases.py")]
    firsts = {}
    for row in ncu.list_rows([], files) + ncu.list_rows(workloads.list_families(), []):
        firsts.setdefault(row.kernel, row)
    return firsts.values()


def find_idle(names, calls):
    """The counters that are 0 (a ratio: None) in all launches of the calls; stops when none is."""
    idle = set(names)
    for call in calls:
        for launch in ncu.count_on_simulator(call):
            idle -= {name for name in idle if launch.counters.get(name)}
        if not idle:
            break
    return idle


def test_every_counter_is_incremented():
    idle = find_idle([name for name in NAMES if name not in IDLE], list_first_calls())
    assert not idle, f"no recorded launch increments {sorted(idle)}"


def test_idle_counters_have_a_reason():
    assert set(IDLE) <= set(NAMES)
    assert all(len(reason) > 20 for reason in IDLE.values())


def test_counter_that_nobody_increments_is_named():
    first = next(iter(list_first_calls()))
    names = ["instructions.warp", "instructions.planted"]
    assert find_idle(names, [first]) == {"instructions.planted"}
