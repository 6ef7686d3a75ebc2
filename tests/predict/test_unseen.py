"""Kernels that the package does not have: their predictions beside their times on an H200."""

import json
import statistics

import pytest
from predict import unseen
from support import disassemble


@pytest.fixture(scope="module")
def rows():
    return json.loads(unseen.FOUND.read_text(encoding="utf-8"))["rows"]


def test_all_kernels_are_near(rows):
    assert [row["kernel"] for row in rows] == list(unseen.CASES)
    errors = [abs(error) for error in unseen.list_errors(rows)]
    assert statistics.median(errors) <= 0.15
    assert sum(error <= 0.3 for error in errors) >= 0.9 * len(errors)


def test_the_page_has_the_kernels(rows):
    page = unseen.PAGE.read_text(encoding="utf-8")
    assert unseen.fill_page(page, rows) == page


@pytest.mark.parametrize("name", ["half_pairs_chain", "banks4"])
def test_the_model_gives_the_record(rows, name):
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")
    row = next(row for row in rows if row["kernel"] == name)
    made = unseen.predict_row(row)
    assert made["predicted_ms"] == pytest.approx(row["predicted_ms"], rel=0.02)
    assert made["limited_by"] == row["limited_by"]
