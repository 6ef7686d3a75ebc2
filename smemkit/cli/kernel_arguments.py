"""Arguments of a kernel as the command line writes them."""

from __future__ import annotations

import math
import re
import zipfile
from typing import TYPE_CHECKING

import numpy

import smemkit

from .. import _bfloat16
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import HostArray

    DType = numpy.dtype[Any]
    Number = int | float
    Scalar = numpy.generic

FORMS = """\
arguments of a kernel (--arg, once for each parameter, in order):
  float32[1024]            array of zeros; any NumPy element type, any shape: int32[64,64]
  float32[64,64]:random    random values (normal; integers: 0 to 255), by --seed
  float32[1024]:arange     0, 1, 2, ...
  float32[1024]:ones       ones
  float32[1024]:2.5        that value everywhere
  int32=5  float32=1.5     a number of that type
  5  0x10  1.5             a number; the kernel's parameter gives the type
  @data.npy                an array that numpy.save has written
"""
FILLS = {"zeros": 0, "ones": 1}


def parse_lengths(name: str, text: str, most: int | None = None) -> tuple[int, ...]:
    """ "64,32" -> (64, 32); name: of the option, for the error."""
    try:
        lengths = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{name} {text!r}: comma-separated whole numbers are needed") from None
    if any(length < 0 for length in lengths):
        raise UsageError(f"{name} {text!r}: a length cannot be negative")
    if most is not None and len(lengths) > most:
        raise UsageError(f"{name} {text!r}: {most} numbers at most")
    return lengths


def make_random(rng: numpy.random.Generator, dtype: DType, shape: Sequence[int]) -> HostArray:
    """Random values: normal, of integers 0 to 255."""
    if dtype.kind in "iu":
        return rng.integers(0, min(256, numpy.iinfo(dtype).max + 1), shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    return _bfloat16.convert(rng.standard_normal(shape), dtype)


def read_dtype(where: str, words: str) -> DType:
    """The element type of some words; where: the option, for the error."""
    try:
        dtype: DType | None = _bfloat16.complete(words)
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    named = where == "--dtype" and words == _bfloat16.NAME  # of a family: --arg takes its bits
    if dtype is None or not (named or dtype.kind in "biuf"):
        raise UsageError(f"{where}: {words!r} is not an element type such as float32 or int32")
    return dtype


def read_number(text: str) -> Number:
    """A whole number, also as 0x10, or another one; ValueError for any other text."""
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


# --arg -------------------------------------------------------------------------------------------


def make_argument(text: str, rng: numpy.random.Generator) -> HostArray | Scalar | Number:
    """One --arg as a value; see FORMS."""
    if text.startswith("@"):
        return _load(text)
    word, bracket, rest = text.partition("[")
    if bracket or "]" in text:
        return _make_array(text, word, rest, rng)
    word, sign, value = text.partition("=")
    if sign:
        return _make_number(text, read_dtype(f"--arg {text!r}", word), value)
    return _read_plain(text)


REFUSED = re.compile(r"args\[(\d+)\]: (.*?, the array is [^\s:,]+).*\.view\(numpy\.(\w+)\)")


def say_type(error: smemkit.ArgumentTypeError, texts: Sequence[str]) -> smemkit.Error:
    """The error for an array of another element type, with its cure as --arg has it."""
    found = REFUSED.search(str(error))
    if found is None or int(found[1]) >= len(texts):
        return error
    text, dtype = texts[int(found[1])], found[3]
    if text.startswith("@"):
        cure = f"save {dtype} values in that file"
    else:
        cure = f"write --arg {dtype}[{text.partition('[')[2]}"
    return UsageError(f"--arg {text!r}: {found[2]}: {cure}")


def _load(text: str) -> HostArray:
    """The array of a file that numpy.save has written."""
    path = text[1:]
    if not path:
        raise UsageError(f"--arg {text!r}: the name of a .npy file is missing")
    try:
        array = numpy.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile):
        array = None
    if isinstance(array, numpy.lib.npyio.NpzFile):
        array.close()
    if not isinstance(array, numpy.ndarray):
        raise UsageError(f"--arg {text!r}: not an array that numpy.save has written")
    return array


def _make_array(text: str, word: str, rest: str, rng: numpy.random.Generator) -> HostArray:
    lengths, closing, tail = rest.partition("]")
    if not word or "]" in word:
        raise UsageError(f"--arg {text!r}: an element type and [ are missing, as in float32[1024]")
    if not closing:
        raise UsageError(f"--arg {text!r}: the closing bracket is missing, as in float32[1024]")
    dtype = read_dtype(f"--arg {text!r}", word)
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", lengths, re.ASCII):
        raise UsageError(
            f"--arg {text!r}: whole numbers stand between the brackets, as in float32[64,64]"
        )
    if tail and not tail.startswith(":"):
        raise UsageError(f"--arg {text!r}: a colon is missing after ], as in float32[1024]:random")
    shape = tuple(map(int, lengths.split(",")))
    try:
        return _fill(text, dtype, shape, tail[1:] if tail else "zeros", rng)
    except (ValueError, OverflowError) as error:  # NumPy's, for more than it can count
        raise UsageError(f"--arg {text!r}: {error}") from None


def _fill(
    text: str, dtype: DType, shape: tuple[int, ...], how: str, rng: numpy.random.Generator
) -> HostArray:
    if how == "random":
        return make_random(rng, dtype, shape)
    if how == "arange":
        return numpy.arange(math.prod(shape)).astype(dtype).reshape(shape)
    value = FILLS[how] if how in FILLS else _make_number(text, dtype, how)
    return numpy.full(shape, value, dtype=dtype)


def _make_number(text: str, dtype: DType, word: str) -> Scalar:
    """The number of a word in a type."""
    try:
        number = read_number(word)
    except ValueError:
        kind = "a number, random, arange, ones or zeros" if "[" in text else "a number"
        raise UsageError(f"--arg {text!r}: {word!r} is not {kind}") from None
    if dtype.kind == "b" and number not in (0, 1):
        raise UsageError(f"--arg {text!r}: {word} is not a bool, which is 0 or 1")
    if dtype.kind in "iu" and isinstance(number, float):
        raise UsageError(f"--arg {text!r}: {word} is not a whole number")
    try:
        value: Scalar = dtype.type(number)
    except OverflowError:
        raise UsageError(f"--arg {text!r}: {word} does not fit into {dtype.name}") from None
    return value


def _read_plain(text: str) -> Number:
    try:
        return read_number(text)
    except ValueError:
        raise UsageError(
            f"--arg {text!r}: neither a number, nor TYPE=NUMBER, TYPE[LENGTHS] or @FILE; --help "
            "has examples"
        ) from None
