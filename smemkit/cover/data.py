"""What processes have counted: documents of csrc/sim/code/coverage_text.c, read and added up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    Json: TypeAlias = dict[str, Any]
    Modules: TypeAlias = dict[str, Json]  # by the hash of the PTX

FORMAT = 1
VARIABLE = "SMEMKIT_COVERAGE"  # the environment's: where each process leaves what it counted
DEFAULT_FILE = ".smemkit-coverage"
LEFT_ENDING = re.compile(r"\.\d+\.[0-9a-f]+")  # of what a process leaves: its id, and a number


def read_process() -> Modules:
    """What this process has counted so far."""
    return read_document(json.loads(_core._coverage_text()))


def read_document(document: Json) -> Modules:
    """The modules of a document; ArgumentError where it is none of this format."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _core.ArgumentError("is no coverage of kernels that this smemkit can read")
    modules: Modules = {}
    for module in document["modules"]:
        module["cwd"] = module.get("cwd") or document.get("cwd")
        modules[module["hash"]] = module
    return modules


def read_file(path: Path) -> Modules:
    """The modules of a file."""
    try:
        return read_document(json.loads(path.read_text(encoding="utf-8", errors="replace")))
    except (ValueError, KeyError, TypeError) as error:
        raise _core.ArgumentError(f"{str(path)!r:.200} cannot be read: {error}") from None


def find_files(path: Path) -> list[Path]:
    """The file of that name, where there is one, and those that processes have left beside it.

    Other files may begin with the same name, such as reports: they are left alone.
    """
    found = [path] if path.is_file() else []
    names = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    return found + [
        name
        for name in names
        if name.name.startswith(f"{path.name}.")
        and LEFT_ENDING.fullmatch(name.name, len(path.name))
        and name.is_file()
    ]


def add_modules(total: Modules, more: Modules) -> None:
    """Adds the counts of `more` to those of `total`."""
    for key, module in more.items():
        known = total.get(key)
        if known is None:
            total[key] = module
            continue
        for mine, other in zip(known["functions"], module["functions"], strict=True):
            mine["launches"] += other["launches"]
            if not mine["points"]:
                mine["points"], mine["counters"] = other["points"], list(other["counters"])
            elif other["points"]:
                pairs = zip(mine["counters"], other["counters"], strict=True)
                mine["counters"] = [a + b for a, b in pairs]


def merge(documents: Iterable[Modules]) -> Modules:
    """The sum of several processes."""
    total: Modules = {}
    for modules in documents:
        add_modules(total, modules)
    return total


def subtract(after: Modules, before: Modules) -> Modules:
    """What was counted between two readings of one process.

    Of a module that was known before, only launches since then make it appear.
    """
    left: Modules = {}
    for key, module in after.items():
        known = before.get(key)
        if known is not None:
            for mine, other in zip(module["functions"], known["functions"], strict=True):
                mine["launches"] -= other["launches"]
                if other["points"]:
                    pairs = zip(mine["counters"], other["counters"], strict=True)
                    mine["counters"] = [a - b for a, b in pairs]
            if not any(function["launches"] for function in module["functions"]):
                continue
        left[key] = module
    return left


def write_document(modules: Modules, path: Path) -> None:
    """Writes modules to a file."""
    from ..report.saved import write_whole

    write_whole(path, json.dumps({"format": FORMAT, "modules": list(modules.values())}) + "\n")


# The data of this process ------------------------------------------------------------------------

_left: set[bytes] = set()  # hashes of the modules in files that were left
_saving: list[str] = []  # the base of the names of data files, while the environment asks for them


def leave_data(base: str) -> Path | None:
    """Writes what the process has counted since the last time to a new file; None for nothing."""
    text = _core._coverage_text()
    _core._coverage_clear()
    names = set(re.findall(rb'"hash": "(\w+)"', text))
    if names <= _left and not re.search(rb'"launches": [1-9]', text):
        return None
    _left.update(names)
    path = Path(f"{base}.{os.getpid()}.{secrets.token_hex(4)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def leave_all() -> None:
    """The same for what the environment asks for; called when the process ends."""
    for base in _saving:
        with contextlib.suppress(FileNotFoundError):
            leave_data(base)


def _begin_child() -> None:
    """Children of multiprocessing end without atexit."""
    from multiprocessing import util

    util.Finalize(None, leave_all, exitpriority=1000)


def begin_process(base: str) -> None:
    """Counts all launches of the process from now on, and leaves a file when it ends."""
    import atexit
    from multiprocessing import util

    if _saving:
        return
    _saving.append(os.path.abspath(base))
    _core._coverage_start()
    atexit.register(leave_all)
    util.register_after_fork(_begin_child, lambda hook: hook())
