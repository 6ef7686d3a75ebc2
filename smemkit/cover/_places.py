"""Which lines of whose files instructions belong to."""

from __future__ import annotations

import functools
import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from .._mangled import demangle

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Json: TypeAlias = dict[str, Any]
    Place: TypeAlias = tuple[str, int]  # (path, line)

PACKAGE = Path(__file__).resolve().parent.parent
FILE_NAME = "kernel.cu"  # of code that is passed as a str: smemkit.compile names it so
LINE = re.compile(r'#line 1 "((?:[^"\\]|\\.)*)"\n')
TOOLKIT = ("cuda_runtime.h", "cuda_fp16.h", "vector_types.h")  # beside them lie CUDA's own headers


@functools.cache
def _is_foreign(folder: Path) -> bool:
    """Is it a folder of headers that come with CUDA or the compiler of the host?"""
    if str(folder).startswith(("/usr/include", "/usr/lib")):
        return True
    if any((folder / name).is_file() for name in TOOLKIT) or (folder / "cuda" / "std").is_dir():
        return True
    return folder != folder.parent and _is_foreign(folder.parent)


class Places:
    """The places of the instructions of a module.

    Attributes
    ----------
    texts : dict
        The text of each file that lies on no disk, as the code that RawKernel got does not.
    """

    def __init__(self, module: Json) -> None:
        self.module = module
        self.texts: dict[str, str] = {}
        self.paths = [self._find_path(name) for name in module["files"]]
        self.chains: dict[int, tuple[Place, ...]] = {}

    def _name_source(self, source: str) -> str:
        """A name for code that has none, made of its first kernel."""
        names = [function["name"] for function in self.module["functions"] if function["entry"]]
        name = re.sub(r"\W+", "_", demangle(names[0]).partition("<")[0]) if names else "module"
        return f"<{name}-{zlib.crc32(source.encode()):08x}.cu>"

    def _find_path(self, name: str) -> tuple[str, bool | None]:
        """(path, whether it is a file of the user's; None: one that cannot be found)."""
        source, folder = self.module["source"], self.module["folder"]
        path = Path(folder or self.module["cwd"] or ".") / name
        named = LINE.match(source) if source is not None else None
        if source is not None and name == FILE_NAME and named is None:
            known = self._name_source(source)
            self.texts[known] = source
            return known, True
        if not path.is_file():
            return str(path), None
        resolved = Path(os.path.normpath(path))
        return str(resolved), not _is_foreign(resolved.parent)

    def chain(self, number: int) -> tuple[Place, ...]:
        """The places of a location: the innermost one of the user's, and where that was inlined.

        Code of CUDA's headers belongs to the line that calls it.
        """
        known = self.chains.get(number)
        if known is not None:
            return known
        locations, at, all_of_it = self.module["locations"], number, []
        while at:
            file, line, _, outer = locations[4 * at - 4 : 4 * at]
            if line and file < len(self.paths):
                all_of_it.append((*self.paths[file], line))
            at = outer
        home = all_of_it[-1][0] if all_of_it else None  # perhaps a file that is not here
        kept = tuple(
            (path, line) for path, own, line in all_of_it if own or (own is None and path == home)
        )
        self.chains[number] = kept
        return kept


def is_package(path: str) -> bool:
    """Is it a kernel of the package?"""
    return Path(path).is_relative_to(PACKAGE)
