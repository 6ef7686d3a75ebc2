"""The command exercise."""

import io

import pytest

import smemkit
from smemkit import compile
from smemkit.__main__ import main

compiled = pytest.mark.skipif(
    not (compile.find_nvrtc() or compile.find_nvcc()), reason="no compiler of CUDA C: [nvrtc]"
)


def test_lists(capsys):
    assert main(["exercise"]) == 0
    assert capsys.readouterr().out == f"{smemkit.exercises()}\n"


@compiled
def test_what_it_prints_can_be_judged(tmp_path, capsys):
    assert main(["exercise", "tour.guard"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("// tour.guard: a guard for the last block\n//\n// `twice` doubles")
    path = tmp_path / "mine.cu"
    path.write_text(text)
    assert main(["exercise", "tour.guard", str(path)]) == 1
    out = capsys.readouterr().out
    line = 1 + text.splitlines().index("    y[i] = 2 * x[i];")
    assert f"line {line}: y[i] = 2 * x[i];" in out
    assert "smemkit exercise tour.guard --hint 1 gives a hint" in out and ".hint()" not in out
    path.write_text(text.replace("y[i] =", "if (i < n) y[i] ="))
    assert main(["exercise", "tour.guard", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("tour.guard: solved\n") and out.endswith(
        "--solution shows one way to do it.\n"
    )


@compiled
def test_standard_input(monkeypatch, capsys):
    assert main(["exercise", "tour.guard", "--solution"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(capsys.readouterr().out))
    assert main(["exercise", "tour.guard", "-"]) == 0


def test_hints(capsys):
    assert main(["exercise", "gemm.tile", "--hint", "2"]) == 0
    assert capsys.readouterr().out.startswith("Hint 2 of 3: ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--hint", "1"], "need the name of an exercise"),
        (["--solution"], "need the name of an exercise"),
        (["tour.gard"], "did you mean tour.guard"),
        (["nothing"], "smemkit exercise lists them"),
        (["tour.guard", "--hint", "0"], "tour.guard has hints 1 to 2"),
        (["tour.guard", "--hint", "3"], "tour.guard has hints 1 to 2"),
        (["tour.guard", "mine.cu", "--solution"], "leave the file out"),
        (["tour.guard", "mine.cu", "--hint", "1"], "leave the file out"),
    ],
)
def test_refused(words, says, capsys):
    assert main(["exercise", *words]) == 2
    assert says in capsys.readouterr().err


def test_a_file_that_is_not_there(capsys):
    assert main(["exercise", "tour.guard", "/nowhere/mine.cu"]) == 2
    assert "/nowhere/mine.cu" in capsys.readouterr().err
