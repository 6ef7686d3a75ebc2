"""Lines of Python in PTX, where LLVM names others."""

from __future__ import annotations

ASSEMBLY, END = "// begin inline asm", "// end inline asm"


def repair_lines(ptx: str) -> str:
    """Leaves each block of inline assembly on one line of the source.

    Triton writes its accesses as inline assembly. LLVM counts the lines of that text as lines of
    the source, so that the second of them seems to belong to the next line of Python.
    """
    kept, seen = [], 0
    inside = False
    for line in ptx.split("\n"):
        word = line.strip()
        if word == ASSEMBLY:
            inside, seen = True, 0
        elif word == END:
            inside = False
        elif inside and word.startswith(".loc"):
            seen += 1
            if seen > 1:
                continue
        kept.append(line)
    return "\n".join(kept)
