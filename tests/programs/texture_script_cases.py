"""The cases of texture_script.py: instructions of textures and surfaces, and their operands."""

import itertools

from texture_case import D, F, make_case
from texture_levels import LEVELS, list_gradients, list_levels

SHAPES = [
    {"extent": (16, 0, 0), "format": "f4", "channels": 1},
    {
        "extent": (9, 7, 0),
        "format": "u1",
        "channels": 4,
        "sampling": {"flags": 3, "mode": (0, 2, 3)},
    },
    {"extent": (9, 7, 0), "format": "i1", "channels": 2, "sampling": {"flags": 2, "filter": 1}},
    {"extent": (5, 4, 3), "format": "i2", "channels": 2, "sampling": {"mode": (3, 1, 3)}},
    {"extent": (5, 4, 3), "format": "u4", "channels": 4},
    {"extent": (6, 5, 3), "format": "f2", "channels": 4, "flags": ("layered",)},
    {"extent": (6, 0, 4), "format": "f4", "channels": 2, "flags": ("layered",)},
    {"extent": (8, 8, 6), "format": "f4", "channels": 1, "flags": ("cube",)},
    {"extent": (8, 8, 12), "format": "f4", "channels": 1, "flags": ("cube", "layered")},
    {
        "extent": (16, 12, 0),
        "format": "f4",
        "channels": 1,
        "levels": 5,
        "sampling": {"flags": 2, "filter": 1, "level_filter": 1},
    },
    {"extent": (16, 12, 5), "format": "f4", "channels": 1, "levels": 3, "flags": ("layered",)},
    {"extent": (64, 0, 0), "format": "i4", "channels": 1, "memory": "linear"},
    {"extent": (9, 7, 0), "format": "u2", "channels": 1, "memory": "rows"},
]


def list_sizes():
    for shape, asked in itertools.product(SHAPES, ("width", "height", "depth")):
        yield make_case(f"txq.{asked}.b32 %r10, [%rd1];", **shape)
    for shape, asked in itertools.product(
        (SHAPES[1], SHAPES[9], SHAPES[10]), ("width", "height", "depth")
    ):
        rows = [(n,) for n in (0, 1, 2, 3, 4, 5, 7, 100, -1)]
        yield make_case(f"txq.level.{asked}.b32 %r10, [%rd1], %r0;", rows, **shape)


def list_surface_sizes():
    for shape in SHAPES[:11]:
        if not shape.get("levels"):
            shape = {**shape, "flags": (*shape.get("flags", ()), "surface"), "sampling": {}}
            for asked in ("width", "height", "depth"):
                yield make_case(f"suq.{asked}.b32 %r10, [%rd1];", **shape, object="sized")


POINTS = [
    (x, y, z, 0.5, dx, dy, dz)
    for x, y, z, dx, dy, dz in (
        (0.5, 0.5, 0.5, 0, 0, 0),
        (2.25, 3.75, 1.5, 1, 2, 1),
        (4.5, 3.5, 1.0, -1, -2, 0),
        (4.5, 3.5, 1.0, 7, -8, 1),
        (4.5, 3.5, 1.0, 8, 9, -9),
        (-3.0, 20.0, 0.25, 3, -3, 2),
        (3.0, 2.0, 2.0, 16, 32, 0),
        (0.25, 6.75, 2.9, 31, 0, 15),
        (7.5, 1.5, 0.1, -32, 33, 2),
    )
]
LINEAR = {"filter": 1}
REPEATING = {"filter": 1, "flags": 2, "mode": (0, 2, 0)}


def list_reads():
    for sampling in ({}, LINEAR, {"mode": (3, 3, 3), "filter": 1}):
        more = {"sampling": sampling}
        yield make_case(f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], {{%r4,%r5}};", POINTS, **more)
        yield make_case(
            f"tex.level.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f3, {{%r4,%r5}};", POINTS, **more
        )
        yield make_case(
            f"tex.grad.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], "
            "{%f0,%f1}, {%f2,%f3}, {%r4,%r5};",
            POINTS,
            **more,
        )
        yield make_case(
            f"tex.3d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1,%f2,%f3}}], {{%r4,%r5,%r6,%r7}};",
            POINTS,
            extent=(9, 7, 5),
            **more,
        )
        yield make_case(
            f"tex.1d.v4.f32.f32 {F}, [%rd1, {{%f0}}], {{%r4}};", POINTS, extent=(9, 0, 0), **more
        )
        yield make_case(
            f"tex.1d.v4.f32.f32 {F}, [%rd1, {{%f0}}], %r4;", POINTS, extent=(9, 0, 0), **more
        )
        layers = [(dz, x, y, 0, dx, dy) for x, y, z, _, dx, dy, dz in POINTS]
        yield make_case(
            f"tex.a2d.v4.f32.f32 {F}, [%rd1, {{%r0,%f1,%f2,%f2}}], {{%r4,%r5}};",
            layers,
            extent=(9, 7, 3),
            flags=("layered",),
            **more,
        )
        yield make_case(
            f"tex.a1d.v4.f32.f32 {F}, [%rd1, {{%r0,%f1}}], {{%r4}};",
            layers,
            extent=(9, 0, 3),
            flags=("layered",),
            **more,
        )
    yield make_case(
        f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], {{%r4,%r5}};",
        [(x / 9, y / 7, *rest) for x, y, *rest in POINTS],
        sampling=REPEATING,
    )
    yield make_case(f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], {{3,-2}};", POINTS)
    whole = [(int(x), int(y), int(z), 0, dx, dy, dz) for x, y, z, _, dx, dy, dz in POINTS]
    yield make_case(f"tex.2d.v4.f32.s32 {F}, [%rd1, {{%r0,%r1}}], {{%r4,%r5}};", whole)
    yield make_case(f"tex.level.2d.v4.f32.s32 {F}, [%rd1, {{%r0,%r1}}], %r2, {{%r4,%r5}};", whole)
    yield make_case(
        f"tex.2d.v4.f32.s32 {F}, [%rd1, {{%r0,%r1}}];", whole, sampling={"mode": (3, 3, 3)}
    )
    yield make_case(
        f"tex.level.2d.v4.f32.s32 {F}, [%rd1, {{%r0,%r1}}], 0;", whole, sampling={"mode": (3, 3, 3)}
    )
    yield make_case(
        f"tex.1d.v4.s32.s32 {D}, [%rd1, {{%r0}}], {{%r4}};",
        whole,
        extent=(64, 0, 0),
        format="i4",
        channels=1,
        memory="linear",
    )
    yield make_case(f"tex.2d.v4.f32.f32 {F}|%p1, [%rd1, {{%f0,%f1}}];", POINTS)
    yield make_case(f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1,%f2,%f3}}];", POINTS)
    yield make_case(f"tex.1d.v4.f32.f32 {F}, [%rd1, %f0];", POINTS, extent=(9, 0, 0))
    yield make_case(f"tex.1d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}];", POINTS, extent=(9, 0, 0))
    for words in (
        {"format": "f4"},
        {"format": "f2", "sampling": LINEAR},
        {"format": "u1", "sampling": LINEAR},
        {"format": "i2", "channels": 2},
    ):
        yield make_case("tex.2d.v2.f16x2.f32 {%r10,%r11}, [%rd1, {%f0,%f1}];", POINTS, **words)
    yield make_case("tex.2d.v2.f16x2.s32 {%r10,%r11}, [%rd1, {%r0,%r1}];", whole)
    yield make_case("tex.level.2d.v2.f16x2.f32 {%r10,%r11}, [%rd1, {%f0,%f1}], %f3;", POINTS)
    yield make_case(
        "tex.3d.v2.f16x2.f32 {%r10,%r11}, [%rd1, {%f0,%f1,%f2,%f3}];", POINTS, extent=(9, 7, 5)
    )
    yield make_case(f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], {{%r4,%r5}}, %f3;", POINTS)
    yield make_case(f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f3;", POINTS, channels=1)
    yield make_case(
        f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f3;", POINTS, channels=1, sampling=LINEAR
    )
    yield make_case(f"tld4.r.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f3;", POINTS, channels=1)
    yield make_case(
        f"tex.2dms.v4.f32.s32 {F}, [%rd1, {{%r7,%r0,%r1,%r1}}];", whole, note="ms of plain"
    )


def list_gathers():
    directions = [
        (x, y, z)
        for x, y, z in (
            (1.0, 0.2, 0.3),
            (-1.0, 0.2, 0.3),
            (0.1, 2.0, -0.7),
            (0.4, -3.0, 0.6),
            (0.1, 0.2, 0.3),
            (0.3, -0.2, -0.5),
            (1.0, 1.0, 1.0),
            (1.0, 0.99, 0.1),
            (-0.99, 1.0, 0.97),
            (0.0, 0.0, 0.0),
            (0.9, 0.1, -0.91),
            (1.0, 0.0, 0.0),
        )
    ]
    for c, sampling in itertools.product("ra", ({}, LINEAR)):
        more = {"sampling": sampling, "flags": ("gather",)}
        yield make_case(
            f"tld4.{c}.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], {{%r4,%r5}};", POINTS, **more
        )
        yield make_case(f"tld4.{c}.2d.v4.f32.f32 {F}|%p1, [%rd1, {{%f0,%f1}}];", POINTS, **more)
        yield make_case(
            f"tld4.{c}.cube.v4.f32.f32 {F}, [%rd1, {{%f0,%f1,%f2,%f2}}];",
            directions,
            extent=(8, 8, 6),
            flags=("cube",),
            sampling=sampling,
        )
        layers = [(i % 3, *direction) for i, direction in enumerate(directions)]
        yield make_case(
            f"tld4.{c}.acube.v4.f32.f32 {F}, [%rd1, {{%r0,%f1,%f2,%f3}}];",
            layers,
            extent=(8, 8, 12),
            flags=("cube", "layered"),
            sampling=sampling,
        )
        layers = [(dz, x, y, 0, dx, dy) for x, y, z, _, dx, dy, dz in POINTS]
        yield make_case(
            f"tld4.{c}.a2d.v4.f32.f32 {F}, [%rd1, {{%r0,%f1,%f2,%f2}}], {{%r4,%r5}};",
            layers,
            extent=(9, 7, 3),
            flags=("layered",),
            sampling=sampling,
        )


ROWS = [
    (4 * x, y, z, 0, 0x80000001 + 77 * i, i - 3)
    for i, (x, y, z) in enumerate(
        [(0, 0, 0), (1, 2, 1), (3, 1, 2), (3, 1, 2), (8, 6, 2), (2, 3, 1), (0, 1, 0), (5, 5, 0)]
    )
]
OUTSIDE = [
    (-4, 2, 0, 0, 5, 0),
    (36, 2, 0, 0, 9, 1),
    (4, -1, 0, 0, 3, 0),
    (8, 7, 1, 0, 2, 2),
    (8, 2, 5, 0, 7, 7),
    (12, 3, 1, 0, -1, -1),
    (400, 300, 200, 0, 6, 6),
    (-(2**31), 0, 0, 0, 1, 1),
]


def list_reductions():
    surface = {"flags": ("surface",), "object": "surface", "channels": 1}
    types = {"u32": "add min max", "s32": "add min max", "b32": "and or"}
    for type_, operations in types.items():
        for operation in operations.split():
            yield make_case(
                f"sured.b.{operation}.2d.{type_}.clamp [%rd1, {{%r0,%r1}}], %r4;",
                ROWS,
                format="u4",
                **surface,
            )
    for type_, operation in (
        ("u64", "add"),
        ("u64", "min"),
        ("s64", "max"),
        ("s64", "min"),
        ("u64", "max"),
    ):
        rows = [(2 * row[0], *row[1:]) for row in ROWS]
        yield make_case(
            f"sured.b.{operation}.2d.{type_}.zero [%rd1, {{%r0,%r1}}], %rd10;",
            rows,
            format="u4",
            **{**surface, "channels": 2},
        )
    yield make_case(
        "sured.b.add.1d.u32.zero [%rd1, {%r0}], %r4;",
        ROWS,
        extent=(9, 0, 0),
        format="u4",
        **surface,
    )
    yield make_case(
        "sured.b.add.3d.u32.zero [%rd1, {%r0,%r1,%r2,%r2}], %r4;",
        ROWS,
        extent=(9, 7, 3),
        format="u4",
        **surface,
    )
    for mode in ("clamp", "zero"):
        yield make_case(
            f"sured.b.add.2d.u32.{mode} [%rd1, {{%r0,%r1}}], %r4;",
            OUTSIDE,
            format="u4",
            note="outside",
            **surface,
        )
        yield make_case(
            f"sured.b.add.3d.u32.{mode} [%rd1, {{%r0,%r1,%r2,%r2}}], %r4;",
            OUTSIDE,
            extent=(9, 7, 3),
            note="outside",
            format="u4",
            **surface,
        )
        yield make_case(
            f"sured.p.add.2d.b32.{mode} [%rd1, {{%r0,%r1}}], %r4;",
            OUTSIDE,
            format="u4",
            note="outside",
            **surface,
        )
    yield make_case(
        "sured.b.add.2d.u32.zero [%rd1, {%r0,%r1}], %r4;",
        ROWS,
        format="u1",
        note="bytes",
        flags=("surface",),
        object="surface",
        channels=4,
    )
    rows = [(row[0] // 4, *row[1:]) for row in ROWS]
    for format, operation in itertools.product(("u4", "i4"), ("add", "min", "max", "and", "or")):
        yield make_case(
            f"sured.p.{operation}.2d.b32.clamp [%rd1, {{%r0,%r1}}], %r4;",
            rows,
            format=format,
            **surface,
        )
    yield make_case(
        "sured.p.add.2d.b32.clamp [%rd1, {%r0,%r1}], %r4;",
        rows,
        format="f4",
        note="floats",
        **surface,
    )


def list_formatted():
    numbers = [
        0.0,
        1.0,
        -1.5,
        300.7,
        -70000.25,
        1e30,
        -1e-40,
        float("nan"),
        float("inf"),
        127.5,
        -128.5,
        255.4999,
    ]
    whole = [
        0,
        1,
        -1,
        127,
        128,
        -129,
        255,
        256,
        32767,
        32768,
        65535,
        65536,
        -32769,
        2**31 - 1,
        -(2**31),
    ]
    for format, channels in itertools.product(
        ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4"), (1, 2, 4)
    ):
        values = numbers if format[0] == "f" else whole
        rows = [
            (i % 5, i // 5, 0, 0, *(values[(i + k) % len(values)] for k in range(4)))
            for i in range(len(values))
        ]
        more = {
            "extent": (5, 3, 0),
            "format": format,
            "channels": channels,
            "flags": ("surface",),
            "object": "surface",
        }
        yield make_case(
            "sust.p.2d.v4.b32.clamp [%rd1, {%r0,%r1}], {%r4,%r5,%r6,%r7};", rows, **more
        )
        if channels != 4:
            wide = {1: "%r4", 2: "{%r4,%r5}"}[channels]
            width = {1: "", 2: ".v2"}[channels]
            yield make_case(f"sust.p.2d{width}.b32.zero [%rd1, {{%r0,%r1}}], {wide};", rows, **more)
        else:
            yield make_case("sust.p.2d.v2.b32.zero [%rd1, {%r0,%r1}], {%r4,%r5};", rows, **more)
            yield make_case("sust.p.2d.b32.zero [%rd1, {%r0,%r1}], %r4;", rows, **more)
    outside = [
        (x, y, z, 0, 7 + i)
        for i, (x, y, z) in enumerate(
            [(-1, 0, 0), (5, 1, 1), (2, -3, 0), (2, 9, 2), (3, 1, 7), (100, 100, 100), (1, 1, 1)]
        )
    ]
    for mode in ("clamp", "zero"):
        more = {
            "format": "u4",
            "channels": 1,
            "flags": ("surface",),
            "object": "surface",
            "note": "outside",
        }
        yield make_case(
            f"sust.p.1d.b32.{mode} [%rd1, {{%r0}}], %r4;", outside, extent=(5, 0, 0), **more
        )
        yield make_case(
            f"sust.p.2d.b32.{mode} [%rd1, {{%r0,%r1}}], %r4;", outside, extent=(5, 3, 0), **more
        )
        yield make_case(
            f"sust.p.3d.b32.{mode} [%rd1, {{%r0,%r1,%r2,%r2}}], %r4;",
            outside,
            extent=(5, 3, 4),
            **more,
        )
        more["flags"] = ("surface", "layered")
        yield make_case(
            f"sust.p.a2d.b32.{mode} [%rd1, {{%r2,%r0,%r1,%r1}}], %r4;",
            outside,
            extent=(5, 3, 4),
            **more,
        )


def list_references():
    unified = {"bind": "texture", "variables": ".global .texref T;"}
    for sampling in ({}, {"filter": 1, "flags": 2, "mode": (0, 2)}, {"filter": 1, "mode": (3, 3)}):
        rows = [(x / 9, y / 7) if sampling.get("flags") else (x, y) for x, y, *_ in POINTS]
        yield make_case(
            f"tex.2d.v4.f32.f32 {F}, [T, {{%f0,%f1}}];", rows, sampling=sampling, **unified
        )
    yield make_case(
        f"mov.u64 %rd6, T; tex.2d.v4.f32.f32 {F}, [%rd6, {{%f0,%f1}}];",
        POINTS,
        note="by address",
        **unified,
    )
    yield make_case(
        f"tex.1d.v4.s32.s32 {D}, [T, {{%r0}}];",
        [(i,) for i in (-1, 0, 1, 5, 63, 64)],
        extent=(64, 0, 0),
        format="i4",
        channels=1,
        memory="linear",
        **unified,
    )
    yield make_case(
        f"tex.2d.v4.u32.f32 {D}, [T, {{%f0,%f1}}];",
        POINTS,
        format="u1",
        **{**unified, "sampling": {"flags": 1}},
    )
    yield make_case(
        f"tex.level.2d.v4.f32.f32 {F}, [T, {{%f0,%f1}}], %f4;",
        [(0.3, 0.6, 0.0, 0.0, n) for n in LEVELS],
        extent=(16, 12, 0),
        levels=5,
        channels=1,
        **{**unified, "sampling": {"flags": 2, "filter": 1}},
    )
    surface = {
        "bind": "surface",
        "variables": ".global .surfref S;",
        "flags": ("surface",),
        "object": "surface",
    }
    yield make_case(
        "suld.b.2d.v4.b32.clamp {%r10,%r11,%r12,%r13}, [S, {%r0,%r1}];",
        [(16 * i, i % 7) for i in range(8)],
        **surface,
    )
    yield make_case("sust.b.2d.b32.clamp [S, {%r0,%r1}], %r4;", ROWS, format="u4", **surface)
    yield make_case("sured.b.add.2d.u32.clamp [S, {%r0,%r1}], %r4;", ROWS, format="u4", **surface)
    independent = {
        "bind": "texture",
        "target": "sm_75, texmode_independent",
        "variables": ".global .texref T;\n.global .samplerref P = "
        "{ addr_mode_0 = wrap, addr_mode_1 = mirror, filter_mode = linear };",
    }
    yield make_case(
        f"tex.2d.v4.f32.f32 {F}, [T, P, {{%f0,%f1}}];",
        [(x / 9, y / 7) for x, y, *_ in POINTS],
        **independent,
    )


GROUPS = {
    "sizes": list_sizes,
    "surface_sizes": list_surface_sizes,
    "reads": list_reads,
    "gathers": list_gathers,
    "levels": list_levels,
    "gradients": list_gradients,
    "reductions": list_reductions,
    "formatted": list_formatted,
    "references": list_references,
}


def list_cases(group):
    """The cases of a group; of "all" of each group."""
    if group == "all":
        return [case for make in GROUPS.values() for case in make()]
    return list(GROUPS[group]())
