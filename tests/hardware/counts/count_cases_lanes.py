"""Launches of the kernels about lanes: reductions, scans, atomics, gathers, branches."""

import numpy as np
from hardware.counts.count_launches import Launch, blocks, case, per_block, poisoned, small


def make_sum(random, dtype, count, size, threads):
    x = small(random, count, dtype)
    grid = blocks(count, size)
    args = [x, poisoned(grid, dtype), count]
    return Launch(grid, threads, args, {1: per_block(x, size).sum(1, dtype=dtype)})


@case({"count": 512}, {"count": 333})
def reduce_modulo(random, count):
    return make_sum(random, np.float32, count, 256, 256)


@case({"count": 512}, {"count": 333})
def reduce_interleaved(random, count):
    return make_sum(random, np.int32, count, 256, 256)


@case({"count": 1024}, {"count": 777})
def reduce_sequential(random, count):
    return make_sum(random, np.float64, count, 512, 256)


@case({"count": 256}, {"count": 201})
def reduce_volatile(random, count):
    return make_sum(random, np.int32, count, 128, 128)


@case({"count": 1024, "grid": 2, "threads": 128}, {"count": 777, "grid": 3, "threads": 96})
def reduce_shuffle(random, count, grid, threads):
    x = small(random, count, np.float32)
    owner = np.arange(count) // threads % grid
    expected = np.bincount(owner, x, grid).astype(np.float32)
    return Launch(grid, threads, [x, poisoned(grid, np.float32), count], {1: expected})


@case({"count": 1024, "grid": 2, "threads": 128}, {"count": 777, "grid": 3, "threads": 96})
def histogram_shared(random, count, grid, threads):
    x = np.minimum(random.randint(0, 300, count), 255).astype(np.uint8)
    out = small(random, 256, np.uint32, 0, 5)
    expected = out + np.bincount(x, minlength=256).astype(np.uint32)
    return Launch(grid, threads, [x, out, count], {1: expected})


@case({"count": 256, "threads": 128, "limit": 3}, {"count": 201, "threads": 96, "limit": 5})
def histogram_returning(random, count, threads, limit):
    grid = 2
    x = random.randint(0, 1000, (grid, count)).astype(np.int32)
    bins = np.stack([np.bincount(row & 63, minlength=64) for row in x]).astype(np.int32)
    full = np.full((grid, 64), -1, np.int32)
    args = [x, poisoned(bins.shape, np.int32), full, count, limit]
    return Launch(grid, threads, args, {1: bins, 2: np.where(bins >= limit, 1, full)})


@case({"count": 512, "grid": 2}, {"count": 333, "grid": 3})
def histogram_lanes(random, count, grid):
    x = random.randint(0, 256, count).astype(np.uint8)
    expected = np.bincount(x // 4, minlength=64).astype(np.int32)
    return Launch(grid, 32, [x, np.zeros(64, np.int32), count], {1: expected})


@case({"grid": 2, "rounds": 4, "bins": 0}, {"grid": 3, "rounds": 3, "bins": 20})
def atomic_float(random, grid, rounds, bins):
    x = small(random, (grid, rounds, 32), np.float32, 1)
    where = (
        random.randint(0, bins, x.shape)
        if bins
        else np.stack([[random.permutation(64)[:32] for _ in range(rounds)] for _ in range(grid)])
    )
    expected = np.zeros((grid, 64), np.float32)
    for block in range(grid):
        np.add.at(expected[block], where[block], x[block])
    args = [x, where.astype(np.int32), poisoned((grid, 64), np.float32), rounds]
    return Launch(grid, 32, args, {2: expected})


@case({"grid": 2, "spread": 1}, {"grid": 3, "spread": 5})
def atomic_wide(random, grid, spread):
    x = random.randint(1, 2**31, (grid, 32)).astype(np.uint64) << np.uint64(20)
    expected = np.zeros((grid, 3, 32), np.uint64)
    cell = np.arange(32) // spread
    for block in range(grid):
        np.add.at(expected[block, 0], cell, x[block])
        np.maximum.at(expected[block, 1], cell, x[block])
    expected[:, 2] = x + np.uint64(1)
    return Launch(grid, 32, [x, poisoned(expected.shape, np.uint64), spread], {1: expected})


@case({"grid": 2, "threads": 64, "spread": 1}, {"grid": 1, "threads": 80, "spread": 3})
def atomic_kinds(random, grid, threads, spread):
    x = random.randint(-1000, 1000, (grid, threads)).astype(np.int32)
    cell = np.arange(threads) // spread % 32
    expected = np.zeros((grid, 8, 32), np.int32)
    expected[:, 2] = -1
    for block in range(grid):
        kinds = (np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
        for i, kind in enumerate(kinds):
            kind.at(expected[block, i], cell, x[block])
        hits = np.bincount(cell, minlength=32)
        expected[block, 5] = hits % 6
        expected[block, 6], expected[block, 7] = np.where(hits, 7, 0), np.where(hits, 9, 0)
    return Launch(grid, threads, [x, poisoned(expected.shape, np.int32), spread], {1: expected})


@case({"count": 256}, {"count": 150})
def atomic_uniform(random, count):
    grid = blocks(count, 128)
    x = small(random, count, np.int32)
    out = np.full(2 + grid, -100, np.int32)
    expected = out.copy()
    expected[0] += x.sum()
    expected[1] += count
    expected[2:] = per_block(x, 128, -100).max(1)
    return Launch(grid, 128, [x, out, count], {1: expected})


@case({"count": 256, "bins": 1000}, {"count": 150, "bins": 20})
def atomic_scattered(random, count, bins):
    where = random.randint(0, bins, count).astype(np.int32)
    x = small(random, count, np.float32)
    counts = np.bincount(where, minlength=bins).astype(np.int32)
    sums = np.bincount(where, x, bins).astype(np.float32)
    args = [where, x, np.zeros(bins, np.int32), np.zeros(bins, np.float32), count]
    return Launch(blocks(count, 128), 128, args, {2: counts, 3: sums})


@case({"count": 256}, {"count": 150})
def atomic_returning(random, count):
    where = random.randint(0, 64, count).astype(np.int32)
    hits = np.bincount(where, minlength=64)
    flags = np.zeros(128, np.int32)
    expected = np.concatenate([hits >= 3, hits >= 2]).astype(np.int32)
    args = [where, np.zeros(64, np.uint32), np.zeros(64, np.uint64), flags, count]
    wide = hits.astype(np.uint64) << np.uint64(40)
    return Launch(blocks(count, 64), 64, args, {1: hits.astype(np.uint32), 2: wide, 3: expected})


@case({"count": 256}, {"count": 201})
def broadcast_polynomial(random, count):
    c, x = small(random, 8, np.float64), small(random, count, np.float64)
    args = [c, x, poisoned(count, np.float64), count]
    return Launch(blocks(count, 96), 96, args, {2: np.polyval(c[::-1], x)})


@case(
    {"grid": 2, "group": 1},
    {"grid": 1, "group": 2},
    {"grid": 1, "group": 4},
    {"grid": 1, "group": 16},
)
def broadcast_groups(random, grid, group):
    x = small(random, (grid, 32, 4), np.float32)
    lane = np.arange(32)
    at = lane // group
    expected = {1: x[:, at], 2: x[:, at * group, 1:3], 3: x[:, (lane ^ group) % 32, 3]}
    args = [x, *(poisoned(expected[i].shape, np.float32) for i in (1, 2, 3)), group]
    return Launch(grid, 32, args, expected)


@case(
    *({"count": 256, "stride": stride, "offset": 0} for stride in (1, 2, 4, 8, 16, 32)),
    {"count": 201, "stride": 1, "offset": 5},
    {"count": 201, "stride": 3, "offset": 1},
)
def gather_stride(random, count, stride, offset):
    size = count * stride + 3
    x = small(random, size, np.float32)
    expected = x[(np.arange(count) * stride + offset) % size]
    args = [x, poisoned(count, np.float32), count, size, stride, offset]
    return Launch(blocks(count, 128), 128, args, {1: expected})


@case({"count": 256}, {"count": 201})
def gather_random(random, count):
    index, x = random.permutation(count).astype(np.int64), small(random, count, np.float64)
    scattered = np.empty_like(x)
    scattered[index] = x
    args = [index, x, poisoned(count, np.float64), poisoned(count, np.float64), count]
    return Launch(blocks(count, 128), 128, args, {2: x[index], 3: scattered})


@case({"count": 512, "grid": 2}, {"count": 333, "grid": 3})
def gather_short(random, count, grid):
    table = random.randint(-30000, 30000, 256).astype(np.int16)
    x = random.randint(0, 256, count).astype(np.uint8)
    args = [table, x, poisoned(count, np.int16), count]
    return Launch(grid, 96, args, {2: table[x]})


@case(*({"grid": 1, "stride": stride} for stride in (1, 2, 3, 8)), {"grid": 2, "stride": 6})
def shared_stride(random, grid, stride):
    x = small(random, (grid, 128), np.int32)
    thread = np.arange(128)
    at = thread * stride % 1024
    value = x[:, at % 128]
    expected = value[:, ::-1] + thread[::-1] - value
    args = [x, poisoned(x.shape, np.int32), stride]
    return Launch(grid, 128, args, {1: expected.astype(np.int32)})


@case({"count": 512}, {"count": 333})
def scan_hillis(random, count):
    x = small(random, count, np.int32)
    expected = np.cumsum(per_block(x, 256), 1, dtype=np.int32).reshape(-1)[:count]
    args = [x, poisoned(count, np.int32), count]
    return Launch(blocks(count, 256), 256, args, {1: expected})


def make_scan(random, count):
    x = small(random, count, np.float32)
    rows = per_block(x, 256)
    expected = (np.cumsum(rows, 1) - rows).reshape(-1)[:count]
    args = [x, poisoned(count, np.float32), count]
    return Launch(blocks(count, 256), 128, args, {1: expected})


@case({"count": 512}, {"count": 333})
def scan_blelloch(random, count):
    return make_scan(random, count)


@case({"count": 512}, {"count": 333})
def scan_padded(random, count):
    return make_scan(random, count)


@case({"count": 512}, {"count": 333})
def bitonic_block(random, count):
    x = random.randint(0, 2**31, count).astype(np.uint32)
    expected = np.sort(per_block(x, 256, 2**32 - 1), 1).reshape(-1)[:count]
    args = [x, poisoned(count, np.uint32), count]
    return Launch(blocks(count, 256), 256, args, {1: expected})


@case({"rows": 8}, {"rows": 5})
def butterfly(random, rows):
    x = small(random, (rows, 64, 2), np.float32)
    expected = x.copy()
    for step in (1, 2, 4, 8, 16, 32):
        pairs = expected.reshape(rows, -1, 2, step, 2)
        total, difference = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
        expected = np.stack([total, difference], 2).reshape(rows, 64, 2)
    args = [x, poisoned(x.shape, np.float32), rows]
    return Launch(blocks(rows, 4), (32, 4), args, {1: expected})


@case({"threads": 64, "count": 8}, {"threads": 45, "count": 5})
def local_array(random, threads, count):
    x = random.randint(0, 1000, (2 * threads, count)).astype(np.int32)
    seen = np.zeros((len(x), 12), np.int64)
    for j in range(count):
        seen[np.arange(len(x)), x[:, j] % 12] += j + 1
    expected = (seen @ (3 ** np.arange(11, -1, -1))).astype(np.int32)
    return Launch(2, threads, [x, poisoned(len(x), np.int32), count], {1: expected})


@case({"count": 256}, {"count": 201})
def early_return(random, count):
    x = small(random, count, np.float32)
    x[64:96] = -1  # a whole warp returns
    out, peaks = poisoned(count, np.float32), poisoned(count, np.float32)
    peak = np.zeros(count, bool)
    peak[1:-1] = (x[1:-1] >= 0) & (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])
    expected = {1: np.where(x >= 0, x * x, out), 2: np.where(peak, x, peaks)}
    return Launch(blocks(count, 64), 64, [x, out, peaks, count], expected)


@case(
    {"count": 128, "mode": 0},
    {"count": 128, "mode": 1},
    {"count": 101, "mode": 2},
)
def generic_choice(random, count, mode):
    x = small(random, count, np.int32)
    i = np.arange(count)
    shared = (mode == 0) | ((mode == 2) & (i % 64 >= 32))
    expected = np.where(shared, 3 * x, x) + 1
    args = [x, poisoned(count, np.int32), count, mode]
    return Launch(blocks(count, 64), 64, args, {1: expected.astype(np.int32)})


@case({"count": 256, "kinds": 5}, {"count": 201, "kinds": 9})
def switch_cases(random, count, kinds):
    kind, x = random.randint(0, kinds, count).astype(np.int32), small(random, count, np.int32)
    tile = per_block(x, 128)
    me, row = np.arange(count) % 128, np.arange(count) // 128
    values = [
        tile[row, me ^ 1] * tile[row, me],
        tile[row, 0] + tile[row, 127],
        tile[row, me * 2 % 128] - tile[row, (me * 32 + 5) % 128],
        x[np.arange(count) // 2],
    ]
    expected = np.choose(np.minimum(kind, 4), [*values, kind * 7]).astype(np.int32)
    args = [kind, x, poisoned(count, np.int32), count]
    return Launch(blocks(count, 128), 128, args, {2: expected})


@case({"count": 128}, {"count": 101})
def branch_small(random, count):
    x = small(random, count, np.int32)
    rows = per_block(x, 64)
    halves = np.concatenate([rows[:, 0::2], rows[:, 1::2] + 1], 1)
    result = np.where(rows > 0, halves, 0).reshape(-1)[:count]
    even, odd = poisoned(count, np.int32), poisoned(count, np.int32)
    expected = {1: np.where(x & 1, even, result), 2: np.where(x & 1, result, odd)}
    expected = {i: value.astype(np.int32) for i, value in expected.items()}
    return Launch(blocks(count, 64), 64, [x, even, odd, count], expected)


@case({"count": 128, "longest": 12}, {"count": 101, "longest": 40})
def loop_lengths(random, count, longest):
    lengths = random.randint(0, longest, count).astype(np.int32)
    table = random.randint(0, 1000, 32).astype(np.int32)
    expected = np.empty(count, np.int32)
    for i in range(count):
        state = i
        for _ in range(lengths[i]):
            state = (state * 3 + int(table[state % 32])) % 2**32
        expected[i] = np.uint32(state).view(np.int32)
    args = [lengths, table, poisoned(count, np.int32), count]
    return Launch(blocks(count, 64), 64, args, {2: expected})


@case({"count": 256}, {"count": 201})
def compact_ballot(random, count):
    x = small(random, count, np.int32)
    grid = blocks(count, 128)
    out = poisoned((grid, 128), np.int32)
    expected, kept = out.copy(), np.zeros(grid, np.int32)
    for block, row in enumerate(per_block(x, 128)):
        positive = row[row > 0]
        kept[block] = len(positive)
        expected[block, : len(positive)] = positive
    return Launch(grid, 128, [x, out, poisoned(grid, np.int32), count], {1: expected, 2: kept})


@case({"count": 256, "threads": 64}, {"count": 201, "threads": 96})
def device_table(random, count, threads):
    x = random.randint(0, 1000, count).astype(np.int32)
    expected = (3 * (x & 63)).astype(np.int32)
    return Launch(1, threads, [x, poisoned(count, np.int32), count], {1: expected})
