"""The kernels of the package as a table, for the terminal and for csrc/kernels/README.md."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._types import Commands


class Options(argparse.Namespace):
    """The command line of `smemkit variants`."""

    family: str | None
    markdown: bool


class Row(NamedTuple):
    """A kernel: its element types, and what it shows."""

    family: str
    variant: str
    dtypes: tuple[str, ...]
    shows: str


def list_rows() -> Iterator[Row]:
    """Every kernel of the package."""
    for family in _core.families():
        for variant, facts in _core.variants(family).items():
            yield Row(family, variant, facts["dtypes"], facts["shows"])


def write_markdown() -> str:
    """A Markdown table for each family, under its signature and sentence."""
    parts: list[str] = []
    for family, facts in _core.families().items():
        signature = f" `{facts['signature']}`" if facts["signature"] else ""
        parts += [f"**{family}**{signature}: {facts['shows']}", ""]
        parts += ["| variant | element types | shows |", "| --- | --- | --- |"]
        parts += [
            f"| `{row.variant}` | {', '.join(row.dtypes)} | {row.shows} |"
            for row in list_rows()
            if row.family == family
        ]
        parts.append("")
    return "\n".join(parts)


def run(chosen: Options) -> int:
    """Prints the kernels of a family, or of all."""
    if chosen.markdown:
        print(write_markdown(), end="")
        return 0
    if chosen.family is not None:
        _core.variants(chosen.family)  # an error that names the families, where there is none
    rows = [row for row in list_rows() if chosen.family in (None, row.family)]
    width = max(len(f"{row.family} {row.variant}") for row in rows)
    for row in rows:
        print(f"{row.family} {row.variant}".ljust(width), f" {', '.join(row.dtypes)}:", row.shows)
    return 0


def add_command(commands: Commands) -> None:
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser("variants", help="the kernels, and what each shows")
    parser.add_argument("family", nargs="?", help="of one family only")
    parser.add_argument(
        "--markdown", action="store_true", help="as csrc/kernels/README.md has them"
    )
    parser.set_defaults(run=run)
