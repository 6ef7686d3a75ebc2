"""CUDA's SIMD intrinsics (__vadd4 and its family), compiled by NVRTC, against integers."""

import numpy as np
import pytest

import smemkit
from smemkit import compile

THREADS = 512
EDGES = {4: [0, 1, 0x7F, 0x80, 0x81, 0xFF], 2: [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF]}
COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def read_types(parts):
    return (np.int8, np.uint8) if parts == 4 else (np.int16, np.uint16)


def clip(x, kind):
    limits = np.iinfo(kind)
    return np.clip(x, limits.min, limits.max)


def list_functions(parts):
    """{name: (number of operands, function of the signed and the unsigned numbers of each)}."""
    signed, unsigned = read_types(parts)
    found = {
        "vabs": (1, lambda a, _: abs(a[0])),
        "vabsss": (1, lambda a, _: clip(abs(a[0]), signed)),
        "vneg": (1, lambda a, _: -a[0]),
        "vnegss": (1, lambda a, _: clip(-a[0], signed)),
        "vhaddu": (2, lambda _, u: u[0] + u[1] >> 1),
        "vavgs": (2, lambda a, _: a[0] + a[1] + (a[0] + a[1] >= 0) >> 1),
        "vavgu": (2, lambda _, u: u[0] + u[1] + 1 >> 1),
        "vabsdiffs": (2, lambda a, _: abs(a[0] - a[1])),
        "vabsdiffu": (2, lambda _, u: abs(u[0] - u[1])),
    }
    for name, function in (("vadd", np.add), ("vsub", np.subtract)):
        found[name] = 2, lambda a, _, f=function: f(*a)
        found[f"{name}ss"] = 2, lambda a, _, f=function: clip(f(*a), signed)
        found[f"{name}us"] = 2, lambda _, u, f=function: clip(f(*u), unsigned)
    for name, function in (("vmax", np.maximum), ("vmin", np.minimum)):
        found[f"{name}s"] = 2, lambda a, _, f=function: f(*a)
        found[f"{name}u"] = 2, lambda _, u, f=function: f(*u)
    for name, function in COMPARISONS.items():
        for sign in ("",) if name in ("eq", "ne") else ("s", "u"):
            for head, true in (("vset", 1), ("vcmp", -1)):

                def compare(a, u, f=function, sign=sign, true=true):
                    return f(*(a if sign == "s" else u)) * true

                found[f"{head}{name}{sign}"] = 2, compare
    return found


def sums(parts):
    """{name: function}: one number for all parts of a word."""
    return {
        "vsads": lambda a, _: abs(a[0] - a[1]).sum(1),
        "vsadu": lambda _, u: abs(u[0] - u[1]).sum(1),
    }


def make_operands(parts, rng):
    """Words of two operands; two thirds of their parts are edges."""
    unsigned = read_types(parts)[1]
    numbers = rng.integers(0, np.iinfo(unsigned).max, (2, THREADS, parts), endpoint=True)
    at_edge = rng.random(numbers.shape) < 2 / 3
    numbers[at_edge] = rng.choice(EDGES[parts], int(at_edge.sum()))
    return np.ascontiguousarray(numbers.astype(unsigned)).view(np.uint32)[..., 0]


def write_source(calls):
    lines = [f"y[{i} * {THREADS} + t] = {call};" for i, call in enumerate(calls)]
    return (
        'extern "C" __global__ void k(const unsigned *x, unsigned *y)\n{\n'
        f"unsigned t = threadIdx.x, a = x[t], b = x[{THREADS} + t];\n" + "\n".join(lines) + "\n}\n"
    )


@pytest.fixture(scope="module")
def nvrtc():
    path = compile.find_nvrtc()
    if path is None:
        pytest.skip("no NVRTC here; pip install 'smemkit[nvrtc]' brings it")
    return path


@pytest.mark.parametrize("parts", [2, 4])
def test_every_intrinsic(parts, nvrtc, rng):
    functions = list_functions(parts)
    calls = [f"__{x}{parts}({'a, b' if n == 2 else 'a'})" for x, (n, _) in functions.items()]
    calls += [f"__{name}{parts}(a, b)" for name in sums(parts)]
    x = make_operands(parts, rng)
    y = np.zeros((len(calls), THREADS), np.uint32)
    ptx = compile.compile_nvrtc(nvrtc, write_source(calls), ("-arch=compute_90",))
    kernel = smemkit.RawModule(ptx, backend="sim").get_function("k")
    kernel((1,), (THREADS,), (x, y), backend="sim")
    signed, unsigned = (
        x.view(kind).reshape(2, THREADS, parts).astype(int) for kind in read_types(parts)
    )
    wanted = [function(signed, unsigned) for _, function in functions.values()]
    wanted = [part.astype(read_types(parts)[1]).view(np.uint32)[:, 0] for part in wanted]
    wanted += [function(signed, unsigned).astype(np.uint32) for function in sums(parts).values()]
    wrong = [
        call for call, got, right in zip(calls, y, wanted, strict=True) if (got != right).any()
    ]
    assert not wrong
