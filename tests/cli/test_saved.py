"""--save of profile, check and compare, and the comparison of two saved reports."""

import json

import pytest
from support.small_kernels import STRIDE

import smemkit
from smemkit.__main__ import main


@pytest.fixture
def stride(tmp_path):
    path = tmp_path / "stride.ptx"
    path.write_text(STRIDE)
    return str(path)


def run_stride(path, *more, verb="profile", step="32"):
    sizes = ["--grid", "1", "--block", "32"]
    return main([verb, path, *sizes, "--arg", "int32[32]", "--arg", step, *more])


def test_profile_is_saved_both_ways(stride, tmp_path, capsys):
    page, data = tmp_path / "a.html", tmp_path / "a.json"
    assert run_stride(stride, "--save", str(page), "--save", str(data)) == 0
    report = smemkit.load_report(data)
    assert capsys.readouterr().out == f"{report}\n"
    assert page.read_text(encoding="utf-8") == report.to_html()


def test_check_is_saved(stride, tmp_path, capsys):
    data = tmp_path / "a.json"
    assert run_stride(stride, "--save", str(data), verb="check") == 0
    assert bool(smemkit.load_report(data))


def test_a_wrong_ending_is_told_before_the_kernel_runs(tmp_path, capsys):
    for verb in ("profile", "check"):
        assert main([verb, str(tmp_path / "missing.cu"), "--save", "x.txt"]) == 2
        assert ".html" in capsys.readouterr().err


def test_two_saved_reports_are_compared(stride, tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("before.json", "after.json")]
    assert run_stride(stride, "--save", paths[0]) == 0
    assert run_stride(stride, "--save", paths[1], step="1") == 0
    capsys.readouterr()
    page, data = tmp_path / "c.html", tmp_path / "c.json"
    assert main(["compare", *paths, "--save", str(page), "--save", str(data)]) == 0
    output = capsys.readouterr().out
    assert "Against before, after has no bank conflicts" in output
    compared = smemkit.load_report(data)
    assert output == f"{compared}\n" and compared.names == ("before", "after")
    assert page.read_text(encoding="utf-8") == compared.to_html()


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["A"], 2, "two reports are compared, not 1"),
        (["A", "A", "A"], 2, "not 3"),
        (["A", "C"], 2, "is a report of `smemkit check`, which has no counters"),
        (["A", "A", "--family", "gemm"], 2, "--family belongs to counts of Nsight Compute"),
        (["A", "A", "--save", "x.pdf"], 2, ".html"),
        (["A", "missing.json"], 2, "missing.json"),
        (["A", "B"], 2, "is not JSON"),
        (["--save", "x.html"], 2, "--save keeps the comparison of two reports"),
    ],
)
def test_what_cannot_be_compared(words, status, said, stride, tmp_path, capsys):
    paths = {name: str(tmp_path / f"{name}.json") for name in "ABC"}
    run_stride(stride, "--save", paths["A"])
    run_stride(stride, "--save", paths["C"], verb="check")
    (tmp_path / "B.json").write_text(json.dumps({})[:1])
    capsys.readouterr()
    assert main(["compare", *(paths.get(word, word) for word in words)]) == status
    assert said in capsys.readouterr().err
