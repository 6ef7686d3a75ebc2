"""dot: the scalar product of two vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import CUBLAS, Goal, Record, Workload, compare, draw_halves, draw_wide, list_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Size
    from ._workload import Hold


class Dot(Workload):
    """dot: x, y -> sum of x * y."""

    family = "dot"
    library, callers = "cublas", CUBLAS
    target_rank = 1
    records = (Record(1 << 20, {}, main=True), *(Record(1 << n, {}) for n in (16, 24, 26)))
    sizes = ({"n": 8192}, {"n": 5003})
    oracle = staticmethod(numpy.dot)

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """In both a number that needs all of its bits; its factor is short.

        What both lose that are cut off is no sum of 0: of the one an odd number of quarters, of the
        other one of halves.
        """
        x, y = (draw_halves(rng, self.shape[0], self.dtype) for _ in range(2))
        places = rng.choice(len(x), min(2, len(x)), replace=False)
        plan = ((x, y, 1, 0.5), (y, x, 2, -1))
        for at, (wide, other, room, factor) in zip(places, plan, strict=False):
            wide[at], other[at] = draw_wide(rng, self.dtype, room), factor
        return x, y

    def expect(self, inputs: Operands) -> float:
        exact = 0.0
        for part in list_chunks(self.shape[0]):
            x, y = (array[part].astype("float64") for array in inputs)
            exact += float(x @ y)
        return exact

    def find_fault(self, expected: float, result: HostArray) -> str | None:
        return compare(result.reshape(1), numpy.array([expected]), 0, "product")

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("dot 2^12", (1 << 12,))]
        return [cls("dot 2^28", (1 << 28,), goals=(Goal(CUBLAS, 1.0),))]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: cupy.dot(x[0], x[1], out=out)

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: hold(torch.dot(x[0], x[1]))
