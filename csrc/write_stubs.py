"""Writes the type stubs that follow from tables: kernel families, and the facts of a device.

    python csrc/write_stubs.py       (as python -m smemkit dev docs does)

The families are a part of smemkit/_core.pyi and all of smemkit/functions/__init__.pyi, the facts a
part of smemkit/_facts.py. What stands there by hand, outside of the marks, is left out.
"""

import re

from read_tables import CSRC, read_rows

WIDTH = 100
FAMILIES = (
    "# Kernel families, written by python -m smemkit dev docs\n",
    "\n# End of the kernel families\n",
)
FACTS = (
    "    # Facts of a device, written by python -m smemkit dev docs\n",
    "    # End of the facts of a device\n",
)
# The macros of a fact of a device, and its type in Python.
FACT_TYPES = {
    "SMK_GPU_TEXT": "str",
    "SMK_GPU_PROPERTY": "int",
    "SMK_GPU_ATTRIBUTE": "int",
    "SMK_GPU_REAL": "float",
}
CORE = CSRC.parent / "smemkit" / "_core.pyi"
FACT_DICTS = CSRC.parent / "smemkit" / "_facts.py"
FUNCTIONS = CSRC.parent / "smemkit" / "functions" / "__init__.pyi"
# What a call takes and returns: all device arrays, or all NumPy's. A device array is a buffer too,
# so that the second overload takes it as well; the first has precedence.
KINDS = (("DeviceArray", "DeviceArray"), ("ArrayLike", "numpy.ndarray[Any, Any]"))
OVERLAP = "  # type: ignore[overload-overlap]  # a DeviceArray is a buffer too"


def list_parameters(family, attributes, kind, result):
    """The parameters of a family's function for one kind of arrays."""
    parameters = [f"{word.partition(':')[0]}: {kind}" for word in family["inputs"].split()]
    for row in attributes:
        if row["family"] == family["name"] and row["kind"] != "DEVICES":
            words = [f'"{word}"' for word in row["choices"].split()]
            parameters.append(f"{row['name']}: Literal[{', '.join(words)}] = {words[0]}")
    common = ["*", 'variant: str = "auto"', f"out: {result} | None = None"]
    common += ["backend: _Backend | None = None", "device: _Device | None = None"]
    common.append("stream: _Stream | None = None")
    if any((row["family"], row["kind"]) == (family["name"], "DEVICES") for row in attributes):
        common.append("devices: Sequence[_Device] | None = None")
    return [*parameters, *common]


def write_function(name, parameters, result, note=""):
    """A stub: on one line, its parameters on one line, or each on its own.

    note is a comment on the line of the name, which is of no length for the formatter.
    """
    joined, end = ", ".join(parameters), f") -> {result}: ...\n"
    line = f"def {name}({joined}{end}"
    if len(line) <= WIDTH + 1:
        return line.replace("\n", f"{note}\n")
    if len(joined) + 4 <= WIDTH:
        return f"def {name}({note}\n    {joined}\n{end}"
    return f"def {name}({note}\n" + "".join(f"    {one},\n" for one in parameters) + end


def write_overloads(family, attributes):
    """The stubs of a family, one for each kind of arrays."""
    for (kind, result), note in zip(KINDS, (OVERLAP, ""), strict=True):
        parameters = list_parameters(family, attributes, kind, result)
        yield "@overload\n" + write_function(family["name"], parameters, result, note)


def cut(text, marks):
    """(the text up to the end of the first mark, what follows from the second one on)."""
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise SystemExit(f"there are no marks {marks[0].strip()!r}, {marks[1].strip()!r}")
    return before + begin, end + after


def fill_core(text):
    """The text of _core.pyi with the families between its marks made anew."""
    before, after = cut(text, FAMILIES)
    attributes = read_rows("registry/attributes.def", "SMK_ATTRIBUTE")
    stubs = [
        stub
        for family in read_rows("registry/families.def", "SMK_FAMILY")
        if not re.search(rf"^def {family['name']}\(", before + after, re.MULTILINE)
        for stub in write_overloads(family, attributes)
    ]
    return "".join([before, *stubs, after])


def fill_facts(text):
    """The text of _facts.py with the facts of a device, but those of the simulator, made anew."""
    before, after = cut(text, FACTS)
    types = {
        row["name"]: kind
        for macro, kind in FACT_TYPES.items()
        for row in read_rows("gpu/facts.def", macro)
    }
    names = [row["name"] for row in read_rows("gpu/facts.def", *FACT_TYPES)]
    lines = [
        f"    {name}: {types[name]}\n"
        for name in names
        if not re.search(rf"^    {name}: {types[name]}$", before, re.MULTILINE)
    ]
    return "".join([before, *lines, after])


def write_functions():
    """The text of functions/__init__.pyi."""
    package = CSRC.parent / "smemkit" / "functions"
    wrapped = {path.stem.removeprefix("_") for path in package.glob("_[a-z]*.py")}
    names = sorted(row["name"] for row in read_rows("registry/families.def", "SMK_FAMILY"))
    own = [f"from .._core import {name} as {name}\n" for name in names if name not in wrapped]
    more = [f"from ._{name} import {name} as {name}\n" for name in names if name in wrapped]
    more = ["from ._gather import ArgumentIndexError as ArgumentIndexError\n", *more]
    listed = "".join(f'    "{name}",\n' for name in ["ArgumentIndexError", *names])
    return "".join([*own, *more, "\n__all__ = [\n", listed, "]\n"])


def main():
    for path, fill in ((CORE, fill_core), (FACT_DICTS, fill_facts)):
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")
    FUNCTIONS.write_text(write_functions(), encoding="utf-8")


if __name__ == "__main__":
    main()
