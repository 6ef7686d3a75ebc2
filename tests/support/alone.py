"""Tests that need the device for themselves: pytest-xdist runs others at the same time."""

import os

import pytest

LARGE_BYTES = 8 << 30  # with one test of this size a process, a device is soon full


def skip_beside_others(reason):
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
        pytest.skip(f"{reason}: run this file without -n")


def skip_without_its_memory():
    skip_beside_others("it takes most of the device's memory")


def skip_without_its_time():
    skip_beside_others("it takes the time of launches")
