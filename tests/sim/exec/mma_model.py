"""What a tensor core of compute capability 9.0 makes of numbers, and numbers to try.

In whole numbers, and written apart from the simulator's C: the two must have the same bits, and so
must an H200.
"""

import numpy as np
from support.fma import fma64

FORMATS = {"f16": (5, 10, 0), "bf16": (8, 7, 0), "tf32": (8, 10, 13), "f32": (8, 23, 0)}
INTEGERS = {"s8": (np.int8, np.uint8), "u8": (np.uint8, np.uint8), "s32": (np.int32, np.uint32)}
FRACTION = 25  # bits behind the point that a term keeps, below the largest exponent
INFINITY, INFINITY_HALF = 0x7F800000, 0x7C00
EMPTY = -1000  # the exponent of a zero


def encode(kind, values):
    """Bit patterns of numbers in a format, cut toward zero where it is narrower."""
    if kind in INTEGERS:
        return np.asarray(values).astype(INTEGERS[kind][0]).view(INTEGERS[kind][1])
    if kind == "f64":
        return np.ascontiguousarray(values, np.float64).view(np.uint64)
    if kind == "f16":
        return np.asarray(values).astype(np.float16).view(np.uint16)
    bits = np.asarray(values).astype(np.float32).view(np.uint32)
    if kind == "bf16":
        return (bits >> 16).astype(np.uint16)
    return bits & np.uint32(0xFFFFE000) if kind == "tf32" else bits


def decode(kind, bits):
    """The numbers, as float64 (integers of 8 and 32 bits fit)."""
    if kind in INTEGERS:
        return np.asarray(bits, INTEGERS[kind][1]).view(INTEGERS[kind][0]).astype(np.float64)
    if kind == "f64":
        return np.asarray(bits, np.uint64).view(np.float64)
    if kind == "f16":
        return np.asarray(bits, np.uint16).view(np.float16).astype(np.float64)
    bits = np.asarray(bits).astype(np.uint32)
    if kind == "bf16":
        bits = bits << 16
    if kind == "tf32":
        bits = bits & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(np.float64)


# The model ---------------------------------------------------------------------------------------


def split(kind, bits):
    """Signs, significands and exponents as integers; a subnormal is not normalised."""
    width, fraction, skipped = FORMATS[kind]
    bits = np.asarray(bits).astype(np.int64) >> skipped
    field = bits >> fraction & ((1 << width) - 1)
    significand = bits & ((1 << fraction) - 1) | (field != 0).astype(np.int64) << fraction
    exponent = np.maximum(field, 1) - ((1 << width) // 2 - 1)
    exponent[significand == 0] = EMPTY
    return 1 - 2 * (bits >> (width + fraction) & 1), significand, exponent


def cut(significand, fraction, apart):
    return significand << (FRACTION - fraction) >> np.minimum(apart, 62)


def narrow(total, top):
    """The float32 below total * 2 ** (top - FRACTION) in size, by its bits."""
    size, bits = abs(total), 0
    if size:
        length = size.bit_length()
        exponent = max(top - FRACTION + length - 1, -126)  # of the leading bit
        shift = exponent - 23 - (top - FRACTION)  # so many bits lie below the last that is kept
        size = size >> shift if shift > 0 else size << -shift
        field = exponent + 127 if size >> 23 else 0
        bits = INFINITY if field > 254 else field << 23 | size & 0x7FFFFF
    return bits | (0x80000000 if total < 0 and bits else 0)


def narrow_half(total, top):
    """The nearest float16 to total * 2 ** (top - FRACTION), by its bits; ties go to even ones."""
    size, bits = abs(total), 0
    if size:
        exponent = max(top - FRACTION + size.bit_length() - 1, -14)  # of the leading bit
        shift = exponent - 10 - (top - FRACTION)
        rest = size & ((1 << shift) - 1) if shift > 0 else 0
        size = size >> shift if shift > 0 else size << -shift
        half = 1 << shift - 1 if shift > 0 else 1
        size += rest > half or (rest == half and size & 1)
        bits = min((exponent + 14 << 10) + size, INFINITY_HALF)  # a carry is a step of the exponent
    return bits | (0x8000 if total < 0 and bits else 0)


def multiply_finite(form, a, b, c):
    """One product of matrices: c + a @ b with everything cut at the largest exponent."""
    sign_a, part_a, exponent_a = split(form.kind, a)
    sign_b, part_b, exponent_b = split(form.kind, b)
    sign_c, part_c, exponent_c = split(form.result, c)
    exponent = exponent_a[:, :, None] + exponent_b[None]
    top = np.maximum(exponent.max(1), exponent_c)
    fraction = 2 * FORMATS[form.kind][1]
    terms = cut(part_a[:, :, None] * part_b[None], fraction, top[:, None] - exponent)
    total = (terms * sign_a[:, :, None] * sign_b[None]).sum(1)
    total += cut(part_c, FORMATS[form.result][1], top - exponent_c) * sign_c
    write = narrow_half if form.half else narrow
    bits = [write(int(t), int(e)) for t, e in zip(total.flat, top.flat, strict=True)]
    return np.array(bits, np.uint16 if form.half else np.uint32).reshape(c.shape)


def multiply_single(form, a, b, c):
    d = multiply_finite(form, a, b, c)
    x, y, z = decode(form.kind, a), decode(form.kind, b), decode(form.result, c)
    with np.errstate(all="ignore"):
        terms = x[:, :, None] * y[None]  # exact; NaN where infinity meets zero
        up = (terms == np.inf).any(1) | (z == np.inf)
        down = (terms == -np.inf).any(1) | (z == -np.inf)
        nan = np.isnan(terms).any(1) | np.isnan(z) | (up & down)
    infinity, sign = (INFINITY_HALF, 0x8000) if form.half else (INFINITY, 0x80000000)
    d[up], d[down], d[nan] = infinity, infinity | sign, sign - 1
    return d


def multiply_double(a, b, c):
    """A chain of fused products, k ascending."""
    d = c.view(np.float64).copy()
    for i, j in np.ndindex(*d.shape):
        for k in range(a.shape[1]):
            x, y = a.view(np.float64)[i, k], b.view(np.float64)[k, j]
            exact = np.isfinite([x, y, d[i, j]]).all() and x != 0 and y != 0
            with np.errstate(all="ignore"):
                d[i, j] = fma64(x, y, d[i, j]) if exact else x * y + d[i, j]
    return d.view(np.uint64)


def multiply_integer(form, a, b, c):
    """Exact sums, as the nearest number of 32 bits or as the low 32 bits."""
    kinds = zip(form.kinds, (a, b, c), strict=True)
    x, y, z = (decode(kind, bits).astype(np.int64) for kind, bits in kinds)
    total = x @ y + z
    if form.saturates:
        total = total.clip(-(2**31), 2**31 - 1)
    return (total & 0xFFFFFFFF).astype(np.uint32)


def multiply(form, a, b, c):
    """Bits of d for batches of matrices of bits; a NaN of double precision may have others."""
    if form.integer:
        return multiply_integer(form, a, b, c)
    if form.double:
        made = [multiply_double(*one) for one in zip(a, b, c, strict=True)]
    else:
        made = [multiply_single(form, *one) for one in zip(a, b, c, strict=True)]
    return np.stack(made)


# The table of what a GPU made --------------------------------------------------------------------


def write_bits(bits):
    """Numbers of one width in a row, in hexadecimal."""
    bits = np.asarray(bits)
    return "".join(f"{int(x):0{2 * bits.itemsize}x}" for x in bits.flat)


def read_bits(text, shape, dtype):
    width = 2 * np.dtype(dtype).itemsize
    digits = [text[i : i + width] for i in range(0, len(text), width)]
    return np.array([int(x, 16) for x in digits], dtype).reshape(shape)


def read_case(form, case):
    """Bits of a, b, c and d of one product, each with a leading axis of 1."""
    element = {"f64": np.uint64, "tf32": np.uint32, "s8": np.uint8, "u8": np.uint8}.get(
        form.kind, np.uint16
    )
    result = np.uint64 if form.double else np.uint16 if form.half else np.uint32
    shapes = (1, form.rows, form.depth), (1, form.depth, 8), (1, form.rows, 8), (1, form.rows, 8)
    kinds = element, element, result, result
    return [read_bits(case[x], s, t) for x, s, t in zip("abcd", shapes, kinds, strict=True)]


# Numbers to try ----------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.5, 3.0, -4.0, np.inf, -np.inf, np.nan, 1e30, -1e38, 6e4, -3e-30]
REGIMES = ["normal", "wide", "large_c", "tiny", "special", "zero_c", "scattered"]
INTEGER_REGIMES = ["wide", "large_c", "zero_c"]


def list_regimes(form):
    return INTEGER_REGIMES if form.integer else REGIMES


def spread(rng, shape, low, high):
    """Numbers of either sign over so many powers of two."""
    return rng.choice([-1.0, 1.0], shape) * np.exp2(rng.uniform(low, high, shape))


def make_integers(form, regime, rng, shapes):
    """Bits of numbers of all sizes; with large_c, sums around the ends of 32 bits."""
    numbers = [rng.integers(0, 256, shape, np.uint8) for shape in shapes[:2]]
    c = rng.integers(0, 2**32, shapes[2], np.uint32)
    if regime == "large_c":
        c = (0x7FFF0000 + rng.integers(0, 2**17, shapes[2])).astype(np.uint32)
    return [*numbers, np.zeros_like(c) if regime == "zero_c" else c]


def make_numbers(form, regime, rng, count):
    """Bits of a, b and c."""
    shapes = (count, form.rows, form.depth), (count, form.depth, 8), (count, form.rows, 8)
    if form.integer:
        return make_integers(form, regime, rng, shapes)
    kinds = form.kind, form.kind, form.result
    half = form.kind == "f16"
    numbers = [rng.standard_normal(shape) for shape in shapes]
    if regime == "wide":
        reach = 7 if half else 12
        numbers = [spread(rng, shape, -reach, reach) for shape in shapes]
    elif regime == "large_c":
        numbers[2] = spread(rng, shapes[2], *((8, 15) if form.half else (20, 40)))
    elif regime == "tiny":
        low, high = (-26, -13) if half else (-80, -56)
        numbers = [spread(rng, shape, low, high) for shape in shapes]
        if not half:  # subnormal numbers by others that bring them back
            numbers[0] = spread(rng, shapes[0], -140, -120)
            numbers[1] = spread(rng, shapes[1], -20, 2)
        numbers[2] = (
            spread(rng, shapes[2], *((-26, -12) if form.half else (-52, -24)))
            if half
            else spread(rng, shapes[2], -149, -120)
        )
    elif regime == "special":
        weights = np.array([8, 8, 8, 8, 8, 8, 1, 1, 1, 8, 8, 8, 8]) / 83
        numbers = [rng.choice(SPECIAL, shape, p=weights) for shape in shapes]
        if half:  # what f16 cannot hold would be infinite
            large = [np.isfinite(x) & (np.abs(x) > 6e4) for x in numbers[:2]]
            numbers[0][large[0]], numbers[1][large[1]] = -5e4, 6e4
    elif regime == "zero_c":
        numbers[2][:] = 0
    elif regime == "scattered":
        numbers[0] = spread(rng, shapes[0], -24 if half else -140, 10)
        numbers[1] = spread(rng, shapes[1], -24 if half else -140, 10)
    with np.errstate(over="ignore"):
        return [encode(kind, x) for kind, x in zip(kinds, numbers, strict=True)]
