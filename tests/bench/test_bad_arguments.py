"""Nonsense for every argument of bench and plot: a typed error, or a result, and nothing else."""

import inspect
import json

import numpy as np
import pytest
from support.pictures import predict_copy

import smemkit
from smemkit import bench, plot
from smemkit.bench import Measurement, Results

WORDS = {
    "family": "gemm",
    "variant": "tiled",
    "shape": (64, 64, 64),
    "dtype": "float32",
    "machine": "cuda",
    "times_ms": (1.0, 2.0),
    "nbytes": 100.0,
    "flops": 1e4,
    "parameters": {"stride": 2},
    "counters": {
        "instructions.warp": 1,
        "instructions.thread": 32,
        "global.load.requests": 2,
        "global.load.sectors": 8,
        "shared.load.instructions": 1,
        "shared.load.wavefronts": 2,
    },
}
NONSENSE = [
    None, 0, -1, 1.5, float("nan"), float("inf"), 2**70, 10**400, True, "", "abc", b"x", (), [None],
    [[]], {"a": {}}, {1: 2}, object(), np.zeros(3), np.zeros((2, 2)), np.array("x"), 1j, range(3),
    iter([]), Ellipsis, Results([], {}), Exception("e"),
]  # fmt: skip


def take(function, *arguments, **keywords):
    """What a call gives, or its typed error: nothing else may come out."""
    try:
        return function(*arguments, **keywords)
    except smemkit.Error as error:
        assert str(error)
        return error


# Measurements and results -------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORDS)
def test_a_measurement_of_nonsense(name):
    refused = 0
    for value in NONSENSE:
        made = take(Measurement, **{**WORDS, name: value})
        refused += isinstance(made, smemkit.Error)
        if isinstance(made, smemkit.Error):
            assert isinstance(made, smemkit.ArgumentError) and name in str(made)
    assert refused > len(NONSENSE) - 7  # some make sense: no time at all, the family ""


def test_measurements_of_numbers_that_cannot_be():
    for name, values in {
        "times_ms": ((-1.0,), ("1",), (None,), (float("inf"),), 1.0, "12", np.ones(2)),
        "shape": ((0,), (-1, 2), (1.5,), ("a",), 3, (2**70,)),
        "nbytes": (-1, "1", float("nan"), float("inf"), True),
        "counters": ({"a": "x"}, {"a": float("nan")}, {1: 1}, [1]),
        "parameters": ({1: 1}, [1], None),
    }.items():
        for value in values:
            with pytest.raises(smemkit.ArgumentError, match=f"^{name} of a measurement is"):
                Measurement(**{**WORDS, name: value})
    row = Measurement(**{**WORDS, "times_ms": (0.0,)})
    assert row.gb_per_s == row.gflop_per_s == float("inf")
    for wrong in (-0.1, 2, "0.5", None, float("nan")):
        with pytest.raises(smemkit.ArgumentError, match="from 0 to 1"):
            row.quantile_ms(wrong)


def test_results_of_nonsense(tmp_path):
    good = Results([Measurement(**WORDS)], {})
    for value in NONSENSE:
        take(Results, value, {})
        take(Results, [], value)
        take(Results.from_dict, value)
        take(Results.from_dict, {"format": 1, "rows": value, "provenance": {}})
        take(Results.from_dict, {"format": 1, "rows": [value], "provenance": {}})
        take(Results.from_dict, {"format": 1, "rows": [], "provenance": value})
        take(good.compare, value)
        take(good.compare_counters, value)
        take(good.select, variant=value, stride=value)
        if not isinstance(value, str):
            assert isinstance(take(bench.load, value), smemkit.ArgumentTypeError)
            assert isinstance(take(good.save, value), smemkit.ArgumentTypeError)
    for wrong in ([1], [None], "ab", None):
        with pytest.raises(smemkit.ArgumentTypeError):
            Results(wrong, {})
    for text in (b"", b"[]", b"null", b'{"format": 2}', b"\xff\xfe\x00", b"[" * 100_000, b'"x"'):
        path = tmp_path / "results.json"
        path.write_bytes(text)
        with pytest.raises(smemkit.ArgumentError):
            bench.load(path)
    path.write_text(json.dumps(good.to_dict() | {"provenance": "ab"}))
    with pytest.raises(smemkit.ArgumentError, match="not results"):
        bench.load(path)
    with pytest.raises(OSError, match="nowhere"):
        bench.load(tmp_path / "nowhere.json")


# bench --------------------------------------------------------------------------------------------

CALLS = {
    "run": (("gemm",), {"variants": "tiled", "shapes": 4, "backend": "sim"}),
    "evolution": (
        ("gemm",),
        {
            "shape": 4,
            "variants": "tiled",
            "backend": "sim",
            "seconds": 0,
            "results": Results([], {}),
        },
    ),
    "memory_wall": (("gemm",), {"shape": 4, "variants": "tiled", "backend": "sim"}),
    "tile_sweep": (("gemm",), {"shape": 4, "tiles": (33,), "backend": "sim"}),
    "ceilings": ((), {"backend": "sim"}),
    "recorded": ((), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_bench(name):
    function, (first, words) = getattr(bench, name), CALLS[name]
    for parameter in inspect.signature(function).parameters:
        for value in NONSENSE:
            if parameter == "family":
                take(function, value, **words)
            elif parameter == "parameters":
                take(function, "reduce", **{**words, "variants": None}, op=value)
            elif parameter != "backend" or value is not None:  # that would be the default
                take(function, *first, **{**words, parameter: value})


def test_bench_says_which_argument():
    cases = [
        ({"say": 3}, TypeError, "say must be a function or None, not 3"),
        ({"warn": "x"}, TypeError, "warn must be a function or None, not 'x'"),
        ({"progress": 1}, TypeError, "progress must be True, False or None, not 1"),
        ({"seconds": True}, ValueError, "seconds is True"),
        ({"shapes": 2**70}, ValueError, "lengths of 1 and more"),
        ({"dtype": {"a": {}}}, TypeError, "not an element type"),
        ({"shapes": np.array("x")}, TypeError, "an int or a tuple of ints, not 'x'"),
    ]
    for words, kind, message in cases:
        with pytest.raises(smemkit.Error, match=message) as caught:
            bench.run("gemm", "tiled", **{"shapes": 4, "backend": "sim", **words})
        assert isinstance(caught.value, kind)
    for found in (3, "cub", [None], [[]]):
        with pytest.raises(smemkit.ArgumentTypeError, match="found must be a list of peers"):
            bench.evolution("gemm", 4, backend="sim", found=found)
    for family in ([], {}, np.zeros(2), None):
        with pytest.raises(smemkit.ArgumentError, match="there is no family"):
            bench.tile_sweep(family)
    with pytest.raises(smemkit.ArgumentError, match="cannot be varied"):
        bench.tile_sweep("gemm", variant=np.zeros(2))


# plot ---------------------------------------------------------------------------------------------


@pytest.fixture
def axes():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield pyplot.subplots()[1]
    pyplot.close("all")


def call_plot(name, source, **words):
    more = {"gb_per_s": 10, "gflop_per_s": 10} if name == "roofline" else {}
    return take(getattr(plot, name), source, **{**more, **words})


@pytest.mark.parametrize("name", plot.__all__)
def test_plot(name, axes):
    rows = {"banks": np.arange(32) * 4, "tiles": (8, 8), "terms": predict_copy()}.get(
        name, [Measurement(**WORDS)]
    )
    first, *others = inspect.signature(getattr(plot, name)).parameters
    for value in NONSENSE:
        refused = call_plot(name, value, ax=axes)
        assert isinstance(refused, smemkit.Error), (first, value)
        for parameter in others:
            found = call_plot(name, rows, **{"ax": axes, parameter: value})
            if parameter == "ax" and value is not None:
                assert isinstance(found, smemkit.ArgumentTypeError)
                assert "ax is an Axes of matplotlib" in str(found)
        axes.clear()
    assert call_plot(name, rows, ax=axes) is axes


@pytest.mark.parametrize("name", sorted(set(plot.__all__) - {"banks", "terms", "tiles"}))
def test_plot_of_odd_measurements(name, axes):
    """What a measurement may be, but a picture cannot show."""
    odd = {
        "family": ("", "none"),
        "shape": ((), (1,), (2**62,) * 3),
        "times_ms": ((), (0.0,), (float("nan"),), [1.0]),
        "nbytes": (None, 0),
        "flops": (None, 0),
        "counters": ({}, {"a": 1}, {"instructions.warp": None}, {"global.load.requests": 5}),
        "parameters": ({}, *({"stride": x} for x in (None, "a", float("nan"), 0, -1, 2**70, [1]))),
    }
    for field, values in odd.items():
        for value in values:
            row = Measurement(**{**WORDS, field: value})
            for rows in ([row], [Measurement(**{**WORDS, "parameters": {"stride": 4}}), row]):
                if call_plot(name, rows, ax=axes) is axes:
                    axes.figure.canvas.draw()
                axes.clear()


def test_plot_says_which_argument(axes):
    rows = [Measurement(**WORDS)]
    cases = [
        (lambda: plot.speed(rows, unit=[]), ValueError, r"unit is \[\]; accepted: 'gflop_per_s'"),
        (lambda: plot.ladder(rows, peer=np.zeros(2)), TypeError, "peer must be a str"),
        (lambda: plot.stride(rows, parameter=[]), TypeError, "parameter must be a str"),
        (lambda: plot.sectors(rows, op=np.zeros(2)), ValueError, "op is .*accepted: 'load'"),
        (
            lambda: plot.roofline(rows, gb_per_s=1, gflop_per_s=float("inf")),
            ValueError,
            "1 and inf",
        ),
        (lambda: plot.divergence({"a": {"x": "y"}}), TypeError, "'a' is neither a Report"),
        (lambda: plot.speed(rows, ax=3), TypeError, "ax is an Axes of matplotlib, not int"),
    ]
    for call, kind, words in cases:
        with pytest.raises(smemkit.Error, match=words) as caught:
            call()
        assert isinstance(caught.value, kind)
    bare = Measurement(**{**WORDS, "flops": None})
    with pytest.raises(smemkit.ArgumentError, match="no row has gflop_per_s"):
        plot.speed([bare], unit="gflop_per_s")
