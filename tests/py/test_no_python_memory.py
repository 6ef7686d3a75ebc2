"""Every allocation of a Python object fails once, in turn: MemoryError each time, then it works."""

import sys

import numpy as np
import pytest
from support.handmade import build, load

import smemkit
from smemkit import _core

_testcapi = pytest.importorskip("_testcapi", reason="CPython's own tests are not installed")

LIMIT = 1000  # more allocations than any of these calls makes
FREE_LISTS = 10  # so many calls succeed with one failure, as objects lie ready for some
# Threads of two warps write the first element: counts by line, and a finding.
KERNEL = load(
    build(
        """
    .loc 1 7 3
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;""",
        ".param .u64 x",
        before='.file 1 "a.cu"',
    )
)
PTX = KERNEL.ptx.encode()
VARIABLES = smemkit.RawModule(
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .align 8 .u64 total = 7;\n"
)
HOST = np.ones(6, "float32")
MATRIX = np.ones((4, 4), "float32")
# No Python code runs in these, as CPython itself may end there; from 3.12 on it does in two.
ENDS = ("profile", "check") if sys.version_info >= (3, 12) else ()
CALLS = {
    "limits": lambda x: _core.limits("9.0"),
    "limits of another machine": lambda x: _core.limits("8.0"),
    "families": lambda x: _core.families(),
    "variants": lambda x: _core.variants("gemm"),
    "bank_access": lambda x: _core.bank_access(np.arange(32) * 4),
    "sectors": lambda x: _core.sectors(np.arange(32) * 4),
    "config": lambda x: _core._config(),
    "device_info": lambda x: _core.device_info(backend="sim"),
    "isa": lambda x: _core._isa(),
    "asarray of an array": lambda x: _core.asarray(np.ones((2, 3)), "float32", "sim"),
    "asarray of a list": lambda x: _core.asarray([[1, 2], [3, 4.5]], backend="sim"),
    "empty": lambda x: _core.empty((2, 3), "float64", "sim"),
    "asnumpy": lambda x: _core.asnumpy(x),
    "managed_empty": lambda x: _core.managed_empty((2, 3), "float64", "sim"),
    "mapped": lambda x: _core.mapped(HOST, "sim"),
    "get_global": lambda x: VARIABLES.get_global("total", "uint32", "sim"),
    "profile": lambda x: _core._capture("profile", KERNEL, (1, 64, (x,)), {}, 0, True),
    "check": lambda x: _core._capture("check", KERNEL, (1, 64, (x,)), {}, 0, True),
    "pickle": lambda x: KERNEL.__reduce__()[1][0].__reduce__(),
    "unpickle": lambda x: _core._restore_module(PTX, None, "", {}, (), "sim"),
    "vector_add": lambda x: _core.vector_add(HOST, HOST, backend="sim"),
    "vector_add of device arrays": lambda x: _core.vector_add(x, x),
    "Device": lambda x: str(_core.Device("sim:0")),
    "devices": lambda x: _core.devices("sim")[0].memory,
    "copy": lambda x: x.copy(device="sim"),
    "gemm over devices": lambda x: _core.gemm(MATRIX, MATRIX, backend="sim", devices=[0, 0]),
    "gemm of device arrays over devices": lambda x: _core.gemm(
        x.reshape(2, 3), x.reshape(3, 2), devices=["sim"] * 2
    ),
    "properties": lambda x: (x.shape, x.strides, x.dtype, x.nbytes),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_allocation(name):
    if name in ENDS:
        pytest.skip("CPython 3.12 ends where its own allocations fail")
    x = smemkit.asarray(np.ones(6, "float32"), backend="sim")
    CALLS[name](x)  # what is made once is made
    successes = n = 0
    while successes < FREE_LISTS:
        assert n < LIMIT
        _testcapi.set_nomemory(n, n + 1)
        try:
            CALLS[name](x)
        except MemoryError:
            successes = 0
        else:
            successes += 1
        finally:
            _testcapi.remove_mem_hooks()
        n += 1
