"""The registry's tables by name, and the entries that each kernel file has."""

import re

from read_tables import CSRC, read_rows

FAMILIES = {row["name"]: row for row in read_rows("registry/families.def", "SMK_FAMILY")}
KERNEL_GROUPS = {row["name"]: row for row in read_rows("registry/families.def", "SMK_KERNEL_GROUP")}
VARIANTS = {
    (row["family"], row["name"]): row for row in read_rows("registry/variants.def", "SMK_VARIANT")
}
CHOICES = read_rows("registry/choices.def", "SMK_CHOICE", "SMK_AXIS_CHOICE")


def read_parts(family, variant):
    """The kernels that a file has beside its main one, for the other steps of its plan."""
    path = CSRC / "kernels" / family / f"{variant}.cu"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return re.findall(rf"__launch_bounds__\(.*?\)\s+{family}_{variant}_(\w+)\(", text)


PARTS = {key: parts for key in VARIANTS if (parts := read_parts(*key))}

PLAIN = ("float32", "float64")


def list_plain(family="gemm"):
    """(variant, dtype) of the kernels of float32 and float64."""
    rows = [row for row in VARIANTS.values() if row["family"] == family]
    return [(row["name"], word) for row in rows for word in row["types"].split() if word in PLAIN]


def list_entries(family, variant, part=""):
    """The names of a kernel's entries: one for each element type, and choice where there are."""
    for dtype in VARIANTS[family, variant]["types"].split():
        rows = [row for row in CHOICES if row["family"] == family]
        words = [row["choice"] for row in rows if row["type"] == dtype] if rows else [""]
        for word in words:
            yield "_".join(name for name in (family, variant, part, word, dtype) if name)
