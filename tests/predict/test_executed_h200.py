"""Executed machine instructions against those that Nsight Compute counted on an H200.

executed_h200.json has, for kernels of the package at one size and for kernels of
tests/hardware/counts, what `ncu --metrics smsp__inst_executed.sum` and the like printed
for images that ptxas 13.0 made for sm_90. A kernel that has changed since is skipped by its name.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hardware.counts.count_cases import CASES
from support import disassemble

import smemkit
from smemkit.predict import carried, executed, machine_code

ROWS = json.loads(Path(__file__).with_name("executed_h200.json").read_text())["rows"]
OWN = [row for row in ROWS if "n" in row]
OTHERS = [row for row in ROWS if "case" in row]
CLOSE = 0.012  # most are equal; what is left comes of warps whose lanes part


def profile(row):
    """The counted launch of a row."""
    if "case" in row:
        case = next(
            case for case in CASES if (case.name, case.label) == (row["kernel"], row["case"])
        )
        launch, kernel = case.make(), smemkit.RawKernel(case.ptx, case.entry)
        arguments = (launch.grid, launch.block, launch.args)
        report = smemkit.profile(
            lambda: kernel(*arguments, shared_mem=launch.shared, backend="sim")
        )
    else:
        family, _, rest = row["kernel"].partition("_")
        variant = rest.removesuffix("_float32").removesuffix("_bits32")
        a = np.ones((row["n"], row["n"]), np.float32)
        function = getattr(smemkit, family)
        report = smemkit.profile(function, *[a] * row["arrays"], variant=variant)
    (launch,) = report._captured
    assert launch["kernel"] == row["kernel"]
    return launch


def compare(row, launch, code):
    found = executed.map_counts(code, launch["instructions"])
    assert found.issue_slots == pytest.approx(row["inst_executed"], rel=CLOSE)
    assert found.residual < 0.01
    kinds = found.by_class
    assert kinds["alu"] + kinds.get("vote", 0) == pytest.approx(row["alu"], rel=CLOSE)
    assert kinds["imad"] + kinds.get("fma", 0) == pytest.approx(row["fma"], rel=CLOSE)


@pytest.mark.parametrize("row", OWN, ids=[row["kernel"] for row in OWN])
def test_kernels_of_the_package_execute_what_the_gpu_did(row):
    launch = profile(row)
    code = carried.find(launch["ptx"], launch["kernel"], "90")
    if code is None:
        pytest.skip("the kernel has changed since Nsight Compute counted it")
    compare(row, launch, code)


@pytest.mark.parametrize("row", OTHERS[:1], ids=[row["kernel"] for row in OTHERS[:1]])
def test_other_kernels_execute_what_the_gpu_did(row):
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")
    launch = profile(row)
    compare(row, launch, machine_code.load(launch["ptx"], launch["kernel"], "90"))
