"""Cards by the names that drivers give them, and their memory."""

import re

import numpy
import pytest

import smemkit


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("NVIDIA GeForce RTX 3060", "RTX 3060"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-PCIE-40GB", "A100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
    ],
)
def test_a_card_is_found_by_the_name_of_its_driver(name, row):
    assert smemkit.card(name) == smemkit.card(row)


@pytest.mark.parametrize(
    ("name", "row", "doubtful"),
    [
        ("A100-SXM4-80GB", "A100 with 40 GB", {"dram_gbs"}),
        ("H100 PCIe", "SXM form", {"dram_gbs", "multiprocessors"}),
    ],
)
def test_a_card_of_another_size_says_which_one_the_table_has(name, row, doubtful):
    found = smemkit.card(name)
    assert found.name == name
    assert doubtful <= set(found.guessed)
    assert row in found.sources["dram_gbs"]
    a = numpy.ones((64, 64), "float32")
    notes = smemkit.predict(smemkit.gemm, a, a, device=name).notes
    assert any("constants of this card" in note and name in note for note in notes)


def test_arrays_larger_than_the_memory_of_a_card_are_refused():
    x, y = (smemkit.empty(2_200_000_000, "float32", backend="sim") for _ in range(2))
    with pytest.raises(smemkit.OutOfMemoryError, match=r"17\.6 GB, and the memory of T4 has 16 GB"):
        smemkit.predict(smemkit.vector_add, x, y, device="t4")


def test_a_ranking_says_that_no_choice_runs_on_the_card():
    a = numpy.ones((64, 64), "int8")
    words = r"none of the \d+ choices that take .*\(\d+ others do not\) can run on T4: .*8\."
    with pytest.raises(smemkit.BackendError, match=words):
        smemkit.rank(smemkit.gemm, a, a, device="t4")


def test_the_next_best_is_the_fastest_of_the_others():
    a = numpy.ones((256, 256), "float32")
    choice = smemkit.explain_choice(smemkit.gemm, a, a, device="rtx 3060")
    times = {one.variant: one.time_us for one in choice.candidates if one.time_us is not None}
    del times[choice.variant]
    # a shorter time by predictions does not decide: then it is "another"
    named = re.search(
        r"(?:The next best|another), (\w+), would take", " ".join(str(choice).split())
    )
    assert named[1] == min(times, key=times.get)
