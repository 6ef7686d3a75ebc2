"""Launches that read everything before they write: what they take at least."""

import math

import numpy
import pytest

import smemkit
from smemkit.predict.phases import find_phases, is_watching, time_phases


def make_rows(*rows):
    """Instructions of a launch of one warp: (line, counter, sectors, times executed)."""
    return {
        "blocks": 1,
        "block": (32, 1, 1),
        "instructions": [
            {"ptx_line": line, "ptx": "", "counters": {name: sectors, "instructions.warp": times}}
            for line, name, sectors, times in rows
        ],
    }


LOAD, STORE = "global.load.sectors", "global.store.sectors"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(3, LOAD, 40, 1), (5, LOAD, 60, 1), (8, STORE, 90, 1)], True),
        ([(3, LOAD, 40, 1), (4, STORE, 50, 1), (5, LOAD, 60, 1), (8, STORE, 50, 1)], False),
        # little that is written early, such as a mark for other blocks, does not count
        ([(3, LOAD, 99, 1), (4, STORE, 1, 1), (5, LOAD, 1, 1), (8, STORE, 99, 1)], True),
        ([(3, LOAD, 40, 2), (8, STORE, 40, 2)], False),  # a loop: reads come beside writes
        ([(3, LOAD, 40, 1)], False),
        ([(3, STORE, 40, 1)], False),
    ],
)
def test_phases_are_reads_and_then_writes(rows, expected):
    assert (find_phases(make_rows(*rows)) is not None) is expected


def test_reads_of_one_block_hide_writes_of_another():
    # one block: everything in turn; many blocks: the longer of reads and writes decides
    assert time_phases(500, 600, 900, 1) == 500 + 600 + 900
    assert time_phases(500, 600, 900, 100) == pytest.approx(500 + 6 + 900)
    assert time_phases(500, 900, 10, 3) == pytest.approx(500 + 900)
    assert time_phases(500, 600, 900, math.inf) == 500 + 900


@pytest.mark.parametrize(
    ("ptx", "expected"),
    [("bar.sync 0;", True), ("barrier.sync 1, 64;", True), ("bar.warp.sync 3;", False)],
)
def test_warps_meet_at_barriers_between(ptx, expected):
    rows = make_rows((3, LOAD, 40, 1), (5, "barrier.count", 1, 1), (8, STORE, 40, 1))
    rows["instructions"][1]["ptx"] = ptx
    assert find_phases(rows).meet is expected


def test_a_launch_of_one_round_takes_reads_and_writes_in_turn():
    # an H200 takes 3.51 us for the large blocks, 2.86 for the small ones
    a = numpy.zeros((1024, 1024), "f4")
    large = smemkit.predict(smemkit.transpose, a, variant="vectorized")
    small = smemkit.predict(smemkit.transpose, a, variant="copy")
    assert large.waves < 1
    moved = large.terms["l2"].time_ms + large.terms["l2 stores"].time_ms
    assert large.time_ms > large.terms["launch"].time_ms + 0.8 * moved
    assert large.time_ms > 1.05 * small.time_ms


def test_blocks_that_wait_for_each_other_go_in_step():
    # an H200 takes 670 us for 2**28 words; its memory alone would let it take 528
    array = smemkit.empty(1 << 24, "float32", backend="sim")
    scan = smemkit.predict(smemkit.scan, array, variant="single_pass")
    assert scan.waves > 3
    assert scan.time_ms > 1.15 * scan.terms["dram"].time_ms


def test_all_counted_blocks_move_as_much_as_a_few():
    # of many blocks that are counted, a few are noted with what they touch
    array = numpy.zeros(1 << 22, "f4")
    few = smemkit.predict(smemkit.reduce, array, variant="shuffle")
    every = smemkit.predict(smemkit.reduce, array, variant="shuffle", blocks=None)
    assert every.terms["l2"].amount == pytest.approx(few.terms["l2"].amount, rel=0.02)
    assert every.time_ms == pytest.approx(few.time_ms, rel=0.05)


@pytest.mark.parametrize(
    ("ptx", "expected"),
    [
        ("ld.volatile.shared.f32 %f1, [%r1];", False),  # the last warp of a sum
        ("ld.relaxed.cta.shared::cta.u32 %r2, [%r1];", False),
        ("ld.volatile.global.u32 %r2, [%rd1];", True),
        ("@%p1 ld.acquire.gpu.global.u32 %r2, [%rd1];", True),
        ("ld.global.u32 %r2, [%rd1];", False),
    ],
)
def test_warps_that_watch_shared_memory_wait_for_no_other_block(ptx, expected):
    assert is_watching({"instructions": [{"ptx": ptx}]}) == expected
