"""vector_add: the sum of two vectors, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import Record, Workload, draw_any

if TYPE_CHECKING:
    from typing import Any

    from ..._types import HostArray
    from ..types import Call
    from ._workload import Hold


class VectorAdd(Workload):
    """vector_add: x + y."""

    family = "vector_add"
    records = (Record(1 << 24, {}, main=True), *(Record(1 << n, {}) for n in (20, 26)))
    sizes = ({"n": 8192}, {"n": 5003})
    oracle = staticmethod(numpy.add)

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """Of whole numbers half, so that sums fit."""
        x, y = (draw_any(rng, self.shape[0], self.dtype) for _ in range(2))
        return (x, y) if x.dtype.kind == "f" else (x // 2, y // 2)

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: cupy.add(x[0], x[1], out=out)

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: torch.add(x[0], x[1], out=out)
