"""NaN in every instruction: the simulator has the bits that an H200 gave."""

import pytest
from sim.exec import nan_rows, record_nans

TABLE = nan_rows.load_table()
GROUPS = {group.name: group for group in nan_rows.list_groups()}
NANS = {"f32": 0x7F800000, "f64": 0x7FF << 52, "f16": 0x7C00, "bf16": 0x7F80}
WIDTHS = {"f32": 32, "f64": 64, "f16": 16, "bf16": 16}


@pytest.fixture(scope="module")
def measured():
    return record_nans.measure("sim")


def test_the_table_is_of_these_instructions(measured):
    found, operands = measured
    assert TABLE["operands"] == operands
    assert {name: list(rows) for name, rows in TABLE["groups"].items()} == {
        name: list(rows) for name, rows in found.items()
    }


def select(words, text):
    """What is compared of a row: of approximate functions the NaN, of others everything."""
    if ".approx" not in text:
        return [int(word, 16) for word in words]
    kind = text.split()[0].split(".")[-1]
    plain = kind.removesuffix("x2")
    width, parts = WIDTHS[plain], 2 if kind.endswith("x2") else 1
    mask = (1 << width) - 1
    values = []
    for word in words:
        for part in range(parts):
            value = int(word, 16) >> width * part & mask
            values.append(value if value & mask >> 1 > NANS[plain] else None)
    return values


@pytest.mark.parametrize("name", TABLE["groups"])
def test_nans(name, measured):
    wrong = []
    for text, words in TABLE["groups"][name].items():
        expected = select(words.split(), text)
        found = select(measured[0][name][text].split(), text)
        for place, (wanted, got) in enumerate(zip(expected, found, strict=True)):
            if wanted != got:
                lane = place * GROUPS[name].lanes // len(expected)
                operands = [hex(column[lane]) for column in GROUPS[name].columns]
                wrong.append(f"{text} {operands}: {got} instead of {wanted}")
                break
    assert not wrong, "\n".join(wrong)


def test_the_table_says_where_it_comes_from():
    assert "H200" in TABLE["device"]
    assert all(TABLE[key] for key in ("driver", "date", "smemkit"))
