"""Programs that call the CUDA driver or runtime by name, and the libraries for Python that do."""

import json
import subprocess
import sys

import pytest
from support.numba_here import find_obstacle
from support.paths import ROOT, TESTS

SCRIPT = TESTS / "programs" / "driver_script.py"


def run(*words):
    """The finished `smemkit run ...`."""
    return subprocess.run(
        [sys.executable, "-m", "smemkit", "run", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_script_that_calls_the_driver():
    done = run(sys.executable, SCRIPT)
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr


def test_a_script_that_calls_the_runtime():
    done = run(sys.executable, SCRIPT.with_name("runtime_script.py"))
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr
    assert done.stderr == ""


def test_a_fault_of_a_script_is_found(tmp_path):
    report = tmp_path / "report.json"
    done = run("--check", "--json", report, sys.executable, SCRIPT, "fault")
    assert done.returncode == 1 and done.stdout == "right\n", done.stdout + done.stderr
    findings = json.loads(report.read_text())["findings"]
    assert [finding["kind"] for finding in findings] == ["out_of_bounds"]
    assert findings[0]["kernel"] == "advance"


@pytest.mark.slow
@pytest.mark.skipif(find_obstacle() is not None, reason=str(find_obstacle()))
def test_a_script_of_numba(tmp_path):
    script = tmp_path / "reverse.py"
    script.write_text(
        "import numpy as np\nfrom numba import cuda\n\n"
        "@cuda.jit\ndef reverse(a, out):\n"
        "    tile = cuda.shared.array(64, 'float32')\n    t = cuda.threadIdx.x\n"
        "    tile[t] = a[cuda.grid(1)]\n    cuda.syncthreads()\n"
        "    out[cuda.grid(1)] = tile[63 - t]\n\n"
        "a = np.arange(256, dtype='float32')\nout = np.zeros_like(a)\nreverse[4, 64](a, out)\n"
        "assert (out.reshape(4, 64) == a.reshape(4, 64)[:, ::-1]).all()\nprint('right')\n"
    )
    done = run("--check", sys.executable, "-W", "ignore", script)
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr
