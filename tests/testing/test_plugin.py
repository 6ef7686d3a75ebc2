"""The plugin smemkit.testing in runs of pytest of its own: what passes, fails, and is said."""

import importlib
import os
import re
import subprocess
import sys

import pytest

from smemkit import _core, compile

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.skipif(
    not (compile.find_nvrtc() or compile.find_nvcc()), reason="no compiler here"
)

# The extension keeps the function of this module that it has called once: runs of pytest in this
# process must not import the module anew.
importlib.import_module("smemkit._kernel_code")

KERNEL = r"""
extern "C" __global__ void scale(const float *x, float *y, float a, int n)
{
    __shared__ float tile[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x * 32 % 1024] = 0;
    __syncthreads();
    if (i < n)
        y[i] = a * x[i] + tile[threadIdx.x * 32 % 1024];
}
"""
USES = r"""
import numpy, pytest
pytestmark = pytest.mark.cuda_kernel("scale.cu", "scale")


def arrays(n=1000):
    return numpy.arange(n, dtype="float32"), numpy.zeros(n, "float32")


def test_right(cuda_kernel):
    x, y = arrays()
    claims = "shared.store.conflicts > 0\nglobal.load.sectors = 125"
    run = cuda_kernel(32, 32, (x, y, 2.0, 1000), expected=2 * x, claims=claims)
    assert run.counters["global.store.sectors"] == 125 and run.checked


def test_value(cuda_kernel):
    x, y = arrays()
    cuda_kernel(32, 32, (x, y, 2.0, 999), expected=lambda x, y, a, n: a * x)


def test_claim(cuda_kernel):
    x, y = arrays()
    cuda_kernel(32, 32, (x, y, 2.0, 1000), claims=["shared.store.conflicts = 0"])


def test_race(cuda_kernel):
    x, y = arrays()
    cuda_kernel(32, 64, (x, y, 2.0, 1000), expected={1: 2 * x}, ignore_same_value=True)
    cuda_kernel(32, 64, (x, y, 2.0, 1000), expected={1: 2 * x})


def test_no_such_claim(cuda_kernel):
    cuda_kernel(1, 1, (), claims="shared.conflicts = 0")
"""
LAUNCHES = r"""
import pathlib, threading
import numpy, pytest, smemkit

code = pathlib.Path(__file__).with_name("scale.cu").read_text()
scale = smemkit.RawKernel(code, "scale")


def launch(block=64, n=1000):
    x, y = numpy.ones(1000, "float32"), numpy.zeros(1000, "float32")
    scale((2048 // block,), (block,), (x, y, 2.0, n))
    assert y[n - 1] == 2


@pytest.fixture(scope="module")
def broken():
    launch()


def test_clean():
    launch(32)


def test_race():
    launch()


def test_race_of_a_thread():
    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()


def test_race_of_a_fixture(broken):
    pass


@pytest.mark.smemkit_check
def test_out_of_bounds():
    with pytest.raises(smemkit.OutOfBoundsError, match=r"args\[0\]") as caught:
        launch(32, 1001)
    assert caught.value.source_line == 9 and caught.value.thread == (8, 0, 0)


@pytest.mark.smemkit_check(False)
def test_not_checked():
    launch()


@pytest.mark.smemkit_check(ignore="race")
def test_ignored():
    launch()


@pytest.mark.smemkit_check
def test_always():
    launch()


def test_check_within():
    x = numpy.ones(32, "float32")
    assert smemkit.check(scale, 1, 32, (x, x.copy(), 1.0, 32))
"""


def run(pytester, *args):
    """A run in this process; its text comes with it."""
    result = pytester.runpytest_inprocess("-p", "smemkit.testing", "-p", "no:cacheprovider", *args)
    return result, result.stdout.str()


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder with the kernel and no tests yet; the settings of this run do not reach it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take seconds to import
    pytester.makeini("[pytest]\n")
    (pytester.path / "scale.cu").write_text(KERNEL)
    return pytester


def section(text, name):
    """What a run says about the failure of one test."""
    found = re.search(
        rf"\n_+ (?:ERROR at setup of )?{name} _+\n(.*?)(?=\n[_=-]{{5}})", text, re.DOTALL
    )
    assert found, text
    return found[1]


def test_cuda_kernel_says_what_is_wrong(project):
    project.makepyfile(test_uses=USES)
    result, text = run(project)
    result.assert_outcomes(passed=1, failed=4)
    value = section(text, "test_value")
    assert "scale.cu: scale: y (args[1]) is not what was expected" in value
    assert "1 of 1,000 elements differ" in value
    assert "the first at [999]: 0.0, expected 1998.0" in value
    claim = section(text, "test_claim")
    assert "claim    shared.store.conflicts == 0" in claim
    assert "counted  shared.store.conflicts = 992" in claim
    assert "scale.cu:6  992" in claim and "tile[threadIdx.x * 32 % 1024] = 0;" in claim
    assert "_messages.py" not in text and "_kernel.py" not in value + claim
    race = section(text, "test_race")
    assert "check found faults" in race and "race in scale: The store at scale.cu:6" in race
    assert "there is no counter 'shared.conflicts'" in section(text, "test_no_such_claim")
    assert "smemkit check" not in text  # nobody asked for the check of all launches


WRONG = """
    import numpy, pytest

    @pytest.mark.cuda_kernel("scale.cu", "scal")
    def test_name(cuda_kernel):
        pass

    @pytest.mark.cuda_kernel("scale.cu")
    def test_type(cuda_kernel):
        cuda_kernel(1, 32, (numpy.zeros(32), numpy.zeros(32, "float32"), 2.0, 32))

    def test_file(cuda_kernel):
        cuda_kernel("nothing.cu")

    @pytest.mark.cuda_kernel("scale.cu")
    def test_right(cuda_kernel):
        x = numpy.zeros(32, "float32")
        cuda_kernel(1, 32, (x, numpy.zeros(32, "float32"), 2.0, 32))
"""


def test_errors_show_the_test_alone(project):
    """No lines of smemkit; and the launches of cuda_kernel count as checked."""
    project.makepyfile(test_wrong=WRONG)
    result, text = run(project, "--smemkit-check")
    result.assert_outcomes(passed=1, failed=2, errors=1)
    name = section(text, "test_name")
    assert "ArgumentError: the module has no kernel 'scal'; it has: scale" in name
    assert "During handling" not in name
    assert "smemkit.ArgumentTypeError: scale: args[0]" in section(text, "test_type")
    assert "nothing.cu' cannot be read" in section(text, "test_file")
    assert not re.search(r"_kernel\.py|_plugin\.py|capture\.py|def check", text)
    assert "smemkit check: 1 launch of 1 kernel on the simulator checked" in text


def test_every_launch_is_checked(project):
    project.makepyfile(test_launches=LAUNCHES)
    result, text = run(project, "--smemkit-check")
    result.assert_outcomes(passed=5, failed=3, errors=1)
    assert "every launch on the simulator is checked" in text
    race = section(text, "test_race")
    assert "launched at test_launches.py:10" in race
    assert "race in scale: The store at kernel.cu:6" in race
    assert "tile[threadIdx.x * 32 % 1024] = 0;" in race
    assert "race in scale" in section(text, "test_race_of_a_thread")
    assert "race in scale" in section(text, "test_race_of_a_fixture")
    assert "race in scale" in section(text, "test_always")
    assert "launches of 1 kernel on the simulator checked" in text
    assert _core._watch(None) is None  # later launches of the process are plain again


BACKENDS = """
    import os, pytest

    def test_plain():
        assert "SMEMKIT_BACKEND" not in os.environ

    @pytest.mark.smemkit_check
    def test_marked():
        assert os.environ["SMEMKIT_BACKEND"] == "sim"

    @pytest.mark.smemkit_check
    def test_takes_it_away():
        del os.environ["SMEMKIT_BACKEND"]
"""


@pytest.mark.parametrize("options", [["--smemkit-check"], ["-p", "smemkit.cover", "--smemkit-cov"]])
def test_the_backend_is_given_back(project, monkeypatch, options):
    """A run that wants the simulator leaves later ones of its process the backend they had."""
    monkeypatch.delenv("SMEMKIT_BACKEND", raising=False)
    project.makepyfile(test_backends=BACKENDS)
    run(project)[0].assert_outcomes(passed=3)
    assert "SMEMKIT_BACKEND" not in os.environ
    run(project, "-k", "marked", *options)[0].assert_outcomes(passed=1)
    assert "SMEMKIT_BACKEND" not in os.environ
    monkeypatch.setenv("SMEMKIT_BACKEND", "auto")
    run(project, "-k", "plain", *options)[0].assert_outcomes(failed=1)
    assert os.environ["SMEMKIT_BACKEND"] == "auto"


def test_the_marker_alone_checks_its_tests(project):
    project.makepyfile(test_launches=LAUNCHES)
    result, text = run(project)
    result.assert_outcomes(passed=8, failed=1)
    assert "race in scale" in section(text, "test_always")
    result, _ = run(
        project, "-k", "always or race", "--smemkit-check", "--smemkit-ignore=same_value"
    )
    result.assert_outcomes(passed=4)


def test_workers_of_xdist_check(project):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    project.makepyfile(test_launches=LAUNCHES)
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "smemkit.testing"]
    command += ["--smemkit-check", "-n1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=project.path, timeout=120)
    assert "3 failed, 5 passed, 1 error" in done.stdout
    assert "launched at test_launches.py:10" in done.stdout
    assert re.search(r"\b\d+ launches of 1 kernel on the simulator checked", done.stdout)
