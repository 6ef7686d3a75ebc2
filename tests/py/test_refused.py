"""Arguments and variables that mean nothing are answered by typed errors that name them."""

import numpy as np
import pytest

import smemkit
from smemkit import _core

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


MAKERS = ["zeros", "ones", "full", "empty_like", "full_like", "zeros_like", "ones_like"]


@pytest.mark.parametrize("name", MAKERS)
def test_the_function_that_was_called_is_named(name):
    first = VALUES if name.endswith("_like") else 3
    arguments = (first, 1) if name.startswith("full") else (first,)
    make = getattr(smemkit, name)
    for words in ({"dtype": "S5"}, {"stream": "x"}, {"device": "x"}):
        with pytest.raises(smemkit.Error) as caught:
            make(*arguments, backend="sim", **words)
        assert str(caught.value).startswith(f"{name}: {next(iter(words))}")


@pytest.mark.parametrize("name", MAKERS[:3])
def test_the_shape_of_a_function_that_was_called(name):
    with pytest.raises(smemkit.ShapeError, match=f"^{name}: axis 0 has the negative length -1"):
        getattr(smemkit, name)(*[-1, 1][: 1 + (name == "full")], backend="sim")


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
        lambda: smemkit.gather(VALUES, np.ma.array([0, 1], mask=[0, 1]), backend="sim"),
        lambda: smemkit.asarray(MASKED, backend="sim"),
        lambda: smemkit.bank_access(np.ma.masked_equal(np.arange(32), 3)),
        lambda: smemkit.kernel("vector_add", "naive")(
            1, 32, (VALUES, MASKED, VALUES.copy(), 4), backend="sim"
        ),
    ],
)
def test_masked_arrays(call):
    with pytest.raises(smemkit.ArgumentTypeError, match=r"is a masked array.*fill.*compressed"):
        call()


def test_masks_that_hide_nothing():
    """A masked array without a mask, or with one that is false everywhere, is an array."""
    for mask in (np.ma.nomask, [0, 0, 0, 0]):
        whole = np.ma.array(VALUES, mask=mask)
        assert smemkit.reduce(whole, backend="sim") == 4
        assert smemkit.vector_add(whole, VALUES, backend="sim").tolist() == [2, 2, 2, 2]
        assert smemkit.histogram(whole, 3, (0, 2), backend="sim").tolist() == [0, 4, 0]
        index = np.ma.array([0, 1], mask=mask if mask is np.ma.nomask else mask[:2])
        assert smemkit.gather(VALUES, index, backend="sim").tolist() == [1, 1]
    assert smemkit.bank_access(4 * np.ma.arange(32)).conflicts == 0


def test_other_kinds_of_arrays_are_taken():
    view = VALUES.view(type("Mine", (np.ndarray,), {}))
    assert smemkit.vector_add(view, view, backend="sim").tolist() == [2, 2, 2, 2]


def test_threads(monkeypatch):
    for text in ("x", "-3", "0"):
        monkeypatch.setenv("SMEMKIT_THREADS", text)
        with pytest.raises(smemkit.ArgumentError) as caught:
            smemkit.vector_add(VALUES, VALUES, backend="sim")
        assert f"SMEMKIT_THREADS is '{text}'; a whole number from 1" in str(caught.value)
        assert "kernel" not in str(caught.value)


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


# Spelling ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "variant", "hint"),
    [
        ("gemm", "tield", "did you mean 'tiled'? There are: "),
        ("gemm", "paded", "did you mean 'padded'? There are: "),
        ("gemm", "regster_2d", "did you mean 'register_2d'? There are: "),
        ("gemm", "zzzzz", "'; there are: "),
        ("gemm", "", "'; there are: "),
        ("gemm", "x" * 100, "'; there are: "),
        ("gem", "tiled", "did you mean 'gemm'? There are: "),
        ("trasnpose", "tiled", "did you mean 'transpose'? There are: "),
        ("q", "tiled", "'; there are: "),
    ],
)
def test_near_spellings(family, variant, hint):
    with pytest.raises(smemkit.ArgumentError) as caught:
        smemkit.source(family, variant)
    assert hint in str(caught.value)


def test_near_spellings_of_a_call():
    with pytest.raises(smemkit.ArgumentError, match="'tiled'. There are: auto, naive"):
        smemkit.gemm(np.ones((2, 2)), np.ones((2, 2)), variant="tield", backend="sim")


def test_near_spellings_in_bench():
    with pytest.raises(smemkit.ArgumentError, match="did you mean 'padded'. There are copy"):
        smemkit.bench.run("transpose", "paded", 32, backend="sim")


def test_types_that_differ_say_what_to_do():
    with pytest.raises(smemkit.ArgumentTypeError, match=r"as in image\.astype\('float64'\)$"):
        smemkit.conv2d(np.ones((4, 4), "f4"), np.ones((3, 3)), backend="sim")


def test_docstrings_name_the_types():
    assert "Element types: float32, float64, float16, bfloat16, int8." in smemkit.gemm.__doc__
    assert "Element types: 1-byte items, 2-byte items" in _core.transpose.__doc__
    assert "Of items of 1, 2, 4, 8 or 16 bytes." in smemkit.transpose.__doc__
    assert '"copy" is no transpose' in smemkit.transpose.__doc__


def test_a_loop_that_never_ends_is_named():
    text = PTX.replace("ret;", "L: bra L;")
    with pytest.raises(smemkit.StepBudgetError, match="a loop never ends.*max_steps"):
        smemkit.RawKernel(text, "f")(1, 32, (), backend="sim", max_steps=1000)


def test_arguments_that_are_in_no_tuple():
    with pytest.raises(smemkit.ArgumentTypeError, match=r"of one argument \(x,\)"):
        smemkit.RawKernel(PTX, "f")(1, 32, VALUES, backend="sim")


class Sparse:
    """As a matrix of scipy.sparse, of which NumPy makes an array of one object."""

    def toarray(self):
        return np.eye(2, dtype="float32")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Sparse(), r"makes no numbers of this Sparse: pass a\.toarray\(\)"),
        (None, "makes no numbers of this NoneType: pass a as an array of numbers"),
        ([[None]], "makes no numbers of this list"),
    ],
)
def test_what_is_no_array_of_numbers(given, said):
    with pytest.raises(smemkit.ArgumentTypeError, match=said):
        smemkit.gemm(given, np.eye(2, dtype="float32"), backend="sim")
