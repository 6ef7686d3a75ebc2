"""Which machine a call runs on, and an import that asks nobody."""

import os
import subprocess
import sys

import numpy as np
import pytest

import smemkit

ONES = np.ones((2, 2), np.float32)


def run_python(code, **environment):
    """Runs code in a process of its own; standard output, or the last line of its traceback."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SMEMKIT_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**inherited, **environment},
        timeout=120,
    )
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return done.stdout.strip()


GET = "import smemkit; print(smemkit.get_backend())"


def test_auto_takes_what_is_there(cuda_missing):
    assert run_python(GET) == ("sim" if cuda_missing else "cuda")
    assert run_python(GET, SMEMKIT_BACKEND="auto") == ("sim" if cuda_missing else "cuda")
    assert run_python(GET, SMEMKIT_BACKEND="") == ("sim" if cuda_missing else "cuda")


def test_environment(cuda_missing):
    assert run_python(GET, SMEMKIT_BACKEND="sim") == "sim"
    answer = run_python(GET, SMEMKIT_BACKEND="cuda")
    assert answer.startswith("smemkit.BackendError: ") if cuda_missing else answer == "cuda"


def test_environment_with_another_word():
    answer = run_python(GET, SMEMKIT_BACKEND="tpu")
    assert answer.startswith("smemkit.ArgumentError: ")
    assert "SMEMKIT_BACKEND" in answer and "'tpu'" in answer and "'sim'" in answer
    assert run_python("import smemkit; print('fine')", SMEMKIT_BACKEND="tpu") == "fine"


def test_set_backend_goes_before_the_environment(cuda_missing):
    code = "import smemkit; smemkit.set_backend('sim'); print(smemkit.get_backend()); "
    assert run_python(code, SMEMKIT_BACKEND="cuda") == "sim"
    code += "smemkit.set_backend('auto'); print(smemkit.get_backend())"
    auto = "sim" if cuda_missing else "cuda"
    assert run_python(code, SMEMKIT_BACKEND="sim").split() == ["sim", auto]
    code += "; smemkit.set_backend(None); print(smemkit.get_backend())"
    assert run_python(code, SMEMKIT_BACKEND="sim").split() == ["sim", auto, "sim"]


def test_keyword_goes_before_everything():
    code = "import smemkit; print(smemkit.empty(3, backend='sim').backend)"
    assert run_python(code, SMEMKIT_BACKEND="cuda") == "sim"


def test_environment_is_read_when_needed(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    assert smemkit.get_backend() == "sim"
    assert smemkit.show_config("dict")["reason"] == "asked for by SMEMKIT_BACKEND"
    monkeypatch.setenv("SMEMKIT_BACKEND", "nowhere")
    with pytest.raises(smemkit.ArgumentError):
        smemkit.empty(3)


def test_cuda_without_a_device(cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a device")
    for call in (
        lambda: smemkit.gemm(ONES, ONES, backend="cuda"),
        lambda: smemkit.asarray(ONES, backend="cuda"),
        lambda: smemkit.empty(3, backend="cuda"),
        lambda: smemkit.set_backend("cuda"),
        lambda: smemkit.device_info(backend="cuda"),
        lambda: smemkit.RawModule(smemkit.ptx("gemm", "naive"), backend="cuda"),
    ):
        with pytest.raises(smemkit.BackendError) as caught:
            call()
        assert str(caught.value) == cuda_missing
    assert smemkit.get_backend() == "sim"


def test_another_word_or_type():
    for bad in ("gpu", "", "SIM", "sim\0"):
        with pytest.raises(smemkit.ArgumentError):
            smemkit.empty(3, backend=bad)
        with pytest.raises(smemkit.ArgumentError):
            smemkit.set_backend(bad)
    for bad in (3, b"sim", ["sim"]):
        with pytest.raises(smemkit.ArgumentTypeError):
            smemkit.empty(3, backend=bad)


def test_import_touches_no_driver():
    code = (
        "import smemkit, smemkit.compile; smemkit.families(); "
        "smemkit.asarray([1.0], backend='sim'); "
        "maps = open('/proc/self/maps').read(); "
        "assert 'smemkit' in maps; print([name for name in ('libcuda', 'nvrtc') if name in maps])"
    )
    assert run_python(code) == "[]"


def test_import_is_light():
    code = (
        "import sys, numpy; before = set(sys.modules); import smemkit; "
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before "
        "if name.split('.')[0] not in sys.stdlib_module_names}))"
    )
    assert run_python(code) == "['smemkit']"


def test_device_info(machine):
    facts = smemkit.device_info(backend=machine)
    assert facts == smemkit.device_info(0, machine)
    assert facts["warp_lanes"] == 32
    assert facts["threads_per_block_max"] == 1024
    assert facts["shared_bytes_per_block"] == 48 * 1024
    assert facts["shared_bytes_per_block_optin"] >= 64 * 1024
    assert all(isinstance(value, int | float | str) for value in facts.values())
    if machine == "sim":
        assert facts["name"] == "smemkit simulator"
    for bad, error in (
        (99, ValueError),
        (-1, ValueError),
        (2**70, ValueError),
        ("0", ValueError),
        (0.5, TypeError),
    ):
        with pytest.raises(error) as caught:
            smemkit.device_info(bad, machine)
        assert isinstance(caught.value, smemkit.Error)


def test_show_config(capsys):
    facts = smemkit.show_config(mode="dict")
    assert facts["smemkit"] == smemkit.__version__
    assert facts["backend"] == smemkit.get_backend()
    assert facts["kernels"] == sum(len(row["variants"]) for row in smemkit.families().values())
    assert facts["simulator_isa"] in ("baseline", "avx2", "avx512")
    assert facts["simulator_threads"] >= 1
    assert (facts["cuda_devices"] == 0) == bool(facts["cuda_absence"])
    assert smemkit.show_config() is None
    printed = capsys.readouterr().out
    for name, value in facts.items():
        if value is not None:
            assert any(line.split(None, 1) == [name, str(value)] for line in printed.splitlines())
    with pytest.raises(smemkit.ArgumentError):
        smemkit.show_config("json")


def test_isa_can_be_lowered():
    code = "from smemkit import _core; print(_core._isa())"
    assert run_python(code, SMEMKIT_ISA="baseline") == "baseline"
