"""Calls of the kernels of unseen_more.cu, unseen_others.cu and unseen_last.cu."""

import numpy
from predict.unseen_cases import case, make_random

# Of unseen_more.cu ------------------------------------------------------------------------------


@case
def count_aggregated():
    n = 1 << 22
    arrays = make_random(n, numpy.uint32), numpy.zeros(64, numpy.uint32)
    return (528,), (256,), [*arrays, numpy.int32(n)], 0


@case
def wave_step():
    rows, columns = 2048, 4096
    arrays = make_random(rows * columns), make_random(rows * columns)
    return (
        (columns // 32, rows // 16),
        (32, 8),
        [*arrays, numpy.int32(rows), numpy.int32(columns)],
        0,
    )


@case
def invert4():
    n = 1 << 18
    arrays = make_random(16 * n), numpy.empty(16 * n, numpy.float32)
    return (n // 128,), (128,), [*arrays, numpy.int32(n)], 0


@case
def row_prefix():
    rows = 4096
    return (rows,), (256,), [make_random(rows * 1024), numpy.empty(rows * 1024, "f4")], 0


@case
def split_structs():
    n = 1 << 21
    arrays = make_random(7 * n), numpy.empty(7 * n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def find_word():
    n = 1 << 24
    arrays = make_random(n, numpy.uint8, 255), numpy.zeros(1, numpy.uint32)
    return (n // 1024,), (256,), [*arrays, numpy.int32(n)], 0


@case
def near_forces():
    n = 1 << 14
    return (n // 128,), (128,), [make_random(4 * n), numpy.empty(4 * n, "f4"), numpy.int32(n)], 0


@case
def sparse_warps():
    rows, each = 1 << 16, 48
    random = numpy.random.RandomState(13)
    first = numpy.zeros(rows + 1, numpy.int32)
    first[1:] = numpy.cumsum(random.randint(1, 2 * each, rows))
    columns = random.randint(0, rows, first[-1]).astype(numpy.int32)
    arrays = first, columns, make_random(len(columns)), make_random(rows)
    return (
        (rows // 4,),
        (128,),
        [*arrays, numpy.empty(rows, numpy.float32), numpy.int32(rows)],
        0,
    )


@case
def nearest_bits():
    n = 1 << 19
    arrays = make_random(2 * n, numpy.uint32), make_random(1024, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.empty(n, numpy.int32)], 0


@case
def few_sums():
    n = 1 << 19
    return (
        (n // 256,),
        (256,),
        [make_random(n), numpy.zeros(16, numpy.float32), numpy.int32(n)],
        0,
    )


@case
def walk_lists():
    n = 1 << 21
    next_of = numpy.random.RandomState(17).permutation(n).astype(numpy.int32)
    return (132,), (32,), [next_of, numpy.empty(132 * 32, numpy.int32), numpy.int32(200)], 0


@case
def mixed_sums():
    n, grid = 1 << 24, 132 * 8
    arrays = make_random(n), make_random(n), numpy.empty(grid * 256, numpy.float64)
    return (grid,), (256,), [*arrays, numpy.int32(n)], 0


# Of unseen_others.cu ----------------------------------------------------------------------------


@case
def double_roots():
    n = 1 << 20
    arrays = make_random(n, numpy.float64), numpy.empty(n, numpy.float64)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def waves():
    n, count = 1 << 18, 64
    arrays = make_random(2 * count), numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(count), numpy.int32(n)], 0


@case
def sort_lanes():
    n = 1 << 22
    return (n // 256,), (256,), [make_random(n), numpy.int32(n)], 0


@case
def shared_votes():
    n = 1 << 24
    arrays = make_random(n, numpy.uint32), numpy.zeros(1024, numpy.uint32)
    return (132 * 4,), (512,), [*arrays, numpy.int32(n)], 0


@case
def restride():
    n = 1 << 22
    arrays = make_random(5 * n), numpy.empty(3 * n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def escape():
    width, height = 2048, 1024
    out = numpy.empty(width * height, numpy.uint8)
    size = numpy.int32(width), numpy.int32(height)
    return (width // 32, height // 8), (32, 8), [out, *size, numpy.int32(500)], 0


@case
def constants():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def mix64():
    n = 1 << 21
    return (n // 256,), (256,), [make_random(n, numpy.int64).astype("u8"), numpy.int32(n)], 0


@case
def blend_halves():
    n = 1 << 23
    arrays = make_random(2 * n, "f2"), make_random(2 * n, "f2"), numpy.empty(2 * n, "f2")
    return (n // 256,), (256,), [*arrays, numpy.float32(0.25), numpy.int32(n)], 0


@case
def smooth_often():
    each = 25_600
    return (132 * 4,), (512,), [make_random(132 * 4 * each), numpy.int32(each)], 8 * each


@case
def few_blocks():
    columns, rows = 1 << 16, 8
    arrays = make_random(rows * columns), numpy.empty(rows, numpy.float32)
    return (rows,), (256,), [*arrays, numpy.int32(columns), numpy.int32(4)], 0


@case
def mean27():
    n = 258
    arrays = make_random(n**3), numpy.empty(n**3, numpy.float32)
    return (n // 32, n // 8, n - 2), (32, 8), [*arrays, numpy.int32(n)], 0


@case
def find_places():
    n, length = 1 << 20, 1 << 22
    keys = make_random(n, numpy.uint32)
    arrays = numpy.sort(make_random(length, numpy.uint32)), keys, numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(length), numpy.int32(n)], 0


@case
def small_maxima():
    n = 1 << 24
    return (n // 256,), (64,), [make_random(n), numpy.empty(n // 256, numpy.float32)], 0


@case
def digit_sums():
    n = 1 << 22
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.uint32(7), numpy.int32(n)], 0


@case
def eight_least():
    n, rows = 1 << 16, 256
    arrays = make_random(rows * n), numpy.empty(8 * n, numpy.float32)
    return (n // 128,), (128,), [*arrays, numpy.int32(rows), numpy.int32(n)], 0


# Of unseen_last.cu ------------------------------------------------------------------------------


@case
def scatter_words():
    n = 1 << 22
    place = numpy.random.RandomState(19).permutation(n).astype(numpy.uint32)
    return (n // 256,), (256,), [place, make_random(n), numpy.empty(n, "f4"), numpy.int32(n)], 0


@case
def two_tables():
    n = 1 << 22
    tables = make_random(4096), make_random(16)
    arrays = make_random(n, numpy.uint32), *tables, numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def row_moments():
    rows, columns = 16384, 1024
    arrays = make_random(rows * columns), numpy.empty(2 * rows, numpy.float32)
    return (rows // 8,), (256,), [*arrays, numpy.int32(columns), numpy.int32(rows)], 0


@case
def blur_tile():
    n = 4096
    arrays = make_random(n * n), numpy.empty(n * n, numpy.float32)
    return (n // 64, n // 16), (256,), [*arrays, numpy.int32(n)], 0


@case
def count_words():
    n = 1 << 24
    arrays = make_random(4 * n, numpy.uint8, 255), numpy.zeros(1, numpy.uint32)
    return (132 * 8,), (256,), [*arrays, numpy.int32(n)], 0


@case
def orbits():
    n = 1 << 18
    return (n // 128,), (128,), [make_random(4 * n, "f8"), numpy.int32(32), numpy.int32(n)], 0


@case
def majority():
    n = 1 << 23
    arrays = make_random(n, numpy.uint32), numpy.empty(n // 32, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def odd_even():
    n = 1 << 21
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def join_planes():
    n = 1 << 23
    arrays = make_random(3 * n, numpy.uint8, 255), numpy.empty(4 * n, numpy.uint8)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def tall_small():
    rows = 1 << 19
    arrays = make_random(rows * 16), make_random(256), numpy.empty(rows * 16, numpy.float32)
    return (rows // 256,), (256,), [*arrays, numpy.int32(rows)], 0
