"""The table of predictions of docs/predict.md: whole, as it is made, and near what was measured."""

import json

import numpy
import pytest
from predict import table

from smemkit.bench.workloads import make_workload


@pytest.fixture(scope="module")
def rows():
    return json.loads(table.FOUND.read_text(encoding="utf-8"))


def test_every_measured_row_is_predicted(rows):
    measured = {table.name_row(row): row["measured_ms"] for row in table.list_rows()}
    assert {table.name_row(row): row["measured_ms"] for row in rows} == measured


def test_the_page_has_the_rows(rows):
    page = table.PAGE.read_text(encoding="utf-8")
    assert table.fill_page(page, rows) == page


def test_predictions_are_near(rows):
    facts = table.sum_up(rows)
    assert facts["median"] <= table.GOALS["median"]
    assert facts["near"] >= 0.9
    assert facts["inside"] >= 0.85
    assert facts["tau"] >= table.GOALS["tau"]


SMALL = ("gemm tiled", "gemm column", "transpose naive", "reduce divergent", "scan hillis_steele")


@pytest.mark.parametrize("name", SMALL)
def test_the_model_gives_the_table(rows, name):
    family, variant = name.split()
    fitting = [row for row in rows if (row["family"], row["variant"]) == (family, variant)]
    row = min(fitting, key=lambda row: numpy.prod(row["shape"]))
    case = make_workload(family, tuple(row["shape"]), row["dtype"], row["parameters"])
    made = table.predict_row(row, case.make_inputs(numpy.random.default_rng(1)), case)
    assert made["predicted_ms"] == pytest.approx(row["predicted_ms"], rel=0.02)
    assert made["limited_by"] == row["limited_by"]
