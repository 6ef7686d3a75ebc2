"""One class a family: what collect says where one is missing, and what each class has to have."""

import numpy as np
import pytest

import smemkit
from smemkit.bench import families, workloads
from smemkit.bench.families import CLASSES


def test_every_family_has_its_class():
    contracts = [name for name, facts in smemkit.families().items() if facts["signature"]]
    assert list(CLASSES) == contracts
    for name, kind in CLASSES.items():
        assert kind.family == name and kind.__module__.endswith(f".families.{name}")
        assert issubclass(kind, families.Workload) and kind.__doc__.startswith(name)


@pytest.mark.parametrize(
    ("names", "modules", "words"),
    [
        (["gemm", "scale"], ["gemm"], r"'scale', but there is no smemkit\.bench\.families\.scale"),
        (["gemm"], ["gemm", "scale"], r"families\.scale, but families\.def has no family 'scale'"),
    ],
)
def test_what_is_missing_is_named(names, modules, words):
    with pytest.raises(smemkit.InternalError, match=words):
        families.collect(names, modules)


def test_a_module_without_its_class_is_named(monkeypatch):
    monkeypatch.setattr(families.importlib, "import_module", lambda name: None)
    with pytest.raises(smemkit.InternalError, match="families.scale has no Workload whose family"):
        families.collect(["scale"], ["scale"])


@pytest.mark.parametrize("kind", CLASSES.values(), ids=list(CLASSES))
def test_what_a_class_says_fits_its_signature(kind):
    inputs, outputs, names = kind.read_signature()
    assert len(outputs) == 1
    assert len(kind.sizes) >= 2, "two sizes for small calls: a regular one and a ragged one"
    every = [*kind.sizes, *kind.list_regular(), *kind.list_ragged()]
    assert all(set(sizes) == set(names) for sizes in every)
    assert set(kind.tied) | set(kind.usual_sizes) <= set(names)
    assert len(kind.spread(300)) == len(names)
    variants = smemkit.variants(kind.family)
    assert {*kind.other_work, *kind.constant_variants} <= set(variants)
    assert sum(one.main for one in kind.records) >= 1, "a main shape for the record"
    if kind.tiles:
        assert set(kind.tiles.variants) <= set(variants) and set(kind.tiles.axes) <= set(names)


@pytest.mark.parametrize("kind", CLASSES.values(), ids=list(CLASSES))
def test_defaults_follow_from_the_signature(kind, rng):
    case = workloads.make_workload(kind.family, 9)
    arrays = case.make_inputs(rng)
    for array, names in zip(arrays, kind.read_signature()[0], strict=True):
        assert array.shape == tuple(case.lengths[name] for name in names)
    assert np.shape(case.compute(arrays)) == case.result_shape
    sample = workloads.make_sample(kind.family, kind.sizes[0], kind.usual_dtype, rng)
    assert np.shape(sample.expect()) == tuple(
        sample.sizes[name] for name in kind.read_signature()[1][0]
    )
    assert bool(sample.make_out()) == kind.needs_out()


def test_a_workload_needs_its_own_inputs_and_oracle(rng):
    bare = families.Workload("bare", (1,))
    with pytest.raises(NotImplementedError, match="Workload has no make_inputs"):
        bare.make_inputs(rng)
    with pytest.raises(NotImplementedError, match="no oracle"):
        bare.oracle()
