"""Rows for conversions with random rounding (cvt.rs), of sm_100a.

What is expected follows from fractions: no bit pattern of a number is used. The PTX manual says
which random bits a number has; that those of f16 are 13, and that the upper halves of the bits of
e2m1 stand above the lower ones, is read from it.
"""

import math
from fractions import Fraction

from sim.exec.float8_rows import decode
from sim.exec.opcode_table import Group, integers, random_integers

# bits of the exponent, bits behind the point, bits of a random number; of the last number
FORMATS = {
    "f16x2": (5, 10, 13),
    "bf16x2": (8, 7, 16),
    "e4m3x4": (4, 3, 16),
    "e5m2x4": (5, 2, 16),
    "e2m3x4": (2, 3, 16),
    "e3m2x4": (3, 2, 16),
    "e2m1x4": (2, 1, 16),
}
TARGET = {"target": "sm_100a", "version": "8.8"}
SINGLE = (8, 23)


def largest_of(name):
    """The bits of the largest finite number."""
    exponent_bits, digits, _ = FORMATS[name]
    top = (1 << exponent_bits + digits) - 1
    if name == "e4m3x4":
        return top - 1  # the last one is a NaN
    return top - (1 << digits) if name in ("f16x2", "bf16x2", "e5m2x4") else top


def magnitude(x, name, random):
    """The bits of a positive number, rounded by an integer of random bits; None: too large."""
    exponent_bits, digits, random_bits = FORMATS[name]
    bias = (1 << exponent_bits - 1) - 1
    if math.isinf(x):
        return None
    place = max(math.frexp(x)[1] - 1, 1 - bias) if x else 1 - bias
    step = Fraction(2) ** (place - digits)
    count = math.floor(Fraction(x) / step + Fraction(random, 1 << random_bits))
    bits = (place + bias - 1 << digits) + count
    return bits if bits <= largest_of(name) else None


def convert(x, name, random, relu, finite):
    exponent_bits, digits, _ = FORMATS[name]
    sign = 1 << exponent_bits + digits
    if math.isnan(x):
        return sign - 1
    negative = math.copysign(1, x) < 0
    if relu and negative:
        return 0
    bits = magnitude(abs(x), name, random)
    if bits is None:
        bits = largest_of(name) + (0 if finite else 1)
    return bits | (sign if negative else 0)


def random_of(word, name, index):
    """The random bits of a number, counted from the highest; four numbers have two pairs."""
    high, low = word >> 16, word & 0xFFFF
    first = index == 0 if name in ("f16x2", "bf16x2") else index < 2
    if name == "e2m1x4":
        shift = 8 if first else 0
        return (high >> shift & 0xFF) << 8 | low >> shift & 0xFF
    return (high if first else low) & ((1 << FORMATS[name][2]) - 1)


def edges(rng):
    """Single floats around the ranges of all formats."""
    found = integers(32) + random_integers(rng, 32, 60)
    for top, count in ((0x477FE000, 40), (0x7F7F0000, 10), (0x43E00000, 40), (0x40C00000, 60)):
        found += [top + int(d) for d in rng.integers(-(1 << 16), 1 << 16, count)]
    found += [0x38800000 - int(d) for d in rng.integers(0, 1 << 27, 100)]  # subnormal f16, e5m2
    found += [0x3F800000 + int(d) for d in rng.integers(-(1 << 25), 1 << 25, 150)]
    return [*found, *(w ^ 0x80000000 for w in found), 0x7F800000, 0xFF800000, 0x7FC00000]


def random_groups(rng):
    values = [w & 0xFFFFFFFF for w in edges(rng)]
    columns = [[values[k] for k in rng.permutation(len(values))] for _ in range(3)]
    columns.append([int(w) for w in rng.integers(0, 1 << 32, len(values))])
    columns[3][:4] = [0, 0xFFFFFFFF, 0x1FFF1FFF, 0xE000E000]
    group = Group("randomly", ("b32",) * 4, columns, **TARGET)
    for name in FORMATS:
        numbers = int(name[-1])
        stride = {"e2m1x4": 4}.get(name, 32 // numbers)
        for relu in ("", ".relu"):
            for finite in ("", ".satfinite")[numbers == 4 :]:

                def run(a, b, c, word, name=name, relu=relu, finite=finite, stride=stride):
                    result = 0
                    for i, bits in enumerate((a, b) if stride == 16 else (a, b, c, a)):
                        x = decode(bits, *SINGLE, ieee=True)
                        made = convert(x, name, random_of(word, name, i), relu, finite)
                        result = result << stride | made
                    return result

                listed = "{a}, {b}" if numbers == 2 else "{{{a}, {b}, {c}, {a}}}"
                kind = "b16" if name == "e2m1x4" else "b32"
                text = f"cvt.rs{relu}{finite}.{name}.f32 {{d}}, {listed}, {{e}};"
                group.add(text, kind, run)
    return [group]
