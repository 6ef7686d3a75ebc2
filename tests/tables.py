"""The tables of csrc (*.def) as Python reads them: a dict a row, keyed by the columns."""

import re
from pathlib import Path

CSRC = Path(__file__).resolve().parents[1] / "csrc"

COLUMNS = {
    "SMK_STATUS": "id name base mixin sentence",
    "SMK_FAMILY": "name signature inputs result grid_x grid_y flops sentence",
    "SMK_SHELF": "name sentence",
    "SMK_VARIANT": "family name block_x block_y tile_x tile_y types arch plan speed shows",
    "SMK_ATTRIBUTE": "family name kind choices meaning",
    "SMK_CHOICE": "family choice type result expression neutral",
}
CELL = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,"]+?))\s*(?:,|$)')


def read_rows(table, macro):
    """Every row of a table; one that has more or fewer cells than columns fails, by its text."""
    text = re.sub(r"/\*.*?\*/", "", (CSRC / table).read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = []
    for body in re.findall(rf"^{macro}\((.*)\)\s*$", text, flags=re.MULTILINE):
        cells = [quoted if plain == "" else plain for quoted, plain in CELL.findall(body)]
        assert len(cells) == len(COLUMNS[macro].split()), f"{table}: {body}"
        rows.append(dict(zip(COLUMNS[macro].split(), cells, strict=True)))
    assert rows, f"{table} has no {macro}"
    assert len(rows) == len(re.findall(rf"^{macro}\(", text, re.MULTILINE)), f"{table}: {macro}"
    return rows


FAMILIES = {row["name"]: row for row in read_rows("registry/families.def", "SMK_FAMILY")}
SHELVES = {row["name"]: row for row in read_rows("registry/families.def", "SMK_SHELF")}
VARIANTS = {
    (row["family"], row["name"]): row for row in read_rows("registry/variants.def", "SMK_VARIANT")
}
CHOICES = read_rows("registry/choices.def", "SMK_CHOICE")


# Kernels beside the main one of a file, for the other steps of its plan.
PARTS = {("gemm", "tuned"): ["arrange"]}


def list_entries(family, variant, part=""):
    """The names of a kernel's entries: one for each element type, and choice where there are."""
    for dtype in VARIANTS[family, variant]["types"].split():
        rows = [row for row in CHOICES if row["family"] == family]
        words = [row["choice"] for row in rows if row["type"] == dtype] if rows else [""]
        for word in words:
            yield "_".join(name for name in (family, variant, part, word, dtype) if name)
