"""Cards of their owners: what files of measurements give, where they are found, what is refused."""

import json
from pathlib import Path

import numpy
import pytest

import smemkit
from smemkit.bench import rates, recorded
from smemkit.bench.results import Results
from smemkit.predict import own_card

MEASURED = Path(__file__).with_name("card_h200.json")


def join_rows(name="NVIDIA H200", capability="9.0"):
    """Rows of a file: the recorded ceilings and latencies of the H200."""
    ceilings, probes = (recorded("h200", part=part) for part in ("ceilings", "probes"))
    rows = [row for row in (*ceilings.rows, *probes.rows) if row.variant in ("banks", "latency")]
    facts = {**ceilings.provenance, "device": name, "compute_capability": capability}
    facts["device_facts"] = {**facts["device_facts"], "memory_bus_width_bits": 6144}
    return Results(rows, facts)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SMEMKIT_DATA", str(tmp_path))
    return tmp_path


def test_recorded_rows_of_the_h200_give_its_constants(folder):
    join_rows().save(folder / "card_h200.json")
    mine, known = smemkit.card("mine"), smemkit.card("h200")
    assert mine.compute_capability == "9.0" and mine.watts == known.watts
    assert mine.multiprocessors == known.multiprocessors and mine.l2_mb == known.l2_mb
    assert mine.lsu_lanes_per_clk == 32
    for quantity in ("shared_bytes_per_clk", "l1_clk", "l2_clk", "dram_ns"):
        assert getattr(mine, quantity) == pytest.approx(getattr(known, quantity), rel=0.1)
        assert "smemkit record" in mine.sources[quantity]
    assert mine.sources["l1_kb"] == known.sources["l1_kb"]
    lines = own_card.describe(mine)
    assert lines[1].split() == ["measured", "in", "the", "table"]
    assert next(line for line in lines if line.startswith("l2_mb")).split() == ["l2_mb", "60", "60"]
    assert "launch_us" in lines[-1] and "l1_clk" not in lines[-1]


# Constants that an H200 gave by `smemkit record --card` (tests/predict/card_h200.json), and how far
# they may lie from its row, part of which other kernels measured.
FAR = {"l2_bytes_per_clk": 0.4, "l2_partial_stores_per_clk": 0.3, "atomic_slices": 0.4}


def test_a_measured_h200_is_like_its_row():
    mine, known = smemkit.card(MEASURED), smemkit.card("h200")
    measured = [name for name, source in mine.sources.items() if "smemkit record" in source]
    assert len(measured) >= 23 and not {"launch_us", "l1_kb"} & set(measured)
    for quantity in measured:
        near = FAR.get(quantity, 0.25)
        assert getattr(mine, quantity) == pytest.approx(getattr(known, quantity), rel=near), (
            quantity
        )


def test_a_measured_h200_predicts_as_its_row_does():
    a = numpy.ones((1024, 1024), dtype="float32")
    for variant in ("naive", "padded", "copy"):
        report = smemkit.profile(smemkit.transpose, a, variant=variant, blocks=4)
        own, row = report.time(MEASURED), report.time("h200")
        assert own.time_ms == pytest.approx(row.time_ms, rel=0.2), variant


def test_a_card_is_found_by_its_name_its_file_and_as_mine(folder):
    join_rows("NVIDIA GeForce GTX 9999", "9.0").save(folder / "card_gtx_9999.json")
    names = ("mine", "gtx 9999", "NVIDIA GeForce GTX 9999", folder / "card_gtx_9999.json")
    cards = [smemkit.card(name) for name in names]
    assert {card.name for card in cards} == {"GTX 9999"}
    a = numpy.ones((64, 64), dtype="float32")
    done = smemkit.predict(smemkit.gemm, a, a, variant="tiled", device=str(names[-1]))
    assert done.card.name == "GTX 9999" and done.low_ms < done.time_ms < done.high_ms


def test_the_table_goes_before_a_file_of_the_same_name(folder):
    join_rows("NVIDIA H100", "9.0").save(folder / "card_h100.json")
    assert smemkit.card("h100").sources["clock_mhz"] != smemkit.card("mine").sources["clock_mhz"]


def test_an_architecture_that_the_table_lacks_is_like_an_older_one(folder):
    join_rows("NVIDIA GB10", "12.1").save(folder / "card_gb10.json")
    card = smemkit.card("gb10")
    assert card.compute_capability == "12.1" and card.l1_kb == smemkit.card("rtx 5090").l1_kb


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no JSON", "is not JSON"),
        ("{}", "does not say which GPU"),
        (None, "No such file"),
        ("anonymous", "does not say which GPU"),
        ("old", "from 7.5 on"),
        ("bare", "lacks what a card needs"),
        ("narrow", "does not tell dram_gbs"),
    ],
)
def test_files_that_are_no_cards_are_refused(tmp_path, text, words):
    path = tmp_path / "card_x.json"
    if text in ("anonymous", "old", "bare", "narrow"):
        join_rows("NVIDIA V100", "7.0" if text == "old" else "9.0").save(path)
        data = json.loads(path.read_text())
        if text == "anonymous":
            data["provenance"]["device"] = None
        elif text == "bare":
            del data["provenance"]["device_facts"]["multiprocessors"]
        elif text == "narrow":
            del data["provenance"]["device_facts"]["memory_bus_width_bits"]
        path.write_text(json.dumps(data))
    elif text:
        path.write_text(text)
    with pytest.raises(smemkit.ArgumentError, match=words):
        smemkit.card(path)


def test_mine_without_a_file_says_how_to_make_one(folder):
    with pytest.raises(smemkit.ArgumentError, match="smemkit record --card"):
        smemkit.card("mine")


def test_kernels_of_rates_do_what_is_counted():
    facts = {"multiprocessors": 2, "global_memory_bytes": 1 << 24, "l2_cache_bytes": 1 << 18}
    for rate in rates.list_rates(facts):
        small = rate._replace(blocks=2, rounds=2)
        array = smemkit.zeros((1 << 19,), "uint32", backend="sim")
        report = smemkit.profile(rates.prepare(small, array, "sim"))
        counted = report.counters
        sectors = {
            "load": counted["global.load.sectors"],
            "store": counted["global.store.sectors"],
            "atomic": counted["global.atomic.sectors"],
        }
        loads = "read" in rate.kernel or "copy" in rate.kernel
        stores = "write" in rate.kernel or "copy" in rate.kernel
        assert bool(sectors["load"]) == loads and bool(sectors["store"]) == stores
        assert bool(sectors["atomic"]) == ("add" in rate.kernel)
        if "stream" in rate.kernel:
            moved = 4 * rates.VECTOR * rates.THREADS * 2 * 2
            assert sectors["load"] * loads + sectors["store"] * stores == moved / 32 * (
                loads + stores
            )
        if "strided" in rate.kernel and rate.step >= 32:
            assert sectors["load"] + sectors["store"] == 2 * 2 * rates.THREADS
