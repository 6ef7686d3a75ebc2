"""What the README shows is true: its Python runs, and its table is that of the variants."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from smemkit import compile

README = Path(__file__).resolve().parents[1] / "README.md"


def test_examples_run(tmp_path):
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler of CUDA C here; the extra [test] brings one")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"SMEMKIT_BACKEND": "sim"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "extern" in done.stdout  # the source of a kernel
    assert ".visible .entry gemm_tiled_float32(" in done.stdout
    fault = done.stdout.rsplit("max_threads_per_block", 1)[1]
    assert re.search(r"^add_one \d+ \([78], 0, 0\) \(\d+, 0, 0\)$", fault, re.MULTILINE), fault


@pytest.fixture(scope="module")
def readme():
    """notebooks/readme.py, which makes the tables and pictures."""
    spec = importlib.util.spec_from_file_location("readme", README.parent / "notebooks/readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.generated
def test_tables_are_not_stale(readme):
    text = README.read_text(encoding="utf-8")
    assert readme.fill(text) == text, "python -m smemkit dev docs makes them anew"


@pytest.mark.generated
def test_pictures_are_not_stale(readme):
    pytest.importorskip("matplotlib")
    text = README.read_text(encoding="utf-8")
    for name in readme.DRAWN:
        path = readme.PICTURES / f"{name}.png"
        assert f"(notebooks/pictures/{name}.png)" in text
        assert readme.read_sum(path) == readme.make_figure(name)[1], (
            "python -m smemkit dev docs makes them anew"
        )


def test_step_budget_is_the_simulators():
    header = (README.parent / "csrc/sim/sim.h").read_text(encoding="utf-8")
    budget = int(re.search(r"SMK_RUN_STEPS_DEFAULT UINT64_C\((\d+)\)", header)[1])
    assert f"by default {budget:,} for kernels" in README.read_text(encoding="utf-8")
