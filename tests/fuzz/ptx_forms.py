"""Random arithmetic instructions, made from the rows of csrc/ptx/opcode.def.

What the table gains is fuzzed from then on. Forms with addresses, labels, or a rule of their own
(memory, control, and what a warp does together) are not made here.
"""

import functools
import re

from read_tables import read_rows

WIDTHS = {
    "pred": "pred",
    **dict.fromkeys(
        "b16 u16 s16 f16 bf16 u8 s8 b8 e4m3x2 e5m2x2 e2m3x2 e3m2x2 ue8m0x2".split(), "b16"
    ),
    **dict.fromkeys("b32 u32 s32 f32 f16x2 bf16x2 tf32 u16x2 s16x2".split(), "b32"),
    **dict.fromkeys("b64 u64 s64 f64 f32x2".split(), "b64"),
}
NO_CONSTANTS = "pred f16 bf16 f16x2 bf16x2 tf32 f32x2 e4m3x2 e5m2x2 e2m3x2 e3m2x2 ue8m0x2".split()
BYTES = {"e2m1x2"}  # types in registers of 8 bits, which the kernels have none of
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
PLACE = re.compile(r"(?P<role>[dsi])(?P<flags>[^:\d]*):(?P<type>\w+)(?P<left_out>\?)?$")
SPECIALS = ("%tid.x", "%ctaid.x", "%ntid.x", "%laneid", "%nctaid.x", "%lanemask_lt")


class Form:
    """One row: what may stand behind an opcode."""

    def __init__(self, opcode, kind, types, words, places):
        self.opcode = opcode
        self.kind = kind
        self.types = [[x for x in slot.split("|") if x not in BYTES] for slot in types.split()]
        self.words = [
            (slot.rstrip("?").split("|"), slot.endswith("?"))
            for slot in words.split()
            if "cache_hint" not in slot
        ]
        self.places = [place for place in places.split() if not place.startswith("@")]

    @property
    def is_arithmetic(self):
        """Whether operands are all that it needs: no other lane or thread, no place to go to."""
        return self.kind == "ALU" and all(self.types) and all(map(PLACE.match, self.places))


@functools.cache
def read_forms():
    """Every row of the table that the simulator executes."""
    opcodes, forms = {}, []
    for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE", "SMK_PTX_FORM"):
        if "spelling" in row:
            opcodes[row["id"]] = row["spelling"], row["class"]
        else:
            form = Form(*opcodes[row["id"]], row["types"], row["words"], row["operands"])
            if form.places[:1] != ["!"]:
                forms.append(form)
    return forms


@functools.cache
def arithmetic():
    """{opcode: its forms}."""
    found = {}
    for form in read_forms():
        if form.is_arithmetic:
            found.setdefault(form.opcode, []).append(form)
    return found


def constant(rng, type_):
    """A constant of a type, or None where PTX has none."""
    if type_ == "f32":
        words = (0, 0x3F800000, 0x80000000, 0x7F800000, 0x7FC00000, 1, rng.getrandbits(32))
        return f"0f{rng.choice(words):08X}"
    if type_ == "f64":
        return (
            f"0d{rng.choice((0, 0x3FF0000000000000, 0x8000000000000001, rng.getrandbits(64))):016X}"
        )
    bits = {"b16": 15, "b32": 31, "b64": 63}.get(WIDTHS.get(type_))
    if type_ in NO_CONSTANTS or bits is None:
        return None
    if type_ in ("u8", "s8", "b8"):
        bits = 7
    value = rng.choice((0, 1, 2, 7, 31, 32, 33, rng.getrandbits(5), rng.getrandbits(bits)))
    sign = "-" if type_[0] == "s" and rng.random() < 0.3 and value else ""
    return f"{sign}{value & ((1 << bits) - 1)}"


def write_operand(rng, place, types, registers):
    """The text of one place, or None where it is left out."""
    match = PLACE.match(place)
    role, flags, name = match["role"], match["flags"], match["type"]
    if match["left_out"] and rng.random() < 0.7:
        return None
    type_ = {"t": types[:1], "u": types[1:2], "w": [WIDER.get(types[0])] if types else []}
    (type_,) = type_.get(name, [name])
    if role == "i":
        return str(rng.getrandbits(8 if type_ == "b64" else 4))
    width = WIDTHS[type_]
    if "+" in flags and type_[0] in "usb" and rng.random() < 0.2:
        width = {"b16": "b32", "b32": "b64"}.get(width, width)
    if role == "d":
        text = registers.target(width)
        if "=" in flags or ("|" in flags and rng.random() < 0.4):
            other = registers.target("pred", without=text)
            text += f"|{other}"
        return text
    if "%" in flags and width == "b32" and rng.random() < 0.1:
        return rng.choice(SPECIALS)
    value = constant(rng, type_) if "!" not in flags and rng.random() < 0.2 else None
    return value if value is not None else registers.source(width)


def write_instruction(rng, form, registers):
    """(the opcode with its words, the operands) of one instruction of a form."""
    types = [rng.choice(slot) for slot in form.types]
    words = [
        rng.choice(slot) for slot, optional in form.words if not optional or rng.random() < 0.4
    ]
    operands = [write_operand(rng, place, types, registers) for place in form.places]
    operands = ", ".join(operand for operand in operands if operand is not None)
    return ".".join([form.opcode, *words, *types]), operands
