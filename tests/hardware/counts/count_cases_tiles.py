"""Launches of the kernels about tiles: transposes, stencils, rows, vectors, products."""

import numpy as np
from hardware.counts.count_launches import Launch, blocks, case, per_block, poisoned, small

SQUARE, RAGGED = {"rows": 64, "columns": 96}, {"rows": 50, "columns": 75}


def make_transpose(random, dtype, rows, columns, tile, height):
    x = random.randint(0, 30000, (rows, columns)).astype(dtype)
    grid = (blocks(columns, tile), blocks(rows, tile))
    args = [x, poisoned((columns, rows), dtype), rows, columns]
    return Launch(grid, (tile, height), args, {1: x.T})


@case(SQUARE, RAGGED)
def transpose_naive(random, rows, columns):
    return make_transpose(random, np.float32, rows, columns, 32, 8)


@case(SQUARE, RAGGED)
def transpose_shared(random, rows, columns):
    return make_transpose(random, np.float32, rows, columns, 32, 8)


@case(SQUARE, RAGGED)
def transpose_shared_double(random, rows, columns):
    return make_transpose(random, np.float64, rows, columns, 32, 8)


@case(SQUARE, RAGGED)
def transpose_padded(random, rows, columns):
    return make_transpose(random, np.int32, rows, columns, 32, 8)


@case(SQUARE, RAGGED)
def transpose_padded_double(random, rows, columns):
    return make_transpose(random, np.float64, rows, columns, 16, 16)


@case(SQUARE, RAGGED)
def transpose_swizzled(random, rows, columns):
    return make_transpose(random, np.float32, rows, columns, 32, 8)


@case(SQUARE, RAGGED)
def transpose_swizzled_double(random, rows, columns):
    return make_transpose(random, np.float64, rows, columns, 32, 8)


@case(SQUARE, RAGGED)
def transpose_half(random, rows, columns):
    return make_transpose(random, np.uint16, rows, columns, 32, 16)


@case({"count": 512}, {"count": 345})
def stencil_row(random, count):
    x = small(random, count, np.float32)
    wide = np.pad(x, 3)
    expected = sum(wide[i : i + count] for i in range(7))
    return Launch(blocks(count, 128), 128, [x, poisoned(count, np.float32), count], {1: expected})


@case({"rows": 32, "columns": 48}, {"rows": 21, "columns": 37})
def stencil_square(random, rows, columns):
    x = small(random, (rows, columns), np.float32)
    wide = np.pad(x, 1)
    expected = sum(wide[j : j + rows, i : i + columns] for j in range(3) for i in range(3))
    args = [x, poisoned(x.shape, np.float32), rows, columns]
    return Launch((blocks(columns, 16), blocks(rows, 16)), (16, 16), args, {1: expected})


@case({"depth": 8, "rows": 8, "columns": 32}, {"depth": 5, "rows": 7, "columns": 19})
def stencil_cube(random, depth, rows, columns):
    x = small(random, (depth, rows, columns), np.int32)
    wide = np.pad(x, 1)
    expected = -6 * x
    for axis in range(3):
        for shift in (0, 2):
            part = [slice(1, -1)] * 3
            part[axis] = slice(shift, shift + x.shape[axis])
            expected = expected + wide[tuple(part)]
    grid = (blocks(columns, 8), blocks(rows, 4), blocks(depth, 4))
    args = [x, poisoned(x.shape, np.int32), depth, rows, columns]
    return Launch(grid, (8, 4, 4), args, {1: expected})


@case({"count": 512}, {"count": 333})
def tile_float2(random, count):
    x = small(random, (count, 2), np.float32)
    expected = np.concatenate([x[i : i + 128][::-1, ::-1] for i in range(0, count, 128)])
    args = [x, poisoned(x.shape, np.float32), count]
    return Launch(blocks(count, 128), 128, args, {1: expected})


def make_float4(random, tiles, grid):
    x = small(random, (tiles, 32, 8, 4), np.float32)
    args = [x, poisoned((tiles, 8, 32, 4), np.float32), tiles]
    return Launch(grid, 256, args, {1: x.transpose(0, 2, 1, 3)})


@case({"tiles": 4, "grid": 2}, {"tiles": 5, "grid": 3})
def tile_float4(random, tiles, grid):
    return make_float4(random, tiles, grid)


@case({"tiles": 4, "grid": 2}, {"tiles": 5, "grid": 3})
def swizzle_float4(random, tiles, grid):
    return make_float4(random, tiles, grid)


@case({"rows": 64}, {"rows": 41})
def half_sums(random, rows):
    x = small(random, (rows, 40), np.float16)
    expected = np.cumsum(x.astype(np.float32), axis=1).astype(np.float16)
    args = [x, poisoned(x.shape, np.float16), rows]
    return Launch(blocks(rows, 32), 64, args, {1: expected})


@case({"count": 192}, {"count": 131})
def half_pairs(random, count):
    x = random.randint(0, 65536, (count, 2)).astype(np.uint16)
    rows = per_block(x.reshape(-1), 192)
    moved = np.pad(rows, ((0, 0), (0, 1)))[:, 1:]
    args = [x, poisoned(x.shape, np.uint16), count]
    return Launch(blocks(count, 96), 96, args, {1: moved.reshape(-1, 2)[:count]})


@case({"width": 256, "height": 3}, {"width": 203, "height": 5})
def byte_blur(random, width, height):
    x = random.randint(0, 256, (height, width)).astype(np.uint8)
    wide = np.pad(x.astype(int), ((0, 0), (1, 1)), mode="edge")
    expected = ((wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) // 3).astype(np.uint8)
    args = [x, poisoned(x.shape, np.uint8), width]
    return Launch((blocks(width, 128), height), 128, args, {1: expected})


@case({"rows": 128}, {"rows": 101})
def byte_columns(random, rows):
    x = small(random, (rows, 64), np.int8)
    args = [x, poisoned(rows, np.int32), rows]
    return Launch(blocks(rows, 64), 64, args, {1: x.sum(1, dtype=np.int32)})


@case({"count": 128}, {"count": 101})
def char4_swap(random, count):
    x = random.randint(0, 256, (count, 4)).astype(np.uint8)
    out, red = np.empty_like(x), np.empty(count, np.uint8)
    for first in range(0, count, 64):
        part = x[first : first + 64]
        out[first : first + 64] = part[::-1][:, [2, 1, 0, 3]]
        partner = np.minimum(np.arange(len(part)) ^ 1, len(part) - 1)
        red[first : first + 64] = part[partner, 0]
    args = [x, poisoned(x.shape, np.uint8), poisoned(count, np.uint8), count]
    return Launch(blocks(count, 64), 64, args, {1: out, 2: red})


@case({"grid": 2, "tiles": 4}, {"grid": 3, "tiles": 1})
def async_words(random, grid, tiles):
    x = small(random, (grid, tiles, 8, 32), np.float32)
    expected = x.sum(1).transpose(0, 2, 1).reshape(grid, 256)
    args = [x, poisoned((grid, 256), np.float32), tiles]
    return Launch(grid, 256, args, {1: expected})


@case({"count": 256}, {"count": 203})
def async_pairs(random, count):
    x = small(random, count, np.float64)
    tile = per_block(x, 128)
    at = np.arange(128)
    expected = (tile + tile[:, at ^ 64 ^ 5]).reshape(-1)[:count]
    args = [x, poisoned(count, np.float64), count]
    return Launch(blocks(count, 128), 128, args, {1: expected})


@case({"grid": 2, "tiles": 4, "missing": 0}, {"grid": 3, "tiles": 2, "missing": 45})
def async_chunks(random, grid, tiles, missing):
    x = small(random, (grid * tiles * 64, 4), np.float32)
    there = x.copy()
    count = len(x) - missing
    there[count:] = 0
    mirrored = there.reshape(grid, tiles, 64, 4)[:, :, ::-1]
    expected = (mirrored[..., 0] + mirrored[..., 3]).sum(1)
    args = [x, poisoned((grid, 64), np.float32), count, tiles]
    return Launch(grid, 64, args, {1: expected})


@case({"count": 128, "distance": 1}, {"count": 101, "distance": 5})
def double2_rotate(random, count, distance):
    x = small(random, (count, 2), np.float64)
    tile = per_block(x.view(np.complex128)[:, 0], 64)
    product = tile * tile[:, np.arange(64) * distance % 64]
    expected = product.reshape(-1)[:count].view(np.float64).reshape(-1, 2)
    args = [x, poisoned(x.shape, np.float64), count, distance]
    return Launch(blocks(count, 64), 64, args, {1: expected})


@case({"count": 192}, {"count": 131})
def struct_particles(random, count):
    x = small(random, (count, 3), np.float32)
    i = np.arange(count)
    other = x[np.where(i % 96 > 0, i - 1, i)]
    expected = np.stack([x[:, 0] - other[:, 0], x[:, 1] - other[:, 1], x[:, 2] + other[:, 2]], 1)
    args = [x, poisoned(x.shape, np.float32), count]
    return Launch(blocks(count, 96), 96, args, {1: expected})


@case({"count": 96}, {"count": 77})
def struct_records(random, count):
    layout = [("key", "i4"), ("weight", "f4"), ("kind", "i2"), ("level", "i2"), ("rest", "f4")]
    record = np.dtype([*layout, ("value", "f8"), ("limit", "f8")])
    assert record.itemsize == 32
    x = np.zeros(count, record)
    for name in record.names:
        x[name] = small(random, count, record[name])
    i = np.arange(count) ^ 1
    there = i < count
    mine = x[np.minimum(i, count - 1)]
    out = np.where(there, mine["value"] * mine["weight"] + mine["limit"] + mine["rest"], 0.0)
    keys = np.where(there, mine["key"] + mine["kind"].astype(int) * mine["level"], -1)
    args = [x.view(np.uint8), poisoned(count, np.float64), poisoned(count, np.int32), count]
    return Launch(blocks(count, 32), 32, args, {1: out, 2: keys.astype(np.int32)})


def fold(rows):
    """sum = sum * 0.5 + element along each row, as the kernels do; exact for few small integers."""
    total = np.zeros(len(rows), np.float32)
    for column in rows.T:
        total = (total.astype(np.float64) * 0.5 + column).astype(np.float32)  # fma rounds once
    return total


def make_walk(random, rows):
    x = small(random, (rows, 32), np.float32)
    return Launch(blocks(rows, 32), 32, [x, poisoned(rows, np.float32), rows], {1: fold(x)})


@case({"rows": 64}, {"rows": 45})
def walk_rows_32(random, rows):
    return make_walk(random, rows)


@case({"rows": 64}, {"rows": 45})
def walk_rows_33(random, rows):
    return make_walk(random, rows)


@case({"rows": 64}, {"rows": 45})
def walk_rows_34(random, rows):
    return make_walk(random, rows)


@case({"rows": 64}, {"rows": 45})
def walk_rows_36(random, rows):
    return make_walk(random, rows)


@case({"rows": 64}, {"rows": 45})
def walk_rows_rolled(random, rows):
    return make_walk(random, rows)


@case({"rows": 48}, {"rows": 37})
def walk_columns(random, rows):
    x = small(random, (rows, 64), np.float64)
    expected = np.zeros(64)
    for row in range(blocks(rows, 16) * 16):
        expected = expected * 0.5 + (x[row][np.arange(64) ^ 1] if row < rows else 0)
    return Launch(1, 64, [x, poisoned(64, np.float64), rows], {1: expected})


@case({"rows": 128}, {"rows": 99})
def walk_doubles(random, rows):
    x = small(random, (rows, 10), np.float64)
    expected = x.sum(1) + x[:, 1] * x[:, 3] * x[:, 5]
    return Launch(blocks(rows, 64), 64, [x, poisoned(rows, np.float64), rows], {1: expected})


@case({"rows": 64}, {"rows": 45})
def misaligned_base(random, rows):
    x = small(random, (rows, 20), np.float32)
    expected = np.zeros((rows, 3), np.float32)
    expected[:, 0], expected[:, 1] = fold(x[:, 1:9]), fold(x[:, 10:16])
    for first in range(0, rows, 32):
        part = x[first : first + 32]
        lane = np.arange(len(part))
        other = np.where(31 - lane < len(part), 31 - lane, lane)
        expected[first : first + 32, 2] = fold(part[other, 3:7])
    args = [x, poisoned((rows, 3), np.float32), rows]
    return Launch(blocks(rows, 32), 32, args, {1: expected})


@case({"count": 512}, {"count": 301})
def add_float4(random, count):
    a, b = small(random, count, np.float32), small(random, count, np.float32)
    args = [a, b, poisoned(count, np.float32), count]
    return Launch(blocks(count // 4, 64), 64, args, {2: a + b})


@case({"count": 512}, {"count": 301})
def add_unrolled(random, count):
    a, b = small(random, count, np.float32), small(random, count, np.float32)
    args = [a, b, poisoned(count, np.float32), count]
    return Launch(blocks(count, 256), 64, args, {2: a + b})


@case({"count": 2048, "grid": 2}, {"count": 1000, "grid": 3})
def axpy_grid_stride(random, count, grid):
    x, y = small(random, count, np.float64), small(random, count, np.float64)
    return Launch(grid, 64, [x, y, 2.5, count], {1: y + 2.5 * x})


@case({"rows": 16, "columns": 256}, {"rows": 13, "columns": 77})
def matvec_warp(random, rows, columns):
    a, x = small(random, (rows, columns), np.float32), small(random, columns, np.float32)
    args = [a, x, poisoned(rows, np.float32), rows, columns]
    return Launch(blocks(rows, 4), (32, 4), args, {2: a @ x})


@case({"rows": 64, "columns": 64}, {"rows": 77, "columns": 100})
def matvec_tile(random, rows, columns):
    a, x = small(random, (rows, columns), np.float64), small(random, columns, np.float64)
    args = [a, x, poisoned(rows, np.float64), rows, columns]
    return Launch(blocks(rows, 64), 64, args, {2: a @ x})


def make_product(random, m, n, k, rows, columns):
    a, b = small(random, (m, k), np.float32), small(random, (k, n), np.float32)
    args = [a, b, poisoned((m, n), np.float32), m, n, k]
    return Launch((blocks(n, columns), blocks(m, rows)), 256, args, {2: a @ b})


@case({"m": 64, "n": 64, "k": 32}, {"m": 50, "n": 75, "k": 21})
def gemm_rows(random, m, n, k):
    return make_product(random, m, n, k, 32, 64)


@case({"m": 64, "n": 64, "k": 32}, {"m": 70, "n": 75, "k": 21})
def gemm_squares(random, m, n, k):
    return make_product(random, m, n, k, 64, 64)


@case({"count": 128, "shift": 1}, {"count": 101, "shift": 40})
def pad_value(random, count, shift):
    x = small(random, count, np.float32)
    pad = 0.5
    tile = per_block(x, 64, pad)
    left, right = np.full_like(tile, pad), np.full_like(tile, pad)
    left[:, shift:], right[:, :-shift] = tile[:, :-shift], tile[:, shift:]
    args = [x, poisoned(count, np.float32), count, shift, pad]
    return Launch(blocks(count, 64), 64, args, {1: (left + right).reshape(-1)[:count]})


@case({"count": 128}, {"count": 101})
def restrict_reads(random, count):
    matrix, x = small(random, (4, 4), np.float32), small(random, (count, 4), np.float32)
    args = [matrix, x, poisoned(x.shape, np.float32), count]
    return Launch(blocks(count, 64), 64, args, {2: x @ matrix.T})


@case({"count": 128, "value": 3}, {"count": 101, "value": 70000})
def fill_vectors(random, count, value):
    i = np.arange(count)
    thread = (i % 64).astype(np.uint32)
    out = np.stack([np.full(count, value, np.uint32)] * 3 + [thread], 1)
    sums = (3 * value + 1 + (thread ^ 3) + 7).astype(np.int32)
    args = [poisoned(out.shape, np.uint32), poisoned(count, np.int32), count, value]
    return Launch(blocks(count, 64), 64, args, {0: out, 1: sums})


@case({"count": 128}, {"count": 101})
def constant_filter(random, count):
    x = small(random, count, np.int32)
    at = np.clip(np.arange(count)[:, None] + np.arange(-2, 3), 0, count - 1)
    expected = (x[at] * [1, -2, 3, -2, 1]).sum(1).astype(np.int32)
    return Launch(blocks(count, 64), 64, [x, poisoned(count, np.int32), count], {1: expected})


@case({"grid": 2, "size": 64}, {"grid": 3, "size": 45})
def dynamic_carve(random, grid, size):
    x = small(random, (grid, size), np.float32)
    sums = x.astype(np.float64) + np.roll(x, -1, 1)
    args = [x, poisoned(x.shape, np.float64), poisoned(x.shape, np.float32)]
    args += [poisoned(x.shape, np.int16), size]
    expected = {1: sums, 2: np.roll(x, -1, 1) / 2, 3: x[:, ::-1].astype(np.int16)}
    return Launch(grid, 32, args, expected, shared=size * 14)


@case({"rows": 64, "pitch": 32}, {"rows": 45, "pitch": 33})
def dynamic_rows(random, rows, pitch):
    x = small(random, (rows, 32), np.float32)
    args = [x, poisoned(rows, np.float32), rows, pitch]
    return Launch(blocks(rows, 32), 32, args, {1: fold(x)}, shared=4 * 32 * pitch)
