"""Kernels of one wmma product: fragments loaded, multiplied and stored, in every shape and layout.

The fragments' own layout is nobody's business: a kernel says only where matrices lie in memory.
"""

import dataclasses

import numpy as np

import smemkit

SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "f64": 8, "f32": 4, "s32": 4}
SHAPES = {
    "m16n16k16": (16, 16, 16),
    "m32n8k16": (32, 8, 16),
    "m8n32k16": (8, 32, 16),
    "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4),
}


@dataclasses.dataclass(frozen=True)
class Form:
    """One shape with its types: of a and b, of c, and of d."""

    shape: str
    kind: str
    kind_c: str
    kind_d: str
    words: str = ""

    @property
    def size(self):
        return SHAPES[self.shape]

    @property
    def target(self):
        return 70 if self.kind == "f16" else 72 if self.kind in ("s8", "u8") else 80

    def __str__(self):
        return "_".join(
            x for x in (self.shape, self.kind, self.kind_c, self.kind_d, self.words) if x
        )

    def count(self, matrix):
        """Registers of a fragment."""
        m, n, k = self.size
        kind = {"a": self.kind, "b": self.kind, "c": self.kind_c, "d": self.kind_d}[matrix]
        if kind == "f16" and matrix in "ab":
            return 8
        elements = {"a": m * k, "b": n * k}.get(matrix, m * n)
        return elements // 32 // max(4 // SIZES[kind], 1)

    def shape_of(self, matrix):
        m, n, k = self.size
        return {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))

    @property
    def types(self):
        if self.kind == "f16":
            return f"{self.kind_d}.{self.kind_c}"
        return f"{self.kind_d}.{self.kind}.{self.kind}.{self.kind_c}"


FORMS = [
    *(
        Form(shape, "f16", c, d)
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16")
        for c, d in (("f32", "f32"), ("f16", "f16"))
    ),
    Form("m16n16k16", "f16", "f16", "f32"),
    Form("m8n32k16", "f16", "f32", "f16"),
    *(Form(shape, "bf16", "f32", "f32") for shape in ("m16n16k16", "m32n8k16", "m8n32k16")),
    Form("m16n16k8", "tf32", "f32", "f32"),
    *(Form(shape, "s8", "s32", "s32") for shape in ("m16n16k16", "m32n8k16", "m8n32k16")),
    Form("m16n16k16", "u8", "s32", "s32", "satfinite"),
    Form("m8n8k4", "f64", "f64", "f64"),
]
LAYOUTS = [
    ("row", "row", "row"),
    ("col", "col", "col"),
    ("row", "col", "col"),
    ("col", "row", "row"),
]


def registers(form, matrix):
    return "{" + ", ".join(f"%{matrix}{i}" for i in range(form.count(matrix))) + "}"


def declare(form, matrix):
    kind = {"c": form.kind_c, "d": form.kind_d}.get(matrix, form.kind)
    kind = kind if kind in ("f32", "s32", "f64") else "b32"
    return f".reg .{kind} %{matrix}<{form.count(matrix)}>;"


def pad(form, matrix, layout, extra):
    """The stride in elements: rows or columns, and a few more."""
    rows, columns = form.shape_of(matrix)
    return (columns if layout == "row" else rows) + extra


def write_kernel(form, layouts, *, space="global", extra=0, guard="", before="", target=90):
    """PTX of a kernel (d, a, b, c) of one warp.

    space "shared" copies the matrices to shared memory first; "" has generic addresses.
    extra: what strides are larger than the matrix, in units of 16 bytes.
    """
    strides, names = {}, {}
    lines = [
        f".version 8.5\n.target sm_{max(form.target, target)}\n.address_size 64",
        ".visible .entry k(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)\n{",
        ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .b16 %h<2>;",
        *(declare(form, matrix) for matrix in "abcd"),
        before,
    ]
    for i, matrix in enumerate("abcd"):
        layout = (*layouts, layouts[2])[i]
        kind = {"c": form.kind_c, "d": form.kind_d}.get(matrix, form.kind)
        strides[matrix] = pad(form, matrix, layout, extra * 16 // SIZES[kind])
        lines += [f"ld.param.u64 %rd{i}, [{matrix}];"]
        names[matrix] = f"%rd{i}"
        if space == "shared":
            size = strides[matrix] * form.shape_of(matrix)[layout == "col"] * SIZES[kind]
            lines += [f".shared .align 128 .b8 s{matrix}[{size}];"]
            names[matrix] = f"s{matrix}"
            lines += copy(f"%rd{i}", f"s{matrix}", size, i) if matrix != "d" else []
    lines += ["bar.sync 0;"] if space == "shared" else []
    dot = f".{space}" if space else ""
    for matrix, layout in zip("abc", layouts, strict=True):
        kind = form.kind_c if matrix == "c" else form.kind
        lines += [
            f"{guard} wmma.load.{matrix}.sync.aligned.{layout}.{form.shape}{dot}.{kind} "
            f"{registers(form, matrix)}, [{names[matrix]}], {strides[matrix]};"
        ]
    satfinite = f".{form.words}" if form.words else ""
    lines += [
        f"{guard} wmma.mma.sync.aligned.{layouts[0]}.{layouts[1]}.{form.shape}.{form.types}"
        f"{satfinite} " + ", ".join(registers(form, matrix) for matrix in "dabc") + ";",
        f"{guard} wmma.store.d.sync.aligned.{layouts[2]}.{form.shape}{dot}.{form.kind_d} "
        f"[{names['d']}], {registers(form, 'd')}, {strides['d']};",
    ]
    if space == "shared":
        size = strides["d"] * form.shape_of("d")[layouts[2] == "col"] * SIZES[form.kind_d]
        lines += ["bar.sync 0;", *copy("%rd3", "sd", size, 4, back=True)]
    return "\n".join([*lines, "ret;", "}", ""])


def copy(pointer, array, size, label, back=False):
    """A loop of one warp over words of 16 bits, between global and shared memory."""
    load, store = ("shared", "global") if back else ("global", "shared")
    ends = ("[%rd10]", "[%rd11]") if not back else ("[%rd11]", "[%rd10]")
    return [
        f"mov.u32 %r10, %tid.x;\nmov.u64 %rd12, {array};",
        f"L{label}:\nsetp.ge.u32 %p3, %r10, {size // 2};\n@%p3 bra D{label};",
        f"mad.wide.u32 %rd10, %r10, 2, {pointer};\nmad.wide.u32 %rd11, %r10, 2, %rd12;",
        f"ld.{load}.u16 %h1, {ends[0]};\nst.{store}.u16 {ends[1]}, %h1;",
        f"add.u32 %r10, %r10, 32;\nbra L{label};\nD{label}:",
    ]


def lay_out(matrix, layout, stride):
    """The matrix as it lies in memory: rows or columns, so many elements apart."""
    lines = matrix if layout == "row" else matrix.T
    memory = np.zeros((len(lines), stride), lines.dtype)
    memory[:, : lines.shape[1]] = lines
    whole = np.zeros(max(matrix.shape) * stride, lines.dtype)  # what the kernel may copy
    whole[: memory.size] = memory.ravel()
    return whole


def multiply(form, layouts, a, b, c, machine="sim", *, extra=0, text=None, block=32, **words):
    """Bits of d, from those of a, b and c."""
    text = write_kernel(form, layouts, extra=extra, **words) if text is None else text
    arrays, strides = [], {}
    kinds = {"a": form.kind, "b": form.kind, "c": form.kind_c, "d": form.kind_d}
    for matrix, layout in zip("abcd", (*layouts, layouts[2]), strict=True):
        strides[matrix] = pad(form, matrix, layout, extra * 16 // SIZES[kinds[matrix]])
    for matrix, layout, bits in zip("abc", layouts, (a, b, c), strict=True):
        arrays.append(lay_out(bits, layout, strides[matrix]))
    element = np.dtype(f"u{SIZES[form.kind_d]}")
    out = np.zeros(max(form.shape_of("d")) * strides["d"], element)
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel(1, block, (out, *arrays), backend=machine)
    lines = form.shape_of("d")[0 if layouts[2] == "row" else 1]
    memory = out[: lines * strides["d"]].reshape(lines, strides["d"])
    rows, columns = form.shape_of("d")
    return memory[:, :columns] if layouts[2] == "row" else memory[:, :rows].T
