"""Pictures of predicted rows: hatched bars and dashed lines, with the range of the prediction."""

import dataclasses

import numpy
import pytest
from support.pictures import list_texts, point_of

import smemkit
from smemkit import plot
from smemkit.bench import Measurement, Results
from smemkit.plot import style

pytest.importorskip("matplotlib")
SPEEDS = {"naive": 4000, "tiled": 8000, "padded": 6500, "cublas": 50000}  # GFLOP/s


@pytest.fixture(autouse=True)
def no_screen():
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def make_gemm(variant, n, gflop_per_s):
    words = {"dtype": "float32", "machine": "cuda", "nbytes": 12.0 * n * n, "flops": 2.0 * n**3}
    time_ms = 2.0 * n**3 / gflop_per_s / 1e6
    return Measurement("gemm", variant, (n, n, n), times_ms=(time_ms,), **words)


@pytest.fixture
def rows():
    return [make_gemm(name, n, s * n / 1024) for name, s in SPEEDS.items() for n in (1024, 256)]


def predict_rows(rows):
    """The rows as they would be predicted, 10 % faster, with a range of 25 %."""
    return [
        dataclasses.replace(
            row,
            machine="predicted",
            times_ms=(row.median_ms / 1.1,),
            low_ms=row.median_ms / 1.375,
            high_ms=row.median_ms / 0.88,
            limited_by="shared",
        )
        for row in rows
    ]


def test_ladder_hatches_what_is_predicted(rows):
    measured = [row for row in rows if row.shape == (1024, 1024, 1024)]
    guessed = predict_rows(row for row in measured if row.variant != "cublas")
    results = Results([*measured, *guessed], {"device": "A", "predicted_for": "RTX 4090"})
    ax = plot.ladder(results)
    hatched = [bar.get_hatch() is not None for bar in ax.patches]
    assert hatched == [False] * 4 + [True] * 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "measured",
        "predicted; the whisker is its range",
    ]
    assert [text.get_text() for text in ax.get_yticklabels()][4] == "naive (predicted)"
    bar = ax.patches[4]
    (whisker,) = ax.collections[0].get_segments()
    assert whisker[0][0] == pytest.approx(0.88 * 4000)
    assert whisker[1][0] == pytest.approx(1.375 * 4000)
    assert bar.get_width() == pytest.approx(4400)
    assert point_of(ax).startswith("tiled is 2 times as fast as naive"), "of what was measured"
    assert "A, date not given; predicted for RTX 4090" in list_texts(ax, "source")[0]
    places = [text.xy[0] for text in ax.texts if text.get_gid() == "value"]
    assert places[4] == pytest.approx(1.375 * 4000), "words stand behind the whisker"


def test_ladder_of_predictions_alone_says_would(rows):
    guessed = predict_rows(row for row in rows[:3:2] if row.variant != "cublas")
    ax = plot.ladder(Results(guessed, {"predicted_for": "T4"}))
    assert point_of(ax) == "tiled would be 2 times as fast as naive"
    (words,) = list_texts(ax, "source")
    assert words.endswith("predicted for T4") and "medians" not in words
    assert len(ax.get_legend().get_texts()) == 1
    assert plot.ladder(rows[:3:2]).get_legend() is None


def test_speed_dashes_what_is_predicted(rows):
    guessed = predict_rows(row for row in rows if row.variant == "tiled")
    ax = plot.speed(Results([*rows, *guessed], {"device": "A", "predicted_for": "T4"}))
    lines = {bars.get_label(): bars for bars in ax.containers}
    data, _, (bars,) = lines["tiled (predicted)"].lines
    assert data.get_markerfacecolor() == style.PAPER and data.is_dashed()
    assert not lines["tiled"].lines[0].is_dashed()
    ends = sorted(end[1] for end in bars.get_segments()[1])
    assert ends == pytest.approx([0.88 * 8000, 1.375 * 8000])
    words = list_texts(ax, "source")[0].replace("\n", " ")
    assert "dashed lines are predictions, bars over their range" in words


def test_terms_show_where_the_time_goes():
    a = numpy.ones((256, 256), dtype="float32")
    found = smemkit.predict(smemkit.gemm, a, a, variant="column", device="rtx 4090")
    ax = plot.terms(found)
    shown = [term for term in found.terms.values() if term.time_ms >= 0.01 * found.time_ms]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [term.name for term in shown] and "shared" in names
    assert all(bar.get_hatch() for bar in ax.patches[: len(shown)])
    widths = [bar.get_width() / 1e3 for bar in ax.patches[: len(shown)]]
    assert widths == pytest.approx([term.time_ms for term in shown])
    words = dict(zip(names, list_texts(ax, "value"), strict=True))
    wavefronts = found.terms["shared"].amount
    assert words["shared"].endswith(f"{wavefronts / 1e6:.3g} million wavefronts · column.cu:37")
    assert point_of(ax).startswith("Limited by shared: ")
    assert "predicted for RTX 4090" in list_texts(ax, "source")[0]
    assert "[µs]" in ax.get_xlabel()
    slow = dataclasses.replace(found, time_ms=2.0, terms=dict(list(found.terms.items())[:1]))
    assert "[ms]" in plot.terms(slow, title="Mine").get_xlabel()
    with pytest.raises(smemkit.ArgumentTypeError, match="draws a Prediction"):
        plot.terms(found.terms)
