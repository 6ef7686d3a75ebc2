"""Reports in files: what is read back is what was saved; a file is whole or not there."""

import doctest
import json
import os
import stat

import numpy
import pytest
from support.small_kernels import make_stride

import smemkit
from smemkit.report import highlight, html, saved

ENDINGS = r"\.html.*\.json"
RACE = """
extern "C" __global__ void reverse(float *x)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = 2.0f; /* a comment
    of two lines */
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
"""


def make_profile(variant="column", **keywords):
    square = numpy.ones((64, 64), dtype="float32")
    return smemkit.profile(smemkit.gemm, square, square, variant=variant, **keywords)


def make_check():
    kernel = smemkit.RawKernel(RACE, "reverse")
    return kernel.check(1, 64, (numpy.zeros(64, dtype="float32"),))


def make_comparison():
    return make_profile().compare(make_profile("padded"), ("by column", "padded"))


def save_and_load(report, folder):
    path = folder / "report.json"
    report.save(path)
    return smemkit.load_report(path)


@pytest.mark.parametrize("make", [make_profile, make_check, make_comparison])
def test_what_is_read_back_says_the_same(make, tmp_path):
    report = make()
    again = save_and_load(report, tmp_path)
    assert type(again) is type(report)
    assert str(again) == str(report) and repr(again) == repr(report)
    assert again.to_dict() == report.to_dict()
    assert again._repr_html_() == report._repr_html_()
    assert again.to_html() == report.to_html()
    second = save_and_load(again, tmp_path)  # what was read can be saved
    assert second.to_html() == report.to_html()


def test_a_profile_read_back_answers_questions(tmp_path):
    report = make_profile(blocks=2)
    again = save_and_load(report, tmp_path)
    assert again.sampled == (2, 4) and again.result is None
    assert again.holds("shared.load.conflicts > 0")
    mine, theirs = report.access(op="load"), again.access(op="load")
    assert numpy.array_equal(mine.addresses, theirs.addresses)
    assert mine.addresses.dtype == theirs.addresses.dtype
    assert again.picture(op="load").svg == report.picture(op="load").svg
    assert str(again.compare(make_profile("padded"))) == str(report.compare(make_profile("padded")))
    assert [advice.text for advice in again.advice] == [advice.text for advice in report.advice]


def test_times_of_a_gpu_are_kept(tmp_path):
    report = make_profile()
    report.launches[0].times_ms = (0.25, 0.5, 0.125)
    report.origin["timed_on"] = "a GPU"
    again = save_and_load(report, tmp_path)
    assert again.times_ms == ((0.25, 0.5, 0.125),) and again.time_ms == 0.25
    assert "times of a GPU" in again.to_html()


def test_a_refused_launch_is_kept(tmp_path):
    def go_on():
        kernel = make_stride()
        kernel(1, 32, (numpy.zeros(32, dtype="int32"), 1))
        with pytest.raises(smemkit.OutOfBoundsError):
            kernel(1, 32, (numpy.zeros(4, dtype="int32"), 1))

    report = smemkit.profile(go_on)
    assert len(report.refused) == 1
    again = save_and_load(report, tmp_path)
    assert again.refused == report.refused and again.label == report.label


def test_the_source_is_read_from_the_report_and_not_from_a_file_of_that_name(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(RACE)
    module = smemkit.RawModule(path=path)
    report = module.get_function("reverse").check(1, 64, (numpy.zeros(64, dtype="float32"),))
    report.save(tmp_path / "check.json")
    path.write_text("another text\n" * 20)
    again = smemkit.load_report(tmp_path / "check.json")
    assert "tile[63 - threadIdx.x]" in again.findings[0].first.text
    assert "another text" not in again.to_html()


@pytest.mark.parametrize("name", ["report", "report.txt", "report.html.gz", ".html"])
def test_another_ending_is_refused_by_name(name, tmp_path):
    with pytest.raises(smemkit.ArgumentError, match=ENDINGS):
        make_check().save(tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", [3, None, b"x.html", ["x.html"]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(smemkit.ArgumentTypeError):
        make_check().save(path)
    with pytest.raises((smemkit.ArgumentTypeError, OSError)):
        smemkit.load_report(path)


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path):
    path = tmp_path / "report.HTML"
    path.write_text("old")
    path.chmod(0o640)
    report = make_check()
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.to_html()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.HTML"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        make_check().save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["report.html"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target.json").write_text("old")
    (tmp_path / "link.json").symlink_to("target.json")
    make_check().save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "target.json").read_text())["kind"] == "check"


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda d: d.update(format=99), "format 99"),
        (lambda d: d.update(kind="something"), "no report of smemkit"),
        (lambda d: d.pop("captured"), "to_dict or --json"),
        (lambda d: d["captured"].pop("launches"), "launches"),
        (lambda d: d["captured"].update(launches=3), "content"),
        (lambda d: d["captured"]["launches"][0].pop("kernel"), "kernel"),
        (lambda d: d["captured"]["launches"][0].update(samples=[1]), "content"),
        (lambda d: d["origin"].pop("date"), "date"),
    ],
)
def test_a_damaged_file_is_refused(change, words, tmp_path):
    path = tmp_path / "report.json"
    make_profile().save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(smemkit.ArgumentError, match=words) as caught:
        smemkit.load_report(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '"x"', "[" * 100000])
def test_what_is_no_report_is_refused(text, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(smemkit.ArgumentError):
        smemkit.load_report(path)


def test_a_page_tells_its_origin():
    report = make_check()
    page = report.to_html()
    assert report.origin["date"][:10] in page and report.origin["date"].endswith("+00:00")
    assert f"smemkit {smemkit.__version__}" in page and "simulator" in page
    assert "reverse, grid 1 × 1 × 1, block 64 × 1 × 1" in page
    assert report.origin["date"][:10] not in report._repr_html_()  # notebooks compare their outputs


def test_source_is_coloured_by_pygments():
    pytest.importorskip("pygments", reason="colours need Pygments, which pytest brings")
    text = make_check().to_html()
    assert '<span class="b">threadIdx</span>' in text
    lines = ["int x; /* one", "two */ float y = 2.0f;", ""]
    rows = highlight.colour_lines(lines, "a.cu")
    assert len(rows) == 3 and rows[2] == ""
    assert '<span class="q">/* one</span>' in rows[0]
    assert rows[1].startswith('<span class="q">two */</span>')


def test_source_stays_plain_without_pygments(monkeypatch):
    monkeypatch.setattr(highlight, "_make_lexer", lambda is_ptx: None)
    highlight._colour.cache_clear()
    try:
        assert highlight.colour_lines(["a < b", "c"], "a.cu") == ("a &lt; b", "c")
    finally:
        highlight._colour.cache_clear()


def measure_luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("name", highlight.COLOURS)
@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_colours_are_readable_on_light_and_dark(name, background):
    pair = sorted(map(measure_luminance, (highlight.COLOURS[name], background)))
    assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 3.9


def test_long_lines_wrap():
    assert "pre-wrap" in html.STYLE and "overflow-wrap:anywhere" in html.STYLE


def test_example_of_save():
    (example,) = doctest.DocTestFinder().find(saved.Saved.save, "save", globs={})
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_what_launches_share_is_saved_once(tmp_path):
    kernel, array = make_stride(), numpy.zeros(32, dtype="int32")

    def launch_often():
        for _ in range(50):
            kernel(1, 32, (array, 1))

    report = smemkit.profile(launch_often)
    path = tmp_path / "often.json"
    report.save(path)
    assert path.read_text().count(".visible .entry") == 1
    assert smemkit.load_report(path).to_html() == report.to_html()
