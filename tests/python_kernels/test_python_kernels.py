"""What holds without Triton and Numba: errors where they are missing or too old."""

import importlib
import importlib.metadata
import types

import numpy
import pytest
from python_kernels import record_ptx

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
    with pytest.raises(smemkit.CompileError, match=r"Triton 3\.4 or newer.*'smemkit\[triton\]'"):
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


# PTX that Triton and Numba made, so that it runs and is judged where they are missing -------------


def test_recorded_attention(rng):
    kernel, path, threads, shared_mem = record_ptx.read("attention")
    q, k, v = rng.standard_normal((3, 50, 32), dtype="float32").astype("float16")
    out = numpy.zeros((50, 32), "float32")
    args = (q, k, v, out, 50, 0.125, 0, 0)
    report = kernel.profile(2, threads, args, shared_mem=shared_mem)
    score = q.astype("float64") @ k.T.astype("float64") * 0.125
    share = numpy.exp(score - score.max(axis=1, keepdims=True))
    right = share / share.sum(axis=1, keepdims=True) @ v.astype("float64")
    assert numpy.allclose(out, right, rtol=2e-3, atol=2e-3)
    products = {line.text for line in report.lines if line.counters["matrix.instructions"]}
    assert len(products) == 2 and all("tl.dot(" in text for text in products)
    checked = kernel.check(2, threads, args, shared_mem=shared_mem)
    assert checked and checked.ignored > 0  # copies of a value at one place of shared memory
    assert {line.file for line in report.lines} <= {path, "ptx"}


def test_recorded_softmax_speaks_of_masks():
    kernel, path, threads, shared_mem = record_ptx.read("softmax")
    x, out = numpy.ones((2, 5, 100), "float32")
    assert kernel.check(5, threads, (x, out, 100, 100, 0, 0), shared_mem=shared_mem)
    assert numpy.allclose(out, 0.01)
    checked = kernel.check(6, threads, (x, out, 100, 100, 0, 0), shared_mem=shared_mem)
    side = checked.findings[0].first
    assert (checked.findings[0].kind, side.file) == ("out_of_bounds", path)
    assert side.text.startswith("row = tl.load(")
    assert "let its mask depend on tl.program_id too" in checked.findings[0].action


def test_recorded_reduction_speaks_of_numba():
    kernel, path, threads, _ = record_ptx.read("total")
    x, out = numpy.ones(1000, "float32"), numpy.zeros(1, "float32")
    args = (0, 0, 1000, 4, x, 1000, 4, 0, 0, 1, 4, out, 1, 4)
    assert kernel.check(8, threads, args)
    assert out[0] == 1000
    text = kernel.ptx.replace("bar.sync", "// bar.sync")
    checked = smemkit.RawKernel(text, "total").check(8, threads, args)
    races = [one for one in checked.findings if one.kind == "race"]
    assert races and {one.first.file for one in races} == {path}
    assert any("put cuda.syncthreads()" in one.action for one in races)
    assert not any("__sync" in str(one) for one in checked.findings)
    assert all("part" in one.first.variable for one in races)
