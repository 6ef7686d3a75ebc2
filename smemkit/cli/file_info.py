"""What the simulator runs of a .cu or .ptx file, function by function."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core, _kernel_code
from .._ptxas import find_registers
from . import profile
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

WIDTH = 100


def read_ptx(path: str, options: Sequence[str]) -> str:
    """The PTX of a file; of CUDA C, what the compiler makes of it."""
    profile.check_source(path)
    code, options = _kernel_code.read_path(path, options)
    if not code.startswith("#line 1 "):
        return code
    return _kernel_code.compile_code(code, options, None)[0]


def describe(ptx: str) -> tuple[list[dict[str, Any]], str | None]:
    """A dict for each function, kernels first, and why registers are not known."""
    registers, reason = find_registers(ptx)
    rows = []
    for function in _core._describe_ptx(ptx):
        refusal = function["refused"]
        place = None
        if refusal is not None and refusal.source_line is not None:
            place = f"{refusal.source_file or '?'}:{refusal.source_line}"
        rows.append(
            {
                "name": function["name"],
                "label": function["label"],
                "kind": "kernel" if function["entry"] else "function",
                "ptx_line": function["line"],
                "registers": registers.get(function["name"]),
                "shared_bytes": function["shared_bytes"],
                "local_bytes": function["local_bytes"],
                "ignored": list(function["hints"]),
                "refused": None if refusal is None else str(refusal),
                "refused_at": place,
            }
        )
    return sorted(rows, key=lambda row: row["kind"] != "kernel"), reason


def count(number: int, noun: str) -> str:
    """ "1 kernel", "2 kernels"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def show(path: str, rows: Sequence[dict[str, Any]], reason: str | None) -> None:
    """Prints a line for each function, and below it what is refused or ignored of it."""
    kernels = [row for row in rows if row["kind"] == "kernel"]
    refused = [row for row in kernels if row["refused"] is not None]
    parts = [count(len(kernels), "kernel"), count(len(rows) - len(kernels), "device function")]
    verdict = (
        f"the simulator refuses {count(len(refused), 'kernel')}"
        if refused
        else "the simulator runs them all"
        if kernels
        else "nothing to launch"
    )
    print(f"{path}: {' and '.join(parts)}; {verdict}")
    if not rows:
        return
    print()
    wide = max([len(row["label"]) for row in rows] + [len("function")])
    heads = ("registers", "shared [B]", "local [B]")
    print(f"{'function':{wide}}  {'kind':8}  {'  '.join(heads)}")
    for row in rows:
        cells = [row["registers"], row["shared_bytes"], row["local_bytes"]]
        shown = ["-" if cell is None else f"{cell:,}" for cell in cells]
        numbers = "  ".join(f"{cell:>{len(head)}}" for cell, head in zip(shown, heads, strict=True))
        print(f"{row['label']:{wide}}  {row['kind']:8}  {numbers}")
        notes = [] if row["refused"] is None else [f"refused: {row['refused']}"]
        if row["ignored"]:
            notes.append(f"ignored, as no result depends on it: {', '.join(row['ignored'])}")
        for note in notes:
            print(textwrap.indent(textwrap.fill(note, WIDTH - 4), "    "))
    if reason is not None:
        print(f"\n{reason}")


def run(path: str, options: Sequence[str], target: str | None) -> int:
    """Prints what runs of a file, or writes it as JSON; 1 where something is refused."""
    if Path(path).suffix not in (".cu", ".ptx"):
        raise UsageError(f"{path} is neither a .cu nor a .ptx file")
    rows, reason = describe(read_ptx(path, options))
    if target is None:
        show(path, rows, reason)
    else:
        text = json.dumps({"file": path, "functions": rows, "note": reason}, indent=2) + "\n"
        if target == "-":
            sys.stdout.write(text)
        else:
            Path(target).write_text(text, encoding="utf-8")
    return int(any(row["refused"] is not None for row in rows))
