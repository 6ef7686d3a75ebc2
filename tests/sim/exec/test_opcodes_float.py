"""Single instructions on floats, bit for bit, on both machines: rounding, comparison, extremes."""

import pytest
from sim.exec import float_rows
from sim.exec.opcode_table import check, check_guarded

import smemkit


@pytest.mark.parametrize(
    "build",
    [
        float_rows.single_precision_groups,
        float_rows.double_precision_groups,
        float_rows.half_groups,
    ],
    ids=["f32", "f64", "half"],
)
def test_floats(build, rng, machine):
    check(build(rng), machine)


@pytest.mark.parametrize(
    "build", [float_rows.extreme_of_three_group, float_rows.pair_group], ids=["three", "pair"]
)
def test_of_later_machines(build, rng, machine):
    """Compute capability 9.0 does not have them; the simulator does."""
    if machine == "cuda" and smemkit.device_info(backend="cuda")["compute_capability_major"] < 10:
        machine = "sim"
    check([build(rng)], machine)


def test_guarded(rng, machine):
    """A guard keeps lanes from writing."""
    check_guarded(float_rows.float_groups(rng), machine)
