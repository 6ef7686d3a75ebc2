"""Calls of kernel families with their right answers: of any size to measure, and small ones.

make_workload makes an instance of a family's class by the words of a caller: shape, type and
parameters. make_sample makes a small call of whole numbers, of which every sum is exact in any
order: what comparisons and tests launch.
"""

import operator
from dataclasses import dataclass, field

import numpy

from .. import _core
from .families import CLASSES, find_class, read_signature
from .results import LENGTH_MOST

__all__ = [
    "Sample",
    "complete_dtype",
    "complete_shape",
    "first_variant",
    "list_choices",
    "list_families",
    "list_sizes",
    "make_sample",
    "make_workload",
    "numpy_type",
    "read_signature",
]

# Workloads of any size ---------------------------------------------------------------------------


def complete_shape(family, shape):
    """The lengths of all dimensions, from a tuple or from one number for all."""
    kind = find_class(family)
    names = kind.read_signature()[2]
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
    """The name of the element type; by default the family's usual one."""
    usual = find_class(family).usual_dtype
    if dtype is None:
        return usual
    try:
        name = numpy.dtype(dtype).name
    except (TypeError, ValueError):
        raise _core.ArgumentTypeError(
            f"{dtype!r:.80} is not an element type such as float32"
        ) from None
    known = dict.fromkeys(t for row in _core.variants(family).values() for t in row["dtypes"])
    kind = numpy.dtype(name)
    same = f"bits{8 * kind.itemsize}" in known and kind.kind in "biuf"
    if name not in known and not same:
        raise _core.ArgumentTypeError(f"{family} takes {', '.join(known)}, not {name}")
    return name


def make_workload(family, shape, dtype=None, parameters=None):
    """The Workload of a family, shape and type; typed errors for invalid ones."""
    kind = find_class(family)
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


# Small calls -------------------------------------------------------------------------------------


def list_families():
    """The families that have a contract; groups of single kernels are left out."""
    return list(CLASSES)


def first_variant(family):
    """The variant to which the others are compared: "naive", or the first that does the work."""
    names, others = list(_core.variants(family)), find_class(family).other_work
    return "naive" if "naive" in names else next(n for n in names if n not in others)


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
        """{"out": an array} for families whose result's length only out determines."""
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


def make_sample(family, sizes, dtype, random, keywords=None):
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
    >>> from smemkit.bench import workloads
    >>> random = numpy.random.RandomState(1)
    >>> sample = workloads.make_sample("transpose", {"m": 3, "n": 5}, "bits16", random)
    >>> sample.check(sample.call("padded", backend="sim"), "padded")
    >>> sample.label
    'm=3, n=5, bits16'
    """
    arrays = find_class(family).make_small(sizes, numpy_type(dtype), random)
    return Sample(family, dict(sizes), dtype, arrays, dict(keywords or {}))
