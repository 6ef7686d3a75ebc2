"""The approximate functions: within the errors that the PTX ISA documents, on both machines."""

import approx_rows
from opcode_table import check


def test_approximations(rng, machine):
    check(approx_rows.approx_groups(rng), machine)
