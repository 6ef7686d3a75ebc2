"""cvt of floats of 6 and 4 bits and of scales, which sm_100a has: bit for bit, on the simulator."""

from sim.exec import small_float_rows
from sim.exec.opcode_table import check, check_guarded


def test_small_floats(rng):
    check(small_float_rows.small_float_groups(rng), "sim")


def test_guarded(rng):
    check_guarded(small_float_rows.small_float_groups(rng), "sim")
