"""What the READMEs show is true: their Python runs, their tables and pictures are not stale."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from read_tables import read_rows
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
    assert "race in transpose: " in done.stdout  # what check finds in a kernel of one's own


@pytest.fixture(scope="module")
def readme():
    """notebooks/readme.py, which makes the tables and pictures."""
    spec = importlib.util.spec_from_file_location("readme", README.parent / "notebooks/readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PATHS = ("smemkit/__init__.py", "README.md", "docs/arrays.md", "docs/shapes.md")
PATHS += ("csrc/README.md", "csrc/kernels/README.md")
STALE = "python -m smemkit dev docs makes it anew"


@pytest.mark.generated
@pytest.mark.parametrize("path", PATHS)
def test_tables_are_not_stale(readme, path):
    text = (README.parent / path).read_text(encoding="utf-8")
    assert readme.fill(path, text) == text, STALE
    assert set(readme.TABLES) == set(PATHS)


def test_the_example_of_arrays_runs():
    text = (README.parent / "docs/arrays.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    found = {}
    exec(example, found)
    assert found["c"][0, 0].item() == 256


def test_readme_names_what_is_refused():
    """The first rows of the table, which people meet first."""
    names = [row["name"] for row in read_rows("ptx/unsupported.def", "SMK_PTX_FEATURE")]
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert f"never skipped: {', '.join(names[:7])}, and others" in text


def test_a_demo_that_differs_by_chance_stays(readme, monkeypatch):
    """Seed and errors differ from run to run; a run that shows anything else replaces the text."""
    text = README.read_text(encoding="utf-8")
    ran = []

    def print_again(arguments):
        ran.append(arguments)
        shown = re.search("<!-- demo -->\n```text\n(.*?)```", text, re.DOTALL)[1]
        return re.sub(r"seed \d+", "seed 7", shown.replace("yes   0.0", "yes   0.1"))

    monkeypatch.setattr(readme, "run_hidden", print_again)
    old = re.search("<!-- demo -->\n(.*?)<!--", text, re.DOTALL)[1]
    assert readme.write_demo(old) == old != readme.write_demo(old.replace("naive ", "simple"))
    assert ran == [["-m", "smemkit", "demo"]] * 2


def test_the_first_example_shows_a_cause_and_a_race(readme):
    """What the README promises in its first sentence: why is it slow, and is it right."""
    text = README.read_text(encoding="utf-8")
    shown = re.search("<!-- example -->\n```text\n(.*?)```", text, re.DOTALL)[1]
    assert "bank conflict" in shown and "race in transpose" in shown and "tile[1][0]" in shown
    assert max(map(len, shown.splitlines())) <= readme.WIDTH
    assert len(readme.read_example(text).splitlines()) < 20


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
    assert README.read_text(encoding="utf-8").count("\n") <= 240


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
