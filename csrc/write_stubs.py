"""Writes the type stubs of the kernel families, which follow from csrc/registry/*.def.

    python csrc/write_stubs.py       (as python -m smemkit dev docs does)

They are a part of smemkit/_core.pyi, between marks, and all of smemkit/functions/__init__.pyi. A
function with a better stub by hand, outside of the marks, is left out.
"""

import re

from read_tables import CSRC, read_rows

WIDTH = 100
BEGIN = "# Kernel families, written by python -m smemkit dev docs\n"
END = "\n# End of the kernel families\n"
CORE = CSRC.parent / "smemkit" / "_core.pyi"
FUNCTIONS = CSRC.parent / "smemkit" / "functions" / "__init__.pyi"
# What a call takes and returns: all device arrays, or all NumPy's. A device array is a buffer too,
# so that the second overload takes it as well; the first has precedence.
KINDS = (("DeviceArray", "DeviceArray"), ("ArrayLike", "numpy.ndarray[Any, Any]"))
OVERLAP = "  # type: ignore[overload-overlap]"


def list_parameters(family, attributes, kind, result):
    """The parameters of a family's function for one kind of arrays."""
    parameters = [f"{word.partition(':')[0]}: {kind}" for word in family["inputs"].split()]
    for row in attributes:
        if row["family"] == family["name"]:
            words = [f'"{word}"' for word in row["choices"].split()]
            kind, default = (f"Literal[{', '.join(words)}]", words[0]) if words else ("None",) * 2
            parameters.append(f"{row['name']}: {kind} = {default}")
    common = ["*", 'variant: str = "auto"', f"out: {result} | None = None"]
    return [*parameters, *common, "backend: _Backend | None = None"]


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


def fill_core(text):
    """The text of _core.pyi with the families between its marks made anew."""
    before, between, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not between or not end:
        raise SystemExit(f"{CORE} does not have the marks {BEGIN.strip()!r}, {END.strip()!r}")
    attributes = read_rows("registry/attributes.def", "SMK_ATTRIBUTE")
    stubs = [
        stub
        for family in read_rows("registry/families.def", "SMK_FAMILY")
        if not re.search(rf"^def {family['name']}\(", before + after, re.MULTILINE)
        for stub in write_overloads(family, attributes)
    ]
    return "".join([before, BEGIN, *stubs, END, after])


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
    CORE.write_text(fill_core(CORE.read_text(encoding="utf-8")), encoding="utf-8")
    FUNCTIONS.write_text(write_functions(), encoding="utf-8")


if __name__ == "__main__":
    main()
