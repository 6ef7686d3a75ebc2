"""Tests that take most of a device's memory run alone."""

import os

import pytest

LARGE_BYTES = 8 << 30  # with one test of this size a process, a device is soon full


def skip_beside_others():
    """Skips where pytest-xdist runs other tests at the same time: they would find no memory."""
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
        pytest.skip("it takes most of the device's memory: run this file without -n")
