"""explain_choice: what "auto" takes, and what it weighs."""

import dataclasses
import json

import numpy as np
import pytest

import smemkit
from smemkit.bench import workloads


def ones(*shape, dtype="float32"):
    return np.broadcast_to(np.ones((), dtype), shape)


def explain(*args, **keywords):
    return smemkit.explain_choice(*args, backend="sim", **keywords)


@pytest.mark.parametrize(
    ("a", "b"),
    [((40, 30), (30, 20)), ((1, 500), (500, 70)), ((300, 2), (2, 300)), ((3, 9, 5), (5, 4))],
)
def test_it_is_what_the_call_takes(a, b):
    a, b = np.ones(a, "float32"), np.ones(b, "float32")
    choice = explain(smemkit.gemm, a, b)
    launched = [
        launch.kernel for launch in smemkit.profile(smemkit.gemm, a, b, backend="sim").launches
    ]
    taken = choice[choice.variant]
    assert [kernel for kernel, *_ in taken.launches] == launched
    assert choice.candidates[0] is taken and taken.takes_part
    weighed = [one for one in choice.candidates if one.takes_part and one.refusal is None]
    assert taken.time_us == min(one.time_us for one in weighed)


def test_dimensions_and_machine(monkeypatch):
    monkeypatch.setenv("SMEMKIT_SM_COUNT", "17")
    choice = explain(smemkit.gemm, ones(5, 6, 7), ones(5, 7, 8))
    assert choice.dimensions == {"m": 6, "k": 7, "n": 8} and choice.stack == 5
    assert choice.multiprocessors == 17 and choice.compute_capability == "9.0"
    assert choice.flops == 2 * 6 * 7 * 8 and choice.backend == "sim"
    assert choice["tiled"].repeats == 5 and choice["direct"].repeats == 1
    folded = explain(smemkit.gemm, ones(5, 6, 7), ones(7, 8))
    assert folded.dimensions["m"] == 6 and folded.stack == 1 or folded.dimensions["m"] == 30


def test_copies_are_told():
    a, b = np.ones((64, 48), "float32"), np.ones((64, 32), "float32")
    choice = explain(smemkit.gemm, a.T, b)
    assert choice["tiled"].copies and not choice["tuned"].copies
    assert not explain(smemkit.gemm, a.T.copy(), b)["tiled"].copies


def test_parts_and_tiles():
    choice = explain(smemkit.gemm, ones(64, 65536), ones(65536, 64))
    taken = choice[choice.variant]
    assert taken.parts > 1 and taken.tile[0] <= 128 and taken.workspace_bytes > 0
    assert "parts, which a last launch adds in a fixed order" in " ".join(str(choice).split())


def test_text():
    text = str(explain(smemkit.gemm, ones(1024, 1024), ones(1024, 1024)))
    first, *_ = text.splitlines()
    assert first == (
        "gemm of float32, m = 1,024, k = 1,024, n = 1,024, on 132 multiprocessors of 9.0: "
        'auto takes "direct"'
    )
    assert "64 x 64" in text and "arrange, " in text
    assert "Exhibits that auto never takes: naive_uncoalesced, column" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_families_without_predicted_times():
    choice = explain(smemkit.scan, ones(5000))
    assert choice.variant in smemkit.variants("scan") and choice.choice == "sum"
    assert choice[choice.variant].time_us is None
    assert "compared by their speed" in str(choice)


@pytest.mark.parametrize("family", workloads.list_families())
@pytest.mark.parametrize("device", [None, "t4"])
def test_every_family_says_why(family, device):
    rng = np.random.default_rng(1)
    case = workloads.make_workload(family, 64)
    sizes = dict(zip(case.read_signature().names, case.shape, strict=True))
    inputs = list(case.make_inputs(rng))
    inputs, keywords = case.adjust_command(inputs, sizes, dict(case.keywords), rng)
    where = {"device": device} if device else {"backend": "sim"}
    choice = smemkit.explain_choice(getattr(smemkit, family), *inputs, **keywords, **where)
    assert choice.family == family
    assert choice.variant in smemkit.variants(family)
    assert f'auto takes "{choice.variant}"' in " ".join(str(choice).split())
    assert choice.predicted_for == ("T4" if device else None)


def test_functions_that_prepare_a_call_are_explained_by_what_they_call():
    x = np.ones((64, 32, 16), "float32")
    assert explain(smemkit.reduce, x, axis=1).dimensions == {"m": 64, "n": 32, "k": 16}
    assert explain(smemkit.reduce, x, axis=1).family == "reduce_axis"
    assert explain(smemkit.reduce, x, "mean", keepdims=True).choice == "mean"
    assert explain(smemkit.reduce, x, axis=(0, 2)).dimensions == {"m": 1, "n": 64, "k": 512}
    weighted = explain(smemkit.histogram, ones(100), weights=ones(100))
    assert weighted.family == "histogram_weighted"
    turned = explain(smemkit.transpose, x, (2, 0, 1)).dimensions
    assert turned == {"m": 64 * 32, "n": 16}
    there = smemkit.asarray(ones(100), backend="sim")  # whose extremes are reduced first
    assert smemkit.explain_choice(smemkit.histogram, there).family == "histogram"
    large = np.broadcast_to(np.float32(1), (1 << 16, 1 << 14))
    assert explain(smemkit.transpose, large).dimensions == {"m": 1 << 16, "n": 1 << 14}
    with pytest.raises(smemkit.ArgumentError, match="takes none of its variants"):
        explain(smemkit.transpose, ones(2, 3, 4), (2, 1, 0))
    with pytest.raises(smemkit.ArgumentError, match="axis 3 is out of bounds"):
        explain(smemkit.reduce, x, axis=3)
    assert float(smemkit.reduce(x, axis=(0, 1, 2), backend="sim")) == 64 * 32 * 16


def test_refusals():
    wide = np.broadcast_to(np.float32(1), (1, 2**56))
    choice = explain(smemkit.gemm, wide, wide.T)
    assert "laid out for k" in choice["tuned"].refusal and "laid out for k" in str(choice)
    assert choice.variant != "tuned"


def test_to_dict():
    found = explain(smemkit.gemm, ones(8, 8), ones(8, 8)).to_dict()
    assert json.loads(json.dumps(found))["candidates"][0]["variant"] == found["variant"]


def test_what_it_does_not_take():
    with pytest.raises(smemkit.ArgumentError, match="explain_choice takes a function of a kernel"):
        explain(smemkit.asarray, ones(3))
    with pytest.raises(smemkit.ArgumentError, match="such as smemkit.gemm, not <ufunc"):
        explain(np.matmul, ones(3, 3), ones(3, 3))
    with pytest.raises(smemkit.ShapeError, match="k is 4 in a and 5 in b"):
        explain(smemkit.gemm, ones(3, 4), ones(5, 6))
    with pytest.raises(smemkit.ArgumentError, match="without devices="):
        explain(smemkit.gemm, ones(3, 3), ones(3, 3), devices=[0])
    with pytest.raises(KeyError):
        explain(smemkit.gemm, ones(3, 3), ones(3, 3))["nothing"]


def test_a_card_without_measurements_is_named():
    operands = ones(512, 512), ones(512, 512)
    choice = explain(smemkit.gemm, *operands)
    assert choice.is_measured and choice.to_dict()["is_measured"] and choice.predicted_for is None
    assert "smemkit.rank" not in str(choice)
    choice = smemkit.explain_choice(smemkit.gemm, *operands, device="RTX 3060")
    assert not choice.is_measured and choice.to_dict()["predicted_for"] == "RTX 3060"
    assert (choice.compute_capability, choice.multiprocessors) == ("8.6", 28)
    text = " ".join(str(choice).split())
    assert "No kernel was measured on compute capability 8.6" in text
    assert "what smemkit.predict says of RTX 3060 beside it" in text
    assert "Times are predicted for RTX 3060" in text
    assert "smemkit.rank(smemkit.gemm, ..., device=...)" in text


def test_a_device_may_be_a_card_or_a_machine_of_this_computer():
    x = ones(1 << 20)
    assert smemkit.explain_choice(smemkit.scan, x, device="sim").is_measured
    card = dataclasses.replace(smemkit.card("t4"), multiprocessors=20.0)
    choice = smemkit.explain_choice(smemkit.scan, x, device=card)
    assert choice.multiprocessors == 20 and choice.predicted_for == "T4"
    assert explain(smemkit.scan, x).multiprocessors == 132, "the card is for one question"
    with pytest.raises(smemkit.ArgumentError, match="the table of cards has no 'T5'"):
        smemkit.explain_choice(smemkit.scan, x, device="T5")
    with pytest.raises(smemkit.ArgumentError, match="leave backend= out"):
        smemkit.explain_choice(smemkit.scan, x, device="T4", backend="cuda")
    with pytest.raises(smemkit.ShapeError):
        smemkit.explain_choice(smemkit.gemm, ones(3, 4), ones(5, 6), device="T4")
    assert explain(smemkit.scan, x).multiprocessors == 132


def test_a_card_that_is_like_none_has_the_order_of_an_h200():
    card = dataclasses.replace(smemkit.card("t4"), name="Thor", compute_capability="11.0")
    choice = smemkit.explain_choice(smemkit.scan, ones(1 << 20), device=card)
    assert choice.predicted_for is None and not choice.is_measured
    assert "no card like it is in the table of predictions" in " ".join(str(choice).split())
