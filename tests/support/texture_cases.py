"""Textures and coordinates at which the simulator is compared with texture units."""

import dataclasses

import numpy as np

import smemkit

SOURCE = """
#define EACH int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
#define READ(type, name, call) \\
    extern "C" __global__ void name(cudaTextureObject_t t, const float *x, type *out, int n) \\
    { \\
        EACH; \\
        out[i] = call; \\
    }
READ(float4, one, tex1D<float4>(t, x[i]))
READ(float4, two, (tex2D<float4>(t, x[2 * i], x[2 * i + 1])))
READ(float4, three, (tex3D<float4>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2])))
READ(int4, whole, (tex2D<int4>(t, x[2 * i], x[2 * i + 1])))
READ(float4, gather, (tex2Dgather<float4>(t, x[2 * i], x[2 * i + 1], 0)))
READ(float4, cube, (texCubemap<float4>(t, x[3 * i], x[3 * i + 1], x[3 * i + 2])))
READ(float4, layer, (tex1DLayered<float4>(t, x[2 * i], (int)x[2 * i + 1])))
READ(float4, layer2, (tex2DLayered<float4>(t, x[3 * i], x[3 * i + 1], (int)x[3 * i + 2])))
"""
BORDER = (0.75, -2.0, 3.5, 0.1)
ODD = np.array(
    [0, -0.0, 1e-30, -1e-30, 0.5, -0.5, 300.25, -77.5, np.inf, -np.inf, np.nan], "float32"
)


@dataclasses.dataclass(frozen=True)
class Case:
    """`size`: texels along x, y and z; further words are those of smemkit.Texture."""

    kernel: str
    size: tuple
    dtype: str = "float32"
    words: tuple = ()

    @property
    def name(self):
        words = [f"{name}={word}" for name, word in self.words]
        return " ".join([self.kernel, "x".join(map(str, self.size)), self.dtype, *words])

    def get(self, word, default=None):
        return dict(self.words).get(word, default)


def make_case(kernel, size, dtype="float32", **words):
    return Case(kernel, size, dtype, tuple(words.items()))


def list_cases():
    """All cases, each with another name."""
    cases = []
    for filter in ("point", "linear"):
        for address in ("clamp", "border", "wrap", "mirror"):
            for normalized in (False, True):
                if address in ("wrap", "mirror") and not normalized:
                    continue
                words = {"filter": filter, "address": address, "normalized": normalized}
                cases += [make_case("one", (size,), **words) for size in (1, 7, 1000, 16384)]
                cases.append(make_case("two", (37, 21), channels=4, **words))
                cases.append(make_case("three", (9, 6, 5), **words))
        cases.append(make_case("two", (16, 16), "float16", channels=2, filter=filter))
        cases.append(make_case("gather", (16, 12), filter=filter))
        cases.append(make_case("cube", (8, 8), cube=True, filter=filter))
        cases.append(make_case("layer", (16,), layered=True, filter=filter))
        cases.append(make_case("layer2", (9, 7), layered=True, filter=filter))
        for dtype in ("uint8", "int8", "uint16", "int16"):
            for address in ("clamp", "border"):
                words = {"filter": filter, "address": address, "as_floats": True}
                cases.append(make_case("two", (16, 16), dtype, channels=2, **words))
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32"):
        cases.append(make_case("whole", (16, 16), dtype, channels=4, address="border"))
    return cases


def make_texels(case, random):
    layers = (5,) if case.get("layered") else (6,) if case.get("cube") else ()
    channels = (case.get("channels"),) if case.get("channels", 1) > 1 else ()
    shape = (*layers, *case.size[::-1], *channels)
    dtype = np.dtype(case.dtype)
    if dtype.kind != "f":
        return random.integers(0, 256, (*shape, dtype.itemsize), "uint8").view(dtype)[..., 0]
    return (random.random(shape) * 4 - 2).astype(dtype)


def make_coordinates(case, count, random):
    """Inside and around the texture, on and beside texels and their borders, and odd ones."""
    if case.kernel == "cube":
        return (random.random((count, 3)) * 2 - 1).astype("float32")
    columns = []
    for size in case.size:
        inside = random.random(count) * size
        halves = np.floor(inside) + random.integers(0, 2, count) / 2
        choices = [
            inside,
            (inside - size / 2) * 3,
            halves,
            halves + (random.random(count) - 0.5) / 2.0 ** random.integers(0, 16, count),
            np.floor(inside * 512) / 512,
            ODD[random.integers(0, len(ODD), count)],
        ]
        column = np.choose(random.integers(0, len(choices), count), choices)
        columns.append(column / size if case.get("normalized") else column)
    if case.get("layered"):
        columns.append(random.integers(-2, 7, count))
    return np.stack(columns, 1).astype("float32")


def make_inputs(case, count):
    random = np.random.default_rng([ord(letter) for letter in case.name])
    return make_texels(case, random), make_coordinates(case, count, random)


def run(case, texels, coordinates, backend):
    """What the kernel reads at each of the coordinates: four words."""
    words = {"border": BORDER, **dict(case.words)}
    texture = smemkit.Texture(texels, backend=backend, **words)
    count = len(coordinates)
    out = np.zeros((count, 4), "int32" if case.kernel == "whole" else "float32")
    kernel = smemkit.RawModule(SOURCE).get_function(case.kernel)
    kernel(-(-count // 128), 128, (texture, coordinates, out, count), backend=backend)
    return out.view("uint32")


def find_differences(case, ours, theirs):
    """Rows that differ by more than is known: the sign of 0, NaNs, and what Texture's notes say."""
    a, b = ours.view("float32"), theirs.view("float32")
    good = (ours == theirs) | ((a == 0) & (b == 0)) | (np.isnan(a) & np.isnan(b))
    if case.get("filter") == "linear" and case.dtype == "int8":
        with np.errstate(invalid="ignore"):
            good |= np.abs(a - b) < 1.1 / 32767
    if case.get("filter") == "linear" and case.get("address") == "mirror":
        with np.errstate(invalid="ignore"):
            good |= np.abs(a - b) < 3 * 4 / 256  # another weight along each axis, of texels -2 to 2
    if case.get("filter") == "linear" and case.kernel == "three":
        with np.errstate(invalid="ignore"):
            good |= np.abs(a - b) < 1e-6
    return np.nonzero(~good.all(axis=1))[0]
