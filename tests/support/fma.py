"""Sums of products, rounded once a step: what a kernel with a fixed order of summation computes."""

from fractions import Fraction

import numpy as np


def fma32(a, b, c):
    """a * b + c of float32 arrays, rounded once.

    The product is exact in float64. The sum is rounded to odd there (its error is known exactly),
    and a sum rounded to odd with two bits to spare rounds to float32 as the exact one does.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = total.view(np.int64) & 1 == 0
    neighbour = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & even, neighbour, total).astype(np.float32)


def fma64(a, b, c):
    """a * b + c of Python floats, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def gemm_in_order(a, b):
    """The product of two matrices by one fma a term, k ascending from a sum of zero."""
    if a.dtype == np.float32:
        total = np.zeros((a.shape[0], b.shape[1]), np.float32)
        for k in range(a.shape[1]):
            x, y = np.broadcast_arrays(a[:, k : k + 1], b[k : k + 1, :])
            total = fma32(x, y, total)
        return total
    total = np.zeros((a.shape[0], b.shape[1]))
    for i, j in np.ndindex(*total.shape):
        value = 0.0
        for k in range(a.shape[1]):
            value = fma64(a[i, k], b[k, j], value)
        total[i, j] = value
    return total
