"""atom.add of lanes that share words: sums and old values are those of one lane after the other."""

import numpy as np
import pytest
from support.handmade import build, launch

TYPES = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "f32": np.float32, "f64": np.float64}
WORDS = 8
CANONICAL = np.array([0x7FFFFFFF], np.uint32).view(np.float32)[0]
# Numbers that sums must treat with care: zeros, subnormals, infinities, NaN.
SPECIAL = np.array(
    [0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x80800001, 0x7F800000, 0xFF800000, 0x7FC00001],
    np.uint32,
).view(np.float32)


def write_kernel(kind, shared):
    """Lane i adds numbers[i] to word places[i], if that is not -1, and stores the old value."""
    dtype = np.dtype(TYPES[kind])
    size, bits, space = dtype.itemsize, 8 * dtype.itemsize, "shared" if shared else "global"
    move = f"""
    setp.lt.u32 %p2, %r1, {WORDS};
    mul.lo.u32 %r4, %r1, {size};
    mul.wide.u32 %rd6, %r1, {size};
    mov.u32 %r5, words;
    add.u32 %r5, %r5, %r4;
    add.u64 %rd6, %rd1, %rd6;"""
    enter = f"@%p2 ld.global.b{bits} %x, [%rd6];\n@%p2 st.shared.b{bits} [%r5], %x;\nbar.sync 0;"
    leave = f"bar.sync 0;\n@%p2 ld.shared.b{bits} %x, [%r5];\n@%p2 st.global.b{bits} [%rd6], %x;"
    target = (
        "mov.u32 %r6, words;\nadd.u32 %r6, %r6, %r3;" if shared else "add.u64 %rd7, %rd1, %rd7;"
    )
    body = f"""
    .reg .b{bits} %x, %y;
    .shared .align 8 .b8 words[{WORDS * size}];
    ld.param.u64 %rd1, [memory];
    ld.param.u64 %rd2, [numbers];
    ld.param.u64 %rd3, [places];
    ld.param.u64 %rd4, [old];
    mov.u32 %r1, %tid.x;
    {move}
    {enter if shared else ""}
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd5, %rd3, %rd5;
    ld.global.s32 %r2, [%rd5];
    setp.ge.s32 %p1, %r2, 0;
    mul.lo.s32 %r3, %r2, {size};
    mul.wide.s32 %rd7, %r2, {size};
    mul.wide.u32 %rd8, %r1, {size};
    add.u64 %rd2, %rd2, %rd8;
    add.u64 %rd4, %rd4, %rd8;
    ld.global.b{bits} %x, [%rd2];
    {target}
    @%p1 atom.{space}.add.{kind} %x, [{"%r6" if shared else "%rd7"}], %x;
    st.global.b{bits} [%rd4], %x;
    {leave if shared else ""}"""
    names = ("memory", "numbers", "places", "old")
    return build(body, ", ".join(f".param .u64 {name}" for name in names))


def flush(x):
    return np.copysign(np.float32(0), x) if abs(x) < np.float32(2.0**-126) else x


def add(a, b, kind, shared):
    """The sum as the hardware makes it: single precision flushes subnormals in global memory."""
    if kind == "f32" and not shared:
        a, b = flush(a), flush(b)
    total = a + b
    if kind == "f32":
        total = CANONICAL if np.isnan(total) else total if shared else flush(total)
    return total


def make_inputs(rng, kind, runs):
    dtype = np.dtype(TYPES[kind])
    if dtype.kind == "f":
        memory, numbers = (rng.standard_normal(n).astype(dtype) for n in (WORDS, 32))
        if kind == "f32" and rng.random() < 0.5:
            where = rng.random(32) < 0.2
            numbers[where] = rng.choice(SPECIAL, int(where.sum()))
            memory[rng.integers(WORDS)] = rng.choice(SPECIAL)
    else:
        limits = np.iinfo(dtype)
        memory, numbers = (
            rng.integers(limits.min, limits.max, n, dtype, endpoint=True) for n in (WORDS, 32)
        )
    places = np.sort(rng.integers(0, WORDS, 32)) if runs else rng.integers(0, WORDS, 32)
    if rng.random() < 0.3:
        places[:] = places[0]
    places[rng.random(32) < 0.2] = -1
    return memory, numbers, places.astype(np.int32)


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize("kind", list(TYPES))
@np.errstate(all="ignore")
def test_sums_of_lanes_that_share_words(kind, shared, rng):
    text = write_kernel(kind, shared)
    for case in range(12):
        memory, numbers, places = make_inputs(rng, kind, case % 2 == 0)
        sums, old = memory.copy(), numbers.copy()
        for lane in np.flatnonzero(places >= 0):
            word = places[lane]
            old[lane] = sums[word]
            sums[word] = add(sums[word], numbers[lane], kind, shared)
        got = np.zeros_like(numbers)
        launch(text, memory, numbers, places, got)
        bits = np.dtype(f"u{sums.itemsize}")
        assert got.view(bits).tolist() == old.view(bits).tolist()
        assert memory.view(bits).tolist() == sums.view(bits).tolist()
