"""The command line: smemkit demo, info, variants, profile, ... (or python -m smemkit ...)."""

import argparse
import os
import signal
import sys

import smemkit

from .cli import (
    bench,
    compare,
    demo,
    dev,
    exercise,
    info,
    occupancy,
    profile,
    record,
    variants,
)
from .cli.errors import UsageError


def open_streams():
    """Opens a null device for each standard stream that the caller has closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def make_parser():
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="smemkit", description=smemkit.__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"smemkit {smemkit.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_command(commands)
    info.add_command(commands)
    variants.add_command(commands)
    profile.add_commands(commands)
    occupancy.add_command(commands)
    exercise.add_command(commands)
    bench.add_commands(commands)
    record.add_command(commands)
    compare.add_command(commands)
    dev.add_command(commands)
    return parser


def main(arguments=None):
    """Runs a command and returns the exit status."""
    open_streams()
    chosen = make_parser().parse_args(arguments)
    try:
        status = chosen.run(chosen)
        sys.stdout.flush()
    except (KeyboardInterrupt, smemkit.InterruptedError):  # Ctrl-C
        print("smemkit: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except UsageError as error:
        print(f"smemkit: {error}", file=sys.stderr)
        return 2
    except smemkit.Error as error:
        print(f"smemkit: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of the pipe, such as head, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        print(f"smemkit: no memory: {error}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:  # a file that cannot be read or written
        print(f"smemkit: {error}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
