"""What importing smemkit brings along: NumPy, and no more than calls of kernels need."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import smemkit

LOADED = """
import sys, numpy
before = set(sys.modules)
import smemkit
print(*sorted(set(sys.modules) - before))
"""
# Slow to import, and needed by some functions only.
LATER = tuple(f"smemkit.{name}" for name in ("bench", "cli", "compile", "plot", "probe"))
LATER += ("smemkit.report.html",)
FOREIGN = ("argparse", "html", "json", "matplotlib", "pandas", "subprocess", "tempfile", "difflib")
NEVER = ("cloudpickle", "dask", "distributed")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    ).stdout


def test_nothing_slow_is_imported():
    loaded = set(run(LOADED).split())
    assert {"smemkit._core", "smemkit.report"} <= loaded
    assert not loaded & {*LATER, *FOREIGN, *NEVER}


def test_no_module_imports_dask():
    """Dask takes smemkit's functions as they are; whoever uses it imports it."""
    code = """
import importlib, pkgutil, sys, smemkit
for module in pkgutil.walk_packages(smemkit.__path__, "smemkit."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name == "coverage"  # which cover's plugin of it needs
print(*sorted(sys.modules))
"""
    loaded = set(run(code).split())
    assert "smemkit.cli.demo" in loaded and not loaded & {*NEVER}


@pytest.mark.parametrize("name", ["bench", "plot", "probe"])
def test_modules_come_when_they_are_asked_for(name):
    assert name in dir(smemkit)
    code = f"import smemkit\nprint(smemkit.{name}.__name__)\nassert '{name}' in vars(smemkit)"
    assert run(code) == f"smemkit.{name}\n"
    assert run(f"from smemkit import {name}\nprint({name}.__name__)") == f"smemkit.{name}\n"


def test_functions_are_not_hidden_by_modules_of_their_name():
    code = """
import smemkit
import smemkit.bench, smemkit.cli, smemkit.functions, smemkit.plot, smemkit.probe, smemkit.report
assert all(callable(getattr(smemkit, name)) for name in smemkit.__all__ if name[0] != "_")
print(sorted(set(smemkit.__all__) - set(dir(smemkit))))
"""
    assert run(code) == "[]\n"


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="'smemkit' has no attribute 'gem'"):
        smemkit.gem  # noqa: B018


# What cannot be imported -------------------------------------------------------------------------

FAILS = """
try:
    import smemkit
except ImportError as error:
    print(f"{error}\\ncause: {error.__cause__}")
else:
    print("imported")
"""
# Where smemkit is installed as editable, a finder has modules that a copy of it lacks.
ALONE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "__editable__" not in finder.__module__]
"""
SUBINTERPRETER = f"""
import importlib.util
# the name by which Python of this version has subinterpreters
name = "_interpreters" if importlib.util.find_spec("_interpreters") else "_xxsubinterpreters"
interpreters = importlib.import_module(name)
# where there are two kinds, that which shares the GIL; Python itself refuses the other
number = interpreters.create(*["legacy"] * (name == "_interpreters" and KIND == "legacy"))
interpreters.run_string(number, {FAILS!r})
interpreters.destroy(number)
"""


def copy_package(folder, extension=None):
    """smemkit without its compiled parts in a folder, with a file of that name in their place."""
    package = folder / "smemkit"
    source = Path(smemkit.__file__).parent
    shutil.copytree(
        source, package, ignore=shutil.ignore_patterns("_core*.so", "kernels", "recorded")
    )
    if extension is not None:
        (package / f"_core{extension}").write_bytes(b"no extension")
    return package


def fail(folder, code=FAILS):
    """What a Python says that imports the smemkit in a folder, and other modules there, first."""
    path = f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"
    return subprocess.run(
        [sys.executable, "-c", ALONE + code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_without_the_extension(tmp_path):
    package = copy_package(tmp_path)
    text = fail(tmp_path)
    assert text.startswith(f"smemkit in {package} has no extension module; install it (pip ")
    assert "python setup.py build_ext --inplace" in text


def test_an_extension_of_another_python(tmp_path):
    package = copy_package(tmp_path, ".cpython-39-x86_64-linux-gnu.so")
    text = fail(tmp_path)
    assert text.startswith(f"smemkit in {package} has _core.cpython-39-x86_64-linux-gnu.so, an ")
    assert sys.implementation.cache_tag in text and "pip install ." in text


def test_an_extension_that_cannot_be_loaded(tmp_path):
    name = f"_core{EXTENSION_SUFFIXES[0]}"
    package = copy_package(tmp_path, EXTENSION_SUFFIXES[0])
    text, cause = fail(tmp_path).split("\ncause: ")
    assert text == f"smemkit's extension module, {name} in {package}, cannot be imported: " + (
        cause.strip()
    )
    assert str(package / name) in cause


def test_without_numpy(tmp_path):
    text = fail(tmp_path, "import sys\nsys.modules['numpy'] = None\n" + FAILS)
    assert "cannot be imported: import of numpy halted" in text
    (tmp_path / "numpy.py").write_text("raise ImportError('numpy is broken')\n")
    assert "cannot be imported: numpy is broken" in fail(tmp_path)


@pytest.mark.parametrize("version", ["1.26.4", "1.9", ""])
def test_numpy_is_too_old(tmp_path, version):
    (tmp_path / "numpy.py").write_text(f"__version__ = {version!r}\n")
    text = fail(tmp_path)
    assert f"cannot be imported: smemkit needs NumPy 2.0 or newer, this is {version}: " in text
    assert str(tmp_path / "numpy.py") in text


@pytest.mark.skipif(
    not any(importlib.util.find_spec(name) for name in ("_interpreters", "_xxsubinterpreters")),
    reason="this Python shows no subinterpreters",
)
@pytest.mark.parametrize("kind", ["default", "legacy"])
@pytest.mark.parametrize("first", ["", "import smemkit"])
def test_in_a_subinterpreter(tmp_path, first, kind):
    text = fail(tmp_path, first + SUBINTERPRETER.replace("KIND", repr(kind)))
    gil = not sysconfig.get_config_var("Py_GIL_DISABLED")  # without it Python refuses both kinds
    if sys.version_info < (3, 12) or kind == "legacy" and sys.version_info >= (3, 13) and gil:
        assert "cannot be imported: smemkit works in the main interpreter only" in text
    assert "cannot be imported: " in text and "main interpreter" in text and "NumPy" in text
