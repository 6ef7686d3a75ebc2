"""Launches of the kernels with wide accesses: stmatrix, ldmatrix, atomics of vectors."""

import numpy as np
from hardware.counts.count_launches import Launch, blocks, case, poisoned

ROWS = 32  # of a warp: four matrices of eight rows


def spread_matrix(words, turned):
    """The rows of an 8x8 matrix, four words each, of which every lane holds one word."""
    halves = np.ascontiguousarray(words).view(np.uint16).reshape(8, 8)
    return np.ascontiguousarray(halves.T if turned else halves).view(np.uint32)


@case({"warps": 4, "stride": 16}, {"warps": 3, "stride": 272}, {"warps": 2, "stride": 64})
def matrix_stores(random, warps, stride):
    words = random.randint(0, 2**32, (warps, ROWS, 4), np.uint32)
    out = poisoned((warps, ROWS, 5, 4), np.uint32)
    expected = out.copy()
    for i, (count, turned) in enumerate(((1, 0), (2, 0), (4, 0), (2, 1), (4, 1))):
        for warp in range(warps):
            for j in range(count):
                rows = spread_matrix(words[warp, :, j], turned)
                expected[warp, 8 * j : 8 * j + 8, i] = rows
    return Launch(warps, ROWS, [words, out, stride], {1: expected})


@case({"warps": 4, "stride": 16}, {"warps": 3, "stride": 272}, {"warps": 2, "stride": 64})
def matrix_loads(random, warps, stride):
    rows = random.randint(0, 2**32, (warps, ROWS, 4), np.uint32)
    expected = np.empty((warps, ROWS, 13), np.uint32)
    columns = [(0, 0), (0, 0), (1, 0), *((j, 0) for j in range(4)), (0, 1), (1, 1)]
    columns += [(j, 1) for j in range(4)]
    for at, (j, turned) in enumerate(columns):
        for warp in range(warps):
            expected[warp, :, at] = spread_matrix(rows[warp, 8 * j : 8 * j + 8], turned).ravel()
    return Launch(warps, ROWS, [rows, poisoned(expected.shape, np.uint32), stride], {1: expected})


@case(
    {"count": 256, "spread": 1, "stride": 1},
    {"count": 101, "spread": 4, "stride": 1},
    {"count": 100, "spread": 1, "stride": 3},
)
def atomic_vectors(random, count, spread, stride):
    grid, block = blocks(count, 64), 64
    whole = grid * block
    cells = np.zeros((9, whole * stride, 16), np.uint8)
    cells[7:].view(np.float32)[...] = 2
    expected = cells.copy()
    at = np.arange(count) // spread * stride
    own = np.arange(count) * stride
    sums, counts = np.zeros((2, whole * stride), np.float32)
    np.add.at(sums, at, np.arange(count) % 4)
    np.add.at(counts, at, 1)
    halves = counts.astype(np.float16)
    brains = (counts.view(np.uint32) >> 16).astype(np.uint16)
    kinds = [(sums, 4), (sums, 2), (halves, 8), (halves, 2), (brains, 4), (halves, 8), (brains, 4)]
    for i, (values, width) in enumerate(kinds):
        row = np.repeat(values[:, None], width, 1)
        expected[i, :, : row.itemsize * width] = row.view(np.uint8)
    for i, width in ((7, 4), (8, 2)):
        row = np.repeat((2 + np.arange(count) % 4).astype(np.float32)[:, None], width, 1)
        expected[i, own, : 4 * width] = row.view(np.uint8)
    old = poisoned((2, whole), np.float32)
    before = old.copy()
    before[:, :count] = [[8], [4]]
    return Launch(grid, block, [cells, old, spread, stride, count], {0: expected, 1: before})


@case({"count": 128, "stride": 1}, {"count": 101, "stride": 5}, {"count": 75, "stride": 2})
def atomic_wide_words(random, count, stride):
    grid, block = blocks(count, 32), 32
    i = np.arange(count)
    new = np.stack([7 * i + 1, 11 * i + 3], 1).astype(np.uint64)
    kept = np.repeat((i % 2).astype(np.uint64)[:, None], 2, 1)
    cells = np.zeros((grid * block * stride, 2), np.uint64)
    expected = cells.copy()
    expected[i * stride] = new
    out = poisoned((grid * block, 5, 2), np.uint64)
    results = out.copy()
    swapped = np.where(kept == 0, new, kept)
    results[:count] = np.stack([np.zeros_like(new), new, kept, swapped, new], 1)
    return Launch(grid, block, [cells, out, stride, count], {0: expected, 1: results})
