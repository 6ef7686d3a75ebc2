"""opcode.def and its fellows: each row has its other half, and each form takes what it says."""

import itertools
import re

import pytest
from read_tables import read_rows
from support.form_texts import (
    BODY,
    RULED,
    TYPES,
    choose_each,
    read_forms,
    slots,
    write_instructions,
)

import smemkit
from smemkit import _core

FORMS = read_forms()
OPCODES = [row["id"] for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE")]
CLASSES = [row["id"] for row in read_rows("ptx/opcode.def", "SMK_PTX_CLASS")]
MODIFIERS = [row["spelling"] for row in read_rows("ptx/modifier.def", "SMK_PTX_MODIFIER")]


def test_every_opcode_has_a_form():
    have = {form[0] for form in FORMS}
    assert not set(OPCODES) - have, f"opcodes without a form: {sorted(set(OPCODES) - have)}"
    assert not have - set(OPCODES), f"forms without an opcode: {sorted(have - set(OPCODES))}"


def test_forms_stand_behind_their_opcode():
    order = [form[0] for form in FORMS]
    assert [key for key, _ in itertools.groupby(order)] == OPCODES


def test_opcodes_are_unique():
    assert len(set(OPCODES)) == len(OPCODES)


def test_every_opcode_has_a_class_and_a_meaning():
    used = set()
    for row in read_rows("ptx/opcode.def", "SMK_PTX_OPCODE"):
        assert row["spelling"] == row["id"].lower()
        assert row["class"] in CLASSES, f"{row['id']} is of no class: {row['class']}"
        assert row["meaning"] and not row["meaning"].endswith("."), row["id"]
        used.add(row["class"])
    assert used == set(CLASSES), f"classes without an opcode: {set(CLASSES) - used}"


def test_results_stand_in_front():
    """What an instruction writes follows from the roles: the first operand, or nothing."""
    for key, _types, _words, operands in FORMS:
        roles = [place[0] for place in operands.split()] if operands not in ("mov", "call") else []
        assert "d" not in roles[1:], (key, operands)


def test_words_of_forms_are_in_the_tables():
    for opcode, types, words, _ in FORMS:
        for alternatives, _optional in slots(types):
            assert set(alternatives) <= set(TYPES), (opcode, alternatives)
        for alternatives, _optional in slots(words):
            assert set(alternatives) <= set(MODIFIERS), (opcode, alternatives)


def test_every_modifier_is_used():
    used = {word for form in FORMS for group, _ in slots(form[2]) for word in group}
    unused = set(MODIFIERS) - used
    assert not unused, f"modifiers that no form takes: {sorted(unused)}"


def test_refused_words_are_not_also_taken():
    table = "ptx/unsupported.def"
    refused = [row["spelling"] for row in read_rows(table, "SMK_PTX_UNSUPPORTED_WORD")]
    assert len(set(refused)) == len(refused)
    assert not set(refused) & (set(MODIFIERS) | set(TYPES))
    opcodes = {row["spelling"].upper() for row in read_rows(table, "SMK_PTX_UNSUPPORTED_OPCODE")}
    assert not opcodes & set(OPCODES)


TAKEN = [form for form in FORMS if form[3] not in RULED]


@pytest.mark.parametrize("form", TAKEN, ids=lambda f: " ".join(f)[:60])
def test_form_takes_what_it_says(form):
    text = BODY + "\n".join(write_instructions(form, choose_each)) + "\nret; }\n"
    once = _core._ptx_print(text)
    assert _core._ptx_print(once) == once


@pytest.mark.parametrize("form", TAKEN, ids=lambda f: " ".join(f)[:60])
def test_form_refuses_wrong_registers_and_counts(form):
    """Each register in turn becomes one of a wrong type; and there are too many operands."""
    line = write_instructions(form, choose_each)[0]
    head, _, rest = line.rstrip(";").partition(" ")
    places = [place for place in rest.split(", ") if place]
    wrong = [f"{head} {', '.join([*places, 'b64_', 'b64_', 'b64_'])};"]
    for i, place in enumerate(places):
        if re.fullmatch(r"\w+_", place) and place not in ("L_", "T_"):
            # cp.async takes a predicate where another form takes a size, and any policy of 64 bits
            size = form[0] == "CP" and place != "b64_"
            other = "f64_" if place == "pred_" or size else "pred_"
            wrong.append(f"{head} {', '.join([*places[:i], other, *places[i + 1 :]])};")
    for faulty in wrong:
        with pytest.raises(smemkit.PtxError) as caught:
            _core._ptx_print(BODY + faulty + "\nret; }\n")
        assert caught.value.ptx_line == BODY.count("\n") + 1


@pytest.mark.parametrize("form", [f for f in FORMS if f[3] == "!"], ids=lambda f: " ".join(f)[:60])
def test_refused_forms_say_so(form):
    opcode, types, words, _ = form
    kinds = [group[0] for group, _ in slots(types)]
    for chosen in choose_each(words):
        with pytest.raises(smemkit.UnsupportedError, match=opcode.lower()):
            _core._ptx_print(BODY + ".".join([opcode.lower(), *chosen, *kinds]) + " b32_;\n}\n")
