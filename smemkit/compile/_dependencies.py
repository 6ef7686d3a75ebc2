"""The headers of the user's own that a source includes, found without a compiler.

The scan follows each line that looks like an #include, also those that #if excludes, so it finds at
least the headers that a compiler opens. It raises UnknownDependencies where an #include names a
macro, where __has_include asks for files, and where the text uses the date or the time.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GAP = r"(?:[ \t]|/\*.*?\*/)*"
INCLUDE = re.compile(
    rf'^{GAP}(?:\#|%:){GAP}include(?:_next)?\b{GAP}(?:"([^"\n]+)"|<([^>\n]+)>|(.*))', re.MULTILINE
)
UNKNOWN = re.compile(r"__has_include|__has_embed|__(?:DATE|TIME|TIMESTAMP)__|\#[ \t]*embed\b")
CONTINUATION = re.compile(r"\\\r?\n")


class UnknownDependencies(Exception):
    """The text does not tell which files the compiler reads."""


def _list_includes(text: str) -> Iterator[tuple[str, bool]]:
    """(name, whether in quotes) of each #include."""
    text = CONTINUATION.sub("", text)
    if UNKNOWN.search(text):
        raise UnknownDependencies
    for quoted, bracketed, other in INCLUDE.findall(text):
        if not quoted and not bracketed:
            raise UnknownDependencies(other)
        yield quoted or bracketed, bool(quoted)


def _find(name: str, folders: Iterable[Path]) -> Path | None:
    for folder in folders:
        path = folder / name
        if path.is_file():
            return path
    return None


def find_headers(
    source: str, folders: Sequence[Path], included: Iterable[str] = ()
) -> dict[Path, bytes]:
    """{path: content} of the headers in the folders that the source includes, directly or not.

    A header that is in none of the folders is the compiler's own. `included` are the names of the
    headers that options include.
    """
    here = Path.cwd()
    found: dict[Path, bytes] = {}
    waiting = [(name, True, here) for name in included]
    waiting += [(name, quoted, here) for name, quoted in _list_includes(source)]
    while waiting:
        name, quoted, folder = waiting.pop()
        path = _find(name, [folder, *folders] if quoted else folders)
        if path is None or path in found:
            continue
        try:
            text = path.read_bytes()
        except OSError:
            raise UnknownDependencies from None
        found[path] = text
        names = _list_includes(text.decode(errors="replace"))
        waiting += [(name, quoted, path.parent) for name, quoted in names]
    return found
