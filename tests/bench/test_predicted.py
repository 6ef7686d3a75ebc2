"""Rows whose times are predicted for a card: benchmarks, ladders and memory walls without it."""

import json

import numpy
import pytest

import smemkit
from smemkit import bench
from smemkit.bench import predicted, workloads

FEW = ("naive", "tiled")


@pytest.fixture(scope="module")
def ladder():
    return bench.evolution("gemm", 256, variants=FEW, predicted=True, device="rtx 4090")


def test_a_predicted_ladder_says_what_it_is(ladder):
    assert [row.variant for row in ladder] == list(FEW)
    for row in ladder:
        assert row.is_predicted and row.machine == "predicted"
        assert row.low_ms < row.median_ms < row.high_ms
        assert row.range_ms == (row.low_ms, row.high_ms)
    direct = smemkit.predict(
        smemkit.gemm,
        *workloads.make_workload("gemm", 256).make_inputs(numpy.random.default_rng(1)),
        variant="tiled",
        device="rtx 4090",
    )
    assert ladder[1].median_ms == pytest.approx(direct.time_ms, rel=1e-6)
    assert ladder[1].limited_by == direct.limited_by
    assert ladder.provenance["predicted_for"] == "RTX 4090"
    steps = ladder.steps
    assert steps[0].over_naive == 1 and steps[0].over_cpu is None and steps[0].of_library is None
    assert steps[1].over_naive == pytest.approx(ladder[0].median_ms / ladder[1].median_ms)
    assert steps[1].low_ms == ladder[1].low_ms


def test_its_texts_show_range_and_limit(ladder):
    head, *rows = str(ladder).splitlines()
    assert head.split() == "step machine time range over naive limited by".split()
    assert rows[1].split()[:2] == ["tiled", "predicted"] and rows[1].endswith(ladder[1].limited_by)
    assert "| range |" in ladder.to_markdown()
    plain = str(bench.Results(ladder.rows, ladder.provenance))
    assert "limited by" in plain and "predicted" in plain
    frame = ladder.to_dataframe()
    assert list(frame["low_ms"]) == [row.low_ms for row in ladder]


def test_it_survives_a_file_and_measured_rows_stay_as_they_were(ladder, tmp_path):
    ladder.save(tmp_path / "x.json")
    again = bench.load(tmp_path / "x.json")
    assert again.rows == ladder.rows and again.provenance == ladder.provenance
    recorded = bench.recorded("h200").select(family="dot")
    assert not any("low_ms" in row for row in recorded.to_dict()["rows"])
    assert not any(row.is_predicted for row in recorded)
    assert "low_ms" not in recorded.to_dataframe()
    slow, fast = recorded[0].quantile_ms(0.2), recorded[0].quantile_ms(0.8)
    assert recorded[0].range_ms == (slow, fast)


def test_measured_rows_stand_before_their_predictions():
    results = bench.recorded("h200").select(family="vector_add")
    shape = next(row.shape for row in results if row.shape[0] == 1 << 20)
    found = bench.evolution(
        "vector_add", shape, predicted=True, device="NVIDIA H200", results=results
    )
    ours = [(row.variant, row.machine) for row in found if row.machine != "cpu"]
    assert ours[:2] == [("naive", "cuda"), ("naive", "predicted")]
    assert found.provenance["device"] == "NVIDIA H200"
    naive = [step for step in found.steps if step.variant == "naive"]
    assert [step.over_naive for step in naive] == [1, 1]


def test_run_predicts_sizes_and_states_of_the_cache():
    found = bench.run(
        "vector_add", "naive", [1000, 1 << 20], predicted=True, device="t4", cache=("warm", "cold")
    )
    assert [(row.shape, row.cache) for row in found] == [
        ((1000,), "warm"),
        ((1000,), "cold"),
        ((1 << 20,), "warm"),
        ((1 << 20,), "cold"),
    ]
    assert found[3].median_ms >= found[2].median_ms > found[0].median_ms
    assert found.provenance["card"]["name"] == "T4" and json.dumps(found.provenance)


def test_a_card_gets_what_it_can_run_and_what_does_the_work():
    old, new = smemkit.card("t4"), smemkit.card("h200")
    case = workloads.make_workload("gemm", 64)
    assert "tuned" not in predicted.list_predictable(case, old)
    assert "tuned" in predicted.list_predictable(case, new)
    assert "tensor" not in predicted.list_predictable(case, new)  # float32 is not its type
    turned = workloads.make_workload("transpose", 64)
    assert "copy" not in predicted.list_predictable(turned, new)
    with pytest.raises(smemkit.BackendError, match=r"needs compute capability 8\.0, T4 has 7\.5"):
        bench.evolution("gemm", 64, variants=["tuned"], predicted=True, device=old)
    lines = []
    found = bench.evolution(
        "gemm", 64, variants=["naive", "tuned"], predicted=True, device=old, warn=lines.append
    )
    assert [row.variant for row in found] == ["naive"]
    assert len(lines) == 1 and "without tuned" in lines[0]


def test_a_card_that_can_run_no_variant_is_refused():
    said = "no variant of gemm for float16 runs on T4, which has compute capability 7.5"
    with pytest.raises(smemkit.BackendError, match=said):
        bench.evolution("gemm", 64, predicted=True, device="t4", dtype="float16")


def test_memory_wall_of_a_card_that_is_not_there():
    wall = bench.memory_wall("gemm", 256, variants=FEW, predicted=True, device="rtx 4090")
    card = smemkit.card("rtx 4090")
    assert wall.predicted_for == "RTX 4090"
    assert wall.gb_per_s == pytest.approx(card.dram_gbs * card.dram_share)
    assert wall.gflop_per_s == pytest.approx(2 * 128 * card.multiprocessors * card.clock_mhz / 1e3)
    assert wall.bound in ("memory", "arithmetic") and 0 < wall.rows[1].reached < 1
    assert wall.rows[0].counted_bytes == wall.rows[0].predicted_bytes
    assert wall.rows[0].low_ms < wall.rows[0].time_ms < wall.rows[0].high_ms
    text = str(wall)
    assert "predicted for RTX 4090" in text and " to " in text
    double = predicted.find_ceilings(card, "float64")["gflop_per_s"]
    assert double == pytest.approx(wall.gflop_per_s / 64)
    measured = bench.memory_wall("gemm", 64, variants=FEW, backend="sim")
    assert measured.predicted_for is None


@pytest.mark.parametrize("function", [bench.run, bench.evolution, bench.memory_wall])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"device": "t4"}, "write predicted=True"),
        ({"predicted": 1}, "True or False"),
        ({"predicted": True, "device": "voodoo 2"}, "the table of cards has no 'voodoo 2'"),
        ({"predicted": True, "backend": "sim"}, "leave backend= out"),
    ],
)
def test_wrong_words_are_refused(function, words, message):
    with pytest.raises(smemkit.Error, match=message):
        function("gemm", **words)


def test_results_of_another_card_are_refused():
    with pytest.raises(smemkit.ArgumentError, match="would compare two cards"):
        bench.evolution("gemm", 4096, predicted=True, device="t4", results=bench.recorded("h200"))
    other = bench.Results(bench.recorded("h200").rows[:1], {"device": "a card of one's own"})
    with pytest.raises(smemkit.ArgumentError, match="would compare two cards"):
        bench.evolution("gemm", 4096, predicted=True, results=other)
    nothing = bench.Results([], {"device": "NVIDIA H200"})
    with pytest.raises(smemkit.ArgumentError, match="have no times of"):
        bench.evolution("gemm", 64, variants=FEW, predicted=True, results=nothing)
