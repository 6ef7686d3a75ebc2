"""CUDA C of many kinds, compiled at -O3, at -O0 and for debugging, on both machines."""

import subprocess
import sys

import numpy as np
import pytest
from programs import (
    cases_arithmetic,  # noqa: F401  (each fills CASES)
    cases_control,  # noqa: F401
    cases_memory,  # noqa: F401
    regenerate,
)
from programs.program_cases import CASES

import smemkit

SPECIAL = {"print", "assertion"}  # tested by functions of their own below
MODES = list(regenerate.MODES)


class World:
    """A loaded module; run() launches one of its entries."""

    def __init__(self, text, machine):
        self.machine = machine
        self.module = smemkit.RawModule(text, backend=machine)

    def run(self, entry, grid, block, *args, shared=0):
        kernel = self.module.get_function(entry)
        kernel(grid, block, args, shared_mem=shared, backend=self.machine)


def test_missing_ptx_names_what_makes_it():
    with pytest.raises(FileNotFoundError, match=r"no none\.O3\.ptx: python .*regenerate\.py none"):
        regenerate.load_ptx("none", "O3")


def test_every_file_has_a_case_and_ptx():
    names = set(regenerate.names())
    assert names == set(CASES) | SPECIAL
    assert len(names) >= 14
    for name in names:
        for mode in MODES:
            text = regenerate.load_ptx(name, mode)
            assert f"{name}" in text and ".entry" in text
            assert not [path for path in ("/tmp", "/usr", "/home", "/root") if path in text]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted(CASES))
def test_kernel(name, mode, machine, rng):
    world = World(regenerate.load_ptx(name, mode), machine)
    CASES[name](world.run, rng, machine)


@pytest.mark.skipif(regenerate.find_nvcc() is None, reason="no nvcc here")
@pytest.mark.parametrize("name", ["scan", "switch_table", "device_functions"])
@pytest.mark.parametrize("mode", MODES)
def test_kernel_compiled_now(name, mode, machine, rng):
    text = regenerate.compile_ptx(regenerate.find_nvcc(), name, mode)
    CASES[name](World(text, machine).run, rng, machine)


@pytest.mark.parametrize("mode", MODES)
def test_print(mode, machine, capfd):
    world = World(regenerate.load_ptx("print", mode), machine)
    for value in (42, -7):
        large, ratio = -(2**40), 2.5
        world.run("print", 2, 32, value, ratio, large)
        shown = value if value >= 0 else value + 2**32
        expected = f"block 1 thread 3: {value:5d}|{value:<4d}|{shown:04x}\n"
        expected += f"{'up' if value > 0 else 'down'} {ratio:.3f} {ratio * 1e10:g} z {large} 100%\n"
        expected += "5 arguments\n"
        assert capfd.readouterr().out == expected


def test_the_host_and_kernels_print_in_order(machine):
    """In a process of its own, whose standard output is a pipe: the buffers of both are in use."""
    code = (
        "import sys, numpy as np, smemkit\n"
        "k = smemkit.RawModule(sys.stdin.read(), backend=sys.argv[1]).get_function('print')\n"
        "arguments = (np.int32(1), np.float64(2), np.int64(3))\n"
        "for turn in range(3):\n"
        "    print('host', turn)\n"
        "    k(2, 32, arguments)\n"
        "    smemkit.Device(sys.argv[1]).synchronize()\n"
        "print('host', 3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, machine],
        input=regenerate.load_ptx("print", "O3"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("host")] == [f"host {i}" for i in range(4)]
    for turn in range(3):
        start = lines.index(f"host {turn}")
        assert lines[start + 1].startswith("block 1 thread 3: "), done.stdout
        assert lines[start + 4] == f"host {turn + 1}"


@pytest.mark.parametrize("mode", MODES)
def test_assertion_on_the_simulator(mode):
    kernel = smemkit.RawModule(regenerate.load_ptx("assertion", mode), backend="sim").get_function(
        "assertion"
    )
    out = np.full(64, 7, np.int32)
    kernel(2, 32, (np.arange(64, dtype=np.int32), out), backend="sim")
    assert (out == np.arange(64) * 2).all()
    faulty = np.arange(64, dtype=np.int32)
    faulty[37] = -1
    with pytest.raises(smemkit.KernelAssertionError, match="in\\[i\\] >= 0") as caught:
        kernel(2, 32, (faulty, out), backend="sim")
    assert caught.value.block == (1, 0, 0)
    assert caught.value.thread == (5, 0, 0)
    assert caught.value.kernel == "assertion"
    assert caught.value.source_file.endswith("assertion.cu") and caught.value.source_line == 9
    assert isinstance(caught.value, smemkit.TrapError) and isinstance(caught.value, AssertionError)
    kernel(2, 32, (np.arange(64, dtype=np.int32), out), backend="sim")


def test_assertion_on_the_gpu(machine):
    """In a process of its own: a failed assertion ends a CUDA context."""
    if machine != "cuda":
        pytest.skip("the simulator's own test is above")
    code = (
        "import sys, numpy as np, smemkit\n"
        "k = smemkit.RawModule(sys.stdin.read(), backend='cuda').get_function('assertion')\n"
        "x = np.arange(64, dtype=np.int32)\n"
        "x[37] = -1\n"
        "try:\n"
        "    k(2, 32, (x, np.zeros(64, np.int32)), backend='cuda')\n"
        "except smemkit.Error as error:\n"
        "    print(type(error).__name__, error)\n"
        "    print(error.source_file, error.source_line, error.block, error.thread)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=regenerate.load_ptx("assertion", "O3"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("KernelAssertionError") and "in[i] >= 0" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("assertion.cu 9 (1, 0, 0) (5, 0, 0)")
    assert "assertion.cu:9" in done.stderr, "the driver tells which"


def test_a_module_has_variables_of_its_own(machine):
    """Two modules of one text do not share their globals."""
    text = regenerate.load_ptx("device_globals", "O3")
    for _ in range(2):
        world = World(text, machine)
        facts = np.zeros(4, np.int32)
        world.run("device_globals_read", 1, 1, facts)
        assert facts[0] == 100
        world.run("device_globals", 1, 8, np.zeros(8, np.int32), np.zeros(8))
