"""transpose: a matrix with its axes exchanged, moved in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import Goal, Record, Tiles, Workload, draw_any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Result, Size
    from ._workload import Hold

TILE = 256


def copy(array: HostArray) -> HostArray:
    """The same elements in their order, in the shape of the transpose."""
    return array.reshape(array.shape[::-1])


class Transpose(Workload):
    """transpose: a -> a.T."""

    family = "transpose"
    usual_length = 8192
    other_work = {"copy": copy}
    library, callers = "memcpy", ("memcpy",)
    is_copied = True
    compared_always = True
    target_rank = 2
    records = (Record(8192, {}, main=True), *(Record(n, {}) for n in (512, 1024, 2048, 4096)))
    tiles = Tiles(
        variants=("shared", "padded"),
        sides=(8, 16, 32, 64),
        axes=("n", "m"),
        step=8,
        most=64,
        rows=8,  # a thread moves side / rows elements of a column
        by_size=True,
    )
    sizes = ({"m": 128, "n": 64}, {"m": 75, "n": 101})
    oracle = staticmethod(numpy.transpose)

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        return (draw_any(rng, self.shape, self.dtype),)

    def compute(self, inputs: Operands) -> Result:
        return numpy.ascontiguousarray(inputs[0].T)

    def expect(self, inputs: Operands) -> HostArray:
        return inputs[0].T

    def find_fault(self, expected: HostArray, result: HostArray) -> str | None:
        for row in range(0, result.shape[0], TILE):
            for column in range(0, result.shape[1], TILE):  # by tiles: a column's walk is slow
                part = slice(row, row + TILE), slice(column, column + TILE)
                if not numpy.array_equal(result[part], expected[part]):
                    return f"it is not the transpose, somewhere from row {row}, column {column} on"
        return None

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("transpose 96", (96, 96))]
        goals = (Goal(("memcpy",), 0.97),)
        return [cls(f"transpose {n}", (n, n), goals=goals) for n in (8192, 16384)]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: cupy.copyto(out, x[0].T)

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: out.copy_(x[0].t())
