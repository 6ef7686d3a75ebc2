"""The seam for watchers, as far as Python sees it: a watched kernel is the same kernel.

Counts come from straight runs of instructions, steps from the interpreter's own bookkeeping: they
know nothing of each other and must agree, for code of every kind.
"""

import re

import numpy as np
import pytest
from programs import (
    cases_arithmetic,  # noqa: F401  (each fills CASES)
    cases_control,  # noqa: F401
    cases_memory,  # noqa: F401
    regenerate,
)
from programs.program_cases import CASES

import smemkit
from smemkit import _bfloat16, _core


class Recorder:
    """Runs the kernels of a module, watched or not, and notes the steps of each launch."""

    def __init__(self, text, mode):
        self.module = smemkit.RawModule(text, backend="sim")
        self.mode = mode
        self.steps = []
        self.launches = []

    def run(self, entry, grid, block, *args, shared=0):
        kernel = self.module.get_function(entry)
        options = {"shared_mem": shared, "backend": "sim"}
        if self.mode is None:
            kernel(grid, block, args, **options)
        else:
            _, launches = _core._capture(self.mode, kernel, (grid, block, args), options, 0, True)
            self.launches += launches
        self.steps.append(_core._run_stats()["steps"])


@pytest.mark.parametrize("mode", list(regenerate.MODES))
@pytest.mark.parametrize("name", sorted(CASES))
def test_counted_instructions_are_the_steps_of_a_plain_run(name, mode):
    text = regenerate.load_ptx(name, mode)
    plain, watched = Recorder(text, None), Recorder(text, "profile")
    for recorder in (plain, watched):
        CASES[name](recorder.run, np.random.default_rng(7), "sim")  # which checks the results
    counted = np.array([launch["counters"]["instructions.warp"] for launch in watched.launches])
    steps = np.array(watched.steps)
    # a branch or call to several targets at once is one instruction, but a step for each target
    several = re.search(r"brx|\.callprototype", text) is not None
    assert (counted <= steps).all() and (several or (counted == steps).all())
    # a fence takes no step of its own where nothing is watched, and those who use it wait in loops
    fences = re.search(r"membar|fence", text) is not None
    assert fences or (steps == plain.steps).all()
    for launch in watched.launches:
        check_launch(launch)


def check_launch(launch):
    """What holds for every kernel."""
    counters = launch["counters"]
    assert 0 < counters["instructions.thread"] <= 32 * counters["instructions.warp"]
    assert (
        counters["branch.divergent"] + counters["branch.uniform"]
        == (counters["branch.instructions"])
    )
    for kind in ("load", "store", "atomic"):
        shared = {
            name: counters[f"shared.{kind}.{name}"]
            for name in ("instructions", "wavefronts", "ideal", "conflicts", "bytes")
        }
        beyond = shared["wavefronts"] - shared["ideal"]
        if kind == "atomic":  # a compare and swap takes two wavefronts where others take one
            assert beyond <= 2 * shared["conflicts"] and shared["conflicts"] <= beyond
        else:
            assert beyond == shared["conflicts"]
        assert shared["instructions"] <= shared["ideal"] <= 4 * shared["instructions"]
        assert shared["bytes"] <= 32 * 16 * shared["instructions"]
        requests, sectors = (counters[f"global.{kind}.{name}"] for name in ("requests", "sectors"))
        assert requests <= sectors <= 32 * requests
        assert counters[f"global.{kind}.bytes_moved"] == 32 * sectors
    for sample in launch["samples"]:
        lanes = [lane for lane in range(32) if sample["mask"] >> lane & 1]
        assert lanes and 1 <= sample["cost"] <= 64 * (2 if sample["rule"] == "atomic" else 1)
        if sample["space"] == "shared":
            assert all(
                0 <= sample["addresses"][lane] <= launch["shared_bytes"] - sample["bytes"]
                for lane in lanes
            )


@pytest.mark.parametrize(
    ("dtype", "variant"),
    [
        (dtype, variant)
        for variant, facts in smemkit.variants("gemm").items()
        for dtype in facts["dtypes"]
    ],
)
def test_gemm(variant, dtype):
    element = "float32" if dtype == "tf32" else dtype  # tf32 is a way to multiply float32
    a, b = (_bfloat16.convert(np.ones(shape), element) for shape in ((45, 70), (70, 37)))
    smemkit.gemm(a, b, variant=variant, backend="sim")
    steps = _core._run_stats()["steps"]
    for model in (True, False):
        c, launches = _core._capture(
            "profile", smemkit.gemm, (a, b), {"variant": variant}, 0, model
        )
        assert (c == 70).all()
        assert launches[-1]["counters"]["instructions.warp"] == steps, "of the last launch"
        for launch in launches:
            check_launch(launch)
