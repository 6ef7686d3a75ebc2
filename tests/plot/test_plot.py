"""Pictures: what is drawn, with which labels and units, and what is refused."""

import builtins
import dataclasses
import doctest
import math
import sys
import types

import numpy
import pytest
from support.pictures import list_texts, point_of, predict_copy

import smemkit
from smemkit import plot, probe
from smemkit.bench import Measurement, Results
from smemkit.plot import _tiles, style

matplotlib = pytest.importorskip("matplotlib")
PICTURES = plot.__all__


@pytest.fixture(autouse=True)
def no_screen():
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def make_gemm(variant, n, gflop_per_s, machine="cuda", spread=(0.9, 1.0, 1.0, 1.0, 1.2)):
    flops = 2.0 * n**3
    time_ms = flops / gflop_per_s / 1e6
    return Measurement(
        "gemm",
        variant,
        (n, n, n),
        "float32",
        machine,
        times_ms=tuple(time_ms * factor for factor in spread),
        nbytes=12.0 * n * n,
        flops=flops,
    )


@pytest.fixture
def rows():
    speeds = {"naive": 4000, "tiled": 8000, "padded": 6500, "cublas": 50000}
    return [make_gemm(name, n, s * n / 1024) for name, s in speeds.items() for n in (1024, 256)]


def make_bank_rows(steps=(1, 2, 4, 32, 33)):
    for step in steps:
        ways = math.gcd(step, 32)
        words = {"shape": (1,), "dtype": "float32", "parameters": {"stride": step}}
        counters = {"shared.load.instructions": 7, "shared.load.wavefronts": 7 * ways}
        yield Measurement("probe", "bank_access", machine="sim", counters=counters, **words)
        yield Measurement("probe", "bank_access", machine="cuda", times_ms=(0.5 * ways,), **words)


@pytest.fixture(scope="module")
def reports():
    square = numpy.ones((64, 64), dtype="float32")
    return {
        name: smemkit.profile(smemkit.gemm, square, square, variant=name, backend="sim")
        for name in ("naive", "naive_uncoalesced", "column")
    }


def find_colours(ax):
    """The colours of the bars."""
    return [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches]


# Speed and ladder ---------------------------------------------------------------------------------


def test_speed_draws_medians_by_size(rows):
    ax = plot.speed(Results(rows, {}))
    assert list_texts(ax, "end") == ["naive", "tiled", "padded", "cublas"]
    line = ax.containers[1][0]
    assert line.get_xdata().tolist() == [256, 1024]
    assert line.get_ydata() == pytest.approx([2000, 8000])
    assert ax.get_ylabel().startswith("GFLOP/s")
    assert ax.get_xlabel() == "size n (every dimension is n)"
    assert ax.get_xscale() == "log" and ax.get_ylim()[0] == 0
    assert point_of(ax) == (
        "tiled is 2 times as fast as naive and reaches 16 % of cublas's speed at 1,024"
    )
    ax.figure.canvas.draw()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["256", "1,024"]


def test_speed_bars_are_quantiles():
    row = make_gemm("tiled", 512, 1000, spread=tuple(numpy.linspace(0.5, 1.5, 11)))
    (_, _, (bars,)) = plot.speed([row]).containers[0]
    ((_, low), (_, high)) = bars.get_segments()[0]
    assert low == pytest.approx(1000 / 1.3) and high == pytest.approx(1000 / 0.7)


@pytest.mark.parametrize(
    ("unit", "value", "label"),
    [
        ("gb_per_s", 12 * 1024**2 / (2 * 1024**3 / 8000e6) / 1e6, "GB/s"),
        ("median_ms", 2 * 1024**3 / 8000e6, "median time [ms]"),
    ],
)
def test_speed_in_other_units(rows, unit, value, label):
    ax = plot.speed(rows, unit=unit)
    assert ax.containers[1][0].get_ydata()[-1] == pytest.approx(value)
    assert ax.get_ylabel().startswith(label)


def test_speed_takes_bytes_where_there_is_little_to_compute():
    row = Measurement("dot", "shuffle", (10,), "float32", "cuda", (1.0,), nbytes=80.0, flops=20.0)
    assert plot.speed([row]).get_ylabel().startswith("GB/s")


def test_speed_tells_apart_what_differs(rows):
    cold = [make_gemm("naive", 256, 100, machine="cpu")]
    assert list_texts(plot.speed(rows + cold), "end")[-1] == "naive (cpu)"
    maxima = [
        Measurement("reduce", "shuffle", (8,), "int32", "cuda", (1.0,), (), None, {}, 32.0, 8.0)
        for _ in range(2)
    ]
    for row, op in zip(maxima, ("max", "sum"), strict=True):
        row.parameters["op"] = op
    assert list_texts(plot.speed(maxima), "end") == ["shuffle (op max)", "shuffle (op sum)"]
    warm = dataclasses.replace(rows[0], cache="warm")
    assert list_texts(plot.speed([*cold, warm]), "end") == ["naive (cpu)", "naive"]
    assert list_texts(plot.speed([dataclasses.replace(warm, cache="cold"), warm]), "end") == [
        "naive (cold)",
        "naive (warm)",
    ]


def test_lines_far_apart_have_a_logarithmic_axis(rows):
    far = [make_gemm("naive_uncoalesced", n, 500) for n in (1024, 256)]
    ax = plot.speed(rows + far)
    assert ax.get_yscale() == "log"
    ax.figure.canvas.draw()
    ticks = [label.get_text() for label in ax.get_yticklabels()]
    assert {"500", "1,000", "20,000"} <= set(ticks)


def test_many_lines_differ_in_more_than_colour():
    rows = [make_gemm(f"v{i}", n, 100 + i) for i in range(14) for n in (64, 128)]
    looks = {
        (line[0].get_color(), line[0].get_marker(), line[0].get_linestyle())
        for line in plot.speed(rows).containers
    }
    assert len(looks) == 14


def test_ladder_says_parts_of_the_peer(rows):
    large = [row for row in rows if row.shape[0] == 1024]
    host = make_gemm("numpy", 1024, 400, machine="cpu")
    ax = plot.ladder([host, *large])
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([400, 4000, 8000, 6500, 50000])
    words = list_texts(ax, "value")
    assert words == ["400 (0.8 %)", "4,000 (8 %)", "8,000 (16 %)", "6,500 (13 %)", "50,000 (100 %)"]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["numpy (cpu)", "naive", "tiled", "padded", "cublas"]
    assert "cublas" in ax.get_xlabel() and ax.get_xlabel().startswith("GFLOP/s")
    assert point_of(ax) == "tiled is 2 times as fast as naive and reaches 16 % of cublas's speed"
    assert list_texts(ax, "source")[0].startswith("gemm, 1,024 x 1,024 x 1,024, float32 · ")
    black = style.REFERENCE
    assert find_colours(ax) == [black, style.NAIVE, style.TILED, style.PADDED, black]
    low, high = ax.get_ylim()
    assert low > high, "the first row stands at the top"


def test_ladder_words_stay_inside(rows):
    ax = plot.ladder([row for row in rows if row.shape[0] == 1024])
    ax.figure.canvas.draw()
    for text in ax.texts:
        assert text.get_window_extent().x1 <= ax.figure.bbox.x1


def test_ladder_of_times_counts_the_other_way(rows):
    large = [row for row in rows if row.shape[0] == 1024]
    ax = plot.ladder(large, peer="tiled", unit="median_ms")
    percents = [text.partition("(")[2] for text in list_texts(ax, "value")]
    assert percents == ["50 %)", "100 %)", "81 %)", "625 %)"]


def test_ladder_without_a_peer():
    ax = plot.ladder([make_gemm("naive", 64, 10), make_gemm("tiled", 64, 20)])
    assert list_texts(ax, "value") == ["10", "20"]
    assert point_of(ax) == "tiled is 2 times as fast as naive"


def test_ladder_of_a_transpose_has_the_copy_as_its_peer():
    words = {"shape": (64, 64), "dtype": "float32", "machine": "cuda", "nbytes": 32768.0}
    rows = [
        Measurement("transpose", name, times_ms=(ms,), **words)
        for name, ms in (("naive", 4.0), ("copy", 1.0))
    ]
    ax = plot.ladder(rows)
    assert [text.partition("(")[2] for text in list_texts(ax, "value")] == ["25 %)", "100 %)"]
    assert find_colours(ax) == [style.NAIVE, style.REFERENCE]


def test_ladder_takes_the_library_and_not_any_peer():
    words = {"shape": (64,), "dtype": "float32", "machine": "cuda", "nbytes": 256.0}
    rows = [
        Measurement("reduce", name, times_ms=(ms,), **words)
        for name, ms in (("shuffle", 1.0), ("cub", 2.0), ("torch", 4.0))
    ]
    for kept, whole in ((rows, "cub"), ([rows[0], rows[2]], "torch")):
        ax = plot.ladder(kept)
        assert ax.get_xlabel().endswith(f"a part of {whole}'s")


def test_sectors_say_their_number_beside_the_bar():
    """Behind the mark only where the mark would cover it."""
    tables = {
        name: {"global.load.requests": 1, "global.load.sectors": sectors, "global.load.bytes": 128}
        for name, sectors in (("fewer", 1), ("same", 4), ("more", 32))
    }
    ax = plot.sectors(tables)
    places = [text.xy[0] for text in ax.texts if text.get_gid() == "value"]
    assert places == [4, 4, 32]
    assert point_of(ax) == "A request of more touches 32 sectors, of fewer only 1"
    ax = plot.sectors({name: table for name, table in tables.items() if name != "more"})
    assert [text.xy[0] for text in ax.texts if text.get_gid() == "value"] == [1, 4]


def test_what_is_true_or_false_is_named():
    words = {"shape": (8,), "dtype": "float32", "machine": "cuda", "times_ms": (1.0,), "nbytes": 8}
    rows = [
        Measurement("probe", "global_access", parameters={"stride": 1, "random": r}, **words)
        for r in (False, True)
    ]
    assert list_texts(plot.stride(rows), "end") == ["not random", "random"]


def test_large_sizes_are_powers_of_two():
    rows = [
        Measurement("dot", "shuffle", (n,), "float32", "cuda", (1.0,), nbytes=8.0 * n)
        for n in (1 << 16, 1 << 24, 3_000_000)
    ]
    ax = plot.speed(rows)
    ax.figure.canvas.draw()
    texts = [label.get_text() for label in ax.get_xticklabels()]
    assert texts == ["65,536", "3e+06", "$2^{24}$"]
    assert list_texts(ax, "source")[0].startswith("dot, float32 · ")


def test_sizes_that_crowd_share_a_tick():
    ax = plot.speed([make_gemm("naive", n, 100) for n in (*range(256, 4097, 256), 16, 4000)])
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) >= 4
    assert all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:], strict=False))


def test_rows_of_one_probe_are_told_by_their_parameters():
    words = {"shape": (8,), "dtype": "float32", "machine": "cuda", "times_ms": (1.0,)}
    counters = {"instructions.warp": 1, "instructions.thread": 32}
    rows = [
        Measurement("probe", "divergence", parameters={"pattern": p}, counters=counters, **words)
        for p in ("lane", "warp")
    ]
    labels = [label.get_text() for label in plot.divergence(rows).get_yticklabels()]
    assert labels == ["pattern lane", "pattern warp"]


def test_ladder_refuses_a_mixture(rows):
    with pytest.raises(smemkit.ArgumentError, match="one shape"):
        plot.ladder(rows)
    with pytest.raises(smemkit.ArgumentError, match="'torch'.*naive, tiled"):
        plot.ladder([row for row in rows if row.shape[0] == 256], peer="torch")


# Roofline and strides -----------------------------------------------------------------------------


def test_roofline_of_bytes_that_must_move(rows):
    large = [row for row in rows if row.shape[0] == 1024]
    ax = plot.roofline(large, gb_per_s=4000, gflop_per_s=60000)
    roof, *points = ax.lines
    x, y = roof.get_data()
    assert y == pytest.approx(numpy.minimum(x * 4000, 60000))
    assert x[1] == pytest.approx(15)
    for point, row in zip(points, large, strict=True):
        assert point.get_data() == (
            pytest.approx([row.flops / row.nbytes]),
            pytest.approx([row.gflop_per_s]),
        )
    assert ax.get_xlabel() == "operations a byte [FLOP/byte]; bytes that must move"
    assert list_texts(ax, "roof") == ["memory: 4,000 GB/s", "multiply-adds: 60,000 GFLOP/s"]
    assert point_of(ax) == "cublas reaches 83 % of the roof, the most of 4"
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    for point in points:
        assert left < point.get_xdata()[0] < right and low < point.get_ydata()[0] < high


def test_roofline_of_rows_with_counters():
    counters = {"global.load.sectors": 300, "global.store.sectors": 20}
    row = dataclasses.replace(make_gemm("naive", 64, 10), counters=counters)
    ax = plot.roofline([row], gb_per_s=10, gflop_per_s=100)
    (mark,) = (line for line in ax.lines if line.get_label() == "naive")
    assert mark.get_xdata()[0] == pytest.approx(2 * 64**3 / (32 * 320))


def test_roofline_names_shapes_where_there_are_several(rows):
    ax = plot.roofline(rows[:2], gb_per_s=1, gflop_per_s=1)
    assert list_texts(ax, "end") == ["naive 1024x1024x1024", "naive 256x256x256"]


@pytest.mark.parametrize("ceiling", [0, -1, float("nan"), None, "fast"])
def test_roofline_needs_ceilings(rows, ceiling):
    with pytest.raises(smemkit.ArgumentError):
        plot.roofline(rows, gb_per_s=ceiling, gflop_per_s=1)


def test_roofline_takes_ceilings(rows):
    ceilings = types.SimpleNamespace(gb_per_s=5.0, gflop_per_s=100.0)
    assert plot.roofline(rows, ceilings).lines[0].get_ydata()[-1] == 100
    assert plot.roofline(rows, ceilings, gflop_per_s=70).lines[0].get_ydata()[-1] == 70


def test_stride():
    rows = [
        Measurement(
            "probe",
            variant,
            (1000,),
            "float32",
            "cuda",
            times_ms=(0.001 * step,),
            nbytes=4000.0,
            parameters={"stride": step},
        )
        for variant in ("global_access", "gather")
        for step in (8, 1, 2)
    ]
    ax = plot.stride(rows)
    line = ax.containers[0][0]
    assert line.get_xdata().tolist() == [1, 2, 8]
    assert line.get_ydata() == pytest.approx([4, 2, 0.5])
    assert "GB/s" in ax.get_ylabel() and "[elements]" in ax.get_xlabel()
    assert list_texts(ax, "end") == ["global_access", "gather"]
    assert point_of(ax) == "Stride 8 leaves 12 % of the bandwidth of stride 1"


def test_bank_stride_puts_times_on_wavefronts():
    ax = plot.bank_stride(list(make_bank_rows()))
    assert [bar.get_height() for bar in ax.patches] == [1, 2, 4, 32, 1]
    marks = ax.containers[-1][0]
    assert marks.get_ydata() == pytest.approx([1, 2, 4, 32, 1])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "4", "32", "33"]
    (right,) = ax.child_axes
    ax.figure.canvas.draw()
    assert right.get_ylabel() == "median time [ms], measured (marks)"
    assert right.get_ylim()[1] == pytest.approx(ax.get_ylim()[1] / 2)
    assert ax.get_ylabel() == "wavefronts a request, counted (bars)"
    assert point_of(ax) == (
        "Stride 32 takes 32 wavefronts and 32 times as long as stride 1; "
        "every odd stride takes 1 wavefront"
    )


def test_bank_stride_of_counts_or_times_alone():
    rows = list(make_bank_rows())
    counted = plot.bank_stride([row for row in rows if row.counters])
    assert not counted.child_axes and len(counted.patches) == 5
    timed = plot.bank_stride([row for row in rows if row.times_ms])
    assert timed.get_ylabel() == "median time [ms]"
    assert timed.containers[0][0].get_ydata() == pytest.approx([0.5, 1, 2, 16, 0.5])


def test_pictures_of_probes():
    steps = (1, 2, 8, 33)
    found = [probe.bank_access(step, backend="sim") for step in steps]
    assert [bar.get_height() for bar in plot.bank_stride(found).patches] == [1, 2, 8, 1]
    timed = [dataclasses.replace(row, backend="cuda", times_ms=(2.0,)) for row in found]
    assert plot.bank_stride(timed).child_axes
    found = [probe.global_access(step, backend="sim") for step in steps]
    assert [bar.get_width() for bar in plot.sectors(found).patches] == [4, 8, 32, 32]
    timed = [dataclasses.replace(row, backend="cuda", times_ms=(2.0,)) for row in found]
    line = plot.stride(timed).containers[0][0]
    assert line.get_ydata() == pytest.approx([row.used_bytes / 2e6 for row in found])
    found = [probe.divergence(name, backend="sim") for name in ("warp", "lane")]
    ax = plot.divergence(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["branch_warp", "branch_lane"]


def test_bank_stride_refuses_two_answers():
    rows = list(make_bank_rows())
    twice = [*rows, *make_bank_rows((2,))]
    plot.bank_stride(twice)  # the same once more
    wide = Measurement(**{**vars(rows[3]), "times_ms": (9.0,)})
    with pytest.raises(smemkit.ArgumentError, match="stride 2"):
        plot.bank_stride([*rows, wide])


# Counters -----------------------------------------------------------------------------------------


def test_sectors_of_reports(reports):
    ax = plot.sectors(reports)
    assert [bar.get_width() for bar in ax.patches] == [2.5, 16.5, 4]
    assert list_texts(ax, "value") == ["2.5", "16.5", "4"]
    assert ax.lines[0].get_xdata() == pytest.approx([4, 4, 4])
    assert "global loads" in ax.get_xlabel()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["naive", "naive_uncoalesced", "column"]
    ax = plot.sectors(reports["naive_uncoalesced"], op="store")
    assert [bar.get_width() for bar in ax.patches] == [32]


def test_sectors_of_results(reports):
    row = make_gemm("naive", 64, 1)
    row.counters.update(reports["naive"].counters)
    ax = plot.sectors(Results([row, make_gemm("tiled", 64, 1)], {}))
    assert [bar.get_width() for bar in ax.patches] == [2.5]


def test_divergence_by_instructions_then_by_time():
    tables = {
        "by warp": {"instructions.warp": 100, "instructions.thread": 3200},
        "by lane": {"instructions.warp": 150, "instructions.thread": 3200},
    }
    ax = plot.divergence(tables)
    assert [bar.get_width() for bar in ax.patches] == [100, 150]
    assert list_texts(ax, "value") == [
        "1 x, 32 of 32 lanes",
        "1.5 x, 21.3 of 32 lanes",
    ]
    assert ax.get_xlabel().startswith("warp instructions")
    rows = [
        Measurement("probe", name, (1,), "float32", "cuda", (time_ms,), counters=table)
        for (name, table), time_ms in zip(tables.items(), (2.0, 5.0), strict=True)
    ]
    ax = plot.divergence(rows)
    assert [bar.get_width() for bar in ax.patches] == [2, 5]
    assert list_texts(ax, "value")[1].startswith("2.5 x") and "[ms]" in ax.get_xlabel()
    assert point_of(ax).startswith("by lane takes 2.5 times the time of by warp: 21 of 32 lanes")


# Banks --------------------------------------------------------------------------------------------


def heat_of(ax):
    return numpy.ma.filled(ax.collections[0].get_array(), numpy.nan).reshape(32, 32)


@pytest.mark.parametrize(
    ("addresses", "width", "mask", "op", "cells", "most"),
    [
        (numpy.arange(32) * 4, 4, 0xFFFFFFFF, "load", 32, 1),
        (numpy.arange(32) * 128, 4, 0xFFFFFFFF, "load", 32, 32),
        (numpy.arange(32) * 132, 4, 0xFFFFFFFF, "store", 32, 1),
        (numpy.zeros(32, int), 4, 0xFFFFFFFF, "load", 32, 1),
        (numpy.zeros(32, int), 4, 0xFFFFFFFF, "atomic", 32, 32),
        (numpy.arange(32) * 16, 16, 0xFFFFFFFF, "load", 128, 1),
        (numpy.arange(32) * 8, 4, 0x0001FFFF, "load", 17, 2),
        (numpy.arange(32) // 2 * 8, 8, 0xFFFFFFFF, "load", 64, 1),
        (numpy.arange(32), 1, 0xFFFFFFFF, "load", 32, 1),
    ],
)
def test_banks(addresses, width, mask, op, cells, most):
    ax = plot.banks(addresses, width, mask=mask, op=op)
    facts = smemkit.bank_access(addresses, width, mask=mask, op=op)
    heat = heat_of(ax)
    assert numpy.nanmax(heat) == most == facts.words.max()
    drawn = {(lane, bank) for lane, bank in numpy.argwhere(~numpy.isnan(heat)).tolist()}
    expected = {
        (lane, word % 32)
        for lane in range(32)
        if mask >> lane & 1
        for word in range(addresses[lane] // 4, (addresses[lane] + width - 1) // 4 + 1)
    }
    assert drawn == expected and len(drawn) == cells
    for bank in range(32):
        column = heat[:, bank]
        shown = 0 if numpy.isnan(column).all() else numpy.nanmax(column)
        assert shown == facts.words[bank]
    words = {
        (1, 0): "1 wavefront, no conflict",
        (2, 0): "2 wavefronts, no conflict",
        (2, 1): "2 wavefronts, 1 of them a conflict",
        (4, 0): "4 wavefronts, no conflict",
        (32, 31): "32 wavefronts, 31 of them conflicts",
    }
    point, _, cost = point_of(ax).partition(": ")
    assert cost == words[int(facts.wavefronts), int(facts.conflicts)]
    assert str(most) in point if most > 1 else point.startswith("No bank serves two")
    assert len(ax.lines) == {16: 3, 8: 0}.get(width, 0)  # phases; pairs of lanes double theirs


def test_banks_of_an_increment():
    """Lanes that add 1 to one word are served together, by a rule that the access brings along."""
    x = numpy.zeros(1024, "float32")
    report = smemkit.profile(smemkit.histogram, x, 8, (0.0, 1.0), variant="shared", backend="sim")
    atomic = report.access(op="atomic", space="shared")
    assert atomic.rule == "increment" and atomic.cost == 1
    ax = plot.banks(atomic)
    assert numpy.nanmax(heat_of(ax)) == 1
    assert point_of(ax) == "No bank serves two words: 1 wavefront, no conflict"
    (source,) = list_texts(ax, "source")
    assert "4-byte atomic of 32 lanes" in source


def test_banks_of_a_report(reports):
    ax = plot.banks(reports["column"])
    (source,) = list_texts(ax, "source")
    assert "column.cu:" in source and "tile_b" in source
    load = reports["column"].access(space="shared", op="load")
    assert f"{load.cost} wavefronts" in point_of(ax)
    assert numpy.nanmax(heat_of(ax)) == 8, "of the wide load, in each of its phases"
    assert len(plot.banks(load).lines) == 3
    with pytest.raises(smemkit.ArgumentError, match="no banks"):
        plot.banks(reports["naive"].access(space="global"))
    with pytest.raises(smemkit.ArgumentError, match="no access"):
        plot.banks(reports["naive"])
    with pytest.raises(smemkit.ShapeError):
        plot.banks(numpy.zeros((2, 32), int))


# Tiles --------------------------------------------------------------------------------------------


def list_held(ax):
    """How many orange boxes the enlarged tile has, and the strips of a and b beside it."""
    held = [p for p in ax.patches if matplotlib.colors.to_hex(p.get_facecolor()) == _tiles.HELD]
    inside = [p for p in held if p.get_x() >= _tiles.ZOOM_X and p.get_y() < 1 + _tiles.ZOOM]
    beside = [p for p in held if _tiles.ZOOM_X - 4 < p.get_x() < _tiles.ZOOM_X]
    above = [p for p in held if p.get_y() > 1 + _tiles.ZOOM and p.get_x() >= _tiles.ZOOM_X]
    return len(inside), len(beside), len(above)


@pytest.mark.parametrize(
    ("name", "depth", "held", "point"),
    [
        ("naive", 0, (1, 1, 1), "Every product reads 2 elements from global memory"),
        ("tiled", 32, (1, 1, 1), "Every element that a block fetches serves 32 products"),
        ("register_1d", 8, (8, 8, 1), "1 + 8 reads of shared memory serve 8 products of a thread"),
        ("register_2d", 8, (64, 8, 8), "8 + 8 reads of shared memory serve 64 products of a th"),
    ],
)
def test_tiles(name, depth, held, point):
    facts = smemkit.variants("gemm")[name]
    kernel = smemkit.kernel("gemm", name, "float32")
    assert kernel.attributes["shared_size_bytes"] == 4 * depth * sum(facts["tile"])
    ax = plot.tiles(facts["tile"], facts["block"], depth=depth)
    assert list_held(ax) == held
    assert point_of(ax).startswith(point)
    words = " ".join(list_texts(ax, "word"))
    assert f"reads {held[1]} + {held[2]} elements a step" in words
    assert ("in global memory" in words) == (depth == 0)


def test_tiles_refuse():
    with pytest.raises(smemkit.ArgumentError, match="does not divide"):
        plot.tiles((32, 32), (5, 32))
    for wrong in ({"tile": 32}, {"tile": (0, 1)}, {"tile": (8, 8), "depth": -1}):
        with pytest.raises(smemkit.ArgumentTypeError, match="tiles: "):
            plot.tiles(**wrong)
    assert "serves 8 or 16 products" in point_of(plot.tiles((8, 16), depth=4))


# All of them --------------------------------------------------------------------------------------


def call(name, ax=None):
    rows = [make_gemm("naive", 64, 10)]
    counters = {"instructions.warp": 1, "global.load.requests": 1, "global.load.sectors": 4}
    given = {
        "bank_stride": (list(make_bank_rows()),),
        "banks": (numpy.arange(32) * 4,),
        "divergence": ({"a": counters},),
        "sectors": ({"a": counters},),
        "terms": (predict_copy(),),
        "tiles": ((8, 8), (4, 8)),
        "stride": (
            [
                Measurement(
                    "probe", "p", (1,), "int32", "cuda", (1.0,), nbytes=1, parameters={"stride": 1}
                )
            ],
        ),
    }.get(name, (rows,))
    more = {"gb_per_s": 1, "gflop_per_s": 1} if name == "roofline" else {}
    return getattr(plot, name)(*given, ax=ax, **more)


@pytest.mark.parametrize("name", PICTURES)
def test_draws_into_given_axes(name):
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    number = len(pyplot.get_fignums())
    assert call(name, ax) is ax
    assert len(pyplot.get_fignums()) == number
    assert ax.has_data()
    assert ax.get_xlabel() or name == "tiles"


@pytest.mark.parametrize("name", PICTURES)
def test_without_matplotlib(name, monkeypatch):
    real = builtins.__import__

    def refuse(module, *rest, **words):
        if module.partition(".")[0] == "matplotlib":
            raise ImportError(module)
        return real(module, *rest, **words)

    for module in [module for module in sys.modules if module.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(smemkit.BackendError, match=r"smemkit\[plot\]"):
        call(name)


@pytest.mark.parametrize("name", ["speed", "ladder", "stride", "bank_stride"])
def test_refuses_what_is_no_result(name, reports):
    for wrong in (reports["naive"], "gemm", 3, [3], {"a": 1}):
        with pytest.raises(smemkit.ArgumentTypeError):
            getattr(plot, name)(wrong)
    with pytest.raises(smemkit.ArgumentError, match="nothing to draw"):
        getattr(plot, name)([])
    without = [Measurement("gemm", "naive", (1, 1, 1), "float32", "sim")]
    with pytest.raises(smemkit.ArgumentError, match="nothing to draw"):
        getattr(plot, name)(without)


@pytest.mark.parametrize("name", ["sectors", "divergence"])
def test_refuses_what_was_not_counted(name):
    with pytest.raises(smemkit.ArgumentError, match="nothing to draw"):
        getattr(plot, name)({"a": {}})
    with pytest.raises(smemkit.ArgumentTypeError):
        getattr(plot, name)({"a": 3})
    with pytest.raises(smemkit.ArgumentTypeError):
        getattr(plot, name)(3)


def test_refuses_unknown_words(rows, reports):
    with pytest.raises(smemkit.ArgumentError, match="unit"):
        plot.speed(rows, unit="parsec")
    with pytest.raises(smemkit.ArgumentError, match="op"):
        plot.sectors(reports, op="swap")


@pytest.mark.parametrize("name", PICTURES)
def test_docstring(name, monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    lines = [line.strip() for line in getattr(plot, name).__doc__.splitlines()]
    for part in ("Parameters", "Shapes", "Returns", "Raises", "Example"):
        assert lines[lines.index(part) + 1] == "-" * len(part)
    (test,) = doctest.DocTestFinder(recurse=False).find(getattr(plot, name), name, globs={})
    log = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=log.append)
    assert result.attempted and not result.failed, "".join(log)
