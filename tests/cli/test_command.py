"""The command line, as a process: smemkit demo, info, and what the other commands say."""

import re
import subprocess
import sys

import pytest
from support import children

import smemkit

COMMAND = [sys.executable, "-m", "smemkit"]


def run(*arguments, status=0):
    """Standard output of the command, and standard error."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def test_demo_checks_every_variant():
    output, complaints = run("demo", "--seed", "7")
    assert complaints == ""
    for variant, facts in smemkit.variants("gemm").items():
        line = re.search(
            rf"^{variant} +(sim|cuda) +(\d+\.\d\d) +(\d\.\d\d)  (.*)$", output, re.MULTILINE
        )
        assert line, output
        assert float(line[3]) <= 1
        assert line[4] == facts["shows"]
    assert "(seed 7)" in output
    assert output.endswith("all results are right\n")


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
    from smemkit import __main__
    from smemkit.cli import demo

    def stop(seed):
        raise kind

    monkeypatch.setattr(demo, "run", stop)
    assert __main__.main(["demo"]) == 130
    assert capsys.readouterr() == ("", "smemkit: interrupted\n")


def test_demo_says_where_a_result_is_wrong(monkeypatch, capsys):
    from smemkit.cli import demo

    gemm = smemkit.gemm

    def spoil(a, b, *, variant, backend):
        c = gemm(a, b, variant=variant, backend=backend)
        if variant == "padded":
            c[-1, -1] = float("nan")
        return c

    monkeypatch.setattr(smemkit, "gemm", spoil)
    assert demo.run(seed=1) == 1
    output = capsys.readouterr().out
    assert len(re.findall(r"^padded .* WRONG ", output, re.MULTILINE)) == output.count("WRONG ") > 0
    assert output.endswith("SOME RESULTS ARE WRONG\n")


def test_info_names_the_machines():
    output, complaints = run("info")
    assert complaints == ""
    assert re.search(rf"^smemkit +{re.escape(smemkit.__version__)}$", output, re.MULTILINE)
    assert "\nsim:\n" in output and "\ncuda:" in output
    assert re.search(r"^  warp_lanes +32$", output, re.MULTILINE)


def test_version():
    assert run("--version")[0] == f"smemkit {smemkit.__version__}\n"


def test_no_command_is_a_usage_error():
    assert "usage: smemkit" in run(status=2)[1]


def test_a_reader_that_leaves_early():
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with children.started([*COMMAND, "info"], **pipes) as process:
        process.stdout.close()
        complaints = process.stderr.read()
        assert process.wait(timeout=60) == 1
    assert complaints == ""


def test_commands_that_need_a_gpu(tmp_path, cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    assert "looking for a GPU" in run("record", "--out", str(tmp_path / "new"), status=1)[1]
    assert not (tmp_path / "new").exists()
    assert "needs a GPU" in run("bench", "--peers", status=1)[1]
    assert "needs a GPU" in run("bench", "gemm", "--peers", status=1)[1]


def test_every_command_has_help():
    output = run("--help")[0]
    commands = re.search(r"\{([\w,]+)\}", output)[1].split(",")
    assert {"bench", "plot", "record", "profile", "check"} <= set(commands)
    for name in commands:
        assert f"usage: smemkit {name}" in run(name, "--help")[0]
