"""Single instructions on integers and bits, bit for bit, on both machines."""

import pytest
from sim.exec import integer_rows, pack_rows
from sim.exec.opcode_table import check, check_guarded


@pytest.mark.parametrize(
    "build",
    [
        integer_rows.pair_groups,
        integer_rows.single_groups,
        integer_rows.shift_groups,
        integer_rows.triple_groups,
        integer_rows.field_groups,
        lambda rng: [integer_rows.select_group(rng)],
        pack_rows.pack_groups,
    ],
    ids=["two", "one", "shift", "three", "field", "predicate", "pack"],
)
def test_integers(build, rng, machine):
    check(build(rng), machine)


def test_guarded(rng, machine):
    """A guard keeps lanes from writing."""
    check_guarded(integer_rows.integer_groups(rng), machine)
