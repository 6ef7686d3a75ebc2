"""Instructions written from the forms of csrc/ptx/opcode.def, for tests that try all of them.

A form is (id, types, words, operands) as the table has them; the target that it needs is left out.
"""

import itertools
import math

from read_tables import read_rows

HEADER = ".version 9.0\n.target sm_120a\n.address_size 64\n"  # which has every form
TYPES = {row["spelling"]: int(row["bits"]) for row in read_rows("ptx/type.def", "SMK_PTX_TYPE")}
RULED = ("!", "mov", "call")  # in place of operands: refused, or with a rule of their own
VECTORS = {"v2": 2, "v4": 4, "v8": 8}
BITS_MAX = 128  # of a vector: no form says it
WIDE_BITS = 256  # in the forms of ld and st that take this word
WIDE_WORD = "L2::evict_normal"
SETS_MAX = 4096  # words of a form in every combination; of more, every two of them

REGISTERS = "".join(
    f".reg .{kind} {kind}_;" for kind in ("pred", "b8", "b16", "b32", "b64", "b128", "f32", "f64")
)
ARRAYS = {"global": "g_", "shared": "s_", "const": "c_", "local": "l_", "param": "p_"}
BODY = (
    HEADER
    + ".global .b64 g_[9]; .shared .b64 s_[9]; .const .b64 c_[9];\n"
    + f".func f_() {{ {REGISTERS} .local .b64 l_[9]; .param .b64 p_[9];\n"
    + "T_: .branchtargets L_;\nL_:\n"
)


def strip_operands(text):
    """Without the target that they need, and of refused forms without what they are in CUDA C."""
    return "!" if text.startswith("! ") else text.partition("@")[0].rstrip()


def read_forms():
    """Every form of the table."""
    return [
        (row["id"], row["types"], row["words"], strip_operands(row["operands"]))
        for row in read_rows("ptx/opcode.def", "SMK_PTX_FORM")
    ]


def slots(text):
    """[(alternatives, whether the slot may stay empty)]"""
    return [(slot.rstrip("?").split("|"), slot.endswith("?")) for slot in text.split()]


APART = [
    (row["opcode"], set(row["first"].split("|")), set(row["second"].split("|")))
    for row in read_rows("ptx/rules.def", "SMK_PTX_APART")
]


def are_apart(opcode, words):
    """Whether a rule keeps some of the words apart, which no form does."""
    return any(
        opcode == name and first.intersection(words) and second.intersection(words)
        for name, first, second in APART
    )


def choose_each(text):
    """Each alternative of each slot once, with only what must be there beside it."""
    groups = slots(text)
    base = [group[0] for group, optional in groups if not optional]
    yield base
    for index, (group, _) in enumerate(groups):
        for word in group:
            yield [
                word if i == index else other[0]
                for i, (other, optional) in enumerate(groups)
                if i == index or not optional
            ]


def choose_sets(text):
    """Every combination of words; where they are too many, every two words beside each other."""
    groups = [[*group, None] if optional else group for group, optional in slots(text)]
    if math.prod(map(len, groups)) <= SETS_MAX:
        found = itertools.product(*groups)
    else:
        base = [None if None in group else group[0] for group in groups]
        found = (
            [a if k == i else b if k == j else word for k, word in enumerate(base)]
            for i, j in itertools.combinations(range(len(groups)), 2)
            for a, b in itertools.product(groups[i], groups[j])
        )
    for words in found:
        yield [word for word in words if word]


def register(kind):
    return f"{kind if kind in ('pred', 'f32', 'f64') else 'b' + str(TYPES[kind])}_"


def count_elements(words):
    return next((VECTORS[word] for word in words if word in VECTORS), 1)


def operand(place, types, words, pair=False):
    """An operand for a place; `pair`: with a predicate behind a bar where it may have one."""
    role, _, kind = place.rstrip("?").partition(":")
    kind, _, least = kind.partition("[")
    if role == "m":
        named = kind or next((w.split("::")[0] for w in words if w.split("::")[0] in ARRAYS), "")
        return f"[{ARRAYS.get(named, 'b64_')}]"
    if role == "_":
        return "_"
    if role == "l":
        return "T_" if "idx" in words else "L_"
    if role[0] == "i":
        return least.partition("..")[0] or "16"
    kind = {"t": types[:1], "u": types[1:2]}.get(kind, [kind])[0]
    text = register(f"b{TYPES[types[0]] * 2}" if kind == "w" else kind)
    if role[0] == "x":
        first = [register("b32")] if role.endswith("l") else []
        count = int(role[1:].rstrip("l"))
        coordinates = ", ".join([*first, *[text] * count][:count])
        return f"[b64_, {{{coordinates}}}]" if count else "[b64_]"
    width = count_elements(words)
    if role[1:].rstrip("|").isdigit():
        text = "{" + ", ".join([text] * int(role[1:].rstrip("|"))) + "}"
    elif "v" in role and width > 1:
        text = "{" + ", ".join([text] * width) + "}"
    return text + ("|pred_" if "=" in role or (pair and "|" in role) else "")


def write_operands(operands, types, words):
    """The ways to write the operands: all of them, without what may be left out, with a pair."""
    if operands == "call":
        yield ["f_"]
        return
    places = ("dv:t sv:t" if operands == "mov" else operands).split()
    hint = ["b64_"] if "L2::cache_hint" in words and "cp_mask" not in words else []
    yield [*(operand(place, types, words) for place in places), *hint]
    yield [*(operand(p, types, words) for p in places if not p.endswith("?")), *hint]
    yield [*(operand(place, types, words, pair=True) for place in places), *hint]


def write_instructions(form, choose):
    """The form's instructions, each once: every type, with the words that `choose` makes."""
    opcode, types, words, operands = form
    texts = {}
    widest = WIDE_BITS if opcode in ("LD", "ST") and WIDE_WORD in words else BITS_MAX
    for kinds in itertools.product(*(group for group, _ in slots(types))):
        for chosen in choose(words):
            if are_apart(opcode, chosen):
                continue
            if kinds and TYPES[kinds[0]] * count_elements(chosen) > widest:
                continue
            name = ".".join([opcode.lower(), *chosen, *kinds])
            for written in write_operands(operands, kinds, chosen):
                texts[f"{name} {', '.join(written)};"] = True
    return list(texts)
