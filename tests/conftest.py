"""Fixtures that every test may use: a seeded random generator and the two machines."""

import importlib.util
import os
import secrets
import zlib
from pathlib import Path

import numpy
import pytest

SEED = "SMEMKIT_TEST_SEED"


def pytest_configure(config):
    # A fresh seed each run; set here so that worker processes share it.
    os.environ.setdefault(SEED, str(secrets.randbits(32)))
    # Python processes that tests start import the smemkit that is tested here: not the sources of
    # the present folder where smemkit is installed, nor what is installed where it was built here.
    folder = Path(importlib.util.find_spec("smemkit").origin).resolve().parents[1]
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ["PYTHONPATH"] = str(folder)


def pytest_report_header(config):
    return [
        f"seed: {SEED}={os.environ[SEED]} repeats this run's random values",
        f"GPU: {find_missing_reason('cuda') or 'present'}",
    ]


@pytest.fixture
def rng(request):
    """A random generator of the test's own, by the run's seed and the test's name."""
    print(f"{SEED}={os.environ[SEED]}")
    name = zlib.crc32(request.node.nodeid.encode())
    return numpy.random.default_rng([int(os.environ[SEED]), name])


def find_missing_reason(backend):
    """Why a machine is not here, or None where it is."""
    import smemkit

    try:
        smemkit.device_info(backend=backend)
    except smemkit.BackendError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def cuda_missing():
    """Why there is no GPU, or None where there is one."""
    return find_missing_reason("cuda")


@pytest.fixture(params=["sim", "cuda"])
def machine(request):
    """The name of a backend: each test that asks for it runs on both machines."""
    if request.param == "cuda":
        if request.getfixturevalue("cuda_missing") is not None:
            pytest.skip("no GPU (the head of this report says why)")
    return request.param
