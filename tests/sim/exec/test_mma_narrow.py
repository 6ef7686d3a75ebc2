"""Products of 4-bit integers, of bits, and of doubles in every rounding, as an H200 has them."""

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.handmade import build, launch

TABLE = json.loads(Path(__file__).with_name("mma_narrow_h200.json").read_text(encoding="utf-8"))
SEEDS = 4


def count_registers(opcode):
    """Of a lane, for d, a, b and c."""
    rows, _, depth = map(int, re.search(r"m(\d+)n(\d+)k(\d+)", opcode).groups())
    bits = 64 if "f64" in opcode else 4 if "4.s32" in opcode else 1
    held = 1 if bits == 64 else 32 // bits
    return rows // 4, rows * depth // 32 // held, 8 * depth // 32 // held, rows // 4


def make_operands(opcode, seed):
    """Registers of a, b and c in 32 lanes."""
    rng, (_, *counts) = np.random.default_rng(100 + seed), count_registers(opcode)
    shape = (sum(counts), 32)
    if "f64" not in opcode:
        return rng.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)
    return np.round(x * 2.0**20) / 2.0**20 + (2.0**-52 * x if seed else 0)


def write_kernel(opcode):
    counts = count_registers(opcode)
    kind, size = ("f64", 8) if "f64" in opcode else ("b32", 4)
    names = iter(f"%x{i}" for i in range(sum(counts)))
    d, a, b, c = ([next(names) for _ in range(count)] for count in counts)
    lines = [
        f".reg .{kind} %x<{sum(counts)}>;",
        "ld.param.u64 %rd1, [operands];",
        "ld.param.u64 %rd2, [results];",
        "mov.u32 %r1, %tid.x;",
        f"mul.wide.u32 %rd3, %r1, {size};",
        "add.u64 %rd1, %rd1, %rd3;",
        "add.u64 %rd2, %rd2, %rd3;",
        *(f"ld.global.{kind} {x}, [%rd1+{32 * size * i}];" for i, x in enumerate(a + b + c)),
        f"{opcode} " + ", ".join("{" + ", ".join(x) + "}" for x in (d, a, b, c)) + ";",
        *(f"st.global.{kind} [%rd2+{32 * size * i}], {x};" for i, x in enumerate(d)),
    ]
    header = ".version 9.0\n.target sm_90\n.address_size 64\n"
    return build("\n".join(lines), ".param .u64 operands, .param .u64 results", header=header)


def multiply(opcode, seed):
    operands = make_operands(opcode, seed)
    results = np.zeros((count_registers(opcode)[0], 32), operands.dtype)
    launch(write_kernel(opcode), operands, results)
    return results


@pytest.mark.parametrize("opcode", TABLE["products"])
def test_products_of_an_h200(opcode):
    checksums = [f"{zlib.crc32(multiply(opcode, seed).tobytes()):08x}" for seed in range(SEEDS)]
    assert checksums == TABLE["products"][opcode].split()


@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
def test_wmma_of_doubles_in_every_rounding(rounding):
    """Its fragments are those of mma."""
    plain = f"mma.sync.aligned.m8n8k4.row.col.{rounding}.f64.f64.f64.f64"
    text = write_kernel(plain)
    fragments = f"wmma.mma.sync.aligned.row.col.m8n8k4.{rounding}.f64.f64.f64.f64"
    results = np.zeros((2, 32))
    launch(text.replace(plain, fragments), make_operands(plain, 1), results)
    assert (results == multiply(plain, 1)).all()
    nearest = np.zeros((2, 32))
    launch(text.replace(f".{rounding}.", ".rn."), make_operands(plain, 1), nearest)
    assert (results != nearest).any()


def unpack(words, bits, signed):
    fields = words[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & ((1 << bits) - 1)
    fields = fields.astype(np.int64)
    return fields - (fields >> bits - 1 << bits) if signed else fields


@pytest.mark.parametrize("opcode", [x for x in TABLE["products"] if "f64" not in x])
def test_integers_by_their_definition(opcode):
    """Element k of a row lies in lane k / held % 4 of its group, register by register."""
    d, a, b, _ = count_registers(opcode)
    bits, high = (1, d // 2) if "popc" in opcode else (4, d // 2)
    kinds = [kind == "s4" for kind in re.findall(r"\b([us]4|b1)\b", opcode)]
    words, got = make_operands(opcode, 0), multiply(opcode, 0)
    left = unpack(words[:a], bits, kinds[0]).reshape(a // high, high, 8, -1)
    right = unpack(words[a : a + b], bits, kinds[1]).reshape(b, 8, -1)
    left = left.transpose(1, 2, 0, 3).reshape(8 * high, -1)
    right = right.transpose(1, 0, 2).reshape(8, -1)
    if "xor" in opcode:
        product = (left[:, None] ^ right[None]).sum(-1)
    else:
        product = left @ right.T
    c = words[a + b :].view(np.int32).astype(np.int64).reshape(high, 2, 8, 4)
    total = product + c.transpose(0, 2, 3, 1).reshape(8 * high, 8)
    if "satfinite" in opcode:
        total = total.clip(-(1 << 31), (1 << 31) - 1)
    lanes = got.reshape(high, 2, 8, 4).transpose(0, 2, 3, 1).reshape(8 * high, 8)
    assert ((total & 0xFFFFFFFF) == lanes).all()


# wmma of elements below 8 bits -------------------------------------------------------------------


def write_wmma(kind, layout, words, space, strides):
    """A product of shape m8n8k32 or m8n8k128: a, b and c are read, and d is written over c."""
    shape = "m8n8k128" if kind == "b1" else "m8n8k32"
    before, behind = (f".{words}.popc", "") if kind == "b1" else ("", f".{words}" if words else "")
    a, b, c = (f", {x}" if x else "" for x in strides)
    copies = [
        f"ld.global.u32 %r9, [%rd1+{4 * i}];\nst.shared.u32 [%r8+{4 * i}], %r9;"
        for i in range(0, 128 if space == "shared" else 0)
    ]
    at = ("s", "s+256") if space == "shared" else ("%rd1", "%rd1+256")
    where = f".{space}" if space else ""
    lines = [
        ".shared .align 16 .b8 s[512];",
        "ld.param.u64 %rd1, [factors];\nld.param.u64 %rd2, [sums];\nmov.u32 %r8, s;",
        *copies,
        "bar.sync 0;",
        f"wmma.load.a.sync.aligned.row.{shape}{where}.{kind} {{%r0}}, [{at[0]}]{a};",
        f"wmma.load.b.sync.aligned.col.{shape}{where}.{kind} {{%r1}}, [{at[1]}]{b};",
        f"wmma.load.c.sync.aligned.{layout}.{shape}.global.s32 {{%r2, %r3}}, [%rd2]{c};",
        f"wmma.mma{before}.sync.aligned.row.col.{shape}.s32.{kind}.{kind}.s32{behind} "
        "{%r4, %r5}, {%r0}, {%r1}, {%r2, %r3};",
        f"wmma.store.d.sync.aligned.{layout}.{shape}.global.s32 [%rd2], {{%r4, %r5}}{c};",
    ]
    header = ".version 9.0\n.target sm_90\n.address_size 64\n"
    return build("\n".join(lines), ".param .u64 factors, .param .u64 sums", header=header)


@pytest.mark.parametrize(
    ("kind", "words"), [("s4", ""), ("u4", ""), ("s4", "satfinite"), ("b1", "xor"), ("b1", "and")]
)
@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("space", ["global", "shared", ""])
def test_wmma_of_small_elements(kind, words, layout, space, rng):
    """Strides count elements; without one, rows follow each other."""
    depth, bits = (128, 1) if kind == "b1" else (32, 4)
    strides = [2 * depth, 0, 12] if space != "" else [0, 0, 0]
    factors = rng.integers(0, 1 << 32, 128, dtype=np.uint64).astype(np.uint32)
    sums = rng.integers(-(1 << 31), 1 << 31, (8, 12 if strides[2] else 8)).astype(np.int32)
    pitch = (strides[0] or depth) * bits // 32
    words_of = [factors[: 8 * pitch].reshape(8, pitch), factors[64 : 64 + 8 * depth * bits // 32]]
    left, right = (
        unpack(x.reshape(8, -1)[:, : depth * bits // 32], bits, kind == "s4").reshape(8, depth)
        for x in words_of
    )
    if words == "xor":
        product = (left[:, None] ^ right[None]).sum(-1)
    else:
        product = left @ right.T
    product = product.T if layout == "col" else product
    total = product + sums[:, :8].astype(np.int64)
    if words == "satfinite":
        total = total.clip(-(1 << 31), (1 << 31) - 1)
    got = sums.copy()
    launch(write_wmma(kind, layout, words, space, strides), factors, got)
    assert ((total & 0xFFFFFFFF) == got[:, :8].view(np.uint32)).all()
    assert (got[:, 8:] == sums[:, 8:]).all()
