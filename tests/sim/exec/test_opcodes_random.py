"""cvt.rs, which sm_100a has: bit for bit, on the simulator. No GPU of its kind was at hand."""

from sim.exec import random_rows
from sim.exec.opcode_table import check, check_guarded


def test_random_rounding(rng):
    check(random_rows.random_groups(rng), "sim")


def test_guarded(rng):
    check_guarded(random_rows.random_groups(rng), "sim")
