"""Instructions on NaN of every kind, whose bits an H200 gave: the rows of nans_h200.json.

PTX leaves most of these bits open, so nothing can be computed beforehand: what stands in the table
is what the machine did. The operands are made here; the table holds a digest of them.
"""

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
from sim.exec import opcode_table
from sim.exec.opcode_table import Group

TABLE = Path(__file__).with_name("nans_h200.json")

# NaN: quiet, quiet with a payload, negative; signalling with a low bit, negative, with a high bit;
# all ones. Then numbers, of which some make a NaN: 1, -2.5, -0, infinity.
F32 = [0x7FC00000, 0x7FC12345, 0xFFD55000, 0x7F800001, 0xFF812340, 0x7FBFE000]
F32 += [0x7FFFFFFF, 0xFFFFFFFF, 0x3F800000, 0xC0200000, 0x80000000, 0x7F800000]
F64 = [0x7FF8000000000000, 0x7FF8123456789ABC, 0xFFFAAAAA00000001, 0x7FF0000000000001]
F64 += [0xFFF00000A0000000, 0x7FF7FFFFE0000000, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF]
F64 += [0x3FF0000000000000, 0xC004000000000000, 0x8000000000000000, 0x7FF0000000000000]
F16 = [0x7E00, 0x7E12, 0xFF55, 0x7C01, 0xFC81, 0x7DFF, 0x7FFF, 0xFFFF]
F16 += [0x3C00, 0xC100, 0x8000, 0x7C00]
BF16 = [0x7FC0, 0x7FC1, 0xFFD5, 0x7F81, 0xFF82, 0x7FBF, 0x7FFF, 0xFFFF]
BF16 += [0x3F80, 0xC020, 0x8000, 0x7F80]
NANS = 8
VALUES = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16}
KINDS = {"f32": "b32", "f64": "b64", "f16": "b16", "bf16": "b16"}
COMPARISONS = ("eq", "ne", "lt", "ge", "equ", "neu", "ltu", "geu", "num", "nan")
TRIPLES = 160


def choose_tuples(values, count):
    """Tuples with a NaN in them or from which one comes; of triples a fixed choice."""
    numbers = len(values) - NANS
    every = [
        places
        for places in itertools.product(range(len(values)), repeat=count)
        if min(places) < NANS or count < 3 or numbers - 1 in [p - NANS for p in places]
    ]
    if count == 3:
        rng = np.random.default_rng(13)
        every = [every[k] for k in sorted(rng.choice(len(every), TRIPLES, replace=False))]
    return [[values[places[k]] for places in every] for k in range(count)]


def make_group(name, type_name, count):
    return Group(name, (KINDS[type_name],) * count, choose_tuples(VALUES[type_name], count))


def make_packed(name, type_name, count):
    """The same in pairs: the upper half has the operands in reverse."""
    columns = choose_tuples(VALUES[type_name], count)
    return Group(
        name,
        ("b32",) * count,
        [[a | b << 16 for a, b in zip(c, reversed(c), strict=True)] for c in columns],
    )


def add(group, kind, *texts):
    for text in texts:
        operands = ", ".join("{" + name + "}" for name in "abce"[: len(group.kinds)])
        whole = text if text.startswith("{{") else f"{text} {{d}}, {operands};"
        group.add(whole, kind, expected=[None] * group.lanes)


def cell(space, type_name, store):
    """An atomic addition of b to a, by its result in memory."""
    start = "mov.u64 %in, cells; mad.wide.u32 %in, %i, 8, %in;"
    where = "[%in]"
    if space == "shared":
        start = (
            ".reg .b32 %start; mov.u32 %t, %tid.x; mov.u32 %start, block_cells; "
            "mad.lo.u32 %t, %t, 8, %start;"
        )
        where = "[%t]"
    words = "add.noftz" if type_name.endswith(("16", "16x2")) else "add"
    return (
        f"{{{{ {start} st.{space}.{store} {where}, {{a}}; "
        f"red.{space}.{words}.{type_name} {where}, {{b}}; ld.{space}.{store} {{d}}, {where}; }}}}"
    )


def single_groups():
    one, two, three = (make_group(f"f32_{n}", "f32", n) for n in (1, 2, 3))
    for word in ("", ".ftz"):
        names = [f"{name}{word}.f32" for name in ("abs", "neg")]
        names += [f"{name}.rn{word}.f32" for name in ("rcp", "sqrt")]
        approximate = ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos")
        names += [f"{name}.approx{word}.f32" for name in approximate]
        add(one, "b32", *names)
        names = [
            f"{name}.rn{word}{sat}.f32" for name in ("add", "sub", "mul") for sat in ("", ".sat")
        ]
        names += [f"div.{how}{word}.f32" for how in ("rn", "approx", "full")]
        names += [
            f"{name}{word}{nan}{absolute}.f32"
            for name in ("min", "max")
            for nan in ("", ".NaN")
            for absolute in ("", ".xorsign.abs")
        ]
        add(two, "b32", *names)
        add(two, "pred", *(f"setp.{name}{word}.f32" for name in COMPARISONS))
        add(three, "b32", *(f"fma.rn{word}{sat}.f32" for sat in ("", ".sat")))
    add(one, "b32", "tanh.approx.f32")
    add(one, "pred", *(f"testp.{name}.f32" for name in ("finite", "number", "notanumber")))
    add(two, "b32", "add.rz.f32", "mul.rp.f32", "copysign.f32")
    add(two, "b32", cell("global", "f32", "b32"), cell("shared", "f32", "b32"))
    # a sign alone, before and behind other instructions
    add(one, "b32",
        "{{ .reg .b32 %s; abs.f32 %s, {a}; xor.b32 {d}, %s, 5; }}",
        "{{ .reg .b32 %s; neg.f32 %s, {a}; xor.b32 {d}, %s, 5; }}",
        "{{ .reg .b32 %s; neg.f32 %s, {a}; abs.f32 {d}, %s; }}",
        "{{ .reg .b32 %s; add.f32 %s, {a}, 0f3F800000; neg.f32 {d}, %s; }}")  # fmt: skip
    return [one, two, three]


def double_groups():
    one, two, three = (make_group(f"f64_{n}", "f64", n) for n in (1, 2, 3))
    add(one, "b64", "abs.f64", "neg.f64", "rcp.rn.f64", "rcp.rz.f64", "sqrt.rn.f64",
        "rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64")  # fmt: skip
    add(one, "pred", *(f"testp.{name}.f64" for name in ("finite", "number", "notanumber")))
    names = [f"{name}.{mode}.f64" for name in ("add", "sub", "mul", "div") for mode in ("rn", "rz")]
    add(two, "b64", *names, "min.f64", "max.f64", "copysign.f64")
    add(two, "b64", cell("global", "f64", "b64"), cell("shared", "f64", "b64"))
    add(two, "pred", *(f"setp.{name}.f64" for name in COMPARISONS))
    add(three, "b64", "fma.rn.f64", "fma.rz.f64")
    return [one, two, three]


def half_groups(name):
    """f16 or bf16, alone and in pairs."""
    groups = []
    flush = ("", ".ftz") if name == "f16" else ("",)
    for suffix, make, kind in (("", make_group, "b16"), ("x2", make_packed, "b32")):
        one, two, three = (make(f"{name}{suffix}_{n}", name, n) for n in (1, 2, 3))
        t = name + suffix
        for word in flush:
            add(one, kind, f"abs{word}.{t}", f"neg{word}.{t}")
            saturations = ("", ".sat") if name == "f16" else ("",)
            add(two, kind, *(f"{op}.rn{word}{sat}.{t}" for op in ("add", "sub", "mul")
                             for sat in saturations))  # fmt: skip
            add(
                two,
                kind,
                *(
                    f"{op}{word}{nan}{absolute}.{t}"
                    for op in ("min", "max")
                    for nan in ("", ".NaN")
                    for absolute in ("", ".xorsign.abs")
                ),
            )
            more = (*saturations, ".relu")
            add(three, kind, *(f"fma.rn{word}{change}.{t}" for change in more))
        add(one, kind, f"tanh.approx.{t}",
            f"ex2.approx{'.ftz' if name == 'bf16' else ''}.{t}")  # fmt: skip
        add(two, kind, cell("global", t, kind), cell("shared", t, kind))
        if not suffix:
            add(two, "pred", *(f"setp.{compare}.{t}" for compare in COMPARISONS))
        groups += [one, two, three]
    return groups


def convert_groups():
    groups = {name: make_group(f"cvt_{name}", name, 1) for name in VALUES}
    add(
        groups["f32"],
        "b16",
        *(
            f"cvt.{words}.f16.f32"
            for words in (
                "rn",
                "rz",
                "rn.ftz",
                "rn.sat",
                "rn.relu",
                "rn.satfinite",
                "rn.relu.satfinite",
            )
        ),
    )
    add(
        groups["f32"],
        "b16",
        *(
            f"cvt.{words}.bf16.f32"
            for words in ("rn", "rz", "rn.relu", "rn.satfinite", "rn.relu.satfinite")
        ),
    )
    add(
        groups["f32"],
        "b32",
        *(
            f"cvt.{words}.tf32.f32"
            for words in ("rna", "rna.satfinite", "rn", "rz", "rn.relu", "rz.relu")
        ),
    )
    add(groups["f32"], "b32", "cvt.f32.f32", "cvt.sat.f32.f32", "cvt.ftz.f32.f32",
        "cvt.ftz.sat.f32.f32", *(f"cvt.{mode}{ftz}.f32.f32" for mode in ("rni", "rzi", "rmi")
                                 for ftz in ("", ".ftz")))  # fmt: skip
    add(groups["f32"], "b64", "cvt.f64.f32", "cvt.ftz.f64.f32", "cvt.sat.f64.f32")
    add(groups["f64"], "b32", "cvt.rn.f32.f64", "cvt.rz.f32.f64", "cvt.rn.ftz.f32.f64",
        "cvt.rn.sat.f32.f64")  # fmt: skip
    add(groups["f64"], "b16", "cvt.rn.f16.f64", "cvt.rz.bf16.f64", "cvt.rn.bf16.f64")
    add(groups["f64"], "b64", "cvt.f64.f64", "cvt.sat.f64.f64", "cvt.rni.f64.f64",
        "cvt.rzi.f64.f64")  # fmt: skip
    for name, other in (("f16", "bf16"), ("bf16", "f16")):
        add(groups[name], "b16", f"cvt.rn.{other}.{name}", f"cvt.rni.{name}.{name}",
            f"cvt.{name}.{name}")  # fmt: skip
        add(groups[name], "b32", f"cvt.f32.{name}")
        add(groups[name], "b64", f"cvt.f64.{name}")
    add(groups["f16"], "b32", "cvt.sat.f32.f16", "cvt.ftz.f32.f16")
    for name, group in groups.items():
        for width in (16, 32, 64):
            add(group, f"b{width}", *(f"cvt.rzi.{sign}{width}.{name}" for sign in "us"))
    pair = make_group("cvt_pair", "f32", 2)
    add(
        pair,
        "b32",
        *(
            f"cvt.{words}.{name}x2.f32"
            for name in ("f16", "bf16")
            for words in ("rn", "rz", "rn.relu", "rn.satfinite")
        ),
    )
    return [*groups.values(), pair]


def list_groups():
    groups = [*single_groups(), *double_groups(), *half_groups("f16"), *half_groups("bf16")]
    return [*groups, *convert_groups()]


def write_module(groups):
    cells = ".global .align 8 .b8 cells[8192];\n.shared .align 8 .b8 block_cells[1024];\n"
    header, entries = opcode_table.write_module(groups).split(".visible", 1)
    return header + cells + ".visible" + entries


def digest_operands(groups):
    """Of the operands: a table that was made of others says nothing about these."""
    text = json.dumps([[group.name, group.columns] for group in groups])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_table():
    return json.loads(TABLE.read_text(encoding="utf-8"))
