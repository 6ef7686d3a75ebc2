"""What is measured: arrays, calls, and what a right result is, for each family.

What is right is found without any of the subjects: by NumPy on the host, in float64 or by counting.
"""

import operator
from dataclasses import dataclass, field

import numpy

from .. import _core
from .results import LENGTH_MOST, Measurement

CHUNK = 1 << 24  # elements that the host checks at a time
TILE = 256
ROWS_CHECKED = 16
PIXELS_CHECKED = 4000
LONE_ROWS = 8  # of a, in gemm, that have few terms,
LONE_TERMS = 4  # so many each
# Of eps * sqrt(terms) * sqrt(sum of their squares), which grows as the error does: each addition to
# a sum of random terms rounds by some eps of it, at random. A chain of fma's has a seventh of that
# as its error's standard deviation, other orders less.
ERROR_MOST = 4
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


def find_unequal(expected, result):
    """None, or words for the first element that is another one."""
    wrong = result != expected
    if wrong.any():
        at = int(numpy.argmax(wrong))
        return f"element {at} is {result[at]}, not {expected[at]}"
    return None


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
    goals : tuple of targets.Goal
        The first of these peers that is there takes at least a factor times our time.
    """

    name: str
    shape: tuple
    dtype: str = "float32"
    parameters: dict = field(default_factory=dict)
    goals: tuple = ()

    family = ""
    by_flops = False  # whether operations a second say more than bytes a second
    names = "n"  # of the dimensions
    choices = {}  # of parameters: the first is what is taken where nothing is said

    @property
    def itemsize(self):
        """Bytes of an element."""
        return numpy.dtype(self.dtype).itemsize

    @property
    def eps(self):
        """What one rounding may change, relatively."""
        return float(numpy.finfo(self.dtype).eps)

    @property
    def result_dtype(self):
        """The result's element type."""
        return self.dtype

    @property
    def flops(self):
        """Operations that must be done; None where bytes are all that counts."""
        return _core._flops(self.family, self.shape) or None

    def accepts(self, dtypes):
        """Whether a variant compiled for these types takes the case."""
        bits = f"bits{8 * self.itemsize}"
        return self.dtype in dtypes or bits in dtypes

    def expect_of(self, variant, inputs, expected):
        """What a variant must give: that of the family, but for those that do something else."""
        return expected

    def make_row(self, variant, machine, **more):
        """A Measurement of a subject."""
        facts = {"nbytes": float(self.nbytes), "flops": self.flops}
        facts["parameters"] = dict(self.parameters)
        return Measurement(
            self.family, variant, tuple(self.shape), self.dtype, machine, **facts, **more
        )

    def owns(self, row):
        """Whether a row is of this case."""
        mine = self.make_row(row.variant, row.machine, cache=row.cache)
        return mine.key == row.key

    @classmethod
    def spread(cls, n):
        """The shape that one number stands for: all dimensions are n."""
        return (n,) * len(cls.names.split())

    @classmethod
    def find_conflict(cls, shape, dtype):
        """None, or words for lengths that do not fit each other."""
        return None


def draw_halves(rng, n, dtype="float32"):
    """-3.5, -2.5, ... 3.5, or whole numbers: sums of them and of products are exact."""
    x = rng.integers(0, 256, n, dtype="uint8") & 7  # bytes are drawn fast
    x = x.astype(dtype)
    x -= numpy.asarray(3.5 if x.dtype.kind == "f" else 3).astype(dtype)
    return x


def draw_wide(rng, dtype, room=1):
    """A number that needs all but `room` bits of its type: the sums beside it are exact, too."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":  # an odd number of halves
        bits = numpy.finfo(dtype).nmant + 1 - room
        return (int(rng.integers(1 << (bits - 1), 1 << bits)) | 1) / 2
    return (1 << min(8 * dtype.itemsize - 1, 51)) - int(rng.integers(1, 1000))


def draw_any(rng, shape, dtype):
    """Values of any type, which use all of its bits."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return rng.random(shape, "float32" if dtype.itemsize < 4 else dtype).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape, dtype="uint8").astype(dtype)
    least, most = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    return rng.integers(least, most, shape, dtype=dtype, endpoint=True)


def choose_places(n, count):
    """The first and the last of n, and others at random, each time others; `count` at most."""
    if n <= count:
        return numpy.arange(n)
    others = numpy.random.default_rng().integers(1, n - 1, count - 2)
    return numpy.unique([0, *others, n - 1])


def list_chunks(n):
    """Slices that cover n elements."""
    return [slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]


class Reduce(Case):
    """reduce: x -> sum, max or min."""

    family = "reduce"
    result_shape = ()
    choices = {"op": ("sum", "max", "min")}

    @property
    def op(self):
        return self.parameters.get("op", "sum")

    @property
    def result_dtype(self):
        whole = numpy.dtype(self.dtype).kind == "i"
        return "int64" if whole and self.op == "sum" else self.dtype

    @property
    def nbytes(self):
        return self.itemsize * self.shape[0]

    def make_inputs(self, rng):
        """Among numbers of few bits one that needs all of them, so that none may be cut off."""
        x = draw_halves(rng, self.shape[0], self.dtype)
        count = 1 if x.dtype.kind == "f" else 2  # whole numbers are summed in 64 bits
        for at in rng.choice(len(x), min(count, len(x)), replace=False):
            x[at] = draw_wide(rng, self.dtype)
        return (x,)

    def call(self, arrays, out, variant):
        _core.reduce(arrays[0], op=self.op, variant=variant, out=out)

    def compute(self, inputs):
        return getattr(inputs[0], self.op)()

    def expect(self, inputs):
        if self.op == "sum":
            return inputs[0].sum(dtype="float64")
        return float(self.compute(inputs))

    def find_fault(self, expected, result):
        return compare(result.reshape(1), numpy.array([expected]), 0, self.op)


class Dot(Case):
    """dot: x, y -> sum of x * y."""

    family = "dot"
    result_shape = ()

    @property
    def nbytes(self):
        return 2 * self.itemsize * self.shape[0]

    def make_inputs(self, rng):
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

    def call(self, arrays, out, variant):
        _core.dot(*arrays, variant=variant, out=out)

    def compute(self, inputs):
        return numpy.dot(*inputs)

    def expect(self, inputs):
        exact = 0.0
        for part in list_chunks(self.shape[0]):
            x, y = (array[part].astype("float64") for array in inputs)
            exact += float(x @ y)
        return exact

    def find_fault(self, expected, result):
        return compare(result.reshape(1), numpy.array([expected]), 0, "product")


class Transpose(Case):
    """transpose: a -> a.T."""

    family = "transpose"
    names = "m n"

    @property
    def result_shape(self):
        return self.shape[::-1]

    @property
    def nbytes(self):
        return 2 * self.itemsize * self.shape[0] * self.shape[1]

    def make_inputs(self, rng):
        return (draw_any(rng, self.shape, self.dtype),)

    def call(self, arrays, out, variant):
        _core.transpose(arrays[0], variant=variant, out=out)

    def compute(self, inputs):
        return numpy.ascontiguousarray(inputs[0].T)

    def expect(self, inputs):
        return inputs[0].T

    def expect_of(self, variant, inputs, expected):
        return inputs[0].reshape(self.result_shape) if variant == "copy" else expected

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
        return 2 * self.itemsize * self.shape[0]

    def make_inputs(self, rng):
        return (rng.random(self.shape[0], dtype=self.dtype),)

    def call(self, arrays, out, variant):
        _core.smooth(arrays[0], variant=variant, out=out)

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
        bound = 8 * self.eps  # of numbers below 1
        for part in list_chunks(self.shape[0]):
            words = f"from {part.start}, element"
            reason = compare(result[part], expected[part], bound, words)
            if reason:
                return reason
        return None


class Conv2d(Case):
    """conv2d: convolution, zeros beyond the image; filters of any size."""

    family = "conv2d"
    names = "h w p q"

    @classmethod
    def spread(cls, n):
        """A square image and a filter of 5 x 5."""
        return n, n, 5, 5

    @property
    def by_flops(self):
        return self.shape[2] * self.shape[3] > 50

    @property
    def result_shape(self):
        return self.shape[:2]

    @property
    def nbytes(self):
        return 2 * self.itemsize * self.shape[0] * self.shape[1]

    def make_inputs(self, rng):
        h, w, p, q = self.shape
        return (
            rng.standard_normal((h, w), dtype=self.dtype),
            rng.standard_normal((p, q), dtype=self.dtype),
        )

    def call(self, arrays, out, variant):
        _core.conv2d(*arrays, variant=variant, out=out)

    def compute(self, inputs):
        image, weights = inputs
        h, w, p, q = self.shape
        wide = numpy.pad(image, ((p - 1 - p // 2, p // 2), (q - 1 - q // 2, q // 2)))
        result = numpy.zeros_like(image)
        for i in range(p):
            for j in range(q):
                result += weights[p - 1 - i, q - 1 - j] * wide[i : i + h, j : j + w]
        return result

    def expect(self, inputs):
        image, weights = inputs
        h, w, p, q = self.shape
        rng = numpy.random.default_rng()  # each time other pixels
        y, x = rng.integers(0, h, PIXELS_CHECKED), rng.integers(0, w, PIXELS_CHECKED)
        y[:4], x[:4] = (0, 0, h - 1, h - 1), (0, w - 1, 0, w - 1)
        exact, squares = numpy.zeros(len(y)), numpy.zeros(len(y))
        for i in range(p):
            for j in range(q):
                row, column = y + p // 2 - i, x + q // 2 - j
                inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
                value = image[row % h, column % w] * inside * float(weights[i, j])
                exact += value
                squares += value**2
        return (y, x), exact, ERROR_MOST * self.eps * numpy.sqrt(p * q * squares)

    def find_fault(self, expected, result):
        pixels, exact, bound = expected
        return compare(result[pixels], exact, bound, "checked pixel")


class Histogram(Case):
    """histogram of numbers that are spread evenly over the bins, or of one number."""

    family = "histogram"
    names = "n e b"
    result_dtype = "int64"
    choices = {"values": ("uniform", "constant")}

    @classmethod
    def spread(cls, n):
        """n elements, 256 bins."""
        return n, BYTE_BINS + 1, BYTE_BINS

    @classmethod
    def find_conflict(cls, shape, dtype):
        if shape[1] != shape[2] + 1:
            return f"{shape[2]} bins have {shape[2] + 1} edges, not {shape[1]}"
        if dtype == "uint8" and shape[2] != BYTE_BINS:
            return f"bytes have {BYTE_BINS} bins, not {shape[2]}"
        return None

    @property
    def result_shape(self):
        return (self.shape[2],)

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

    def call(self, arrays, out, variant):
        _core.histogram(*arrays, variant=variant, out=out)

    def compute(self, inputs):
        if self.dtype == "uint8":
            return numpy.bincount(inputs[0], minlength=BYTE_BINS)
        return numpy.histogram(*inputs)[0]

    def expect(self, inputs):
        counts = numpy.zeros(self.shape[2], "int64")
        for part in list_chunks(self.shape[0]):
            counts += self.compute((inputs[0][part], inputs[1]))
        return counts

    def find_fault(self, expected, result):
        return compare(result, expected, 0, "bin")


class VectorAdd(Case):
    """vector_add: x + y."""

    family = "vector_add"

    @property
    def result_shape(self):
        return self.shape

    @property
    def nbytes(self):
        return 3 * self.itemsize * self.shape[0]

    def make_inputs(self, rng):
        """Of whole numbers half, so that sums fit."""
        x, y = (draw_any(rng, self.shape[0], self.dtype) for _ in range(2))
        return (x, y) if x.dtype.kind == "f" else (x // 2, y // 2)

    def call(self, arrays, out, variant):
        _core.vector_add(*arrays, variant=variant, out=out)

    def compute(self, inputs):
        return numpy.add(*inputs)

    def expect(self, inputs):
        return self.compute(inputs)

    def find_fault(self, expected, result):
        return find_unequal(expected, result)


class Gather(Case):
    """gather: x[index], the indices in no order or one after the other."""

    family = "gather"
    names = "n m"
    choices = {"order": ("random", "sequential")}

    @property
    def result_shape(self):
        return self.shape[1:]

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

    def call(self, arrays, out, variant):
        _core.gather(*arrays, variant=variant, out=out)

    def compute(self, inputs):
        return inputs[0].take(inputs[1])

    def expect(self, inputs):
        return self.compute(inputs)

    def find_fault(self, expected, result):
        return find_unequal(expected, result)


class Gemm(Case):
    """gemm: a @ b."""

    family = "gemm"
    names = "m k n"
    by_flops = True

    @property
    def result_shape(self):
        return self.shape[0], self.shape[2]

    @property
    def nbytes(self):
        m, k, n = self.shape
        return self.itemsize * (m * k + k * n + m * n)

    def make_inputs(self, rng):
        """Some rows of a have a few terms alone.

        In a long sum the roundings of a right kernel hide what one loses that cuts its operands
        off, or leaves out products of their parts; where terms are few, there is nothing to hide.
        """
        m, k, n = self.shape
        a = rng.standard_normal((m, k), dtype=self.dtype)
        b = rng.standard_normal((k, n), dtype=self.dtype)
        lone = rng.choice(m, min(LONE_ROWS, (m + 2) // 4), replace=False)
        for row in lone:
            kept = rng.choice(k, min(LONE_TERMS, k), replace=False)
            terms = a[row, kept]
            a[row] = 0
            a[row, kept] = terms
        return a, b

    def call(self, arrays, out, variant):
        _core.gemm(*arrays, variant=variant, out=out)

    def compute(self, inputs):
        return numpy.matmul(*inputs)

    def expect(self, inputs):
        m, k, n = self.shape
        terms = numpy.count_nonzero(inputs[0], axis=1)
        lone = numpy.flatnonzero(terms <= LONE_TERMS)[:LONE_ROWS]
        rows = numpy.union1d(choose_places(m, ROWS_CHECKED), lone)
        a = inputs[0][rows].astype("float64")
        exact, squares = numpy.empty((2, len(rows), n))
        width = max(1, CHUNK // k)
        for start in range(0, n, width):
            b = inputs[1][:, start : start + width].astype("float64")
            exact[:, start : start + width] = a @ b
            squares[:, start : start + width] = a**2 @ b**2
        bound = ERROR_MOST * self.eps * numpy.sqrt(terms[rows, numpy.newaxis] * squares)
        return rows, exact, bound

    def find_fault(self, expected, result):
        rows, exact, bound = expected
        return compare(result[rows], exact, bound, "checked element")


KINDS = {
    kind.family: kind
    for kind in (
        Gemm,
        Transpose,
        Reduce,
        Dot,
        Smooth,
        Conv2d,
        Histogram,
        VectorAdd,
        Gather,
    )
}


# Cases by the words of a caller ------------------------------------------------------------------


def find_kind(family):
    """The class of a family's cases; ArgumentError where there is none."""
    if not isinstance(family, str) or family not in KINDS:
        raise _core.ArgumentError(f"there is no family {family!r}; there are {', '.join(KINDS)}")
    return KINDS[family]


def complete_shape(family, shape):
    """The lengths of all dimensions, of them or of one number that stands for all."""
    kind = find_kind(family)
    names = kind.names.split()
    given = shape if isinstance(shape, tuple | list) else None
    try:
        lengths = [operator.index(n) for n in (given if given is not None else [shape])]
    except TypeError:
        raise _core.ArgumentTypeError(
            f"a shape of {family} is an int or a tuple of ints, not {shape!r}"
        ) from None
    if any(not 1 <= n <= LENGTH_MOST for n in lengths):
        raise _core.ArgumentError(
            f"a shape of {family} needs lengths of 1 and more (to {LENGTH_MOST}), not {shape!r:.80}"
        )
    if given is None or len(lengths) == 1:
        return kind.spread(lengths[0])
    if len(lengths) != len(names):
        raise _core.ShapeError(
            f"a shape of {family} is one number, or ({', '.join(names)}), not {shape!r}"
        )
    return tuple(lengths)


def complete_dtype(family, dtype=None):
    """The name of the element type; where nothing is said, the family's own."""
    find_kind(family)
    if dtype is None:
        return "uint8" if family == "histogram" else "float32"
    try:
        name = numpy.dtype(dtype).name
    except (TypeError, ValueError):
        raise _core.ArgumentTypeError(f"{dtype!r:.80} is no element type, as float32 is") from None
    known = dict.fromkeys(t for row in _core.variants(family).values() for t in row["dtypes"])
    kind = numpy.dtype(name)
    same = f"bits{8 * kind.itemsize}" in known and kind.kind in "biuf"
    if name not in known and not same:
        raise _core.ArgumentTypeError(f"{family} takes {', '.join(known)}, not {name}")
    return name


def make_case(family, shape, dtype=None, parameters=None):
    """A Case of any family, shape and type; typed errors for what none can be made of."""
    kind = find_kind(family)
    lengths, name = complete_shape(family, shape), complete_dtype(family, dtype)
    chosen = {key: values[0] for key, values in kind.choices.items()}
    for key, value in (parameters or {}).items():
        if key not in kind.choices:
            there = ", ".join(kind.choices) or "none"
            raise _core.ArgumentTypeError(f"{family} has no parameter {key!r}; it has: {there}")
        if not isinstance(value, str) or value not in kind.choices[key]:
            words = ", ".join(kind.choices[key])
            raise _core.ArgumentError(f"{key} of {family} is {value!r}; accepted: {words}")
        chosen[key] = value
    reason = kind.find_conflict(lengths, name)
    if reason:
        raise _core.ShapeError(f"{family} {lengths}: {reason}")
    words = [family, "x".join(map(str, lengths)), name, *chosen.values()]
    return kind(" ".join(words), lengths, name, chosen)
