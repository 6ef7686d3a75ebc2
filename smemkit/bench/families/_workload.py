"""The base class of the families' classes, and functions for operands and comparisons.

A class is one family; an instance is the family at one shape and element type. Right answers come
from NumPy on the host, in float64 or by counting, and from none of the kernels or libraries that
are measured.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy

from ... import _bfloat16, _core
from ..results import Measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike

    from ..._types import HostArray
    from ..types import Call, DType, Operands, Random, Result, Size, Sizes

    Hold = Callable[[Any], None]

CHUNK = 1 << 24  # elements that the host checks at once
# Of eps * sqrt(terms) * sqrt(sum of their squares), which grows as the error does: each addition to
# a sum of random terms rounds by some eps of it, at random. A chain of fma's has a seventh of that
# as its error's standard deviation, other orders less.
ERROR_MOST = 4
LOW, HIGH = -9, 9  # of the whole numbers of small operands


class Goal(NamedTuple):
    """The first of these peers that is there takes at least `factor` times our time."""

    peers: tuple[str, ...]
    factor: float


CUB, CUBLAS = ("cub", "cupy"), ("torch", "cupy")  # CuPy sums with CUB, and calls cuBLAS too


class Record(NamedTuple):
    """A measurement of the command record: a shape with NumPy and peers beside it, where main."""

    shape: int | tuple[int, ...]
    parameters: dict[str, str]
    dtype: str | None = None
    main: bool = False


class Tiles(NamedTuple):
    """How the tile of some variants may be varied (bench.tile_sweep).

    variants have a square tile, of which `sides` are tried. A side is a multiple of `step` and
    `most` at most. A block has side x side threads, or side x rows. axes are the dimensions over
    which x and y of the grid go. by_size: the kernel moves elements of a size, whatever their type.
    """

    variants: tuple[str, ...]
    sides: tuple[int, ...]
    axes: tuple[str, str]
    step: int = 1
    most: int = 32
    rows: int | None = None
    by_size: bool = False

    def block(self, side: int) -> tuple[int, int]:
        """Threads of a block, x and y."""
        return side, self.rows or side


class Signature(NamedTuple):
    """The names of each input's dimensions, of each output's, and all of them in order."""

    inputs: list[list[str]]
    outputs: list[list[str]]
    names: list[str]


def read_signature(signature: str) -> Signature:
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
    Signature: names are in the order in which they appear first.

    Raises
    ------
    Nothing.

    Example
    -------
    >>> from smemkit.bench.families import read_signature
    >>> read_signature("(n),(m)->(m)")
    Signature(inputs=[['n'], ['m']], outputs=[['m']], names=['n', 'm'])
    """
    sides = [re.findall(r"\(([^()]*)\)", side) for side in signature.split("->")]
    inputs, outputs = ([core.split(",") if core else [] for core in side] for side in sides)
    names = dict.fromkeys(itertools.chain(*inputs, *outputs))
    return Signature(inputs, outputs, list(names))


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
    shape: tuple[int, ...]
    dtype: str = "float32"
    parameters: dict[str, str] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()

    family: ClassVar[str] = ""
    usual_dtype: ClassVar[str] = "float32"  # where none is said
    usual_length: ClassVar[int] = 1 << 26  # of what a GPU measures where no shape is given
    # Of dimensions that a --shape of the command line may leave out.
    usual_sizes: ClassVar[dict[str, int]] = {}
    # Of parameters: the first is what is taken where nothing is said.
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    # Those of them that rows name only where they are not the usual ones.
    unnamed: ClassVar[tuple[str, ...]] = ()
    # What a variant makes of the inputs instead of the result.
    other_work: ClassVar[dict[str, Callable[..., HostArray]]] = {}

    library: ClassVar[str] = "cupy"  # the library that it is compared with: its name,
    callers: ClassVar[tuple[str, ...]] = ("cupy", "torch")  # and the peers that call it, best first
    is_copied: ClassVar[bool] = False  # whether the device's own copy of as many bytes is a peer
    needs_cub: ClassVar[bool] = False  # whether CUB is a peer
    compared_always: ClassVar[bool] = False  # whether `record` has peers at every size
    records: ClassVar[tuple[Record, ...]] = ()  # one for each measurement of `record`
    target_rank: ClassVar[int] = 0  # the place of its targets among those of other families
    tiles: ClassVar[Tiles | None] = None
    constant_variants: ClassVar[tuple[str, ...]] = ()  # that read an operand from constant memory

    # For small calls with exact results: two or more, a regular one, then one with something left
    # over everywhere.
    sizes: ClassVar[tuple[dict[str, int], ...]] = ()

    # What the signature says

    @classmethod
    def read_signature(cls) -> Signature:
        """The names of the dimensions; InternalError for a family without a contract."""
        signature = _core.families()[cls.family]["signature"]
        if signature is None:
            raise _core.InternalError(f"families.def has no signature of {cls.family!r}")
        return read_signature(signature)

    @classmethod
    def needs_out(cls) -> bool:
        """Whether a dimension of the result is that of `out` alone."""
        inputs, outputs, _ = cls.read_signature()
        return not set(itertools.chain(*outputs)) <= set(itertools.chain(*inputs))

    @property
    def lengths(self) -> dict[str, int]:
        """From dimension to size."""
        return dict(zip(self.read_signature().names, self.shape, strict=True))

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the one result."""
        return tuple(self.lengths[name] for name in self.read_signature().outputs[0])

    @classmethod
    def spread(cls, n: int) -> tuple[int, ...]:
        """The shape that one number stands for: all dimensions are n."""
        return (n,) * len(cls.read_signature().names)

    @classmethod
    def find_conflict(cls, shape: tuple[int, ...], dtype: str) -> str | None:
        """None, or words for lengths that do not fit each other."""
        return None

    @classmethod
    def find_misfit(cls, dtype: str, parameters: Mapping[str, str]) -> str | None:
        """None, or words for a parameter that elements of this type do not have."""
        return None

    # Arrays, the call, and what is right

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return _bfloat16.complete(self.dtype).itemsize

    @property
    def eps(self) -> float:
        """What one rounding may change, relatively."""
        return float(numpy.finfo(self.dtype).eps)

    @property
    def result_dtype(self) -> str:
        """The result's element type."""
        return self.dtype

    @property
    def keywords(self) -> dict[str, str]:
        """Of the call, beside variant and out."""
        return {}

    def make_inputs(self, rng: numpy.random.Generator) -> tuple[HostArray, ...]:
        """The operands, as many as the signature has."""
        raise NotImplementedError(f"{type(self).__name__} has no make_inputs")

    def call(
        self, arrays: Sequence[_core.DeviceArray], out: _core.DeviceArray, variant: str
    ) -> None:
        """Makes the call on arrays of ours."""
        getattr(_core, self.family)(*arrays, **self.keywords, variant=variant, out=out)

    @staticmethod
    def oracle(*arrays: Any, **keywords: Any) -> Any:
        """The result by NumPy, exact for small whole numbers."""
        raise NotImplementedError("this family has no oracle")

    def compute(self, inputs: Operands) -> Result:
        """The result by NumPy, as fast as NumPy makes it: what is timed on the host."""
        result: Result = self.oracle(*inputs, **self.keywords)
        return result

    def expect(self, inputs: Operands) -> Any:
        """What find_fault compares results with: of a type of the family's own."""
        return self.compute(inputs)

    def expect_of(self, variant: str, inputs: Operands, expected: Any) -> Any:
        """What a variant must give: that of the family, but for those that do something else."""
        other = self.other_work.get(variant)
        return other(*inputs) if other else expected

    def find_fault(self, expected: Any, result: HostArray) -> str | None:
        """None, or words for what is wrong with a result."""
        return find_unequal(expected, result)

    def accepts(self, dtypes: Sequence[str]) -> bool:
        """Whether a variant compiled for these types takes the case."""
        bits = f"bits{8 * self.itemsize}"
        return self.dtype in dtypes or bits in dtypes

    # What it costs

    @property
    def by_flops(self) -> bool:
        """Whether operations a second say more than bytes a second."""
        return False

    @property
    def nbytes(self) -> int:
        """Bytes that must move: each array of one dimension or more once."""
        inputs, outputs, _ = self.read_signature()
        return self.itemsize * sum(self.count(names) for names in (*inputs, *outputs) if names)

    @property
    def flops(self) -> float | None:
        """Operations that must be done; None where bytes are all that counts."""
        return _core._flops(self.family, self.shape) or None

    def count(self, names: Sequence[str]) -> int:
        """Elements of an array with these dimensions."""
        return math.prod(self.lengths[name] for name in names)

    def predict_reads(self, tile: tuple[int, int] = (1, 1), weights: bool = True) -> float:
        """Bytes that must be read where each tile of x by y results reads its operands once.

        A tile of (1, 1) is a read for each use. weights: whether constant_variants' operand is read
        from global memory.
        """
        inputs = self.read_signature().inputs
        return float(self.itemsize * sum(self.count(names) for names in inputs))

    # Rows of results

    def make_row(self, variant: str, machine: str, **more: Any) -> Measurement:
        """A Measurement of a subject; more: of its other attributes."""
        return Measurement(
            self.family,
            variant,
            tuple(self.shape),
            self.dtype,
            machine,
            nbytes=float(self.nbytes),
            flops=self.flops,
            parameters=dict(self.parameters),
            **more,
        )

    def owns(self, row: Measurement) -> bool:
        """Whether a row is of this case."""
        mine = self.make_row(row.variant, row.machine, cache=row.cache)
        return mine.key == row.key

    # Targets and peers

    @classmethod
    def list_targets(cls, size: Size) -> Sequence[Workload]:
        """The cases of `bench --peers` with their goals; where size is "small", without."""
        return []

    def call_cupy(self, cupy: Any, filters: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        """The call of CuPy on its arrays, or None; hold(result) where it takes no out."""
        return None

    def call_torch(self, torch: Any, x: Any, out: Any, hold: Hold) -> Call | None:
        """The call of torch, as above."""
        return None

    def find_cub(self) -> tuple[str, str] | None:
        """(function of peers.CUB_SOURCE, element type of its result), or None."""
        return None

    # Small calls

    @classmethod
    def list_keywords(cls, regular: bool = True) -> list[dict[str, str]]:
        """Keywords of a call, a dict each: every kernel that is compiled of a variant is there."""
        return [{}]

    @classmethod
    def complete_sizes(cls, sizes: Sizes, dtype: str) -> Sizes:
        """The same sizes where some depend on each other, or on the type."""
        return sizes

    @classmethod
    def make_small(cls, sizes: Sizes, dtype: DType, random: Random) -> list[HostArray]:
        """Operands of whole numbers from LOW to HIGH; of unsigned types all values of a byte."""
        shapes = [[sizes[name] for name in shape] for shape in cls.read_signature().inputs]
        low, high = (0, 256) if dtype.kind == "u" else (LOW, HIGH + 1)
        arrays = [draw_small(random, low, high, shape, dtype) for shape in shapes]
        cls.adjust_small(arrays, sizes, random)
        return arrays

    @classmethod
    def adjust_small(cls, arrays: list[HostArray], sizes: Sizes, random: Random) -> None:
        """Replaces small operands that are no whole numbers from LOW to HIGH."""

    @classmethod
    def bound_small(cls, arrays: Operands, expected: Result) -> float:
        """By how much a result of small operands may differ from the oracle's."""
        return 0

    # Whether values decide which addresses a kernel touches, or how often.
    reads_values: ClassVar[bool] = False
    tied: ClassVar[tuple[str, ...]] = ()  # dimensions that go together
    # Sizes beside the irregular ones of `sizes`.
    more_ragged: ClassVar[tuple[dict[str, int], ...]] = ()

    @classmethod
    def list_regular(cls) -> list[dict[str, int]]:
        """Sizes that tiles divide, for calls whose every access is checked."""
        return [cls.sizes[0]]

    @classmethod
    def list_ragged(cls) -> list[dict[str, int]]:
        """Sizes with something left over, and each dimension in turn small, or one."""
        sizes = [*cls.sizes[1:], *cls.more_ragged]
        free = [name for name in sizes[0] if name not in cls.tied]
        return sizes + [sizes[0] | {name: size} for name in free for size in (33, 1)]

    # The command line

    @classmethod
    def adjust_command(
        cls,
        arrays: list[HostArray],
        sizes: Sizes,
        keywords: dict[str, Any],
        rng: numpy.random.Generator,
    ) -> tuple[list[HostArray], dict[str, Any]]:
        """The operands and keywords of smemkit.<family>, where they are not those of the kernel."""
        return arrays, keywords


# Comparisons -------------------------------------------------------------------------------------


class Checked(NamedTuple):
    """Some elements of a result: their places in it, what they are exactly, and what may differ."""

    places: HostArray | tuple[HostArray, ...]
    exact: HostArray
    bound: HostArray


def compare(
    result: HostArray, expected: HostArray, bound: float | HostArray, what: str = "element"
) -> str | None:
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


def find_unequal(expected: HostArray, result: HostArray) -> str | None:
    """None, or words for the first element that differs."""
    wrong = result != expected
    if wrong.any():
        at = int(numpy.argmax(wrong))
        return f"element {at} is {result[at]}, not {expected[at]}"
    return None


# Operands ----------------------------------------------------------------------------------------


def draw_small(
    random: Random, low: int, high: int, shape: Sequence[int], dtype: DTypeLike
) -> HostArray:
    """Whole numbers in [low, high); `random` is a Generator, or a RandomState, which is frozen."""
    if isinstance(random, numpy.random.RandomState):
        return _bfloat16.convert(random.randint(low, high, shape), dtype)
    return _bfloat16.convert(random.integers(low, high, shape), dtype)


def draw_halves(rng: numpy.random.Generator, n: int, dtype: DTypeLike = "float32") -> HostArray:
    """-3.5, -2.5, ... 3.5, or whole numbers: sums of them and of products are exact."""
    bits = rng.integers(0, 256, n, dtype="uint8") & 7  # bytes are drawn fast
    x: HostArray = bits.astype(dtype)
    x -= numpy.asarray(3.5 if x.dtype.kind == "f" else 3).astype(dtype)
    return x


def draw_wide(rng: numpy.random.Generator, dtype: DTypeLike, room: int = 1) -> float:
    """A number that needs all but `room` bits of its type; sums with it are still exact."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":  # an odd number of halves
        bits = numpy.finfo(dtype).nmant + 1 - room
        return (int(rng.integers(1 << (bits - 1), 1 << bits)) | 1) / 2
    return (1 << min(8 * dtype.itemsize - 1, 51)) - int(rng.integers(1, 1000))


def draw_any(
    rng: numpy.random.Generator, shape: int | tuple[int, ...], dtype: DTypeLike
) -> HostArray:
    """Random values of any type that use all of its bits."""
    element: DType = numpy.dtype(dtype)
    if element.kind == "f":
        drawn: DType = numpy.dtype("float32") if element.itemsize < 4 else element
        return rng.random(shape, drawn).astype(element)
    if element.kind == "c":
        return (rng.random(shape) + 1j * rng.random(shape)).astype(element)
    if element.kind == "b":
        return rng.integers(0, 2, shape, dtype="uint8").astype(element)
    least, most = numpy.iinfo(element).min, numpy.iinfo(element).max
    return rng.integers(least, most, shape, dtype=element, endpoint=True)


def choose_places(n: int, count: int) -> HostArray:
    """`count` indices of n at most: the first, the last, and fresh random ones."""
    if n <= count:
        return numpy.arange(n)
    others = numpy.random.default_rng().integers(1, n - 1, count - 2)
    return numpy.unique([0, *others, n - 1])


def list_chunks(n: int) -> list[slice]:
    """Slices that cover n elements."""
    return [slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
