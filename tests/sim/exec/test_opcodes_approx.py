"""The approximate functions: within the errors that the PTX ISA documents, on both machines."""

from sim.exec import approx_rows
from sim.exec.opcode_table import check


def test_approximations(rng, machine):
    check(approx_rows.approx_groups(rng), machine)
