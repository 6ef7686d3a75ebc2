"""The lists of the site, made of the tables of csrc and of the package: none of them is typed.

A page of docs/ has a mark where a list belongs, a line of its own; build.py puts the list there:

    <!-- list: counters -->                 in Markdown
    .. list: names smemkit asarray empty    in reStructuredText

The first word is a function of LISTS, those behind it are its arguments.
"""

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path

from read_tables import CSRC, read_rows

import smemkit

MARK = re.compile(r"^(?:<!-- list: (.+?) -->|\.\. list: (.+))$", re.MULTILINE)


def fill(text):
    """The text of a page with each mark replaced by its list."""

    def write(found):
        name, *words = (found[1] or found[2]).split()
        return LISTS[name](*words)

    return MARK.sub(write, text)


# Markdown ----------------------------------------------------------------------------------------


def escape(text):
    """A plain text as Markdown that shows just this text; what stands between ` is code in both."""
    parts = re.split(r"(`[^`|]+`)", text)
    parts[::2] = [re.sub(r"([\\`*_\[\]<>|])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def code(text):
    """A text as code, also within a table."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def table(heads, rows):
    """A Markdown table; its cells are Markdown already."""
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def upper(text):
    return text[:1].upper() + text[1:]


# The first page ----------------------------------------------------------------------------------


def split_readme():
    """The README without its title, cut before its first heading: (opening, rest)."""
    text = (CSRC.parent / "README.md").read_text(encoding="utf-8")
    opening, mark, rest = text.partition("\n## ")
    return opening.partition("\n")[2].strip(), mark.lstrip() + rest


def opening(*_):
    return split_readme()[0]


# What is counted and found -----------------------------------------------------------------------


def counters(*_):
    """Each group of counters as a table: name, unit, meaning with the metric of Nsight Compute."""
    rows = read_rows("sim/profile/counters.def", "SMK_COUNTER", "SMK_RATIO")
    groups = {}
    for row in rows:
        groups.setdefault(row["name"].rpartition(".")[0], []).append(row)
    parts = []
    for group, members in groups.items():
        cells = [
            [
                code(row["name"]),
                escape(row["unit"]),
                escape(upper(row["meaning"])) + "." + metric(row),
            ]
            for row in members
        ]
        parts.append(f"## {group}\n\n{table(('counter', 'unit', 'meaning'), cells)}")
    return "\n".join(parts)


def metric(row):
    """What Nsight Compute calls a counter, in a line below its meaning."""
    names = " + ".join(code(name) for name in row["ncu"].split("+") if name)
    return f"<br>Nsight Compute: {names}" if names else ""


# What the places of an action stand for where no finding fills them.
PLACES = {
    "lines": "the two lines",
    "first": "the line",
    "First": "The line",
    "second": "the other line",
    "before": "the earlier line",
    "behind": "the later line",
    "barrier": "a barrier",
    "all": "every thread",
    "bytes": "N",
    "loop": "its first line",
    "block": "(x, y, z)",
    "dynamic": "N",
}


def findings(*_):
    """A section for each kind: what it is, and what to do about it; each action stands once."""
    actions = {}
    for row in read_rows("sim/check/finding.def", "SMK_ACTION"):
        actions.setdefault(row["finding"], []).append(row["text"].format_map(PLACES))
    parts, shown = [], {}
    for row in read_rows("sim/check/finding.def", "SMK_FINDING"):
        texts = dict.fromkeys(actions[row["id"]])
        others = dict.fromkeys(shown[text] for text in texts if text in shown)
        new = [text for text in texts if text not in shown]
        shown |= dict.fromkeys(new, row["name"])
        before = (
            f"as for {' or '.join(map(code, others))}{', or one of these:' if new else '.'}"
            if others
            else ""
        )
        cures = "".join(f"- {escape(text)}\n" for text in new)
        what = f"{escape(upper(row['meaning']))}.\n\nWhat to do about it: {before}".rstrip()
        parts.append(f"## {code(row['name'])}\n\n{what}\n\n{cures}")
    return "\n".join(parts)


def errors(*_):
    """Each error class as a row; the reference of the class stands on the page of the API."""
    rows = read_rows("base/status.def", "SMK_STATUS")
    cells = [
        [
            f"{{py:exc}}`~smemkit.{row['class']}`",
            f"{{py:exc}}`~smemkit.{row['base']}`",
            code(row["mixin"].strip("-")) or "none",
            escape(row["sentence"]),
        ]
        for row in rows
    ]
    return table(("error", "is a", "is also Python's", "meaning"), cells)


# PTX ---------------------------------------------------------------------------------------------


def words(cell):
    """The slots of a form in words: "rn|rz? ftz?" -> `.rn`/`.rz` or none, ..."""
    slots = []
    for slot in cell.split():
        choices = "/".join(f".{word}" for word in slot.rstrip("?").split("|"))
        slots.append(f"[{choices}]" if slot.endswith("?") else choices)
    return " ".join(slots)


def demanded(cell):
    """The slots of a form that must be filled, in words."""
    return words(" ".join(slot for slot in cell.split() if not slot.endswith("?"))).replace(" ", "")


def ptx(*_):
    """A section for each class of instruction, with a row for each opcode and each of its forms."""
    opcodes = {row["id"]: row for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE")}
    forms = {}
    for row in read_rows("ptx/opcode.def", "SMK_PTX_FORM"):
        forms.setdefault(row["id"], []).append(row)
    parts = []
    for kind in read_rows("ptx/opcode.def", "SMK_PTX_CLASS"):
        cells = []
        for name, row in sorted(opcodes.items()):
            if row["class"] != kind["id"]:
                continue
            known = [one for one in forms.get(name, ()) if not one["operands"].startswith("!")]
            lines = [
                code(" ".join(filter(None, (words(one["words"]), words(one["types"])))))
                for one in known
            ]
            shown = "<br>".join(dict.fromkeys(filter(None, lines)))
            cells.append([code(row["spelling"]), escape(upper(row["meaning"])) + ".", shown])
        if cells:
            heads = ("opcode", "meaning", "words and types")
            parts.append(f"## {escape(upper(kind['meaning']))}\n\n{table(heads, cells)}")
    return "\n".join(parts)


def instructions(*_):
    """Every instruction of the PTX ISA: whether it runs, and which of its forms do not."""
    table_ = "ptx/unsupported.def"
    sources = {row["id"]: row["source"] for row in read_rows(table_, "SMK_PTX_FEATURE")}
    refused_forms = {}
    for row in read_rows("ptx/opcode.def", "SMK_PTX_FORM"):
        if row["operands"].startswith("! "):
            form = demanded(row["words"]) + demanded(row["types"])
            refused_forms.setdefault(row["id"], []).append(form)
    rows = {
        row["spelling"]: ["yes", ", ".join(map(code, refused_forms.get(row["id"], ())))]
        for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE")
    }
    for row in read_rows(table_, "SMK_PTX_UNSUPPORTED_OPCODE"):
        rows[row["spelling"]] = ["no", escape(sources[row["feature"]])]
    cells = [[code(name), *rows[name]] for name in sorted(rows)]
    return table(("instruction", "runs", "but not"), cells)


def special(*_):
    rows = read_rows("ptx/special.def", "SMK_PTX_SPECIAL")
    return table(("register", "bits"), [[code(row["spelling"]), row["bits"]] for row in rows])


def refused(*_):
    """What the simulator does not execute: in CUDA C, what to do, and by which words of PTX."""
    table_, words_of = "ptx/unsupported.def", {}
    for kind in ("OPCODE", "WORD", "SPECIAL", "FUNCTION"):
        for row in read_rows(table_, f"SMK_PTX_UNSUPPORTED_{kind}"):
            words_of.setdefault(row["feature"], []).append(row["spelling"])
    opcodes = {row["id"]: row["spelling"] for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE")}
    for row in read_rows("ptx/opcode.def", "SMK_PTX_FORM"):
        if row["operands"].startswith("! "):
            parts = (opcodes[row["id"]], *(demanded(row[key]) for key in ("words", "types")))
            form = re.sub(r"\.+", ".", ".".join(filter(None, parts)))
            words_of.setdefault(row["operands"][2:], []).append(form)
    cells = [
        [
            escape(row["source"]),
            escape(row["advice"]),
            ", ".join(map(code, dict.fromkeys(words_of[row["id"]]))),
        ]
        for row in read_rows(table_, "SMK_PTX_FEATURE")
    ]
    return table(("in CUDA C", "what to do", "in PTX"), cells)


def headers(*_):
    """What of CUDA's headers runs, by the kernels of the tests: a row for each."""
    path = CSRC.parent / "tests/support/include_kernels.py"
    spec = importlib.util.spec_from_file_location("include_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cells = [
        [
            escape(name),
            ", ".join(map(code, kernel.includes.split())),
            f"`sm_{kernel.arch}`",
            f"no: `{kernel.refused}`" if kernel.refused else "yes",
        ]
        for name, kernel in module.KERNELS.items()
    ]
    return table(("what", "headers", "compiled for", "runs"), cells)


# Machines ----------------------------------------------------------------------------------------


def manual(*title):
    """A section of help(smemkit) as Markdown."""
    pieces = re.split(r"^(\S.*)\n-{3,}\n", smemkit.__doc__, flags=re.MULTILINE)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    text = sections[" ".join(title)].strip("\n")
    if re.match(r"[A-Z]+_\w+  +", text):  # aligned columns: a word, its meaning
        rows = re.findall(r"^([A-Z]\w+) +(.*(?:\n +.*)*)", text, re.MULTILINE)
        return table(
            ("variable", "meaning"),
            [[code(name), escape(re.sub(r"\s+", " ", meaning))] for name, meaning in rows],
        )
    return escape(text) + "\n"


def capabilities(*_):
    """A row for each compute capability, the newest first, of the limits in which they differ."""
    rows = read_rows("registry/limits.def", "SMK_LIMITS")
    names = [f"{row['major']}.{row['minor']}" for row in reversed(rows)]
    facts = {name: smemkit.limits(name) for name in names}
    first = facts[names[0]]
    keys = [key for key, value in first.items() if type(value) is int]
    differing = [key for key in keys if len({facts[name][key] for name in names}) > 1]
    same = [f"- {code(key)}: {first[key]:,}" for key in keys if key not in differing]
    cells = [[name, *(f"{facts[name][key]:,}" for key in differing)] for name in names]
    heads = ["", *(key.replace("multiprocessor", "SM").replace("_", " ") for key in differing)]
    lines = table(heads, cells).split("\n")
    lines[1] = f"| --- |{' ---: |' * len(differing)}"
    return "\n".join([*lines, "The same in all:", "", *same, ""])


def cards(*_):
    """A row for each compute capability: the names of its cards."""
    found = {}
    for row in read_rows("registry/cards.def", "SMK_CARD"):
        found.setdefault(f"{row['major']}.{row['minor']}", []).append(escape(row["name"]))
    return table(
        ("compute capability", "cards"), [[name, ", ".join(some)] for name, some in found.items()]
    )


# Names of the package ----------------------------------------------------------------------------


def list_packages():
    """smemkit, and the packages below it that have public names of their own."""
    below = sorted(path.parent.name for path in Path(smemkit.__path__[0]).glob("*/__init__.py"))
    return ["smemkit", *(name for name in map("smemkit.{}".format, below) if list_own(name))]


# Of a package whose names are mostly for other packages of smemkit: what people call.
CALLED = {"smemkit.compile": "compile_source find_nvrtc find_nvcc find_ptxas describe_cache"}


def list_own(package):
    """The public names of a package that smemkit itself does not have."""
    module = importlib.import_module(package)
    shared = {id(getattr(smemkit, name)) for name in smemkit.__all__}
    found = CALLED[package].split() if package in CALLED else getattr(module, "__all__", ())
    return [name for name in found if id(getattr(module, name)) not in shared]


def names(package, *words):
    """A summary and the whole reference of public names; without words all of a package's own.

    each-family stands for the functions of the kernel families, each-error for the exceptions.
    """
    module = importlib.import_module(package)
    found, parts = [], []
    for word in words or list_own(package):
        found += GROUPS[word]() if word in GROUPS else [word]
    if package != "smemkit":
        shadowed = getattr(smemkit, package.rpartition(".")[2], module) is not module
        options = "   :no-index:\n" if shadowed else ""  # by a function of smemkit of that name
        parts.append(f".. automodule:: {package}\n{options}")
    within = "" if package != "smemkit" else "~smemkit."
    summary = "".join(
        f"   {within}{name}\n" for name in found if not is_constant(getattr(module, name))
    )
    parts.append(f".. autosummary::\n   :nosignatures:\n\n{summary}")
    parts += [document(f"{package}.{name}", getattr(module, name)) for name in found]
    return "\n".join(parts)


def list_families():
    return [name for name in smemkit.families() if name in smemkit.__all__]


def list_errors():
    return [name for name in smemkit.__all__ if is_error(getattr(smemkit, name))]


GROUPS = {"each-family": list_families, "each-error": list_errors}


def is_constant(thing):
    return not callable(thing)


def is_error(thing):
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def document(path, thing):
    """The directive that shows a name's docstring; a constant has none, and shows its value."""
    if is_constant(thing):
        shown = f"   :value: {thing!r}\n" if isinstance(thing, str) else ""
        values = ", ".join(f"``{value!r}``" for value in thing)
        text = "" if isinstance(thing, str) else f"\n   The values that are taken: {values}.\n"
        package, _, name = path.rpartition(".")
        return f".. py:currentmodule:: {package}\n.. py:data:: {name}\n{shown}{text}"
    if is_error(thing):
        return f".. autoexception:: {path}\n   :show-inheritance:\n"
    if inspect.isclass(thing):
        special = [name for name in ("__call__", "__getitem__") if describes(thing, name)]
        others = [base.__name__ for base in thing.__mro__[1:] if is_foreign(base)]
        options = f"   :members:\n   :inherited-members: {', '.join(others)}\n"
        options += "   :show-inheritance:\n" if is_derived(thing) else ""
        if special:
            options += f"   :special-members: {', '.join(special)}\n"
        return f".. autoclass:: {path}\n{options}"
    return f".. autofunction:: {path}\n"


def is_derived(thing):
    """Whether a class derives from a class of its own package, which is shown beside it."""
    return any(base.__module__ == thing.__module__ for base in thing.__bases__)


def is_foreign(base):
    """Whether members of a base are shown elsewhere: by Python, or beside the class."""
    own = base.__module__.startswith("smemkit")
    return not own or base.__name__ in getattr(sys.modules[base.__module__], "__all__", ())


def describes(thing, name):
    """Whether a class has a special method with a docstring of its own."""
    text = getattr(vars(thing).get(name), "__doc__", None) or ""
    return "\n" in text.strip()


LISTS = {
    function.__name__: function
    for function in (
        opening,
        counters,
        findings,
        errors,
        ptx,
        instructions,
        special,
        refused,
        headers,
        manual,
        capabilities,
        cards,
        names,
    )
}
