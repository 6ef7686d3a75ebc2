"""Records: results that were measured on a machine and travel with the package, PART_NAME.json."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import TYPE_CHECKING

import smemkit

from ._ceilings import Ceilings
from .results import PARTS, Results

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

RECORDS = resources.files("smemkit") / "recorded"
BY_NAME = (
    "arrays",
    "goals",
    "shapes",
    "traffic",
)  # parts that are loaded only where their name is given


def name_device(name: str) -> str:
    """ "NVIDIA H200" -> "h200"; "NVIDIA GeForce RTX 4090" -> "geforce_rtx_4090"."""
    words = re.sub(r"[^a-z0-9]+", "_", name.lower().replace("nvidia", "")).strip("_")
    return words or "gpu"


def find_records(folder: Traversable | None = None) -> dict[str, dict[str, Traversable]]:
    """{name of a record: {part: file}} of a folder, by default the package's."""
    folder = RECORDS if folder is None else folder
    found: dict[str, dict[str, Traversable]] = {}
    for entry in sorted(folder.iterdir(), key=lambda e: e.name) if folder.is_dir() else ():
        kind, _, rest = entry.name.removesuffix(".json").partition("_")
        if entry.name.endswith(".json") and kind in (*PARTS, *BY_NAME):
            found.setdefault(rest, {})[kind] = entry
    return found


def load_record(folder: Traversable | None, name: str, part: str | None = None) -> Results:
    """The Results of the files PART_NAME.json in a folder, also one within a package.

    Only their names select the parts "arrays", of copies and calls as the host sees them, "goals",
    which bench --peers wrote and which repeats measurements, "shapes", of variant="auto" beside the
    libraries, and "traffic", which Nsight Compute counted and which has no times.
    """
    texts = find_records(folder)
    if not isinstance(name, str) or name not in texts:
        there = ", ".join(map(repr, texts)) or "none; smemkit record makes one on a GPU"
        raise smemkit.ArgumentError(f"there is no record {name!r}; there are: {there}")
    found = texts[name]
    if part is not None and (not isinstance(part, str) or part not in found):
        raise smemkit.ArgumentError(
            f"the record {name!r} has no part {part!r}; it has {', '.join(found)}"
        )
    chosen = [part] if part is not None else [kind for kind in PARTS if kind in found]
    if not chosen:
        raise smemkit.ArgumentError(
            f"the record {name!r} has no measurements; name one of its parts: {', '.join(found)}"
        )
    made = []
    for kind in chosen:
        try:
            data = json.loads(found[kind].read_text(encoding="utf-8"))
        except ValueError as error:
            raise smemkit.ArgumentError(f"{found[kind].name} is not JSON: {error}") from error
        made.append((Ceilings if kind == "ceilings" else Results).from_dict(data))
    if part is not None:
        return made[0]
    rows = [row for results in made for row in results]
    parts = {kind: results.provenance for kind, results in zip(chosen, made, strict=True)}
    return Results(rows, {**made[0].provenance, "parts": parts})
