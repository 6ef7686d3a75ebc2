"""Products of floats of 8, 6 and 4 bits with .kind::f8f6f4 and others, sparse and with scales.

They need sm_120a; expected is what the PTX ISA defines, by sums in double precision of matrices
that the test puts into registers. Those without a kind are in test_mma_float8.py.
"""

import numpy as np
import pytest
from support.handmade import build, launch

import smemkit

HEADER = ".version 9.0\n.target sm_120a\n.address_size 64\n"
SMALL = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]
BITS = {"e4m3": (4, 3), "e5m2": (5, 2), "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1)}
PAIRS = np.array([4, 8, 9, 12, 13, 14])  # two of four, the first below the second
SIGNS = np.array([1.0, -1.0])


def decode(kind, bits):
    """The number that an element stands for; NaN and infinities as they are."""
    exponent, fraction = BITS[kind]
    bits = np.asarray(bits, np.int64)
    field, rest = bits >> fraction & ((1 << exponent) - 1), bits & ((1 << fraction) - 1)
    size = (rest + (field > 0) * 2**fraction) * 2.0 ** (np.maximum(field, 1) - fraction)
    size = size / 2.0 ** (2 ** (exponent - 1) - 1)
    last = field == 2**exponent - 1
    if kind == "e5m2":
        size = np.where(last, np.where(rest == 0, np.inf, np.nan), size)
    if kind == "e4m3":
        size = np.where(last & (rest == 7), np.nan, size)
    return SIGNS[bits >> (exponent + fraction) & 1] * size


class Form:
    """One mma; `scales` are the blocks of k that have a scale of their own."""

    def __init__(self, depth, a, b, *, kind="f8f6f4", sparse=False, half=False, scales=0, size=""):
        self.depth, self.a, self.b, self.sparse, self.half = depth, a, b, sparse, half
        self.scales, self.size = scales, size or "ue8m0"
        self.bits = 4 if "4" in kind[-4:] and kind.startswith("mxf4") else 8
        self.together = 8 // self.bits
        self.held = depth // 2 if sparse else depth
        sums = "f16" if half else "f32"
        words = f"m16n8k{depth}.row.col.kind::{kind}"
        words += f".block_scale.scale_vec::{scales}X" if scales else ""
        types = f"{sums}.{a}.{b}.{sums}" + (f".{self.size}" if scales else "")
        first = "mma.sp::ordered_metadata" if sparse else "mma"
        self.opcode = f"{first}.sync.aligned.{words}.{types}"

    def __str__(self):
        return self.opcode.replace(".sync.aligned", "").replace(".row.col", "")

    def elements(self, rng, shape, kind):
        """Bits of elements without infinities and NaN."""
        exponent, fraction = BITS[kind]
        bits = rng.integers(0, 2 ** (1 + exponent + fraction), shape)
        finite = np.isfinite(decode(kind, bits))
        return np.where(finite, bits, bits & 0x83)

    def place(self, matrix, kind):
        """Registers of rows that are 8 or 16 lines of elements along k."""
        each, shift = 32 // self.bits, 2 if self.bits == 8 and kind == "e2m1" else 0
        lines, depth = matrix.shape
        blocks = depth // (4 * each)
        out = np.zeros((blocks * lines // 8, 32), np.uint64)
        for line, k in np.ndindex(lines, depth):
            block, lane, at = k // (4 * each), k // each % 4, k % each
            register = block * (lines // 8) + line // 8
            value = int(matrix[line, k]) << shift
            out[register, 4 * (line % 8) + lane] |= np.uint64(value << self.bits * at)
        return out.astype(np.uint32)


FORMS = [Form(32, x, "e3m2") for x in SMALL] + [Form(32, "e2m3", x) for x in SMALL]
FORMS += [Form(16, "e4m3", "e2m1"), Form(16, "e5m2", "e2m1", half=True)]
FORMS += [Form(32, "e2m1", "e2m1", half=True), Form(64, "e3m2", "e2m1", sparse=True, half=True)]
FORMS += [Form(64, "e4m3", "e5m2", sparse=True)]
FORMS += [Form(32, x, "e2m1", kind="mxf8f6f4", scales=1) for x in SMALL]
FORMS += [Form(64, "e2m3", "e5m2", kind="mxf8f6f4", scales=1, sparse=True)]
for depth, sparse in ((64, False), (128, True)):
    FORMS += [Form(depth, "e2m1", "e2m1", kind="mxf4", scales=2, sparse=sparse)]
    FORMS += [Form(depth, "e2m1", "e2m1", kind="mxf4nvf4", scales=2, sparse=sparse)]
    FORMS += [Form(depth, "e2m1", "e2m1", kind="mxf4nvf4", scales=4, size="ue4m3", sparse=sparse)]


def make_scales(form, rng, lines, special=None):
    """Bits and values, a row for each line."""
    if not form.scales:
        return np.zeros((lines, 1), int), np.ones((lines, 1))
    if form.size == "ue4m3":
        bits = rng.integers(0x20, 0x60, (lines, form.scales))
        values = decode("e4m3", bits)
    else:
        bits = rng.integers(120, 135, (lines, form.scales))
        values = 2.0 ** (bits - 127)
    if special is not None:
        bits[1, 0], values[1, 0] = special, np.nan
    return bits, values


def put_scales(bits, first, place):
    """Registers of scales; what the instruction must not read has other bits."""
    lines, count = bits.shape
    out = np.full((32, 4), 0x55, np.uint8)
    for line in range(lines):
        lane = 4 * (line % 8) + (place if lines == 8 else 2 * place + line // 8)
        for block in range(count):
            out[lane, first + block] = bits[line, block]
    return out.view(np.uint32).reshape(1, 32)


def write_kernel(form, counts, places, constant):
    d, a, b, c = ([f"%{x}x{i}" for i in range(n)] for x, n in zip("dabc", counts, strict=True))
    kind = "b32" if form.half else "f32"
    extra = ["%meta"] * form.sparse + ["%sa", "%sb"] * (form.scales > 0)
    loaded = [*((x, "b32") for x in a + b), *((x, kind) for x in c), *((x, "b32") for x in extra)]
    operands = ["{" + ", ".join(x) + "}" for x in (d, a, b, c)]
    meta = "{%meta}" if form.scales and constant else "%meta"
    operands += [meta, "0"] * form.sparse
    before = []
    for i, x in enumerate(("%sa", "{%sb}") * (form.scales > 0)):
        names = [f"%h{2 * i}", f"%h{2 * i + 1}"]
        before += [f"mov.b16 {n}, {v};" for n, v in zip(names, places[i], strict=True)]
        operands += [x, "{%s, %s}" % (places[i] if constant else tuple(names))]
    if form.scales:
        operands[-4] = operands[-4] if operands[-2] == "%sb" else "{%sa}"
    lines = [
        *(f".reg .{t} {x};" for x, t in [*loaded, *((x, kind) for x in d)]),
        "ld.param.u64 %rd1, [operands];\nld.param.u64 %rd2, [results];",
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;",
        "add.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;",
        *(f"ld.global.{t} {x}, [%rd1+{128 * i}];" for i, (x, t) in enumerate(loaded)),
        *before,
        f"{form.opcode} {', '.join(operands)};",
        *(f"st.global.{kind} [%rd2+{128 * i}], {x};" for i, x in enumerate(d)),
    ]
    return build("\n".join(lines), ".param .u64 operands, .param .u64 results", header=HEADER)


def multiply(form, seed, *, constant=True, special=None, change=None):
    """d as the simulator makes it, and as it should be."""
    rng = np.random.default_rng(seed)
    a, b = form.elements(rng, (16, form.held), form.a), form.elements(rng, (8, form.depth), form.b)
    c = rng.integers(-64, 64, (16, 8)).astype(np.float16 if form.half else np.float32)
    chosen = rng.choice(PAIRS, (16, 16))
    if change is not None:
        change(a, b, c)
    scales = [make_scales(form, rng, n, special) for n in (16, 8)]
    step = 1 if form.scales == 1 else 2 if form.scales == 2 else 4
    places = [(int(rng.integers(0, 4 // step)) * step, int(rng.integers(0, n))) for n in (2, 4)]
    # the matrices as numbers
    index = np.broadcast_to(np.arange(form.depth), (16, form.depth))
    if form.sparse:
        i = np.arange(form.held)
        unit = i // form.together
        pair = np.where(unit % 2, chosen[:, unit // 2] >> 2, chosen[:, unit // 2] & 3)
        index = (4 * (unit // 2) + pair) * form.together + i % form.together
    block = form.depth // max(form.scales, 1)
    with np.errstate(all="ignore"):
        left = decode(form.a, a) * np.take_along_axis(scales[0][1], index // block, 1)
        right = decode(form.b, b) * scales[1][1][:, np.arange(form.depth) // block]
        terms = left[:, None] * right[np.arange(8)[None, :, None], index[:, None]]
        want = terms.sum(2) + c
        most = np.abs(terms).max(2)
    # the registers
    metadata = np.zeros((1, 32), np.uint32)
    for row in range(16 * form.sparse):
        bits = sum(int(x) << 4 * j for j, x in enumerate(chosen[row]))
        for half in range(2):
            metadata[0, 4 * (row % 8) + row // 8 + 2 * half] = bits >> 32 * half & 0xFFFFFFFF
    if form.half:
        words_c = np.ascontiguousarray(c.reshape(2, 8, 4, 2)).view(np.uint32).reshape(2, 32)
    else:
        order = c.reshape(2, 8, 4, 2).transpose(0, 3, 1, 2)
        words_c = np.ascontiguousarray(order).view(np.uint32).reshape(4, 32)
    parts = [form.place(a, form.a), form.place(b, form.b), words_c]
    counts = [len(words_c), len(parts[0]), len(parts[1]), len(words_c)]
    parts += [metadata] * form.sparse
    if form.scales:
        parts += [put_scales(scales[i][0], *places[i]) for i in range(2)]
    out = np.zeros((len(words_c), 32), np.uint32)
    launch(write_kernel(form, counts, places, constant), np.vstack(parts), out)
    if form.half:
        got = out.reshape(2, 8, 4, 1).view(np.float16).reshape(16, 8)
    else:
        got = out.view(np.float32).reshape(2, 2, 8, 4).transpose(0, 2, 3, 1).reshape(16, 8)
    return got.astype(np.float64), want, most


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_products(form):
    for seed in range(2):
        got, want, most = multiply(form, seed, constant=seed == 0)
        digits = 10 if form.half else 19
        with np.errstate(over="ignore"):
            held = np.abs(want) < (65504 if form.half else np.inf)
        assert (np.abs(got - want) <= 2.0**-digits * (np.abs(want) + most))[held].all()
        assert np.isinf(got[~held]).all() or form.half
        assert len(np.unique(got)) > 30


def test_infinities_and_nan():
    def put(a, b, c):
        a[0, 3] = 0x7C
        b[:, 3] = 0x40
        b[2, 3] = 0
        a[1, 0] = 0x7F

    form = Form(32, "e5m2", "e5m2")
    got, _, _ = multiply(form, 0, change=put)
    assert np.isnan(got[1]).all() and np.isnan(got[0, 2])
    assert (np.delete(got[0], 2) == np.inf).all()
    assert np.isfinite(got[2:]).all()


@pytest.mark.parametrize("form", [x for x in FORMS if x.scales], ids=str)
def test_scales_that_are_no_number(form):
    got, want, _ = multiply(form, 0, special=0x7F if form.size == "ue4m3" else 0xFF)
    assert (np.isnan(got) == np.isnan(want)).all()
    assert np.isnan(got[1]).all() and np.isnan(got[:, 1]).all() and not np.isnan(got[0, 0])


def test_large_scales():
    """Exponents of both scales add up, beyond what half precision holds."""

    def put(a, b, c):
        a[:], b[:], c[:] = 0, 0, 0
        a[:, 0], b[:, 0] = 0x38, 0x38  # 1.0

    form = Form(32, "e4m3", "e4m3", kind="mxf8f6f4", scales=1)
    got, want, _ = multiply(form, 3, change=put)
    assert (got == want).all() and len(np.unique(got)) > 5


def test_all_products_are_one_sum():
    """Each is cut at the largest exponent: 32 small ones beside a large c are lost."""

    def put(a, b, c):
        a[:], b[:], c[:] = 0x21, 0x21, 1.0  # 0.14 each: 0.02 is cut to 0 at 2^-4
        c[1] = 2.0**21

    got, want, _ = multiply(Form(32, "e4m3", "e4m3"), 0, change=put)
    assert (got[0] == want[0]).all()
    assert (got[1] == 2.0**21).all() and (want[1] > 2.0**21 + 0.5).all()


REFUSED = {
    "mma.sp.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 "
    "D, A, B, C, %r0, 0;": "kind::f8f6f4",
    "mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e4m3.f32 D, A, E, C;": "kind::f8f6f4",
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
    "D, A, E, C, %r0, {4, 0}, %r1, {0, 0};": "4",
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 "
    "D, A, E, C, %r0, {0, 2}, %r1, {0, 0};": "2",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 "
    "D, A, E, C, %r0, {1, 0}, %r1, {0, 0};": "1",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue4m3 "
    "D, A, E, C, %r0, {0, 0}, %r1, {0, 0};": "ue4m3",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 "
    "D, A, E, C, %r0, {0, 0}, %r1, {0, 0};": "scale_vec::2X",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_ptxas_refuses(line):
    letters = {"D": "%f0, %f1, %f2, %f3", "A": "%r2, %r3, %r4, %r5", "B": "%r2, %r3, %r4, %r5"}
    letters |= {"E": "%r6, %r7", "C": "%f4, %f5, %f6, %f7"}
    text = line
    for letter, names in letters.items():
        text = text.replace(f" {letter},", f" {{{names}}},").replace(
            f" {letter};", f" {{{names}}};"
        )
    with pytest.raises(smemkit.Error, match=REFUSED[line]):
        smemkit.RawModule(build(text, header=HEADER), backend="sim")
