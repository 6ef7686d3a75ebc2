"""Textures and surfaces on the simulator: what texture units read, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import texture_cases

import smemkit

TABLE = Path(__file__).parent / "textures_h200.json"
SURFACES = """
extern "C" __global__ void twice(cudaSurfaceObject_t s, int w)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < w)
        surf2Dwrite(2 * surf2Dread<float>(s, 4 * x, y), s, 4 * x, y);
}
extern "C" __global__ void bytes(cudaSurfaceObject_t s, uchar4 *out)
{
    uchar4 v = surf1Dread<uchar4>(s, 4 * threadIdx.x);
    out[threadIdx.x] = v;
    surf1Dwrite(make_uchar4(v.w, v.z, v.y, v.x), s, 4 * threadIdx.x);
}
#define EDGE(name, mode) \\
    extern "C" __global__ void name(cudaSurfaceObject_t s, float *out) \\
    { \\
        int x = (int)threadIdx.x - 2; \\
        out[threadIdx.x] = surf2Dread<float>(s, 4 * x, 1, mode); \\
        surf2Dwrite(100.0f + x, s, 4 * x, 2, mode); \\
    }
EDGE(trap, cudaBoundaryModeTrap)
EDGE(clamp, cudaBoundaryModeClamp)
EDGE(zero, cudaBoundaryModeZero)
extern "C" __global__ void layers(cudaSurfaceObject_t s, float *out)
{
    out[threadIdx.x] = surf2DLayeredread<float>(s, 4 * threadIdx.x, 1, 2);
    surf2DLayeredwrite(-1.0f, s, 4 * threadIdx.x, 0, 1);
}
extern "C" __global__ void volume(cudaSurfaceObject_t s, float2 *out)
{
    out[threadIdx.x] = surf3Dread<float2>(s, 8 * threadIdx.x, 1, 2);
}
extern "C" __global__ void fetch(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex1Dfetch<float>(t, (int)threadIdx.x - 1);
}
extern "C" __global__ void levels(cudaTextureObject_t t, float *out)
{
    out[0] = tex2DLod<float>(t, 1.5f, 0.5f, 3.0f);
    out[1] = tex2DGrad<float>(t, 1.5f, 0.5f, make_float2(4, 4), make_float2(4, 4));
}
"""


def get_kernel(name):
    return smemkit.RawModule(SURFACES).get_function(name)


def read_table():
    return json.loads(TABLE.read_text())


@pytest.mark.parametrize("case", texture_cases.list_cases(), ids=lambda case: case.name)
def test_reads_are_those_of_a_texture_unit(case):
    table = read_table()
    words = [int(word, 16) for word in table["cases"][case.name].split()]
    texels, coordinates = texture_cases.make_inputs(case, table["count"])
    ours = texture_cases.run(case, texels, coordinates, "sim")
    theirs = np.array(words, "uint32").reshape(-1, 4)
    wrong = texture_cases.find_differences(case, ours, theirs)
    assert not len(wrong), (
        coordinates[wrong],
        ours[wrong].view("float32"),
        theirs[wrong].view("float32"),
    )


def test_the_middle_of_texels_is_the_texel(machine):
    """Whatever the filter: weights of neighbours are 0."""
    texels = np.arange(15, dtype="float32").reshape(3, 5)
    y, x = np.mgrid[0:3, 0:5].reshape(2, -1) + 0.5
    for filter in ("point", "linear"):
        case = texture_cases.make_case("two", (5, 3), filter=filter)
        read = texture_cases.run(case, texels, np.stack([x, y], 1).astype("float32"), machine)
        assert (read.view("float32")[:, 0] == texels.ravel()).all()


def test_levels_of_a_texture_without_levels(machine):
    texture = smemkit.Texture(np.arange(12, dtype="float32").reshape(3, 4), backend=machine)
    out = np.zeros(2, "float32")
    get_kernel("levels")(1, 1, (texture, out), backend=machine)
    assert out.tolist() == [1, 1]


def test_halves_are_the_floats_rounded(machine):
    """One in each register (.v4.f16), which may be discarded, and two (.v2.f16x2); a guard."""
    values = np.array([1, 2049, 65519, 1e-8, -0.1, 3e38], np.float32)
    text = """.version 9.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 t, .param .u64 out)
{
.reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .b16 %h<4>; .reg .pred %p;
ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mul.wide.u32 %rd3, %r1, 8; add.u64 %rd2, %rd2, %rd3;
mov.b16 %h0, 7; mov.b16 %h3, 9; setp.ne.u32 %p, %r1, 4;
@%p tex.2d.v4.f16.s32 {%h0, _, %h2, %h3}, [%rd1, {%r1, %r2}];
tex.2d.v2.f16x2.s32 {%r4, %r5}, [%rd1, {%r1, %r2}];
st.global.b16 [%rd2], %h0; st.global.b16 [%rd2+2], %h3; st.global.b32 [%rd2+4], %r4;
ret;
}
"""
    texture = smemkit.Texture(values.reshape(1, 6), backend=machine)
    out = np.zeros((6, 4), np.uint16)
    kernel = smemkit.RawModule(text, backend=machine).get_function("k")
    kernel(1, 6, (texture, out), backend=machine)
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16).view(np.uint16)
    expected = np.stack([halves, [0] * 6, halves, [0] * 6], axis=1)
    expected[4, :2] = 7, 9
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(smemkit.PtxError, match="no _ in place of a pair of halves"):
        smemkit.RawModule(text.replace("%r5}", "_}"), backend="sim").get_function("k")


def test_a_surface_is_read_and_written(machine):
    texels = np.arange(12, dtype="float32").reshape(3, 4)
    surface = smemkit.Texture(texels, surface=True, backend=machine)
    get_kernel("twice")(3, 32, (surface, 4), backend=machine)
    assert (surface.asnumpy() == 2 * texels).all()
    assert texels[2, 3] == 11, "the texels are a copy"


def test_a_surface_of_bytes(machine):
    texels = np.arange(20, dtype="uint8").reshape(5, 4)
    surface = smemkit.Texture(texels, channels=4, surface=True, backend=machine)
    out = np.zeros((5, 4), "uint8")
    get_kernel("bytes")(1, 5, (surface, out), backend=machine)
    assert (out == texels).all()
    assert (surface.asnumpy() == texels[:, ::-1]).all()


@pytest.mark.parametrize(
    ("mode", "read", "written"),
    [
        ("clamp", [4, 4, 4, 5, 6, 7, 7, 7], [100, 101, 102, 103]),
        ("zero", [0, 0, 4, 5, 6, 7, 0, 0], [100, 101, 102, 103]),
    ],
)
def test_outside_a_surface(machine, mode, read, written):
    surface = smemkit.Texture(
        np.arange(12, dtype="float32").reshape(3, 4), surface=True, backend=machine
    )
    out = np.zeros(8, "float32")
    get_kernel(mode)(1, 8, (surface, out), backend=machine)
    assert out.tolist() == read
    left = surface.asnumpy()[2]
    assert left[1:3].tolist() == written[1:3]
    if mode == "zero":
        assert left.tolist() == written


def test_outside_a_surface_that_traps():
    surface = smemkit.Texture(np.zeros((3, 4), "float32"), surface=True, backend="sim")
    with pytest.raises(
        smemkit.OutOfBoundsError, match="4 bytes lies outside the surface.*x counts bytes"
    ):
        get_kernel("trap")(1, 8, (surface, np.zeros(8, "float32")), backend="sim")


def test_layers_and_volumes_of_surfaces(machine):
    texels = np.arange(24, dtype="float32").reshape(3, 2, 4)
    surface = smemkit.Texture(texels, layered=True, surface=True, backend=machine)
    out = np.zeros(4, "float32")
    get_kernel("layers")(1, 4, (surface, out), backend=machine)
    assert (out == texels[2, 1]).all()
    assert (surface.asnumpy()[1, 0] == -1).all()
    assert (surface.asnumpy()[0] == texels[0]).all()
    volume = smemkit.Texture(texels.reshape(3, 2, 2, 2), channels=2, surface=True, backend=machine)
    pairs = np.zeros((2, 2), "float32")
    get_kernel("volume")(1, 2, (volume, pairs), backend=machine)
    assert (pairs.ravel() == texels[2, 1]).all()


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (
            {"texels": np.zeros((2, 2))},
            smemkit.ArgumentTypeError,
            "texels of float64; it takes uint8",
        ),
        (
            {"texels": np.zeros((2, 2), "float32"), "channels": 3},
            smemkit.ArgumentError,
            "1, 2 or 4",
        ),
        ({"texels": np.zeros((2, 3), "float32"), "channels": 2}, smemkit.ShapeError, "last axis"),
        ({"texels": np.zeros((), "float32")}, smemkit.ShapeError, "1 to 3 axes"),
        ({"texels": np.zeros((0, 3), "float32")}, smemkit.ShapeError, "none of them empty"),
        ({"texels": np.zeros((6, 3, 4), "float32"), "cube": True}, smemkit.ShapeError, "square"),
        ({"texels": np.zeros(3, "int32"), "filter": "linear"}, smemkit.ArgumentError, "filtered"),
        (
            {"texels": np.zeros(3, "float32"), "filter": "cubic"},
            smemkit.ArgumentError,
            "point, linear",
        ),
        (
            {"texels": np.zeros(3, "float32"), "address": "wrap"},
            smemkit.ArgumentError,
            "normalized",
        ),
        ({"texels": np.zeros(3, "float32"), "address": "edge"}, smemkit.ArgumentError, "clamp"),
    ],
)
def test_what_no_texture_is(words, error, message):
    with pytest.raises(error, match=message):
        smemkit.Texture(**words, backend="sim")


@pytest.mark.parametrize(
    ("kernel", "make", "message"),
    [
        ("fetch", lambda: 12345, "is not a texture object"),
        (
            "fetch",
            lambda: smemkit.Texture(np.zeros((2, 2), "float32"), backend="sim"),
            "another shape",
        ),
        (
            "fetch",
            lambda: smemkit.Texture(np.zeros(4, "float32"), surface=True, backend="sim"),
            "not a texture",
        ),
        (
            "clamp",
            lambda: smemkit.Texture(np.zeros((4, 4), "float32"), backend="sim"),
            "not a surface",
        ),
    ],
)
def test_objects_that_a_kernel_cannot_use(kernel, make, message):
    held = make()
    with pytest.raises(smemkit.ExecutionError, match=message):
        get_kernel(kernel)(1, 4, (held, np.zeros(4, "float32")), backend="sim")


def test_an_object_that_is_gone():
    texture = smemkit.Texture(np.zeros(4, "float32"), backend="sim")
    number = texture.__index__()
    del texture
    with pytest.raises(smemkit.ExecutionError, match="is not a texture object"):
        get_kernel("fetch")(1, 4, (number, np.zeros(4, "float32")), backend="sim")


def test_textures_under_profile_and_check():
    texels = np.arange(12, dtype="float32").reshape(3, 4)
    surface = smemkit.Texture(texels, surface=True, backend="sim")

    def call():
        get_kernel("twice")(3, 32, (surface, 4), backend="sim")

    assert not smemkit.check(call).findings
    assert smemkit.profile(call).launches[0].counters["global.load.requests"] == 0
    assert (surface.asnumpy() == 4 * texels).all()
