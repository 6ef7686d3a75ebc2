"""cvt between all types, bit for bit, on both machines."""

import pytest
from sim.exec import convert_rows
from sim.exec.opcode_table import check, check_guarded


@pytest.mark.parametrize(
    "build",
    [
        convert_rows.integer_groups,
        convert_rows.from_integer_groups,
        convert_rows.to_integer_groups,
        convert_rows.float_groups,
    ],
    ids=["integers", "from_integers", "to_integers", "floats"],
)
def test_conversions(build, rng, machine):
    check(build(rng), machine)


def test_guarded(rng, machine):
    """A guard keeps lanes from writing."""
    check_guarded(convert_rows.convert_groups(rng), machine)
