"""What holds without Triton and Numba: errors where they are missing or too old."""

import importlib
import importlib.metadata
import types

import pytest

import smemkit
from smemkit import python_kernels


@pytest.fixture
def hide(monkeypatch):
    """Replaces modules; None: they cannot be imported."""
    real = importlib.import_module

    def replace(changes):
        def load(name, *rest):
            for start, module in changes.items():
                if name == start or name.startswith(f"{start}."):
                    if module is None:
                        raise ImportError(f"No module named {name!r}")
                    return module
            return real(name, *rest)

        monkeypatch.setattr(importlib, "import_module", load)

    return replace


def test_missing_packages_are_named(hide, monkeypatch):
    hide({"triton": None, "numba": None})
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    with pytest.raises(smemkit.CompileError, match=r"Triton 3\.3 or newer.*'smemkit\[triton\]'"):
        smemkit.from_triton(len)
    with pytest.raises(smemkit.CompileError, match=r"numba-cuda .* newer.*'smemkit\[numba\]'"):
        smemkit.from_numba(len)


def test_versions_too_old_are_named(hide, monkeypatch):
    hide(
        {
            "triton": types.SimpleNamespace(__version__="3.2.0"),
            "numba": types.SimpleNamespace(typeof=None, as_dtype=None, from_dtype=None),
        }
    )
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.14.1")
    with pytest.raises(smemkit.CompileError, match=r"this is Triton 3\.2\.0; pip install"):
        smemkit.from_triton(len)
    with pytest.raises(smemkit.CompileError, match=r"this is numba-cuda 0\.14\.1; pip install"):
        smemkit.from_numba(len)


def test_importing_smemkit_imports_neither():
    assert {"from_numba", "from_triton", "python_kernels"} <= {*dir(smemkit)}
    assert python_kernels.from_triton is smemkit.from_triton
    assert python_kernels.from_triton.__module__ == "smemkit.python_kernels"


@pytest.mark.parametrize("make", [smemkit.from_triton, smemkit.from_numba])
def test_spellings_of_arch(make, hide, monkeypatch):
    hide({"triton": None, "numba": None})
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    for arch in (80, "80", "8.0", "sm_80", "compute_80", (8, 0)):
        with pytest.raises(smemkit.CompileError, match="cannot be imported"):
            make(len, arch=arch)
    for arch in (True, 8, "sm_90a", None, (8,), 8.75):
        with pytest.raises(smemkit.ArgumentError, match="accepted are compute capabilities"):
            make(len, arch=arch)
