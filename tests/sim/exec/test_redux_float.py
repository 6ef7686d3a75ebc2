"""redux.sync of f32, which sm_100a has: every word, NaN, zeros of both signs, groups of lanes."""

import numpy as np
import pytest
from support.handmade import build, launch

HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"
SPECIAL = np.array(
    [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001, 1, 0x80000001], np.uint32
)
NAN = 0x7FFFFFFF


def reduce(words, values, members):
    body = f"""
    ld.param.u64 %rd1, [values];
    ld.param.u64 %rd2, [members];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd1];
    ld.global.u32 %r2, [%rd2];
    redux.sync.{words}.f32 %f2, %f1, %r2;
    st.global.f32 [%rd1], %f2;"""
    text = build(body, ".param .u64 values, .param .u64 members", header=HEADER)
    values, members = values.copy(), members.copy()
    launch(text, values, members)
    return values


def expect(words, group):
    """The bits of the reduction of some bits."""
    numbers = [int(x) & 0x7FFFFFFF if "abs" in words else int(x) for x in group]
    nan = [x & 0x7FFFFFFF > 0x7F800000 for x in numbers]
    if all(nan) or ("NaN" in words and any(nan)):
        return NAN
    order = [
        (-(x & 0x7FFFFFFF) - 1 if x >> 31 else x, x)
        for x, bad in zip(numbers, nan, strict=True)
        if not bad
    ]
    return (min(order) if "min" in words else max(order))[1]


@pytest.mark.parametrize(
    "words", [f"{o}{a}{n}" for o in ("min", "max") for a in ("", ".abs") for n in ("", ".NaN")]
)
def test_every_word(words, rng):
    groups = np.array([0x0000FFFF, 0x00FF0000, 0x7F000000, 0x80000000], np.uint32)
    for share in (0.0, 0.5, 1.0):
        values = rng.standard_normal(32).astype(np.float32).view(np.uint32)
        where = rng.random(32) < share
        values[where] = rng.choice(SPECIAL, int(where.sum()))
        members = np.array(
            [next(g for g in groups if g >> lane & 1) for lane in range(32)], np.uint32
        )
        got = reduce(words, values, members)
        wanted = [
            expect(words, [values[k] for k in range(32) if members[lane] >> k & 1])
            for lane in range(32)
        ]
        assert got.tolist() == wanted
