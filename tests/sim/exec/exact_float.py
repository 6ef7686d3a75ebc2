"""Floating-point arithmetic in Python integers: what the opcode tests expect, bit for bit.

A finite number is (m, e): m * 2**e. Every operation is computed exactly (or with a sticky bit below
everything that matters) and rounded once. Nothing here calls NumPy's or the processor's floats.
"""

import dataclasses
import math

NEAREST, ZERO, DOWN, UP, AWAY = "rn", "rz", "rm", "rp", "rna"
INF = "inf"
NAN = "nan"


@dataclasses.dataclass(frozen=True)
class Format:
    """A binary format: bits behind the point, bits of the exponent, its NaN, place in a word."""

    digits: int
    exponent_bits: int
    nan: int
    shift: int = 0

    @property
    def bias(self):
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def width(self):
        return 1 + self.exponent_bits + self.digits + self.shift

    @property
    def sign(self):
        return 1 << (self.width - 1)

    @property
    def infinity(self):
        return ((1 << self.exponent_bits) - 1) << (self.digits + self.shift)

    @property
    def greatest(self):
        return self.infinity - (1 << self.shift)


F16 = Format(10, 5, 0x7FFF)
BF16 = Format(7, 8, 0x7FFF)
TF32 = Format(10, 8, 0x7FFFFFFF, 13)
F32 = Format(23, 8, 0x7FFFFFFF)
F64 = Format(52, 11, 0xFFF8000000000000)


def unpack(bits, form):
    """The value of some bits: (negative, m, e), or (negative, INF, 0), or (negative, NAN, 0)."""
    negative = bool(bits & form.sign)
    magnitude = (bits & (form.sign - 1)) >> form.shift
    exponent = magnitude >> form.digits
    fraction = magnitude & ((1 << form.digits) - 1)
    if exponent == (1 << form.exponent_bits) - 1:
        return negative, NAN if fraction else INF, 0
    if exponent == 0:
        return negative, fraction, 1 - form.bias - form.digits
    return negative, fraction | 1 << form.digits, exponent - form.bias - form.digits


def is_nan(bits, form):
    return bits & (form.sign - 1) > form.infinity


def is_subnormal(bits, form):
    return 0 < bits & (form.sign - 1) < 1 << (form.digits + form.shift)


def flush(bits, form):
    """Subnormal numbers to a zero of their sign."""
    return bits & form.sign if is_subnormal(bits, form) else bits


def pack(negative, m, e, form, mode=NEAREST, sticky=False, satfinite=False):
    """Rounds m * 2**e (m >= 0; a little more where sticky) to a format, once."""
    sign = form.sign if negative else 0
    m, e = m * 4 + sticky, e - 2
    if m == 0:
        return sign
    lowest = 1 - form.bias - form.digits
    target = max(m.bit_length() - 1 + e - form.digits, lowest)  # weight of the result's last bit
    cut = target - e
    if cut <= 0:
        kept, rest, half = m << -cut, 0, 1
    else:
        kept, rest, half = m >> cut, m & ((1 << cut) - 1), 1 << (cut - 1)
    outwards = {DOWN: negative, UP: not negative}.get(mode, False)
    if mode == NEAREST:
        up = rest > half or (rest == half and kept & 1)
    elif mode == AWAY:
        up = rest >= half
    else:
        up = outwards and rest
    kept += bool(up)
    if kept.bit_length() > form.digits + 1:
        kept, target = kept >> 1, target + 1
    exponent = target + form.bias + form.digits
    if exponent >= (1 << form.exponent_bits) - 1:
        to_infinity = (mode in (NEAREST, AWAY) or outwards) and not satfinite
        return sign | (form.infinity if to_infinity else form.greatest)
    if kept < 1 << form.digits:
        exponent = 0  # subnormal, or zero
    fraction = kept & ((1 << form.digits) - 1)
    return sign | (exponent << form.digits | fraction) << form.shift


def signed(value):
    negative, m, _ = value
    return -m if negative else m


def zero_sign(negative_a, negative_b, mode):
    """The sign of an exact zero that is the sum of two numbers."""
    return negative_a if negative_a == negative_b else mode == DOWN


def add_values(x, y, form, mode):
    if NAN in (x[1], y[1]) or (x[1] == INF and y[1] == INF and x[0] != y[0]):
        return form.nan
    for value in (x, y):
        if value[1] == INF:
            return form.infinity | (form.sign if value[0] else 0)
    e = min(x[2], y[2])
    total = (signed(x) << (x[2] - e)) + (signed(y) << (y[2] - e))
    negative = zero_sign(x[0], y[0], mode) if total == 0 else total < 0
    return pack(negative, abs(total), e, form, mode)


def add(a, b, form, mode=NEAREST):
    return add_values(unpack(a, form), unpack(b, form), form, mode)


def sub(a, b, form, mode=NEAREST):
    if is_nan(b, form):
        return form.nan
    return add(a, b ^ form.sign, form, mode)


def multiply_values(x, y):
    negative = x[0] != y[0]
    if NAN in (x[1], y[1]) or (INF in (x[1], y[1]) and 0 in (x[1], y[1])):
        return negative, NAN, 0
    if INF in (x[1], y[1]):
        return negative, INF, 0
    return negative, x[1] * y[1], x[2] + y[2]


def mul(a, b, form, mode=NEAREST):
    negative, m, e = multiply_values(unpack(a, form), unpack(b, form))
    if m == NAN:
        return form.nan
    if m == INF:
        return form.infinity | (form.sign if negative else 0)
    return pack(negative, m, e, form, mode)


def fma(a, b, c, form, mode=NEAREST):
    return add_values(
        multiply_values(unpack(a, form), unpack(b, form)), unpack(c, form), form, mode
    )


def div(a, b, form, mode=NEAREST):
    x, y = unpack(a, form), unpack(b, form)
    sign = form.sign if x[0] != y[0] else 0
    if NAN in (x[1], y[1]) or (x[1] == INF and y[1] == INF) or (x[1] == 0 and y[1] == 0):
        return form.nan
    if x[1] == INF or y[1] == 0:
        return sign | form.infinity
    if y[1] == INF or x[1] == 0:
        return sign
    shift = 2 * form.digits + 8 + y[1].bit_length()
    quotient, rest = divmod(x[1] << shift, y[1])
    return pack(bool(sign), quotient, x[2] - y[2] - shift, form, mode, sticky=rest != 0)


def sqrt(a, form, mode=NEAREST):
    negative, m, e = unpack(a, form)
    if m == NAN or (negative and m != 0):
        return form.nan
    if m in (INF, 0):
        return a
    shift = 2 * form.digits + 10
    if (e - shift) % 2:
        shift += 1
    root = math.isqrt(m << shift)
    return pack(False, root, (e - shift) // 2, form, mode, sticky=root * root != m << shift)


def convert(bits, source, target, mode=NEAREST, satfinite=False):
    negative, m, e = unpack(bits, source)
    if m == NAN:
        return target.nan
    if m == INF:
        return (target.sign if negative else 0) | (
            target.greatest if satfinite else target.infinity
        )
    return pack(negative, m, e, target, mode, satfinite=satfinite)


def from_integer(value, target, mode=NEAREST):
    return pack(value < 0, abs(value), 0, target, mode)


def round_to_integer(negative, m, e, mode):
    """The integer next to m * 2**e that the mode says."""
    if e >= 0:
        return (-m if negative else m) << e
    whole, rest, half = m >> -e, m & ((1 << -e) - 1), 1 << (-e - 1)
    if mode == NEAREST:
        whole += rest > half or (rest == half and whole & 1)
    elif (mode == DOWN and negative) or (mode == UP and not negative):
        whole += rest != 0
    return -whole if negative else whole


def to_integer(bits, source, width, is_signed, mode):
    """cvt from a float: saturates; a NaN is what the PTX ISA says for the pair of types."""
    negative, m, e = unpack(bits, source)
    low, high = (-1 << (width - 1), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
    if m == NAN:
        return 1 << (width - 1) if source is F64 or width == 64 else 0
    if m == INF:
        value = low if negative else high
    else:
        value = min(max(round_to_integer(negative, m, e, mode), low), high)
    return value & ((1 << width) - 1)


def integral(bits, form, mode):
    """A float rounded to an integer of the same format."""
    negative, m, e = unpack(bits, form)
    if m in (NAN, INF):
        return form.nan if m == NAN else bits
    value = round_to_integer(negative, m, e, mode)
    return pack(negative, abs(value), 0, form)


def saturate(bits, form):
    """To [+0, 1]; a NaN is 0."""
    one = form.bias << (form.digits + form.shift)
    if bits & form.sign or is_nan(bits, form):
        return 0
    return min(bits, one)


def relu(bits, form):
    if is_nan(bits, form):
        return form.nan
    return 0 if bits & form.sign else bits


def order(bits, form):
    """A key that sorts numbers, with -0 below +0."""
    return -(bits & (form.sign - 1)) - 1 if bits & form.sign else bits


def extreme(values, form, pick, nan=False):
    """min or max as PTX has it: a NaN loses, or wins with .NaN."""
    numbers = [v for v in values if not is_nan(v, form)]
    if not numbers or (nan and len(numbers) < len(values)):
        return form.nan
    return pick(numbers, key=lambda v: order(v, form))


def compare(a, b, form):
    """'lt', 'eq', 'gt' or 'un'."""
    if is_nan(a, form) or is_nan(b, form):
        return "un"
    zero = form.sign - 1
    x = 0 if a & zero == 0 else order(a, form)
    y = 0 if b & zero == 0 else order(b, form)
    # order() puts negative numbers one lower; that does not change which is the larger
    return "lt" if x < y else "gt" if x > y else "eq"


def to_float(bits, form):
    """As a Python float (exact for every format here)."""
    negative, m, e = unpack(bits, form)
    if m == NAN:
        return math.nan
    value = math.inf if m == INF else math.ldexp(m, e)
    return -value if negative else value
