"""The page on CI: its example is what it says, and the steps of its workflow run."""

import functools
import re
import shlex
import sys

import pytest
import yaml
from support.paths import ROOT

from smemkit import compile
from smemkit.__main__ import main

PAGE = ROOT / "docs/ci.md"
needs_compiler = pytest.mark.skipif(
    compile.find_nvrtc() is None and compile.find_nvcc() is None,
    reason="no compiler of CUDA C here; the extra [test] brings one",
)


@functools.cache
def read_files():
    """{path: text} of the files that the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"`([\w./]+)`[^`\n]*:\n\n```\w+\n(.*?)```", text, re.DOTALL)
    return dict(blocks)


def list_steps():
    """The commands of the workflow."""
    name = ".github/workflows/kernels.yml"
    (job,) = yaml.safe_load(read_files()[name])["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The present folder, with the example in it."""
    for name, text in read_files().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMEMKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def find_update():
    return re.search(r"```sh\nsmemkit (profile .*--update)\n", PAGE.read_text(encoding="utf-8"))[1]


def test_the_page_has_a_file_for_each_name():
    assert sorted(read_files()) == [
        ".github/workflows/kernels.yml",
        "kernels/smemkit.toml",
        "kernels/total.cu",
        "kernels/transpose.cu",
        "tests/test_kernels.py",
    ]


@needs_compiler
def test_the_steps_of_the_workflow(repository, capsys):
    """All but pip's; of the mutants, that there are some."""
    install, check, profile, tests, mutate = list_steps()
    assert install == 'python -m pip install "smemkit[nvrtc]" pytest'
    assert main(shlex.split(find_update())) == 0
    for step in (check, profile):
        words = shlex.split(step)
        assert words[0] == "smemkit" and main(words[1:]) == 0, capsys.readouterr()
    files = [f"kernels/{name}.cu" for name in ("total", "transpose")]
    before, _, behind = mutate.partition(" -- ")
    assert tests.startswith(behind.removesuffix(" tests"))  # the same tests
    words = shlex.split(before.replace("kernels/*.cu", " ".join(files)))[1:]
    command = [sys.executable, "-m", *shlex.split(tests)]
    assert main([*words, "--list", "--", *command]) == 0  # which runs the tests once
    said = capsys.readouterr().out
    assert "kernels/total.cu:10  barrier: bar.sync removed" in said
    assert "kernels/total.cu:13  atomic: atom.global.add.f32 made plain" in said
    assert {path.name for path in repository.glob("*.*")} >= {"check.xml", "check.sarif"}
    assert (repository / "profile.xml").exists()


@needs_compiler
def test_a_pad_that_is_taken_away(repository, capsys):
    """The table of the page is what the command prints."""
    assert main(shlex.split(find_update())) == 0
    file = repository / "kernels/transpose.cu"
    file.write_text(file.read_text().replace("[33]", "[32]"))
    capsys.readouterr()
    assert main(shlex.split(list_steps()[2])[1:]) == 1
    said = capsys.readouterr().out
    page = PAGE.read_text(encoding="utf-8")
    assert re.search(r"```text\n(wrong   transpose.cu\n.*?)```", page, re.DOTALL)[1] == said
