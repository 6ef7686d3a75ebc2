"""The command line: smemkit demo, info, variants, profile, ... (or python -m smemkit ...)."""

import argparse
import os
import signal
import sys

import smemkit

from .bench import ncu
from .cli import bench, demo, dev, profile, record, variants
from .cli.errors import UsageError


def print_info():
    """How smemkit was built and which machines it finds, then every fact about each."""
    try:
        smemkit.show_config()
    except smemkit.Error as error:  # SMEMKIT_BACKEND names what is not here: see below
        print(f"backend: {error}")
    for backend in ("cuda", "sim"):
        try:
            facts = smemkit.device_info(backend=backend)
        except smemkit.BackendError as error:
            print(f"\n{backend}: {error}")
            continue
        print(f"\n{backend}:")
        width = max(map(len, facts))
        for name, value in facts.items():
            print(f"  {name:{width}}  {value}")
    return 0


def open_streams():
    """Python has none where the caller closed them: what is said is lost then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def main(arguments=None):
    """Runs a command and returns the exit status."""
    open_streams()
    parser = argparse.ArgumentParser(prog="smemkit", description=smemkit.__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"smemkit {smemkit.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("demo", help="multiply random matrices by every gemm kernel")
    one.add_argument("--seed", type=int, help="of the random matrices (default: a fresh one)")
    one.set_defaults(run=lambda chosen: demo.run(seed=chosen.seed))
    one = commands.add_parser("info", help="how smemkit was built, and the machines it finds")
    one.set_defaults(run=lambda chosen: print_info())
    variants.add_command(commands)
    profile.add_commands(commands)
    bench.add_commands(commands)
    one = commands.add_parser("record", help="measure all that plots and notebooks show of a GPU")
    record.add_arguments(one)
    one = commands.add_parser("compare", help="our counts beside those of Nsight Compute")
    ncu.add_arguments(one)
    one.set_defaults(run=ncu.run)
    dev.add_command(commands)
    chosen = parser.parse_args(arguments)
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
    except BrokenPipeError:  # the reader (head, say) has seen enough
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
