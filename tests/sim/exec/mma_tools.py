"""Kernels of one mma, and where the PTX ISA says that the elements of its matrices lie.

A matrix product takes a (rows, depth), b (depth, 8) and c (rows, 8); a batch of them is one launch,
a warp for each.
"""

import dataclasses

import numpy as np

import smemkit

ONES = 0xFFFFFFFF


@dataclasses.dataclass(frozen=True)
class Form:
    """One shape with one type."""

    shape: str
    kind: str  # of a and b
    rows: int
    depth: int
    target: int  # the lowest compute capability
    kind_b: str = ""  # of b, where it differs
    half: bool = False  # c and d in f16
    saturates: bool = False

    @property
    def kinds(self):
        """Of a, of b, and of c and d."""
        return self.kind, self.kind_b or self.kind, self.result

    @property
    def integer(self):
        return self.kind in ("s8", "u8")

    @property
    def double(self):
        return self.kind == "f64"

    @property
    def packed(self):
        """Elements of a and b in a register."""
        return 4 if self.integer else 2 if self.kind in ("f16", "bf16") else 1

    @property
    def result(self):
        single = "f16" if self.half else "f32"
        return "f64" if self.double else "s32" if self.integer else single

    @property
    def stored(self):
        """The type of a register of c and d."""
        return "b32" if self.half else self.result

    @property
    def opcode(self):
        a, b, c = self.kinds
        words = f"{self.shape}.row.col{'.satfinite' if self.saturates else ''}"
        return f"mma.sync.aligned.{words}.{c}.{a}.{b}.{c}"

    def __str__(self):
        words = [self.shape, self.kind, self.kind_b, "satfinite" * self.saturates]
        words += ["f16"] if self.half else []
        return "_".join(word for word in words if word)

    def counts(self):
        """Registers of a lane for d, a, b and c."""
        a = self.rows * self.depth // 32 // self.packed
        b = 8 * self.depth // 32 // self.packed
        sums = self.rows // (8 if self.half else 4)
        return sums, a, b, sums


FORMS = [
    Form("m16n8k8", "f16", 16, 8, 75, half=True),
    Form("m16n8k16", "f16", 16, 16, 80, half=True),
    Form("m16n8k8", "f16", 16, 8, 75),
    Form("m16n8k16", "f16", 16, 16, 80),
    Form("m16n8k8", "bf16", 16, 8, 80),
    Form("m16n8k16", "bf16", 16, 16, 80),
    Form("m16n8k4", "tf32", 16, 4, 80),
    Form("m16n8k8", "tf32", 16, 8, 80),
    Form("m8n8k4", "f64", 8, 4, 80),
    Form("m16n8k4", "f64", 16, 4, 90),
    Form("m16n8k8", "f64", 16, 8, 90),
    Form("m16n8k16", "f64", 16, 16, 90),
    Form("m8n8k16", "s8", 8, 16, 75),
    Form("m8n8k16", "u8", 8, 16, 75, "s8", saturates=True),
    Form("m16n8k16", "s8", 16, 16, 80, "u8"),
    Form("m16n8k32", "s8", 16, 32, 80),
    Form("m16n8k32", "u8", 16, 32, 80, saturates=True),
]


def places_a(form):
    """(row, k) of element i of lane, indexed [lane, i], as the tables of the PTX ISA have them."""
    count = form.rows * form.depth // 32
    lane, i = np.meshgrid(np.arange(32), np.arange(count), indexing="ij")
    group, thread = lane >> 2, lane & 3
    if form.packed == 4:  # a0 to a3 in one register, a4 8 rows below, a8 16 columns beyond
        row = group + (8 * (i >> 2 & 1) if form.rows == 16 else 0 * i)
        return row, thread * 4 + (i & 3) + 16 * (i >> 3)
    if form.packed == 2:  # a0 and a1 in one register, a2 and a3 8 rows below, a4 8 columns beyond
        row = group + 8 * (i >> 1 & 1)
        return row, thread * 2 + (i & 1) + 8 * (i >> 2)
    if form.rows == 8:
        return group, thread + 4 * i
    return group + 8 * (i & 1), thread + 4 * (i >> 1)


def places_b(form):
    """(k, column), likewise."""
    lane, i = np.meshgrid(np.arange(32), np.arange(8 * form.depth // 32), indexing="ij")
    group, thread = lane >> 2, lane & 3
    if form.packed == 4:
        return thread * 4 + (i & 3) + 16 * (i >> 2), group
    if form.packed == 2:
        return thread * 2 + (i & 1) + 8 * (i >> 1), group
    return thread + 4 * i, group


def places_c(form):
    """(row, column) of c and d, likewise."""
    lane, i = np.meshgrid(np.arange(32), np.arange(form.rows // 4), indexing="ij")
    return (lane >> 2) + 8 * (i >> 1), (lane & 3) * 2 + (i & 1)


def words(form, matrices, places, packed):
    """(batch, register, lane) of what lanes hold, from (batch, ., .) of bit patterns."""
    elements = matrices[:, places[0], places[1]]  # (batch, lane, i)
    if packed > 1:
        bits = 32 // packed
        parts = [elements[..., i::packed].astype(np.uint32) << bits * i for i in range(packed)]
        elements = np.bitwise_or.reduce(parts)
    return np.ascontiguousarray(elements.transpose(0, 2, 1))


def register_lists(form, kinds=("d", "a", "b", "c")):
    return [
        "{" + ", ".join(f"%{kind}{i}" for i in range(count)) + "}"
        for kind, count in zip(kinds, form.counts(), strict=True)
    ]


def write_kernel(form, *, target=90, before="", guard="", after="", lists=None, repeat=1):
    """PTX of a kernel (d, a, b, c) in which each warp makes one product of fragments."""
    size = 8 if form.double else 4
    store, load = (form.stored, "f64" if form.double else "b32")
    count_d, count_a, count_b, count_c = form.counts()
    lines = [
        f".version 8.5\n.target sm_{target}\n.address_size 64",
        ".visible .entry k(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)",
        "{",
        ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;",
        f".reg .{store} %d<{count_d}>;\n.reg .{store} %c<{count_c}>;",
        f".reg .{load} %a<{count_a}>;\n.reg .{load} %b<{count_b}>;",
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;",
    ]
    for name, count, kind in (("a", count_a, load), ("b", count_b, load), ("c", count_c, store)):
        lines += [
            f"ld.param.u64 %rd1, [{name}];",
            f"mad.lo.u32 %r3, %r2, {32 * count}, %r1;",
            f"mad.wide.u32 %rd1, %r3, {size}, %rd1;",
        ]
        lines += [f"ld.global.{kind} %{name}{i}, [%rd1+{32 * size * i}];" for i in range(count)]
    lines += [f"mov.{store} %d{i}, %c{i};" for i in range(count_d)]
    lines += [before]
    d, a, b, c = register_lists(form) if lists is None else lists
    lines += [f"{guard} {form.opcode} {d}, {a}, {b}, {c};"] * repeat
    lines += [after]
    lines += [
        "ld.param.u64 %rd1, [d];",
        f"mad.lo.u32 %r3, %r2, {32 * count_d}, %r1;",
        f"mad.wide.u32 %rd1, %r3, {size}, %rd1;",
    ]
    lines += [f"st.global.{store} [%rd1+{32 * size * i}], %d{i};" for i in range(count_d)]
    return "\n".join([*lines, "ret;", "}", ""])


def multiply(form, a, b, c, machine="sim", text=None, block=32):
    """Bits of d, from those of a (n, rows, depth), b (n, depth, 8) and c (n, rows, 8)."""
    dtype = np.uint64 if form.double else np.uint32
    fragments = [
        words(form, np.asarray(a), places_a(form), form.packed).astype(dtype),
        words(form, np.asarray(b), places_b(form), form.packed).astype(dtype),
        words(form, np.asarray(c), places_c(form), 2 if form.half else 1).astype(dtype),
    ]
    out = np.full_like(fragments[2], 0xAAAAAAAA)
    text = write_kernel(form, target=max(form.target, 80)) if text is None else text
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel(len(out), block, (out, *fragments), backend=machine)
    if form.half:
        halves = np.stack([out & 0xFFFF, out >> 16], 2)  # (batch, register, half, lane)
        out, dtype = halves.reshape(len(out), -1, 32), np.uint16
    d = np.empty((len(out), form.rows, 8), dtype)
    d[:, *places_c(form)] = out.transpose(0, 2, 1)
    return d
