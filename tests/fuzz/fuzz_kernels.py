"""Random kernels that are right by construction: no race, no stray access, an end.

What a kernel does follows from one number, its seed. Each thread has registers of its own full of
random values, a piece of `out` that no other thread touches, and words of `acc` that all threads
change by operations whose order does not matter. A faulty kernel has one fault put into it.

A case is a dict that JSON can keep: text, entry, grid, block, args, max_steps, and what is expected
of it ("clean": check finds nothing; "fails": an error is no surprise).
"""

import random

from fuzz.fuzz_statements import (
    ACC_BYTES,
    BYTES,
    COMMUTING,
    COUNTS,
    HEADER,
    IN_BYTES,
    LETTERS,
    TABLE_BYTES,
    Registers,
    Writer,
    write_arithmetic,
)

SLOT_BYTES = 256  # of `out`, for each thread: 64 to play with, then its registers
STEPS = 300_000
BLOCKS = [(32,), (64,), (40,), (1,), (96,), (16, 2), (8, 4, 2), (33,), (128,), (7, 3, 2), (32, 4)]
GRIDS = [(1,), (2,), (3,), (2, 2), (1, 2, 2), (7,)]
FAULTS = (
    "stray misaligned trap endless shared_overrun barrier null constant_store local_overrun".split()
)


def write_function(rng, number):
    """A function of the module: arithmetic, and a branch."""
    registers = Registers(rng, {"b16": 3, "b32": 5, "b64": 3, "pred": 3})
    lines = [
        f".func (.param .b32 answer) function{number}(.param .b32 first, .param .b64 second)",
        "{",
        *registers.declare(),
        "ld.param.b32 %r0, [first];",
        "ld.param.b64 %l0, [second];",
        *(f"add.u32 %r{i}, %r{i - 1}, {rng.getrandbits(20)};" for i in range(1, 5)),
        *(f"mad.lo.u64 %l{i}, %l{i - 1}, 5, {rng.getrandbits(30)};" for i in range(1, 3)),
        *(f"cvt.u16.u32 %h{i}, %r{i};" for i in range(3)),
        *(f"setp.lt.s32 %p{i}, %r{i}, %r{i + 1};" for i in range(3)),
        *(write_arithmetic(rng, registers) for _ in range(rng.randrange(1, 5))),
        "@%p0 bra $past;",
        *(write_arithmetic(rng, registers) for _ in range(rng.randrange(1, 4))),
        "$past:",
        f"st.param.b32 [answer], {registers.source('b32')};",
        "ret;",
        "}",
    ]
    return lines


def linear(name):
    """The number of a thread in its block, or of a block in its grid, in %i0."""
    counts = {"tid": "ntid", "ctaid": "nctaid"}[name]
    return [
        f"mov.u32 %i0, %{name}.z;",
        f"mov.u32 %i1, %{counts}.y;",
        f"mov.u32 %i2, %{name}.y;",
        "mad.lo.u32 %i0, %i0, %i1, %i2;",
        f"mov.u32 %i1, %{counts}.x;",
        f"mov.u32 %i2, %{name}.x;",
        "mad.lo.u32 %i0, %i0, %i1, %i2;",
    ]


def write_prologue(rng, threads):
    """Addresses of what is a thread's own, and values in all registers."""
    lines = [
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "ld.param.u64 %acc, [acc];",
        "ld.param.u32 %n, [n];",
        "cvta.to.global.u64 %in, %in;",
        *linear("ctaid"),
        "mov.u32 %lin, %i0;",
        *linear("tid"),
        f"mad.lo.u32 %i3, %lin, {threads}, %i0;",
        "mov.u32 %lin, %i0;",
        f"mad.wide.u32 %mine, %i3, {SLOT_BYTES}, %out;",
        "mov.u64 %a0, slots;",
        "mad.wide.u32 %slot, %lin, 16, %a0;",
        "mov.u64 %a0, copies;",
        "mad.wide.u32 %copy, %lin, 16, %a0;",
        "mov.u64 %loc, depot;",
        "cvta.local.u64 %gloc, %loc;",
        "mul.lo.u32 %i3, %i3, 36;",
    ]
    for i, (width, count) in enumerate(COUNTS.items()):
        for k in range(count):
            lines += [
                f"add.u32 %i0, %i3, {rng.getrandbits(12)};",
                f"and.b32 %i0, %i0, {(IN_BYTES - 1) & ~7};",
                "cvt.u64.u32 %a0, %i0;",
                "add.s64 %a0, %a0, %in;",
            ]
            if width == "pred":
                lines += ["ld.global.u32 %i1, [%a0];", f"setp.lt.s32 %p{k}, %i1, {i};"]
            else:
                lines.append(f"ld.global.{width} {LETTERS[width]}{k}, [%a0];")
    zeros = "{%i1, %i1, %i1, %i1}"
    lines += [
        "mov.u32 %i1, 0;",
        f"st.shared.v4.u32 [%slot], {zeros};",
        f"st.shared.v4.u32 [%copy], {zeros};",
        *(f"st.local.v4.u32 [%loc+{k}], {zeros};" for k in range(0, 64, 16)),
        "setp.ne.u32 %q0, %lin, 0;",
        "@%q0 bra $begin;",
        *(f"st.shared.v4.u32 [sums+{k}], {zeros};" for k in range(0, ACC_BYTES, 16)),
        "$begin:",
        "bar.sync 0;",
    ]
    return lines


def write_epilogue():
    """All registers to `out`, the block's sums to `acc`."""
    lines, at = [], 64
    for width in ("b64", "b32", "b16"):
        for k in range(COUNTS[width]):
            lines.append(f"st.global.{width} [%mine+{at}], {LETTERS[width]}{k};")
            at += BYTES[width]
    lines.append("mov.u32 %i0, 0;")
    for k in range(COUNTS["pred"]):
        lines.append(f"@%p{k} or.b32 %i0, %i0, {1 << k};")
    at = -(-at // 4) * 4
    lines += [
        f"st.global.u32 [%mine+{at}], %i0;",
        "bar.sync 0;",
        "setp.ne.u32 %q0, %lin, 0;",
        "@%q0 bra $end;",
    ]
    for k in range(len(COMMUTING)):
        operation, type_ = COMMUTING[k]
        lines += [
            f"ld.shared.u32 %i0, [sums+{4 * k}];",
            f"red.global.{operation}.{type_} [%acc+{4 * k}], %i0;",
        ]
    for k in range(128, ACC_BYTES, 8):
        lines += [
            f"ld.shared.u64 %a0, [sums+{k}];",
            f"st.global.u64 [%mine+{(k - 128) % 64}], %a0;",
        ]
    return [*lines, "$end:", "ret;"]


def write_fault(rng, kind, threads):
    """Lines that go wrong, in some of the threads."""
    who = rng.randrange(threads)
    access = {
        "stray": "ld.global.u32 %i0, [%in+4194304];",
        "misaligned": "ld.global.u32 %i0, [%in+2];",
        "trap": "trap;",
        "shared_overrun": "st.shared.u32 [%slot+1048576], %i0;",
        "null": "st.global.u32 [%a2], %i0;",
        "constant_store": "st.u8 [%a2], %h0;",
        "local_overrun": "ld.local.u32 %i0, [%loc+65536];",
        "barrier": "bar.sync 0;",
    }
    if kind == "endless":
        return ["$again:", f"setp.eq.u32 %q0, %lin, {who};", "@%q0 bra $again;"]
    lines = ["mov.u64 %a2, 0;", f"setp.ne.u32 %q0, %lin, {who};", "@%q0 bra $fine;", access[kind]]
    if kind == "barrier":
        lines += ["bra $fine;"]
    return [*lines, "$fine:"]


def volume(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


def generate(seed, statements=None):
    """The case of a seed."""
    rng = random.Random(f"kernel {seed}")
    block, grid = rng.choice(BLOCKS), rng.choice(GRIDS)
    threads = volume(block)
    writer = Writer(rng, threads, statements or rng.choice((5, 10, 20, 40)))
    writer.functions = rng.choice((0, 0, 1, 2))
    functions = [write_function(rng, k) for k in range(writer.functions)]
    writer.body(writer.left, True)
    fault = rng.choice(FAULTS) if rng.random() < 0.12 else None
    body = writer.lines
    if fault is not None:
        body = [*body, *write_fault(rng, fault, threads)]
    numbers = ", ".join(str(rng.getrandbits(8)) for _ in range(TABLE_BYTES))
    lines = [HEADER.strip(), '.file 1 "random.cu"']
    if writer.uses_print:
        text = ", ".join(str(code) for code in (*b"%d %llx\n", 0))
        lines += [
            ".extern .func (.param .b32 written) vprintf(.param .b64 format, .param .b64 list);",
            f".global .align 1 .b8 words[9] = {{{text}}};",
        ]
    lines += [
        f".const .align 16 .b8 table[{TABLE_BYTES}] = {{{numbers}}};",
        f".global .align 16 .b8 values[{TABLE_BYTES}] = {{{numbers}}};",
        *(line for function in functions for line in function),
    ]
    if writer.functions:
        names = ", ".join(f"function{k}" for k in range(writer.functions))
        lines.append(f".global .align 8 .u64 functions[{writer.functions}] = {{{names}}};")
    lines += [
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 acc, .param .u32 n)",
        "{",
        *writer.registers.declare(),
        ".reg .pred %q<2>;",
        ".reg .b32 %i<4>, %c<5>, %n, %lin;",
        ".reg .b64 %a<3>, %in, %out, %acc, %mine, %slot, %copy, %loc, %gloc;",
        f".shared .align 16 .b8 slots[{threads * 16}];",
        f".shared .align 16 .b8 copies[{threads * 16}];",
        f".shared .align 16 .b8 sums[{ACC_BYTES}];",
        ".local .align 16 .b8 depot[64];",
        *write_prologue(rng, threads),
        *body,
        *write_epilogue(),
        "}",
    ]
    return {
        "origin": f"generated {seed}",
        "text": "\n".join(lines) + "\n",
        "entry": "k",
        "grid": list(grid),
        "block": list(block),
        "args": [
            {"words": IN_BYTES // 4, "seed": rng.getrandbits(30)},
            {"words": threads * volume(grid) * SLOT_BYTES // 4, "seed": rng.getrandbits(30)},
            {"words": ACC_BYTES // 4, "seed": rng.getrandbits(30)},
            {"value": rng.randrange(5)},
        ],
        "max_steps": STEPS,
        "clean": fault is None and writer.is_plain,
        "fails": fault is not None,
    }
