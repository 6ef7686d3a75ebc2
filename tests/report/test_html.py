"""The notebook's view: whole, escaped, self-contained."""

import re
from html.parser import HTMLParser

import numpy
import pytest
from support.small_kernels import STRIDE, make_kernel, make_stride

import smemkit
from smemkit.report import highlight, html

VOID = {"br", "meta"}


class Balanced(HTMLParser):
    """Fails where tags do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.names = [], []

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            assert not name.startswith("on")
            assert name != "src" and (value is None or "url(" not in value)
            assert name != "href" or value.startswith("#")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parse(text):
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    assert "script" not in parser.names
    return parser.names


def strip_tags(text):
    """The text without the spans of syntax colours."""
    return re.sub(r"</?span[^>]*>", "", text)


@pytest.fixture
def column():
    square = numpy.ones((64, 64), dtype="float32")
    return smemkit.profile(smemkit.gemm, square, square, variant="column")


def test_source_with_counters_in_the_margin(column):
    text = column._repr_html_()
    parse(text)
    (line,) = [
        line
        for line in column.lines
        if line.file == "column.cu" and line.counters["shared.load.conflicts"]
    ]
    (row,) = re.findall(rf'<tr[^>]*><td class="n">{line.line}</td>(.*?)</tr>', text)
    assert f"{line.counters['instructions.warp']:,}" in row
    assert f"{line.counters['shared.load.conflicts']:,}" in row
    assert "rgba(" in row and "tile_b[threadIdx.x][i]" in strip_tags(row)
    shown = strip_tags(text)
    assert "__syncthreads();" in shown and "row &lt; m" in shown  # of lines without counts too


def test_advice_links_to_its_line(column):
    text = column._repr_html_()
    links = re.findall(r'<a href="#([^"]+)">column.cu:(\d+)</a>', text)
    assert [int(line) for _, line in links] == [advice.line for advice in column.advice]
    for mark, line in links:
        assert text.count(f'<tr id="{mark}"><td class="n">{line}</td>') == 1
    assert text.index("<h4>advice</h4>") < text.index("column.cu</th>") < text.index("all counters")


def test_lines_of_many_launches_share_the_mark_of_their_file(monkeypatch):
    """The mark covers the counters of all launches: it is made once a file, not once a line."""
    made = []
    mark_file = html._mark_file
    monkeypatch.setattr(
        html, "_mark_file", lambda report, file: made.append(file) or mark_file(report, file)
    )
    square = numpy.ones((32, 32), dtype="float32")
    report = smemkit.profile(
        lambda: [smemkit.gemm(square, square, variant="column", backend="sim") for _ in range(20)]
    )
    text = report._repr_html_()
    assert len(report.launches) == 20 and len(re.findall('<tr id="smemkit-', text)) > 10
    assert "column.cu" in made and sorted(made) == sorted({line.file for line in report.lines})


def test_comparison(column):
    """The sentence first, marked rows, equal ones folded away."""
    square = numpy.ones((64, 64), dtype="float32")
    padded = smemkit.profile(smemkit.gemm, square, square, variant="column_padded")
    comparison = column.compare(padded, names=("bad", "good"))
    text = comparison._repr_html_()
    parse(text)
    shown, folded = text.split("<details>")
    assert shown.index("Against bad, good has no bank conflicts") < shown.index("<table>")
    differing, equal = comparison.split()
    assert all(f">{row[0]}</td>" in shown and f">{row[0]}</td>" not in folded for row in differing)
    assert all(f">{name}</td>" in folded and f">{name}</td>" not in shown for name in equal)
    worse, better = shown.count(f"rgba({html.ORANGE}"), shown.count(f"rgba({html.BLUE}")
    marks = [comparison.mark(row) for row in differing]
    assert (worse, better) == (marks.count("worse"), marks.count("better")) and worse and better


def test_picture_of_a_conflict():
    report = make_stride().profile(1, 32, (numpy.zeros(32, dtype="int32"), 32))
    svg = report.picture(op="load").svg
    parse(svg)
    assert svg.count("<rect ") == 32
    assert svg.count(f"rgb({html.ORANGE})") == 32 and f"rgb({html.BLUE})" not in svg
    assert "32 wavefronts, 31 of them conflicts" in svg
    assert "lane 31, bank 0, word 992; 32 of this bank in the phase" in svg


def test_picture_without_a_conflict():
    report = make_stride().profile(1, 32, (numpy.zeros(32, dtype="int32"), 1))
    svg = report.picture(op="load").svg
    assert svg.count(f"rgb({html.BLUE})") == 32 and f"rgb({html.ORANGE})" not in svg
    text = report.picture(op="load")._repr_html_()
    parse(text)
    assert "4 bytes a lane, 1 wavefront<" in text and "1 wavefront, 0 of them conflicts" in svg


def test_picture_of_a_copy():
    """Its title has what it cost; the picture of its targets says what that leaves out."""
    square = numpy.ones((64, 64), dtype="float32")
    report = smemkit.profile(smemkit.gemm, square, square, variant="async")
    text = report.picture(op="async", space="shared")._repr_html_()
    assert "4 bytes a lane, 4 wavefronts<" in text
    words = "1 wavefront, 0 of them conflicts (with the copy&#x27;s sources 4)"
    assert words in text


def test_picture_of_a_wide_access(column):
    svg = column.picture(op="load", space="shared").svg  # 16 bytes a lane: 4 banks each
    assert svg.count("<rect ") == 128
    assert svg.count("stroke-dasharray") == 3  # four phases of eight lanes
    assert "32 wavefronts, 28 of them conflicts" in svg


def test_picture_of_sectors():
    body = "    mul.wide.u32 %rd2, %r1, 64;\n    add.s64 %rd3, %rd1, %rd2;\n"
    kernel = make_kernel(f"{body}    st.global.u32 [%rd3], %r1;")
    report = kernel.profile(1, 32, (numpy.zeros(512, dtype="uint32"),))
    svg = report.picture().svg
    parse(svg)
    assert svg.count("<rect ") == 32 and "32 sectors" in svg
    assert "4 of its 32 bytes are used" in svg


def test_everything_is_escaped():
    code = STRIDE.replace(
        "st.shared.u32", "// <script>alert(1)</script> & so on\n    st.shared.u32"
    )
    report = make_stride(code).profile(1, 32, (numpy.zeros(32, dtype="int32"), 32))
    for sample in report.samples:
        sample.text = "<script>alert(1)</script>"
    for line in report.lines:
        line.text = "<img src=x onerror=alert(1)>"
    parse(report._repr_html_())
    parse(report.compare(report, names=("<a>", "<b>"))._repr_html_())
    page = html.make_page(report, "<title>")
    assert "<title>&lt;title&gt;</title>" in page and "http" not in re.sub(
        r'xmlns="[^"]*"', "", page
    )
    parse(page.partition("\n")[2])


def test_colours_stand_on_any_background(column):
    """No fixed text colour or opaque background: the theme's own stay."""
    text = column._repr_html_()
    for name, colour in highlight.COLOURS.items():  # test_saved.py computes their contrast
        text = text.replace(f"span.{name[0]}{{color:{colour}}}", "")
    assert not re.search(r"(?<![-\w])color:(?!inherit)", text)
    assert not re.search(r"background:(?!none|rgba)", text)
