"""Calls of the kernels of unseen_kernels.cu, which the package does not have."""

import functools

import numpy

import smemkit

CASES = {}


def case(function):
    """Registers a function that gives (grid, block, arguments, bytes of dynamic shared memory)."""
    CASES[function.__name__] = function
    return function


def make_random(count, dtype=numpy.float32, most=1 << 30):
    """Numbers that are the same in each run."""
    random = numpy.random.RandomState(7)
    if numpy.dtype(dtype).kind == "f":
        return random.rand(count).astype(dtype)
    return random.randint(1, most, count).astype(dtype)


@case
def stencil7():
    n = 256
    arrays = make_random(n**3), numpy.empty(n**3, numpy.float32)
    return (n // 32, n // 8), (32, 8), [*arrays, *map(numpy.int32, (n, n, n))], 0


@case
def matvec_warp():
    n = 8192
    arrays = make_random(n * n), make_random(n), numpy.empty(n, numpy.float32)
    return (n // 8,), (256,), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def matvec_thread():
    n = 8192
    arrays = make_random(n * n), make_random(n), numpy.empty(n, numpy.float32)
    return (n // 128,), (128,), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def count64():
    n = 1 << 24
    arrays = make_random(n, numpy.uint32), numpy.zeros(64, numpy.uint32)
    return (528,), (256,), [*arrays, numpy.int32(n)], 0


@case
def softmax_rows():
    rows, columns = 8192, 2048
    arrays = make_random(rows * columns), numpy.empty(rows * columns, numpy.float32)
    return (rows,), (256,), [*arrays, numpy.int32(columns)], 0


@case
def embed():
    n, words = 1 << 18, 1 << 20
    arrays = (
        make_random(n, numpy.int32, words),
        make_random(words * 64),
        numpy.empty(n * 64, numpy.float32),
    )
    return (n // 8,), (256,), [*arrays, numpy.int32(n)], 0


@case
def collatz():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32, 1 << 20), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def double_chain():
    n = 1 << 22
    arrays = make_random(n, numpy.float64), numpy.empty(n, numpy.float64)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def special():
    n = 1 << 22
    arrays = make_random(n), numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def chains8():
    grid = 132 * 4
    out = numpy.empty(grid * 256, numpy.float32)
    return (grid,), (256,), [out, numpy.float32(0.5), numpy.int32(2000)], 0


@case
def chase():
    n = 1 << 23
    table = make_random(n, numpy.int32, n)
    return (132,), (64,), [table, numpy.empty(132 * 64, numpy.int32), numpy.int32(64)], 100 << 10


@case
def stride9():
    n = 1 << 22
    arrays = make_random(n * 9), numpy.empty(n, numpy.float32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def banks4():
    grid = 132 * 4
    out = numpy.empty(grid * 256, numpy.float32)
    return (grid,), (256,), [out, numpy.int32(2000)], 0


@case
def half_pairs_chain():
    grid = 132 * 4
    out = numpy.empty(grid * 256, numpy.uint32)
    return (grid,), (256,), [out, numpy.float32(0.5), numpy.int32(2000)], 0


@case
def hash():  # noqa: A001 - the name of its kernel
    n = 1 << 23
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def box9():
    n = 4096
    arrays = make_random(n * n), numpy.empty(n * n, numpy.float32)
    return (n // 32, n // 16), (32, 16), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def saxpy():
    n = 1 << 24
    return (
        (n // 256,),
        (256,),
        [make_random(n), make_random(n), numpy.float32(3), numpy.int32(n)],
        0,
    )


@case
def saxpy_small():
    n = 1 << 12
    return (
        (n // 256,),
        (256,),
        [make_random(n), make_random(n), numpy.float32(3), numpy.int32(n)],
        0,
    )


@case
def many_blocks():
    n = 1 << 26
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 32,), (32,), [*arrays, numpy.uint32(n)], 0


@case
def one_block_scan():
    n = 1 << 18
    return (1,), (1024,), [make_random(n), numpy.empty(n, numpy.float32), numpy.int32(n)], 0


@case
def tree_max():
    n = 1 << 24
    return (n // 1024,), (1024,), [make_random(n), numpy.empty(n // 1024, numpy.float32)], 0


@case
def sparse_rows():
    rows, each = 1 << 18, 16
    random = numpy.random.RandomState(11)
    first = numpy.zeros(rows + 1, numpy.int32)
    first[1:] = numpy.cumsum(random.randint(1, 2 * each, rows))
    columns = random.randint(0, rows, first[-1]).astype(numpy.int32)
    arrays = first, columns, make_random(len(columns)), make_random(rows)
    return (
        (rows // 128,),
        (128,),
        [*arrays, numpy.empty(rows, numpy.float32), numpy.int32(rows)],
        0,
    )


@case
def bodies():
    n = 1 << 15
    return (n // 256,), (256,), [make_random(4 * n), numpy.empty(4 * n, "f4"), numpy.int32(n)], 0


@case
def matmul_banks():
    n = 1024
    arrays = make_random(n * n), make_random(n * n), numpy.empty(n * n, numpy.float32)
    return (n // 32, n // 32), (32, 32), [*arrays, numpy.int32(n)], 0


@case
def jacobi_double():
    n = 4096
    arrays = make_random(n * n, numpy.float64), numpy.empty(n * n, numpy.float64)
    return (n // 32, n // 8), (32, 8), [*arrays, numpy.int32(n), numpy.int32(n)], 0


@case
def wmma_tiles():
    n = 2048
    arrays = make_random(n * n, "f2"), make_random(n * n, "f2"), numpy.empty(n * n, numpy.float32)
    return (n // 64, n // 64), (128,), [*arrays, numpy.int32(n)], 0


@case
def turned_image():
    n = 4096
    image = make_random(n * n).reshape(n, n)
    texture = functools.partial(smemkit.Texture, image, filter="linear")
    size = numpy.int32(n), numpy.int32(n)
    angle = numpy.float32(0.8), numpy.float32(0.6)
    out = numpy.empty(n * n, numpy.float32)
    return (n // 32, n // 8), (32, 8), [texture, out, *size, *angle], 0


@case
def printing():
    n = 1 << 22
    return (n // 256,), (256,), [make_random(n), numpy.empty(n, numpy.float32), numpy.int32(n)], 0


@case
def count_skewed():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.zeros(4096, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.int32(n)], 0


@case
def local_tables():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 128,), (128,), [*arrays, numpy.int32(n)], 0


@case
def sort_rows():
    rows = 4096
    return (rows,), (512,), [make_random(rows * 1024)], 0


@case
def remainders():
    n = 1 << 20
    arrays = make_random(n, numpy.uint32), numpy.empty(n, numpy.uint32)
    return (n // 256,), (256,), [*arrays, numpy.uint32(1000003), numpy.int32(n)], 0
