"""What the READMEs show is true: their Python runs, their tables and pictures are not stale."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT

import smemkit
from smemkit import compile

README = ROOT / "README.md"


def test_examples_run(tmp_path):
    if compile.find_nvrtc() is None and compile.find_nvcc() is None:
        pytest.skip("no compiler of CUDA C here; the extra [test] brings one")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
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
    assert "race in reverse: " in done.stdout  # what check finds in a kernel of one's own


@pytest.fixture(scope="module")
def readme():
    """notebooks/readme.py, which makes the tables and pictures."""
    spec = importlib.util.spec_from_file_location("readme", README.parent / "notebooks/readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PATHS = ("README.md", "csrc/README.md", "csrc/kernels/README.md")
STALE = "python -m smemkit dev docs makes it anew"


@pytest.mark.generated
@pytest.mark.parametrize("path", PATHS)
def test_tables_are_not_stale(readme, path):
    text = (README.parent / path).read_text(encoding="utf-8")
    assert readme.fill(path, text) == text, STALE
    assert set(readme.TABLES) == set(PATHS)


def test_a_demo_of_other_variants_is_run_anew(readme, monkeypatch):
    """The rows are compared, and a run that shows other ones is replaced; times may differ."""
    text = README.read_text(encoding="utf-8")
    rows = readme.read_demo(text)
    assert [name for name, _ in rows] == list(smemkit.variants("gemm"))
    old = text.replace(rows[-1][1], "something else")
    assert readme.read_demo(old) != rows
    ran = []

    def run(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, "  sim   here\n  cuda  not here\nrow\n")

    monkeypatch.setattr(readme.subprocess, "run", run)
    new = readme.fill("README.md", old)
    assert "```text\n  sim   here\nrow\n```\n" in new
    assert ran == [[sys.executable, "-m", "smemkit", "demo"]]


@pytest.mark.parametrize("path", PATHS)
def test_links_lead_somewhere(path):
    text = (README.parent / path).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            assert target[1:] in [head.lower().replace(" ", "-") for head in heads], target
        elif not target.startswith("https:"):
            assert (README.parent / path).parent.joinpath(target).exists(), target


def test_readme_is_short():
    assert README.read_text(encoding="utf-8").count("\n") <= 235


@pytest.mark.generated
def test_pictures_are_not_stale(readme):
    pytest.importorskip("matplotlib")
    text = README.read_text(encoding="utf-8")
    for name in readme.DRAWN:
        path = readme.PICTURES / f"{name}.png"
        assert f"(notebooks/pictures/{name}.png)" in text
        assert readme.read_sum(path) == readme.make_figure(name)[1], STALE


def test_step_budget_is_the_simulators():
    header = (README.parent / "csrc/sim/code/run.h").read_text(encoding="utf-8")
    budget = int(re.search(r"SMK_RUN_STEPS_DEFAULT UINT64_C\((\d+)\)", header)[1])
    for text in (README.read_text(encoding="utf-8"), smemkit.__doc__):
        assert re.search(rf"by default {budget:,}\s+for\s+kernels", text, re.IGNORECASE)
