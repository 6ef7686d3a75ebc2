"""What the kernels about memory and about lanes that exchange values must compute."""

import math

import numpy as np
from programs.program_cases import case, poisoned


@case
def scan(run, rng, machine):
    for threads in (32, 96, 1024):
        blocks = 3
        count = threads * blocks - 5
        values = rng.integers(-1000, 1000, count, dtype=np.int32)
        out = poisoned(count + 5, np.int32)
        run("scan", blocks, threads, values, out, count)
        for block in range(blocks):
            part = slice(block * threads, min((block + 1) * threads, count))
            assert (out[part] == np.cumsum(values[part])).all()
        assert (out[count:].view(np.uint8) == 0xCD).all()


@case
def bitonic(run, rng, machine):
    keys = np.round(rng.standard_normal((2, 1024)), 1).astype(np.float32) + np.float32(0)
    keys[0, :3] = np.inf, -np.inf, 0
    out, order = poisoned(keys.shape, np.float32), poisoned(keys.shape, np.int32)
    run("bitonic", 2, 512, keys, out, order)
    assert (out == np.sort(keys, axis=1)).all()
    assert (order == np.argsort(keys, axis=1, kind="stable")).all()


@case
def matvec_warp(run, rng, machine):
    for kind in ("float", "double"):
        dtype = {"float": np.float32, "double": np.float64}[kind]
        rows, columns = 21, 77
        matrix = rng.integers(-9, 10, (rows, columns)).astype(dtype)
        vector = rng.integers(-9, 10, columns).astype(dtype)
        out = poisoned(rows, dtype)
        run(f"matvec_warp_{kind}", 3, (32, 8), matrix, vector, out, rows, columns)
        assert (out == matrix @ vector).all()


@case
def struct_param(run, rng, machine):
    import smemkit

    point = np.dtype([("x", "f4"), ("y", "f4")])
    options = np.dtype(
        [
            ("kind", "S1"),
            ("weights", "i2", 5),
            ("scale", "f8"),
            ("table", "i4", 7),
            ("corner", point, 3),
            ("last", "u1"),
            ("extra", "u8"),
        ],
        align=True,
    )
    extra = rng.integers(-50, 50, 4, dtype=np.int32)
    on_device = smemkit.asarray(extra, backend=machine)
    count = 50
    for kind in (b"a", b"b"):
        o = np.zeros((), options)
        o["kind"] = kind
        o["weights"] = rng.integers(-300, 300, 5)
        o["scale"] = 2.5
        o["table"] = rng.integers(-(2**20), 2**20, 7)
        o["corner"]["x"] = rng.integers(-9, 9, 3)
        o["corner"]["y"] = rng.integers(-9, 9, 3)
        o["last"] = 200
        o["extra"] = on_device.pointer
        shift = np.array((3.5, -1.25), point)
        out = smemkit.empty(count, "float64", backend=machine)
        parameter = o[()] if kind == b"a" else o.tobytes()
        run("struct_param", 2, 32, parameter, out, count, shift.tobytes())
        out = smemkit.asnumpy(out)
        for i in range(count):
            expected = (
                (2.5 if kind == b"a" else -2.5)
                + o["weights"][i % 5] * 1000.0
                + o["table"][(i * 3) % 7]
            )
            expected += o["corner"]["x"][i % 3] * 0.5 + o["corner"]["y"][(i + 1) % 3] * 0.25
            expected += 200 + extra[i % 4] + 3.5 + 1.25
            assert out[i] == expected


@case
def wide_atomics(run, rng, machine):
    count = 200
    values = rng.standard_normal(count) * 1e6
    largest, exponents = np.array([-1e308]), np.array([1.0])
    words = np.zeros(8, np.uint64)
    words[3] = 2**64 - 1
    run("wide_atomics", 4, 64, values, count, largest, exponents, words)
    assert largest[0] == values.max()
    factors = [(2.0 if i & 1 else 0.5) * (1.0 if i % 64 else 2.0) for i in range(count)]
    assert exponents[0] == math.prod(factors)
    mask = 2**64 - 1
    both, either, odd = mask, 0, 0
    for i in range(count):
        both &= (mask & ~(1 << (i & 63))) | 0xF0F0
        either |= 1 << ((i * 7) & 63)
        odd ^= (0x9E3779B97F4A7C15 * i) & mask
    last = count - 1
    expected = [
        count * (count + 1) // 2,
        last * 0x100000001,
        -last * 0x80000001 & mask,
        both,
        either,
        odd,
        42,
        43,
    ]
    assert words.tolist() == expected


@case
def carve(run, rng, machine):
    for count in (8, 37, 64):
        values = rng.integers(-20000, 20000, (2, count), dtype=np.int32)
        doubles, ints = poisoned((2, count), np.float64), poisoned((2, count), np.int32)
        data = poisoned((2, count), np.uint8)
        run("carve", 2, 32, values, doubles, ints, data, count, shared=15 * count)
        back = values[:, ::-1]
        assert (doubles == back * 0.125 + values).all()
        assert (ints == back * 3 - back + 56).all()
        assert (data == (((back >> 3) & 255) ^ ((values >> 3) & 255))).all()


@case
def local_sort(run, rng, machine):
    count = 45
    values = rng.integers(-100, 100, (count, 16), dtype=np.int16)
    out, shifts = poisoned(values.shape, np.int16), poisoned(count, np.int32)
    run("local_sort", 2, 32, values, out, shifts, count)
    assert (out == np.sort(values, axis=1)).all()
    inversions = [(np.triu(v[:, None] > v[None, :], 1)).sum() for v in values]
    assert shifts.tolist() == inversions


@case
def constant_table(run, rng, machine):
    count = 100
    ints, doubles, words = (
        poisoned(count, np.int32),
        poisoned(count, np.float64),
        poisoned(count, np.uint64),
    )
    run("constant_table", 4, 32, ints, doubles, words, count)
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    names, weights = [b"one\0\0\0", b"three\0", b"\0" * 6], [-1, 300, 0]
    factors, matrix = [0.5, -1.25, 3.0], [[1.5, -2.25, 1e-3], [0.0, 1e100, -0.0]]
    for i in range(count):
        k = i % 3
        assert ints[i] == [5, 1, 27][k] * 1000 + primes[i % 10] + names[k][i % 6] + weights[k]
        assert doubles[i] == matrix[i % 2][k] + factors[k]
        assert words[i] == 0xFEDCBA9876543210 >> (i % 64)


@case
def device_globals(run, rng, machine):
    seen, values, facts = poisoned(8, np.int32), poisoned(8, np.float64), poisoned(4, np.int32)
    run("device_globals", 1, 8, seen, values)
    assert sorted(seen.tolist()) == list(range(100, 108))
    weights, words = [1.0, 0.5, 0.25, 0, 0], [b"left", b"right"]
    for i in range(8):
        assert values[i] == [3.5, 1.75][i % 2] + weights[i % 5] + words[i % 2][i % 4]
    run("device_globals_read", 1, 1, facts)
    assert facts.tolist() == [108, 108, 90, 7]
    run("device_globals", 1, 8, seen, values)
    assert sorted(seen.tolist()) == list(range(108, 116))
    run("device_globals_read", 1, 1, facts)
    assert facts.tolist() == [116, 116, 90, 17]


@case
def compact(run, rng, machine):
    count = 300
    values = rng.integers(-50, 50, count, dtype=np.int32)
    out, kept = poisoned(count, np.int32), np.zeros(1, np.int32)
    run("compact", 5, 64, values, count, out, kept)
    wanted = values[values > 0]
    assert kept[0] == wanted.size
    assert (np.sort(out[: wanted.size]) == np.sort(wanted)).all()
    assert (out[wanted.size :].view(np.uint8) == 0xCD).all()

    keys = rng.integers(0, 9, (5, 32), dtype=np.int32)
    keys[1] = 4
    keys[2] = rng.integers(0, 2, 32)
    peers, facts = poisoned(keys.shape, np.uint32), poisoned(keys.shape, np.int32)
    run("compact_groups", 1, 160, keys, peers, facts)
    for warp in range(5):
        row = keys[warp]
        same = (row == row[0]).all()
        common = int(same) * 3 | int((row == 3).any()) << 2 | int((row < 8).all()) << 3
        odd = int((row & 1).sum())
        for lane in range(32):
            assert peers[warp, lane] == sum(1 << j for j in range(32) if row[j] == row[lane])
            assert facts[warp, lane] & 255 == common
            active = facts[warp, lane] >> 8
            if row[lane] & 1:
                assert active == odd if machine == "sim" else 1 <= active <= odd
            else:
                assert active == 0


@case
def tile_reduce(run, rng, machine):
    values = rng.integers(-1000, 1000, (2, 16, 16), dtype=np.int32)
    sums, maxima, total = (
        poisoned((2, 16), np.int32),
        poisoned((2, 16), np.int32),
        np.zeros(1, np.int32),
    )
    run("tile_reduce", 2, 256, values, sums, maxima, total)
    assert (sums == values.sum(axis=2)).all()
    assert (maxima == values.max(axis=2)).all()
    assert total[0] == values.sum()


@case
def async_pipeline(run, rng, machine):
    for tiles in (1, 2, 7):
        values = rng.integers(-99, 99, (3, tiles, 64, 4)).astype(np.float32)
        scale = rng.integers(-9, 9, (tiles, 64)).astype(np.float32)
        out = poisoned((3, 64, 4), np.float32)
        run("async_pipeline", 3, 64, values, scale, out, tiles)
        assert (out == (values[:, :, ::-1] * scale[None, :, :, None]).sum(axis=1)).all()


@case
def volumes(run, rng, machine):
    width, height, depth = 9, 13, 6
    values = rng.integers(-100, 100, (depth, height, width), dtype=np.int32)
    out, where = poisoned(values.shape, np.int32), poisoned(values.shape, np.int32)
    run("volumes", (3, 2, 2), (4, 8, 4), values, out, where, width, height, depth)
    p = np.pad(values, 1)
    expected = p[1:-1, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1]
    expected = expected + p[1:-1, 2:, 1:-1] + p[1:-1, 1:-1, :-2] + p[1:-1, 1:-1, 2:]
    assert (out == expected).all()
    z, y, x = np.indices(values.shape)
    block = x // 4 + 3 * (y // 8 + 2 * (z // 4))
    assert (where == block * 1000 + x % 4 + 4 * (y % 8 + 8 * (z % 4)) + 128 * 1000000).all()


@case
def tally(run, rng, machine):
    for values in (rng.integers(0, 256, 3001, dtype=np.uint8), np.full(777, 9, np.uint8)):
        counts = np.zeros(256, np.uint32)
        run("tally", 3, 96, values, values.size, counts, shared=256 * 3 * 4)
        assert (counts == np.bincount(values, minlength=256)).all()


@case
def radix_sort(run, rng, machine):
    keys = rng.integers(0, 2**32, (2, 256), dtype=np.uint32)
    keys[1] &= 0x00F000FF  # many equal digits
    out = poisoned(keys.shape, np.uint32)
    run("radix_sort", 2, 256, keys, out)
    assert (out == np.sort(keys, axis=1)).all()


@case
def generic_pointer(run, rng, machine):
    values = rng.integers(-1000, 1000, 64, dtype=np.int32)
    out, kinds = poisoned(64, np.int32), poisoned(64, np.int32)
    run("generic_pointer", 1, 64, values, out, kinds)
    for i in range(64):
        k = i % 3
        read = [
            values[min((i + 4) % 64 + k, 63)] + 1,
            values[i] * (k + 2),
            1000 * (k + 1),
            values[k],
        ][i % 4]
        assert out[i] == read + (5 if i % 2 else 7)
        assert kinds[i] == [1, 4, 8, 2][i % 4]


@case
def vectors(run, rng, machine):
    record = np.dtype(
        {
            "names": ["place", "tag", "letters", "pair"],
            "formats": ["2f8", "4i4", "4i1", "2i2"],
            "offsets": [0, 16, 32, 36],
            "itemsize": 48,
        }
    )
    count = 50
    values = np.zeros(count, record)
    values["place"] = rng.standard_normal((count, 2))
    values["tag"] = rng.integers(-(2**30), 2**30, (count, 4))
    values["letters"] = rng.integers(-128, 128, (count, 4))
    values["pair"] = rng.integers(-180, 180, (count, 2))
    pixels = rng.integers(0, 256, (count, 4), dtype=np.uint8)
    quads = rng.integers(-100, 100, (count, 4)).astype(np.float32)
    out, grey, pairs = (
        poisoned((count, 48), np.uint8),
        poisoned((count, 4), np.uint8),
        poisoned((count, 2), np.float32),
    )
    run("vectors", 2, 32, values.view(np.uint8), out, pixels, grey, quads, pairs, count)
    got = out.reshape(-1).view(record)
    place, tag, letters, pair = (values[name] for name in record.names)
    assert (got["place"] == np.stack([place[:, 1] * 2.0, place[:, 0] - 1.0], 1)).all()
    assert (got["tag"] == tag[:, ::-1] * np.array([1, 1, 1, -1])).all()
    assert (
        got["letters"]
        == np.stack(
            [letters[:, 0] + letters[:, 3], -letters[:, 1], letters[:, 2], letters[:, 3]], 1
        )
    ).all()
    assert (got["pair"] == np.stack([pair[:, 0] * pair[:, 1], pair[:, 1]], 1)).all()
    wide = pixels.astype(int)
    expected = (wide[:, 0] * 77 + wide[:, 1] * 150 + wide[:, 2] * 29) >> 8
    assert (grey[:, :3] == expected[:, None]).all()
    assert (grey[:, 3] == 255 - wide[:, 3]).all()
    assert (pairs == np.stack([quads[:, 0] * quads[:, 2], quads[:, 1] - quads[:, 3]], 1)).all()


@case
def text_search(run, rng, machine):
    text = rng.choice(np.frombuffer(b"abc\xe9", np.uint8), 333)
    pattern = np.frombuffer(b"a?\xe9b", np.uint8)
    prefix, matches = poisoned(333, np.uint16), np.zeros(1, np.int32)
    run("text_search", 6, 64, text, 333, pattern, 4, prefix, matches)
    for i in range(333):
        same = 0
        while (
            same < 4
            and i + same < 333
            and (pattern[same] == ord("?") or pattern[same] == text[i + same])
        ):
            same += 1
        assert prefix[i] == same
    assert matches[0] == (prefix == 4).sum()
