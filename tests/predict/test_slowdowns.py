"""The table of slowdowns, by which "auto" chooses where no kernel was measured."""

import json

import numpy
import pytest
from predict import choices, slowdowns

import smemkit
from smemkit import _core
from smemkit.predict.planning import plan_for

TABLE = slowdowns.TABLE.read_text(encoding="utf-8")

LARGE_TILES = ("tensor", "tf32")  # variants that need more shared memory than some cards have


def test_each_row_that_auto_may_take_has_a_pace_on_each_card_that_can_run_it():
    known = slowdowns.read_table(TABLE)
    assert list(known) == slowdowns.list_rows()
    least = {card.name: float(card.compute_capability) for card in slowdowns.list_cards()}
    for (family, variant, _), found in known.items():
        needed = float(_core.variants(family)[variant]["compute_capability"])
        able = {name for name, capability in least.items() if capability >= needed}
        assert found.keys() <= able
        if variant not in LARGE_TILES:
            assert found.keys() == able


def test_the_cards_are_those_of_predictions():
    for card in slowdowns.list_cards():
        assert slowdowns.write_card(card) in TABLE
    assert slowdowns.write_table(slowdowns.read_table(TABLE)) == TABLE


@pytest.mark.parametrize("row", [("sort", "shuffle", "float32"), ("sort", "bitonic", "float32")])
def test_the_table_is_that_of_the_present_model(row):
    """Of two cheap rows; `predict.slowdowns --check` compares all."""
    made = {row: slowdowns.find_slowdowns(row)}
    assert not list(slowdowns.find_changes(slowdowns.read_table(TABLE), made, least=0.25))


def test_kernels_that_predictions_cannot_tell_apart_keep_their_order():
    row, other, far = (
        ("reduce", name, "float32") for name in ("single_pass", "shuffle", "divergent")
    )
    found = slowdowns.settle({row: {"T4": 2.0}, other: {"T4": 1.9, "A100": 3.0}, far: {"T4": 1.5}})
    assert found == {row: {"T4": 2.0}, other: {"T4": 2.0, "A100": 3.0}, far: {"T4": 1.5}}


def take(machine, *call):
    before = _core._plan_for(machine)
    try:
        return _core._explain_choice(*call, backend="sim")
    finally:
        _core._plan_for(before)


@pytest.mark.parametrize(
    ("name", "capability", "multiprocessors", "card"),
    [
        ("NVIDIA GeForce RTX 3070", 86, 46, "RTX 3060"),
        ("NVIDIA RTX A5000", 86, 64, "A10"),
        ("NVIDIA GeForce RTX 4090", 89, 128, "RTX 4090"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", 89, 24, "RTX 4060"),
        ("NVIDIA A100-SXM4-80GB", 80, 108, "A100"),
        ("NVIDIA B300", 103, 148, "B200"),
        ("NVIDIA GB10", 121, 48, "RTX 5090"),
        ("NVIDIA H200", 90, 132, None),
        ("NVIDIA H100 PCIe", 90, 114, None),
        ("Tesla V100", 70, 80, None),
        ("NVIDIA Thor", 110, 20, None),
        (None, 86, 28, None),
    ],
)
def test_a_gpu_is_judged_by_the_card_that_is_most_like_it(name, capability, multiprocessors, card):
    x = numpy.ones(1 << 16, dtype="float32")
    assert take((name, capability, multiprocessors), "reduce", x)["card"] == card


def test_an_h200s_order_stays_where_another_kernel_gains_little():
    x = numpy.zeros(2_000_000, "uint8")
    choice = smemkit.explain_choice(smemkit.histogram, x, device="t4")
    measured = smemkit.explain_choice(smemkit.histogram, x, backend="sim").variant
    assert choice.variant == measured == "lane"
    assert choice["lane"].speed / 1.3 < choice["even"].speed < choice["lane"].speed
    assert "The order of an H200 stays where" in " ".join(str(choice).split())
    a = numpy.broadcast_to(numpy.float32(1), (256, 256))
    choice = smemkit.explain_choice(smemkit.gemm, a, a, device="t4")
    other = min(row.time_us for row in choice.candidates if row.takes_part and not row.refusal)
    assert other <= choice[choice.variant].time_us < 1.3 * other


def test_nothing_changes_where_the_kernels_were_measured():
    a = numpy.broadcast_to(numpy.float32(1), (777, 777))
    plain = _core._explain_choice("gemm", a, a, backend="sim")
    assert take(("NVIDIA H200", 90, 132), "gemm", a, a) == plain
    assert plain["card"] is None


def test_tensor_cores_at_half_their_rate_lose_to_multiply_adds():
    """A GeForce card makes products of bfloat16 with sums of float32 half as fast as others."""
    a = numpy.broadcast_to(numpy.float32(1), (3000, 3000))
    assert smemkit.explain_choice(smemkit.gemm, a, a, device="a100").variant == "tuned"
    choice = smemkit.explain_choice(smemkit.gemm, a, a, device="rtx 3060")
    assert choice.variant in ("fma", "lean", "warp_tiled")
    assert choice["tuned"].speed < choice[choice.variant].speed
    assert _core._explain_choice("gemm", a, a, backend="sim")["taken"] == "tuned"


def test_predictions_are_planned_for_their_card():
    x = numpy.ones((160, 160), dtype="float64")
    assert smemkit.predict(smemkit.gemm, x, x, device="h200").kernels[0].startswith("gemm_dmma")
    found = smemkit.predict(smemkit.gemm, x, x, device="t4")  # which cannot run that kernel
    assert "dmma" not in found.kernels[0]
    with pytest.raises(smemkit.BackendError, match="needs compute capability 9.0"):
        smemkit.predict(smemkit.gemm, x, x, variant="dmma", device="t4")
    assert _core._plan_for(None) is None, "the machine is given back"


def test_plans_nest_and_refuse_what_is_no_machine():
    with plan_for(smemkit.card("t4")), plan_for(smemkit.card("a100")):
        assert _core._plan_for(("T4", 75, 40)) == ("A100", 80, 108)
        assert _core._plan_for(("A100", 80, 108)) == ("T4", 75, 40)
    assert _core._plan_for(None) is None
    with pytest.raises(TypeError, match="None or"):
        _core._plan_for(75)
    with pytest.raises(smemkit.ArgumentError, match=r"1\.2 is not in the table"):
        _core._plan_for(("T4", 12, 40))
    assert _core._plan_for(None) is None


def test_choices_by_predictions_are_faster_than_an_h200s_order():
    rows = json.loads(choices.FOUND.read_text(encoding="utf-8"))
    assert {row["card"] for row in rows} == set(choices.CARDS)
    near = [sum(choices.find_loss(row, which) <= 1.1 for row in rows) for which in choices.WHICH]
    assert near[0] > near[1]
    gains = [choices.find_gain(row) for row in rows]
    assert sum(gain > 1.1 for gain in gains) > sum(gain < 1 / 1.1 for gain in gains)
    page = choices.PAGE.read_text(encoding="utf-8")
    assert choices.fill_page(page, rows) == page
