"""Signatures in NumPy's gufunc language: what is accepted, how shapes bind, what the errors say."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smemkit
from smemkit import _core

MATMUL = "(m,k),(k,n)->(m,n)"

# The limits of csrc/registry/registry.h.
DIMENSIONS_MAX, OPERANDS_MAX, RANK_MAX, NAME_MAX = 8, 8, 4, 15


def bind(shapes, *, signature=MATMUL, names=("a", "b", "out")):
    return _core._signature_bind(signature, "gemm", tuple(names[: len(shapes)]), tuple(shapes))


@pytest.mark.parametrize(
    ("signature", "shapes", "expected"),
    [
        (MATMUL, [(64, 48), (48, 5)], {"m": 64, "k": 48, "n": 5}),
        (MATMUL, [(64, 48), (48, 5), (64, 5)], {"m": 64, "k": 48, "n": 5}),
        (" ( m , k ),(k ,n)\t->  (m,n) ", [(1, 2), (2, 3)], {"m": 1, "k": 2, "n": 3}),
        (MATMUL, [(0, 3), (3, 0)], {"m": 0, "k": 3, "n": 0}),
        (MATMUL, [(2, 0), (0, 2)], {"m": 2, "k": 0, "n": 2}),
        ("(n)->()", [(2**40,)], {"n": 2**40}),
        ("()->()", [()], {}),
        ("(n),(n)->()", [(7,), (7,)], {"n": 7}),
        ("(n,n)->(n)", [(3, 3)], {"n": 3}),
        ("(a1,_b,C,d)->(d,C)", [(1, 2, 3, 4)], {"a1": 1, "_b": 2, "C": 3, "d": 4}),
        ("(abcdefghijklmno)->()", [(5,)], {"abcdefghijklmno": 5}),
    ],
)
def test_shapes_bind(signature, shapes, expected):
    bound = bind(shapes, signature=signature)
    assert bound == expected
    assert list(bound) == list(expected), "dimensions stand in the order of first appearance"


@pytest.mark.parametrize(
    ("signature", "shapes", "message"),
    [
        (MATMUL, [(3, 64), (48, 5)], "gemm: k is 64 in a and 48 in b"),
        (MATMUL, [(3, 4), (4, 5), (2, 5)], "gemm: m is 3 in a and 2 in out"),
        (MATMUL, [(3, 4), (4, 5), (3, 6)], "gemm: n is 5 in b and 6 in out"),
        (MATMUL, [(3, 4), (4, 5, 6)], "gemm: b has 3 dimensions, (k, n) needs 2"),
        (MATMUL, [(3,), (3, 5)], "gemm: a has 1 dimension, (m, k) needs 2"),
        (MATMUL, [(), (3, 5)], "gemm: a has 0 dimensions, (m, k) needs 2"),
        ("(n)->()", [(3, 3)], "gemm: a has 2 dimensions, (n) needs 1"),
        ("()->()", [(3,)], "gemm: a has 1 dimension, () needs 0"),
        ("(n,n)->(n)", [(3, 4)], "gemm: n is both 3 and 4 in a"),
        (MATMUL, [(3, -1), (4, 5)], "gemm: k is -1 in a, a size cannot be negative"),
    ],
)
def test_shapes_that_do_not_fit(signature, shapes, message):
    with pytest.raises(smemkit.ShapeError) as caught:
        bind(shapes, signature=signature)
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2**40, 0), (0, 2**40)],  # operands without elements, an output of 2^80
        [(2**30, 1), (1, 2**29)],  # 2^59 elements of 16 bytes: one byte more than an int64 counts
        [(2**62, 2), (2, 1)],
    ],
)
def test_sizes_beyond_64_bits(shapes):
    with pytest.raises(smemkit.ShapeError, match="more bytes than 64 bits"):
        bind(shapes)


def test_largest_size_that_fits():
    assert bind([(2**30, 1), (1, 2**29 - 1)]) == {"m": 2**30, "k": 1, "n": 2**29 - 1}
    assert bind([(2**40, 0), (0, 2**18)]) == {"m": 2**40, "k": 0, "n": 2**18}


@pytest.mark.parametrize(
    ("signature", "shapes"),
    [(MATMUL, [(1, 1)]), (MATMUL, [(1, 1)] * 4), ("(m)->(q)", [(3,)])],
)
def test_wrong_operands(signature, shapes):
    with pytest.raises(smemkit.ArgumentError):
        bind(shapes, signature=signature, names=("a", "b", "c", "d"))


@pytest.mark.parametrize(
    ("signature", "at", "reason"),
    [
        ("", 1, "'(' is missing"),
        ("(", 2, "name is missing"),
        ("(m", 3, "',' or ')' is missing"),
        ("(m,)->()", 4, "name is missing"),
        ("(m)", 4, "'->' is missing"),
        ("(m)->", 6, "'(' is missing"),
        ("(m)->(m)x", 9, "unexpected text"),
        ("(m)(n)->(m)", 4, "'->' is missing"),
        ("(m),->(m)", 5, "'(' is missing"),
        ("->(m)", 1, "'(' is missing"),
        ("(3)->(m)", 2, "name is missing"),
        ("(m?)->(m)", 3, "',' or ')' is missing"),
        ("(\u00e9)->()", 2, "name is missing"),
        ("(a,b,c,d,e)->()", 10, "too many dimensions of one operand"),
        ("(a,b,c,d),(e,f,g,h),(i)->()", 22, "too many dimensions"),
        ("(),(),(),(),(),(),(),(),()->()", 26, "too many operands"),
        ("(abcdefghijklmnop)->()", 2, "too long"),
        ("(" * 100_000, 2, "name is missing"),
        ("(" + "a" * 100_000, 2, "too long"),
    ],
)
def test_malformed_signatures(signature, at, reason):
    with pytest.raises(smemkit.ArgumentError) as caught:
        bind([(1,)], signature=signature)
    assert reason in str(caught.value)
    assert f"at character {at}" in str(caught.value)


def parse_by_regex(text):
    """The grammar a second time: operands as lists of names; None for malformed text."""
    name = r"[A-Za-z_][A-Za-z_0-9]*"
    operand = rf"\(\s*(?:{name}\s*(?:,\s*{name}\s*)*)?\)"
    several = rf"\s*{operand}\s*(?:,\s*{operand}\s*)*"
    if not re.fullmatch(rf"{several}->{several}", text):
        return None
    left, right = text.split("->")
    sides = [[re.findall(name, o) for o in re.findall(r"\([^)]*\)", s)] for s in (left, right)]
    operands = sides[0] + sides[1]
    names = {n for o in operands for n in o}
    if (
        len(operands) > OPERANDS_MAX
        or len(names) > DIMENSIONS_MAX
        or any(len(o) > RANK_MAX for o in operands)
        or any(len(n) > NAME_MAX for n in names)
    ):
        return None
    return sides


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="()mkn,-> a1\t", max_size=24) | st.sampled_from([MATMUL, "()->()"]))
def test_any_text_is_parsed_or_refused(text):
    parsed = parse_by_regex(text)
    if parsed is None:
        with pytest.raises(smemkit.ArgumentError):
            bind([(2,)], signature=text)
        return
    inputs, outputs = parsed
    unknown = {n for o in outputs for n in o} - {n for o in inputs for n in o}
    names = tuple(f"x{i}" for i in range(len(inputs)))
    shapes = [(2,) * len(o) for o in inputs]
    if unknown:
        with pytest.raises(smemkit.ArgumentError):
            bind(shapes, signature=text, names=names)
    else:
        bound = bind(shapes, signature=text, names=names)
        assert bound == {n: 2 for o in inputs for n in o}
