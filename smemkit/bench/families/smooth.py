"""smooth: the mean of each element and its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import Goal, Record, Workload, compare, list_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Result, Size
    from ._workload import Hold

BOUND = 8  # units in the last place of the greatest element


class Smooth(Workload):
    """smooth: 3-point mean."""

    family = "smooth"
    library, callers = "memcpy", ("memcpy",)
    is_copied = True
    target_rank = 4
    records = (Record(1 << 24, {}, main=True), *(Record(1 << n, {}) for n in (20, 26)))
    sizes = ({"n": 8192}, {"n": 5003})

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        return (rng.random(self.shape[0], dtype=numpy.dtype(self.dtype)),)

    @staticmethod
    def oracle(x: HostArray) -> HostArray:
        wide = numpy.pad(x, 1, mode="edge").astype("float64")
        mean: HostArray = (wide[:-2] + wide[1:-1] + wide[2:]) / 3
        return mean.astype(x.dtype)

    def compute(self, inputs: Operands) -> Result:
        wide = numpy.pad(inputs[0], 1, mode="edge")
        mean: HostArray = (wide[:-2] + wide[1:-1] + wide[2:]) / numpy.asarray(3, self.dtype)
        return mean

    def expect(self, inputs: Operands) -> HostArray:
        x, n = inputs[0], self.shape[0]
        mean = numpy.empty_like(x)
        for part in list_chunks(n):
            start, stop = part.start, part.stop
            wide = numpy.empty(stop - start + 2)
            wide[1:-1] = x[part]
            wide[0], wide[-1] = x[max(start - 1, 0)], x[min(stop, n - 1)]
            mean[part] = (wide[:-2] + wide[1:-1] + wide[2:]) / 3
        return mean

    def find_fault(self, expected: HostArray, result: HostArray) -> str | None:
        bound = BOUND * self.eps  # of numbers below 1
        for part in list_chunks(self.shape[0]):
            words = f"from {part.start}, element"
            reason = compare(result[part], expected[part], bound, words)
            if reason:
                return reason
        return None

    @classmethod
    def bound_small(cls, arrays: Operands, expected: Result) -> float:
        return BOUND * float(numpy.finfo(expected.dtype).eps) * float(abs(arrays[0]).max())

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        (x, _), (n,) = tile, self.shape
        return float(self.itemsize * (3 * n if tile == (1, 1) else n + 2 * -(-n // x)))

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        if size == "small":
            return [cls("smooth 2^12", (1 << 12,))]
        return [cls("smooth 2^28", (1 << 28,), goals=(Goal(("memcpy",), 0.97),))]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: filters.uniform_filter1d(x[0], 3, output=out, mode="nearest")
