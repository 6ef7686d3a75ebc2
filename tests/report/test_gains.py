"""What advice would save on a card: its texts after report.time, against the mended kernels."""

import json

import numpy
import pytest

import smemkit


def profile(function, variant, side=1024, **words):
    a = numpy.broadcast_to(numpy.float32(1), (side, side))
    operands = (a, a) if function is smemkit.gemm else (a,)
    return smemkit.profile(function, *operands, variant=variant, blocks=6, **words)


@pytest.fixture(scope="module")
def column():
    report = profile(smemkit.gemm, "column")
    report.before = str(report)
    report.time("rtx 4090")
    return report


def test_a_pad_saves_what_the_padded_kernel_saves(column):
    """The conflicts of both lines gone: the time of column_padded, which has none."""
    cured = profile(smemkit.gemm, "column_padded").time("rtx 4090")
    whole = column.time("rtx 4090")
    saved = [advice.evidence["predicted ms saved on RTX 4090"] for advice in column.advice]
    assert len(saved) == 2 and all(saved)
    assert whole.time_ms - sum(saved) == pytest.approx(cured.time_ms, rel=0.35)
    assert whole.gains["bank conflicts"] >= max(saved)
    assert whole.advice.startswith("without bank conflicts it would take ")


def test_text_html_and_plain_types_say_it(column):
    texts = " ".join(str(column).split())
    assert "predicted: " in texts and " limited by shared" in texts
    assert texts.count("On RTX 4090 this would save ") == 2
    page = column._repr_html_()
    assert page.count("On RTX 4090 this would save ") == 2 and "<p>predicted: " in page
    plain = json.loads(json.dumps(column.to_dict()))
    assert "On RTX 4090 this would save" in plain["advice"][0]["message"]
    assert "On RTX 4090" not in column.before and "predicted:" not in column.before


def test_the_last_card_is_named(column):
    report = profile(smemkit.gemm, "column", 256)
    assert report.time("t4").card.name == "T4"
    assert all("On T4 this would save" in advice.text for advice in report.advice)
    report.time("h200")
    assert all("On H200 this would save" in advice.text for advice in report.advice)
    assert not any("T4" in advice.text for advice in report.advice)


@pytest.mark.parametrize(
    ("function", "slow", "fast"),
    [(smemkit.transpose, "naive", "padded"), (smemkit.gemm, "naive_uncoalesced", "naive")],
)
def test_coalescing_saves_what_the_coalesced_kernel_saves(function, slow, fast):
    report = profile(function, slow)
    whole = report.time("h200")
    advice = next(each for each in report.advice if each.kind == "uncoalesced")
    left = whole.time_ms - advice.evidence["predicted ms saved on H200"]
    assert left == pytest.approx(profile(function, fast).time("h200").time_ms, rel=0.35)
    assert left < 0.6 * whole.time_ms


def test_what_does_not_limit_the_call_saves_little():
    x = numpy.ones(1 << 20, dtype="float32")
    report = smemkit.profile(smemkit.reduce, x, variant="conflicting", blocks=6)
    limit = report.time("h200").limited_by
    advice = next(each for each in report.advice if each.kind == "bank_conflict")
    assert "this would save little of the predicted" in advice.text
    assert f"{limit} limits it there" in advice.text and limit not in ("shared", "l1")


def test_advice_on_something_else_stays_as_it_was():
    report = profile(smemkit.gemm, "padded", 64)
    before = [advice.text for advice in report.advice]
    report.time("h200")
    assert before and [advice.text for advice in report.advice] == before
