"""The command dev: what each task runs, what it needs, and that it works in a clone only."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import leave_out_pytest
from support.paths import ROOT

from smemkit import __main__
from smemkit.cli import dev


class Calls(list):
    """(words of the command, folder, variables) of what a task would run; each ends with status."""

    status = 0

    def __call__(self, command, folder=None, **variables):
        self.append(([str(word) for word in command], folder, variables))
        return self.status


@pytest.fixture
def docs_modules():
    """What the documents are made by; [test] brings it, and other environments may lack it."""
    for name in ("jupytext", "nbclient", "matplotlib"):
        pytest.importorskip(name)


@pytest.fixture
def calls(monkeypatch):
    found = Calls()
    monkeypatch.setattr(dev, "ROOT", ROOT)  # also where an installed smemkit is tested
    monkeypatch.setattr(dev, "call", found)
    return found


def run(*words):
    return __main__.main(["dev", *words])


def fail(capsys, *words, status=2):
    """What the command says as it fails."""
    assert run(*words) == status
    out, complaint = capsys.readouterr()
    assert out == ""
    return complaint


def test_arguments_of_test_go_to_pytest(calls):
    assert run("test", "-k", "gemm and padded", "-x", "--", "tests/kernels/test_gemm.py") == 0
    ((words, _, _),) = calls
    assert words[1:4] == ["-m", "pytest", "-k"]
    assert words[4:] == ["gemm and padded", "-x", "--", "tests/kernels/test_gemm.py"]


@pytest.mark.parametrize("task", dev.RUN)
def test_outside_of_a_clone(task, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    complaint = fail(capsys, task)
    assert complaint == (
        "smemkit: dev works in a clone of the repository only, and this smemkit is installed in "
        f"{tmp_path}: change to the clone and run: python -m smemkit dev {task}\n"
    )


def test_a_real_task_runs_in_the_clone(monkeypatch, capfd):
    monkeypatch.setattr(dev, "ROOT", ROOT)
    for name, words in leave_out_pytest().items():
        monkeypatch.setenv(name, words)
    assert run("test", "--version") == 0
    assert re.search(r"^pytest \d", capfd.readouterr().out, re.MULTILINE)
    assert run("test", "--co", "-q", "tests/no_such_file.py") == 4


def test_what_is_not_installed(calls, monkeypatch, capsys):
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: None)
    for words in (["test"], ["sanitize"], ["docs"], ["docs", "--check"], ["site"]):
        assert re.match(rf"smemkit: dev {words[0]} needs .*: pip install", fail(capsys, *words))
    assert calls == []


def test_unknown_task(capsys):
    assert "invalid choice: 'tset'" in fail(capsys, "tset", status=2)


# sanitize ----------------------------------------------------------------------------------------


def make_clone(folder):
    """A clone of a few files, with an object that was compiled."""
    for name in ("setup.py", "csrc/a.c", "csrc/old/b.c", "tests/test_a.py", "notebooks/a.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "build/temp.x").mkdir(parents=True)
    (folder / "build/temp.x/a.o").write_text("object")


def test_sanitize_builds_a_copy_and_tests_it(calls, tmp_path, monkeypatch):
    make_clone(tmp_path)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "find_sanitizers", lambda: "/lib/libasan.so /lib/libubsan.so")
    assert run("sanitize", "-k", "gemm") == 0
    copy = tmp_path / "build" / "sanitize"
    (build, built_in, flags), (test, tested_in, variables) = calls
    assert build[1:] == ["setup.py", "build_ext", "--inplace"]
    assert flags == {"SMEMKIT_SANITIZE": "address,undefined"}
    assert test[1:] == ["-m", "pytest", "-k", "gemm"]
    assert built_in == tested_in == copy
    assert variables["LD_PRELOAD"] == "/lib/libasan.so /lib/libubsan.so"
    assert "allocator_may_return_null=1" in variables["ASAN_OPTIONS"]
    assert (copy / "csrc/a.c").read_text() == "csrc/a.c"
    assert (copy / "build/temp.x/a.o").read_text() == "object"


def test_sanitize_follows_the_clone(tmp_path, monkeypatch):
    make_clone(tmp_path)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    copy = tmp_path / "build" / "sanitize"
    dev.copy_clone(copy)
    os.utime(copy / "csrc/a.c", (1, 1))
    (copy / "smemkit").mkdir()
    (copy / "csrc/made.so").write_text("made there")
    shutil.rmtree(tmp_path / "csrc/old")
    (tmp_path / "tests/test_a.py").write_text("changed")
    dev.copy_clone(copy)
    assert (copy / "csrc/a.c").stat().st_mtime == 1  # not touched: not compiled again
    assert (copy / "tests/test_a.py").read_text() == "changed"
    assert not (copy / "csrc/old").exists()
    assert (copy / "csrc/made.so").exists()


def test_sanitize_stops_where_the_build_fails(calls, tmp_path, monkeypatch):
    make_clone(tmp_path)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "find_sanitizers", lambda: "")
    calls.status = 3
    assert run("sanitize") == 3
    assert len(calls) == 1


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_sanitizers_are_found(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CC", "gcc -pthread")
    assert all(Path(path).is_absolute() for path in dev.find_sanitizers().split())
    poor = tmp_path / "poor"
    poor.write_text("#!/bin/sh\necho ${1#*=}\n")  # as a gcc without these libraries answers
    poor.chmod(0o755)
    monkeypatch.setenv("CC", str(poor))
    monkeypatch.setattr(dev, "ROOT", ROOT)
    assert fail(capsys, "sanitize") == (
        f"smemkit: dev sanitize needs libasan.so, which {poor} does not have\n"
    )


# fuzz --------------------------------------------------------------------------------------------


def test_fuzz_kernels_runs_a_case(monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(dev, "ROOT", ROOT)
    words = ["--count", "1", "--seed", "3", "--kind", "generated", "--out", str(tmp_path)]
    assert run("fuzz", "kernels", *words) == 0
    assert "1 cases" in capfd.readouterr().out


def test_fuzz_ptx(calls, tmp_path, monkeypatch):
    make_clone(tmp_path)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert run("fuzz", "ptx", "-max_total_time=5") == 0
    (build, _, _), (fuzz, _, _) = calls
    assert build == ["tests/fuzz/build.sh", str(tmp_path / "build/fuzz_ptx")]
    assert fuzz[0] == build[1] and (ROOT / build[0]).exists()
    times = [word for word in fuzz if word.startswith("-max_total_time=")]
    assert times[-1] == "-max_total_time=5"
    assert fuzz[-2:] == [str(tmp_path / "build/corpus"), "tests/fuzz/corpus"]
    assert (tmp_path / "build/corpus").is_dir() and (ROOT / fuzz[-1]).is_dir()


def test_fuzz_says_what_it_takes_and_needs(calls, monkeypatch, capsys):
    for words in ([], ["gemm"]):
        assert "dev fuzz takes one of kernels, ptx" in fail(capsys, "fuzz", *words, status=2)
    assert "dev takes one of test, sanitize" in fail(capsys, status=2)
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    assert "dev fuzz ptx needs clang" in fail(capsys, "fuzz", "ptx")
    assert calls == []


# docs --------------------------------------------------------------------------------------------


def test_docs_makes_every_generated_text(calls, docs_modules):
    assert run("docs") == 0
    programs = ["csrc/write_stubs.py", "notebooks/readme.py", "notebooks/build.py"]
    assert [words[1] for words, _, _ in calls] == programs
    assert all((ROOT / words[1]).exists() for words, _, _ in calls)


def test_docs_ends_with_the_first_failure(calls, docs_modules):
    calls.status = 1
    assert run("docs") == 1
    assert len(calls) == 1


def check_collected(words, *names):
    """pytest with these words collects tests whose names have these.

    Only of the files that have one of the words' marks: to read all takes long.
    """
    marks = [f"mark.{name}" for name in words[-1].split(" or ")]
    files = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        files += [str(path)] if any(mark in text for mark in marks) else []
    done = subprocess.run(
        [sys.executable, *words[1:], "--collect-only", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    for name in names:
        assert name in done.stdout, done.stdout + done.stderr


def test_docs_check_runs_the_tests_of_generated_texts(calls, docs_modules):
    assert run("docs", "--check") == 0
    ((words, _, _),) = calls
    assert words[-2:] == ["-m", "generated"]
    check_collected(words, "test_tables_are_not_stale", "test_runs_and_prints", "test_stub.py")


# site --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--links"], ["--words"]])
def test_site_runs_its_program(words, calls, monkeypatch):
    monkeypatch.setattr(dev, "demand_modules", lambda task, *names, extra: None)
    assert run("site", *words) == 0
    (((_, program, *rest), _, _),) = calls
    assert program == "docs/build.py" and rest == words and (ROOT / program).exists()


# release -----------------------------------------------------------------------------------------


def test_release_runs_what_a_release_needs(calls, docs_modules):
    assert run("release", "-x") == 0
    ((words, _, _),) = calls
    assert words[-4:] == ["--release", "-m", "release or generated", "-x"]
    check_collected(
        words[:-1], "test_record_holds_every_kernel", "test_every_variant_is_timed", "are_not_stale"
    )


def test_documents_name_tasks_that_exist():
    texts = [ROOT / "README.md", ROOT / "csrc/README.md"]
    texts += [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    found = set()
    for path in texts:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        found |= set(re.findall(r"-m smemkit dev (\w+)", text))
    assert found <= dev.RUN.keys()
    assert "docs" in found
