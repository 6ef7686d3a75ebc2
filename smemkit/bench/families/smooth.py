"""smooth: the mean of each element and its neighbours."""

import numpy

from ._workload import Goal, Record, Workload, compare, list_chunks

BOUND = 8  # units in the last place of the greatest element


class Smooth(Workload):
    """smooth: 3-point mean."""

    family = "smooth"
    library, callers = "memcpy", ("memcpy",)
    is_copied = True
    target_rank = 4
    records = (Record(1 << 24, {}, main=True), *(Record(1 << n, {}) for n in (20, 26)))
    sizes = ({"n": 8192}, {"n": 5003})

    def make_inputs(self, rng):
        return (rng.random(self.shape[0], dtype=self.dtype),)

    @staticmethod
    def oracle(x):
        wide = numpy.pad(x, 1, mode="edge").astype("float64")
        return ((wide[:-2] + wide[1:-1] + wide[2:]) / 3).astype(x.dtype)

    def compute(self, inputs):
        wide = numpy.pad(inputs[0], 1, mode="edge")
        return (wide[:-2] + wide[1:-1] + wide[2:]) / numpy.asarray(3, self.dtype)

    def expect(self, inputs):
        x, n = inputs[0], self.shape[0]
        mean = numpy.empty_like(x)
        for part in list_chunks(n):
            start, stop = part.start, part.stop
            wide = numpy.empty(stop - start + 2)
            wide[1:-1] = x[part]
            wide[0], wide[-1] = x[max(start - 1, 0)], x[min(stop, n - 1)]
            mean[part] = (wide[:-2] + wide[1:-1] + wide[2:]) / 3
        return mean

    def find_fault(self, expected, result):
        bound = BOUND * self.eps  # of numbers below 1
        for part in list_chunks(self.shape[0]):
            words = f"from {part.start}, element"
            reason = compare(result[part], expected[part], bound, words)
            if reason:
                return reason
        return None

    @classmethod
    def bound_small(cls, arrays, expected):
        return BOUND * numpy.finfo(expected.dtype).eps * abs(arrays[0]).max()

    def predict_reads(self, tile=(1, 1), weights=True):
        (x, _), (n,) = tile, self.shape
        return float(self.itemsize * (3 * n if tile == (1, 1) else n + 2 * -(-n // x)))

    @classmethod
    def list_targets(cls, size):
        if size == "small":
            return [cls("smooth 2^12", (1 << 12,))]
        return [cls("smooth 2^28", (1 << 28,), goals=(Goal(("memcpy",), 0.97),))]

    def call_cupy(self, cupy, filters, x, out, hold):
        return lambda: filters.uniform_filter1d(x[0], 3, output=out, mode="nearest")
