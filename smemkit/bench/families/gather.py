"""gather: elements of an array by their index."""

import numpy

from ._workload import Record, Workload, draw_any, draw_small


class Gather(Workload):
    """gather: x[index], the indices in no order or one after the other."""

    family = "gather"
    choices = {"order": ("random", "sequential")}
    records = (
        Record(1 << 24, {}, main=True),
        Record(1 << 24, {"order": "sequential"}, main=True),
        Record(1 << 20, {}),
    )
    sizes = ({"n": 4096, "m": 4096}, {"n": 777, "m": 2501})
    oracle = staticmethod(numpy.take)

    @property
    def nbytes(self):
        return (8 + 2 * self.itemsize) * self.shape[1]

    def make_inputs(self, rng):
        n, m = self.shape
        if self.parameters.get("order", "random") == "random":
            index = rng.integers(0, n, m)
        else:
            index = numpy.arange(m) % n
        return draw_any(rng, n, self.dtype), index

    def compute(self, inputs):
        return inputs[0].take(inputs[1])

    @classmethod
    def adjust_small(cls, arrays, sizes, random):
        n, m = sizes["n"], sizes["m"]
        arrays[1] = draw_small(random, -n, n, [m], "int64")

    @classmethod
    def adjust_command(cls, arrays, sizes, keywords, rng):
        n, m = sizes["n"], sizes["m"]
        return [arrays[0], rng.integers(-n, n, m) if n else []], keywords

    def predict_reads(self, tile=(1, 1), weights=True):
        return float((8 + self.itemsize) * self.shape[1])

    def call_cupy(self, cupy, filters, x, out, hold):
        return lambda: cupy.take(x[0], x[1], out=out)

    def call_torch(self, torch, x, out, hold):
        return lambda: torch.index_select(x[0], 0, x[1], out=out)
