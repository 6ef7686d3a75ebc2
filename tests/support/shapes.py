"""The zoo: shapes, memory layouts, element types and values that every kernel family must take.

A layout makes an array of the same shape and type from a C-contiguous one. Most keep its values;
"broadcast" cannot: a test takes what it gets as the operand and expects what follows from that.
"""

import itertools

import numpy as np

import smemkit


class Subclass(np.ndarray):
    """An ndarray of another class."""


def strided(array, steps):
    """The same values, every steps[i]-th element of a larger array along axis i."""
    larger = np.full([n * abs(s) + 1 for n, s in zip(array.shape, steps, strict=True)], np.nan)
    larger = larger.astype(array.dtype)
    view = larger[
        tuple(slice(0, n * s, s) for n, s in zip(array.shape, map(abs, steps), strict=True))
    ]
    view = view[tuple(slice(None, None, 1 if s > 0 else -1) for s in steps)]
    view[...] = array
    return view


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array):
    """The same values at an address that is no multiple of the item size."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert array.size == 0 or not view.flags.aligned
    return view


def broadcast(array):
    """One row for all rows, with a stride of 0."""
    return np.broadcast_to(array[:1], array.shape) if array.shape[0] else array


def turn_operands(a, b, machine):
    """Device arrays of a and b, each with its rows along memory and across it: four pairs."""
    ways = [
        (
            smemkit.asarray(x, backend=machine),
            smemkit.asarray(np.ascontiguousarray(x.T), backend=machine).T,
        )
        for x in (a, b)
    ]
    return itertools.product(*ways)


LAYOUTS = {
    "contiguous": lambda a: a.copy(),
    "fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every_second_row": lambda a: strided(a, (2, 1)),
    "every_third_column": lambda a: strided(a, (1, 3)),
    "both_strided": lambda a: strided(a, (3, 2)),
    "rows_reversed": lambda a: strided(a, (-1, 1)),
    "columns_reversed": lambda a: strided(a, (1, -1)),
    "all_reversed_strided": lambda a: strided(a, (-2, -3)),
    "read_only": read_only,
    "byte_swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": unaligned,
    "broadcast": broadcast,
    "subclass": lambda a: a.copy().view(Subclass),
}

EDGES = (0, 1, 31, 32, 33)


def edge_sizes(tile):
    """Sizes where a tiled kernel may go wrong."""
    return tuple(sorted({*EDGES, tile - 1, tile, tile + 1}))


def gemm_shapes(tile):
    """(m, k, n) triples: every edge size in every place, tall, wide, deep, and nothing at all."""
    shapes = []
    for size in edge_sizes(tile):
        shapes += [(size, size, size), (size, 5, 7), (5, size, 7), (5, 7, size)]
    shapes += [(257, 3, 2), (2, 3, 257), (2, 257, 3), (65, 33, 97), (3, 0, 4), (0, 0, 0), (1, 1, 1)]
    return list(dict.fromkeys(shapes))


def integers(rng, shape, dtype, limit=8):
    """Small integers: products and sums of them are exact in any order. Never all zero."""
    array = rng.integers(-limit, limit + 1, shape).astype(dtype)
    if array.size:
        array.flat[rng.integers(array.size)] = limit
    return array


def normal(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def poisoned(shape, dtype):
    """An output whose every element is a NaN that says so."""
    return np.full(shape, np.nan, dtype)
