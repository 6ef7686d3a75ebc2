"""Calls of kernel families with their right answers: of any size to measure, and small ones.

make_workload makes an instance of a family's class by the words of a caller: shape, type and
parameters. make_sample makes a small call of whole numbers, of which every sum is exact in any
order: what comparisons and tests launch.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .. import _bfloat16, _core
from .families import CLASSES, find_class, read_signature
from .results import LENGTH_MOST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from .._types import Backend, HostArray, Shape
    from .families import Record, Workload
    from .types import DType, Random, Result, Sizes

__all__ = [
    "Case",
    "Sample",
    "complete_dtype",
    "complete_shape",
    "first_variant",
    "is_kernel",
    "list_choices",
    "list_families",
    "list_sizes",
    "make_case",
    "make_sample",
    "make_workload",
    "numpy_type",
    "read_signature",
]

# Workloads of any size ---------------------------------------------------------------------------


class Case(NamedTuple):
    """What make_workload takes."""

    family: str
    shape: int | tuple[int, ...]
    dtype: str
    parameters: dict[str, str]


def make_case(kind: type[Workload], record: Record) -> Case:
    """The case of a record of a family."""
    return Case(kind.family, record.shape, record.dtype or kind.usual_dtype, record.parameters)


def complete_shape(family: str, shape: Shape) -> tuple[int, ...]:
    """The lengths of all dimensions, from a tuple or from one number for all."""
    kind = find_class(family)
    names = kind.read_signature().names
    given: Sequence[Any] | None = shape if isinstance(shape, tuple | list) else None
    given_or_one: Sequence[Any] = [shape] if given is None else given
    try:
        lengths = [operator.index(n) for n in given_or_one]
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


def complete_dtype(family: str, dtype: DTypeLike | None = None) -> str:
    """The name of the element type; by default the family's usual one."""
    usual = find_class(family).usual_dtype
    if dtype is None:
        return usual
    try:
        name = _bfloat16.name_of(dtype)
    except (TypeError, ValueError):
        raise _core.ArgumentTypeError(
            f"{dtype!r:.80} is not an element type such as float32"
        ) from None
    known = dict.fromkeys(t for row in _core.variants(family).values() for t in row["dtypes"])
    known.pop("tf32", None)  # a way to multiply float32
    kind = _bfloat16.complete(name)
    same = f"bits{8 * kind.itemsize}" in known and kind.kind in "biufc"
    if name not in known and not same:
        raise _core.ArgumentTypeError(f"{family} takes {', '.join(known)}, not {name}")
    return name


def make_workload(
    family: str,
    shape: Shape,
    dtype: DTypeLike | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Workload:
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
    misfit = kind.find_misfit(name, chosen)
    if misfit:
        raise _core.ArgumentTypeError(f"{family}: {misfit}")
    for key in kind.unnamed:
        if chosen[key] == kind.choices[key][0]:
            del chosen[key]
    title = " ".join([family, "x".join(map(str, lengths)), name, *chosen.values()])
    return kind(title, lengths, name, chosen)


# Small calls -------------------------------------------------------------------------------------


def list_families() -> list[str]:
    """The families that have a contract; groups of single kernels are left out."""
    return list(CLASSES)


def is_kernel(family: str, variant: str) -> bool:
    """Whether the package has this kernel, of a family with a contract or of any other group."""
    families = _core.families()
    return family in families and variant in families[family]["variants"]


def first_variant(family: str) -> str:
    """The variant to which the others are compared: "naive", or the first that does the work."""
    names, others = list(_core.variants(family)), find_class(family).other_work
    return "naive" if "naive" in names else next(n for n in names if n not in others)


def list_sizes(family: str) -> tuple[dict[str, int], ...]:
    """Sizes of small calls, two or more: see Workload.sizes."""
    return find_class(family).sizes


def list_choices(family: str, regular: bool = True) -> list[dict[str, str]]:
    """Keywords of a call, a dict each: every kernel that is compiled of a variant is among them."""
    return find_class(family).list_keywords(regular)


def numpy_type(dtype: str) -> DType:
    """The NumPy type that stands for an element type of smemkit.variants: bits32 -> uint32.

    NumPy has no integers of 16 bytes; complex128 stands for these.
    """
    return _bfloat16.complete(
        dtype.replace("bits128", "complex128").replace("bits", "uint").replace("tf32", "float32")
    )


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
    sizes: dict[str, int]
    dtype: str
    arrays: list[HostArray]
    keywords: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Sizes, type and keywords in words."""
        words = [f"{name}={size}" for name, size in self.sizes.items()]
        return ", ".join([*words, self.dtype, *self.keywords.values()])

    def entry(self, variant: str) -> str:
        """The name of the kernel, of a call that is one launch."""
        words = [self.family, variant, self.keywords.get("op", ""), self.dtype]
        return "_".join(word for word in words if word)

    def call(self, variant: str = "auto", backend: Backend | None = None) -> Result:
        """Makes the call and returns its result."""
        keywords = {**self.keywords, "variant": variant, "backend": backend}
        function = getattr(_core, self.family)
        result: Result = function(*self.arrays, **keywords, **self.make_out())
        return result

    def make_out(self) -> dict[str, HostArray]:
        """{"out": an array} for families whose result's length only out determines."""
        kind = find_class(self.family)
        if not kind.needs_out():
            return {}
        workload = kind("", tuple(self.sizes[name] for name in kind.read_signature().names))
        return {"out": numpy.full(workload.result_shape, -1, workload.result_dtype)}

    def expect(self, variant: str = "auto") -> Result:
        """What the call must give, by NumPy."""
        kind = find_class(self.family)
        other = kind.other_work.get(variant)
        if other:
            return other(*self.arrays)
        result: Result = kind.oracle(*self.arrays, **self.keywords)
        return result

    def check(self, result: Result, variant: str = "auto") -> None:
        """Raises AssertionError where a result is wrong: exact unless the family gives a bound."""
        expected = self.expect(variant)
        assert numpy.shape(result) == numpy.shape(expected), f"its shape is {numpy.shape(result)}"
        with numpy.errstate(invalid="ignore"):  # of two equal infinities
            wide = "complex128" if numpy.iscomplexobj(expected) else "float64"
            error = abs(numpy.subtract(result, expected, dtype=wide))
        same = error <= find_class(self.family).bound_small(self.arrays, expected)
        same |= numpy.equal(result, expected)
        assert numpy.all(same), f"{numpy.size(same) - numpy.count_nonzero(same)} elements are wrong"


def make_sample(
    family: str,
    sizes: Sizes,
    dtype: str,
    random: Random,
    keywords: Mapping[str, str] | None = None,
) -> Sample:
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
