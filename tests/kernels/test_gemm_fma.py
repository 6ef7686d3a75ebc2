"""gemm by multiply-adds in one launch (fma, lean): tiles of all shapes, all layouts, parts of k."""

import re

import numpy as np
import pytest
from sim.check.altered import IN_PARTS, OF_PART
from support import shapes

import smemkit

VARIANTS = ("fma", "lean")

each_variant = pytest.mark.parametrize("variant", VARIANTS)


def spell(variant, part):
    return "_".join(name for name in ("gemm", variant, part, "float32") if name)


def list_parts(table):
    """The parts of both variants."""
    return [(variant, part) for variant in VARIANTS for part in table[f"gemm/{variant}"]]


@pytest.mark.parametrize(("variant", "part"), list_parts(OF_PART))
def test_each_tile(variant, part, machine, rng, monkeypatch):
    """Of operands that lie along memory or across it; whole numbers are exact."""
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "1")
    for sizes in OF_PART[f"gemm/{variant}"][part]:
        m, k, n = sizes["m"], sizes["k"], sizes["n"]
        a, b = shapes.integers(rng, (m, k), "f4"), shapes.integers(rng, (k, n), "f4")
        plan = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")[variant]
        assert [launch[0] for launch in plan.launches] == [spell(variant, part)] and plan.parts == 1
        for x, y in shapes.turn_operands(a, b, machine):
            assert np.array_equal(smemkit.asnumpy(smemkit.gemm(x, y, variant=variant)), a @ b)


@pytest.mark.parametrize(("variant", "part"), list_parts(IN_PARTS))
def test_parts_of_each_tile(variant, part, machine, rng, monkeypatch):
    count, sizes = IN_PARTS[f"gemm/{variant}"][part]
    monkeypatch.setenv("SMEMKIT_SM_COUNT", str(count))
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    a, b = shapes.integers(rng, (m, k), "f4", 3), shapes.integers(rng, (k, n), "f4", 3)
    plan = smemkit.explain_choice(smemkit.gemm, a, b, backend="sim")[variant]
    assert [launch[0] for launch in plan.launches] == [spell(variant, part)] and plan.parts > 1
    assert np.array_equal(smemkit.gemm(a, b, variant=variant, backend=machine), a @ b)


@each_variant
def test_the_last_block_adds_the_parts(variant, machine, rng):
    """One launch; tickets and sums are 0 again for the next call, whatever its shape."""
    for m, k, n in [(40, 3000, 36), (130, 2100, 3), (3, 4001, 250), (65, 1999, 67)]:
        a, b = shapes.integers(rng, (m, k), "f4", 3), shapes.integers(rng, (k, n), "f4", 3)
        plan = smemkit.explain_choice(smemkit.gemm, a, b, backend=machine)[variant]
        assert plan.parts > 1 and len(plan.launches) == 1 and plan.workspace_bytes > 0
        for _ in range(2):
            assert np.array_equal(smemkit.gemm(a, b, variant=variant, backend=machine), a @ b)


@each_variant
@pytest.mark.parametrize("shape", [(33, 75, 35), (70, 1030, 5)])
def test_sums_are_near(shape, variant, machine, rng):
    m, k, n = shape
    a, b = shapes.normal(rng, (m, k), "f4"), shapes.normal(rng, (k, n), "f4")
    a[1, 2], b[3, 1] = np.inf, np.nan
    got = smemkit.gemm(a, b, variant=variant, backend=machine)
    with np.errstate(invalid="ignore"):
        exact, size = a.astype("f8") @ b, np.abs(a.astype("f8")) @ np.abs(b)
    finite = np.isfinite(size)
    assert np.array_equal(got[~finite], exact[~finite].astype("f4"), equal_nan=True)
    error = np.abs(got[finite] - exact[finite])
    assert finite.any() and not finite.all() and np.isfinite(error).all()
    assert (error <= k * np.finfo("f4").eps * size[finite]).all()


@each_variant
def test_one_launch_makes_a_stack(variant, machine, rng):
    a, b = shapes.integers(rng, (5, 33, 70), "f4"), shapes.integers(rng, (5, 70, 37), "f4")
    plan = smemkit.explain_choice(smemkit.gemm, a, b, backend=machine)[variant]
    assert plan.repeats == 1 and len(plan.launches) == 1
    assert np.array_equal(smemkit.gemm(a, b, variant=variant, backend=machine), a @ b)


def test_lean_waits_before_it_touches_memory():
    """Its launch may begin while others still write what it reads, and read what it writes."""
    entries = smemkit.ptx("gemm", "lean").split(".entry ")[1:]
    assert entries
    accesses = re.compile(r"\b(?:ld|st|atom|red|cp)\.(?!param)")
    for entry in entries:
        before, wait, after = entry.partition("griddepcontrol.wait;")
        assert wait and not accesses.search(before) and accesses.search(after)
