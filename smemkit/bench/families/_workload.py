"""The base class of the families' classes, and functions for operands and comparisons.

A class is one family; an instance is the family at one shape and element type. Right answers come
from NumPy on the host, in float64 or by counting, and from none of the kernels or libraries that
are measured.
"""

import itertools
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy

from ... import _core
from ..results import Measurement

CHUNK = 1 << 24  # elements that the host checks at once
# Of eps * sqrt(terms) * sqrt(sum of their squares), which grows as the error does: each addition to
# a sum of random terms rounds by some eps of it, at random. A chain of fma's has a seventh of that
# as its error's standard deviation, other orders less.
ERROR_MOST = 4
LOW, HIGH = -9, 9  # of the whole numbers of small operands


class Goal(NamedTuple):
    """The first of these peers that is there takes at least `factor` times our time."""

    peers: tuple
    factor: float


CUB, CUBLAS = ("cub", "cupy"), ("torch", "cupy")  # CuPy sums with CUB, and calls cuBLAS too


class Record(NamedTuple):
    """A measurement of the command record: a shape with NumPy and peers beside it, where main."""

    shape: int | tuple
    parameters: dict
    dtype: str | None = None
    main: bool = False


class Tiles(NamedTuple):
    """How the tile of some variants may be varied (bench.tile_sweep).

    variants have a square tile, of which `sides` are tried. A side is a multiple of `step` and
    `most` at most. A block has side x side threads, or side x rows. axes are the dimensions over
    which x and y of the grid go. by_size: the kernel moves elements of a size, whatever their type.
    """

    variants: tuple
    sides: tuple
    axes: tuple
    step: int = 1
    most: int = 32
    rows: int | None = None
    by_size: bool = False

    def block(self, side):
        """Threads of a block, x and y."""
        return side, self.rows or side


def read_signature(signature):
    """The dimensions of "(m,k),(k,n)->(m,n)".

    Parameters
    ----------
    signature : str
        As smemkit.families() has it.

    Shapes
    ------
    None: it reads a text.

    Returns
    -------
    (inputs, outputs, names): the names of each input's dimensions, of each output's, and all names
    in the order in which they appear first.

    Raises
    ------
    Nothing.

    Example
    -------
    >>> from smemkit.bench.families import read_signature
    >>> read_signature("(n),(m)->(m)")
    ([['n'], ['m']], [['m']], ['n', 'm'])
    """
    sides = [re.findall(r"\(([^()]*)\)", side) for side in signature.split("->")]
    inputs, outputs = ([core.split(",") if core else [] for core in side] for side in sides)
    return inputs, outputs, list(dict.fromkeys(itertools.chain(*inputs, *outputs)))


# The class ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """One family at one shape.

    A family needs a class with `family`, make_inputs, oracle and sizes; all else has a default.

    Attributes
    ----------
    name : str
    shape : tuple of int
        In the order of the family's signature.
    dtype : str
        Of the elements.
    parameters : dict
        What else tells its rows from others.
    goals : tuple of Goal
    """

    name: str
    shape: tuple
    dtype: str = "float32"
    parameters: dict = field(default_factory=dict)
    goals: tuple = ()

    family = ""
    usual_dtype = "float32"  # where none is said
    usual_length = 1 << 26  # of what is measured on a GPU where no shape is given
    usual_sizes = {}  # of dimensions that a --shape of the command line may leave out
    choices = {}  # of parameters: the first is what is taken where nothing is said
    by_flops = False  # whether operations a second say more than bytes a second
    other_work = {}  # variant -> function of the inputs: what it makes instead of the result

    library = "cupy"  # the library that it is compared with: its name,
    callers = ("cupy", "torch")  # and the peers that call it, best first
    is_copied = False  # whether the device's own copy of as many bytes is a peer
    needs_cub = False  # whether CUB is a peer
    compared_always = False  # whether `record` has peers at every size
    records = ()  # a Record for each measurement of `record`
    target_rank = 0  # the place of its targets among those of other families
    tiles = None
    constant_variants = ()  # that read an operand from constant memory

    # Two dicts or more from dimension to size, for small calls with exact results: a regular one,
    # then one with something left over everywhere.
    sizes = ()

    # What the signature says

    @classmethod
    def read_signature(cls):
        """(dimensions of each input, of each output, all of them) by their names."""
        return read_signature(_core.families()[cls.family]["signature"])

    @classmethod
    def needs_out(cls):
        """Whether a dimension of the result is that of `out` alone."""
        inputs, outputs, _ = cls.read_signature()
        return not set(itertools.chain(*outputs)) <= set(itertools.chain(*inputs))

    @property
    def lengths(self):
        """From dimension to size."""
        return dict(zip(self.read_signature()[2], self.shape, strict=True))

    @property
    def result_shape(self):
        """The shape of the one result."""
        return tuple(self.lengths[name] for name in self.read_signature()[1][0])

    @classmethod
    def spread(cls, n):
        """The shape that one number stands for: all dimensions are n."""
        return (n,) * len(cls.read_signature()[2])

    @classmethod
    def find_conflict(cls, shape, dtype):
        """None, or words for lengths that do not fit each other."""
        return None

    # Arrays, the call, and what is right

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
    def keywords(self):
        """Of the call, beside variant and out."""
        return {}

    def make_inputs(self, rng):
        """The operands, as many as the signature has."""
        raise NotImplementedError(f"{type(self).__name__} has no make_inputs")

    def call(self, arrays, out, variant):
        """Makes the call on arrays of ours."""
        getattr(_core, self.family)(*arrays, **self.keywords, variant=variant, out=out)

    @staticmethod
    def oracle(*arrays, **keywords):
        """The result by NumPy, exact for small whole numbers."""
        raise NotImplementedError("this family has no oracle")

    def compute(self, inputs):
        """The result by NumPy, as fast as NumPy makes it: what is timed on the host."""
        return self.oracle(*inputs, **self.keywords)

    def expect(self, inputs):
        """What find_fault compares results with."""
        return self.compute(inputs)

    def expect_of(self, variant, inputs, expected):
        """What a variant must give: that of the family, but for those that do something else."""
        other = self.other_work.get(variant)
        return other(*inputs) if other else expected

    def find_fault(self, expected, result):
        """None, or words for what is wrong with a result."""
        return find_unequal(expected, result)

    def accepts(self, dtypes):
        """Whether a variant compiled for these types takes the case."""
        bits = f"bits{8 * self.itemsize}"
        return self.dtype in dtypes or bits in dtypes

    # What it costs

    @property
    def nbytes(self):
        """Bytes that must move: each array of one dimension or more once."""
        inputs, outputs, _ = self.read_signature()
        return self.itemsize * sum(self.count(names) for names in (*inputs, *outputs) if names)

    @property
    def flops(self):
        """Operations that must be done; None where bytes are all that counts."""
        return _core._flops(self.family, self.shape) or None

    def count(self, names):
        """Elements of an array with these dimensions."""
        return int(numpy.prod([self.lengths[name] for name in names], dtype=object))

    def predict_reads(self, tile=(1, 1), weights=True):
        """Bytes that must be read where each tile of x by y results reads its operands once.

        A tile of (1, 1) is a read for each use. weights: whether constant_variants' operand is read
        from global memory.
        """
        inputs = self.read_signature()[0]
        return float(self.itemsize * sum(self.count(names) for names in inputs))

    # Rows of results

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

    # Targets and peers

    @classmethod
    def list_targets(cls, size):
        """The cases of `bench --peers` with their goals; where size is "small", without."""
        return []

    def call_cupy(self, cupy, filters, x, out, hold):
        """The call of CuPy on its arrays, or None; hold(result) where it takes no out."""
        return None

    def call_torch(self, torch, x, out, hold):
        """The call of torch, as above."""
        return None

    def find_cub(self):
        """(function of peers.CUB_SOURCE, element type of its result), or None."""
        return None

    # Small calls

    @classmethod
    def list_keywords(cls, regular=True):
        """Keywords of a call, a dict each: every kernel that is compiled of a variant is there."""
        return [{}]

    @classmethod
    def complete_sizes(cls, sizes, dtype):
        """The same sizes where some depend on each other, or on the type."""
        return sizes

    @classmethod
    def make_small(cls, sizes, dtype, random):
        """Operands of whole numbers from LOW to HIGH; of unsigned types all values of a byte."""
        shapes = [[sizes[name] for name in shape] for shape in cls.read_signature()[0]]
        low, high = (0, 256) if dtype.kind == "u" else (LOW, HIGH + 1)
        arrays = [draw_small(random, low, high, shape, dtype) for shape in shapes]
        cls.adjust_small(arrays, sizes, random)
        return arrays

    @classmethod
    def adjust_small(cls, arrays, sizes, random):
        """Replaces small operands that are no whole numbers from LOW to HIGH."""

    @classmethod
    def bound_small(cls, arrays, expected):
        """By how much a result of small operands may differ from the oracle's."""
        return 0

    tied = ()  # dimensions that go together
    more_ragged = ()  # sizes beside the irregular ones of `sizes`

    @classmethod
    def list_regular(cls):
        """Sizes that tiles divide, for calls whose every access is checked."""
        return [cls.sizes[0]]

    @classmethod
    def list_ragged(cls):
        """Sizes with something left over, and each dimension in turn small, or one."""
        sizes = [*cls.sizes[1:], *cls.more_ragged]
        free = [name for name in sizes[0] if name not in cls.tied]
        return sizes + [sizes[0] | {name: size} for name in free for size in (33, 1)]

    # The command line

    @classmethod
    def adjust_command(cls, arrays, sizes, keywords, rng):
        """The operands and keywords of smemkit.<family>, where they are not those of the kernel."""
        return arrays, keywords


# Comparisons -------------------------------------------------------------------------------------


def compare(result, expected, bound, what="element"):
    """None, or words for the worst element beyond its bound; a NaN is beyond every bound."""
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
    """None, or words for the first element that differs."""
    wrong = result != expected
    if wrong.any():
        at = int(numpy.argmax(wrong))
        return f"element {at} is {result[at]}, not {expected[at]}"
    return None


# Operands ----------------------------------------------------------------------------------------


def draw_small(random, low, high, shape, dtype):
    """Whole numbers in [low, high); `random` is a Generator, or a RandomState, which is frozen."""
    draw = random.integers if hasattr(random, "integers") else random.randint
    return draw(low, high, shape).astype(dtype)


def draw_halves(rng, n, dtype="float32"):
    """-3.5, -2.5, ... 3.5, or whole numbers: sums of them and of products are exact."""
    x = rng.integers(0, 256, n, dtype="uint8") & 7  # bytes are drawn fast
    x = x.astype(dtype)
    x -= numpy.asarray(3.5 if x.dtype.kind == "f" else 3).astype(dtype)
    return x


def draw_wide(rng, dtype, room=1):
    """A number that needs all but `room` bits of its type; sums with it are still exact."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":  # an odd number of halves
        bits = numpy.finfo(dtype).nmant + 1 - room
        return (int(rng.integers(1 << (bits - 1), 1 << bits)) | 1) / 2
    return (1 << min(8 * dtype.itemsize - 1, 51)) - int(rng.integers(1, 1000))


def draw_any(rng, shape, dtype):
    """Random values of any type that use all of its bits."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return rng.random(shape, "float32" if dtype.itemsize < 4 else dtype).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape, dtype="uint8").astype(dtype)
    least, most = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    return rng.integers(least, most, shape, dtype=dtype, endpoint=True)


def choose_places(n, count):
    """`count` indices of n at most: the first, the last, and fresh random ones."""
    if n <= count:
        return numpy.arange(n)
    others = numpy.random.default_rng().integers(1, n - 1, count - 2)
    return numpy.unique([0, *others, n - 1])


def list_chunks(n):
    """Slices that cover n elements."""
    return [slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
