"""The kernels that belong to no family, each with two launches, for `compare --cases`.

What they compute is tested in tests/probe/test_probe.py and tests/kernels/test_copy.py; here inputs
must stay as they are.
"""

from dataclasses import dataclass

import numpy as np
from hardware.counts.count_launches import Launch

import smemkit

BLOCK = 256
BITS = {f"bits{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)} | {"bits128": "complex128"}


def strided(dtype, n, stride, offset):
    x = np.zeros((n - 1) * stride + offset + 1, dtype)
    return -(-n // 1024), (x, np.zeros(n, dtype), n, stride, offset)


def random(dtype, n):
    return -(-n // 1024), (np.zeros(n, dtype), np.zeros(n, dtype), n, 1)


def banks(dtype, stride):
    return 2, (np.zeros(2 * BLOCK, dtype), stride, 3)


def rows(dtype, rounds):
    return 2, (np.zeros(2 * BLOCK, dtype), rounds)


def chase(dtype, steps):
    return 1, (np.zeros(1024, dtype), np.zeros(1, dtype), steps)


def branch(dtype, n):
    signs = np.where(np.arange(n) % 3 == 0, -1, 1).astype(dtype)
    return -(-n // BLOCK), (signs, np.zeros(n, dtype), n, 9)


def staged(dtype, n):
    return 1, (np.arange(n, dtype=dtype), np.zeros(n, dtype), n)


def lay_out(lengths, target, source):
    """A layout of csrc/kernels/array, of two axes."""
    axes = 8
    fields = [("length", "i8", axes), ("to", "i8", axes), ("from", "i8", axes), ("rank", "i4")]
    layout = np.zeros((), np.dtype(fields, align=True))
    layout["length"][:2], layout["to"][:2], layout["from"][:2] = lengths, target, source
    layout["rank"] = 2
    return layout


def transposed(dtype, m, n):
    """A copy of an n x m array, turned over: (m, n) elements with the strides (1, m)."""
    same = np.ones(m * n, dtype)
    return -(-m * n // 1024), (same, same.copy(), m * n, lay_out((m, n), (n, 1), (1, m)))


def by_rows(dtype, m, n):
    """A copy of every other column of an m x 2n array."""
    pieces = -(-n // 1024)
    layout = lay_out((m, n), (n, 1), (2 * n, 2))
    return m * pieces, (np.ones(m * n, dtype), np.ones(2 * m * n, dtype), pieces, layout)


def by_tiles(dtype, m, n):
    """The copy of `transposed`."""
    return turn(dtype, m, n, 32 if np.dtype(dtype).itemsize == 16 else 64)


def by_squares(dtype, m, n):
    """The same, for m and n that are multiples of a vector."""
    return turn(dtype, m, n, {1: 128, 16: 32}.get(np.dtype(dtype).itemsize, 64))


def turn(dtype, m, n, side):
    same, tiles = np.ones(m * n, dtype), (-(-m // side), -(-n // side))
    return tiles[0] * tiles[1], (same, same.copy(), *tiles, lay_out((m, n), (n, 1), (1, m)))


LAUNCHES = {
    "copy": (transposed, {"m": 64, "n": 64}, {"m": 75, "n": 101}),
    "rows": (by_rows, {"m": 4, "n": 1024}, {"m": 7, "n": 1101}),
    "tiles": (by_tiles, {"m": 64, "n": 64}, {"m": 75, "n": 101}),
    "squares": (by_squares, {"m": 128, "n": 256}, {"m": 76, "n": 100}),
    "strided": (
        strided,
        {"n": 4096, "stride": 1, "offset": 0},
        {"n": 3001, "stride": 7, "offset": 3},
    ),
    "random": (random, {"n": 4096}, {"n": 3001}),
    **dict.fromkeys(("banks", "banks_wide"), (banks, {"stride": 2}, {"stride": 33})),
    **dict.fromkeys(
        ("row", "row_padded", "column", "column_padded"), (rows, {"rounds": 40}, {"rounds": 7})
    ),
    **dict.fromkeys(("chase", "chase_shared"), (chase, {"steps": 96}, {"steps": 5})),
    **dict.fromkeys(
        ("branch_lane", "branch_warp", "branch_random")
        + ("lane_grouped", "lane_selected", "random_grouped"),
        (branch, {"n": 256}, {"n": 500}),
    ),
    **dict.fromkeys(
        ("static_shared", "mixed_shared", "dynamic_shared"), (staged, {"n": 1024}, {"n": 777})
    ),
}

OUTPUT_FIRST = (rows, transposed, by_rows, by_tiles, by_squares)


@dataclass(frozen=True)
class GroupCase:
    """One launch, as count_launches.Case has them."""

    group: str
    variant: str
    dtype: str
    sizes: dict

    @property
    def name(self):
        return self.entry

    @property
    def entry(self):
        return f"{self.group}_{self.variant}_{self.dtype}"

    @property
    def label(self):
        return ", ".join(f"{name}={value}" for name, value in self.sizes.items())

    @property
    def ptx(self):
        return smemkit.ptx(self.group, self.variant)

    def make(self):
        dtype = BITS.get(self.dtype, self.dtype)
        grid, args = LAUNCHES[self.variant][0](dtype, **self.sizes)
        # an output is expected to be what it is: itself
        outputs = {i: a for i, a in enumerate(args) if i > 0 and isinstance(a, np.ndarray)}
        if self.variant in ("banks", "banks_wide") or LAUNCHES[self.variant][0] in OUTPUT_FIRST:
            outputs = {0: args[0]}
        shared = args[-1] * np.dtype(dtype).itemsize if self.variant == "dynamic_shared" else 0
        block = smemkit.variants(self.group)[self.variant]["block"]
        return Launch((grid,), block, list(args), outputs, shared)


CASES = [
    GroupCase(group, variant, dtype, sizes)
    for group in ("array", "probe")
    for variant, facts in smemkit.variants(group).items()
    for dtype in facts["dtypes"]
    for sizes in LAUNCHES[variant][1:]
]
