"""The tables of published ladders in docs/predict.md: whole, as made, and near the publications."""

import pytest
from predict import ladders

import smemkit


@pytest.fixture(scope="module")
def rows():
    return ladders.read_rows()


def test_every_rung_is_predicted(rows):
    published = [
        (ladder.name, rung.name, float(f"{rung.measured_ms:.6g}"))
        for ladder in ladders.list_ladders()
        for rung in ladder.rungs
    ]
    assert [(row["ladder"], row["rung"], row["measured_ms"]) for row in rows] == published
    assert len(rows) >= 25


def test_the_page_has_the_rungs(rows):
    page = ladders.PAGE.read_text(encoding="utf-8")
    assert ladders.fill_page(page, rows) == page


def test_predictions_are_near_what_others_measured(rows):
    for ladder, members in ladders.group_rows(rows):
        facts = ladders.sum_up(ladder, members)
        assert facts["tau"] is None or facts["tau"] >= 0.8, ladder.name
        assert not ladder.timed or facts["median"] <= ladders.NEAR, ladder.name


def test_a_kernel_of_ours_is_near_the_same_rung_of_others(rows):
    """The first two rungs of the A6000, whose machine code is carried along."""
    ladder = next(each for each in ladders.list_ladders() if each.name == "sgemm, RTX A6000")
    a = smemkit.zeros((4096, 4096), dtype="float32", backend="sim")
    for rung, variant in zip(ladder.rungs, ("naive_uncoalesced", "naive"), strict=False):
        done = smemkit.predict(smemkit.gemm, a, a, variant=variant, device=ladder.card, blocks=2)
        assert done.time_ms == pytest.approx(rung.measured_ms, rel=0.25)
