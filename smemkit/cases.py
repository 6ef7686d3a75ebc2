"""What is measured against peers: arrays, calls, and what a right result is, for each family.

What is right is found without any of the subjects: by NumPy on the host, in float64 or by counting.
"""

from dataclasses import dataclass, field

import numpy

from . import _core
from .results import Measurement

SIZES = ("full", "small")
CHUNK = 1 << 24  # elements that the host checks at a time
TILE = 256
ROWS_CHECKED = 16
PIXELS_CHECKED = 4000
BYTE_BINS = 256


def compare(result, expected, bound, what="element"):
    """None, or words for the worst element beyond its bound; a NaN is beyond all."""
    error = abs(numpy.asarray(result, numpy.float64) - expected)
    good = error <= bound
    if good.shape != numpy.shape(expected):
        return f"its shape gives {good.shape}, not {numpy.shape(expected)}"
    if good.all():
        return None
    worst = numpy.unravel_index(numpy.argmin(good), good.shape)
    at = int(worst[0]) if len(worst) == 1 else tuple(map(int, worst))
    return f"{what} {at} is {numpy.asarray(result)[worst]}, not {expected[worst]}"


@dataclass(frozen=True)
class Case:
    """One family at one shape.

    Attributes
    ----------
    name : str
    shape : tuple of int
        In the order of the family's signature.
    dtype : str
        Of the elements.
    parameters : dict
        What else tells its rows from others.
    goals : tuple of (names, factor)
        The first of these peers that is there takes at least `factor` times our time.
    """

    name: str
    shape: tuple
    dtype: str = "float32"
    parameters: dict = field(default_factory=dict)
    goals: tuple = ()

    family = ""
    by_flops = False  # whether operations a second say more than bytes a second

    @property
    def result_dtype(self):
        """The result's element type."""
        return self.dtype

    @property
    def flops(self):
        """Operations that must be done; None where bytes are all that counts."""
        return None

    def accepts(self, dtypes):
        """Whether a variant compiled for these types takes the case."""
        bits = f"bits{8 * numpy.dtype(self.dtype).itemsize}"
        return self.dtype in dtypes or bits in dtypes

    def make_row(self, variant, machine, **more):
        """A Measurement of a subject."""
        facts = {"nbytes": float(self.nbytes), "flops": self.flops, "parameters": self.parameters}
        return Measurement(
            self.family, variant, tuple(self.shape), self.dtype, machine, **facts, **more
        )

    def owns(self, row):
        """Whether a row is of this case."""
        mine = self.make_row(row.variant, row.machine, cache=row.cache)
        return mine.key == row.key


def draw_halves(rng, n):
    """-3.5, -2.5, ... 3.5 as float32: sums of them and of products are exact in any order."""
    x = (rng.integers(0, 256, n, dtype="uint8") & 7).astype("float32")  # bytes are drawn fast
    x -= 3.5
    return x


class Sum(Case):
    """reduce: x -> sum."""

    family = "reduce"
    result_shape = ()

    @property
    def nbytes(self):
        return 4 * self.shape[0]

    def make_inputs(self, rng):
        return (draw_halves(rng, self.shape[0]),)

    def call(self, arrays, out, variant):
        _core.reduce(arrays[0], op="sum", variant=variant, out=out)

    def expect(self, inputs):
        return inputs[0].sum(dtype="float64")

    def find_fault(self, expected, result):
        return compare(result.reshape(1), numpy.array([expected]), 0, "sum")


class Dot(Case):
    """dot: x, y -> sum of x * y."""

    family = "dot"
    result_shape = ()

    @property
    def nbytes(self):
        return 8 * self.shape[0]

    def make_inputs(self, rng):
        return draw_halves(rng, self.shape[0]), draw_halves(rng, self.shape[0])

    def call(self, arrays, out, variant):
        _core.dot(*arrays, variant=variant, out=out)

    def expect(self, inputs):
        exact = 0.0
        for start in range(0, self.shape[0], CHUNK):
            x, y = (array[start : start + CHUNK].astype("float64") for array in inputs)
            exact += float(x @ y)
        return exact

    def find_fault(self, expected, result):
        return compare(result.reshape(1), numpy.array([expected]), 0, "product")


class Transpose(Case):
    """transpose: a -> a.T."""

    family = "transpose"

    @property
    def result_shape(self):
        return self.shape[::-1]

    @property
    def nbytes(self):
        return 8 * self.shape[0] * self.shape[1]

    def make_inputs(self, rng):
        return (rng.random(self.shape, dtype="float32"),)

    def call(self, arrays, out, variant):
        _core.transpose(arrays[0], variant=variant, out=out)

    def expect(self, inputs):
        return inputs[0].T

    def find_fault(self, expected, result):
        for row in range(0, result.shape[0], TILE):
            for column in range(0, result.shape[1], TILE):  # by tiles: a column's walk is slow
                part = slice(row, row + TILE), slice(column, column + TILE)
                if not numpy.array_equal(result[part], expected[part]):
                    return f"it is not the transpose, somewhere from row {row}, column {column} on"
        return None


class Smooth(Case):
    """smooth: 3-point mean."""

    family = "smooth"

    @property
    def result_shape(self):
        return self.shape

    @property
    def nbytes(self):
        return 8 * self.shape[0]

    def make_inputs(self, rng):
        return (rng.random(self.shape[0], dtype="float32"),)

    def call(self, arrays, out, variant):
        _core.smooth(arrays[0], variant=variant, out=out)

    def expect(self, inputs):
        x, n = inputs[0], self.shape[0]
        mean = numpy.empty_like(x)
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            part = numpy.empty(stop - start + 2)
            part[1:-1] = x[start:stop]
            part[0], part[-1] = x[max(start - 1, 0)], x[min(stop, n - 1)]
            mean[start:stop] = (part[:-2] + part[1:-1] + part[2:]) / 3
        return mean

    def find_fault(self, expected, result):
        bound = 8 * numpy.finfo("float32").eps  # of numbers below 1
        for start in range(0, self.shape[0], CHUNK):
            part = slice(start, start + CHUNK)
            reason = compare(result[part], expected[part], bound, f"from {start}, element")
            if reason:
                return reason
        return None


class Conv2d(Case):
    """conv2d: convolution, zeros beyond the image; filters of odd sizes."""

    family = "conv2d"

    @property
    def result_shape(self):
        return self.shape[:2]

    @property
    def nbytes(self):
        return 8 * self.shape[0] * self.shape[1]

    @property
    def flops(self):
        return 2.0 * numpy.prod(self.shape, dtype="float64")

    def make_inputs(self, rng):
        h, w, p, q = self.shape
        return (
            rng.standard_normal((h, w), dtype="float32"),
            rng.standard_normal((p, q), dtype="float32"),
        )

    def call(self, arrays, out, variant):
        _core.conv2d(*arrays, variant=variant, out=out)

    def expect(self, inputs):
        image, weights = inputs
        h, w, p, q = self.shape
        rng = numpy.random.default_rng(self.shape)
        y, x = rng.integers(0, h, PIXELS_CHECKED), rng.integers(0, w, PIXELS_CHECKED)
        y[:4], x[:4] = (0, 0, h - 1, h - 1), (0, w - 1, 0, w - 1)
        exact, size = numpy.zeros(len(y)), numpy.zeros(len(y))
        for i in range(p):
            for j in range(q):
                row, column = y + p // 2 - i, x + q // 2 - j
                inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
                value = image[row % h, column % w] * inside * float(weights[i, j])
                exact += value
                size += abs(value)
        return (y, x), exact, 4 * numpy.sqrt(p * q) * numpy.finfo("float32").eps * size

    def find_fault(self, expected, result):
        pixels, exact, bound = expected
        return compare(result[pixels], exact, bound, "checked pixel")


class Histogram(Case):
    """histogram of bytes by value."""

    family = "histogram"
    result_shape = (BYTE_BINS,)
    result_dtype = "int64"

    @property
    def nbytes(self):
        return self.shape[0]

    def make_inputs(self, rng):
        n = self.shape[0]
        if self.parameters["values"] == "uniform":
            x = rng.integers(0, BYTE_BINS, n, dtype="uint8")
        else:
            x = numpy.full(n, 7, "uint8")
        return x, numpy.arange(BYTE_BINS + 1.0)

    def call(self, arrays, out, variant):
        _core.histogram(*arrays, variant=variant, out=out)

    def expect(self, inputs):
        counts = numpy.zeros(BYTE_BINS, "int64")
        for start in range(0, self.shape[0], CHUNK):
            counts += numpy.bincount(inputs[0][start : start + CHUNK], minlength=BYTE_BINS)
        return counts

    def find_fault(self, expected, result):
        return compare(result, expected, 0, "bin")


class Gemm(Case):
    """gemm: a @ b."""

    family = "gemm"
    by_flops = True

    @property
    def result_shape(self):
        return self.shape[0], self.shape[2]

    @property
    def nbytes(self):
        m, k, n = self.shape
        return 4 * (m * k + k * n + m * n)

    @property
    def flops(self):
        return 2.0 * numpy.prod(self.shape, dtype="float64")

    def make_inputs(self, rng):
        m, k, n = self.shape
        return (
            rng.standard_normal((m, k), dtype="float32"),
            rng.standard_normal((k, n), dtype="float32"),
        )

    def call(self, arrays, out, variant):
        _core.gemm(*arrays, variant=variant, out=out)

    def expect(self, inputs):
        m, k, _ = self.shape
        rows = numpy.unique(numpy.linspace(0, m - 1, ROWS_CHECKED).astype(int))
        a, b = inputs[0][rows].astype("float64"), inputs[1].astype("float64")
        return rows, a @ b, 4 * numpy.sqrt(k) * numpy.finfo("float32").eps * (abs(a) @ abs(b))

    def find_fault(self, expected, result):
        rows, exact, bound = expected
        return compare(result[rows], exact, bound, "checked element")


CUB, CUBLAS = ("cub", "cupy"), ("torch", "cupy")  # CuPy sums with CUB, and calls cuBLAS too


def list_cases(size="full"):
    """The cases in the order in which they run; "small" ones are for the simulator."""
    if size == "small":
        return [
            Sum("sum 2^12", (1 << 12,), parameters={"op": "sum"}),
            Dot("dot 2^12", (1 << 12,)),
            Transpose("transpose 96", (96, 96)),
            Histogram(
                "histogram 2^14 uniform", (1 << 14, 257, 256), "uint8", {"values": "uniform"}
            ),
            Histogram(
                "histogram 2^14 constant", (1 << 14, 257, 256), "uint8", {"values": "constant"}
            ),
            Smooth("smooth 2^12", (1 << 12,)),
            Conv2d("conv2d 64 5x5", (64, 64, 5, 5)),
            Gemm("gemm 96", (96, 96, 96)),
            Gemm("gemm 95x97x93", (95, 97, 93)),
        ]
    bins = (BYTE_BINS + 1, BYTE_BINS)
    op = {"op": "sum"}
    return [
        Sum("sum 2^20", (1 << 20,), parameters=op, goals=((CUB, 1.5),)),
        Sum("sum 2^24", (1 << 24,), parameters=op, goals=((CUB, 1.0),)),
        Sum("sum 2^28", (1 << 28,), parameters=op, goals=((CUB, 1.0),)),
        Dot("dot 2^28", (1 << 28,), goals=((CUBLAS, 1.0),)),
        Transpose("transpose 8192", (8192, 8192), goals=((("copy",), 0.97),)),
        Transpose("transpose 16384", (16384, 16384), goals=((("copy",), 0.97),)),
        Histogram(
            "histogram 2^30 uniform",
            (1 << 30, *bins),
            "uint8",
            {"values": "uniform"},
            ((CUB, 1.9),),
        ),
        Histogram(
            "histogram 2^30 constant",
            (1 << 30, *bins),
            "uint8",
            {"values": "constant"},
            ((CUB, 1.15),),
        ),
        Smooth("smooth 2^28", (1 << 28,), goals=((("copy",), 0.97),)),
        Conv2d("conv2d 8192 5x5", (8192, 8192, 5, 5), goals=((("cupy",), 6.0),)),
        Conv2d("conv2d 8192 11x11", (8192, 8192, 11, 11), goals=((("cupy",), 8.0),)),
        Gemm("gemm 4096", (4096, 4096, 4096), goals=((CUBLAS, 0.95),)),
        Gemm("gemm 8192", (8192, 8192, 8192), goals=((CUBLAS, 0.95),)),
        Gemm("gemm 4095x4097x4093", (4095, 4097, 4093), goals=((CUBLAS, 1.0),)),
    ]
