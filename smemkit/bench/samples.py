"""Operands and right answers for every kernel family: what comparisons and tests launch.

Small whole numbers, of which every sum is exact in any order.
"""

from dataclasses import dataclass, field

import numpy

from .. import _core
from .families import CLASSES, find_class
from .families._workload import HIGH, LOW, draw_small, read_signature

__all__ = ["Sample", "list_choices", "list_families", "list_sizes", "make", "numpy_type"]
__all__ += ["read_signature"]


def list_families():
    """The families that have a contract; groups of single kernels are left out."""
    return list(CLASSES)


def list_sizes(family):
    """Two dicts or more from dimension to size."""
    return find_class(family).sizes


def list_choices(family, regular=True):
    """Keywords of a call, a dict each: every kernel that is compiled of a variant is among them."""
    return find_class(family).list_keywords(regular)


def numpy_type(dtype):
    """The NumPy type that stands for an element type of smemkit.variants: bits32 -> uint32."""
    return numpy.dtype(dtype.replace("bits", "uint"))


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
        return getattr(_core, self.family)(*self.arrays, **keywords, **self.make_out())

    def make_out(self):
        """{"out": an array} where that alone says how long the result is."""
        kind = find_class(self.family)
        if not kind.needs_out():
            return {}
        workload = kind("", tuple(self.sizes[name] for name in kind.read_signature()[2]))
        return {"out": numpy.full(workload.result_shape, -1, workload.result_dtype)}

    def expect(self, variant="auto"):
        """What the call must give, by NumPy."""
        kind = find_class(self.family)
        other = kind.other_work.get(variant)
        return other(*self.arrays) if other else kind.oracle(*self.arrays, **self.keywords)

    def check(self, result, variant="auto"):
        """Raises AssertionError where a result is wrong: exact unless the family gives a bound."""
        expected = self.expect(variant)
        assert numpy.shape(result) == numpy.shape(expected), f"its shape is {numpy.shape(result)}"
        error = abs(numpy.subtract(result, expected, dtype="float64"))
        same = error <= find_class(self.family).bound_small(self.arrays, expected)
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
    kind, chosen = find_class(family), numpy_type(dtype)
    shapes = [[sizes[name] for name in shape] for shape in kind.read_signature()[0]]
    low, high = (0, 256) if chosen.kind == "u" else (LOW, HIGH + 1)
    arrays = [draw_small(random, low, high, shape, chosen) for shape in shapes]
    kind.adjust_small(arrays, sizes, random)
    return Sample(family, dict(sizes), dtype, arrays, dict(keywords or {}))
