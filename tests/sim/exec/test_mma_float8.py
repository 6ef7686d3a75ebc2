"""Products of 8-bit floats, sparse too, as ptxas assembles them for sm_90 and an H200 has them."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.handmade import build, launch

TABLE = json.loads(Path(__file__).with_name("mma_float8_h200.json").read_text(encoding="utf-8"))
SEEDS = 4
SPREAD = [0, 2, 6, 9]
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"


PAIRS = np.array([4, 8, 9, 12, 13, 14], np.uint32)  # two of four, the first below the second


def is_sparse(opcode):
    return opcode.startswith("mma.sp")


def count_registers(opcode):
    """Of a lane, for d, a, b and c."""
    sums, factors = (2 if opcode.endswith("f16") else 4), (2 if "k16" in opcode else 4)
    return sums, factors, factors if is_sparse(opcode) else factors // 2, sums


def make_operands(opcode, seed):
    """Registers of a, b and c in 32 lanes, and metadata. The last seed has infinities and NaN."""
    rng, (_, a, b, c) = np.random.default_rng(100 + seed), count_registers(opcode)
    count = a + b + c + is_sparse(opcode)
    words = rng.integers(0, 1 << 32, (count, 32), dtype=np.uint64).astype(np.uint32)
    raw = words[: a + b].view(np.uint8).copy()
    for rows, kind in zip((slice(0, a), slice(a, a + b)), opcode.split(".")[-3:-1], strict=True):
        bits, bias = (3, 7) if kind == "e4m3" else (2, 15)
        finite = (0, 14 if kind == "e4m3" else 30)
        if seed < SEEDS - 1:
            low, high = [(bias - 1, bias + 1), (bias - 4, bias + 4), finite][seed]
            field = rng.integers(low, high + 1, raw[rows].shape)
            raw[rows] = raw[rows] & (0x80 | (1 << bits) - 1) | (field << bits).astype(np.uint8)
    words[: a + b] = raw.view(np.uint32)
    half = opcode.endswith("f16")
    x = rng.standard_normal((c, 64 if half else 32))
    x = x * 2.0 ** rng.integers(-SPREAD[seed], SPREAD[seed] + 1, x.shape)
    words[a + b : a + b + c] = x.astype(np.float16 if half else np.float32).view(np.uint32)
    if is_sparse(opcode):
        chosen = [rng.choice(PAIRS, 32).astype(np.uint32) << np.uint32(4 * i) for i in range(8)]
        words[-1] = np.bitwise_or.reduce(chosen)
    return words


def write_kernel(opcode, line=None):
    counts, single = count_registers(opcode), opcode.endswith("f32")
    d, a, b, c = (
        [f"%{x}x{i}" for i in range(count)] for x, count in zip("dabc", counts, strict=True)
    )
    sums = "f32" if single else "b32"
    lists = ", ".join("{" + ", ".join(x) + "}" for x in (d, a, b, c))
    loaded = [*((x, "b32") for x in a + b), *((x, sums) for x in c)]
    if is_sparse(opcode):
        loaded.append(("%meta", "b32"))
        lists += ", %meta, 0"
    lines = [
        *(f".reg .{kind} {x};" for x, kind in [*loaded, *((x, sums) for x in d)]),
        "ld.param.u64 %rd1, [operands];\nld.param.u64 %rd2, [results];",
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;",
        "add.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;",
        *(f"ld.global.{kind} {x}, [%rd1+{128 * i}];" for i, (x, kind) in enumerate(loaded)),
        f"{opcode} {lists};" if line is None else line,
        *(f"st.global.{sums} [%rd2+{128 * i}], {x};" for i, x in enumerate(d)),
    ]
    return build("\n".join(lines), ".param .u64 operands, .param .u64 results", header=HEADER)


def multiply(opcode, seed, **options):
    results = np.zeros((count_registers(opcode)[0], 32), np.uint32)
    launch(write_kernel(opcode, **options), make_operands(opcode, seed), results)
    return results


@pytest.mark.parametrize("opcode", TABLE["products"])
def test_products_of_an_h200(opcode):
    checksums = [f"{zlib.crc32(multiply(opcode, seed).tobytes()):08x}" for seed in range(SEEDS)]
    assert checksums == TABLE["products"][opcode].split()


@pytest.mark.parametrize("opcode", list(TABLE["products"])[:1])
def test_sums_in_the_registers_of_c(opcode):
    """d may be c, and elements may be left out."""
    lists = (
        "{%cx0, %cx1, %cx2, %cx3}, {%ax0, %ax1, %ax2, %ax3}, {%bx0, %bx1}, {%cx0, %cx1, %cx2, %cx3}"
    )
    moves = "\n".join(f"mov.f32 %dx{i}, %cx{i};" for i in range(4))
    got = multiply(opcode, 1, line=f"{opcode} {lists};\n{moves}")
    assert (got == multiply(opcode, 1)).all()
