"""What the kernels about arithmetic must compute."""

import hashlib
import math

import numpy as np
from programs.program_cases import case, close, poisoned, truncated, wrap


def inline_asm_expected(x, y, z):
    mask = 0xFFFFFFFF

    def field(a, position, length, signed):
        top = min(position + length - 1, 31)
        sign = (a >> top) & 1 if signed and length else 0
        bits = [
            (a >> (position + i)) & 1 if i < length and position + i < 32 else sign
            for i in range(32)
        ]
        return sum(bit << i for i, bit in enumerate(bits))

    def insert(a, b, position, length):
        for i in range(length):
            if position + i < 32:
                b = b & ~(1 << (position + i)) | ((a >> i) & 1) << (position + i)
        return b

    def permute(a, b, selector):
        data = [(a >> 8 * i) & 255 for i in range(4)] + [(b >> 8 * i) & 255 for i in range(4)]
        d = 0
        for i in range(4):
            s = (selector >> 4 * i) & 15
            byte = data[s & 7]
            if s & 8:
                byte = 255 if byte & 128 else 0
            d |= byte << 8 * i
        return d

    sx, sy, sz = wrap(x), wrap(y), wrap(z)
    n = z & 31
    left = ((y << 32 | x) << n) >> 32 & mask
    right = (y << 32 | x) >> min(z & 63, 32) & mask
    total = x + y
    second = y + z + (total >> 32)
    product = x * y
    low = (product & mask) + z
    high = (product >> 32) + (product & mask) + (low >> 32)
    quads = sum(wrap(x >> 8 * i, 8) * (y >> 8 * i & 255) for i in range(4))
    ffs = (z & -z).bit_length()
    seek = ~sx if sx < 0 else sx
    signed24 = wrap(y, 24) * wrap(z, 24)
    third = z != 12345
    p, q = sx < sy and third, not sx < sy and third
    chosen = (x if p else y) ^ (z if q else 0)
    swapped = x >> 16 | (x & 0xFFFF) << 16
    return [
        field(x, y & 63, z & 63, False),
        field(x, y & 63, z & 63, True),
        insert(x, y, z & 31, z >> 8 & 31),
        permute(x, y, z & 0xFFFF),
        x & y | x & z | y & z,
        left,
        right,
        total,
        second,
        second >> 32,
        low,
        high,
        sz + abs(sx - sy),
        sz + quads,
        int(f"{x:032b}"[::-1], 2) ^ (32 - y.bit_length()) ^ ffs << 8,
        seek.bit_length() - 1,
        (x & 0xFFFFFF) * (y & 0xFFFFFF) + signed24,
        chosen,
        x if sz >= 0 else y,
        (y << 32 | swapped) >> 12,
    ]


@case
def inline_asm(run, rng, machine):
    count = 60
    a, b, c = rng.integers(0, 2**32, (3, count), dtype=np.uint32)
    edges = np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 12345], np.uint32)
    for array in (a, b, c):
        places = rng.integers(0, count, 12)
        array[places] = rng.choice(edges, 12)
    b[::2] &= 0x8000001F  # short bit fields
    out = poisoned((count, 20), np.uint32)
    run("inline_asm", 2, 32, a, b, c, out, count)
    for i in range(count):
        expected = inline_asm_expected(int(a[i]), int(b[i]), int(c[i]))
        assert out[i].tolist() == [value & 0xFFFFFFFF for value in expected], (i, a[i], b[i], c[i])


@case
def half_math(run, rng, machine):
    count = 64
    a = rng.choice([-1, 1], count) * np.exp2(rng.uniform(-4, 3, count))
    b = rng.choice([-1, 1], count) * np.exp2(rng.uniform(-4, 3, count))
    a, b = a.astype(np.float32), b.astype(np.float32)
    b[5] = np.nan
    x, y = a.astype(np.float16), b.astype(np.float16)
    out, wide = poisoned((count, 12), np.uint16), poisoned(count, np.float32)
    run("half_math", 2, 32, a, b, out, wide, count)
    halves = out.view(np.float16)
    x64, y64 = x.astype(np.float64), y.astype(np.float64)  # products and sums of these are exact

    def toward(values, nearest, wrong_side):
        step = np.nextafter(nearest, np.where(wrong_side > 0, -np.inf, np.inf).astype(np.float16))
        return np.where(wrong_side != 0, step, nearest)

    away = np.where(np.abs(x64) > np.abs(a), np.sign(a), 0)
    below = np.where(y64 < b, -1, 0)
    square_x, square_y = (x64 * x64).astype(np.float16), (y64 * y64).astype(np.float16)
    first = (x64 * y64 + square_x).astype(np.float16)
    second = (x64 * y64 + square_y).astype(np.float16)
    expected = {
        0: x64 + y64,
        1: x64 - y64,
        2: x64 * y64,
        3: x64 * y64 + x64,
        4: toward(a, x, away),
        5: toward(b, y, below),
        7: first,
        8: second.astype(np.float64) - x64,
        10: (a * np.float32(100)).astype(np.int32).astype(np.float64),
    }
    with np.errstate(all="ignore"):
        for column, values in expected.items():
            assert np.array_equal(halves[:, column], values.astype(np.float16), equal_nan=True), (
                column
            )
        close(halves[:, 6], (x64 / y64).astype(np.float16), 1, 2.0**-10)
        facts = (x < y) | (x >= y) << 1 | 4 | np.isnan(y) << 3
        assert (out[:, 9] == facts).all()
        tens = np.nan_to_num((y64 * 10).astype(np.float16)).astype(np.int32)
        assert (out[:, 11] == tens.astype(np.uint16)).all()
        assert np.array_equal(wide, (x64 * 2 - y64).astype(np.float32), equal_nan=True)


def bfloat(values):
    """float64 to the nearest bfloat16 (ties to even), as float64; normal range only."""
    bits = np.asarray(values, np.float64).view(np.uint64)
    drop = np.uint64(45)
    odd = bits >> drop & np.uint64(1)
    return ((bits + (np.uint64(1) << np.uint64(44)) - np.uint64(1) + odd) >> drop << drop).view(
        np.float64
    )


@case
def bfloat_math(run, rng, machine):
    count = 64
    a, b = (rng.standard_normal((2, count)) * 4 + 0.01).astype(np.float32)
    out, dots = poisoned((count, 4), np.uint16), poisoned(count, np.float32)
    run("bfloat_math", 2, 32, a, b, out, dots, count)
    got = (out.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    x, y = bfloat(a.astype(np.float64)), bfloat(b.astype(np.float64))
    assert (got[:, 0] == x).all()
    assert (got[:, 1] == bfloat(x * y + x)).all()
    assert (got[:, 2] == bfloat(x * y)).all()
    assert (got[:, 3] == np.maximum(bfloat((a * np.float32(3)).astype(np.float64)), y)).all()
    sums = np.zeros(count, np.float32)
    for step in range(4):
        sums = sums + ((x * y).astype(np.float32) + np.float32(step))
    assert (dots == sums).all()


@case
def integer_division(run, rng, machine):
    count = 64
    a = rng.integers(-(2**63), 2**63, count)
    b = rng.integers(-(2**63), 2**63, count) >> rng.integers(0, 60, count)
    a[:6] = [-(2**63), 2**63 - 1, 0, -1, 1, -(2**63)]
    b[:6] = [3, -1, 7, 2**63 - 1, -(2**63), 1]
    b[b == 0] = 10
    a[(a.astype(np.int32) == -(2**31)) & (b.astype(np.int32) | 1 == -1)] += 1
    out = poisoned((count, 16), np.int64)
    run("integer_division", 2, 32, a, b, out, count)
    m64, m32 = 2**64 - 1, 2**32 - 1
    for i in range(count):
        x, y = int(a[i]), int(b[i])
        ux, uy, sx, sy = x & m64, y & m64, wrap(x), wrap(y) | 1
        hx, hy = sx & m32, sy & m32
        expected = [
            *truncated(x, y),
            ux // uy,
            ux % uy,
            x * y >> 64,
            ux * uy >> 64,
            *truncated(sx, sy),
            hx // hy,
            hx % hy,
            sx * sy >> 32,
            hx * hy >> 32,
            truncated(wrap(x, 16), wrap(y | 1, 16))[0],
            x * y >> 40,
            (ux << 64 | uy) // (uy | 0x100000000),
            truncated(x, 1000000007)[0] + ux // 10 + truncated(sx, 7)[1],
        ]
        assert out[i].tolist() == [wrap(value, 64) for value in expected], (x, y)


@case
def math64(run, rng, machine):
    values = np.concatenate(
        [
            rng.standard_normal(30) * 10,
            rng.uniform(-1, 1, 10) * 1e5,
            [1e15, -3e22, 1e300, 1e-8, 0.5, 6381956970095103.0 * 2.0**797],
        ]
    )
    count = values.size
    out = poisoned((count, 16), np.float64)
    run("math64", 2, 32, values, out, count)
    for i, x in enumerate(values.tolist()):
        positive = abs(x) + 1e-300
        expected = [
            math.sin(x),
            math.cos(x),
            math.tan(x),
            math.exp(math.fmod(x, 600.0)),
            math.log(positive),
            math.pow(positive, 0.37),
            math.sqrt(positive),
            float(np.cbrt(x)),
            math.atan2(x, 3.0),
            math.tanh(x * 1e-3),
            math.erf(math.fmod(x, 3.0)),
            math.log1p(positive),
            math.floor(x) + float(np.rint(x * 0.5)) + float(np.trunc(x * 0.25)),
            math.hypot(x, 2.0),
            1.0 / x,
            math.fmod(x, 2.718281828),
        ]
        close(out[i], expected, 8, 2.0**-52)
        for exact in (6, 14, 15):
            assert out[i, exact] == expected[exact]


@case
def math32(run, rng, machine):
    values = np.concatenate(
        [rng.standard_normal(40) * 20, [1e10, -7e20, 3e38, 1e-10, 105615.0, 0.75]]
    )
    values = values.astype(np.float32)
    count = values.size
    out = poisoned((count, 16), np.float32)
    run("math32", 2, 32, values, out, count)
    f = np.float32
    for i, value in enumerate(values):
        x = float(value)
        positive = float(f(abs(value)) + f(1e-20))
        m80, m20, m10, m3 = (math.fmod(x, m) for m in (80.0, 20.0, 10.0, 3.0))
        expected = [
            math.sin(x),
            math.cos(x),
            math.exp(m80),
            math.log(positive),
            math.pow(positive, 0.75),
            math.sqrt(positive),
            positive**-0.5,
            1 / x,
            math.tanh(float(value * f(0.01))),
            math.atan(x),
            math.exp2(m20) if hasattr(math, "exp2") else 2.0**m20,
            math.log2(positive),
            math.exp(m10),
            3.0 / positive,
        ]
        close(out[i, :12], expected[:12], 4, 2.0**-23)
        close(out[i, 12], expected[12], 14, 2.0**-23)
        close(out[i, 13], expected[13], 3 if positive < 2.0**126 else 2.0**23, 2.0**-23)
        assert out[i, 5] == f(math.sqrt(positive)) and out[i, 7] == f(1 / x)
        m1000 = math.fmod(x, 1000.0)
        nearest = math.copysign(math.floor(abs(m1000) + 0.5), m1000)
        assert out[i, 14] == f(nearest) + np.floor(value * f(1e-3))
        assert abs(float(out[i, 15]) - math.sin(m3)) <= 2.0**-21


@case
def mandelbrot(run, rng, machine):
    width, height, limit = 40, 25, 60
    left, top, step = -2.1, -1.2, 0.077
    out = poisoned((height, width), np.int32)
    run("mandelbrot", (2, 4), (32, 8), out, width, height, limit, left, top, step)
    cr = np.broadcast_to(left + np.arange(width) * step, (height, width))
    ci = np.broadcast_to((top + np.arange(height) * step)[:, None], (height, width))
    r, i, counts = (
        np.zeros((height, width)),
        np.zeros((height, width)),
        np.zeros((height, width), int),
    )
    alive = np.ones((height, width), bool)
    for _ in range(limit):
        rr, ii = r * r, i * i
        alive &= rr + ii <= 4.0
        i = np.where(alive, 2.0 * (r * i) + ci, i)
        r = np.where(alive, (rr - ii) + cr, r)
        counts += alive
    assert (out == counts).all()


@case
def fourier(run, rng, machine):
    values = (rng.standard_normal((3, 256)) + 1j * rng.standard_normal((3, 256))).astype(
        np.complex64
    )
    out = poisoned((3, 256), np.complex64)
    run("fourier", 3, 128, values.view(np.float32), out.view(np.float32))
    expected = np.fft.fft(values.astype(np.complex128), axis=1)
    assert np.abs(out - expected).max() <= 2e-6 * np.abs(expected).max()
    assert np.abs(out).min() > 0


@case
def solve(run, rng, machine):
    for n in (1, 7, 32):
        matrices, sides = rng.standard_normal((3, n, n)), rng.standard_normal((3, n))
        out = poisoned((3, n), np.float64)
        run("solve", 3, 32, matrices, sides, out, n)
        expected = np.linalg.solve(matrices, sides[..., None])[..., 0]
        condition = np.linalg.cond(matrices)[:, None]
        assert (
            np.abs(out - expected)
            <= 1e-13 * condition * np.abs(expected).max(axis=1, keepdims=True)
        ).all()


@case
def sha256(run, rng, machine):
    count = 40
    messages = rng.integers(0, 256, (count, 55), dtype=np.uint8)
    lengths = rng.integers(0, 56, count, dtype=np.int32)
    lengths[:2] = 0, 55
    out = poisoned((count, 32), np.uint8)
    run("sha256", 2, 32, messages, lengths, out, count)
    for i in range(count):
        assert out[i].tobytes() == hashlib.sha256(messages[i, : lengths[i]].tobytes()).digest()


@case
def random_walk(run, rng, machine):
    seed, rounds, threads = int(rng.integers(0, 2**32)), 12, 64
    words, sums, walks = (
        poisoned(threads, np.uint32),
        poisoned(threads, np.float64),
        poisoned(threads, np.int16),
    )
    run("random_walk", 2, 32, seed, words, sums, walks, rounds)
    m32, m64 = 2**32 - 1, 2**64 - 1
    for i in range(threads):
        c0, c1, k0, state, total, walked = (
            i,
            seed,
            0x1234567,
            0x9E3779B97F4A7C15 * (i + 1) & m64,
            0.0,
            0,
        )
        for _ in range(rounds):
            product = 0xD256D193 * c0
            c0, c1, k0 = product >> 32 ^ c1 ^ k0, product & m32, k0 + 0x9E3779B9 & m32
            state ^= state << 13 & m64
            state ^= state >> 7
            state ^= state << 17 & m64
            total += (c0 >> 8) * 0.5 + (state >> 40) - (state >> 20) * 0.25
            walked = wrap(walked * 31 + wrap(state, 16), 16)
        assert (words[i], sums[i], walks[i]) == (c0 ^ c1, total, walked)
