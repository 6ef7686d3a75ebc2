"""wmma: every shape, type and layout, from and to memory of every space."""

import dataclasses

import numpy as np
import pytest
from sim.exec import mma_model, mma_tools, wmma_tools
from sim.exec.mma_model import decode, encode
from sim.exec.wmma_tools import FORMS, LAYOUTS, multiply, write_kernel

import smemkit
from smemkit import _core

EACH_FORM = pytest.mark.parametrize("form", FORMS, ids=str)


def draw(form, rng, low=-8, high=9):
    """Small whole numbers as bits of a, b and c, and themselves."""
    low = 0 if form.kind == "u8" else low
    m, n, k = form.size
    numbers = [
        rng.integers(low, high, (m, k)),
        rng.integers(low, high, (k, n)),
        rng.integers(-99, 100, (m, n)),
    ]
    kinds = form.kind, form.kind, form.kind_c
    return [encode(kind, x) for kind, x in zip(kinds, numbers, strict=True)], numbers


@pytest.mark.parametrize("space", ["global", "shared", ""])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
@EACH_FORM
def test_small_integers_are_exact(form, layouts, space, rng, machine):
    bits, (a, b, c) = draw(form, rng)
    for extra in (0, 1):
        out = multiply(form, layouts, *bits, machine, space=space, extra=extra)
        np.testing.assert_array_equal(decode(form.kind_d, out), a @ b + c)


def chain(form, a, b, c):
    """The product as tensor cores make it: 8 columns at a time, and k in steps of 4 for tf32."""
    m, n, k = form.size
    if form.shape == "m8n32k16":
        turned = dataclasses.replace(form, shape="m32n8k16")
        return chain(turned, b.T, a.T, c.T).T
    depth = 4 if form.kind in ("tf32", "f64") else 16
    rows = 8 if form.kind == "f64" else 16
    one = mma_tools.Form("", form.kind, rows, depth, 80)
    d = np.array(c)
    for i in range(0, m, rows):
        for j in range(0, n, 8):
            for step in range(0, k, depth):
                d[i : i + rows, j : j + 8] = mma_model.multiply(
                    one,
                    a[None, i : i + rows, step : step + depth],
                    b[None, step : step + depth, j : j + 8],
                    d[None, i : i + rows, j : j + 8],
                )[0]
    return d


@pytest.mark.parametrize("regime", ["normal", "wide", "large_c"])
@pytest.mark.parametrize(
    "form", [f for f in FORMS if f.kind_c == f.kind_d == "f32" or f.kind == "f64"], ids=str
)
def test_sums_are_those_of_mma(form, regime, rng, machine):
    if machine == "cuda" and smemkit.device_info(backend="cuda")["compute_capability_major"] != 9:
        pytest.skip("other tensor cores keep fewer or more bits")
    m, n, k = form.size
    low, high = {"normal": (-2, 2), "wide": (-7, 7), "large_c": (-2, 2)}[regime]
    c = mma_model.spread(rng, (m, n), *((20, 40) if regime == "large_c" else (low, high)))
    a, b = mma_model.spread(rng, (m, k), low, high), mma_model.spread(rng, (k, n), low, high)
    a, b, c = encode(form.kind, a), encode(form.kind, b), encode(form.kind_c, c)
    out = multiply(form, ("row", "col", "row"), a, b, c, machine)
    np.testing.assert_array_equal(out, chain(form, a, b, c))


@EACH_FORM
def test_the_default_stride_is_that_of_the_matrix(form, rng, machine):
    for layouts in LAYOUTS[:2]:
        lines = write_kernel(form, layouts).splitlines()
        lines = [x.rpartition(",")[0] + ";" if "load" in x or "store" in x else x for x in lines]
        bits, (a, b, c) = draw(form, rng)
        out = multiply(form, layouts, *bits, machine, text="\n".join(lines))
        np.testing.assert_array_equal(decode(form.kind_d, out), a @ b + c)


def test_integers_saturate(machine):
    form = next(form for form in FORMS if form.words == "satfinite")
    m, n, k = form.size
    a, b = np.full((m, k), 255, np.uint8), np.full((k, n), 255, np.uint8)
    c = np.full((m, n), 0x7FFFFFF0, np.uint32)
    out = multiply(form, LAYOUTS[0], a, b, c, machine)
    assert (out == 0x7FFFFFFF).all()


def test_sums_may_lie_over_their_sources(rng):
    """d is c, in another order of registers, which ptxas of CUDA 13.0 mistakes."""
    form = FORMS[0]
    text = write_kernel(form, LAYOUTS[0])
    c, d = wmma_tools.registers(form, "c"), wmma_tools.registers(form, "d")
    turned = "{" + ", ".join(reversed(c.strip("{}").split(", "))) + "}"
    mma = next(line for line in text.splitlines() if "wmma.mma" in line)
    text = text.replace(mma, mma.replace(d, turned)).replace(f"{d}, 16;", f"{turned}, 16;")
    bits, (a, b, c) = draw(form, rng)
    out = multiply(form, LAYOUTS[0], *bits, text=text)
    np.testing.assert_array_equal(decode("f32", out), a @ b + c)


def test_addresses_of_32_bits_and_of_variables(rng):
    form = FORMS[0]
    text = write_kernel(form, LAYOUTS[0], space="shared")
    bits, (a, b, c) = draw(form, rng)
    narrow = text.replace("[sa]", "[%r9+16]").replace(
        "bar.sync 0;", "bar.sync 0;\nmov.u32 %r9, sa;\nsub.u32 %r9, %r9, 16;", 1
    )
    for one in (text, narrow):
        out = multiply(form, LAYOUTS[0], *bits, text=one)
        np.testing.assert_array_equal(decode("f32", out), a @ b + c)


@EACH_FORM
def test_check_finds_nothing(form):
    for space in ("global", "shared"):
        text = write_kernel(form, LAYOUTS[1], space=space)
        kernel = smemkit.RawModule(text, backend="sim").get_function("k")
        buffers = tuple(np.zeros(32 * 32, np.uint64) for _ in range(4))
        assert smemkit.check(kernel, 1, 32, buffers).findings == []


def test_all_lanes_must_be_there():
    form = FORMS[0]
    text = write_kernel(
        form, LAYOUTS[0], before="mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;", guard="@%p1"
    )
    zeros = [np.zeros(form.shape_of(x), np.uint32 if x == "c" else np.uint16) for x in "abc"]
    with pytest.raises(
        smemkit.BarrierError, match=r"\.sync\.aligned is reached by lanes 0x0000007f"
    ) as caught:
        multiply(form, LAYOUTS[0], *zeros, text=text)
    assert "wmma.load.b" in text.splitlines()[caught.value.ptx_line - 1]


def count(text):
    kernel = smemkit.RawModule(text, backend="sim").get_function("k")
    buffers = [np.zeros(32 * 32, np.uint64) for _ in range(4)]
    _, launches = _core._capture("profile", kernel, (1, 32, tuple(buffers)), {}, 0, True)
    return launches[0]["counters"]


# Requests for a, b and c, as ptxas makes them for sm_90: words where elements lie side by side,
# words to be transposed where they do not, single bytes of 8-bit elements, pairs of sums.
REQUESTS = {
    ("f16", "m16n16k16", "row"): (4 + 4 + 4, 4),
    ("f16", "m16n16k16", "col"): (4 + 4 + 8, 8),
    ("bf16", "m32n8k16", "col"): (8 + 2 + 8, 8),
    ("s8", "m16n16k16", "row"): (2 + 8 + 4, 4),
    ("s8", "m8n32k16", "col"): (4 + 4 + 4, 4),
    ("tf32", "m16n16k8", "row"): (4 + 4 + 4, 4),
    ("f64", "m8n8k4", "row"): (1 + 1 + 1, 1),
}


@pytest.mark.parametrize("key", REQUESTS, ids="-".join)
def test_requests_are_those_of_the_machine_code(key):
    kind, shape, layout = key
    form = next(f for f in FORMS if (f.kind, f.shape) == (kind, shape) and f.kind_d != "f16")
    counters = count(write_kernel(form, (layout,) * 3))
    found = counters["global.load.requests"], counters["global.store.requests"]
    assert found == REQUESTS[key]
    m, n, k = form.size
    assert counters["matrix.products"] == m * n * k


def test_shared_fragments_are_loaded_by_ldmatrix():
    form = FORMS[0]
    without = count(write_kernel(form, LAYOUTS[0], space="global"))
    assert without["shared.load.instructions"] == 0
    text = write_kernel(form, LAYOUTS[0], space="shared")
    once = "\n".join(line for line in text.splitlines() if "wmma.load.a" not in line)
    both, one = count(text), count(once)
    assert both["shared.load.instructions"] - one["shared.load.instructions"] == 1
    wavefronts = both["shared.load.wavefronts"] - one["shared.load.wavefronts"]
    assert wavefronts == 2 * 4  # rows of 32 bytes: every second one has the same banks


# movmatrix ---------------------------------------------------------------------------------------


def test_movmatrix(rng, machine):
    text = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 d, .param .u64 a)
{
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [d];
mov.u32 %r1, %tid.x;
mad.wide.u32 %rd1, %r1, 4, %rd1;
mad.wide.u32 %rd2, %r1, 4, %rd2;
ld.global.b32 %r2, [%rd1];
movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;
st.global.b32 [%rd2], %r2;
ret;
}
"""
    a, d = rng.integers(0, 2**16, (8, 8)).astype(np.uint16), np.zeros((8, 8), np.uint16)
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel(1, 32, (d, a), backend=machine)
    np.testing.assert_array_equal(d, a.T)
    if machine == "sim":
        with pytest.raises(smemkit.BarrierError, match="movmatrix.sync.aligned"):
            kernel(1, 31, (d, a))
