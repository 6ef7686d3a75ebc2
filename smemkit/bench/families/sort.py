"""sort: the elements of rows in ascending order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ._workload import Record, Workload, draw_any

if TYPE_CHECKING:
    from typing import Any

    from ..._types import HostArray
    from ..types import Call
    from ._workload import Hold

LENGTH_MOST = 4096


class Sort(Workload):
    """sort: a row, by one block."""

    family = "sort"
    reads_values = True
    usual_length = 4096
    target_rank = 1
    records = (Record(4096, {}, main=True), *(Record(n, {}) for n in (256, 1024)))
    sizes = ({"n": 1024}, {"n": 1003})
    oracle = staticmethod(numpy.sort)

    @classmethod
    def find_conflict(cls, shape: tuple[int, ...], dtype: str) -> str | None:
        if shape[0] > LENGTH_MOST:
            return f"a row of {shape[0]} elements; {LENGTH_MOST} are the most"
        return None

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        return (draw_any(rng, self.shape, self.dtype),)

    @property
    def nbytes(self) -> int:
        return 2 * self.itemsize * self.shape[0]

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: hold(cupy.sort(x[0]))

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        return lambda: hold(torch.sort(x[0])[0])
