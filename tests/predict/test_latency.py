"""The simulation of issue, against clocks counted by hand."""

import dataclasses
import re

import numpy as np
import pytest
from read_tables import CSRC

import smemkit
from smemkit import _core
from smemkit.predict import executed, issue_steps, latency, machine_code, warp_path

Instruction, Block = machine_code.Instruction, machine_code.Block

LATENCIES = latency.Latencies(
    **(
        dict.fromkeys(latency.LATENCY_NAMES, 20.0)
        | dict.fromkeys(("branch", "start", "warp_start", "arrival"), 0.0)
        | {"shared": 30.0, "barrier": 10.0}
    )
)
FREE = dict.fromkeys(("alu", "fma", "imad", "load.shared", "shuffle"), 1.0)


def step(opcode, stall=1, write=7, wait=0, read=7):
    kind = machine_code.classify(opcode)
    return Instruction(opcode, kind, False, 1, stall, False, write, read, wait)


def run(
    *blocks,
    warps=1,
    passes=None,
    flows=None,
    counted=1.0,
    service=None,
    latencies=LATENCIES,
    **options,
):
    """Clocks of code whose blocks follow each other, each executed as often as `passes` says."""
    made, last = [], len(blocks) - 1
    for i, instructions in enumerate(blocks):
        successors = () if i == last else (i + 1,)
        if flows:
            successors = tuple(way for start, way in flows if start == i)
        made.append(Block(tuple(instructions), successors, leaves=i == last))
    code = machine_code.MachineCode("f", "90", tuple(made))
    passes = np.array(passes or [1.0] * len(made))
    slots = {"all": float(sum(p * len(b) for p, b in zip(passes, blocks, strict=True)))}
    flows = flows or {(i, i + 1): 1.0 for i in range(last)}
    whole = executed.ExecutedCode(code, passes, flows, counted, slots, {}, 0.0)
    return latency.time_warps(
        whole, latencies, warps, service={**FREE, **(service or {})}, **options
    )


EXIT = step("EXIT")


def test_stalls_hold_a_lone_warp():
    # at 0, 4, 8, and the exit at 12
    found = run([step("FADD", 4), step("FADD", 4), step("FADD", 4), EXIT])
    assert (found.clocks, found.issued, found.exposed) == (13.0, 4.0, 9.0)
    assert found.by_wait["stall"] == 9.0


def test_other_warps_fill_the_stalls():
    found = run([step("FADD", 4), step("FADD", 4), step("FADD", 4), EXIT], warps=4)
    assert (found.clocks, found.exposed) == (16.0, 0.0)


def test_scoreboard_waits_for_the_load():
    # the load at 0 falls at 30; the addition waits for it
    found = run([step("LDS", 2, write=0), step("IADD3", 2), step("FADD", 4, wait=1), EXIT])
    assert found.clocks == 30 + 4 + 1
    assert found.by_wait["load.shared"] == 27.0


def test_busy_pipe_holds_warps_back():
    # 8 instructions that occupy their pipe for 4 clocks; the last is issued at 28, the exit at 29
    found = run([step("MUFU.EX2") for _ in range(8)] + [EXIT], service={"special": 4.0})
    assert found.clocks == 30.0
    assert found.by_wait["pipe.special"] == 21.0


def test_queue_of_the_load_unit_takes_some_at_once():
    few = run([step("LDS") for _ in range(8)] + [EXIT], service={"load.shared": 4.0})
    many = run([step("LDS") for _ in range(40)] + [EXIT], service={"load.shared": 4.0})
    assert few.clocks == 9.0
    # the queue has room for the last one when 8 are before it: 4 * (39 - 8)
    assert many.clocks == 4 * (39 - latency.QUEUE) + 2


def test_barrier_waits_for_the_last_warp_of_the_block():
    code = [step("FADD", 6), step("BAR.SYNC"), step("FADD"), EXIT]
    # two warps come to the barrier at 6 and 7, and are free at 8 + 10
    found = run(code, warps=2, warps_per_block=2)
    assert found.clocks == 7 + 1 + 10 + 4
    assert found.by_wait["barrier"] == 10.0


def test_blocks_are_replaced_when_they_end():
    code = [step("FADD", 4), step("FADD", 4), EXIT]
    assert run(code, rounds=3).clocks == 3 * 9.0


def test_the_place_of_a_block_stays_empty_for_a_while():
    code = [step("FADD", 4), step("FADD", 4), EXIT]
    late = dataclasses.replace(LATENCIES, start=100.0)
    found = run(code, rounds=3, latencies=late)
    assert found.clocks == 3 * 9.0 + 2 * 100.0
    assert found.by_wait["start"] == 200.0
    # blocks of other places go on meanwhile: the second one of each begins at 4 + 2 * 100
    both = run(code, warps=2, rounds=2, latencies=late)
    assert both.clocks == 2 * 10.0 + 100.0 - 1


def test_warps_of_a_block_start_one_after_the_other():
    slow = dataclasses.replace(LATENCIES, warp_start=20.0)
    found = run([step("FADD", 4), EXIT], warps=3, warps_per_block=3, latencies=slow)
    assert found.clocks == 2 * 20 + 4 + 1
    assert run([step("FADD", 4), EXIT], warps=3, latencies=slow).clocks == 4 + 3  # three blocks


def test_barriers_take_warps_one_by_one():
    code = [step("BAR.SYNC"), step("FADD"), EXIT]
    late = dataclasses.replace(LATENCIES, arrival=8.0)
    # the first warp is taken at 1, the second at 9, and both are free at 19
    found = run(code, warps=2, warps_per_block=2, latencies=late)
    assert found.clocks == 1 + 8 + 10 + 4
    # those of two blocks do not wait for each other: the second one's are taken at 3 and 11
    assert run(code, warps=4, warps_per_block=2, latencies=late).clocks == 11 + 10 + 6


def test_groups_of_copies_are_waited_for():
    copy, close = step("LDGSTS"), step("LDGDEPBAR")
    wait = step("DEPBAR.LE")._replace(operands="SB0, 0x0")
    found = run([copy, close, wait, step("FADD"), EXIT])
    assert found.clocks == 20 + 2


def test_loop_takes_its_trips():
    body = [step("FADD", 4), step("BRA", 1)]
    flows = {(0, 1): 1.0, (1, 1): 9.0, (1, 2): 1.0}
    found = run([step("MOV")], body, [EXIT], passes=[1.0, 10.0, 1.0], flows=flows)
    assert found.issued == 1 + 20 + 1
    assert found.clocks == 1 + 10 * 5 + 1


def test_long_loop_is_extrapolated():
    body = [step("FADD", 4), step("BRA", 1)]
    trips = 1e6
    flows = {(0, 1): 1.0, (1, 1): trips - 1, (1, 2): 1.0}
    found = run([step("MOV")], body, [EXIT], passes=[1.0, trips, 1.0], flows=flows)
    assert found.clocks == pytest.approx(5 * trips + 2, rel=1e-3)
    assert found.issued == pytest.approx(2 * trips + 2, rel=1e-3)


def test_branch_that_one_warp_in_four_takes():
    code = ([step("BRA")], [step("FADD")] * 8, [EXIT])
    flows = {(0, 1): 1.0, (0, 2): 3.0, (1, 2): 1.0}
    found = run(*code, warps=4, passes=[4.0, 1.0, 4.0], flows=flows, counted=4.0)
    assert found.issued == 4 + 8 + 4


def test_an_access_without_lanes_takes_nothing():
    load = step("LDS", write=0)._replace(guarded=True, ptx_line=7)
    code = [load, step("FADD", wait=1), EXIT]
    known = {7: latency.LineAccess(0.25, 16.0)}  # one warp in four has lanes under the guard
    # the first warp waits for its load until 30 and the wavefronts behind the first; no other does
    found = run(code, warps=4, lines=known)
    assert found.clocks == 30 + 16 / 4 - 1 + 2
    assert found.by_wait["load.shared"] == 33 - 10  # ten instructions have been issued
    # where warps meet at a barrier they all wait for those that have lanes
    met = run([*code[:2], step("BAR.SYNC"), EXIT], warps=4, warps_per_block=4, lines=known)
    assert met.clocks == 38 + 1 + 10 + 4


def test_an_access_without_lanes_may_take_a_wavefront_for_which_nobody_waits():
    code = [step("LDS")._replace(guarded=True, ptx_line=7)] * 2 + [EXIT]
    clocks = {}
    for idle in (0.0, 16.0):
        known = {7: latency.LineAccess(0.25, 16.0, idle)}
        clocks[idle] = run(code, warps=4, lines=known).clocks
    assert clocks == {0.0: 12.0, 16.0: 12.0}
    # the next access with lanes comes behind them
    last = step("LDS", write=0)._replace(ptx_line=8), step("FADD", wait=1)
    for idle, first in ((0.0, 16.0), (16.0, 4 * 16.0)):
        known = {7: latency.LineAccess(0.25, 16.0, idle)}
        found = run([code[0], *last, EXIT], warps=4, lines=known)
        assert found.clocks == pytest.approx(first + 3 + 30 + 2, abs=4)


def test_loads_miss_as_often_as_they_touch_new_sectors():
    load = step("LDG.E", write=0)._replace(ptx_line=7)
    body = [load, step("FADD", wait=1), step("BRA", 1)]
    loop = {"passes": [1.0, 4.0, 1.0], "flows": {(0, 1): 1.0, (1, 1): 3.0, (1, 2): 1.0}}
    answers = {7: latency.Answer(hit=20.0, more=100.0, share=0.5)}
    missing = dataclasses.replace(LATENCIES, lines=answers)
    found = run([step("MOV")], body, [EXIT], latencies=missing, **loop)
    whole = run([step("MOV")], body, [EXIT], **loop)
    assert found.clocks == whole.clocks + 2 * 100.0  # the first and the third


def test_shares_of_a_path():
    fork = warp_path.Fork(((1, 0.75),), 2, True, None, False)
    found = [warp_path._take(fork, visit, warp_path.ALMOST_ONE) for visit in range(8)]
    assert found == [1, 1, 1, 2, 1, 1, 1, 2]


def test_a_shortened_loop_has_as_many_trips_as_it_says():
    body = [step("FADD", 4), step("BRA", 1)]
    flows = {(0, 1): 1.0, (1, 1): 99.0, (1, 2): 1.0}
    blocks = tuple(
        Block(tuple(code), tuple(way for start, way in flows if start == i), leaves=i == 2)
        for i, code in enumerate([[step("MOV")], body, [EXIT]])
    )
    code = machine_code.MachineCode("f", "90", blocks)
    passes = np.array([1.0, 100.0, 1.0])
    whole = executed.ExecutedCode(code, passes, flows, 1.0, {}, {}, 0.0)
    (loop,) = warp_path.list_loops(whole)
    assert loop.trips == 100
    for trips in (1, 2, 3, 7):
        path = warp_path.Walker(warp_path.shorten(whole, loop, trips)).walk(0.5)
        assert path == [0, *[1] * trips, 2]


STEP = [2, 0, 1, 20, 1, 7, 7, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]  # as issue_steps.COLUMNS


def time_partition(
    rows=(STEP,), first=(0, 1), blocks=(0,), lengths=(1,), counts=(3, 1, 1, 1), more=(0.0, 0.0, 0.0)
):
    return _core._time_partition(
        np.array(rows, float),
        np.array(first, np.uint32),
        np.array([0.5]),
        np.array(lengths, np.uint32),
        np.array(blocks, np.uint32),
        counts,
        (8.0, 4.0, 3.0, 0.0, 8.0, 10.0, *more),
    )


def replace_step(**changed):
    return [[changed.get(name, x) for name, x in zip(issue_steps.COLUMNS, STEP, strict=True)]]


def test_the_simulation_refuses_what_does_not_fit():
    assert time_partition()[:2] == (1.0, 1.0)
    for wrong in (
        {"first": (0, 2)},  # more steps than there are
        {"first": (1, 0)},
        {"blocks": (1,)},
        {"lengths": (2,)},
        {"lengths": (0,)},
        {"lengths": (1, 0)},
        {"counts": (2, 1, 1, 1)},  # the step has kind 2
        {"counts": (3, 0, 1, 1)},
        {"counts": (3, 1 << 12, 1 << 12, 1)},
        {"rows": replace_step(kind=2.5)},
        {"rows": replace_step(group=3)},
        {"rows": replace_step(wait_mask=-1)},
        {"rows": replace_step(latency=float("nan"))},
        {"rows": replace_step(idle=-1.0)},
        {"rows": [STEP[:-1]]},
        {"more": (-1.0, 0.0, 0.0)},
        {"more": (0.0, float("inf"), 0.0)},
    ):
        with pytest.raises(smemkit.ArgumentError):
            time_partition(**wrong)


def test_the_simulation_without_memory_says_so():
    failed = 0
    for after in range(1, 40):
        _core._fail_after(after)
        try:
            time_partition(rows=replace_step(group=1))
        except smemkit.OutOfMemoryError:
            failed += 1
        finally:
            _core._fail_after(0)
    assert failed > 4


def test_columns_are_those_of_the_simulation():
    """The order of the columns stands in C, too."""
    text = (CSRC / "py" / "queries" / "internals_partition.c").read_text(encoding="utf-8")
    listed = re.search(
        r"in the order of smk_partition_step\. \*/\nenum \{(.*?)COLUMNS,", text, re.S
    )
    names = [name.lower() for name in re.findall(r"\w+", listed[1])]
    assert tuple(names) == issue_steps.COLUMNS
    text = (CSRC / "sim" / "issue" / "partition.h").read_text(encoding="utf-8")
    for number, kind in enumerate((*issue_steps.FIRST_KINDS, "other")):
        assert f"SMK_PARTITION_{kind.upper()} = {number}," in text
