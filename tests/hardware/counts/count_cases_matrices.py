"""Launches of the kernels that multiply on tensor cores, with and without ldmatrix."""

import numpy as np
from hardware.counts.count_launches import Launch, blocks, case, poisoned, small


def cut(x):
    """Small integers as bfloat16, which are the upper halves of float32."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def make_product(a, b, given, tile, block):
    """Of a and b; `given` are the arrays that the kernel takes for them."""
    (m, k), n = a.shape, b.shape[1]
    out = np.float64 if a.dtype == np.float64 else np.float32
    grid = (blocks(n, tile[1]), blocks(m, tile[0]))
    args = [*given, poisoned((m, n), out), m, n, k]
    return Launch(grid, block, args, {2: (a @ b).astype(out)})


def make_operands(random, m, n, k, dtype=np.float32):
    return small(random, (m, k), dtype), small(random, (k, n), dtype)


@case({"m": 64, "n": 64, "k": 48}, {"m": 45, "n": 37, "k": 21})
def matrix_padded(random, m, n, k):
    a, b = make_operands(random, m, n, k)
    return make_product(a, b, [a.astype(np.float16), b.astype(np.float16)], (32, 32), 128)


@case({"m": 64, "n": 16, "k": 128}, {"m": 45, "n": 21, "k": 74})
def matrix_crowded(random, m, n, k):
    a, b = make_operands(random, m, n, k)
    return make_product(a, b, [cut(a), cut(b.T)], (32, 8), 64)


@case({"m": 64, "n": 128, "k": 64}, {"m": 72, "n": 40, "k": 45})
def matrix_swizzled(random, m, n, k):
    a, b = make_operands(random, m, n, k)
    return make_product(a, b, [cut(a.T), cut(b)], (64, 64), 128)


@case({"m": 64, "n": 64, "k": 32}, {"m": 45, "n": 37, "k": 21})
def matrix_words(random, m, n, k):
    a, b = make_operands(random, m, n, k)
    return make_product(a, b, [a, b], (32, 32), 64)


@case({"m": 32, "n": 32, "k": 36}, {"m": 21, "n": 13, "k": 7})
def matrix_doubles(random, m, n, k):
    a, b = make_operands(random, m, n, k, np.float64)
    return make_product(a, b, [a, b], (16, 16), 128)
