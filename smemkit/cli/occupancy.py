"""The command occupancy: resident blocks of a kernel, on one card or on all."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import smemkit

from ..bench.workloads import is_kernel
from ..report import occupancy
from . import profile
from .errors import UsageError
from .kernel_arguments import parse_lengths, read_dtype
from .options import add_save, check_endings, suggest, whole

if TYPE_CHECKING:
    from typing import Any

    import numpy

    from ._types import Commands


class Options(argparse.Namespace):
    """The command line of `smemkit occupancy`."""

    what: str
    kernel: str | None
    block: str | None
    shared_mem: int | None
    device: list[str]
    dtype: str | None
    option: list[str]
    save: list[str]


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    words = "how many blocks of a kernel each card holds at once, and what limits them"
    parser = commands.add_parser("occupancy", help=words, description=f"{words}; no GPU needed")
    parser.set_defaults(run=run)
    parser.add_argument(
        "what", help="a kernel of the package (gemm/tiled), or a file: kernel.cu or kernel.ptx"
    )
    parser.add_argument("--kernel", help="name of the kernel (where the file has several)")
    parser.add_argument(
        "--block", help="threads of a block: x[,y[,z]] (default: that of the package's kernel)"
    )
    parser.add_argument(
        "--shared-mem",
        type=whole(),
        metavar="BYTES",
        help="dynamic shared memory of a block (default: 0, or what a package's kernel asks for)",
    )
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="CARD",
        help='compute capability (8.6) or card ("RTX 3060"); repeatable; default: all from 7.5 up',
    )
    parser.add_argument("--dtype", help="element type, of a package's kernel")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        help="for the compiler, as in --option=-DTILE=16",
    )
    add_save(parser, "keep the table: x.html is a page, x.json data (repeatable)")


def _list_kernels() -> list[str]:
    families = smemkit.families()
    return [
        f"{name}/{variant}" for name, facts in families.items() for variant in facts["variants"]
    ]


def check_device(text: str) -> None:
    """UsageError with the nearest spelling for what is no card or compute capability."""
    try:
        smemkit.limits(text)
    except smemkit.ArgumentError:
        parts = re.fullmatch(r"(?:sm_|compute_)?(\d{1,2})[.,_]?(\d)[af]?", text)
        names = occupancy.list_cards()
        near = [f"{parts[1]}.{parts[2]}"] if parts else []
        near = [name for name in near if name in occupancy.list_capabilities()]
        near += [name for name in names if text.lower() in name.lower()]
        more = f"; did you mean {near[0]!r}?" if near else suggest(text, names)
        raise UsageError(
            f"--device {text!r}: neither a compute capability, as 8.6, nor a card that is known, "
            f'as "RTX 3060"{more}'
        ) from None


def check_block(block: tuple[int, ...] | None) -> None:
    """UsageError for more threads than a block may have."""
    most = smemkit.limits("9.0")["threads_per_block_max"]
    if block and math.prod(block) > most:
        raise UsageError(f"--block: {math.prod(block):,} threads; a block has {most:,} at most")


def _choose(chosen: Options) -> tuple[smemkit.RawKernel | str, numpy.dtype[Any] | None]:
    """The kernel, or its name, and the element type of a kernel of the package."""
    if Path(chosen.what).suffix in (".cu", ".ptx"):
        if chosen.dtype is not None:
            raise UsageError(f"--dtype is for a kernel of the package, which {chosen.what} is not")
        profile.check_source(chosen.what)
        if chosen.block is None:
            raise UsageError("a kernel of a file needs --block, as in --block 16,16")
        return profile.open_kernel(chosen.what, chosen.kernel, chosen.option), None
    for name in ("kernel", "option"):
        if getattr(chosen, name):
            raise UsageError(f"--{name} is for a .cu or .ptx file, which {chosen.what} is not")
    family, slash, variant = chosen.what.partition("/")
    if not slash or not is_kernel(family, variant):
        raise UsageError(
            f"{chosen.what!r} is neither a kernel such as gemm/tiled (`smemkit variants` lists "
            f"them) nor a .cu or .ptx file{suggest(chosen.what, _list_kernels())}"
        )
    dtype = None if chosen.dtype is None else read_dtype("--dtype", chosen.dtype)
    return chosen.what, dtype


def run(chosen: Options) -> int:
    """Prints the table and returns the exit status."""
    check_endings(chosen.save)
    kernel, dtype = _choose(chosen)
    block = None if chosen.block is None else parse_lengths("--block", chosen.block, 3)
    check_block(block)
    for device in chosen.device:
        if device != "all":
            check_device(device)
    devices = None if chosen.device in ([], ["all"]) else chosen.device
    table = smemkit.occupancy_table(kernel, block, chosen.shared_mem, devices, dtype=dtype)
    if chosen.kernel is not None:
        table.kernel = chosen.kernel  # as it was written, not as C++ mangles an instance's name
    print(table)
    for path in chosen.save:
        table.save(path)
    return 0
