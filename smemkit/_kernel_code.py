"""The code of RawModule: files by their path, and instances of templates by name."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from . import _core, _mangled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

# CUDA C by the PTX that was made of it, for reports of launches that come without their kernel;
# None where nobody wants it.
compiled: dict[str, str] | None = None


def read_path(path: Any, options: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """(code, options) of a file: reports name it, and the headers beside it are found."""
    try:
        path = Path(os.fsdecode(path))
        code = path.read_text(encoding="utf-8").removeprefix("\ufeff")  # a byte order mark
    except TypeError:
        raise _core.ArgumentTypeError(
            f"path must be a str or a path, not {type(path).__name__}"
        ) from None
    except UnicodeDecodeError as error:
        raise _core.ArgumentError(
            f"path {str(path)!r:.200} is not text in UTF-8: byte {error.start} is "
            f"0x{error.object[error.start]:02x}"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _core.ArgumentError(f"path {str(path)!r:.200} cannot be read: {reason}") from None
    if re.match(r"\s*(?://[^\n]*\n\s*|/\*.*?\*/\s*)*\.(?:version|target)\b", code, re.DOTALL):
        return code, tuple(options)
    shown = str(path).encode("utf-8", "replace").decode()  # a name may have bytes of no text
    name = json.dumps(shown, ensure_ascii=False)
    return f"#line 1 {name}\n{code}", (f"-I{path.resolve().parent}", *options)


def compile_code(
    source: str, options: Iterable[str], expressions: Any
) -> tuple[str, str, dict[str, str]]:
    """(PTX, who has made it, a dict from each expression to the kernel's name in the PTX)."""
    from .compile import add_expressions, compile_by, take_names  # slow to import

    names: dict[str, str] = {}
    if expressions is None:
        ptx, origin = compile_by(source, options)
    else:
        expressions = expressions if isinstance(expressions, str) else tuple(expressions)
        ptx, origin = compile_by(add_expressions(source, expressions), options)
        ptx, names = take_names(ptx, expressions)
    _note(ptx, source)
    return ptx, origin, names


def _note(ptx: str, source: str) -> None:
    if compiled is not None:
        compiled[ptx] = source
    folder = os.environ.get("SMEMKIT_MUTATION")
    if folder and not Path(folder, "before.ptx").exists():  # smemkit mutate asks what is loaded
        text = json.dumps({"ptx": ptx, "source": source})
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        temporary = Path(folder, f"{name}.{os.getpid()}.part")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(Path(folder, f"{name}.source.json"))


def find_entry(name: str, entries: Sequence[str], names: Mapping[str, str] | None) -> str | None:
    """The entry of PTX that a name of the source means, or None."""
    wanted = _mangled.simplify(name)
    for expression, entry in (names or {}).items():
        if _mangled.simplify(expression) == wanted:
            return entry
    return _mangled.find_function(name, entries)
