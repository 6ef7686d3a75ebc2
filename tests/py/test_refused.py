"""Arguments and variables that mean nothing are answered by typed errors that name them."""

import numpy as np
import pytest

import smemkit

VALUES = np.ones(4, "float32")
MASKED = np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0], dtype="float32")


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ((0,), smemkit.ArgumentError),
        ((0, 1, 2), smemkit.ArgumentError),
        (5, smemkit.ArgumentTypeError),
        ("ab", smemkit.ArgumentTypeError),
        (("a", "b"), smemkit.ArgumentTypeError),
        ((0, None), smemkit.ArgumentTypeError),
        (((0, 1), 2), smemkit.ArgumentTypeError),
    ],
)
def test_range_of_a_histogram(given, kind):
    with pytest.raises(kind, match="histogram: range is .* two numbers"):
        smemkit.histogram(VALUES, range=given, backend="sim")


@pytest.mark.parametrize("shape", ["x", 2.5, (2, "x"), None, {}])
def test_shape_of_empty(shape):
    with pytest.raises(smemkit.ArgumentTypeError, match="empty: shape is "):
        smemkit.empty(shape, backend="sim")


def test_a_length_beyond_64_bits():
    with pytest.raises(smemkit.ShapeError, match="empty: shape is "):
        smemkit.empty((1 << 70,), backend="sim")


@pytest.mark.parametrize(
    "call",
    [
        lambda: smemkit.reduce(MASKED, backend="sim"),
        lambda: smemkit.vector_add(VALUES, MASKED, backend="sim"),
        lambda: smemkit.vector_add(VALUES, VALUES, out=MASKED.copy(), backend="sim"),
        lambda: smemkit.histogram(MASKED, 3, backend="sim"),
        lambda: smemkit.gather(MASKED, [0], backend="sim"),
        lambda: smemkit.gather(VALUES, np.ma.array([0, 1]), backend="sim"),
        lambda: smemkit.asarray(MASKED, backend="sim"),
        lambda: smemkit.bank_access(np.ma.arange(32)),
        lambda: smemkit.kernel("vector_add", "naive")(
            1, 32, (VALUES, MASKED, VALUES.copy(), 4), backend="sim"
        ),
    ],
)
def test_masked_arrays(call):
    with pytest.raises(smemkit.ArgumentTypeError, match=r"is a masked array.*fill.*compressed"):
        call()


def test_other_kinds_of_arrays_are_taken():
    view = VALUES.view(type("Mine", (np.ndarray,), {}))
    assert smemkit.vector_add(view, view, backend="sim").tolist() == [2, 2, 2, 2]


def test_threads(monkeypatch):
    for text in ("x", "-3", "0"):
        monkeypatch.setenv("SMEMKIT_THREADS", text)
        with pytest.raises(smemkit.ArgumentError, match=f"SMEMKIT_THREADS is '{text}'; a whole"):
            smemkit.vector_add(VALUES, VALUES, backend="sim")


PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry f() { ret; }
"""


def test_isa(monkeypatch):
    monkeypatch.setenv("SMEMKIT_ISA", "foo")
    with pytest.raises(smemkit.ArgumentError, match="SMEMKIT_ISA is 'foo'; accepted are 'base"):
        smemkit.RawKernel(PTX, "f")(1, 32, (), backend="sim")
    for text in ("", "baseline", "avx2", "avx512"):
        monkeypatch.setenv("SMEMKIT_ISA", text)
        smemkit.RawKernel(PTX, "f")(1, 32, (), backend="sim")


def test_counters():
    counters = smemkit.profile(smemkit.vector_add, VALUES, VALUES).counters
    with pytest.raises(KeyError, match="no counter 'nope'; smemkit.counters"):
        counters["nope"]
    with pytest.raises(KeyError, match="did you mean shared.load.conflicts"):
        counters["shared.load.conflict"]


def test_texts_are_no_numbers():
    with pytest.raises(smemkit.ArgumentTypeError, match=r"not text \(<U1\)"):
        smemkit.gemm(np.array([["a"]]), np.array([["b"]]))


@pytest.mark.parametrize("ask", [smemkit.source, smemkit.ptx, smemkit.kernel])
def test_auto_is_no_file(ask):
    with pytest.raises(smemkit.ArgumentError, match="no variant 'x'; there are: naive, "):
        ask("gemm", "x")
    with pytest.raises(smemkit.ArgumentError, match="not 'auto'; there are: naive, "):
        ask("gemm", "auto")


@pytest.mark.parametrize("access", [None, "x", [1.5] * 32])
def test_banks_names_itself(access):
    plot = pytest.importorskip("smemkit.plot")
    with pytest.raises(smemkit.ArgumentTypeError, match="^banks: access is 32 addresses"):
        plot.banks(access)
    with pytest.raises(smemkit.ArgumentError, match="^banks: width"):
        plot.banks(range(32), 3)
