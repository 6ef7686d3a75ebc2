"""The command exercise: lists the exercises, prints one, and judges a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from .errors import UsageError
from .options import whole

if TYPE_CHECKING:
    from ..lessons import Exercise
    from ._types import Commands

EXAMPLES = """\
  smemkit exercise                                     all of them
  smemkit exercise transpose.padding > mine.cu         what to do, as a comment, and the start
  smemkit exercise transpose.padding mine.cu           judge it (exit status 1: not yet)
  smemkit exercise transpose.padding --hint 1          the first hint
"""


class Options(argparse.Namespace):
    """The command line of `smemkit exercise`."""

    name: str | None
    file: str | None
    hint: int | None
    solution: bool


def add_command(commands: Commands) -> None:
    """Adds exercise to the subparsers of the main parser."""
    words = "kernels to complete or to mend, judged on the simulator"
    parser = commands.add_parser(
        "exercise",
        help=words,
        description=words,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", help="an exercise; without it they are listed")
    parser.add_argument("file", nargs="?", help="your kernel, to be judged; - is standard input")
    more = parser.add_mutually_exclusive_group()
    more.add_argument("--hint", type=whole(), metavar="N", help="print hint number N, from 1")
    more.add_argument("--solution", action="store_true", help="print a solution")
    parser.set_defaults(run=run)


def run(chosen: Options) -> int:
    """Runs the command and returns the exit status."""
    if chosen.name is None:
        if chosen.hint is not None or chosen.solution:
            raise UsageError("--hint and --solution need the name of an exercise")
        print(smemkit.exercises())
        return 0
    try:
        exercise = smemkit.exercise(chosen.name)
    except smemkit.ArgumentError as error:
        words = str(error).replace("smemkit.exercises() lists", "smemkit exercise lists")
        raise UsageError(words) from None
    if chosen.file is not None:
        if chosen.hint is not None or chosen.solution:
            raise UsageError("--hint and --solution judge no file: leave the file out")
        return judge(exercise, chosen.file)
    if chosen.hint is not None:
        print(find_hint(exercise, chosen.hint))
    elif chosen.solution:
        print(exercise.solution().strip())
    else:
        print(write_start(exercise), end="")
    return 0


def write_start(exercise: Exercise) -> str:
    """A .cu file: what to do as a comment, and the start."""
    head = f"{exercise.name}: {exercise.title}\n\n{exercise.text}".splitlines()
    comment = "\n".join(f"// {line}".rstrip() for line in head)
    return f"{comment}\n{exercise.start}"


def find_hint(exercise: Exercise, number: int) -> str:
    """Hint number N; UsageError where there is none."""
    hint = exercise.hint()
    count = int(hint.split()[3].rstrip(":"))  # Hint 1 of 3: ...
    if not 1 <= number <= count:
        raise UsageError(f"--hint {number}: {exercise.name} has hints 1 to {count}")
    for _ in range(number - 1):
        hint = exercise.hint()
    return hint


def judge(exercise: Exercise, file: str) -> int:
    """Prints the verdict on a file, and returns the exit status."""
    try:
        source = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text in UTF-8") from None
    verdict = exercise.judge(source)
    if not verdict:
        verdict.next = f"Next: change it; smemkit exercise {exercise.name} --hint 1 gives a hint."
    else:
        verdict.next = f"Next: smemkit exercise {exercise.name} --solution shows one way to do it."
    print(verdict)
    return 0 if verdict else 1
