"""Workloads by the words of a caller: a family, a shape, a type, parameters."""

import operator

import numpy

from .. import _core
from .families import find_class
from .results import LENGTH_MOST


def complete_shape(family, shape):
    """The lengths of all dimensions, of them or of one number that stands for all."""
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
    """The name of the element type; where nothing is said, the family's own."""
    usual = find_class(family).usual_dtype
    if dtype is None:
        return usual
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
    """A Workload of any family, shape and type; typed errors for what none can be made of."""
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
