"""Predictions of launches whose warps or blocks have unequal work."""

import numpy
import pytest

import smemkit
from smemkit.predict import carried, machine_code

# The first `busy` warps of a block run the loop as often as counts[block] says, others once.
KERNEL = """
.version 9.0
.target sm_75
.address_size 64
.visible .entry uneven(.param .u64 counts, .param .u64 out, .param .u32 busy)
{
    .reg .pred %p<3>;
    .reg .f32 %f<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [counts];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [busy];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    shr.u32 %r5, %r3, 5;
    setp.lt.u32 %p1, %r5, %r1;
    selp.b32 %r4, %r4, 1, %p1;
    mov.f32 %f1, 0f3F800000;
    mov.u32 %r6, 0;
again:
    .pragma "nounroll";
    fma.rn.f32 %f1, %f1, 0f3F800347, 0f3F000000;
    add.s32 %r6, %r6, 1;
    setp.lt.s32 %p2, %r6, %r4;
    @%p2 bra again;
    mul.wide.u32 %rd5, %r3, 4;
    add.s64 %rd6, %rd2, %rd5;
    st.global.f32 [%rd6], %f1;
    ret;
}
"""
LONG = 20_000
# Of the loop in a warp that is alone: one block of 1000 with a million iterations takes 14.17 ms on
# an H200, which is 28 clocks for each.
CLOCKS = 28


@pytest.fixture(params=["machine code", "PTX"])
def either(request, monkeypatch):
    if request.param == "PTX":
        monkeypatch.setattr(machine_code, "find_nvdisasm", lambda: None)
        monkeypatch.setattr(carried, "find", lambda *_: None)
        machine_code._load.cache_clear()
    yield
    machine_code._load.cache_clear()


def predict(counts, busy=8, threads=256, blocks=None):
    kernel = smemkit.RawKernel(KERNEL, "uneven")
    out = numpy.zeros(1024, "float32")
    counts = numpy.array(counts, "int32")
    return kernel.predict(len(counts), threads, (counts, out, busy), device="h200", blocks=blocks)


def count_clocks(found):
    return found.time_ms * found.card.clocks_per_ms / LONG


def test_a_launch_takes_as_long_as_its_longest_block(either):
    counts = [10] * 400
    even = predict(counts)
    counts[123] = LONG
    found = predict(counts)
    assert found.limited_by == "longest warp"
    assert count_clocks(found) == pytest.approx(CLOCKS, rel=0.2)
    assert found.gains["longest warp"] == pytest.approx(found.time_ms - even.time_ms, rel=0.1)
    assert "longest warp" not in even.terms


def test_a_launch_takes_as_long_as_its_longest_warp(either):
    found = predict([LONG] * 8, busy=1, threads=1024)
    assert count_clocks(found) == pytest.approx(CLOCKS, rel=0.2)


def test_all_blocks_are_counted_where_loops_run_as_memory_says_and_that_is_quick():
    counts = [10] * 400
    counts[123] = LONG
    known, found = predict(counts), predict(counts, blocks=6)
    assert found.time_ms == known.time_ms
    assert found.notes == known.notes


def test_what_only_some_blocks_show_is_not_known_of_the_others():
    counts = [10] * 40_000
    known, unknown = predict(counts[:400]), predict(counts, blocks=6)
    assert not any("blocks=None" in note for note in known.notes)
    assert any("loops of uneven" in note and "blocks=None" in note for note in unknown.notes)
    assert known.high_ms < 1.5 * known.time_ms
    assert unknown.high_ms > 1.9 * unknown.time_ms


def test_more_blocks_are_counted_only_where_some_do_not_tell_enough():
    a = smemkit.empty((256, 256), "float32", backend="sim")
    calls = []

    def multiply(variant):
        calls.append(variant)
        smemkit.gemm(a, a, variant=variant)

    smemkit.predict(multiply, "tiled")
    assert calls == ["tiled"]

    def run():
        calls.append("uneven")
        kernel = smemkit.RawKernel(KERNEL, "uneven")
        kernel((400,), (256,), (numpy.full(400, 10, "int32"), numpy.zeros(1024, "float32"), 8))

    smemkit.predict(run)
    smemkit.predict(run, blocks=None)
    assert calls == ["tiled"] + 3 * ["uneven"]


def test_blocks_that_do_more_than_others_are_said_to_be_uneven():
    found = predict(range(0, 4000, 10), blocks=6)
    assert any("how unequal the blocks of uneven are" in note for note in found.notes)


def test_loops_over_what_a_launch_is_told_are_known():
    a = smemkit.empty((256, 256), "float32", backend="sim")
    found = smemkit.predict(smemkit.gemm, a, a, variant="tiled")
    assert not any("loops" in note for note in found.notes)


# A block adds 1 once as many have done so as stand before it in the grid.
TURNS = """
.version 9.0
.target sm_75
.address_size 64
.visible .entry turns(.param .u64 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [count];
    mov.u32 %r1, %ctaid.x;
again:
    atom.global.add.u32 %r2, [%rd1], 0;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra again;
    red.global.add.u32 [%rd1], 1;
    ret;
}
"""


# All blocks add 1, and go on once all have done so.
MEETING = (
    TURNS.replace("%ctaid", "%nctaid")
    .replace("    red.global.add.u32 [%rd1], 1;\n", "")
    .replace("again:", "    red.global.add.u32 [%rd1], 1;\nagain:")
)


# The last block that draws a ticket follows addresses that memory has: `trips` of them.
TICKETS = """
.version 9.0
.target sm_75
.address_size 64
.visible .entry tickets(.param .u64 ticket, .param .u64 places, .param .u32 trips)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [ticket];
    ld.param.u64 %rd2, [places];
    ld.param.u32 %r5, [trips];
    mov.u32 %r1, %nctaid.x;
    sub.u32 %r2, %r1, 1;
    membar.gl;
    atom.global.inc.u32 %r3, [%rd1], %r2;
    setp.ne.u32 %p1, %r3, %r2;
    @%p1 bra done;
    mov.u32 %r4, 0;
    mov.u64 %rd3, 0;
again:
    .pragma "nounroll";
    add.u64 %rd4, %rd2, %rd3;
    ld.global.cg.u64 %rd3, [%rd4];
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p2, %r4, %r5;
    @%p2 bra again;
    st.global.u64 [%rd2], %rd3;
done:
    ret;
}
"""


def draw_tickets(count, trips):
    kernel = smemkit.RawKernel(TICKETS, "tickets")
    arguments = numpy.zeros(1, "uint32"), numpy.zeros(1, "uint64"), trips
    return kernel.predict(count, 1, arguments, device="h200")


def test_what_the_last_block_does_comes_behind_all_others():
    few, many = draw_tickets(400, 10), draw_tickets(400, 510)
    clocks = (many.time_ms - few.time_ms) * many.card.clocks_per_ms / 500
    assert clocks == pytest.approx(many.card.l1_clk + 25, rel=0.4)  # the load, and the loop
    assert many.terms["last block"].time_ms > 0.5 * many.time_ms
    assert many.gains["last block"] == pytest.approx(many.terms["last block"].time_ms)
    assert not any("last block" in note for note in many.notes)


def test_the_last_block_of_a_long_launch_is_not_counted():
    found = draw_tickets(1_000_000, 10)
    assert "last block" not in found.terms
    assert any("what the last block of tickets does" in note for note in found.notes)


def take_turns(count, blocks, ptx=TURNS):
    kernel = smemkit.RawKernel(ptx, "turns")
    return kernel.predict(count, 1, (numpy.zeros(1, "uint32"),), device="h200", blocks=blocks)


def test_blocks_that_wait_for_others_are_counted_if_all_run():
    with pytest.raises(smemkit.DeadlockError, match=r"Only 6 blocks .*blocks=None"):
        take_turns(512, 6)


def test_blocks_that_take_turns_take_a_trip_to_the_cache_and_more_each():
    found = take_turns(512, None)
    trips = found.time_ms * found.card.clocks_per_ms / found.card.atomic_clk / 512
    assert 1 < trips < 3
    assert found.limited_by == "turns"
    assert any("blocks of turns wait for each other" in note for note in found.notes)


def test_blocks_that_wait_once_for_all_may_take_as_long_at_worst():
    found = take_turns(12, None, MEETING)
    assert found.limited_by != "turns"
    assert any("blocks of turns wait for each other" in note for note in found.notes)
    at_worst = 12 * 2 * found.card.atomic_clk / found.card.clocks_per_ms
    assert found.high_ms > at_worst > 2 * found.time_ms
    assert found.low_ms > found.time_ms / 6
    alone = take_turns(1, None, MEETING)  # how often a block asks in vain is not the kernel's work
    assert found.time_ms < 2 * alone.time_ms


# Each block waits until the word of the one before it is not 0, and then writes its own.
RELAY = """
.version 9.0
.target sm_75
.address_size 64
.visible .entry relay(.param .u64 words)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    EARLY
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra write;
again:
    ld.volatile.global.u32 %r2, [%rd3+-4];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra again;
write:
    st.volatile.global.u32 [%rd3], 1;
    ret;
}
"""


@pytest.mark.parametrize("early", ["", "st.volatile.global.u32 [%rd3], 1;"])
def test_blocks_that_hand_on_a_word_take_a_trip_each_unless_they_write_before(early):
    kernel = smemkit.RawKernel(RELAY.replace("EARLY", early), "relay")
    found = kernel.predict(500, 1, (numpy.zeros(500, "uint32"),), device="h200", blocks=None)
    trips = found.time_ms * found.card.clocks_per_ms / found.card.l2_clk / 500
    assert (found.limited_by == "turns") == (not early)
    assert (1 < trips < 2) == (not early)


@pytest.mark.parametrize("device", ["l4", "rtx 3060", "h200"])
def test_a_range_ends_at_what_memory_can_pass(device):
    a = smemkit.empty((16384, 16384), "float32", backend="sim")
    found = smemkit.predict(smemkit.transpose, a, variant="copy", device=device)
    assert 2 * 4 * 16384**2 / found.low_ms / 1e6 <= 1.001 * found.card.dram_gbs
    assert found.low_ms < found.time_ms
