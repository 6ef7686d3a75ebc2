"""The reader of the tables of csrc: what a row may look like, and what it says of a broken one."""

import pytest
import read_tables

HEAD = """/* Things.
 *
 * SMK_THING(name, size,
 *           sentence)
 * SMK_OTHER(name)
 */
#define SMK_WORDS "one two"
#define SMK_MORE SMK_WORDS " three"
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """A function that reads the rows of a table with that text behind its head."""
    monkeypatch.setattr(read_tables, "CSRC", tmp_path)

    def read_text(text, *macros):
        (tmp_path / "things.def").write_text(HEAD + text, encoding="utf-8")
        return read_tables.read_rows("things.def", *(macros or ["SMK_THING"]))

    return read_text


def test_columns_and_cells(read):
    (row,) = read('SMK_THING(a,  2.0 * d[0],  "says, \\"this\\" (so)")\n')
    assert row == {"name": "a", "size": "2.0 * d[0]", "sentence": 'says, "this" (so)'}


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('""', ""),
        ('"a" "b"', "ab"),
        ("SMK_MORE", "one two three"),
        ('SMK_WORDS " x"', "one two x"),
        ("f(a, b) + {c, d}[e, f]", "f(a, b) + {c, d}[e, f]"),
        ('f("a, b")', 'f("a, b")'),
        ("SMK_UNKNOWN", "SMK_UNKNOWN"),
        ("", ""),
    ],
)
def test_cell(read, cell, value):
    (row,) = read(f"SMK_THING({cell}, 1, x)\n")
    assert row == {"name": value, "size": "1", "sentence": "x"}


def test_rows_of_two_macros_keep_their_order(read):
    text = 'SMK_THING(a, 1, "x")\nSMK_OTHER(b)\n/* SMK_OTHER(c) */\nSMK_THING(d, 1, "x")\n'
    rows = read(text, "SMK_THING", "SMK_OTHER")
    assert [row["name"] for row in rows] == ["a", "b", "d"]


def test_rows_of_an_included_table_stand_in_its_place(read, tmp_path):
    (tmp_path / "more.def").write_text("/* More. */\nSMK_THING(b, 2, SMK_MORE)\n", encoding="utf-8")
    rows = read('SMK_THING(a, 1, "x")\n#include "more.def"\nSMK_THING(c, 3, "z")\n')
    assert [(row["name"], row["sentence"]) for row in rows] == [
        ("a", "x"),
        ("b", "one two three"),
        ("c", "z"),
    ]


def test_row_of_two_lines(read):
    assert read('SMK_THING(a, 1,\n    "x")\n')[0]["sentence"] == "x"


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("a, 1)", "a, 1"),
        ("a, 1, 2, 3)", "a, 1, 2, 3"),
        (")", ""),
        ('a, 1, "x)', 'a, 1, "x)'),
        ("a, (1, x)", "a, (1, x)"),
        ('a, 1, "x"', 'a, 1, "x"'),
    ],
)
def test_malformed_row_is_shown(read, row, shown):
    with pytest.raises(read_tables.TableError) as caught:
        read(f"SMK_THING({row}\n")
    assert str(caught.value) == f"csrc/things.def: a row is malformed: {shown}"


def test_missing_columns_and_rows_are_named(read):
    with pytest.raises(read_tables.TableError, match="things.def has no SMK_OTHER"):
        read("", "SMK_OTHER")
    with pytest.raises(read_tables.TableError, match="does not say what the columns of SMK_NEW"):
        read("SMK_NEW(1)\n", "SMK_NEW")
