"""Rows for conversions of floats of 6 and 4 bits, and of scales (ue8m0), of sm_100a.

What is expected follows from the numbers that each format has: no bit pattern of a double is used.
"""

import math
import struct

from sim.exec.float8_rows import decode
from sim.exec.opcode_table import Group, integers, random_integers

FORMATS = {"e2m3x2": (2, 3), "e3m2x2": (3, 2), "e2m1x2": (2, 1)}
TARGET = {"target": "sm_100a", "version": "8.8"}
HALF = (5, 10)
BRAIN = (8, 7)
SINGLE = (8, 23)


def value_of(bits, name):
    """The number that the bits of a format are; it has neither infinity nor NaN."""
    exponent_bits, fraction_bits = FORMATS[name]
    bias = (1 << exponent_bits - 1) - 1
    sign = -1.0 if bits >> exponent_bits + fraction_bits & 1 else 1.0
    field = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    whole = fraction + ((1 << fraction_bits) if field else 0)
    return sign * math.ldexp(whole, max(field, 1) - bias - fraction_bits)


def nearest(x, name, relu=False):
    """The bits of the nearest number, ties to the even one."""
    top = 1 << sum(FORMATS[name])
    sign = top if math.copysign(1, x) < 0 else 0
    if math.isnan(x):
        return top - 1
    if relu and sign:
        return 0
    if abs(x) > value_of(top - 1, name):
        return top - 1 | sign
    return min(range(top), key=lambda b: (abs(value_of(b, name) - abs(x)), b & 1)) | sign


def step_of(name):
    """How far the high number lies above the low one."""
    return 4 if name == "e2m1x2" else 8


def pack(high, low, name, relu):
    return nearest(high, name, relu) << step_of(name) | nearest(low, name, relu)


def half_bits(bits, name, relu):
    x = value_of(bits, name)
    if relu and math.copysign(1, x) < 0:
        return 0
    return struct.unpack("<H", struct.pack("<e", x))[0]


def halfway():
    """Every number of every format, what lies half way between two, and a little beside it."""
    numbers = sorted(
        {value_of(b, name) for name, bits in FORMATS.items() for b in range(1 << sum(bits))}
    )
    between = [(x + y) / 2 for x, y in zip(numbers, numbers[1:], strict=False)]
    found = [*numbers, *between, numbers[-1] * 1.1, 1e-30, 1e30]
    words = [struct.unpack("<I", struct.pack("<f", x))[0] for x in found]
    words += [w + d for w in words[1:] for d in (-1, 1)]
    special = [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x80000000, 1]
    return [*words, *(w | 0x80000000 for w in words), *special]


def from_singles(rng):
    values = halfway() + random_integers(rng, 32, 100)
    columns = [[values[k] for k in rng.permutation(len(values))] for _ in range(2)]
    group = Group("small_of_f32", ("b32", "b32"), columns, **TARGET)
    for name in FORMATS:
        for relu in ("", ".relu"):

            def run(a, b, name=name, relu=relu):
                x, y = (decode(v, *SINGLE, ieee=True) for v in (a, b))
                return pack(x, y, name, bool(relu))

            if name == "e2m1x2":
                text = f"{{{{ .reg .b8 t; cvt.rn.satfinite{relu}.{name}.f32 t, {{a}}, {{b}}; "
                group.add(f"{text} cvt.u16.u8 {{d}}, t; }}}}", "b16", run)
            else:
                group.add(f"cvt.rn.satfinite{relu}.{name}.f32 {{d}}, {{a}}, {{b}};", "b16", run)
    return group


def from_halves(rng):
    special = [0x7E00FE00, 0x7C00FC00, 0x80000001, 0x3C004200]
    columns = [[int(x) for x in rng.integers(0, 2**32, 300)] + special]
    group = Group("small_of_f16x2", ("b32",), columns, **TARGET)
    for relu in ("", ".relu"):

        def run(a, relu=relu):
            x, y = (decode(v, *HALF, ieee=True) for v in (a >> 16, a & 0xFFFF))
            return pack(x, y, "e2m1x2", bool(relu))

        text = f"{{{{ .reg .b8 t; cvt.rn.satfinite{relu}.e2m1x2.f16x2 t, {{a}};"
        group.add(f"{text} cvt.u16.u8 {{d}}, t; }}}}", "b16", run)
    return group


def to_halves(rng):
    """Every pair of 4-bit numbers, and all of 6 bits beside others."""
    columns = [[x << 8 | int(y) for x, y in enumerate(rng.permutation(64))] + [*range(256)]]
    group = Group("f16x2_of_small", ("b16",), columns, **TARGET)
    for name in FORMATS:
        for relu in ("", ".relu"):

            def run(a, name=name, relu=relu):
                most = (2 << sum(FORMATS[name])) - 1
                high, low = a >> step_of(name) & most, a & most
                return half_bits(high, name, relu) << 16 | half_bits(low, name, relu)

            mask = "0xff" if name == "e2m1x2" else "0x3f3f"
            kind = "b8" if name == "e2m1x2" else "b16"
            take = "cvt.u8.u16 t, h;" if name == "e2m1x2" else "mov.b16 t, h;"
            text = (
                f"{{{{ .reg .b16 h; .reg .{kind} t; and.b16 h, {{a}}, {mask}; {take} "
                f"cvt.rn{relu}.f16x2.{name} {{d}}, t; }}}}"
            )
            group.add(text, "b32", run)
    return group


def scale_of(x, up, finite):
    """The exponent of a power of two with a bias of 127; 255 is NaN."""
    x = abs(x)
    if math.isnan(x):
        return 255
    if math.isinf(x):
        return 254 if finite else 255
    if x == 0:
        return 0
    fraction, exponent = math.frexp(x)  # 0.5 to 1
    place = exponent - 1 + (1 if up and fraction > 0.5 else 0) + 127
    return max(0, min(place, 254 if finite else 255))


def scales(rng):
    values = integers(32) + random_integers(rng, 32, 300) + [0x00400000, 0x00400001, 0x003FFFFF]
    values += [0x7F000000, 0x7F000001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x00800000, 0x00800001]
    columns = [[values[k] for k in rng.permutation(len(values))] for _ in range(2)]
    group = Group("scales_of_f32", ("b32", "b32"), columns, **TARGET)
    brains = Group("scales_of_bf16x2", ("b32",), columns[:1], **TARGET)
    for mode in ("rz", "rp"):
        for finite in ("", ".satfinite"):

            def run(a, b, mode=mode, finite=finite):
                x, y = (decode(v, *SINGLE, ieee=True) for v in (a, b))
                up = mode == "rp"
                return scale_of(x, up, bool(finite)) << 8 | scale_of(y, up, bool(finite))

            def run_brain(a, run=run):
                return run(a & 0xFFFF0000, a << 16 & 0xFFFFFFFF)

            group.add(f"cvt.{mode}{finite}.ue8m0x2.f32 {{d}}, {{a}}, {{b}};", "b16", run)
            brains.add(f"cvt.{mode}{finite}.ue8m0x2.bf16x2 {{d}}, {{a}};", "b16", run_brain)
    return [group, brains]


def from_scales(rng):
    columns = [[x << 8 | int(y) for x, y in enumerate(rng.permutation(256))]]
    group = Group("bf16x2_of_scales", ("b16",), columns, **TARGET)

    def brain(scale):
        if scale == 255:
            return 0x7FFF
        return struct.unpack("<I", struct.pack("<f", math.ldexp(1, scale - 127)))[0] >> 16

    group.add(
        "cvt.rn.bf16x2.ue8m0x2 {d}, {a};", "b32", lambda a: brain(a >> 8) << 16 | brain(a & 255)
    )
    return group


def small_float_groups(rng):
    return [
        from_singles(rng),
        from_halves(rng),
        to_halves(rng),
        *scales(rng),
        from_scales(rng),
    ]
