"""cvt of 8-bit floats, bit for bit, on both machines."""

from sim.exec import float8_rows
from sim.exec.opcode_table import check, check_guarded


def test_float8(rng, machine):
    check(float8_rows.float8_groups(rng), machine)


def test_guarded(rng, machine):
    check_guarded(float8_rows.float8_groups(rng), machine)
