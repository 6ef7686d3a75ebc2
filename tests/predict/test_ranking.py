"""rank: which choice is the fastest on a card, which may be as fast, and which cannot run."""

import dataclasses
import json

import numpy
import pytest

import smemkit
from smemkit.predict import ranking


@pytest.fixture(scope="module")
def square():
    return numpy.ones((512, 512), dtype="float32")


@pytest.fixture(scope="module")
def turned(square):
    return smemkit.rank(smemkit.transpose, square, device="t4")


def test_variants_of_a_family_by_time(turned, square):
    labels = [row.label for row in turned.rows]
    assert set(labels) == set(smemkit.variants("transpose")) - {"copy"}
    times = [row.prediction.time_ms for row in turned.rows]
    assert times == sorted(times) and labels[-1] == "naive"
    assert turned.best == {"variant": labels[0]} and turned.prediction.time_ms == times[0]
    alone = smemkit.predict(smemkit.transpose, square, device="t4", **turned.best)
    assert turned.prediction.time_ms == pytest.approx(alone.time_ms)
    assert numpy.array_equal(smemkit.transpose(square, backend="sim", **turned.best), square.T)


def test_what_may_be_as_fast_is_named(turned):
    first = turned.prediction
    for row in turned.rows[1:]:
        assert (row in turned.rivals) == (row.prediction.low_ms <= first.time_ms)
    assert turned.rivals and not turned.is_clear
    assert f"{turned.rivals[0].label}" in turned.summary and "may be as fast" in turned.summary
    two = dataclasses.replace(turned, rows=(turned.rows[0], turned.rows[-1]))
    assert two.is_clear and two.summary.endswith("times as fast as naive, the next")
    alone = dataclasses.replace(turned, rows=turned.rows[:1])
    assert alone.is_clear and "next" not in alone.summary


def test_it_reads_as_text_html_and_plain_types(turned):
    text, page = str(turned), turned._repr_html_()
    assert "T4" in text and "times the fastest" in text and "limited by" in text
    assert page.count("<tr>") == 1 + len(turned.rows) and "naive" in page
    plain = json.loads(json.dumps(turned.to_dict()))
    assert plain["kind"] == "ranking" and plain["best"] == turned.best
    assert [row["label"] for row in plain["rows"]] == [row.label for row in turned.rows]
    assert plain["rivals"] == [row.label for row in turned.rivals]
    assert repr(turned).startswith("<Ranking of 5 choices of transpose: ")


def test_what_a_card_cannot_run_is_a_row_with_the_reason(square):
    choices = {"variant": ("tiled", "tuned", "tensor")}
    found = smemkit.rank(smemkit.gemm, square, square, device="t4", choices=choices)
    assert [row.label for row in found.rows] == ["tiled", "tuned", "tensor"]
    assert "needs compute capability 8.0, T4 has 7.5" in found.rows[1].refusal
    assert "These cannot run:\n  tuned: " in str(found) and "<li>tuned: " in found._repr_html_()
    with pytest.raises(smemkit.BackendError, match=r"needs compute capability 8\.0"):
        smemkit.rank(smemkit.gemm, square, square, device="t4", choices={"variant": ["tuned"]})


def test_blocks_of_a_kernel_of_ones_own():
    x, y = numpy.ones((2, 1 << 16), dtype="float32")
    kernel = smemkit.kernel("vector_add", "naive", "float32")

    def launch(block, many=1):
        kernel(x.size // block, block, (x, y, y, x.size), backend="sim")

    found = smemkit.rank(launch, device="h200", choices={"block": (32, 256), "many": [1]})
    assert found.best == {"block": 256, "many": 1} and found.function == "launch"
    assert [row.label for row in found.rows] == ["block=256, many=1", "block=32, many=1"]
    assert ranking.make_plain((1, numpy.float32(2))) == [1, "2.0"]


def test_rounding_is_compared_only_where_it_is_asked_for():
    assert "tf32" not in ranking.list_variants("gemm", "full")["variant"]
    assert "tf32" in ranking.list_variants("gemm", "tf32")["variant"]
    assert "copy" not in ranking.list_variants("transpose", "None")["variant"]


@pytest.mark.parametrize(
    ("function", "words", "message"),
    [
        (3, {}, "takes a function"),
        (len, {}, "needs choices"),
        (len, {"choices": {}}, "nothing to compare"),
        (len, {"choices": {"pad": ()}}, "nothing to compare"),
        (len, {"choices": {"pad": "01"}}, "a list of values"),
        (len, {"choices": {"pad": 1}}, "a list of values"),
        (len, {"choices": ["pad"]}, "a dict from keywords"),
        (len, {"choices": {1: [2]}}, "a list of values"),
        (len, {"choices": {"a": range(17), "b": range(17)}}, "289 combinations"),
        (len, {"choices": {"a": [1]}, "device": "voodoo 2"}, "the table of cards has no"),
    ],
)
def test_what_cannot_be_ranked_is_refused(function, words, message):
    with pytest.raises(smemkit.Error, match=message):
        smemkit.rank(function, **words)


def test_errors_of_the_function_itself_are_raised():
    def launch(pad):
        raise KeyError(pad)

    with pytest.raises(KeyError):
        smemkit.rank(launch, choices={"pad": (0, 1)})


def test_a_launch_that_does_not_fit_a_card_is_refused(square):
    with pytest.raises(smemkit.BackendError, match="'tuned' needs compute capability 8.0, T4 has"):
        smemkit.predict(smemkit.gemm, square, square, variant="tuned", device="t4")
    report = smemkit.profile(smemkit.gemm, square, square, variant="tuned", blocks=1)
    report._captured[-1]["shared_bytes"] = 200_000
    with pytest.raises(smemkit.SharedMemoryError, match="on RTX 4090 has 101,376 at most"):
        report.time("rtx 4090")
    assert report.time("h200").time_ms > 0
    report._captured[-1]["ptx"] = report._captured[-1]["ptx"].replace("sm_80", "sm_90a")
    with pytest.raises(smemkit.BackendError, match=r"runs on compute capability 9\.0 alone"):
        report.time("b200")
