"""Predictions: of calls, of reports, on cards, and what they say of themselves."""

import dataclasses
import json
from pathlib import Path

import numpy
import pytest

import smemkit
from smemkit import compile
from smemkit.predict import local_memory, model, reuse
from smemkit.predict.cards import QUANTITIES
from smemkit.predict.planning import make_sparse


@pytest.fixture(scope="module")
def square():
    return numpy.ones((256, 256), dtype="float32")


def test_bank_conflicts_cost_time_and_are_named(square):
    column = smemkit.predict(smemkit.gemm, square, square, variant="column")
    cured = smemkit.predict(smemkit.gemm, square, square, variant="column_padded")
    assert column.time_ms > 2 * cured.time_ms
    assert column.limited_by == "shared"
    assert column.terms["shared"].source.startswith("column.cu:")
    assert column.terms["shared"].amount > 6 * cured.terms["shared"].amount
    assert column.low_ms < column.time_ms < column.high_ms


def test_a_prediction_reads_as_text_html_and_plain_types(square):
    prediction = smemkit.predict(smemkit.transpose, square, variant="naive", device="rtx 4090")
    text = str(prediction)
    assert "RTX 4090" in text
    assert f"limited by {prediction.limited_by}" in text
    assert "l2 stores" in text
    assert "<table>" in prediction._repr_html_()
    plain = json.loads(json.dumps(prediction.to_dict()))
    assert plain["card"]["name"] == "RTX 4090"
    assert plain["time_ms"] == prediction.time_ms
    assert list(plain["terms"]) == list(prediction.terms)


def test_a_report_of_all_blocks_and_a_sample_predict_alike(square):
    report = smemkit.profile(smemkit.gemm, square, square, variant="tiled")
    sampled = smemkit.predict(smemkit.gemm, square, square, variant="tiled")
    assert report.time("h200").time_ms == pytest.approx(sampled.time_ms, rel=0.05)


def test_places_are_printed_without_their_folders(square):
    prediction = smemkit.predict(smemkit.transpose, square, variant="naive")
    term = next(term for term in prediction.terms.values() if term.source)
    assert term.place == term.source and term.source.startswith("naive.cu:")
    moved = dataclasses.replace(term, source=f"/home/ada/{term.source}")
    assert moved.place == term.source
    other = dataclasses.replace(prediction, terms={**prediction.terms, term.name: moved})
    assert str(other) == str(prediction)
    assert "/home/ada" in other.to_dict()["terms"][term.name]["source"]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("orin", "Jetson AGX Orin"),
        ("3060", "RTX 3060"),
        ("A6000", "RTX A6000"),
        ("tesla t4", "T4"),
        ("4090 laptop", "RTX 4090"),
    ],
)
def test_words_that_one_card_alone_has_name_it(name, owner):
    assert smemkit.card(name).name == owner


@pytest.mark.parametrize("name", ["rtx", "", "6000"])
def test_other_words_name_none(name):
    with pytest.raises(smemkit.ArgumentError, match="the table of cards has no"):
        smemkit.card(name)


def test_a_card_with_a_lower_clock_takes_longer(square):
    report = smemkit.profile(smemkit.gemm, square, square, variant="tiled", blocks=3)
    card = smemkit.card("NVIDIA GeForce RTX 4090")
    slow = dataclasses.replace(card, clock_mhz=card.clock_mhz / 2)
    assert report.time(slow).time_ms > 1.7 * report.time(card).time_ms


def test_units_for_loads_and_stores_limit_loads_of_words(square):
    report = smemkit.profile(smemkit.gemm, square, square, variant="tiled", blocks=3)
    card = smemkit.card("h200")
    half = report.time(dataclasses.replace(card, lsu_lanes_per_clk=16)).terms["l1"]
    assert half.time_ms > 1.4 * report.time(card).terms["l1"].time_ms


def test_every_card_predicts(square):
    report = smemkit.profile(smemkit.gemm, square, square, variant="padded", blocks=2)
    done = {name: report.time(name) for name in smemkit.cards()}
    assert done["T4"].time_ms > done["A100"].time_ms and len(done) >= 16
    for name, prediction in done.items():
        assert 0 < prediction.low_ms < prediction.time_ms < prediction.high_ms, name
        assert not any("PTX" in note for note in prediction.notes), name


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: smemkit.predict(smemkit.gemm, a, a, device="voodoo 2"), "there are T4"),
        (lambda a: smemkit.predict(smemkit.gemm, a, a, cache="hot"), "'warm' and 'cold'"),
        (lambda a: smemkit.predict(lambda: None), "launched no kernel"),
        (lambda a: smemkit.predict(a), "takes a function"),
    ],
)
def test_what_cannot_be_predicted_is_refused(square, call, words):
    with pytest.raises(smemkit.Error, match=words):
        call(square)


def test_constants_have_sources_and_owners_exist():
    for owner, quantity, value, source in smemkit._core._card_rates():
        assert quantity in QUANTITIES
        assert value > 0
        assert len(source) > 4
        if not owner.startswith("0."):
            smemkit.limits(owner)
    for name in smemkit.cards():
        assert set(smemkit.card(name).sources) == set(QUANTITIES)


def test_resident_blocks_are_those_of_occupancy():
    limits = smemkit.limits("9.0")
    expected = smemkit.occupancy("gemm/tiled", (32, 32), compute_capability="9.0")
    found, limit = model.count_resident(limits, 1024, expected.registers, expected.shared_bytes)
    assert (found, limit) == (expected.blocks, "threads")


def test_rounds_of_blocks():
    assert model.spread(1000, 100, 4) == (2, 4, 2)
    assert model.spread(50, 100, 4) == (0, 4, 1)


def make_access(blocks, low, extent, sectors):
    count = len(blocks)
    high = [each + extent for each in low]
    return reuse.Access(
        0, False, blocks, low, high, [sectors] * count, [sectors] * count, [], 1, 1, 1, 0, 1
    )


def test_blocks_of_one_row_share_what_does_not_move_with_x():
    grid = (4, 8, 1)
    blocks = [0, 5, 10, 19, 30]
    rows = make_access(blocks, [1024 * (b // 4) for b in blocks], 1024, 32)
    assert reuse.count_union(rows, grid, 0, 4) == (32, True)
    assert reuse.count_union(rows, grid, 0, 32) == (256, True)


def test_a_kernel_may_take_two_indices_from_x():
    # rows of 4 blocks of 1024 bytes each, one row every 65536 bytes
    places = range(0, 32, 5)
    rows = make_access(places, [65536 * (x // 4) + 1024 * (x % 4) for x in places], 1024, 32)
    assert reuse.fit_origin(rows, (32, 1, 1)) == reuse.Steps(4, (1024.0, 65536.0, 0.0, 0.0))
    # a column that all blocks of equal x % 2 read: of 8 blocks that are 4 apart, all
    columns = make_access(places, [1024 * (x % 2) for x in places], 1024, 32)
    assert reuse.count_shared(columns, (32, 1, 1), 4, 8) == 1 / 8
    assert reuse.count_shared(rows, (32, 1, 1), 4, 8) == 1.0
    # blocks that take numbers in turn have the ranges one behind the other, whatever their index
    taken = make_access(places, [1024 * i for i in range(len(places))], 1024, 32)
    assert reuse.fit_origin(taken, (32, 1, 1)) is None


def test_a_launch_that_touches_nothing_is_predicted():
    kernel = smemkit.RawKernel(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\nret;\n}\n", "f"
    )
    found = kernel.predict((4,), (32,), (), device="h200")
    assert 0 < found.time_ms < 0.01 and found.limited_by == "launch"


def test_few_multiprocessors_have_the_whole_cache():
    x = numpy.ones(1024, "float32")

    def predict(blocks):
        source = """.version 7.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 out)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r1;
ret;
}
"""
        kernel = smemkit.RawKernel(source, "f")
        return kernel.predict((blocks,), (1024,), (x,), device="h200")

    alone, many = predict(1).terms["l2 stores"], predict(132).terms["l2 stores"]
    assert alone.rate == 2.0 and many.rate == smemkit.card("h200").l2_stores_per_clk


def test_what_fits_into_the_cache_is_not_read_again():
    blocks = list(range(8))
    access = make_access(blocks, [4096 * b for b in blocks], 4096, 128)
    warm = reuse.find_traffic([access], (8, 1, 1), 8, 8, 1 << 20, True)
    cold = reuse.find_traffic([access], (8, 1, 1), 8, 8, 1 << 20, False)
    small = reuse.find_traffic([access], (8, 1, 1), 8, 8, 1 << 10, True)
    assert (warm.dram_read, warm.far) == (0.0, 0.0)
    assert (
        cold.dram_read == small.dram_read == 2 * 8 * 4096
    )  # here each sector is a pair of its own


def test_what_is_not_verified_is_named():
    assert smemkit.card("h200").guessed == ()
    orin = smemkit.card("Jetson AGX Orin")
    assert {"dram_ns", "shared_clk"} < set(orin.guessed)
    assert not {"l1_kb", "l2_mb"} & set(orin.guessed)
    assert all(orin.sources[name].startswith("not verified: ") for name in orin.guessed)


def test_a_kernel_predicts_itself():
    x, y = numpy.ones((2, 1 << 14), dtype="float32")
    kernel = smemkit.kernel("vector_add", "naive", "float32")
    grid, block, args = x.size // 256, 256, (x, y, y, x.size)
    found = kernel.predict(grid, block, args, device="t4")
    assert found.card.name == "T4" and found.kernels == ("vector_add_naive_float32",)
    same = smemkit.predict(kernel, grid, block, args, device="t4")
    assert found.time_ms == same.time_ms
    assert kernel[grid, block].predict(*args, device="t4").time_ms == same.time_ms
    cold = kernel.predict(grid, block, args, device="t4", cache="cold", blocks=None)
    assert cold.time_ms >= found.time_ms
    module = smemkit.RawModule(kernel.ptx)
    again = module.get_function(kernel.name).predict(grid, block, args, device="t4")
    assert again.time_ms == pytest.approx(found.time_ms, rel=0.05)
    ptx = kernel.ptx.replace(kernel.name, "mine").replace(".target sm_75", ".target sm_90")
    mine = smemkit.RawKernel(ptx, "mine").predict(grid, block, args, device="t4")
    assert mine.low_ms < found.time_ms < mine.high_ms, "its target says nothing of what it needs"
    with pytest.raises(smemkit.ArgumentError, match="the table of cards has no"):
        kernel.predict(grid, block, args, device="voodoo 2")
    with pytest.raises(TypeError):
        kernel.predict(grid, block)


@pytest.mark.parametrize(
    ("quantity", "value"),
    [("multiprocessors", 0), ("clock_mhz", -5.0), ("dram_gbs", float("nan")), ("l2_mb", "4")],
)
def test_a_card_of_ones_own_has_numbers(quantity, value):
    card = dataclasses.replace(smemkit.card("t4"), **{quantity: value})
    with pytest.raises(smemkit.ArgumentError, match=f"{quantity} of the card T4 is .*above 0"):
        smemkit.card(card)


def test_a_card_without_rates_is_told_those_like_it():
    with pytest.raises(smemkit.ArgumentError, match="Of compute capability 8.6, as that one, are"):
        smemkit.card("RTX 3070")


def test_what_a_card_lacks_is_named():
    a = numpy.ones((64, 64), dtype="int8")
    with pytest.raises(smemkit.BackendError, match="needs compute capability 8.0, T4 has 7.5"):
        smemkit.predict(smemkit.gemm, a, a, device="t4")
    with pytest.raises(smemkit.ArgumentError, match="nothing to time; calls on empty arrays"):
        smemkit.predict(smemkit.transpose, a[:0], device="t4")


COPY = r"""
extern "C" __global__ void copy(const float* x, float* y) {
    __shared__ float row[128];
    unsigned to = (unsigned)__cvta_generic_to_shared(row + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    y[threadIdx.x] = row[127 - threadIdx.x];
}
"""


@pytest.mark.skipif(
    not (compile.find_nvrtc() and compile.find_ptxas() and compile.find_nvdisasm()),
    reason="needs NVRTC, ptxas and nvdisasm: smemkit[nvrtc]",
)
def test_a_kernel_for_a_newer_architecture_is_predicted_for_the_cards():
    kernel = smemkit.RawKernel(COPY, "copy")
    x, y = numpy.ones(128, "float32"), numpy.zeros(128, "float32")
    found = kernel.predict((1,), (128,), (x, y), device="rtx 3060")
    assert not any("machine code" in note for note in found.notes)
    with pytest.raises(smemkit.BackendError, match="copy cannot run on T4, .*8.0, for cp.async"):
        kernel.predict((1,), (128,), (x, y), device="t4")


def predict_product(side, device):
    a = make_sparse((side, side), numpy.dtype("float32"))
    return smemkit.predict(smemkit.gemm, a, a, variant="tiled", device=device)


def test_reads_of_what_the_cache_has_not_kept_are_a_gain():
    """The columns of b are read by each wave of blocks, and do not fit into 4 MB."""
    large = predict_product(8192, "t4")
    again = large.gains["repeated reads of memory"]
    assert 0.001 * large.time_ms < again <= large.gains["dram"]
    small = predict_product(512, "t4")
    assert "repeated reads of memory" not in small.gains


def test_what_is_read_once_is_no_repeated_read():
    a = make_sparse((8192, 8192), numpy.dtype("float32"))
    found = smemkit.predict(smemkit.transpose, a, variant="padded", device="t4")
    assert found.gains["dram"] > 0.5 * found.time_ms
    assert "repeated reads of memory" not in found.gains


WALK = """.version 7.0
.target sm_75
.address_size 64
.visible .entry walk(.param .u64 zeros, .param .u64 out, .param .u32 n, .param .u32 step)
{
.reg .pred %p;
.reg .b32 %r<4>;
.reg .b64 %rd<6>;
ld.param.u64 %rd1, [zeros]; ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [n]; ld.param.u32 %r2, [step];
mov.u32 %r0, %tid.x; mul.wide.u32 %rd3, %r0, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
cvt.u64.u32 %rd4, %r2;
next:
ld.global.u32 %r3, [%rd1]; cvt.u64.u32 %rd5, %r3;
add.u64 %rd1, %rd1, %rd4; add.u64 %rd1, %rd1, %rd5;
ld.global.u32 %r3, [%rd1]; cvt.u64.u32 %rd5, %r3;
add.u64 %rd1, %rd1, %rd4; add.u64 %rd1, %rd1, %rd5;
add.u32 %r1, %r1, -2; setp.ne.u32 %p, %r1, 0; @%p bra next;
st.global.u32 [%rd2], %r3;
ret;
}
"""


def test_memory_hands_out_pairs_of_sectors():
    # each read waits for the one before; of rows of 32 bytes every other comes along
    x = smemkit.zeros((1 << 16,), "float32", backend="sim")
    kernel = smemkit.RawKernel(WALK, "walk")
    fast, slow = (
        kernel.predict(
            (1,), (step // 4,), (x, x, (1 << 18) // step, step), device="h200", cache="cold"
        )
        for step in (32, 64)
    )
    assert fast.limited_by == slow.limited_by == "latency"
    assert slow.time_ms / (1 << 12) > 1.2 * fast.time_ms / (1 << 13)


@pytest.mark.parametrize(("rows", "columns", "clocks"), [(1_000_000, 8, 757), (500_000, 16, 819)])
def test_reads_side_by_side_wait_together(rows, columns, clocks):
    """Eight rows are read at a time; the clocks are those of an H200."""
    x = smemkit.empty((1, rows, columns), "float32", backend="sim")
    found = smemkit.predict(smemkit.reduce_axis, x, variant="thread", cache="cold")
    assert found.limited_by == "latency"
    assert found.time_ms / (rows / 8) * 1.98e6 == pytest.approx(clocks, rel=0.1)


def test_clearing_memory_costs_less_than_a_launch():
    # a sum by atomics begins at 0: its call clears 4 bytes first
    a = numpy.zeros(1 << 12, "f4")
    cleared = smemkit.predict(smemkit.dot, a, a, variant="shared")
    card = smemkit.card("h200")
    assert cleared.terms["launch"].amount == 2
    assert cleared.terms["launch"].time_ms == pytest.approx((card.launch_us + card.clear_us) / 1e3)
    assert card.clear_us < card.launch_us


def test_a_launch_that_may_begin_early_costs_less():
    x = smemkit.empty(1 << 16, "float32", backend="sim")
    late, early = (
        smemkit.predict(smemkit.reduce, x, variant=name) for name in ("single_pass", "overlapped")
    )
    rates = json.loads(Path(__file__).with_name("rates_h200.json").read_text(encoding="utf-8"))
    saved = [row["us"] - row["early"] for row in rates["early_launches"]["rows"]]
    card = early.card
    assert card.launch_us - card.early_us == pytest.approx(sum(saved) / len(saved), abs=0.05)
    assert early.terms["launch"].time_ms == pytest.approx(card.early_us / 1e3)
    assert late.terms["launch"].time_ms == pytest.approx(card.launch_us / 1e3)


def test_local_memory_is_written_through():
    card = smemkit.card("h200")
    rows = [
        {"counters": {"local.store.sectors": 32 * 8, "local.store.requests": 8}},
        {"counters": {"local.store.sectors": 4 * 5, "local.store.requests": 5}},
    ]
    facts = {
        "counters": {"local.load.sectors": 100},
        "instructions": rows,
        "ptx": ".entry f() { .local .align 4 .b8 depot[256]; ret; }",
        "kernel": "f",
        "block": (128, 1, 1),
        "shared_bytes": 0,
        "blocks": 2,
        "blocks_total": 2 * 132,
    }
    cache = 1 << 30
    few = local_memory.find_traffic(facts, card, 1, cache)  # 32 KiB on each multiprocessor
    assert few == (0.0, 132 * 20, 132 * 256, 0.0, 0.0, 0.0)
    facts["blocks_total"] = 16 * 132
    many = local_memory.find_traffic(facts, card, 16, cache)  # 512 KiB, and 224 fit
    missed = 1 - 224 / 512
    assert many == (missed * 8 * 132 * 100, 8 * 132 * 20, 8 * 132 * 256, missed, 0.0, 0.0)
    small = local_memory.find_traffic(facts, card, 16, 132 << 18)  # half of it fits
    assert small.dram_read == 0.5 * 64 * (many.read + many.partly)
    assert small.dram_written == 0.5 * 64 * (many.written + many.partly)
