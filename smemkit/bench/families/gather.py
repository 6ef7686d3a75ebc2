"""gather: elements of an array by their index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import Record, Workload, draw_any, draw_small

if TYPE_CHECKING:
    from typing import Any

    from ..._types import HostArray
    from ..types import Call, Operands, Random, Result, Sizes
    from ._workload import Hold


class Gather(Workload):
    """gather: x[index], the indices in no order or one after the other."""

    family = "gather"
    reads_values = True
    choices = {"order": ("random", "sequential")}
    records = (
        Record(1 << 24, {}, main=True),
        Record(1 << 24, {"order": "sequential"}, main=True),
        Record(1 << 20, {}),
    )
    sizes = ({"n": 4096, "m": 4096}, {"n": 777, "m": 2501})
    oracle = staticmethod(numpy.take)

    @property
    def nbytes(self) -> int:
        return (8 + 2 * self.itemsize) * self.shape[1]

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        n, m = self.shape
        if self.parameters.get("order", "random") == "random":
            index = rng.integers(0, n, m)
        else:
            index = numpy.arange(m) % n
        return draw_any(rng, n, self.dtype), index

    def compute(self, inputs: Operands) -> Result:
        return inputs[0].take(inputs[1])

    @classmethod
    def adjust_small(cls, arrays: list[HostArray], sizes: Sizes, random: Random) -> None:
        n, m = sizes["n"], sizes["m"]
        arrays[1] = draw_small(random, -n, n, [m], "int64")

    @classmethod
    def adjust_command(
        cls,
        arrays: list[HostArray],
        sizes: Sizes,
        keywords: dict[str, Any],
        rng: numpy.random.Generator,
    ) -> tuple[list[HostArray], dict[str, Any]]:
        n, m = sizes["n"], sizes["m"]
        index = rng.integers(-n, n, m) if n else numpy.zeros(0, "int64")
        return [arrays[0], index], keywords

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        return float((8 + self.itemsize) * self.shape[1])

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: cupy.take(x[0], x[1], out=out)

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: torch.index_select(x[0], 0, x[1], out=out)
