"""Calls on NumPy arrays in slabs, some copied while others are computed: bits of whole calls."""

import re

import numpy as np
import pytest
from read_tables import read_rows
from support.tables import FAMILIES, VARIANTS

import smemkit
from smemkit import _core

ROWS = {row["family"]: row for row in read_rows("registry/slabs.def", "SMK_SLABS")}

RNG = np.random.default_rng(15)


def numbers(*shape, dtype="float32"):
    return RNG.random(shape).astype(dtype) - np.array(0.5, dtype)


def make_inputs(family, dtype="float32"):
    """Inputs of which at least two slabs are made, the last of them smaller than the others."""
    facts, row = FAMILIES[family], ROWS[family]
    inputs = [words.split(",") for words in re.findall(r"\((.*?)\)", facts["signature"])[:-1]]
    long = 700 if any(len(words) > 1 for words in inputs) else 5000
    names = list(dict.fromkeys(sum(inputs, [])))
    size = {name: 37 + i for i, name in enumerate(names)} | {row["halo"]: 5, row["dimension"]: long}
    made = []
    for words, name in zip(inputs, facts["inputs"].split(), strict=True):
        shape = [size[word] for word in words]
        is_index = name.endswith(":int64")
        made.append(
            RNG.integers(0, len(made[0]), shape) if is_index else numbers(*shape, dtype=dtype)
        )
    return made


@pytest.fixture
def cut():
    """Cuts calls into slabs of so many bytes until the test ends."""
    yield _core._slabs_force
    _core._slabs_force(0)


def call(family, *arrays, **words):
    return getattr(smemkit, family)(*arrays, backend="sim", **words)


def test_rows_are_of_families():
    assert ROWS and set(ROWS) <= set(FAMILIES)


def test_the_dimension_is_the_first_axis_of_inputs():
    for family, row in ROWS.items():
        inputs = FAMILIES[family]["signature"].split("->")[0]
        for operand in inputs.strip("()").split("),("):
            assert row["dimension"] not in operand.split(",")[1:]
        assert row["dimension"] in inputs


@pytest.mark.parametrize(
    "key", [key for key in VARIANTS if key[0] in ROWS], ids=lambda key: "-".join(key)
)
def test_the_bits_of_a_whole_call(cut, key):
    family, name = key
    types = VARIANTS[key]["types"].split()
    dtype = next((t for t in ("float64", "float32", "float16") if t in types), "float32")
    arrays = make_inputs(family, dtype)
    whole = call(family, *arrays, variant=name)
    blocks = _core._run_stats()["blocks"]
    cut(1 << 10)
    assert call(family, *arrays, variant=name).tobytes() == whole.tobytes()
    is_cut = _core._run_stats()["blocks"] < blocks  # the last launch is one of a small slab
    # blocks of stream_k add up parts of an element, whose number depends on the shape
    assert is_cut is (name not in (ROWS[family]["except"], "stream_k"))
    out = np.zeros_like(whole)
    assert call(family, *arrays, variant=name, out=out) is out
    assert out.tobytes() == whole.tobytes()


@pytest.mark.parametrize("mode", ["constant", "reflect", "nearest", "wrap"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 4), (31, 3), (64, 1)])
def test_edges_of_images(cut, mode, shape):
    image, weights = numbers(1100, 19), numbers(*shape)
    whole = call("conv2d", image, weights, mode=mode)
    cut(1 << 10)
    assert call("conv2d", image, weights, mode=mode).tobytes() == whole.tobytes()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64"])
def test_items_of_any_size(cut, dtype):
    array = RNG.integers(0, 100, (700, 45)).astype(dtype)
    cut(1 << 10)
    assert np.array_equal(call("transpose", array), array.T)


def test_arrays_of_any_strides(cut):
    a, b = numbers(40, 700).T, numbers(80, 66)[::2, ::-2]
    out = np.zeros((1400, 66), "float32")[::2, ::2]
    whole = call("gemm", a, b)
    cut(1 << 10)
    assert call("gemm", a, b, out=out) is out
    assert np.array_equal(out, whole)


def test_out_may_be_an_input(cut):
    x = numbers(2500)
    whole = call("smooth", x)
    cut(1 << 10)
    assert np.array_equal(call("smooth", x, out=x), whole)


def test_an_allocation_that_fails_in_a_slab(cut):
    """Memory runs out at each allocation in turn: always the typed error, and then all is well."""
    arrays = make_inputs("gemm")
    whole = call("gemm", *arrays)
    cut(1 << 10)
    out = np.full_like(whole, 7)
    failed = 0
    for after in range(1, 400):
        _core._fail_after(after)
        try:
            done = call("gemm", *arrays, out=out)
        except MemoryError as error:
            assert isinstance(error, smemkit.OutOfMemoryError)
            assert (out == 7).all(), "nothing is written where a slab fails"
            failed += 1
            continue
        finally:
            _core._fail_after(0)
        assert np.array_equal(done, whole)
        break
    assert failed > 10
    assert np.array_equal(call("gemm", *arrays), whole)


def test_counts_are_of_the_whole_call(cut):
    """What profile and check see does not depend on how copies go."""
    arrays = make_inputs("conv2d")
    cut(1 << 10)
    report = smemkit.profile(smemkit.conv2d, *arrays, variant="naive")
    assert len(report.launches) == 1
