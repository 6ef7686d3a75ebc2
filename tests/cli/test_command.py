"""The command line, as a process: smemkit demo, info, and what the other commands say."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import children

import smemkit
from smemkit import __main__, bench
from smemkit.cli import demo, info

COMMAND = [sys.executable, "-m", "smemkit"]


def run(*arguments, status=0):
    """Standard output of the command, and standard error."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def read_table(output):
    """{variant: {head: cell}} of the demonstration."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("variant "))
    heads = re.split(r"  +", lines[start])
    rows = itertools.takewhile(str.strip, lines[start + 1 :])
    return {row.split()[0]: dict(zip(heads, row.split(), strict=True)) for row in rows}


def test_demo_checks_and_counts_every_variant():
    output, complaints = run("demo", "--seed", "7")
    assert complaints == ""
    rows = read_table(output)
    facts = smemkit.variants("gemm")
    assert list(rows) == [name for name in facts if "float32" in facts[name]["dtypes"]]
    for row in rows.values():
        assert row["right"] == "yes" and float(row["error"]) <= 1
    assert float(rows["column"]["conflicts"]) > 10 > float(rows["column_padded"]["conflicts"]) == 0
    assert float(rows["naive_uncoalesced"]["sectors"]) == 16.5  # a column of a, a word of b
    assert float(rows["tiled"]["sectors"]) == 4
    # Each tile of 32 x 32 reads two strips of 32 x 256 elements.
    assert rows["tiled"]["read [MB]"] == f"{8 * 8 * 2 * 32 * 256 * 4 / 1e6:.1f}"
    recorded = bench.recorded("h200")
    (time,) = (
        row.median_ms
        for row in recorded
        if row.variant == "tiled" and row.shape == (4096,) * 3 and row.dtype == "float32"
    )
    assert rows["tiled"]["H200 [ms]"] == f"{time:.2f}"
    assert f"recorded on an {recorded.provenance['device']}" in output
    assert recorded.provenance["date"][:10] in output
    assert "seed 7" in output
    assert output.endswith("all results are right\n")
    assert max(map(len, output.splitlines())) <= 110


def test_demo_measures_on_a_gpu(monkeypatch, capsys):
    """A machine with a GPU checks on both, and has a column of its own times."""
    both = {name: smemkit.device_info(backend="sim") for name in ("cuda", "sim")}
    both["cuda"]["name"] = "NVIDIA Card"
    gemm, asked, few = smemkit.gemm, [], {"dtypes": ("float32",)}

    def stand_in(a, b, *, variant, backend):
        asked.append(backend)
        return gemm(a, b, variant=variant, backend="sim")

    def measure(family, variants, shapes, **_):
        one = bench.recorded("h200", part="variants")
        return [row for row in one if row.variant != "naive" and row.shape == (shapes,) * 3]

    monkeypatch.setattr(demo, "find_machines", lambda: (both, {}))
    monkeypatch.setattr(smemkit, "gemm", stand_in)
    monkeypatch.setattr(bench, "run", measure)
    monkeypatch.setattr(smemkit, "variants", lambda family: dict.fromkeys(("naive", "tiled"), few))
    assert demo.run(seed=1) == 0
    output = capsys.readouterr().out
    rows = read_table(output)
    assert rows["naive"]["here [ms]"] == "-"
    assert rows["tiled"]["here [ms]"] == rows["tiled"]["H200 [ms]"]
    assert "GPU: NVIDIA Card, compute capability" in output
    assert "measured now on the NVIDIA Card" in output
    assert set(asked) == {"cuda", "sim"}


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
@pytest.mark.parametrize(
    "words",
    ["check gemm --shape 4,4,4", "profile gemm --shape 4,4,4", "variants gemm", "info", "--help"],
)
def test_closed_output(words, closed):
    line = f'"$0" -m smemkit {words} {closed}'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, smemkit.InterruptedError])
def test_interrupted(monkeypatch, capsys, kind):
    def stop(seed):
        raise kind

    monkeypatch.setattr(demo, "run", stop)
    assert __main__.main(["demo"]) == 130
    assert capsys.readouterr() == ("", "smemkit: interrupted\n")


def test_demo_says_where_a_result_is_wrong(monkeypatch, capsys):
    gemm = smemkit.gemm

    def spoil(a, b, *, variant, backend):
        c = gemm(a, b, variant=variant, backend=backend)
        if variant == "padded":
            c[-1, -1] = float("nan")
        return c

    monkeypatch.setattr(smemkit, "gemm", spoil)
    assert demo.run(seed=1) == 1
    output = capsys.readouterr().out
    assert re.findall(r"^(\w+) .* NO: ", output, re.MULTILINE) == ["padded"]
    assert output.endswith("SOME RESULTS ARE WRONG\n")


def test_info_is_short(cuda_missing):
    output, complaints = run("info")
    assert complaints == ""
    assert output.startswith(f"smemkit {smemkit.__version__} with ")
    assert output.count("\n") <= 5 and "cudaError" not in output
    if cuda_missing is not None:
        assert "\nno GPU here (" in output
    assert "smemkit info -v" in output


def test_details_of_info_name_the_machines():
    output, complaints = run("info", "-v")
    assert complaints == ""
    assert re.search(rf"^smemkit +{re.escape(smemkit.__version__)}$", output, re.MULTILINE)
    assert "\nsim:\n" in output and "\ncuda:" in output
    assert re.search(r"^  warp_lanes +32$", output, re.MULTILINE)


@pytest.mark.parametrize("words", [["info"], ["info", "-v"]])
def test_info_where_the_chosen_machine_is_missing(monkeypatch, capsys, cuda_missing, words):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    monkeypatch.setenv("SMEMKIT_BACKEND", "cuda")
    assert __main__.main(words) == 0
    assert "SMEMKIT_BACKEND" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("nvrtc", "nvcc", "words"),
    [
        ("not found", "not found", "pip install"),
        (str(Path(__file__)), "not found", "compiled by NVRTC"),
        ("not found", str(Path(__file__)), "compiled by nvcc"),
        (str(Path(__file__)), "SMEMKIT_NVCC is wrong", "compiled by NVRTC; SMEMKIT_NVCC is wrong"),
    ],
)
def test_info_names_the_compiler(nvrtc, nvcc, words):
    assert words in info.describe_compilers({"nvrtc": nvrtc, "nvcc": nvcc})


def test_version():
    assert run("--version")[0] == f"smemkit {smemkit.__version__}\n"


def test_python_without_docstrings_runs_commands():
    command = [sys.executable, "-OO", *COMMAND[1:], "bench", "dot", "--sizes", "64", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert '"protocol": ""' in done.stdout and done.stderr == ""


def test_no_command_is_a_usage_error():
    assert "usage: smemkit" in run(status=2)[1]
    assert run("fly", status=2)[1].startswith("smemkit: argument COMMAND: invalid choice: 'fly'")
    assert "0 or more is needed, not -1" in run("demo", "--seed", "-1", status=2)[1]
    assert "no kernel family 'gem'" in run("variants", "gem", status=2)[1]


def test_a_reader_that_leaves_early():
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with children.started([*COMMAND, "info"], **pipes) as process:
        process.stdout.close()
        complaints = process.stderr.read()
        assert process.wait(timeout=60) == 1
    assert complaints == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_output_that_is_full():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "variants"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (2, "smemkit: No space left on device\n")


def test_letters_that_the_terminal_lacks():
    done = subprocess.run(
        [*COMMAND, "variants", "größe"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"'gr\\xf6\\xdfe'" in done.stderr


def test_a_file_whose_name_is_no_text(tmp_path, capsys):
    path = os.fsdecode(os.fsencode(tmp_path / "kernel") + b"\xff.ptx")
    assert __main__.main(["check", path]) == 2
    assert "there is no file" in capsys.readouterr().err
    Path(path).write_text(".version 99.0")
    assert __main__.main(["check", path, "--grid", "1", "--block", "1"]) == 2
    assert "the newest that is known is 9.0" in capsys.readouterr().err


def test_commands_that_need_a_gpu(tmp_path, cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    assert "looking for a GPU" in run("record", "--out", str(tmp_path / "new"), status=2)[1]
    assert not (tmp_path / "new").exists()
    assert "needs a GPU" in run("bench", "--peers", status=2)[1]
    assert "needs a GPU" in run("bench", "gemm", "--peers", status=2)[1]


def test_every_command_has_help(capsys):
    output = run("--help")[0]
    commands = re.findall(r"^    (\w+) ", output, re.MULTILINE)
    assert {"bench", "plot", "record", "profile", "check"} <= set(commands)
    for name in commands:  # here: a process for each takes long
        with pytest.raises(SystemExit) as ended:
            __main__.main([name, "--help"])
        assert ended.value.code == 0
        assert f"usage: smemkit {name}" in capsys.readouterr().out
