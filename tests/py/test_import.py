"""What importing smemkit brings along: NumPy, and no more than calls of kernels need."""

import subprocess
import sys

import pytest

import smemkit

LOADED = """
import sys, numpy
before = set(sys.modules)
import smemkit
print(*sorted(set(sys.modules) - before))
"""
# Slow to import, and needed by some functions only.
LATER = ("smemkit.bench", "smemkit.plot", "smemkit.probe", "smemkit.html", "smemkit.compile")
FOREIGN = ("argparse", "html", "json", "matplotlib", "pandas", "subprocess", "tempfile", "difflib")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    ).stdout


def test_nothing_slow_is_imported():
    loaded = set(run(LOADED).split())
    assert {"smemkit._core", "smemkit.report"} <= loaded
    assert not loaded & {*LATER, *FOREIGN}


@pytest.mark.parametrize("name", ["bench", "plot", "probe"])
def test_modules_come_when_they_are_asked_for(name):
    assert name in dir(smemkit)
    code = f"import smemkit\nprint(smemkit.{name}.__name__)\nassert '{name}' in vars(smemkit)"
    assert run(code) == f"smemkit.{name}\n"
    assert run(f"from smemkit import {name}\nprint({name}.__name__)") == f"smemkit.{name}\n"


def test_functions_are_not_hidden_by_modules_of_their_name():
    code = """
import smemkit
import smemkit.bench, smemkit.explain, smemkit.gather, smemkit.histogram, smemkit.report
assert all(callable(getattr(smemkit, name)) for name in smemkit.__all__ if name[0] != "_")
print(sorted(set(smemkit.__all__) - set(dir(smemkit))))
"""
    assert run(code) == "[]\n"


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="'smemkit' has no attribute 'gem'"):
        smemkit.gem  # noqa: B018
