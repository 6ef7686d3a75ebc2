"""What the command line says of near misses, and what two reports may be judged by."""

import pytest

import smemkit
from smemkit.__main__ import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["profil", "gemm"], "did you mean profile"),
        (["profile", "gemm", "--varient", "tiled"], "did you mean --variant"),
        (["profile", "gem"], "did you mean gemm?"),
        (["occupancy", "gemm/tield"], "did you mean gemm/tiled?"),
        (["occupancy", "gemm/tiled", "--device", "86"], "--device '86'"),
        (["occupancy", "gemm/tiled", "--device", "86"], "did you mean '8.6'?"),
        (["occupancy", "gemm/tiled", "--device", "sm_86"], "did you mean '8.6'?"),
        (["occupancy", "gemm/tiled", "--device", "8,6"], "did you mean '8.6'?"),
        (["occupancy", "gemm/tiled", "--device", "3060"], "did you mean 'RTX 3060"),
        (["occupancy", "gemm/tiled", "--block", "4096"], "4,096 threads; a block has 1,024"),
        (["compare", "--fail-on", "worse"], "two reports"),
        (["profile", "gemm/tiled", "--variant", "naive"], "name two variants"),
        (["profile", "x.cu", "--grid", "1", "--block", "1"], "there is no file x.cu"),
    ],
)
def test_a_near_miss_is_named(words, said, capsys):
    assert main(words) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.count("\n") == 1


def test_profile_and_check_take_a_kernel_as_occupancy_does(capsys):
    for verb in ("profile", "check"):
        assert main([verb, "gemm/tiled", "--shape", "32"]) == 0
        assert "gemm_tiled_float32" in capsys.readouterr().out


def test_compare_fails_on_worse_counters(tmp_path, capsys):
    files = {name: str(tmp_path / f"{name}.json") for name in ("column", "column_padded")}
    for name, path in files.items():
        assert main(["profile", f"gemm/{name}", "--shape", "32", "--save", path]) == 0
    good, bad = files["column_padded"], files["column"]
    assert main(["compare", good, bad]) == 0
    capsys.readouterr()
    assert main(["compare", good, bad, "--fail-on", "worse"]) == 1
    assert "failed on worse: shared.load.conflicts was 0 and is " in capsys.readouterr().err
    assert main(["compare", good, good, "--fail-on", "worse"]) == 0
    found = str(tmp_path / "found.json")
    for option in ("--save", "--json"):
        assert main(["check", "gemm/tiled", "--shape", "32", option, found]) == 0
        capsys.readouterr()
        assert main(["compare", good, found]) == 2
        complaint = capsys.readouterr().err
        assert "no counters to compare" in complaint and "--save" not in complaint


def test_a_bool_is_0_or_1(tmp_path, capsys):
    path = tmp_path / "k.ptx"
    path.write_text("")
    words = ["profile", str(path), "--grid", "1", "--block", "1", "--arg"]
    assert main([*words, "bool=2"]) == 2
    assert "2 is not a bool, which is 0 or 1" in capsys.readouterr().err


def test_a_report_is_saved_to_no_folder(tmp_path):
    import numpy

    a = numpy.ones((32, 32), dtype="float32")
    report = smemkit.profile(smemkit.gemm, a, a, backend="sim")
    with pytest.raises(FileNotFoundError) as caught:
        report.save(tmp_path / "none" / "a.html")
    assert caught.value.filename == str(tmp_path / "none" / "a.html")
    assert ".part" not in str(caught.value)


def test_results_print_as_the_table():
    results = smemkit.bench.recorded("h200").select(family="transpose")
    assert results[0] is results.rows[0]
    lines = str(results).splitlines()
    assert len(lines) == 1 + len(results) and results[0].variant in lines[1] and "[us]" in lines[0]
    assert repr(results) == f"<Results of {len(results)} measurements: NVIDIA H200>"
    counted = smemkit.bench.run("transpose", shapes=(64, 64), backend="sim")
    assert "conflicts" in str(counted).splitlines()[0] and len(str(counted)) < 2000
