"""The cards of `smemkit run --card`: those of smemkit.predict, by the same names and facts."""

import os
import subprocess
import sys

import pytest
from read_tables import read_rows
from support.paths import ROOT

import smemkit

ROWS = {row["name"]: row for row in read_rows("runtime/card.def", "SMK_RUNTIME_CARD")}
MORE = {"RTX 4070", "V100"}  # whose rates smemkit.predict does not know


def run(*words, code="print(1)", **variables):
    """A script under the command, and what it says."""
    return subprocess.run(
        [sys.executable, "-m", "smemkit", "run", *words, sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_all_cards_that_are_predicted_can_be_seen_by_programs():
    assert set(ROWS) == set(smemkit.cards()) | MORE
    text = " ".join((ROOT / "docs" / "run.md").read_text(encoding="utf-8").split())
    assert f"those that `smemkit.cards()` lists, {' and '.join(sorted(MORE))}." in text


@pytest.mark.parametrize("name", smemkit.cards())
def test_both_know_the_same_of_a_card(name):
    row, card = ROWS[name], smemkit.card(name)
    assert int(row["multiprocessors"]) == card.multiprocessors
    assert int(row["clock_mhz"]) == card.clock_mhz
    assert int(row["l2_kib"]) == 1024 * card.l2_mb
    transfers = 2 * int(row["memory_mhz"]) * int(row["bus_bits"]) / 8 / 1e3
    assert transfers == pytest.approx(card.dram_gbs, rel=0.03)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("A100-PCIE-40GB", "A100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("H100 PCIe", "H100"),
        ("NVIDIA H200 NVL", "H200"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("RTX 3060 12 GB", "RTX 3060"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "RTX 3060"),
    ],
)
def test_a_card_has_the_name_of_its_driver(name, row):
    assert smemkit.limits(name) == smemkit.limits(row)


def test_what_is_part_of_a_name_stays():
    assert smemkit.limits("RTX 3060 Ti")["compute_capability"] == "8.6"
    for name in ("GB", "80GB", "12 GB", "SXM", "RTX GB"):
        with pytest.raises(smemkit.Error):
            smemkit.limits(name)


def test_programs_run_as_such_cards():
    for name in ("NVIDIA A100-PCIE-40GB", "rtx a6000", "A10"):
        done = run("--card", name)
        assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


MEMORY = "import ctypes; d = ctypes.CDLL('libcuda.so.1'); d.cuInit(0); n = ctypes.c_size_t(); "
MEMORY += "d.cuDeviceTotalMem_v2(ctypes.byref(n), 0); print(n.value >> 30)"


@pytest.mark.parametrize(
    ("name", "gib", "taken"),
    [
        ("A100", 40, ""),
        ("NVIDIA A100-SXM4-80GB", 80, "the A100 with 80 GB and 108 multiprocessors"),
        ("a100 40 gb", 40, "the A100 with 40 GB"),
        ("Tesla V100-PCIE-32GB", 32, "the V100 with 32 GB"),
        ("H100 PCIe", 80, "the H100 with 80 GB and 132 multiprocessors"),
        ("rtx3060", 12, ""),
    ],
)
def test_the_memory_that_a_name_says_is_that_of_the_card(name, gib, taken):
    done = run("--card", name, code=MEMORY)
    assert (done.returncode, done.stdout) == (0, f"{gib}\n"), done.stderr
    assert f"{name} is taken for {taken}" in done.stderr if taken else done.stderr == ""


def test_a_memory_with_which_a_card_is_not_sold_is_refused():
    done = run("--card", "A100 60GB")
    assert (done.returncode, done.stdout) == (2, "")
    assert "A100 60GB: the A100 is known here with 40 GB or 80 GB of memory" in done.stderr
    assert (
        "RTX 3060 8GB: the RTX 3060 is known here with 12 GB"
        in run("--card", "RTX 3060 8GB").stderr
    )


@pytest.mark.parametrize("count", ["0", "-1", "1025", "some"])
def test_a_number_of_multiprocessors_that_no_card_has_is_refused(count, monkeypatch):
    words = f"SMEMKIT_SM_COUNT is '{count}'; a whole number from 1 to 1024 is needed"
    monkeypatch.setenv("SMEMKIT_SM_COUNT", count)
    with pytest.raises(smemkit.ArgumentError, match=words):
        smemkit.vector_add([1.0], [2.0], backend="sim")
    if count == "0":
        done = run(SMEMKIT_SM_COUNT=count)
        assert (done.returncode, done.stdout) == (2, "") and words in done.stderr
