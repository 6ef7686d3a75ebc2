"""Without a GPU in sight: what asks for one is refused with the reason, the rest works."""

import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np, smemkit
x = np.ones((3, 3), np.float32)
calls = {
    "asarray": lambda: smemkit.asarray(x, backend="cuda"),
    "empty": lambda: smemkit.empty((3,), backend="cuda"),
    "device_info": lambda: smemkit.device_info(backend="cuda"),
    "gemm": lambda: smemkit.gemm(x, x, backend="cuda"),
    "set_backend": lambda: smemkit.set_backend("cuda"),
}
for name, call in calls.items():
    for attempt in range(2):
        try:
            call()
        except smemkit.BackendError as error:
            assert isinstance(error, RuntimeError)
            print(name, error)
assert smemkit.get_backend() == "sim"
assert np.array_equal(smemkit.gemm(x, x), x @ x)
print("done")
"""


@pytest.fixture(scope="module")
def lines():
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("SMEMKIT_BACKEND", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


def test_everything_else_works(lines):
    assert lines[-1] == "done"


@pytest.mark.parametrize("name", ["asarray", "empty", "device_info", "gemm", "set_backend"])
def test_a_refusal_gives_the_reason_each_time(lines, name):
    messages = [line.split(" ", 1)[1] for line in lines if line.split(" ", 1)[0] == name]
    assert len(messages) == 2
    for message in messages:
        with_reason = "cudaError" in message or "no GPU support" in message
        assert with_reason, message
