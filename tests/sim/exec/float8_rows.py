"""Rows for conversions of 8-bit floats: e4m3 and e5m2, two in a register of 16 bits."""

import math

from sim.exec.opcode_table import Group, integers, random_integers

FORMATS = {"e4m3x2": (4, 3), "e5m2x2": (5, 2)}
NAN8, NAN16 = 0x7F, 0x7FFF


def decode(bits, exponent_bits, fraction_bits, *, ieee):
    """The number that some bits are; ieee: the highest exponent is that of infinity and NaN."""
    bias, most = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) & 1 else 1.0
    field, fraction = bits >> fraction_bits & most, bits & ((1 << fraction_bits) - 1)
    if field == most and ieee:
        return math.nan if fraction else sign * math.inf
    if field == most and fraction == (1 << fraction_bits) - 1 and not ieee:
        return math.nan
    exponent = max(field, 1) - bias - fraction_bits
    return sign * math.ldexp(fraction + (1 << fraction_bits if field else 0), exponent)


def value8(byte, name):
    exponent_bits, fraction_bits = FORMATS[name]
    return decode(byte, exponent_bits, fraction_bits, ieee=name == "e5m2x2")


def nearest8(x, name, relu=False):
    """The nearest number that is finite, ties to the even one."""
    if math.isnan(x):
        return NAN8
    sign = 0x80 if math.copysign(1, x) < 0 else 0
    if relu and sign:
        return 0
    finite = [b for b in range(0x80) if math.isfinite(value8(b, name))]
    largest = finite[-1]
    if abs(x) >= value8(largest, name):
        return largest | sign
    return min(finite, key=lambda b: (abs(value8(b, name) - abs(x)), b & 1)) | sign


def half_of(byte, name, relu=False):
    x = value8(byte, name)
    if math.isnan(x):
        return NAN16
    bits = {0.0: 0, math.inf: 0x7C00}.get(abs(x))
    if bits is None:
        fraction, exponent = math.frexp(abs(x))  # of a number that f16 holds
        place = max(exponent - 1, -14)
        whole = int(math.ldexp(fraction, exponent - place + 10))
        bits = (place + 14 << 10) + whole
    negative = math.copysign(1, x) < 0
    return 0 if relu and negative else bits | (0x8000 if negative else 0)


def from_singles(rng):
    """Every value that is a number of the format or lies half way between two, and others."""
    special = integers(32) + random_integers(rng, 32, 200)
    near = [0x3B000000 + 0x40000 * int(i) for i in rng.integers(0, 1200, 300)]
    values = (
        special + near + [v | 0x80000000 for v in near[:100]] + [0x7FC00000, 0xFFC00000, 0x7F800001]
    )
    columns = [[values[k] for k in rng.permutation(len(values))] for _ in range(2)]
    group = Group("float8_of_f32", ("b32", "b32"), columns, version="8.5")
    for name in FORMATS:
        for relu in ("", ".relu"):

            def run(a, b, name=name, relu=relu):
                x, y = (decode(v, 8, 23, ieee=True) for v in (a, b))
                return nearest8(x, name, bool(relu)) << 8 | nearest8(y, name, bool(relu))

            group.add(f"cvt.rn.satfinite{relu}.{name}.f32 {{d}}, {{a}}, {{b}};", "b16", run)
    return group


def from_halves(rng):
    columns = [[int(x) for x in rng.integers(0, 2**32, 600)] + [0x7E00FE00, 0x7C00FC00, 0x80000001]]
    group = Group("float8_of_f16x2", ("b32",), columns)
    for name in FORMATS:
        for relu in ("", ".relu"):

            def run(a, name=name, relu=relu):
                x, y = (decode(v, 5, 10, ieee=True) for v in (a >> 16, a & 0xFFFF))
                return nearest8(x, name, bool(relu)) << 8 | nearest8(y, name, bool(relu))

            group.add(f"cvt.rn.satfinite{relu}.{name}.f16x2 {{d}}, {{a}};", "b16", run)
    return group


def to_halves(rng):
    """All 256 values, each beside another."""
    group = Group(
        "f16x2_of_float8", ("b16",), [[x << 8 | int(y) for x, y in enumerate(rng.permutation(256))]]
    )
    for name in FORMATS:
        for relu in ("", ".relu"):

            def run(a, name=name, relu=relu):
                return half_of(a >> 8, name, bool(relu)) << 16 | half_of(a & 255, name, bool(relu))

            group.add(f"cvt.rn{relu}.f16x2.{name} {{d}}, {{a}};", "b32", run)
    return group


def float8_groups(rng):
    return [from_singles(rng), from_halves(rng), to_halves(rng)]
