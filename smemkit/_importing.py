"""Why the extension module cannot be imported: it is missing, of another Python, or fails."""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

ADVICE = "install it (pip install .) or build it in place (python setup.py build_ext --inplace)"


def explain_failure(folder: str, error: ImportError) -> str:
    """The text of the ImportError that stands for `error`, which importing folder/_core raised."""
    found = [path.name for path in sorted(Path(folder).glob("_core*")) if path.suffix != ".pyi"]
    fitting = [name for name in found if name.removeprefix("_core") in EXTENSION_SUFFIXES]
    if not found:
        return f"smemkit in {folder} has no extension module; {ADVICE}"
    if not fitting:
        return (
            f"smemkit in {folder} has {' and '.join(found)}, an extension module of another "
            f"Python; this one ({sys.implementation.cache_tag}) needs "
            f"_core{EXTENSION_SUFFIXES[0]}: {ADVICE}"
        )
    reason = str(error)
    if "support loading in subinterpreters" in reason:  # Python's own check
        reason += "; nor does NumPy. Import smemkit in the main interpreter"
    return f"smemkit's extension module, {fitting[0]} in {folder}, cannot be imported: {reason}"
