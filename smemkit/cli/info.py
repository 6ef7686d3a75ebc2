"""The command info: the build, and the machines that it finds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from ..config import MISSING
from . import file_info
from .errors import UsageError
from .machines import describe_machines, find_machines
from .options import output_or_stdout

if TYPE_CHECKING:
    from ..config import Config
    from ._types import Commands
    from .machines import Machines, Missing


class Options(argparse.Namespace):
    """The command line of `smemkit info`."""

    verbose: bool
    file: str | None
    option: list[str]
    json: str | None


def describe_compilers(facts: Config) -> str:
    """What compiles CUDA C here, or how to get it."""
    found = {"NVRTC": facts["nvrtc"], "nvcc": facts["nvcc"]}
    names = [name for name, path in found.items() if path != MISSING and Path(path).exists()]
    faults = [path for path in found.values() if path != MISSING and not Path(path).exists()]
    if names:
        text = f"CUDA C of your own is compiled by {' or '.join(names)}"
    else:
        text = "CUDA C of your own needs a compiler: pip install 'smemkit[nvrtc]' brings one"
    return "; ".join([text, *faults])  # a fault is SMEMKIT_NVCC that names no nvcc


def show_summary(machines: Machines, missing: Missing) -> None:
    """Prints a line for each thing that users ask first."""
    facts = smemkit.show_config(mode="dict")
    versions = f"Python {facts['python']}, NumPy {facts['numpy']}"
    print(f"smemkit {facts['smemkit']} with {facts['kernels']} kernels; {versions}")
    print(describe_machines(machines, missing))
    if facts["cuda_devices"] > 1:
        print(f"{facts['cuda_devices']} GPUs: smemkit.devices() lists them, device= chooses one")
    if "cuda" in machines and facts["backend"] == "sim":
        print(f"calls that do not choose run on the simulator: {facts['reason']}")
    print(describe_compilers(facts))
    print("details: smemkit info -v")


def show_details(machines: Machines, missing: Missing) -> None:
    """Prints all facts of the build and of each machine."""
    smemkit.show_config()
    for backend, reason in missing.items():
        print(f"\n{backend}: {reason}")
    for backend, facts in machines.items():
        print(f"\n{backend}:")
        width = max(map(len, facts))
        for name, value in facts.items():
            print(f"  {name:{width}}  {value}")


def run(chosen: Options) -> int:
    """Prints how smemkit was built and which machines it finds; of a file, what runs of it."""
    if chosen.file is not None:
        return file_info.run(chosen.file, chosen.option, chosen.json)
    for name in ("option", "json"):
        if getattr(chosen, name):
            raise UsageError(f"--{name} is for a .cu or .ptx file, and none is named")
    machines, missing = find_machines()
    try:
        (show_details if chosen.verbose else show_summary)(machines, missing)
    except smemkit.BackendError as error:  # SMEMKIT_BACKEND names a machine that is missing
        print(f"smemkit {smemkit.__version__}")
        print(describe_machines(machines, missing))
        print(f"but SMEMKIT_BACKEND asks for it, so calls that do not choose fail: {error}")
    return 0


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    words = "how smemkit was built, and the machines it finds; or what the simulator runs of a file"
    parser = commands.add_parser("info", help=words, description=words)
    parser.add_argument(
        "file",
        nargs="?",
        help="kernel.cu or kernel.ptx: registers and memory of its functions, what is refused, "
        "what is ignored (exit status 1 where something is refused)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="with all details")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        help="of a file: for the compiler, as in --option=-arch=sm_80",
    )
    parser.add_argument(
        "--json", type=output_or_stdout, metavar="OUT", help="of a file: as JSON; - is stdout"
    )
    parser.set_defaults(run=run)
