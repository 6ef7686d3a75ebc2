"""Lines and files of Python in PTX."""

from __future__ import annotations

import linecache
import os
import re

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


def name_callers(ptx: str, library: str) -> str:
    """Lets code of a library's folder belong to the line that calls it.

    Newer PTX of Triton says by inlined_at which line that is; older says it in a comment alone:
    "standard.py:191:40 @[ softmax.py:26:30 @[ softmax.py:35:40 ] ]".
    """
    files = re.findall(r'^\s*\.file\s+(\d+)\s+"([^"\n]*)"', ptx, re.MULTILINE)
    inner = {number for number, path in files if path.startswith(library)}
    own = {os.path.basename(path): number for number, path in files if number not in inner}

    def move(found: re.Match[str]) -> str:
        frames = re.findall(r"([^\s/]+\.py):(\d+):(\d+)", found[3])
        if found[2] in inner:
            for name, line, column in frames[1:]:
                if name in own:
                    return f"{found[1]}{own[name]} {line} {column}"
        return found[0]

    return re.sub(r"^(\s*\.loc\s+)(\d+) \d+ \d+\s*//(.*@\[.*)$", move, ptx, flags=re.MULTILINE)


def name_file(ptx: str, path: str) -> str:
    """Names the file of the kernel as it is now.

    Triton keeps PTX by the text of a kernel: it may come from a file of another name, or from a
    notebook of last week.
    """
    first = re.search(r"^\s*\.loc\s+(\d+)", ptx, re.MULTILINE)
    if first is None or not path:
        return ptx
    pattern = rf'^(\s*\.file\s+{first[1]}\s+)"[^"\n]*"'
    return re.sub(pattern, lambda found: f'{found[1]}"{path}"', ptx, flags=re.MULTILINE)


def name_cells(ptx: str) -> str:
    """Names cells of a notebook by the first function in them, instead of a file that is not there.

    linecache, where IPython keeps their text, gets it under that name too: "<cell of softmax>".
    """

    def rename(found: re.Match[str]) -> str:
        path = found[2]
        lines = [] if os.path.exists(path) else linecache.getlines(path)
        names = re.findall(r"^def (\w+)", "".join(lines), re.MULTILINE)
        if not names:
            return found[0]
        cell = f"<cell of {names[0]}>"
        linecache.cache[cell] = (sum(map(len, lines)), None, lines, cell)
        return f'{found[1]}"{cell}"'

    return re.sub(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', rename, ptx, flags=re.MULTILINE)
