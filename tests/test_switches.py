"""No switch over an enumeration passes over a new enumerator in silence.

A switch names every enumerator, and has no `default:` but one that fails with SMK_INTERNAL. gcc
sees the first half (-Wswitch) only where the value has the enumeration's type; many are kept in
bytes. A switch over the words of PTX picks a few: there a `default:` says in a comment what the
others are.
"""

import re

import pytest
from read_tables import TableError, read_rows
from support.paths import CSRC

# Enumerations that are tables of words; tests/sim/lower/test_every_form.py tries them all.
WORDS = {"smk_opcode", "smk_modifier", "smk_type", "smk_special"}
# Files with labels of opcodes, and why class and roles do not suffice there.
BY_OPCODE = {
    "sim/check/provenance.c": "how an operation changes where an address comes from",
    "sim/check/undefined.c": "which operands decide a result whatever the others are",
    "sim/exec/alu.c": "how the words of an opcode become the key of a row of alu.def",
    "sim/exec/warp_exchange.c": "handlers",
    "sim/lower/lower_control.c": "handlers",
    "sim/lower/lower_texture.c": "handlers",
    "sim/ptxas/value_numbering.c": "how an operation changes a known base, offset or alignment",
}

BLANKED = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'""", re.DOTALL)
ROWS = re.compile(r"#\s*define\s+(\w+)\(([^)]*)\)\s*(\w+?)##(\w+)(?:\s*=\s*\w+)?,")


def blank(text):
    """The text without comments, strings and characters, everything at its old place."""
    return BLANKED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def read_enumerators(body):
    """The names between the braces of an enum, some of them made of the rows of a table."""
    names, macros = [], []
    for line in body.splitlines():
        table = re.match(r'\s*#\s*include "(.*\.def)"', line)
        if found := ROWS.search(line):
            macros.append(found.groups())
        elif table:
            for macro, columns, prefix, column in macros:
                rows = read_rows(table[1], macro)
                at = [word.strip() for word in columns.split(",")].index(column)
                names += [prefix + list(row.values())[at] for row in rows]
            macros = []
        elif not line.lstrip().startswith("#"):
            names += re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", re.sub(r"=[^,]*", "", line))
    return names


def read_enums(texts):
    """{name: [enumerators]}; one without a name goes by its first enumerator."""
    enums = {}
    for text in texts:
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        for tag, body, name in re.findall(r"\benum\s*(\w*)\s*\{(.*?)\}\s*(\w*)", code, re.DOTALL):
            names = read_enumerators(body)
            enums[tag or name or names[0]] = names
    return enums


def find_end(code, start, pair):
    """Behind the bracket that closes the one at start."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == pair[0]) - (code[at] == pair[1])
        if depth == 0:
            return at + 1
    raise AssertionError("a bracket that is never closed")


def list_switches(text):
    """(line, body as it is written) of every switch; what nested ones hold is blanked."""
    code = blank(text)
    for found in re.finditer(r"\bswitch\s*\(", code):
        start = code.index("{", find_end(code, found.end() - 1, "()"))
        body = text[start + 1 : find_end(code, start, "{}") - 1]
        inner = blank(body)
        for nested in re.finditer(r"\bswitch\s*\(", inner):
            opened = inner.index("{", find_end(inner, nested.end() - 1, "()"))
            end = find_end(inner, opened, "{}")
            body = body[:opened] + re.sub(r"[^\n]", " ", body[opened:end]) + body[end:]
        yield code.count("\n", 0, found.start()) + 1, body


def read_labels(body):
    """The labels of a switch; those that the rows of a table make too."""
    labels = re.findall(r"\bcase\s+([^:]+?)\s*:", blank(body))
    for macro, columns, prefix, column in re.findall(
        r"#\s*define\s+(\w+)\(([^)]*)\)[\s\\]*case\s+(\w+?)##(\w+):", body
    ):
        at = [word.strip() for word in columns.split(",")].index(column)
        for table in re.findall(r'#\s*include "(.*\.def)"', body):
            labels += [prefix + list(row.values())[at] for row in read_rows(table, macro)]
    return [label for label in labels if "##" not in label]


def find_silent(texts, enums):
    """What is wrong with the switches of {path: text}, a line each."""
    owner = {name: enum for enum, names in enums.items() for name in names}
    wrong = []
    for path, text in texts.items():
        for line, body in list_switches(text):
            labels = read_labels(body)
            found = {owner.get(label) for label in labels}
            if not labels or None in found or len(found) > 1:
                continue  # characters or numbers
            (enum,) = found
            at = re.search(r"\bdefault\s*:", blank(body))
            default = body[at.end() :] if at else None
            missing = [name for name in enums[enum] if name not in labels]
            if default is None and missing:
                wrong.append(f"{path}:{line}: the switch over {enum} lacks {', '.join(missing)}")
            elif default and enum in WORDS:
                if not re.match(r"\s*/\*", default) and "SMK_INTERNAL" not in default:
                    wrong.append(f"{path}:{line}: no comment says what `default:` of {enum} is")
            elif default and "SMK_INTERNAL" not in default:
                wrong.append(f"{path}:{line}: a silent `default:` over {enum}")
    return wrong


def read_sources():
    paths = sorted([*CSRC.rglob("*.c"), *CSRC.rglob("*.h")])
    return {str(path.relative_to(CSRC)): path.read_text(encoding="utf-8") for path in paths}


def test_no_silent_default():
    texts = read_sources()
    enums = read_enums(texts.values())
    assert WORDS < set(enums) and len(enums["smk_opcode"]) > 80
    assert "SMK_CLASS_HINT" in enums["smk_class"] and "SMK_SPACE_PARAM" in enums["smk_space"]
    wrong = find_silent(texts, enums)
    assert not wrong, "\n".join(wrong)


def test_opcodes_are_asked_their_class():
    texts = read_sources()
    found = {path for path, text in texts.items() if re.search(r"\bcase SMK_OPCODE_\w", text)}
    assert found <= set(BY_OPCODE), f"ask smk_opcode_class(): {sorted(found - set(BY_OPCODE))}"
    assert found == set(BY_OPCODE)


SPACE = "enum space { NEAR, FAR, HERE };"
CASES = "case NEAR: case FAR: return 1;"
OPCODE = "enum smk_opcode { ADD, SUB };"


@pytest.mark.parametrize(
    ("enum", "body", "wrong"),
    [
        (SPACE, f"{CASES} case HERE: break;", None),
        (SPACE, CASES, "lacks HERE"),
        (SPACE, f"{CASES} default: return 0;", "a silent `default:` over space"),
        (SPACE, f"{CASES} default: return fail(SMK_INTERNAL);", None),
        (SPACE, f"{CASES} /* default: */ case HERE: break;", None),
        (SPACE, f"{CASES} case HERE: switch (y) {{ case 1: default: break; }}", None),
        (SPACE, "case HERE: case FAR: switch (y) { case NEAR: break; }", "lacks NEAR"),
        (OPCODE, "case ADD: return 1; default: return 0;", "no comment says what"),
        (OPCODE, "case ADD: return 1; default: /* no sum */ return 0;", None),
        (SPACE, "case '+': return 1; default: return 0;", None),
    ],
)
def test_silent_default_is_named(enum, body, wrong):
    text = f"{enum}\nint f(int x) {{\n    switch (x) {{ {body} }}\n}}\n"
    found = find_silent({"imagined.c": text}, read_enums([text]))
    assert bool(found) == bool(wrong)
    if wrong:
        assert found[0].startswith("imagined.c:3: ") and wrong in found[0]


def test_table_without_its_macro_is_an_error():
    with pytest.raises(TableError):
        read_enumerators(
            '#define SMK_PLANTED(id) SMK_TYPE_##id,\n#include "ptx/type.def"\n#undef SMK_PLANTED\n'
        )
