"""Products of sparse matrices, and those of m8n8k4 in f16, as an H200 has them.

A sparse product is named with the selector that says which lanes hold its metadata.
"""

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.handmade import build, launch

TABLE = json.loads(Path(__file__).with_name("mma_sparse_h200.json").read_text(encoding="utf-8"))
SEEDS = 4
SPREAD, MORE = [0, 2, 6, 12], [0, 2, 6, 9]
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
PAIRS = np.array([4, 8, 9, 12, 13, 14], np.uint32)  # two of four, the first below the second
ONE = np.array([4, 14], np.uint32)  # one of two elements of tf32


def types_of(opcode):
    return re.search(r"\.(\w+)\.(\w+)\.(\w+)\.(\w+)$", opcode).groups()


def count_registers(opcode):
    """Of a lane, for d, a, b and c."""
    rows, _, depth = map(int, re.search(r"m(\d+)n(\d+)k(\d+)", opcode).groups())
    d, a, _, c = types_of(opcode)
    if rows == 8:
        return 4 if d == "f16" else 8, 2, 2, 4 if c == "f16" else 8
    held = {"tf32": 1, "f16": 2, "bf16": 2, "s8": 4, "u8": 4, "s4": 8, "u4": 8}[a]
    sums = 2 if d == "f16" else 4
    return sums, depth * 8 // 32 // held, depth * 8 // 32 // held, sums


def make_operands(opcode, seed, more=False):
    """Registers of a, b and c in 32 lanes, and metadata. Floats spread more with each seed."""
    rng, (_, a, b, c) = np.random.default_rng(100 + seed), count_registers(opcode)
    _, kind, _, sums = types_of(opcode)
    words = rng.integers(0, 1 << 32, (a + b + c, 32), dtype=np.uint64).astype(np.uint32)
    spread = (MORE if more else SPREAD)[seed]

    def numbers(rows, columns):
        x = rng.standard_normal((rows, columns))
        return x * 2.0 ** rng.integers(-spread, spread + 1, (rows, columns))

    if sums != "s32":
        factors = numbers(a + b, 32 if kind == "tf32" else 64)
        if kind == "f16":
            words[: a + b] = factors.astype(np.float16).view(np.uint32)
        elif kind == "bf16":
            high = (factors.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            words[: a + b] = high.view(np.uint32)
        else:
            words[: a + b] = factors.astype(np.float32).view(np.uint32) & 0xFFFFE000
        half = sums == "f16"
        added = numbers(c, 64 if half else 32).astype(np.float16 if half else np.float32)
        words[a + b :] = added.view(np.uint32)
    if ".sp" in opcode:
        if kind == "tf32" and not more:
            rng.choice(PAIRS, 8 * 32)
        metadata = np.zeros(32, np.uint32)
        for i in range(8):
            chosen = rng.choice(ONE if kind == "tf32" else PAIRS, 32).astype(np.uint32)
            metadata |= chosen << np.uint32(4 * i)
        words = np.vstack([words, metadata[None]])
    return words


def write_kernel(opcode, selector):
    counts = count_registers(opcode)
    names = iter(f"%x{i}" for i in range(sum(counts) + 1))
    d, a, b, c, (metadata,) = ([next(names) for _ in range(count)] for count in (*counts, 1))
    single = [x == "f32" for x in (types_of(opcode)[0], types_of(opcode)[3])]
    loaded = a + b + c + ([metadata] if selector else [])
    lists = ", ".join("{" + ", ".join(x) + "}" for x in (d, a, b, c))
    kinds = {x: "f32" for x, float_ in ((d, single[0]), (c, single[1])) if float_ for x in x}
    lines = [
        *(f".reg .{kinds.get(x, 'b32')} {x};" for x in [*d, *loaded]),
        "ld.param.u64 %rd1, [operands];",
        "ld.param.u64 %rd2, [results];",
        "mov.u32 %r1, %tid.x;",
        "mul.wide.u32 %rd3, %r1, 4;",
        "add.u64 %rd1, %rd1, %rd3;",
        "add.u64 %rd2, %rd2, %rd3;",
        *(f"ld.global.{kinds.get(x, 'b32')} {x}, [%rd1+{128 * i}];" for i, x in enumerate(loaded)),
        f"{opcode} {lists}{f', {metadata}, {selector}' if selector else ''};",
        *(f"st.global.{kinds.get(x, 'b32')} [%rd2+{128 * i}], {x};" for i, x in enumerate(d)),
    ]
    return build("\n".join(lines), ".param .u64 operands, .param .u64 results", header=HEADER)


def multiply(name, seed, more=False):
    opcode, _, selector = name.partition(" ")
    results = np.zeros((count_registers(opcode)[0], 32), np.uint32)
    launch(write_kernel(opcode, selector), make_operands(opcode, seed, more), results)
    return results


EACH = [(group, name) for group in ("products", "more") for name in TABLE[group]]


@pytest.mark.parametrize(("group", "name"), EACH, ids=[" ".join(x) for x in EACH])
def test_products_of_an_h200(group, name):
    got = [multiply(name, seed, group == "more") for seed in range(SEEDS)]
    assert [f"{zlib.crc32(x.tobytes()):08x}" for x in got] == TABLE[group][name].split()
