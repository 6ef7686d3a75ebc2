"""Types: what mypy says of a script that uses everything public, and of the stub of _core."""

import ast
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT, TESTS

import smemkit

SCRIPT = TESTS / "types" / "everything.py"
PACKAGES = ("", "bench", "compile", "cover", "functions", "lessons", "plot", "probe")
PACKAGES += ("python_kernels", "report", "testing")
# What Python shows from 3.12 on.
LATER = "smemkit._core.DeviceArray.__buffer__\n"


def list_used():
    """The names that the script takes from smemkit: attributes, and what it imports."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package = "" if node.value.id == "smemkit" else node.value.id
            yield package, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("smemkit."):
            for alias in node.names:
                yield node.module.removeprefix("smemkit."), alias.name


@pytest.mark.parametrize("package", PACKAGES)
def test_the_script_uses_every_public_name(package):
    module = importlib.import_module(f"smemkit.{package}".rstrip("."))
    shared = set() if package == "" else set(smemkit.__all__) & set(module.__all__)
    used = {name for owner, name in list_used() if owner == package}
    assert set(module.__all__) - shared <= used


def run_mypy(folder, *command, home=None):
    """What a tool of mypy's prints about the smemkit in a folder, by default that tested here."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("needs mypy: pip install '.[test]'")
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)  # mypy has extensions of its own, without sanitizers
    home = home or Path(smemkit.__file__).resolve().parents[1]
    if home == ROOT:
        environment["MYPYPATH"] = str(home)
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """The options of a strict run; what one run has read the next one need not read."""
    cache = tmp_path_factory.mktemp("cache")
    return ("--strict", "--follow-imports=silent", "--cache-dir", str(cache))


@pytest.mark.slow
def test_the_script_is_clean_for_strict_mypy(tmp_path, strict):
    assert "no issues found in 1 source file" in run_mypy(tmp_path, "mypy", *strict, str(SCRIPT))


@pytest.mark.slow
def test_the_package_is_clean_for_strict_mypy(tmp_path, strict):
    """Strict for every function, private ones too; pyproject.toml has the exceptions."""
    options = ("--config-file", str(ROOT / "pyproject.toml"), *strict)
    said = run_mypy(tmp_path, "mypy", *options, "-p", "smemkit", home=ROOT)
    count = int(re.search(r"no issues found in (\d+) source files", said)[1])
    assert count >= len(list((ROOT / "smemkit").rglob("*.py")))


@pytest.mark.slow
def test_a_wrong_use_is_an_error(tmp_path, strict):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import smemkit\nsmemkit.zeros(3, backend='gpu')\nsmemkit.profile(print).advise\n",
        encoding="utf-8",
    )
    with pytest.raises(AssertionError, match="Found 2 errors") as caught:
        run_mypy(tmp_path, "mypy", *strict, str(wrong))
    assert "Literal['gpu']" in str(caught.value) and '"advise"' in str(caught.value)


@pytest.mark.slow
def test_the_stub_is_that_of_the_extension(tmp_path):
    """mypy's own comparison, of kinds and signatures that test_stub.py does not know."""
    if sys.version_info < (3, 12):
        (tmp_path / "later").write_text(LATER, encoding="utf-8")
    else:
        (tmp_path / "later").write_text("", encoding="utf-8")
    (tmp_path / "own.ini").write_text(
        "[mypy]\n[mypy-smemkit.*]\nignore_errors = True\n", encoding="utf-8"
    )
    options = ("--allowlist", str(tmp_path / "later"), "--mypy-config-file")
    command = ("mypy.stubtest", "smemkit._core", *options, str(tmp_path / "own.ini"))
    assert "Success" in run_mypy(tmp_path, *command)


def test_dir_shows_public_names_only():
    packages = set(PACKAGES) - {""}
    assert set(dir(smemkit)) == set(smemkit.__all__) | packages
    for name in packages:
        module = getattr(smemkit, name)
        assert dir(module) == sorted(module.__all__)
