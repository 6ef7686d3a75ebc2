"""Operands and right answers for every kernel family: what comparisons and tests launch.

Small whole numbers, of which every sum is exact in any order.
"""

import itertools
import re
from dataclasses import dataclass, field

import numpy

from .. import _core

LOW, HIGH = -9, 9
SMOOTH_BOUND = 8  # units in the last place of the greatest element
PAD_MODES = {"constant": "constant", "reflect": "symmetric", "nearest": "edge", "wrap": "wrap"}
# Two shapes a family or more: a regular one, then one with something left over everywhere.
SIZES = {
    "gemm": (
        {"m": 64, "k": 64, "n": 64},
        {"m": 100, "k": 70, "n": 90},
        {"m": 256, "k": 64, "n": 256},  # the greatest tile of all variants
    ),
    "transpose": ({"m": 128, "n": 64}, {"m": 75, "n": 101}),
    "reduce": ({"n": 8192}, {"n": 5003}),
    "dot": ({"n": 8192}, {"n": 5003}),
    "smooth": ({"n": 8192}, {"n": 5003}),
    "conv2d": ({"h": 64, "w": 128, "p": 5, "q": 5}, {"h": 45, "w": 84, "p": 18, "q": 7}),
    "histogram": ({"n": 32768, "e": 257, "b": 256}, {"n": 20011, "e": 257, "b": 256}),
    "vector_add": ({"n": 8192}, {"n": 5003}),
    "gather": ({"n": 4096, "m": 4096}, {"n": 777, "m": 2501}),
}


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
    >>> from smemkit.bench.samples import read_signature
    >>> read_signature("(n),(m)->(m)")
    ([['n'], ['m']], [['m']], ['n', 'm'])
    """
    sides = [re.findall(r"\(([^()]*)\)", side) for side in signature.split("->")]
    inputs, outputs = ([core.split(",") if core else [] for core in side] for side in sides)
    return inputs, outputs, list(dict.fromkeys(itertools.chain(*inputs, *outputs)))


def list_families():
    """The families that have a contract; shelves of single kernels are left out."""
    return [name for name, facts in _core.families().items() if facts["signature"]]


def list_sizes(family):
    """Two dicts or more from dimension to size."""
    if family not in SIZES:
        raise _core.ArgumentError(f"smemkit.bench.samples has no sizes for the family {family!r}")
    return SIZES[family]


def list_choices(family, regular=True):
    """Keywords of a call, a dict each: every kernel that is compiled of a variant is among them."""
    if family == "reduce":
        return [{"op": op} for op in ("sum", "max", "min")]
    if family == "conv2d" and not regular:
        return [{"mode": "reflect", "form": "correlate"}]
    return [{}]


def numpy_type(dtype):
    """The NumPy type that stands for an element type of smemkit.variants: bits32 -> uint32."""
    return numpy.dtype(dtype.replace("bits", "uint"))


def _draw(random, low, high, shape, dtype):
    """Whole numbers in [low, high); `random` is a Generator, or a RandomState, which is frozen."""
    draw = random.integers if hasattr(random, "integers") else random.randint
    return draw(low, high, shape).astype(dtype)


@dataclass
class Sample:
    """One call of a family: its operands, and what NumPy says of them.

    Attributes
    ----------
    family : str
    sizes : dict
        From dimension to size.
    dtype : str
        An element type as smemkit.variants has it.
    arrays : list of numpy.ndarray
        The inputs, in the order of the signature.
    keywords : dict
        Of the call, beside variant, out and backend.
    """

    family: str
    sizes: dict
    dtype: str
    arrays: list
    keywords: dict = field(default_factory=dict)

    @property
    def label(self):
        """Sizes, type and keywords in words."""
        words = [f"{name}={size}" for name, size in self.sizes.items()]
        return ", ".join([*words, self.dtype, *self.keywords.values()])

    def entry(self, variant):
        """The name of the kernel, of a call that is one launch."""
        words = [self.family, variant, self.keywords.get("op", ""), self.dtype]
        return "_".join(word for word in words if word)

    def call(self, variant="auto", backend=None):
        """Makes the call and returns its result."""
        keywords = {**self.keywords, "variant": variant, "backend": backend}
        if self.family == "histogram":  # how many bins says the result
            keywords["out"] = numpy.full(self.sizes["b"], -1, "int64")
        return getattr(_core, self.family)(*self.arrays, **keywords)

    def expect(self, variant="auto"):
        """What the call must give, by NumPy."""
        if self.family == "transpose" and variant == "copy":
            return self.arrays[0].reshape(self.sizes["n"], self.sizes["m"])
        return ORACLES[self.family](*self.arrays, **self.keywords)

    def check(self, result, variant="auto"):
        """Raises AssertionError where a result is wrong: exact for all but smooth."""
        expected = self.expect(variant)
        assert numpy.shape(result) == numpy.shape(expected), f"its shape is {numpy.shape(result)}"
        error = abs(numpy.subtract(result, expected, dtype="float64"))
        bound = 0
        if self.family == "smooth":
            bound = SMOOTH_BOUND * numpy.finfo(expected.dtype).eps * abs(self.arrays[0]).max()
        same = error <= bound
        assert numpy.all(same), f"{numpy.size(same) - numpy.count_nonzero(same)} elements are wrong"


def make(family, sizes, dtype, random, keywords=None):
    """Operands of a family.

    Parameters
    ----------
    family : str
        One of list_families().
    sizes : dict
        A size for each dimension of the signature.
    dtype : str
        An element type as smemkit.variants has it: "float32", "bits16".
    random : numpy.random.RandomState or numpy.random.Generator
    keywords : dict, optional
        Of the call: {"op": "max"}.

    Shapes
    ------
    The arrays have those of the signature.

    Returns
    -------
    Sample

    Raises
    ------
    KeyError where a size is missing.

    Example
    -------
    >>> import numpy
    >>> from smemkit.bench import samples
    >>> random = numpy.random.RandomState(1)
    >>> sample = samples.make("transpose", {"m": 3, "n": 5}, "bits16", random)
    >>> sample.check(sample.call("padded", backend="sim"), "padded")
    >>> sample.label
    'm=3, n=5, bits16'
    """
    inputs = read_signature(_core.families()[family]["signature"])[0]
    shapes = [[sizes[name] for name in shape] for shape in inputs]
    chosen = numpy_type(dtype)
    low, high = (0, 256) if chosen.kind == "u" else (LOW, HIGH + 1)
    arrays = [_draw(random, low, high, shape, chosen) for shape in shapes]
    if family == "histogram" and chosen == numpy.uint8:
        arrays[1] = numpy.arange(257.0)
    elif family == "histogram":  # some elements lie outside
        arrays[1] = numpy.linspace(LOW + 1, HIGH, sizes["e"])
    elif family == "gather":
        arrays[1] = _draw(random, -sizes["n"], sizes["n"], shapes[1], "int64")
    return Sample(family, dict(sizes), dtype, arrays, dict(keywords or {}))


# What is right ----------------------------------------------------------------------------------


def _reduce(x, op="sum"):
    result = "int64" if op == "sum" and x.dtype.kind == "i" else x.dtype
    return getattr(x, op)().astype(result)


def _smooth(x):
    wide = numpy.pad(x, 1, mode="edge").astype("float64")
    return ((wide[:-2] + wide[1:-1] + wide[2:]) / 3).astype(x.dtype)


def _conv2d(image, weights, mode="constant", form="convolve"):
    """By the definition of scipy.ndimage, a weight at a time."""
    (h, w), (p, q) = image.shape, weights.shape
    wide = numpy.pad(image, ((p, p), (q, q)), mode=PAD_MODES[mode])
    result = numpy.zeros_like(image)
    for i, j in itertools.product(range(p), range(q)):
        row, column = (p // 2 - i, q // 2 - j) if form == "convolve" else (i - p // 2, j - q // 2)
        result += weights[i, j] * wide[p + row : p + row + h, q + column : q + column + w]
    return result


def _histogram(x, edges):
    if x.dtype == numpy.uint8:
        return numpy.bincount(x, minlength=256)
    return numpy.histogram(x, edges)[0]


ORACLES = {
    "gemm": numpy.matmul,
    "transpose": numpy.transpose,
    "reduce": _reduce,
    "dot": numpy.dot,
    "smooth": _smooth,
    "conv2d": _conv2d,
    "histogram": _histogram,
    "vector_add": numpy.add,
    "gather": numpy.take,
}
