"""The kernels of the package as a table, for the terminal and for csrc/kernels/README.md."""

from .. import _core


def list_rows():
    """(family, variant, element types, what it shows) of every kernel."""
    for family in _core.families():
        for variant, facts in _core.variants(family).items():
            yield family, variant, facts["dtypes"], facts["shows"]


def write_markdown():
    """A Markdown table for each family, under its signature and sentence."""
    parts = []
    for family, facts in _core.families().items():
        signature = f" `{facts['signature']}`" if facts["signature"] else ""
        parts += [f"**{family}**{signature}: {facts['shows']}", ""]
        parts += ["| variant | element types | shows |", "| --- | --- | --- |"]
        parts += [
            f"| `{variant}` | {', '.join(dtypes)} | {shows} |"
            for name, variant, dtypes, shows in list_rows()
            if name == family
        ]
        parts.append("")
    return "\n".join(parts)


def run(chosen):
    """Prints the kernels of a family, or of all."""
    if chosen.markdown:
        print(write_markdown(), end="")
        return 0
    rows = [row for row in list_rows() if chosen.family in (None, row[0])]
    if not rows:
        _core.variants(chosen.family)  # raises an error that names the families
    width = max(len(f"{family} {variant}") for family, variant, _, _ in rows)
    for family, variant, dtypes, shows in rows:
        print(f"{family} {variant}".ljust(width), f" {', '.join(dtypes)}:", shows)
    return 0


def add_command(commands):
    """Adds the command to the subparsers of the main parser."""
    parser = commands.add_parser("variants", help="the kernels, and what each shows")
    parser.add_argument("family", nargs="?", help="of one family only")
    parser.add_argument(
        "--markdown", action="store_true", help="as csrc/kernels/README.md has them"
    )
    parser.set_defaults(run=run)
