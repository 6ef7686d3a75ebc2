"""The cases of texture_script.py that read textures of several levels."""

import itertools

from texture_case import F, make_case

LEVELS = [
    -2.0,
    -0.5,
    0.0,
    0.001,
    0.002,
    0.25,
    0.49,
    0.5,
    0.501,
    0.75,
    0.999,
    1.0,
    1.002,
    1.3,
    1.5,
    1.7,
    2.0,
    2.126,
    2.5,
    3.0,
    3.4,
    3.9961,
    4.0,
    4.5,
    100.0,
    float("nan"),
    float("inf"),
    1e-20,
]

LAYERS = {"extent": (16, 12, 3), "flags": ("layered",)}
FACES = {"extent": (16, 16, 6), "flags": ("cube",)}


def list_levels():
    point = (0.33, 0.61, 0.4, 0.0)
    rows = [(*point, level) for level in LEVELS]
    mips = {"extent": (16, 12, 0), "levels": 5, "channels": 1}
    for filter, level_filter in itertools.product((0, 1), (0, 1)):
        base = {"flags": 2, "filter": filter, "level_filter": level_filter}
        for extra in (
            {},
            {"bias": 0.75},
            {"bias": -1.3},
            {"least": 1.25, "most": 2.5},
            {"least": 2.0, "most": 1.0},
        ):
            for form, given in (
                (f"tex.level.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f4;", rows),
                (f"tex.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}];", rows[:1]),
                (f"tex.base.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}];", rows[:1]),
            ):
                yield make_case(form, given, **mips, sampling={**base, **extra})
        whole = [(3, 2, 1, 0, level) for level in (-1, 0, 1, 2, 3, 4, 5, 100)]
        yield make_case(
            f"tex.level.2d.v4.f32.s32 {F}, [%rd1, {{%r0,%r1}}], %r4;", whole, **mips, sampling=base
        )
        layer = [(*point[:3], 1, level) for level in LEVELS]
        for kind, place, given, made in (
            ("1d", "{%f0}", rows, {"extent": (37, 0, 0), "levels": 6}),
            ("3d", "{%f0,%f1,%f2,%f3}", rows, {"extent": (9, 7, 5), "levels": 4}),
            ("a2d", "{%r3,%f1,%f2,%f2}", layer, {**LAYERS, "levels": 4}),
            ("cube", "{%f0,%f1,%f2,%f3}", rows, {**FACES, "levels": 5}),
            ("2d", "{%f0,%f1}", rows, {**mips, "format": "u1", "channels": 2}),
            ("2d", "{%f0,%f1}", rows, {**mips, "format": "f2", "channels": 2}),
        ):
            form = f"tex.level.{kind}.v4.f32.f32 {F}, [%rd1, {place}], %f4;"
            yield make_case(form, given, **{"channels": 1, **made}, sampling=base)
    for mode in (0, 2, 3):
        yield make_case(
            f"tex.level.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f4;",
            [(1.23, -0.41, 0.0, 0.0, level) for level in LEVELS],
            **mips,
            sampling={"flags": 2, "filter": 1, "level_filter": 1, "mode": (mode, mode, mode)},
        )
    yield make_case(
        f"tex.level.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], %f4;",
        [(6.3, 4.2, 0.0, 0.0, level) for level in LEVELS],
        **mips,
        note="not normalized",
        sampling={"filter": 1, "level_filter": 0},
    )


def list_gradients():
    """The level by two gradients of one axis, of two, and of three."""
    mips = {"extent": (16, 12, 0), "levels": 5, "channels": 1}
    point = (0.33, 0.61)
    pairs = [
        (a / 16, b / 12, c / 16, d / 12)
        for a, b, c, d in (
            (1, 0, 0, 1),
            (2, 0, 0, 2),
            (4, 0, 0, 1),
            (1, 1, 1, -1),
            (3, 0, 0, 0),
            (0, 0, 0, 0),
            (1.5, 0.7, 0.2, 2.1),
            (100, 0, 0, 0),
            (2.5, 2.5, 0, 0),
            (3, 4, 0, 0),
            (1.41, 1.41, 0, 0),
            (0, 6, 0, 0),
            (5, 1, -5, 2),
            (7, 7, 7, 7),
            (0.5, 0, 0, 0.5),
            (1.01, 0, 0, 0),
            (1.1, 0, 0, 0),
            (1.25, 0, 0, 0),
            (2.2, 1.1, 0, 0),
            (8, 8, 0, 0),
            (-3, 2, 1, 1),
            (1e30, 0, 0, 0),
            (float("nan"), 0, 0, 0),
            (float("inf"), 0, 0, 0),
            (2, 3, 1.0, 4.5),
            (1, 1, 0, 0),
            (2, 1, 0, 0),
            (3, 1, 0, 0),
            (3, 2, 0, 0),
            (3, 3, 0, 0),
            (1, 3, 3, 1),
        )
    ]
    rows = [(*point, 0.0, 0.0, *map(float, pair)) for pair in pairs]
    for level_filter, anisotropy in itertools.product((0, 1), (0, 4)):
        base = {"flags": 2, "filter": 1, "level_filter": level_filter, "anisotropy": anisotropy}
        yield make_case(
            f"tex.grad.2d.v4.f32.f32 {F}, [%rd1, {{%f0,%f1}}], {{%f4,%f5}}, {{%f6,%f7}};",
            rows,
            **mips,
            sampling=base,
        )
    base = {"flags": 2, "filter": 1, "level_filter": 1}
    line = [
        (0.33, 0.0, 0.0, 0.0, a / 37, b / 37)
        for a in (0.5, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 9.0, 40.0)
        for b in (0.0, 2.7)
    ]
    solid = [
        (0.33, 0.61, 0.4, 0.0, a / 9, b / 7, a / 9, b / 5)
        for a in (0.5, 1.0, 2.0, 3.0)
        for b in (0.0, 1.0, 2.7)
    ]
    cube = [
        (0.33, 0.61, -0.4, 0.0, a / 16, b / 16, c / 16, 0.0)
        for a, b, c in (
            (1.0, 0.0, 0.0),
            (2.0, 0.0, 1.0),
            (4.0, 3.0, 0.5),
            (0.0, 8.0, 0.0),
            (0.1, 0.1, 0.1),
            (9.0, 9.0, 9.0),
        )
    ]
    layer = [(*row[:3], 1, *row[4:]) for row in rows]
    for kind, place, by, given, made in (
        ("1d", "{%f0}", "{%f4}, {%f5}", line, {"extent": (37, 0, 0), "levels": 6}),
        (
            *("3d", "{%f0,%f1,%f2,%f3}", "{%f4,%f5,%f6,%f6}, {%f6,%f5,%f7,%f7}"),
            *(solid, {"extent": (9, 7, 5), "levels": 4}),
        ),
        (
            *("a2d", "{%r3,%f0,%f1,%f1}", "{%f4,%f5}, {%f6,%f7}"),
            *(layer, {**LAYERS, "levels": 4}),
        ),
        (
            *("cube", "{%f0,%f1,%f2,%f3}", "{%f4,%f5,%f6,%f6}, {%f5,%f6,%f7,%f7}"),
            *(cube, {**FACES, "levels": 5}),
        ),
    ):
        form = f"tex.grad.{kind}.v4.f32.f32 {F}, [%rd1, {place}], {by};"
        yield make_case(form, given, channels=1, **made, sampling=base)
