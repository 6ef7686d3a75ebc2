"""Rows for what packs and unpacks words: mov with lists, vectors of registers, cvt.pack."""

from sim.exec.opcode_table import Group, integers, random_integers


def mask(width):
    return (1 << width) - 1


def sign(value, width):
    """A word read as signed."""
    value &= mask(width)
    return value - (1 << width) if value >> (width - 1) else value


def clamp(value, width):
    return min(max(value, -(1 << (width - 1))), (1 << (width - 1)) - 1)


def convert_packed_group(rng):
    """cvt.pack: two saturated numbers below what a third holds."""
    values = integers(32) + random_integers(rng, 32, 60)
    columns = [[values[k] for k in rng.permutation(len(values))] for _ in range(3)]
    group = Group("convert_packed", ("b32",) * 3, columns)
    for name in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
        width = int(name[1:])

        def run(a, b, c, is_signed=name[0] == "s", width=width):
            def narrow(value):
                value = sign(value, 32)
                value = clamp(value, width) if is_signed else min(max(value, 0), mask(width))
                return value & mask(width)

            above = 0 if width == 16 else c
            return (above << 2 * width | narrow(a) << width | narrow(b)) & mask(32)

        third = ("", "") if width == 16 else (".b32", ", {c}")
        group.add(f"cvt.pack.sat.{name}.s32{third[0]} {{d}}, {{a}}, {{b}}{third[1]};", "b32", run)
    return group


def pack_groups(rng):
    """mov to and from lists."""
    halves_in = Group("pack16", ("b16",) * 4, [random_integers(rng, 16, 100) for _ in range(4)])
    halves_in.add("mov.b32 {d}, {{{a}, {b}}};", "b32", lambda a, b, c, e: b << 16 | a)
    halves_in.add(
        "mov.b64 {d}, {{{a}, {b}, {c}, {e}}};",
        "b64",
        lambda a, b, c, e: e << 48 | c << 32 | b << 16 | a,
    )
    halves_in.add(
        "{{ .reg .b8 %x0, %x1; mov.b16 {{%x0, %x1}}, {a}; mov.b16 {d}, {{%x1, %x0}}; }}",
        "b16",
        lambda a, b, c, e: a >> 8 | (a & 255) << 8,
    )
    words_in = Group("pack32", ("b32",) * 2, [random_integers(rng, 32, 100) for _ in range(2)])
    words_in.add("mov.b64 {d}, {{{a}, {b}}};", "b64", lambda a, b: b << 32 | a)
    words_in.add(
        "{{ .reg .b16 %lo, %hi; mov.b32 {{%lo, %hi}}, {a}; mov.b32 {d}, {{%hi, %lo}}; }}",
        "b32",
        lambda a, b: a >> 16 | (a & mask(16)) << 16,
    )
    words_in.add(
        "{{ .reg .b8 %y0, %y1, %y2, %y3; mov.b32 {{%y0, %y1, %y2, %y3}}, {a}; "
        "mov.b32 {d}, {{%y3, %y2, %y1, %y0}}; }}",
        "b32",
        lambda a, b: int.from_bytes(a.to_bytes(4, "little"), "big"),
    )
    longs_in = Group("unpack", ("b64",), [random_integers(rng, 64, 100)])
    longs_in.add(
        "{{ .reg .b32 %lw, %hw; mov.b64 {{%lw, %hw}}, {a}; sub.u32 {d}, %hw, %lw; }}",
        "b32",
        lambda a: (a >> 32) - (a & mask(32)) & mask(32),
    )
    longs_in.add("{{ mov.b64 {{{d}, _}}, {a}; }}", "b32", lambda a: a & mask(32))
    longs_in.add("{{ mov.b64 {{_, {d}}}, {a}; }}", "b32", lambda a: a >> 32)
    longs_in.add(
        "{{ .reg .b16 %q0, %q1, %q2, %q3; mov.b64 {{%q0, %q1, %q2, %q3}}, {a}; "
        "mov.b64 {d}, {{%q3, %q1, %q0, %q2}}; }}",
        "b64",
        lambda a: (
            a >> 48 | (a & mask(16) << 16) | (a & mask(16)) << 32 | (a >> 32 & mask(16)) << 48
        ),
    )
    halves_in.add(
        "{{ .reg .v4 .b16 %v; mov.v4.b16 %v, {{{a}, {b}, {c}, {e}}}; "
        "mov.v4.b16 %v, {{%v.w, %v.x, %v.y, %v.z}}; mov.b64 {d}, %v; }}",
        "b64",
        lambda a, b, c, e: c << 48 | b << 32 | a << 16 | e,
    )
    words_in.add(
        "{{ .reg .v2 .u32 %u; mov.b64 %u, 0; mov.u32 %u.y, {a}; add.u32 %u.x, {b}+7, %u.y; "
        "mov.v2.u32 {{%u.y, %u.x}}, {{%u.x, %u.y}}; mov.b64 {d}, %u; }}",
        "b64",
        lambda a, b: (a + b + 7 & mask(32)) << 32 | a,
    )
    return [halves_in, words_in, longs_in, convert_packed_group(rng)]
