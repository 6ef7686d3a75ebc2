"""Docstrings: every public name has one, of the agreed parts, and its example runs."""

import doctest
import importlib.util
import inspect

import pytest
from support.numba_here import find_obstacle

import smemkit
from smemkit import compile

pytestmark = pytest.mark.generated

FUNCTIONS = [
    name
    for name in smemkit.__all__
    if callable(getattr(smemkit, name))
    and not (
        isinstance(getattr(smemkit, name), type)
        and issubclass(getattr(smemkit, name), BaseException)
    )
]


def test_all_is_what_there_is():
    public = {name for name in vars(smemkit) if not name.startswith("_")}
    modules = {name for name in public if inspect.ismodule(getattr(smemkit, name))}
    assert public - modules == set(smemkit.__all__) - {"__version__"}
    assert len(set(smemkit.__all__)) == len(smemkit.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts(name):
    thing = getattr(smemkit, name)
    lines = thing.__doc__.splitlines()
    assert all(line.isprintable() for line in lines)
    assert lines[0][0].isupper() or lines[0][0].isdigit()
    assert lines[0] and not lines[0].startswith(name + "(")
    own = (
        "arrays",
        "config",
        "cover",
        "functions",
        "lessons",
        "predict",
        "python_kernels",
        "report",
    )
    own += ("textures",)
    assert thing.__module__ in ("smemkit", "smemkit._core", *(f"smemkit.{name}" for name in own))
    parts = ["Shapes", "Example"]
    if name != "DeviceArray":
        parts += ["Returns", "Raises"]
        if inspect.signature(thing).parameters:
            parts.append("Parameters")
    for part in parts:
        assert part in [line.strip() for line in lines], part
        at = [line.strip() for line in lines].index(part)
        assert lines[at + 1].strip() == "-" * len(part)
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example(name, monkeypatch):
    run_example(getattr(smemkit, name), name, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("DeviceArray", "astype"),
        ("DeviceArray", "copy"),
        ("DeviceArray", "fill"),
        ("DeviceArray", "item"),
        ("DeviceArray", "reshape"),
        ("RawModule", "get_function"),
        ("RawModule", "get_global"),
        ("RawKernel", "__call__"),
        ("RawKernel", "profile"),
        ("RawKernel", "check"),
    ],
)
def test_example_of_a_method(kind, name, monkeypatch):
    run_example(vars(getattr(smemkit, kind))[name], f"{kind}.{name}", monkeypatch)


def run_example(thing, name, monkeypatch):
    """Runs the one example of a docstring on the simulator; examples in CUDA C need a compiler."""
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # without it Triton 3.9 warns
    finder = doctest.DocTestFinder(recurse=False)
    tests = [test for test in finder.find(thing, name, module=False, globs={}) if test.examples]
    assert len(tests) == 1
    if "__global__" in thing.__doc__ and not (compile.find_nvrtc() or compile.find_nvcc()):
        pytest.skip("no compiler here")
    if "import triton" in thing.__doc__ and importlib.util.find_spec("triton") is None:
        pytest.skip("needs triton: pip install 'smemkit[triton]'")
    if "from numba import cuda" in thing.__doc__ and find_obstacle() is not None:
        pytest.skip(find_obstacle())
    log = []
    result = doctest.DocTestRunner(verbose=False).run(tests[0], out=log.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(log)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name):
    if name == "DeviceArray":
        pytest.skip("cannot be called")
    assert inspect.signature(getattr(smemkit, name)) is not None


def test_families_have_functions():
    for family, facts in smemkit.families().items():
        if facts["signature"] is not None:
            function = getattr(smemkit._core, family)
            names = list(inspect.signature(function).parameters)
            assert facts["signature"] in function.__doc__
            names = [name for name in names if name != "devices"]
            assert names[-5:] == ["variant", "out", "backend", "device", "stream"]
            assert hasattr(smemkit, family)
