"""atom and red of vectors and of 128 bits: values as an H200 has them, and what is refused."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from sim.profile.count_tools import check, profile
from support.handmade import build, launch

import smemkit

TABLE = json.loads(Path(__file__).with_name("atomic_vectors_h200.json").read_text(encoding="utf-8"))
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
BITS = {"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32}
SPECIAL = [0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 1, 0x8001, 0x7BFF, 0x3C00, 0x7F80, 0xFF80, 0x7FC0]


def make_operands():
    """Memory and operands of 32 threads, 8 words each: small floats of 16 bits, some special."""
    rng = np.random.default_rng(9)
    x = (rng.standard_normal((2, 32, 16)) * 4).astype(np.float16).view(np.uint16)
    where = rng.random(x.shape) < 0.3
    x[where] = rng.choice(np.array(SPECIAL, np.uint16), int(where.sum()))
    return x.reshape(2, 32, 16).view(np.uint32)


def width_of(words):
    return next((int(x[1]) for x in words.split(".") if x in ("v2", "v4", "v8")), 1)


def write_kernel(words, opcode="atom", before=""):
    """Each thread updates its 32 bytes of `memory`, and stores what was there to `old`."""
    kind, count = words.split(".")[-1], width_of(words)
    bits = BITS[kind]
    register = f"{'f' if kind == 'f32' else 'b'}{bits}"
    d, b = ([f"%{x}{i}" for i in range(count)] for x in "xy")
    lists = [", ".join(x) if count == 1 else "{" + ", ".join(x) + "}" for x in (d, b)]
    result = f"{lists[0]}, " if opcode == "atom" else ""
    lines = [
        f".reg .{register} %x<{count}>, %y<{count}>;",
        "ld.param.u64 %rd1, [memory];\nld.param.u64 %rd2, [operands];\nld.param.u64 %rd3, [old];",
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 32;",
        *(f"add.u64 %rd{i}, %rd{i}, %rd4;" for i in (1, 2, 3)),
        *(f"mov.{register} {x}, {'0f00000000' if kind == 'f32' else 0};" for x in d),
        *(f"ld.global.{register} {x}, [%rd2+{bits // 8 * i}];" for i, x in enumerate(b)),
        before,
        f"{opcode}.global.{words} {result}[%rd1], {lists[1]};",
        *(f"st.global.{register} [%rd3+{bits // 8 * i}], {x};" for i, x in enumerate(d)),
    ]
    parameters = ".param .u64 memory, .param .u64 operands, .param .u64 old"
    return build("\n".join(lines), parameters, header=HEADER)


def update(words, **options):
    memory, operands = (x.copy() for x in make_operands())
    old = np.zeros_like(memory)
    launch(write_kernel(words, **options), memory, operands, old)
    return memory, old


@pytest.mark.parametrize("words", TABLE["updates"])
def test_updates_of_an_h200(words):
    memory, old = update(words)
    checksums = [f"{zlib.crc32(x.tobytes()):08x}" for x in (memory, old)]
    assert checksums == TABLE["updates"][words].split()


@pytest.mark.parametrize("words", ["add.v4.f32", "min.noftz.v8.f16", "max.noftz.v2.bf16x2"])
def test_red_leaves_the_same_memory(words):
    assert (update(words, opcode="red")[0] == update(words)[0]).all()


def test_elements_that_are_not_wanted():
    memory, old = make_operands()[0].copy(), np.zeros((32, 8), np.uint32)
    text = write_kernel("add.v4.f32").replace("{%x0, %x1, %x2, %x3}", "{%x0, _, _, %x3}")
    launch(text, memory, make_operands()[1].copy(), old)
    whole, values = update("add.v4.f32")
    assert (memory == whole).all() and (old[:, [0, 3]] == values[:, [0, 3]]).all()
    assert not old[:, 1:3].any()
    launch(text.replace("{%x0, _, _, %x3}", "_"), memory, make_operands()[1].copy(), old)
    assert not old[:, :4].any()


def test_vectors_are_aligned_as_a_whole():
    with pytest.raises(smemkit.MisalignedError, match="of 16 bytes"):
        update("add.v4.f32", before="add.u64 %rd1, %rd1, 8;")


def test_vectors_lie_in_global_memory():
    shared = ".shared .align 16 .b8 s[64];\nmov.u64 %rd1, s;\ncvta.shared.u64 %rd1, %rd1;"
    text = write_kernel("add.v4.f32", before=shared).replace("atom.global", "atom")
    with pytest.raises(smemkit.Error, match="vector in shared memory"):
        launch(text, *(np.zeros((32, 8), np.uint32) for _ in range(3)))


def test_a_vector_is_one_access():
    buffers = [x.copy() for x in (*make_operands(), make_operands()[0])]
    counted = profile(write_kernel("add.v4.f32"), *buffers)
    check(counted, "global.atomic", requests=1, sectors=32, bytes=512, bytes_moved=1024)


def test_blocks_that_share_a_vector():
    """Sums of small integers are exact in any order."""
    text = write_kernel("add.v4.f32", "red").replace("mov.u32 %r1, %tid.x;", "mov.u32 %r1, 0;")
    memory, ones = np.zeros(8, np.float32), np.ones(8, np.float32)
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    kernel(16, 64, (memory, ones, np.zeros(8, np.float32)), backend="sim")
    assert memory.tolist() == [1024.0] * 4 + [0.0] * 4


# 128 bits ----------------------------------------------------------------------------------------

WIDE = """
.reg .b128 %q<5>;
ld.param.u64 %rd1, [memory];
ld.param.u64 %rd2, [operands];
ld.param.u64 %rd3, [old];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 16;
add.u64 %rd1, %rd1, %rd4;
add.u64 %rd2, %rd2, %rd4;
add.u64 %rd3, %rd3, %rd4;
ld.global.b128 %q1, [%rd2];
mov.b128 {%rd5, %rd6}, %q1;
mov.b128 %q2, {%rd6, %rd5};
ATOMIC
st.global.b128 [%rd3], %q3;
"""


def run_wide(atomic, memory, operands):
    parameters = ".param .u64 memory, .param .u64 operands, .param .u64 old"
    text = build(WIDE.replace("ATOMIC", atomic), parameters, header=HEADER)
    old = np.zeros_like(memory)
    launch(text, memory, operands, old)
    return old


def make_wide(rng):
    return [rng.integers(0, 1 << 62, (32, 2), dtype=np.uint64) for _ in range(2)]


def test_exchange_of_128_bits(rng):
    memory, operands = make_wide(rng)
    before = memory.copy()
    old = run_wide("atom.global.exch.b128 %q3, [%rd1], %q2;", memory, operands)
    assert (old == before).all() and (memory == operands[:, ::-1]).all()


@pytest.mark.parametrize("words", ["atom.global.cas.b128", "atom.acq_rel.gpu.cas.b128"])
def test_compare_and_swap_of_128_bits(words, rng):
    """Both halves are compared."""
    memory, operands = make_wide(rng)
    memory[::2] = operands[::2]
    memory[::4, 1] += 1
    before = memory.copy()
    old = run_wide(f"{words} %q3, [%rd1], %q1, %q2;", memory, operands)
    expected = np.where((before == operands).all(1)[:, None], operands[:, ::-1], before)
    assert (old == before).all() and (memory == expected).all()
    assert (memory != before).any() and (memory == before).any()


def test_registers_of_128_bits(rng):
    """Whole registers, and four parts of 32 bits."""
    memory, operands = make_wide(rng)
    parts = "mov.b128 {%r2, %r3, %r4, %r5}, %q1;\nmov.b128 %q4, {%r5, %r4, %r3, %r2};"
    run = f"{parts}\nmov.b128 %q3, %q4;\nst.weak.global.b128 [%rd1], %q3;"
    old = run_wide(run, memory, operands)
    assert (old.view(np.uint32) == operands.view(np.uint32)[:, ::-1]).all()
    assert (memory == old).all()


def test_access_of_128_bits_is_aligned(rng):
    memory, operands = make_wide(rng)
    for line in ("atom.global.exch.b128 %q3, [%rd1+8], %q2;", "ld.global.b128 %q3, [%rd1+8];"):
        with pytest.raises(smemkit.MisalignedError, match="of 16 bytes"):
            run_wide(line, memory, operands)


@pytest.mark.parametrize(
    "line",
    [
        "ld.global.b128 %rd5, [%rd1];",
        "add.u64 %rd5, %q1, %q2;",
        "atom.global.add.b128 %q3, [%rd1], %q1;",
        "atom.shared.add.v2.f32 {%f1, %f2}, [%rd1], {%f1, %f2};",
        "atom.global.min.noftz.f16 %h1, [%rd1], %h1;",
    ],
)
def test_what_ptxas_refuses(line):
    registers = ".reg .b128 %q<4>;\n"
    with pytest.raises((smemkit.PtxError, smemkit.UnsupportedError)):
        launch(build(f"{registers}\n{line}", ".param .u64 x", header=HEADER), np.zeros(4))
