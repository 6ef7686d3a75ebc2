"""What the L1 cache serves and keeps, and where atomics meet, by predictions of small kernels."""

import collections
import random

import numpy
import pytest
from predict import unseen
from support import disassemble

import smemkit
from smemkit.predict import reuse
from smemkit.predict.registers import count_registers

needs_tools = pytest.mark.skipif(
    not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")),
    reason="no ptxas and nvdisasm; the extra [test] brings them",
)
SOURCE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry walk(.param .u64 places, .param .u64 table)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [places];
    ld.param.u64 %rd2, [table];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r5, [%rd4];
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd2, %rd5;
    DO
    st.global.u32 [%rd4], %r6;
    ret;
}
"""
BLOCKS, THREADS = 2048, 256


def predict(do, places, words, module=""):
    """The prediction of a kernel whose lanes do something at given words of a table."""
    source = SOURCE.replace("DO", do).replace(".visible", f"{module}\n.visible")
    kernel = smemkit.RawKernel(source, "walk")
    arguments = places.astype("uint32"), numpy.zeros(words, "uint32")
    return smemkit.predict(lambda: kernel((BLOCKS,), (THREADS,), arguments, backend="sim"))


def make_places(words):
    return numpy.random.default_rng(5).integers(0, words, BLOCKS * THREADS)


def miss(lines, reads, kept, others):
    """The share of random sectors that an LRU cache of lines of four sectors lacks."""
    cache, missed, rng, fresh = collections.OrderedDict(), 0, random.Random(3), lines
    for _ in range(reads):
        line, sector = rng.randrange(lines), rng.randrange(4)
        for each in [line, *range(fresh, fresh + others)]:
            cache.setdefault(each, set())
            cache.move_to_end(each)
            if len(cache) > kept:
                cache.popitem(last=False)
        fresh += others
        missed += sector not in cache[line]
        cache[line].add(sector)
    return missed / reads


@pytest.mark.parametrize(
    ("lines", "reads", "kept", "others"),
    [(500, 8000, 600, 0), (500, 8000, 250, 0), (500, 8000, 400, 1), (2000, 1500, 4000, 0)],
)
def test_random_sectors_stay_as_in_a_cache_of_lines(lines, reads, kept, others):
    found = reuse.find_missing(lines, reads, others, kept)
    assert found == pytest.approx(miss(lines, reads, kept, others), abs=0.03)


@needs_tools
def test_a_gather_from_little_memory_is_served_near():
    do = "ld.global.u32 %r6, [%rd6];"
    near, far = (
        predict(do, make_places(words), words).terms["l2"].amount for words in (1 << 13, 1 << 21)
    )
    places = 4 * BLOCKS * THREADS
    assert near == pytest.approx(132 * (32 << 10) + places, rel=0.05)  # each multiprocessor, once
    assert far == pytest.approx(8 * places + places, rel=0.05)  # a sector for each lane


@needs_tools
def test_lanes_in_other_lines_and_banks_take_few_passes():
    do, lanes = "ld.global.u32 %r6, [%rd6];", numpy.arange(BLOCKS * THREADS)
    passes = {
        step: predict(do, lanes % 32 * step + 7, 40 * step).terms["l1"].amount / len(lanes) * 32
        for step in (1, 5, 32, 33)
    }
    # a load and a store of 32 words side by side, and the load at places `step` words apart
    assert passes[1] == pytest.approx(3)
    assert passes[5] == pytest.approx(4)  # six lines, four at a time
    assert passes[32] == pytest.approx(34)  # one bank
    assert passes[33] == pytest.approx(10)  # 32 lines


@needs_tools
def test_atomics_that_crowd_take_longer_than_spread_ones():
    do, words = "atom.global.add.u32 %r6, [%rd6], 1;", 1 << 14
    even = make_places(words)
    crowded = numpy.where(even % 4 == 0, even % 128, even)  # a quarter on 512 bytes
    times = {}
    for name, places in (("even", even), ("crowded", crowded)):
        found = predict(do, places, words)
        times[name] = found.terms["atomics"].time_ms
        assert found.limited_by != "atomics" or found.high_ms < 2 * found.time_ms
    assert times["crowded"] > 4 * times["even"]
    # 65,536 lanes, nearly each on a sector of its own, 0.65 ns each
    assert times["crowded"] == pytest.approx(0.25 * len(even) * 0.65e-6, rel=0.25)


def test_registers_are_those_of_the_card():
    if not disassemble.find_tool("ptxas"):
        pytest.skip("no ptxas; the extra [test] brings it")
    text = unseen.PTX[0].read_text(encoding="utf-8")
    found = {each: count_registers("local_tables", text, each) for each in ("7.5", "9.0")}
    assert found == {"7.5": 47, "9.0": 32}  # 32 by Nsight Compute on an H200


def test_only_the_ends_of_what_a_warp_writes_are_parts_of_sectors():
    count = BLOCKS * THREADS

    def time(places):
        found = predict("mov.u32 %r6, 1; st.global.u32 [%rd6], %r5;", places, 8 * count + 8)
        return found.terms["l2 stores"].time_ms

    there = numpy.arange(count)
    whole, moved, apart = time(there), time(there + 1), time(2 * there)
    assert 1.1 * whole < moved < 1.7 * whole
    assert apart > 1.3 * moved


@needs_tools
def test_one_lane_makes_the_atomics_of_a_warp_where_ptxas_sees_that_they_meet():
    together, apart = (
        predict(f"atom.global.add.u32 %r6, [{address}], 1;", make_places(1), 1)
        for address in ("%rd2", "%rd6")
    )
    assert apart.terms["atomics"].time_ms == pytest.approx(
        32 * together.terms["atomics"].time_ms, rel=0.1
    )


@needs_tools
def test_constants_at_different_addresses_are_read_one_after_the_other():
    do = """
    mul.wide.u32 %rd5, %r5, 4;
    mov.u64 %rd7, words;
    add.u64 %rd7, %rd7, %rd5;
    ld.const.u32 %r6, [%rd7];
    """
    module = ".const .align 4 .b32 words[1024];"
    places = numpy.arange(BLOCKS * THREADS)
    one, many = (predict(do, each, 1, module) for each in (places // 32 % 1024, places % 1024))
    assert many.terms["constants"].time_ms == pytest.approx(32 * one.terms["constants"].time_ms)
    assert many.time_ms - one.time_ms > 0.4 * many.terms["constants"].time_ms
    assert many.limited_by == "constants"
