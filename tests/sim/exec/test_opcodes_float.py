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


def choose_later(machine):
    """Compute capability 9.0 does not have the forms of 10.0; the simulator does."""
    if machine == "cuda" and smemkit.device_info(backend="cuda")["compute_capability_major"] < 10:
        return "sim"
    return machine


@pytest.mark.parametrize(
    "build",
    [
        lambda rng: [float_rows.extreme_of_three_group(rng)],
        lambda rng: [float_rows.pair_group(rng)],
        float_rows.mixed_groups,
    ],
    ids=["three", "pair", "mixed"],
)
def test_of_later_machines(build, rng, machine):
    check(build(rng), choose_later(machine))


def test_guarded(rng, machine):
    """A guard keeps lanes from writing."""
    check_guarded(float_rows.float_groups(rng), machine)


def test_guarded_mixed(rng, machine):
    check_guarded(float_rows.mixed_groups(rng), choose_later(machine))
