"""Kernels that the package does not have: their predictions beside their times on an H200."""

import functools
import json
import statistics

import numpy
import pytest
from predict import unseen, unseen_cases
from support import disassemble

import smemkit


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


@pytest.mark.parametrize("name", ["half_pairs_chain", "banks4", "chain_int"])
def test_the_model_gives_the_record(rows, name):
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")
    row = next(row for row in rows if row["kernel"] == name)
    made = unseen.predict_row(row)
    assert made["predicted_ms"] == pytest.approx(row["predicted_ms"], rel=0.02)
    assert made["limited_by"] == row["limited_by"]


# What depends on data, or is not counted: kernel, words of its note, how much wider the range is.
UNKNOWN = {
    "count_skewed": ("one part of the L2 cache", 0.3),
    "local_tables": ("local memory", 1.0),
    "remainders": ("numbers of 64 bits", 1.4),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_said_and_widens_the_range(name):
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")
    kernel, n = unseen.load(name), 1 << 18
    words, share = UNKNOWN[name]
    out = numpy.zeros(4096 if name == "count_skewed" else n, numpy.uint32)
    more = [numpy.uint32(1000003)] if name == "remainders" else []
    arguments = [unseen_cases.make_random(n, numpy.uint32), out, *more, numpy.int32(n)]
    found = smemkit.predict(lambda: kernel((n // 256,), (256,), arguments, backend="sim"))
    assert any(words in note for note in found.notes)
    assert found.high_ms > (1 + share) * found.time_ms


def test_reads_of_textures_are_said_to_be_unknown():
    texture = smemkit.Texture(numpy.ones((64, 64), "float32"), filter="linear", backend="sim")
    size, angle = [numpy.int32(64)] * 2, [numpy.float32(0.6), numpy.float32(0.8)]
    arguments = [texture, numpy.empty(4096, numpy.float32), *size, *angle]
    kernel = unseen.load("turned_image")
    found = smemkit.predict(lambda: kernel((2, 8), (32, 8), arguments, backend="sim"))
    assert any("texture unit" in note for note in found.notes)
    assert found.high_ms > 1.5 * found.time_ms


def test_printing_is_unknown_only_where_it_happens():
    kernel, n = unseen.load("printing"), 256
    found = {}
    for sign in (1, -1):
        arguments = [numpy.full(n, sign, "float32"), numpy.empty(n, "float32"), numpy.int32(n)]
        done = smemkit.predict(lambda given=arguments: kernel((1,), (n,), given, backend="sim"))
        found[sign] = any("printing" in note for note in done.notes if "takes" in note)
    assert found == {1: False, -1: True}


def test_all_blocks_of_unequal_work_are_counted_where_that_is_quick():
    # of rows of a sparse matrix those of the first blocks are thirty times as long
    kernel, rows, many = unseen.load("sparse_rows"), 128 * 64, 30
    lengths = numpy.ones(rows, int)
    lengths[: rows // 8] = many
    first = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
    columns = numpy.zeros(first[-1], numpy.int32)
    values, x = numpy.ones(first[-1], "float32"), numpy.ones(rows, "float32")
    arguments = [first, columns, values, x, numpy.empty(rows, "float32"), numpy.int32(rows)]
    launch = functools.partial(kernel, (rows // 128,), (128,), arguments, backend="sim")
    few, every = smemkit.predict(launch), smemkit.predict(launch, blocks=None)
    assert few.time_ms == every.time_ms
    assert not any("unequal" in note for note in few.notes)
