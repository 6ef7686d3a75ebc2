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
