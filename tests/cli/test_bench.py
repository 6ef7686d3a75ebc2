"""The commands bench of a family, and plot: what they write, and what they refuse."""

import json
import subprocess
import sys

import pytest

import smemkit
from smemkit import __main__, bench
from smemkit.bench import Measurement, Results, workloads
from smemkit.bench.families import CLASSES
from smemkit.cli import bench as bench_command
from smemkit.cli.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of matplotlib's parts


def run(capsys, *arguments, status=0):
    """What a command prints, here in this process; on the simulator."""
    try:
        assert __main__.main(list(map(str, arguments))) == status
    finally:
        smemkit.set_backend(None)
    return capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("256:4096", [256, 512, 1024, 2048, 4096]),
        ("3:20", [3, 6, 12]),
        ("10:30:10", [10, 20, 30]),
        ("5,7", [5, 7]),
        ("8", [8]),
        ("1:4,4,9", [1, 2, 4, 9]),
    ],
)
def test_sizes(text, sizes):
    assert bench_command.read_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "a", "1:", "0:4", "4:2", "1:2:3:4", "-3", "1:9:0", "2.5"])
def test_sizes_that_are_none(text):
    with pytest.raises(UsageError, match="--sizes"):
        bench_command.read_sizes(text)


def test_bench_of_a_family(tmp_path, capsys):
    path = tmp_path / "out.json"
    words = ("--variants", "naive,tiled,padded", "--sizes", "16:64", "--shape", "8,9,10")
    shown = run(capsys, "bench", "gemm", *words, "--json", path, "--backend", "sim")
    assert shown.err == ""
    heads, *rows = shown.out.splitlines()
    assert heads.split("  ")[-1] == "divergent" and len(rows) == 12
    assert " us " not in shown.out
    found = bench.load(path)
    assert [row.variant for row in found] == 4 * ["naive", "tiled", "padded"]
    shapes = [(n, n, n) for n in (16, 32, 64)] + [(8, 9, 10)]
    assert [row.shape for row in found] == [shape for shape in shapes for _ in range(3)]
    shown = run(
        capsys, "bench", "gemm", "--sizes", 16, "--backend", "sim", "--json", "-", "--dtype=float64"
    )
    again = Results.from_dict(json.loads(shown.out))
    assert {row.dtype for row in again} == {"float64"}


def test_bench_with_a_parameter(capsys):
    words = ("--variants", "shuffle", "--parameter", "op=max", "--sizes", "100", "--json", "-")
    shown = run(capsys, "bench", "reduce", *words, "--backend", "sim")
    (row,) = Results.from_dict(json.loads(shown.out))
    assert (row.shape, row.parameters) == ((100,), {"op": "max"})


def test_bench_evolution(capsys):
    words = ("--evolution", "--sizes", "20", "--variants", "tiled", "--seconds", "0")
    shown = run(capsys, "bench", "gemm", *words, "--backend", "sim")
    heads, tiled = shown.out.splitlines()  # no times of the host beside counts of the simulator
    assert heads.split()[:2] == ["variant", "instructions"]
    (row,) = bench.run("gemm", "tiled", 20, backend="sim")
    assert tiled.split()[3:5] == ["tiled", f"{row.counters['instructions.warp']:,}"]


def test_bench_compares(tmp_path, capsys, monkeypatch):
    case = workloads.make_workload("gemm", 8)
    rows = [[case.make_row("tiled", "cuda", times_ms=(ms,), cache="warm")] for ms in (2.0, 3.0)]
    Results(rows[0], {"date": "yesterday"}).save(tmp_path / "before.json")
    monkeypatch.setattr(bench, "run", lambda *_, **__: Results(rows[1], {}))
    words = ("bench", "gemm", "--sizes", 8, "--compare", tmp_path / "before.json")
    shown = run(capsys, *words, "--backend", "sim")
    assert "compared with yesterday" in shown.out
    assert "3000.00 us /     2000.00 us = 1.500" in shown.out
    monkeypatch.setattr(bench, "run", lambda *_, **__: Results([], {}))
    assert "no times or counters of the same" in run(capsys, *words, "--backend", "sim").out


def test_bench_compares_counters(tmp_path, capsys):
    path = tmp_path / "before.json"
    words = ("bench", "gemm", "--variants", "tiled", "--sizes", 8, "--backend", "sim")
    run(capsys, *words, "--json", path)
    shown = run(capsys, *words, "--compare", path).out.splitlines()[-1].split()
    assert shown == "gemm 8x8x8 float32 tiled counters as before".split()
    before = bench.load(path)
    before.rows[0].counters["barrier.count"] = 7_000_000
    before.save(path)
    assert "barrier.count 7,000,000 -> " in run(capsys, *words, "--compare", path).out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("gem",), 2, "no family 'gem' to measure; there are gemm"),
        (("gemm", "--only", "dot"), 2, "--only goes without a family"),
        (("gemm", "--all"), 2, "--all goes without a family"),
        (("--sizes", "3"), 2, "--sizes needs a family"),
        (("--plot", "x.png"), 2, "--plot needs a family"),
        (("gemm", "--sizes", "4:2"), 2, "4 is more than 2"),
        (("gemm", "--shape", "4;2"), 2, "comma-separated lengths"),
        (("gemm", "--shape", "4,2"), 2, "(m, k, n)"),
        (("gemm", "--variants", "fast"), 2, "no variant 'fast'"),
        (("gemm", "--variants", ","), 2, "variants is empty"),
        (("gemm", "--dtype", "int16"), 2, "bfloat16, int8, not int16"),
        (("gemm", "--peers"), 2, "needs a GPU"),
        (("gemm", "--seconds", "inf"), 2, "--seconds"),
        (("gemm", "--seed", "-1"), 2, "--seed"),
        (("gemm", "--evolution", "--sizes", "3,4"), 2, "of one size"),
        (("gemm", "--sizes", "4096"), 2, "too many for the simulator"),
        (("reduce", "--parameter", "op"), 2, "NAME=VALUE"),
        (("reduce", "--parameter", "op=mean"), 2, "accepted: sum, max, min"),
        (("reduce", "--parameter", "seed=3"), 2, "reduce has no parameter 'seed'; it has: op"),
        (("",), 2, "no family ''"),
        (("gemm", "--sizes", ""), 2, "the forms are"),
        (("gemm", "--sizes", "1:1000000:1"), 2, "1,000,000 sizes; 10,000 at most"),
        (("gemm", "--shape", "-1,2,3"), 2, "--NAME=VALUE"),
        (("gemm", "--compare", ""), 2, "empty name"),
        (("gemm", "--compare", "no such file"), 2, "no such file"),
    ],
)
def test_bench_refuses(capsys, arguments, status, words):
    shown = run(capsys, "bench", *arguments, "--backend", "sim", status=status)
    assert shown.err.startswith("smemkit: ") and words in shown.err
    assert len(shown.err.splitlines()) == 1


def test_bench_as_a_process():
    done = subprocess.run(
        [sys.executable, "-m", "smemkit", "bench", "dot", "--sizes", "64", "--backend", "sim"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    heads, *rows = done.stdout.splitlines()
    assert [line.split()[3] for line in rows] == ["atomic", "shared", "shuffle"]
    assert "conflicts" in heads and "ms" not in done.stdout


# plot --------------------------------------------------------------------------------------------


def make_rows(sizes=(64, 128), machine="cuda"):
    """Rows of two variants and a library at some sizes, with times or counters; and ceilings."""
    rows = []
    for n in sizes:
        case = workloads.make_workload("gemm", n)
        for place, name in enumerate(("naive", "tiled", "cublas")):
            counters = {"global.load.requests": 8, "global.load.sectors": 32 * (place + 1)}
            more = {"times_ms": (1.0 / (place + 1),) * 3, "cache": "warm"}
            more = more if machine == "cuda" else {"counters": counters}
            rows.append(case.make_row(name, machine, **more))
    words = {"machine": "cuda", "times_ms": (1.0,), "cache": "warm"}
    rows.append(Measurement("ceiling", "copy", (1,), "uint8", nbytes=1e9, **words))
    rows.append(Measurement("ceiling", "multiply_add", (1,), "float32", flops=1e10, **words))
    return Results(rows, {})


@pytest.fixture
def drawn(monkeypatch):
    """What is asked of smemkit.plot; a file is written where matplotlib is."""
    pytest.importorskip("matplotlib")
    from smemkit import plot

    asked = []
    for name in plot.__all__:
        function = getattr(plot, name)

        def draw(rows, *, _name=name, _function=function, **more):
            asked.append((_name, [row.variant for row in rows], sorted(more)))
            return _function(rows, **more)

        monkeypatch.setattr(plot, name, draw)
    return asked


@pytest.mark.parametrize(
    ("machine", "sizes", "options", "picture"),
    [
        ("cuda", (64, 128), (), ("speed", 6, [])),
        ("cuda", (64,), (), ("ladder", 3, [])),
        ("cuda", (64, 128), ("--shape", "64", "--family", "gemm"), ("ladder", 3, [])),
        ("cuda", (64, 128), ("--kind", "ladder"), ("ladder", 3, [])),
        ("cuda", (64, 128), ("--variants", "naive,tiled"), ("speed", 4, [])),
        ("cuda", (64,), ("--kind", "roofline"), ("roofline", 3, ["gb_per_s", "gflop_per_s"])),
        ("sim", (64, 128), ("--variants", "tiled"), ("sectors", 1, [])),
    ],
)
def test_plot(tmp_path, capsys, drawn, machine, sizes, options, picture):
    make_rows(sizes, machine).save(tmp_path / "x.json")
    out = tmp_path / "x.png"
    shown = run(capsys, "plot", tmp_path / "x.json", "--out", out, *options)
    assert shown.out == f"{out}\n"
    assert out.read_bytes()[:4] == b"\x89PNG"
    ((name, rows, more),) = drawn
    assert (name, len(rows), more) == picture


def make_mixture():
    """Rows of two families, two types and both states of the cache; and the three probes' kinds."""
    rows = make_rows((64,)).rows
    for dtype, cache in (("float64", "warm"), ("float32", "cold")):
        case = workloads.make_workload("gemm", 64, dtype)
        rows.append(case.make_row("naive", "cuda", times_ms=(1.0,), cache=cache))
    case = workloads.make_workload("dot", 64)
    rows.append(case.make_row("atomic", "cuda", times_ms=(1.0,), cache="warm"))
    words = {"machine": "cuda", "times_ms": (1.0,), "cache": "warm"}
    counters = {"shared.load.instructions": 1, "shared.load.wavefronts": 1, "instructions.warp": 2}
    for variant, parameters in (
        ("bank_access", {"stride": 1, "width": 4}),
        ("bank_access", {"stride": 2, "width": 4}),
        ("bank_access", {"stride": 1, "width": 8}),
        ("global_access", {"stride": 1}),
        ("divergence", {"pattern": "lane"}),
    ):
        row = Measurement("probe", variant, (4,), "int32", nbytes=4.0, counters=counters, **words)
        row.parameters.update(parameters)
        rows.append(row)
    return Results(rows, {})


@pytest.mark.parametrize(
    ("options", "picture", "words"),
    [
        (("--family", "gemm"), ("ladder", 3), ["dtype float32", "--dtype float64", "cache warm"]),
        (("--family", "gemm", "--dtype", "float64"), ("ladder", 1), []),
        (("--family", "gemm", "--dtype", "float32", "--cache", "cold"), ("ladder", 1), []),
        (("--kind", "bank_stride"), ("bank_stride", 2), ["--parameter width=8"]),
        (("--kind", "bank_stride", "--parameter", "width=8"), ("bank_stride", 1), []),
        (("--kind", "divergence"), ("divergence", 1), []),
    ],
)
def test_plot_leaves_out_and_says_so(tmp_path, capsys, drawn, options, picture, words):
    make_mixture().save(tmp_path / "x.json")
    shown = run(capsys, "plot", tmp_path / "x.json", "--out", tmp_path / "x.png", *options)
    ((name, rows, _),) = drawn
    assert (name, len(rows)) == picture
    assert all(one in shown.err for one in words) and bool(words) == bool(shown.err)


def test_plot_of_many_families(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    make_mixture().save(tmp_path / "x.json")
    for kind in ("speed", "ladder", "sectors"):
        words = ("plot", tmp_path / "x.json", "--kind", kind)
        shown = run(capsys, *words, status=2).err
        assert "3 families" in shown
        for family in ("gemm", "dot", "probe"):
            assert f"smemkit plot {tmp_path / 'x.json'} --family {family}" in shown


def test_plot_without_files_lists_the_records(capsys):
    pytest.importorskip("matplotlib")
    shown = run(capsys, "plot", status=2).err
    for family in {row.family for row in bench.recorded("h200")} - {"ceiling"}:
        assert f"smemkit plot h200 --family {family} " in shown


@pytest.mark.filterwarnings("error")  # of a picture in which there is no room
@pytest.mark.parametrize("family", CLASSES)
def test_plot_of_the_record(tmp_path, capsys, family):
    pytest.importorskip("matplotlib")
    if all(row.family != family for row in bench.recorded("h200")):
        pytest.skip(f"{family} is not yet timed on hardware")
    for kind in ("speed", "ladder"):
        words = ("plot", "h200", "--family", family, "--kind", kind)
        run(capsys, *words, "--out", tmp_path / f"{kind}.png")


def test_plot_of_several_files(tmp_path, capsys, drawn):
    for n in (64, 128):
        make_rows((n,)).save(tmp_path / f"{n}.json")
    out = tmp_path / "x.svg"
    run(capsys, "plot", tmp_path / "64.json", tmp_path / "128.json", "--out", out)
    assert drawn[0][:2] == ("speed", 2 * ["naive", "tiled", "cublas"])
    assert b"<svg" in out.read_bytes()


def test_bench_draws(tmp_path, capsys, drawn):
    out = tmp_path / "x.png"
    words = ("--sizes", "16,32", "--variants", "naive,tiled", "--plot", out, "--backend", "sim")
    shown = run(capsys, "bench", "gemm", *words)
    assert drawn == [("sectors", ["naive", "tiled"], [])]
    assert out.exists() and "drawn is 32x32x32" in shown.err


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--family", "dot"), 2, "--family dot: no row has it; there are gemm"),
        (("--shape", "9,9,9"), 2, "there are 64,64,64; 128,128,128"),
        (("--cache", "cold"), 2, "--cache cold: no row has it; there are warm"),
        (("--parameter", "op=max"), 2, "--parameter op=max: no row has it; there are none"),
        (("--parameter", "op"), 2, "NAME=VALUE"),
        (("--variants", ","), 2, "--variants is empty"),
        (("--variants", "naive,fast"), 2, "--variants fast: no row has it; there are naive"),
        (("--out", "."), 2, ". is a directory"),
        (("--family", "gemm", "--out", "x.none"), 2, "x.none"),
    ],
)
def test_plot_refuses(tmp_path, capsys, options, status, words):
    pytest.importorskip("matplotlib")
    make_rows().save(tmp_path / "x.json")
    shown = run(capsys, "plot", tmp_path / "x.json", *options, status=status)
    assert words in shown.err and len(shown.err.splitlines()) == 1


def test_plot_of_what_is_no_result(tmp_path, capsys):
    assert "no record 'nothing'" in run(capsys, "plot", "nothing", status=2).err
    path = tmp_path / "x.json"
    path.write_text("[]")
    complaint = run(capsys, "plot", path, status=2).err
    assert f"{path}: these are not results of a benchmark" in complaint
    path.write_text("{}")
    assert "'format' is missing" in run(capsys, "plot", path, status=2).err
    assert "no such file" in run(capsys, "plot", tmp_path / "y.json", status=2).err.lower()
    assert "empty name" in run(capsys, "plot", "", status=2).err


def test_a_roofline_needs_ceilings(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    rows = [row for row in make_rows() if row.family == "gemm"]
    Results(rows, {}).save(tmp_path / "x.json")
    shown = run(capsys, "plot", tmp_path / "x.json", "--kind", "roofline", status=2)
    assert "needs measured ceilings" in shown.err


def test_plot_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    make_rows().save(tmp_path / "x.json")
    shown = run(capsys, "plot", tmp_path / "x.json", status=2)
    assert "drawing needs matplotlib" in shown.err


# Predictions -------------------------------------------------------------------------------------


def test_bench_predicts_for_a_card(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    words = ("--predicted", "--device", "RTX 4090", "--variants", "naive,tiled")
    path, picture = tmp_path / "x.json", tmp_path / "x.png"
    shown = run(capsys, "bench", "gemm", *words, "--sizes", 64, "--json", path, "--plot", picture)
    naive, tiled, _ = shown.out.splitlines()
    assert "naive" in naive and "predicted" in naive and "limited by" in naive
    assert "tiled" in tiled and " to " in tiled
    rows = bench.load(path)
    assert rows.provenance["predicted_for"] == "RTX 4090"
    assert all(row.is_predicted and row.low_ms < row.high_ms for row in rows)
    assert picture.stat().st_size > 1000
    assert run(capsys, "plot", path, "--out", picture).out.strip() == str(picture)


def test_bench_predicts_a_ladder(capsys):
    words = ("--evolution", "--predicted", "--device", "t4", "--sizes", 64)
    shown = run(capsys, "bench", "gemm", *words, "--variants", "naive,tiled,tuned")
    head, *rows = shown.out.splitlines()
    assert "range" in head and "limited by" in head
    assert [row.split()[:2] for row in rows] == [["naive", "predicted"], ["tiled", "predicted"]]
    assert "without tuned: gemm variant 'tuned' needs compute capability 8.0" in shown.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("gemm", "--device", "t4"), "needs --predicted"),
        (("gemm", "--predicted", "--peers"), "leave --peers out"),
        (("gemm", "--predicted", "--backend", "sim"), "leave --backend out"),
        (("--predicted",), "--predicted needs a family"),
        (("gemm", "--predicted", "--device", "voodoo"), "the table of cards has no 'voodoo'"),
    ],
)
def test_bench_refuses_words_beside_a_prediction(capsys, options, words):
    assert words in run(capsys, "bench", *options, status=2).err


def test_predict_ranks_the_variants_of_a_family(capsys):
    shown = run(capsys, "predict", "transpose", "--rank", "--shape", "64,64", "--device", "t4")
    assert "transpose: " in shown.out and "times the fastest" in shown.out
    text = run(capsys, "predict", "transpose", "--rank", "--shape", "64,64", "--json", "-").out
    assert json.loads(text)[0]["kind"] == "ranking"
    assert "name one alone" in run(capsys, "predict", "gemm/tiled", "--rank", status=2).err
