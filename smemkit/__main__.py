"""The command line: smemkit demo, info, variants, profile, ... (or python -m smemkit ...)."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING

import smemkit

from .cli.options import Parser, suggest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def open_streams() -> None:
    """Standard streams that take any text: a null device where the caller has closed one.

    A letter that the terminal's encoding lacks is printed as its number, as in \\xe9.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


STATUSES = (
    "Exit status: 0 where all is well; 1 for a finding of check, a condition of --fail-on that "
    "holds, or a wrong result; 2 where the command could not do its work: for a kernel that does "
    "not compile, load or run to its end, a machine or memory that is missing, or a command line "
    "that names what is not there."
)


# The modules of the commands, in the order in which the help shows them.
MODULES = (
    "demo info variants run profile predict mutate coverage occupancy exercise bench plot record "
    "compare dev"
).split()
ALONE = ("run",)  # started for each program of a test: they wait for no module but their own


def make_parser(command: str | None = None) -> Parser:
    """The parser of all commands, or of one of ALONE; its attribute commands has that of each."""
    purpose = (smemkit.__doc__ or "").partition("\n")[0]  # python -OO drops docstrings
    parser = Parser(prog="smemkit", description=purpose, epilog=STATUSES)
    parser.add_argument("--version", action="version", version=f"smemkit {smemkit.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in [command] if command in ALONE else MODULES:
        module = importlib.import_module(f"smemkit.cli.{name}")
        add = getattr(module, "add_commands", None) or module.add_command
        add(commands)
    parser.commands = commands.choices
    return parser


def describe_os_error(error: OSError) -> str:
    """The file and the reason of an OSError, without its number."""
    if error.filename is None or error.strerror is None:
        return error.strerror or str(error)
    return f"{os.fsdecode(error.filename) or repr('')}: {error.strerror}"


def choose(arguments: Sequence[str] | None) -> argparse.Namespace | None:
    """The parsed arguments; None where there are none, after the help."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = make_parser(words[0] if words else None)
    behind: list[str] = []
    if words[:1] == ["mutate"] and "--" in words:  # behind it stands a command of its own
        cut = words.index("--")
        words, behind = words[:cut], words[cut + 1 :]
    chosen, others = parser.parse_known_args(words)
    if chosen.command == "mutate":
        chosen.arguments = behind
    if chosen.command is None:
        parser.print_help(sys.stderr)
        return None
    if others:
        its = parser.commands[chosen.command]
        known = [word for action in its._actions for word in action.option_strings]
        near = suggest(others[0].partition("=")[0], known).rstrip("?")
        its.error(f"unknown arguments: {' '.join(others)}{near}")
    return chosen


def execute(arguments: Sequence[str] | None) -> tuple[int, str | None]:
    """Runs the command; (exit status, what to say on standard error or None)."""
    try:
        chosen = choose(arguments)
        if chosen is None:
            return 2, None
        status: int = chosen.run(chosen)
        sys.stdout.flush()
    except (KeyboardInterrupt, smemkit.InterruptedError):  # Ctrl-C
        return 128 + signal.SIGINT, "interrupted"
    except smemkit.Error as error:
        return 2, str(error)
    except MemoryError as error:
        return 2, f"no memory: {error or 'left'}"
    except BrokenPipeError:  # the reader of the pipe, such as head, has exited
        return 1, None
    except OSError as error:  # a file that cannot be read or written
        return 2, describe_os_error(error)
    return status, None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status; see STATUSES."""
    open_streams()
    status, words = execute(arguments)
    if words is not None:
        print(f"smemkit: {words}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # closed or full: nothing more can be written there, also when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


if __name__ == "__main__":
    sys.exit(main())
