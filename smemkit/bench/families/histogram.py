"""histogram: how many elements lie in each bin."""

import numpy

from ._workload import CUB, HIGH, LOW, Goal, Record, Workload, compare, list_chunks

BYTE_BINS = 256


class Histogram(Workload):
    """histogram of numbers that are spread evenly over the bins, or of one number."""

    family = "histogram"
    usual_dtype = "uint8"
    usual_sizes = {"e": BYTE_BINS + 1, "b": BYTE_BINS}
    result_dtype = "int64"
    choices = {"values": ("uniform", "constant")}
    library, callers = "cub", CUB
    needs_cub = True
    compared_always = True
    target_rank = 3
    records = (
        Record(1 << 24, {}, main=True),
        Record(1 << 24, {"values": "constant"}, main=True),
        *(
            Record(1 << n, {"values": values})
            for n in (20, 28)
            for values in ("uniform", "constant")
        ),
    )
    tied = ("e", "b")
    sizes = ({"n": 32768, "e": 257, "b": 256}, {"n": 20011, "e": 257, "b": 256})

    @classmethod
    def spread(cls, n):
        """n elements, 256 bins."""
        return n, *cls.usual_sizes.values()

    @classmethod
    def find_conflict(cls, shape, dtype):
        if shape[1] != shape[2] + 1:
            return f"{shape[2]} bins have {shape[2] + 1} edges, not {shape[1]}"
        if dtype == "uint8" and shape[2] != BYTE_BINS:
            return f"bytes have {BYTE_BINS} bins, not {shape[2]}"
        return None

    @property
    def nbytes(self):
        return self.itemsize * self.shape[0]

    def make_inputs(self, rng):
        n, _, bins = self.shape
        dtype = numpy.dtype(self.dtype)
        top = 1.0 if dtype.kind == "f" else float(bins)
        edges = numpy.linspace(0, top, bins + 1)
        if self.parameters.get("values") == "constant":
            return numpy.full(n, 7 * top / 16, dtype), edges
        if dtype.kind == "f":
            return rng.random(n, dtype=dtype), edges
        return rng.integers(0, bins, n, dtype=dtype), edges

    @staticmethod
    def oracle(x, edges):
        if x.dtype == numpy.uint8:
            return numpy.bincount(x, minlength=BYTE_BINS)
        return numpy.histogram(x, edges)[0]

    def expect(self, inputs):
        counts = numpy.zeros(self.shape[2], "int64")
        for part in list_chunks(self.shape[0]):
            counts += self.compute((inputs[0][part], inputs[1]))
        return counts

    def find_fault(self, expected, result):
        return compare(result, expected, 0, "bin")

    @classmethod
    def complete_sizes(cls, sizes, dtype):
        bins = BYTE_BINS if dtype == "uint8" else sizes["b"]
        return {**sizes, "b": bins, "e": bins + 1}

    @classmethod
    def adjust_small(cls, arrays, sizes, random):
        if arrays[0].dtype == numpy.uint8:
            arrays[1] = numpy.arange(BYTE_BINS + 1.0)
        else:  # some elements lie outside
            arrays[1] = numpy.linspace(LOW + 1, HIGH, sizes["e"])

    @classmethod
    def adjust_command(cls, arrays, sizes, keywords, rng):
        """smemkit.histogram takes a number of bins."""
        return arrays[:1], {"bins": sizes["e"] - 1, **keywords}

    def predict_reads(self, tile=(1, 1), weights=True):
        return float(self.itemsize * self.shape[0])

    @classmethod
    def list_targets(cls, size):
        bins = (BYTE_BINS + 1, BYTE_BINS)
        bits = 14 if size == "small" else 30
        factors = {"uniform": 1.9, "constant": 1.15}
        return [
            cls(
                f"histogram 2^{bits} {values}",
                (1 << bits, *bins),
                "uint8",
                {"values": values},
                () if size == "small" else (Goal(CUB, factor),),
            )
            for values, factor in factors.items()
        ]

    def call_cupy(self, cupy, filters, x, out, hold):
        def count():
            hold(cupy.histogram(x[0], bins=BYTE_BINS, range=(0, BYTE_BINS))[0])

        return count if self.dtype == "uint8" else None

    def call_torch(self, torch, x, out, hold):
        def count():
            hold(torch.bincount(x[0], minlength=BYTE_BINS))

        return count if self.dtype == "uint8" else None

    def find_cub(self):
        return ("peer_histogram", "int32") if self.dtype == "uint8" else None
