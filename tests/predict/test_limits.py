"""The limits of predictions beside what Nsight Compute found busiest, as docs/predict.md says."""

import json

import pytest
from predict import limits

from smemkit.predict.prediction import MEANINGS

GOAL = 0.8  # of the launches


@pytest.fixture(scope="module")
def record():
    return json.loads(limits.FOUND.read_text(encoding="utf-8"))


def test_limits_agree_with_nsight_compute(record):
    rows = record["rows"]
    assert sum(map(limits.agrees, rows)) >= GOAL * len(rows)
    assert record["provenance"]["device"] == "NVIDIA H200"
    assert {words[0] for words in limits.CASES} >= {row["family"] for row in rows}


def test_the_page_has_the_limits(record):
    page = limits.PAGE.read_text(encoding="utf-8")
    assert limits.fill_page(page, record["rows"]) == page


def test_all_names_of_limits_are_terms():
    names = set().union(*(names for _, names in limits.UNITS), *limits.STALLS.values())
    assert names <= MEANINGS.keys()


def test_launches_of_calls_are_told_by_the_names_of_kernels():
    names = ["gemm_tuned_arrange_float32(float const*)", "gemm_tuned_float32", "gemm_tiled_float32"]
    table = [{"Kernel Name": name} for name in names]
    made = [(["gemm", [64], "float32", {}], "tuned"), (["gemm", [64], "float32", {}], "tiled")]
    assert [len(part) for part in limits.split_launches(table, made)] == [2, 1]
    with pytest.raises(SystemExit, match="3 launches, of which 2 fit 1 calls"):
        limits.split_launches(table, made[:1])
