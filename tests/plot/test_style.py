"""The house style: the point in the title, device and date, colours, and legible labels."""

import itertools
import re

import numpy
import pytest

import smemkit
from smemkit import bench, plot, probe
from smemkit.bench import Measurement, Results
from smemkit.plot import style

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def no_screen():
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def record():
    return bench.recorded("h200")


@pytest.fixture(scope="module")
def wall(record):
    names = ("naive", "tiled", "padded", "register_2d")
    return bench.memory_wall("gemm", 4096, variants=names, results=record, backend="sim")


@pytest.fixture(scope="module")
def draw(record, wall):
    """{name: what draws the picture of the H200, or of the simulator}."""
    probes = bench.recorded("h200", part="probes")
    square = numpy.ones((32, 32), "float32")
    reports = {
        name: smemkit.profile(smemkit.gemm, square, square, variant=name, backend="sim")
        for name in ("naive", "naive_uncoalesced", "column", "padded")
    }
    gemm = record.select(family="gemm", dtype="float32", cache={"warm", None})
    ladder = bench.evolution("gemm", 4096, results=record)
    return {
        "speed": lambda **more: plot.speed(gemm, **more),
        "ladder": lambda **more: plot.ladder(ladder, **more),
        "roofline": lambda **more: plot.roofline(wall, **more),
        "stride": lambda **more: plot.stride(
            probes.select(variant="global_access", offset=0, random=False), **more
        ),
        "bank_stride": lambda **more: plot.bank_stride(
            probes.select(variant="bank_access", width=4), **more
        ),
        "divergence": lambda **more: plot.divergence(probes.select(variant="divergence"), **more),
        "sectors": lambda **more: plot.sectors(reports, **more),
        "banks": lambda **more: plot.banks(reports["column"], **more),
        "terms": lambda **more: plot.terms(reports["column"].time("t4"), **more),
        "tiles": lambda **more: plot.tiles((128, 128), (16, 16), depth=8, **more),
    }


def list_visible(ax):
    """All texts of a picture that say something: header, labels, ticks, names of the axes."""
    axes = [ax, *ax.child_axes]
    texts = [ax._left_title, *ax.texts]
    for one in axes if ax.axison else ():
        texts += [one.xaxis.label, one.yaxis.label, *list_ticks(one.xaxis), *list_ticks(one.yaxis)]
    return [text for text in texts if text.get_text()]


def list_ticks(axis):
    """The labels of the ticks that are drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    return [label for place, label in ticks if low <= place <= high and label.get_text()]


def list_ends(ax, *kinds):
    return [text for text in ax.texts if text.get_gid() in kinds]


def check_apart(texts):
    """No two texts on each other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        up = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 1 or up <= 0.25 * min(a.height, b.height), f"{one!r} covers {other!r}"


# What did not run on the H200 of the record.
DEVICES = dict.fromkeys(("sectors", "banks"), f"smemkit {smemkit.__version__}'s simulator, 20")
DEVICES["terms"] = "predicted for T4, "
DEVICES["tiles"] = f"smemkit {smemkit.__version__}, 20"


# Every picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", plot.__all__)
def test_picture(name, draw, record):
    """The point as a sentence with a figure; device and date below it; nothing cut off."""
    before = dict(matplotlib.rcParams)
    ax = draw[name]()
    assert dict(matplotlib.rcParams) == before
    ax.figure.canvas.draw()
    point = " ".join(ax.get_title(loc="left").split())
    assert re.search(r"\d", point) and len(point.split()) > 4
    (source,) = list_ends(ax, "source")
    provenance = record.provenance
    device = DEVICES.get(name, f"{provenance['device']}, {provenance['date'][:10]}")
    assert device in source.get_text()
    assert source.get_fontsize() == style.SMALL
    assert ax.get_legend() is None
    whole = ax.figure.bbox
    for text in list_visible(ax):
        box = text.get_window_extent()
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1
        assert inside, f"{text.get_text()!r} is cut off"
    check_apart(list_ends(ax, "end", "value", "word"))
    for text in list_ends(ax, "roof"):  # at an angle: their words lie along the diagonal
        box = text.get_window_extent()
        diagonal = numpy.linspace((box.x0, box.y0), (box.x1, box.y1), 50)
        for end in list_ends(ax, "end"):
            assert not end.get_window_extent().count_contains(diagonal), end.get_text()
    check_apart([ax._left_title, source])
    if ax.axison:
        check_apart(list_ticks(ax.xaxis))
        check_apart(list_ticks(ax.yaxis))


def test_settings_of_a_backend_stay(monkeypatch):
    """A notebook's backend makes pyplot interactive when the first figure is made."""
    from matplotlib import pyplot

    subplots = pyplot.subplots

    def make(*arguments, **words):
        matplotlib.interactive(True)
        return subplots(*arguments, **words)

    monkeypatch.setattr(pyplot, "subplots", make)
    before = dict(matplotlib.rcParams)
    try:
        plot.banks(numpy.arange(32) * 4)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(before["interactive"])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", plot.__all__)
def test_picture_in_a_dark_style(name, draw):
    """A figure of its own is light whatever the caller's style; in a dark one the ink is light."""
    from matplotlib import pyplot

    with pyplot.style.context("dark_background"):
        own = draw[name]()
        _, ax = pyplot.subplots(figsize=(8, 5))
        draw[name](ax=ax)
    assert matplotlib.colors.to_hex(own.figure.get_facecolor()) == style.PAPER
    assert matplotlib.colors.to_hex(own._left_title.get_color()) == style.INK
    for one, ink in ((own, style.INK), (ax, style.LIGHT_INK)):
        assert matplotlib.colors.to_hex(one.get_facecolor()) == style.PAPER
        for text in (one._left_title, one.xaxis.label, one.yaxis.label):
            assert matplotlib.colors.to_hex(text.get_color()) == ink


# Points -------------------------------------------------------------------------------------------


def point_of(ax):
    return " ".join(ax.get_title(loc="left").split())


def make_row(variant, gflop_per_s, n=64):
    flops = 2.0 * n**3
    words = {"shape": (n, n, n), "dtype": "float32", "machine": "cuda", "nbytes": 12.0 * n * n}
    return Measurement("gemm", variant, times_ms=(flops / gflop_per_s / 1e6,), flops=flops, **words)


@pytest.mark.parametrize("function", [plot.ladder, plot.speed])
def test_point_follows_the_data(function):
    where = " at 64" if function is plot.speed else ""
    for speeds, words in (
        ((10, 30, 60), "tiled is 3 times as fast as naive and reaches 50 % of cublas's speed"),
        ((10, 5, 10), "naive reaches 100 % of cublas's speed"),
        ((2, 250, 100), "tiled is 125 times as fast as naive and reaches 250 % of cublas's speed"),
    ):
        names = ("naive", "tiled", "cublas")
        rows = [make_row(name, speed) for name, speed in zip(names, speeds, strict=True)]
        assert point_of(function(rows)) == words + where


def test_point_without_the_first_variant():
    """The slowest takes its place."""
    rows = [make_row("column", 2), make_row("column_padded", 9), make_row("tiled", 8)]
    assert point_of(plot.ladder(rows)) == "column_padded is 4.5 times as fast as column"
    assert point_of(plot.ladder(rows[:1])) == "column reaches 2 GFLOP/s"
    assert point_of(plot.ladder([make_row("cublas", 2)])) == "cublas is the fastest: 2 GFLOP/s"


def test_point_of_several_families():
    dot = Measurement("dot", "shuffle", (64,), "float32", "cuda", (1.0,), flops=1.0004e9)
    point = point_of(plot.speed([make_row("naive", 2), dot]))
    assert point == "dot shuffle is the fastest of 2 families: 1,000 GFLOP/s"


def test_point_of_divergence():
    tables = {
        name: {"instructions.warp": warp, "instructions.thread": 32 * warp // part}
        for name, warp, part in (("a", 100, 1), ("b", 40, 1), ("c", 300, 2))
    }
    assert point_of(plot.divergence(tables)) == (
        "c takes 3 times the instructions of a: 16 of 32 lanes work, not 32"
    )
    del tables["c"]
    assert point_of(plot.divergence(tables)) == "b takes 40 % of the instructions of a"
    assert point_of(plot.divergence({"a": tables["a"]})).startswith("a: 32 of 32 lanes work")


def test_point_of_sectors():
    def table(sectors, lanes=128):
        names = ("requests", "sectors", "bytes")
        values = zip(names, (1, sectors, lanes), strict=True)
        return {f"global.load.{name}": value for name, value in values}

    for tables, words in (
        ({"a": table(32)}, "A request of a touches 32 sectors, 8 times what its bytes fill"),
        ({"a": table(4)}, "A request of a touches 4 sectors, no more than its bytes fill"),
        ({"a": table(4), "b": table(4)}, "All 2 touch 4 sectors a request, no more than its"),
        ({"a": table(4), "b": table(12)}, "A request of b touches 12 sectors, of a only 4"),
    ):
        assert point_of(plot.sectors(tables)).startswith(words)


def test_title_of_the_caller():
    ax = plot.ladder([make_row("naive", 2)], title="$My 5 words")
    assert point_of(ax) == "$My 5 words" and len(list_ends(ax, "source")) == 1
    with pytest.raises(smemkit.ArgumentTypeError, match="title"):
        plot.ladder([make_row("naive", 2)], title=3)


def test_shrunken_picture_looks_the_same(draw):
    import io

    from PIL import Image

    whole = io.BytesIO()
    draw["ladder"]().figure.savefig(whole, dpi=100)
    small = style.shrink(whole.getvalue(), Description="words")
    assert 2 * len(small) < len(whole.getvalue())
    one, other = (Image.open(io.BytesIO(png)) for png in (whole.getvalue(), small))
    assert other.info["Description"] == "words"
    away = numpy.abs(numpy.asarray(one.convert("RGB"), int) - numpy.asarray(other.convert("RGB")))
    assert away.mean() < 1 and numpy.quantile(away, 0.999) < 40


# Device and date ----------------------------------------------------------------------------------


def source_of(ax):
    (text,) = list_ends(ax, "source")
    return " ".join(text.get_text().split())


def test_source(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    rows = [make_row("naive", 1)]
    assert "device not given, date not given" in source_of(plot.ladder(rows))
    facts = {"device": "NVIDIA Z", "date": "2001-02-03T04:05:06+00:00"}
    assert "NVIDIA Z, 2001-02-03 · medians" in source_of(plot.ladder(Results(rows, facts)))
    host = [Measurement("gemm", "numpy", (8, 8, 8), "float32", "cpu", (1.0,), flops=1e6)]
    assert "NumPy on the CPU, 2001-02-03" in source_of(plot.ladder(Results(host, facts)))
    words = f"smemkit {smemkit.__version__}'s simulator, 1970-01-02"
    assert words in source_of(plot.banks(numpy.arange(32) * 4))
    assert words in source_of(plot.sectors([probe.global_access(8, backend="sim")]))
    assert words in source_of(plot.bank_stride([probe.bank_access(8, backend="sim")]))


# Colours ------------------------------------------------------------------------------------------


def read_hex(colour):
    return numpy.array(matplotlib.colors.to_rgb(colour))


def make_linear(colour):
    """Linear intensities of an sRGB colour (IEC 61966-2-1)."""
    c = read_hex(colour)
    return numpy.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    low, high = sorted(make_linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other))
    return (high + 0.05) / (low + 0.05)


# Linear RGB as people see it without one kind of cone: Machado, Oliveira and Fernandes, 2009.
SIGHTS = {
    "all cones": numpy.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def make_lab(linear):
    """CIE L*a*b* of linear sRGB, white D65."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ numpy.clip(linear, 0, 1) / (0.9505, 1, 1.089)
    f = numpy.where(xyz > 0.008856, numpy.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return numpy.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


ROLES = (style.NAIVE, style.TILED, style.PADDED, style.REST, style.REFERENCE)


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_differ_for_every_sight(sight):
    seen = [make_lab(numpy.array(SIGHTS[sight]) @ make_linear(colour)) for colour in ROLES]
    for one, other in itertools.combinations(seen, 2):
        assert numpy.linalg.norm(one - other) > 20


def test_colours_are_legible():
    for colour in ROLES:
        assert contrast(style.text_colour(colour), style.PAPER) >= 4.5
        assert contrast(colour, style.PAPER) >= 3
    assert contrast(style.FAINT, style.PAPER) >= 4.5 <= contrast(style.INK, style.PAPER)
    assert min(contrast(c, "#000000") for c in (style.LIGHT_INK, style.LIGHT_FAINT)) >= 4.5
    for number, shade in enumerate(style.SHADES):
        ink = style.PAPER if style.WAYS[number] >= 9 else style.INK
        assert contrast(ink, shade) >= 4.5, "the number in a cell of the banks"


def test_shades_follow_the_words():
    assert [style.SHADES.index(style.shade(ways)) for ways in (0, 1, 2, 3, 4, 5, 9, 17, 32)] == [
        *(0, 0, 1, 2, 2, 3, 4, 5, 5)
    ]


def find_lines(ax):
    """{label: line} of a picture with lines."""
    return {
        bars.get_label(): bars[0]
        for bars in ax.containers
        if isinstance(bars, matplotlib.container.ErrorbarContainer)
    }


def test_variants_have_their_colour_in_all_pictures(draw):
    wanted = {"naive": style.NAIVE, "tiled": style.TILED, "padded": style.PADDED}
    wanted |= {"tuned": style.REST, "cublas": style.REFERENCE}
    lines = find_lines(draw["speed"]())
    assert {name: lines[name].get_color() for name in wanted} == wanted
    for name in ("ladder", "sectors"):
        ax = draw[name]()
        labels = [label.get_text() for label in ax.get_yticklabels()]
        bars = dict(zip(labels, ax.patches, strict=True))
        for label in wanted.keys() & bars.keys():
            assert matplotlib.colors.to_hex(bars[label].get_facecolor()) == wanted[label]
    marks = {line.get_label(): line for line in draw["roofline"]().lines}
    for label in wanted.keys() & marks.keys():
        assert marks[label].get_color() == wanted[label]
    assert len(wanted.keys() & marks.keys()) == 3


def test_reference_is_thick_and_black(draw):
    lines = find_lines(draw["speed"]())
    others = [
        line.get_linewidth() for name, line in lines.items() if name[:5] not in ("cubla", "numpy")
    ]
    assert lines["cublas"].get_linewidth() > 1.5 * max(others)
    (across,) = (line for line in draw["ladder"]().lines if line.get_color() == style.REFERENCE)
    assert across.get_linewidth() > 2 and len(set(across.get_xdata())) == 1
    roof = draw["roofline"]().lines[0]
    assert roof.get_color() == style.REFERENCE and roof.get_linewidth() > 3
    cub = Measurement("reduce", "cub", (64,), "float32", "cuda", (1.0,), nbytes=8.0)
    ours = Measurement("reduce", "shuffle", (64,), "float32", "cuda", (1.0,), nbytes=8.0)
    ax = plot.ladder([ours, cub])
    assert matplotlib.colors.to_hex(ax.patches[1].get_facecolor()) == style.REFERENCE


# Labels -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")  # of a picture in which there is no room
def test_many_lines_have_labels_apart():
    """33 lines that end close together: each has its label, in the order of the ends."""
    rows = [make_row(f"variant_{i}", 100 + i, n) for i in range(33) for n in (64, 128)]
    ax = plot.speed(rows)
    ax.figure.canvas.draw()
    ends = list_ends(ax, "end")
    check_apart(ends)
    heights = [text.get_window_extent().y0 for text in ends]
    assert heights == sorted(heights)
    assert all(text.get_window_extent().x0 > ax.get_window_extent().x1 for text in ends)


def test_spread():
    assert style.spread([5, 1], 1, 0, 10) == [5, 1]
    assert style.spread([1, 1, 1], 2, -10, 10) == [-1, 1, 3]
    assert style.spread([0, 0], 2, 0, 10) == [0, 2]
    assert style.spread([9, 10, 10], 3, 0, 10) == [4, 7, 10]
    assert style.spread([5, 5, 5], 9, 0, 10) == [0, 5, 10], "no room: as far apart as can be"
    assert style.spread([], 1, 0, 1) == []


def test_labels_of_points_cover_nothing():
    rows = [make_row(f"variant_{i}", 100 + i / 3) for i in range(9)]
    ax = plot.roofline(rows, gb_per_s=100, gflop_per_s=1000)
    ax.figure.canvas.draw()
    ends = list_ends(ax, "end")
    check_apart(ends)
    assert len(ends) == 9
    for row in rows:
        x, y = ax.transData.transform((row.flops / row.nbytes, row.gflop_per_s))
        assert not any(text.get_window_extent().contains(x, y) for text in ends)


def test_a_small_picture_of_banks_has_no_numbers_in_its_cells():
    from matplotlib.figure import Figure

    for inches, cells in (((4, 4), 0), ((9, 8), 32)):
        ax = Figure(figsize=inches, layout="constrained").subplots()
        plot.banks(numpy.arange(32) * 132, ax=ax)
        texts = [text for text in ax.texts if text.get_gid() is None]
        assert len(texts) == (cells and cells + 32)  # the last line has the load of each bank
        assert all(text.get_fontsize() >= 7 for text in texts)


def test_axes_that_were_removed_have_no_figure():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.remove()
    with pytest.raises(smemkit.ArgumentError, match="removed"):
        plot.banks(numpy.arange(32) * 4, ax=ax)
