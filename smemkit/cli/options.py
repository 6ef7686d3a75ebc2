"""The parser of the command line, and the types of options: each refuses in one line."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from ..report.saved import check_ending
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

LARGEST = 2**63 - 1
SIZES_MOST = 10_000
BACKENDS = ("auto", "cuda", "sim")


def suggest(word: str, known: Iterable[str]) -> str:
    """ "; did you mean profile?" where a known word is like the given one, else ""."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, by a UsageError."""

    commands: dict[str, Parser]  # of the parser of all commands: the parser of each

    def error(self, message: str) -> NoReturn:
        if "expected one argument" in message:
            message += " (one that begins with - is written --NAME=VALUE)"
        unknown = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown:
            message += suggest(unknown[1], re.findall(r"[\w.-]+", unknown[2])).rstrip("?")
        raise UsageError(f"{message}; {self.prog} --help says what it takes")


def whole(least: int = 0) -> Callable[[str], int]:
    """The type of a whole number, `least` or more."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r:.80} is not a whole number") from None
        if not least <= number <= LARGEST:
            words = f"{least} or more" if number < least else f"{LARGEST} or less"
            raise argparse.ArgumentTypeError(f"{words} is needed, not {text:.80}")
        return number

    return read


def seconds(*, zero: bool) -> Callable[[str], float]:
    """The type of a finite time; zero: whether it may be 0."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r:.80} is not a number") from None
        if not (number >= 0 if zero else number > 0) or number == float("inf"):
            words = "0 or more is needed" if zero else "more than 0 is needed"
            raise argparse.ArgumentTypeError(f"{words}, not {text:.80}")
        return number

    return read


def output_file(text: str) -> str:
    """The type of a file to write: refused before the command runs, not after."""
    path = Path(text)
    if not text:
        raise argparse.ArgumentTypeError("a file is needed, not an empty name")
    if "\0" in text:
        raise argparse.ArgumentTypeError("a file's name has no null character")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a directory")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written: no permission")
    return text


def output_or_stdout(text: str) -> str:
    """The type of a file to write, or - for standard output."""
    return text if text == "-" else output_file(text)


def picture_file(text: str) -> str:
    """The type of a picture to write; matplotlib writes .png where the name has no ending."""
    if text and not Path(text).suffix and not Path(text).is_dir():
        text = f"{text}.png"
    text = output_file(text)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        from ..plot.style import ADVICE

        raise smemkit.BackendError(ADVICE) from error
    known = FigureCanvasBase.get_supported_filetypes()
    if Path(text).suffix[1:].lower() not in known:
        raise argparse.ArgumentTypeError(f"{text}: pictures are {', '.join(sorted(known))}")
    return text


def add_save(parser: Parser, words: str) -> None:
    """Adds --save, of which a command may have several; check_endings before it does its work."""
    parser.add_argument(
        "--save", type=output_file, metavar="FILE", action="append", default=[], help=words
    )


def check_endings(paths: Iterable[str]) -> None:
    """UsageError where --save names a file that no report is saved to; before the work begins."""
    for path in paths:
        try:
            check_ending(path)
        except smemkit.ArgumentError as error:
            raise UsageError(f"--save: {error}") from None


def add_backend(parser: Parser, words: str) -> None:
    """Adds --backend to a parser."""
    parser.add_argument("--backend", choices=BACKENDS, help=words)


def add_seed(parser: Parser, default: int | None, words: str) -> None:
    """Adds --seed to a parser."""
    parser.add_argument("--seed", type=whole(), default=default, help=words)


# Values ------------------------------------------------------------------------------------------


def read_sizes(text: str) -> list[int]:
    """ "256:4096" -> [256, 512, ..., 4096]; "10:30:10" -> [10, 20, 30]; "5,7" -> [5, 7]."""
    sizes: list[int] = []
    for part in text.split(","):
        try:
            ends = [int(word) for word in part.split(":")]
        except ValueError:
            ends = []
        if not 1 <= len(ends) <= 3 or any(end < 1 for end in ends):
            raise UsageError(f"--sizes {text!r}: the forms are 256:4096, 256:4096:256 and 256,512")
        first, last = ends[0], ends[min(1, len(ends) - 1)]
        if last < first:
            raise UsageError(f"--sizes {text!r}: {first} is more than {last}")
        if len(ends) == 3:
            steps = range(first, last + 1, ends[2])
            if len(steps) > SIZES_MOST:
                raise UsageError(f"--sizes {text!r}: {len(steps):,} sizes; {SIZES_MOST:,} at most")
            sizes += steps
            continue
        while first <= last:
            sizes.append(first)
            first *= 2
    return list(dict.fromkeys(sizes))


def read_shape(text: str) -> tuple[int, ...]:
    """ "64,32,64" -> (64, 32, 64)."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"--shape {text!r}: comma-separated lengths are needed") from None


def read_parameters(texts: Iterable[str]) -> dict[str, str]:
    """["op=max"] -> {"op": "max"}."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name.isidentifier() or not sign or not value:
            raise UsageError(f"--parameter {text!r}: NAME=VALUE is needed")
        found[name] = value
    return found


def read_names(text: str | None) -> list[str] | None:
    """ "naive,tiled" -> ["naive", "tiled"]; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def complain(text: str) -> None:
    """Prints a line to standard error, apart from the results."""
    print(f"smemkit: {text}", file=sys.stderr, flush=True)
