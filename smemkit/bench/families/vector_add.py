"""vector_add: the sum of two vectors, element by element."""

import numpy

from ._workload import Record, Workload, draw_any


class VectorAdd(Workload):
    """vector_add: x + y."""

    family = "vector_add"
    records = (Record(1 << 24, {}, main=True), *(Record(1 << n, {}) for n in (20, 26)))
    sizes = ({"n": 8192}, {"n": 5003})
    oracle = staticmethod(numpy.add)

    def make_inputs(self, rng):
        """Of whole numbers half, so that sums fit."""
        x, y = (draw_any(rng, self.shape[0], self.dtype) for _ in range(2))
        return (x, y) if x.dtype.kind == "f" else (x // 2, y // 2)

    def call_cupy(self, cupy, filters, x, out, hold):
        return lambda: cupy.add(x[0], x[1], out=out)

    def call_torch(self, torch, x, out, hold):
        return lambda: torch.add(x[0], x[1], out=out)
