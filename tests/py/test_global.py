"""RawModule.get_global: variables of a module as arrays."""

import gc

import numpy as np
import pytest

import smemkit

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .const .align 4 .b8 weights[16];
.visible .global .align 8 .u64 total = 7;
.shared .align 4 .b8 tile[64];
.visible .entry scale(.param .u64 to)
{
    .reg .b64 %rd<9>;
    .reg .b32 %r<3>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.u64 %rd4, weights;
    add.s64 %rd5, %rd4, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.const.f32 %f2, [%rd5];
    mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd3], %f3;
    red.global.add.u64 [total], 1;
    ret;
}
"""


def run(module, machine):
    x = np.full(4, 2, "f4")
    module.get_function("scale")(1, 4, (x,), backend=machine)
    return x.tolist()


def test_variables_are_written_and_read(machine):
    module = smemkit.RawModule(PTX)
    weights = module.get_global("weights", "float32", machine)
    assert weights.shape == (4,) and weights.backend == machine
    assert smemkit.asnumpy(weights).tolist() == [0] * 4
    weights[:] = [1, 2, 3, 4]
    assert run(module, machine) == [2, 4, 6, 8]
    module.get_global("weights", "float32", machine)[1:3].fill(10)
    assert run(module, machine) == [2, 20, 20, 8]
    total = module.get_global("total", "uint64", backend=machine)
    assert total.item() == 15
    total.fill(0)
    run(module, machine)
    assert total.item() == 4
    assert module.get_global("total", backend=machine).shape == (8,)


def test_each_module_has_its_own():
    one, other = smemkit.RawModule(PTX), smemkit.RawModule(PTX)
    one.get_global("weights", "f4", "sim").fill(3)
    other.get_global("weights", "f4", "sim").fill(5)
    assert run(one, "sim") == [6] * 4 and run(other, "sim") == [10] * 4


def test_the_array_keeps_the_module():
    total = smemkit.RawModule(PTX).get_global("total", "i8", "sim")
    gc.collect()
    assert total.item() == 7


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("nothing",), smemkit.ArgumentError, "no variable nothing; it has weights, total"),
        (("tile",), smemkit.ArgumentError, "no variable tile"),
        (("weights", "c16,f4"), smemkit.ArgumentError, "16 bytes, which are no whole elements"),
        (("weights", "S4"), smemkit.ArgumentTypeError, "does not exist on a device"),
        ((3,), TypeError, "name"),
    ],
    ids=str,
)
def test_refusals(arguments, error, text):
    module = smemkit.RawModule(PTX)
    with pytest.raises(error, match=text):
        module.get_global(*arguments, backend="sim")


def test_a_module_without_variables():
    module = smemkit.RawModule(PTX.replace("[total]", "[%rd1]").split(".visible .const")[0] + EMPTY)
    with pytest.raises(smemkit.ArgumentError, match="none that a host reaches"):
        module.get_global("w", backend="sim")


EMPTY = ".visible .entry empty() { ret; }"


def test_bytes_that_are_meant_as_elements():
    variable = smemkit.RawModule(PTX).get_global("weights", backend="sim")
    assert variable.dtype == np.uint8
    with pytest.raises(
        smemkit.ShapeError, match=r'ask for the elements, as in get_global\(name, "'
    ):
        variable[:] = np.ones(variable.size // 4, "f4")
    with pytest.raises(smemkit.ShapeError, match=r"of shape \(\d+,\)$"):
        variable[:] = np.ones(variable.size - 1, "u1")


SOURCE = r"""
#define N 8
typedef float real;
__managed__ int counter = 5;
__constant__ float w[2][4] = {1, 2, 3, 4}, bias;
namespace two { __device__ int v = 9; struct S { float a; int b; }; __device__ S s[3]; }
static __device__ int hidden = 3;
template <int I> __constant__ double table[I];
template <typename T, int I> __device__ T pairs[2];
__device__ float4 quads[N * 2];
extern "C" { __device__ unsigned long long total; }
__constant__ real *p;
__align__(16) __device__ short list[] = {1, 2, 3};
__device__ float add(float x) { return x + bias; }
extern "C" __global__ void run()
{
    counter += 1;
    two::v += hidden;
    two::s[threadIdx.x].b = 3;
    quads[0].x = add(w[0][1]);
    total++;
    list[1]++;
    if (p != nullptr)
        p[0] = 1;
}
"""


@pytest.fixture(scope="module")
def module():
    return smemkit.RawModule(SOURCE, name_expressions=("table<3>", "&table<5>", "pairs<short, 7>"))


DECLARED = {
    "counter": ("int32", ()),
    "w": ("float32", (2, 4)),
    "bias": ("float32", ()),
    "two::v": ("int32", ()),
    "_ZN3two1vE": ("int32", ()),
    "two::s": ("uint8", (24,)),  # a structure
    "hidden": ("int32", ()),
    "table<3>": ("float64", (3,)),
    "&table<5>": ("float64", (5,)),
    "pairs<short, 7>": ("int16", (2,)),
    "quads": ("float32", (16, 4)),
    "total": ("uint64", ()),
    "p": ("uint64", ()),
    "list": ("int16", (3,)),
}


@pytest.mark.parametrize("name", DECLARED)
def test_names_types_and_shapes_are_those_of_the_source(module, machine, name):
    dtype, shape = DECLARED[name]
    d = module.get_global(name, backend=machine)
    assert (d.dtype, d.shape) == (dtype, shape)
    assert module.get_global(name, "uint8", machine).nbytes == d.nbytes


def test_the_initial_values(module, machine):
    assert smemkit.asnumpy(module.get_global("w", backend=machine)).tolist() == [
        [1, 2, 3, 4],
        [0, 0, 0, 0],
    ]
    assert module.get_global("two::v", backend=machine).item() == 9


def test_names_that_mean_nothing_or_two_variables(module):
    for name in ("v", "table", "table<4>", "three::v"):
        with pytest.raises(smemkit.ArgumentError, match=r"it has .*table<3>, table<5>, .*two::v"):
            module.get_global(name, backend="sim")


def test_a_managed_variable_is_seen_by_the_host(machine):
    module = smemkit.RawModule(SOURCE, backend=machine)
    counter = np.asarray(module.get_global("counter"))
    assert counter == 5
    counter[...] = 41
    module.get_function("run")(1, 1, ())
    assert counter == 42 and module.get_global("counter").item() == 42
