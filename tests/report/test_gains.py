"""What advice would save on a card: its texts after report.time, against the mended kernels."""

import json
import pickle

import numpy
import pytest
from support import disassemble

import smemkit
from smemkit.predict import gains
from smemkit.predict.forecast import predict_launches


def profile(function, variant, side=1024, **words):
    a = numpy.broadcast_to(numpy.float32(1), (side, side))
    operands = (a, a) if function is smemkit.gemm else (a,)
    return smemkit.profile(function, *operands, variant=variant, blocks=6, **words)


@pytest.fixture(scope="module")
def column():
    report = profile(smemkit.gemm, "column")
    report.before = str(report)
    report.time("rtx 4090")
    return report


def test_a_pad_saves_what_the_padded_kernel_saves(column):
    """The conflicts of both lines gone: the time of column_padded, which has none."""
    cured = profile(smemkit.gemm, "column_padded").time("rtx 4090")
    whole = column.time("rtx 4090")
    saved = [advice.evidence["predicted ms saved on RTX 4090"] for advice in column.advice]
    assert len(saved) == 2 and all(saved)
    assert whole.time_ms - sum(saved) == pytest.approx(cured.time_ms, rel=0.35)
    assert whole.gains["bank conflicts"] >= max(saved)
    assert whole.advice.startswith("without bank conflicts it would take ")


def test_text_html_and_plain_types_say_it(column):
    texts = " ".join(str(column).split())
    assert "predicted: " in texts and " limited by shared" in texts
    assert texts.count("On RTX 4090 this would save ") == 2
    page = column._repr_html_()
    assert page.count("On RTX 4090 this would save ") == 2 and "<p>predicted: " in page
    plain = json.loads(json.dumps(column.to_dict()))
    assert "On RTX 4090 this would save" in plain["advice"][0]["message"]
    assert "On RTX 4090" not in column.before and "predicted:" not in column.before


def test_the_last_card_is_named(column):
    report = profile(smemkit.gemm, "column", 256)
    assert report.time("t4").card.name == "T4"
    assert all("On T4 this would save" in advice.text for advice in report.advice)
    report.time("h200")
    assert all("On H200 this would save" in advice.text for advice in report.advice)
    assert not any("T4" in advice.text for advice in report.advice)


@pytest.mark.parametrize(
    ("function", "slow", "fast"),
    [(smemkit.transpose, "naive", "padded"), (smemkit.gemm, "naive_uncoalesced", "naive")],
)
def test_coalescing_saves_what_the_coalesced_kernel_saves(function, slow, fast):
    report = profile(function, slow)
    whole = report.time("h200")
    advice = next(each for each in report.advice if each.kind == "uncoalesced")
    left = whole.time_ms - advice.evidence["predicted ms saved on H200"]
    assert left == pytest.approx(profile(function, fast).time("h200").time_ms, rel=0.35)
    assert left < 0.6 * whole.time_ms


def test_what_does_not_limit_the_call_saves_little():
    x = numpy.ones(1 << 18, dtype="float32")
    report = smemkit.profile(smemkit.reduce, x, variant="divergent", blocks=6)
    limit = report.time("h200").limited_by
    advice = next(each for each in report.advice if each.kind == "divergence")
    assert "this would save little of the predicted" in advice.text
    assert f"{limit} limits it there" in advice.text and limit == "issue"


ACCESSES = r"""
extern "C" __global__ void own(const float* x, float* y, int n) {
    float kept[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < 16; ++j) kept[j] = x[(i + j * 256) % n];
    float sum = 0.0f;
    for (int j = 0; j < 64; ++j) sum += kept[(i * 7 + j * j) & 15];
    y[i] = sum;
}
extern "C" __global__ void tally(const int* x, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[x[i] & 1], x[i]);
}
"""


@pytest.mark.skipif(not smemkit.compile.find_nvrtc(), reason="needs NVRTC: smemkit[nvrtc]")
@pytest.mark.parametrize(
    ("kernel", "kind", "least"), [("own", "local_memory", 0.0), ("tally", "atomic_contention", 0.5)]
)
def test_local_memory_and_atomics_have_a_gain(kernel, kind, least):
    n = 1 << 16
    out = numpy.zeros(n, "float32") if kernel == "own" else numpy.zeros(2, "int32")
    args = (numpy.arange(n, dtype=out.dtype), out, *([numpy.int32(n)] * (kernel == "own")))
    report = smemkit.RawKernel(ACCESSES, kernel).profile((n // 256,), (256,), args, blocks=6)
    whole = report.time("h200")
    (advice,) = (each for each in report.advice if each.kind == kind)
    saved = advice.evidence["predicted ms saved on H200"]
    assert least * whole.time_ms <= saved < whole.time_ms
    assert "On H200 this would save " in advice.text


def test_less_shared_memory_lets_more_blocks_stay():
    """The advice on occupancy: what the same blocks take where all fit."""
    a = numpy.broadcast_to(numpy.float32(1), (2048, 2048))
    report = smemkit.profile(smemkit.gemm, a, a, variant="async", blocks=6)
    facts = report._captured[0]
    freed = gains.free_shared_memory(facts)
    card = smemkit.card("rtx 3060")
    before, after = (predict_launches([each], card) for each in (facts, freed))
    assert after.occupancy >= before.occupancy and after.time_ms <= before.time_ms


ARM = "for (int k = 0; k < 64; k++) v = v * {0}f + {1}f * v * v;"
PARTED = """
extern "C" __global__ void parted(const float *x, float *y)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    if (({condition}) % 2) {{
        {first}
    }} else {{
        {second}
    }}
    y[i] = v;
}}
"""


@pytest.mark.parametrize("card", ["h200", "t4"])
def test_lanes_that_stay_together_save_what_the_cured_kernel_saves(card):
    n = 1 << 20
    x, y = (smemkit.zeros(n, "float32", backend="sim") for _ in range(2))
    whole = {}
    for name, condition in (("lanes", "threadIdx.x"), ("warps", "threadIdx.x / 32")):
        first, second = ARM.format(1.0001, 0.5), ARM.format(0.999, -0.25)
        source = PARTED.format(condition=condition, first=first, second=second)
        kernel = smemkit.RawKernel(source, "parted")
        whole[name] = kernel.profile((n // 256,), (256,), (x, y), blocks=6)
    after = whole["warps"].time(card).time_ms
    before = whole["lanes"].time(card).time_ms
    assert before > 1.5 * after
    (advice,) = whole["lanes"].advice
    assert advice.kind == "divergence" and "this would save" in advice.text
    (saved,) = (value for name, value in advice.evidence.items() if "saved" in name)
    assert before - saved == pytest.approx(after, rel=0.1)
    assert whole["warps"].advice == []


BARRIERS = """
extern "C" __global__ void own(const float *x, float *y)
{
    __shared__ float tile[1024];
    int i = threadIdx.x;
    float v = x[i];
    for (int k = 0; k < 64; k++) {
        tile[i] = v;
        __syncthreads();
        v = 0.5f * tile[i] + v;
    }
    y[i] = v;
}
"""


def test_a_barrier_that_is_not_needed_is_taken_out_of_the_machine_code():
    if not all(disassemble.find_tool(tool) for tool in ("ptxas", "nvdisasm")):
        pytest.skip("no ptxas and nvdisasm; the extra [test] brings them")
    x = numpy.ones(1024, "float32")
    kernel = smemkit.RawKernel(BARRIERS, "own")
    report = kernel.profile(1, 1024, (x, x.copy()))
    before = report.time("h200")
    advice = next(each for each in report.advice if each.kind == "redundant_barrier")
    saved = advice.evidence["predicted ms saved on H200"]
    assert 0 < saved < before.time_ms
    without = smemkit.RawKernel(BARRIERS.replace("__syncthreads();", ""), "own")
    after = without.profile(1, 1024, (x, x.copy())).time("h200").time_ms
    assert saved <= 1.1 * (before.time_ms - after)


def test_advice_on_something_else_stays_as_it_was():
    a = numpy.broadcast_to(numpy.float32(1), (256, 256))
    report = smemkit.profile(smemkit.gemm, a, a, variant="naive", blocks=6)
    before = [advice.text for advice in report.advice if advice.kind == "global_reuse"]
    report.time("h200")
    assert before
    assert [advice.text for advice in report.advice if advice.kind == "global_reuse"] == before


def test_gains_are_found_when_they_are_read():
    calls = []
    found = gains.Gains({"launch": 1.0}, {"bank conflicts": lambda: calls.append(1) or 2.0})
    assert not calls and list(found) == ["bank conflicts", "launch"]
    assert found == {"launch": 1.0, "bank conflicts": 2.0} and calls == [1]
    assert pickle.loads(pickle.dumps(found)) == found and calls == [1]
    assert dict(gains.Gains({"launch": 1.0}, {"bank conflicts": lambda: 0.0})) == {"launch": 1.0}


@pytest.mark.parametrize("variant", ["column", "register_1d", "tiled"])
def test_a_prediction_says_what_its_limit_costs(variant):
    a = numpy.broadcast_to(numpy.float32(1), (1024, 1024))
    found = smemkit.predict(smemkit.gemm, a, a, variant=variant, device="t4")
    limit = found.limited_by
    assert limit in gains.EASED
    assert 0.02 * found.time_ms < found.gains[limit] < found.time_ms
    text = " ".join(str(found).split())
    assert f"Limited by {limit}: {found.terms[limit].meaning}, most of all at {variant}.cu:" in text
    first = "bank conflicts" if variant == "column" else limit
    assert found.advice.startswith(f"without {first} it would take ")
