"""Every form of opcode.def has a handler: the simulator lowers all that its parser takes.

The instructions stand in a function that is lowered and never entered, so nothing of them runs.
"""

import functools

import pytest
from support.form_texts import BODY, RULED, choose_sets, read_forms, write_instructions

import smemkit
from smemkit import _core

FORMS = [form for form in read_forms() if form[3] != "!"]
KERNEL = "\nret; }\n.visible .entry k() { bra D_;\ncall f_;\nD_: ret; }\n"
FIRST_LINE = BODY.count("\n") + 1


@functools.cache
def write_form(form):
    """Its instructions, with every combination of words (form_texts.py says where it stops)."""
    return tuple(write_instructions(form, choose_sets))


def lower(lines, watch):
    """Makes the instructions ready to run."""
    kernel = smemkit.RawModule(BODY + "\n".join(lines) + KERNEL, backend="sim").get_function("k")
    if watch == "run":
        kernel((1,), (32,), ())
    else:
        _core._capture(watch, kernel, (1, 32, ()), {}, 0, True)


def find_unhandled(forms, watch):
    """{instruction: what the simulator says of it} of all that it cannot make ready to run."""
    unhandled = {}
    for form in forms:
        lines = list(write_form(form))
        while lines:
            try:
                lower(lines, watch)
                break
            except smemkit.Error as error:
                at = error.ptx_line - FIRST_LINE
                unhandled[lines.pop(at)] = str(error)
    return unhandled


@pytest.mark.parametrize("watch", ["run", "profile", "check"])
def test_every_form_is_lowered(watch):
    unhandled = find_unhandled(FORMS, watch)
    listed = "\n".join(f"{line}  {message}" for line, message in unhandled.items())
    assert not unhandled, f"opcode.def takes what the simulator has no handler for:\n{listed}"


def test_every_opcode_is_tried():
    tried = {form[0] for form in FORMS if write_form(form)}
    assert tried == {form[0] for form in read_forms()}


@pytest.mark.parametrize("watch", ["run", "profile", "check"])
def test_form_without_a_handler_is_named(watch):
    planted = [form for form in FORMS if form[3] not in RULED][0]
    other = ("FOLD", "b32", "", "d:t s:t")
    unhandled = find_unhandled([planted, other], watch)
    assert [line.split()[0] for line in unhandled] == ["fold.b32"]
    assert "fold" in unhandled["fold.b32 b32_, b32_;"]
