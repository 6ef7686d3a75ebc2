"""Calls of the kernels of unseen_usual.cu."""

import numpy
from predict.unseen_cases import case, make_random

INT, FLOAT = numpy.int32, numpy.float32


@case
def sum_large_blocks():
    n = 1 << 24
    return (n // 1024,), (1024,), [make_random(n), numpy.empty(n // 1024, "f4")], 0


@case
def mean17():
    n = 1 << 23
    return (n // 256,), (256,), [make_random(n), numpy.empty(n, "f4"), INT(n)], 0


@case
def heat_planes():
    nx, ny, nz = 258, 258, 130
    arrays = make_random(nx * ny * nz), numpy.empty(nx * ny * nz, "f4")
    return (8, 32), (32, 8), [*arrays, *map(INT, (nx, ny, nz))], 0


@case
def turn_odd():
    rows, columns = 3001, 4099
    arrays = make_random(rows * columns), numpy.empty(rows * columns, "f4")
    return (129, 94), (32, 8), [*arrays, INT(rows), INT(columns)], 0


@case
def count_bytes():
    words = 1 << 22
    arrays = make_random(words, numpy.uint32), numpy.zeros(256, numpy.uint32)
    return (132 * 4,), (256,), [*arrays, INT(words)], 0


@case
def matmul_odd():
    m, n, k = 777, 1111, 555
    arrays = make_random(m * k), make_random(k * n), numpy.empty(m * n, "f4")
    return (-(-n // 16), -(-m // 16)), (16, 16), [*arrays, *map(INT, (m, n, k))], 0


@case
def stride_both():
    n = 1 << 21
    arrays = make_random(7 * n), numpy.empty(5 * n, "f4")
    return (n // 256,), (256,), [*arrays, INT(n)], 0


@case
def three_blocks():
    each = 1 << 18
    return (3,), (512,), [make_random(3 * each), numpy.empty(3, "f4"), INT(each)], 0


@case
def chain_int():
    return (132,), (128,), [make_random(132 * 128, numpy.int32), INT(2000)], 0


@case
def chain_special():
    return (132 * 2,), (128,), [make_random(132 * 256), INT(1000)], 0


@case
def chain_quotients():
    return (132,), (64,), [make_random(132 * 64, "f8"), INT(200)], 0


@case
def chains4():
    return (132,), (256,), [make_random(132 * 256), FLOAT(0.5), FLOAT(0.25), INT(4000)], 0


@case
def tickets():
    n = 1 << 18
    return (n // 256,), (256,), [numpy.zeros(1, numpy.uint32), numpy.empty(n, numpy.uint32)], 0


@case
def spread_sums():
    n = 1 << 21
    arrays = make_random(n, numpy.uint32), make_random(n), numpy.zeros(1 << 20, "f4")
    return (n // 256,), (256,), [*arrays, INT(n)], 0


@case
def eight_ways():
    n = 1 << 19
    return (n // 256,), (256,), [make_random(n), INT(16)], 0


@case
def half_polynomials():
    n = 1 << 22
    return (n // 256,), (256,), [make_random(2 * n, "f2"), numpy.empty(2 * n, "f2"), INT(n)], 0


@case
def filter33():
    n = 1 << 22
    return (n // 256,), (256,), [make_random(n), numpy.empty(n, "f4"), INT(n)], 0


@case
def parted_constants():
    n = 1 << 20
    return (n // 256,), (256,), [make_random(n, numpy.uint32), numpy.empty(n, "f4"), INT(n)], 0


@case
def sort_local():
    n = 1 << 17
    return (n // 128,), (128,), [make_random(24 * n), numpy.empty(n, "f4"), INT(n)], 0


@case
def walk_ring():
    n = 1 << 20
    ring = numpy.empty(n, numpy.uint32)
    order = numpy.random.RandomState(23).permutation(n).astype(numpy.uint32)
    ring[order] = numpy.roll(order, -1)
    return (66,), (1,), [ring, numpy.empty(66, numpy.uint32), INT(256)], 0


@case
def many_barriers():
    return (132 * 2,), (256,), [make_random(132 * 2 * 256), INT(1000)], 0


@case
def last_wave():
    blocks = 132 * 2 + 1
    return (blocks,), (256,), [make_random(blocks * 256), INT(2000)], 100_000


@case
def column_sums():
    rows, columns = 2048, 8192
    arrays = make_random(rows * columns), numpy.empty(columns, "f4")
    return (columns // 256,), (256,), [*arrays, INT(rows), INT(columns)], 0


@case
def life():
    n = 4096
    arrays = make_random(n * n, numpy.uint8, 255), numpy.empty(n * n, numpy.uint8)
    return (n // 32, n // 8), (32, 8), [*arrays, INT(n), INT(n)], 0


@case
def reverse_bits():
    bits = 22
    arrays = make_random(2 << bits), numpy.empty(2 << bits, "f4")
    return (1 << (bits - 8),), (256,), [*arrays, INT(bits)], 0


@case
def nearest_centre():
    n = 1 << 20
    arrays = make_random(8 * n), make_random(128), numpy.empty(n, numpy.int32)
    return (n // 256,), (256,), [*arrays, INT(n)], 0


@case
def take_turns():
    return (400,), (32,), [numpy.zeros(1, numpy.uint32), numpy.zeros(1, "f4")], 0


@case
def pass_on():
    blocks = 528
    flags, sums = numpy.zeros(blocks + 1, numpy.uint32), numpy.zeros(blocks, "f4")
    return (blocks,), (32,), [flags, sums, make_random(blocks * 32)], 0
