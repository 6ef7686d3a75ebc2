"""RawModule and RawKernel: code, launch configurations, attributes, step budgets."""

import inspect
import pickle
import resource

import numpy as np
import pytest

import smemkit
from smemkit import _core

PTX = """//
// A comment first, as compilers write it
/* and another */
.version 7.0
.target sm_75
.address_size 64

.const .align 4 .b8 table[64];
.extern .shared .align 16 .b8 pool[];

.visible .entry where(
    .param .u64 where_param_0,
    .param .u32 where_param_1
)
{
    .reg .b32 %r<12>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [where_param_0];
    mov.u32 %r1, %nctaid.x;
    mov.u32 %r2, %nctaid.y;
    mov.u32 %r3, %nctaid.z;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %ntid.y;
    mov.u32 %r6, %ntid.z;
    st.global.v2.u32 [%rd1], {%r1, %r2};
    st.global.v2.u32 [%rd1+8], {%r3, %r4};
    st.global.v2.u32 [%rd1+16], {%r5, %r6};
    ret;
}

.visible .entry bounded(.param .u64 .ptr .global .align 4 to)
.maxntid 32, 2, 1
{
    .shared .align 4 .b8 tile[4224];
    .local .align 8 .b8 stack[48];
    ret;
}

.visible .entry spin()
{
again:
    bra again;
}
"""


@pytest.fixture
def module(machine):
    return smemkit.RawModule(PTX, backend=machine)


@pytest.mark.parametrize("start", ["\ufeff", "\ufeff\n// of a compiler\n", "/* one */ // two\n\n"])
def test_ptx_is_known_behind_a_mark_and_comments(start, machine):
    """As text and as bytes."""
    for code in (start + PTX, (start + PTX).encode()):
        assert smemkit.RawModule(code, backend=machine).kernels == ("where", "bounded", "spin")


def test_kernels(module):
    assert module.kernels == ("where", "bounded", "spin")
    assert repr(module) == "RawModule(kernels=('where', 'bounded', 'spin'))"
    for name in module.kernels:
        kernel = module.get_function(name)
        assert type(kernel) is smemkit.RawKernel and kernel.name == name
    assert repr(kernel) == "RawKernel(name='spin')"
    assert module.get_function(name="spin").name == "spin"


def test_no_such_kernel(module):
    for bad in ("Where", "", "table", "where\u00e9"):
        with pytest.raises(smemkit.ArgumentError, match="where, bounded, spin"):
            module.get_function(bad)
    with pytest.raises(smemkit.ArgumentError, match="where, bounded, spin"):
        smemkit.RawKernel(PTX, "gone")
    for bad in (None, b"where", 3):
        with pytest.raises(smemkit.ArgumentTypeError):
            module.get_function(bad)
    with pytest.raises(smemkit.ArgumentError, match="no kernel at all"):
        smemkit.RawKernel(".version 7.0\n.target sm_75\n.address_size 64\n", "k")


@pytest.mark.parametrize("make", [str, str.encode, lambda text: text.encode() + b"\0\0"])
def test_text_of_any_kind(make, machine):
    assert smemkit.RawModule(make(PTX), backend=machine).kernels == ("where", "bounded", "spin")


def test_code_refused():
    for bad in (None, 3, ["x"], np.zeros(3)):
        with pytest.raises(smemkit.ArgumentTypeError):
            smemkit.RawModule(bad)
    for bad in ("", b"", " \n// nothing\n/* at all", b"\x7fELF\2\1\1", b"\x50\xed\x55\xba\1\0"):
        with pytest.raises(smemkit.ArgumentError):
            smemkit.RawModule(bad)
    for bad in (PTX.replace("ret;", "ret"), PTX + "\0" + PTX, ".version 7.0"):
        with pytest.raises(smemkit.PtxError):
            smemkit.RawModule(bad, backend="sim")


def test_keywords_only():
    for call in (
        lambda: smemkit.RawModule(),
        lambda: smemkit.RawModule(PTX, ()),
        lambda: smemkit.RawKernel(PTX),
        lambda: smemkit.RawKernel(PTX, "where", ()),
        lambda: smemkit.RawKernel(PTX, "where")(1, 1),
        lambda: smemkit.RawKernel(PTX, "where")(1, 1, (), 0),
        lambda: smemkit.RawKernel(PTX, "where")(1, 1, (), stream=0),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        (1, 1, [1, 1, 1, 1, 1, 1]),
        ((3,), (5,), [3, 1, 1, 5, 1, 1]),
        ((3, 2), (5, 4), [3, 2, 1, 5, 4, 1]),
        ([3, 2, 4], [5, 4, 2], [3, 2, 4, 5, 4, 2]),
        (np.int64(7), (np.uint8(9), np.int16(2)), [7, 1, 1, 9, 2, 1]),
        (1, (2, 4, 64), [1, 1, 1, 2, 4, 64]),
    ],
)
def test_grid_and_block(module, grid, block, expected):
    out = np.zeros(6, np.uint32)
    assert module.get_function("where")(grid, block, (out, 0)) is None
    assert out.tolist() == expected


def test_grid_and_block_refused(module):
    kernel, out = module.get_function("where"), np.zeros(6, np.uint32)
    for bad in (0, -1, (1, 0), (2, 2, -2), 2**32, 2**70, (), (1, 1, 1, 1)):
        for grid, block in ((bad, 1), (1, bad)):
            with pytest.raises(smemkit.LaunchError):
                kernel(grid, block, (out, 0))
    for bad in (None, 1.0, "1", (1.5,), ("a",), {1}, np.ones(2), True, (True, 1)):
        for grid, block in ((bad, 1), (1, bad)):
            with pytest.raises(smemkit.ArgumentTypeError):
                kernel(grid, block, (out, 0))
    with pytest.raises(smemkit.LaunchError):
        kernel(1, 1025, (out, 0))
    with pytest.raises(smemkit.LaunchError):
        kernel(1, (1, 1, 65), (out, 0))
    with pytest.raises(smemkit.LaunchError):
        module.get_function("bounded")(1, 65, (out,))
    assert not out.any()


def test_shared_memory(module):
    kernel, out = module.get_function("where"), np.zeros(6, np.uint32)
    for fits in (0, 1, 48 * 1024, np.int32(64 * 1024)):
        kernel(1, 1, (out, 0), shared_mem=fits)
    for bad in (1 << 20, 2**40, 2**80):
        with pytest.raises(smemkit.SharedMemoryError) as caught:
            kernel(1, 1, (out, 0), shared_mem=bad)
        assert isinstance(caught.value, MemoryError)
    with pytest.raises(smemkit.LaunchError):
        kernel(1, 1, (out, 0), shared_mem=-1)
    for bad in (1.5, "1", None):
        with pytest.raises(smemkit.ArgumentTypeError):
            kernel(1, 1, (out, 0), shared_mem=bad)


def test_attributes(module, machine):
    facts = module.get_function("bounded").attributes
    assert facts["maxntid"] == (32, 2, 1)
    assert facts["max_threads_per_block"] == 64
    assert facts["parameters"] == ({"name": "to", "type": "u64", "nbytes": 8},)
    if machine == "sim":
        assert facts["num_regs"] is None and facts["binary_version"] is None
        assert facts["shared_size_bytes"] == 4224
        assert facts["local_size_bytes"] == 48
        assert facts["const_size_bytes"] == 64
        assert facts["ptx_version"] == 75
    else:
        assert facts["num_regs"] > 0
        assert facts["ptx_version"] >= 75 and facts["binary_version"] >= 75
    facts = module.get_function("where").attributes
    assert facts["maxntid"] is None
    assert facts["max_threads_per_block"] == 1024
    assert facts["parameters"] == (
        {"name": "where_param_0", "type": "u64", "nbytes": 8},
        {"name": "where_param_1", "type": "u32", "nbytes": 4},
    )
    assert set(facts) == set(
        "num_regs shared_size_bytes local_size_bytes const_size_bytes max_threads_per_block "
        "maxntid ptx_version binary_version parameters".split()
    )


def test_step_budget(monkeypatch):
    kernel = smemkit.RawKernel(PTX, "spin")
    with pytest.raises(smemkit.StepBudgetError) as caught:
        kernel(1, 32, (), backend="sim", max_steps=10_000)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.kernel == "spin"
    monkeypatch.setenv("SMEMKIT_MAX_STEPS", "5000")
    with pytest.raises(smemkit.StepBudgetError):
        kernel(1, 32, (), backend="sim")
    for bad in ("0", "-5", "many", "1e6", "5 ", " 5", "99999999999999999999999"):
        monkeypatch.setenv("SMEMKIT_MAX_STEPS", bad)
        with pytest.raises(smemkit.ArgumentError, match="SMEMKIT_MAX_STEPS"):
            kernel(1, 32, (), backend="sim")
    for bad in (0, -1, 2**64):
        with pytest.raises(smemkit.ArgumentError):
            kernel(1, 32, (), backend="sim", max_steps=bad)
    for bad in (1.5, "5", True):
        with pytest.raises(smemkit.ArgumentTypeError):
            kernel(1, 32, (), backend="sim", max_steps=bad)


def test_step_budget_of_gemm(monkeypatch):
    a = np.ones((64, 64), np.float32)
    monkeypatch.setenv("SMEMKIT_MAX_STEPS", "100")
    with pytest.raises(smemkit.StepBudgetError):
        smemkit.gemm(a, a, backend="sim")
    monkeypatch.setenv("SMEMKIT_MAX_STEPS", "100000000")
    assert (smemkit.gemm(a, a, backend="sim") == 64).all()


def test_run_stats():
    out = np.zeros(6, np.uint32)
    kernel = smemkit.RawKernel(PTX, "where")
    kernel(3, 64, (out, 0), backend="sim")
    first = _core._run_stats()
    assert first["blocks"] == 3 and first["threads"] >= 1
    kernel(6, 64, (out, 0), backend="sim")
    assert _core._run_stats()["steps"] == 2 * first["steps"] > 0


def test_machine_of_the_module():
    module = smemkit.RawModule(PTX, backend="sim")
    smemkit.set_backend("auto")
    try:
        out = np.zeros(6, np.uint32)
        module.get_function("where")(1, 1, (out, 0))
        assert _core._run_stats()["blocks"] == 1 and out[0] == 1
    finally:
        smemkit.set_backend(None)


def test_cooperative_launches_are_asked_for(machine):
    """Kernels of such a module run as others do, also as copies of it."""
    ptx = smemkit.ptx("vector_add", "naive")
    for make in (
        lambda **k: smemkit.RawKernel(ptx, "vector_add_naive_float32", **k),
        lambda **k: smemkit.RawModule(ptx, **k).get_function("vector_add_naive_float32"),
    ):
        assert not make().enable_cooperative_groups
        kernel = pickle.loads(pickle.dumps(make(enable_cooperative_groups=True)))
        assert kernel.enable_cooperative_groups
        x, y, z = np.arange(8, dtype="f4"), np.ones(8, "f4"), np.zeros(8, "f4")
        kernel(1, 256, (x, y, z, 8), backend=machine)
        assert np.array_equal(z, x + 1)


def test_kernel_keeps_its_module():
    kernel = smemkit.RawModule(PTX, backend="sim").get_function("where")
    out = np.zeros(6, np.uint32)
    kernel(2, 1, (out, 0))
    assert out[0] == 2


def test_a_module_that_goes_gives_back_what_it_took():
    """Twenty kernels of 20000 operations each: one by one they need no more room than a few."""
    body = ".reg .b32 %r;\nmov.u32 %r, 1;\n" + "add.u32 %r, %r, 1;\n" * 20000
    text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry long()\n{\n"
    text += body + "ret;\n}\n"
    used = []
    for _ in range(25):
        smemkit.RawModule(text, backend="sim").get_function("long")(1, 32, (), backend="sim")
        with open("/proc/self/statm", encoding="ascii") as file:
            used.append(int(file.read().split()[1]) * resource.getpagesize())
    assert used[-1] - max(used[:5]) < 20 * 20000 * 20  # an operation takes more than 20 bytes


def test_module_keeps_its_globals():
    """A module-scope variable lives as long as the module and is shared by its kernels' calls."""
    module = smemkit.RawModule(
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".global .align 4 .u32 count = 40;\n"
        ".visible .entry next(.param .u64 to)\n{\n"
        ".reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
        "ld.param.u64 %rd1, [to];\n"
        "atom.global.add.u32 %r1, [count], 1;\n"
        "st.global.u32 [%rd1], %r1;\nret;\n}\n",
        backend="sim",
    )
    seen = []
    for _ in range(3):
        out = np.zeros(1, np.uint32)
        module.get_function("next")(1, 1, (out,))
        seen.append(int(out[0]))
    assert seen == [40, 41, 42]


def test_call_has_a_signature():
    parameters = inspect.signature(smemkit.RawKernel.__call__).parameters
    names = "self grid block args shared_mem backend max_steps device stream independent"
    assert list(parameters) == names.split()
    assert smemkit.RawKernel.__call__.__doc__.startswith("Runs the kernel")


def test_arguments_of_the_kernel_go_into_one_tuple():
    text = (
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x) { ret; }"
    )
    with pytest.raises(smemkit.ArgumentTypeError, match=r"k: 4 arguments .* one tuple, as in ker"):
        smemkit.RawKernel(text, "k")(1, 1, np.zeros(1), 2)
