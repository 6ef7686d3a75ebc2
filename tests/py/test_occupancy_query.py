"""occupancy and suggest_block of kernels: of the package, of one's own, and what they refuse."""

import re
import subprocess
from pathlib import Path

import pytest
from support import disassemble
from support.tables import PARTS

import smemkit
from smemkit import _core, _ptxas

KIB = 1024
CAPABILITIES = (
    "3.0",
    "3.7",
    "5.3",
    "6.0",
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.9",
    "9.0",
    "11.0",
    "12.1",
)


def count(capability, threads, registers=0, static=0, dynamic=0, barriers=1, threads_max=0):
    return _core._occupancy(capability, threads, threads_max, registers, barriers, static, dynamic)


# Kernels -----------------------------------------------------------------------------------------

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry barriers(.param .u32 n)
.maxntid 100, 2, 1
{
    .reg .b32 %r<3>;
    .shared .align 4 .b8 pool[4096];
    ld.param.u32 %r1, [n];
    BODY
    ret;
}
"""


def make(body, changes=()):
    text = PTX.replace("BODY", body)
    for old, new in changes:
        text = text.replace(old, new)
    return smemkit.RawKernel(text, "barriers")


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("", None),
        ("bar.sync 0;", 64),
        ("bar.sync 0; bar.arrive 2, 64;", 21),
        ("barrier.sync 3;", 16),
        ("bar.sync %r1;", 4),
        ("bar.warp.sync 0xffffffff;", None),
    ],
)
def test_barriers_of_a_kernel(body, limit):
    found = smemkit.occupancy(make(body), 64, compute_capability="9.0", registers=16)
    assert found.limits["barriers"] == limit


def test_a_kernel_of_ones_own():
    kernel = make("bar.sync 0;")
    found = smemkit.occupancy(kernel, (32, 2), 2048, "9.0", registers=40)
    assert found == count("9.0", 64, 40, 4096, 2048, threads_max=200)
    assert smemkit.occupancy(kernel, 200, compute_capability="9.0", registers=40).blocks > 0
    assert smemkit.occupancy(kernel, 201, compute_capability="9.0", registers=40).blocks == 0


def test_unknown_registers(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    monkeypatch.setenv("SMEMKIT_NVCC", "none")
    kernel = make("bar.sync 0;")
    with pytest.raises(smemkit.ArgumentError, match="registers of barriers are not known.*ptxas"):
        smemkit.occupancy(kernel, 64)
    assert smemkit.occupancy(kernel, 64, registers=20).registers == 20


def test_registers_of_the_build(monkeypatch):
    """What ptxas said of the package's kernels is kept: no compiler is asked again."""
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    monkeypatch.setenv("SMEMKIT_NVCC", "none")
    found = smemkit.occupancy("gemm/tiled", dtype="float32", compute_capability="9.0")
    assert 0 < found.registers < 255 and found.shared_bytes == 8192


def test_registers_by_ptxas(monkeypatch):
    if _ptxas.find_ptxas() is None:
        pytest.skip("no ptxas")
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    source = smemkit.ptx("gemm", "tiled")
    kernel = smemkit.RawKernel(source, "gemm_tiled_float64")
    ours = smemkit.occupancy("gemm/tiled", dtype="float64", compute_capability="9.0")
    assert smemkit.occupancy(kernel, (32, 32), compute_capability="9.0") == ours
    with pytest.raises(smemkit.ArgumentError, match="not known for compute capability 5.0"):
        smemkit.occupancy(kernel, 32, compute_capability="5.0")  # no ptxas of today makes that


def list_usage():
    """(family, variant, entry, architecture, registers, shared bytes) as the build says."""
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            path = Path(smemkit.__file__).parent / "kernels" / family / f"{variant}.usage"
            if path.exists():
                for line in path.read_text(encoding="utf-8").splitlines():
                    entry, *numbers = line.split()
                    yield family, variant, entry, *map(int, numbers)


def has_machine_code():
    return any((Path(smemkit.__file__).parent / "kernels").glob("*/*.fatbin"))


def test_every_kernel_of_the_package(monkeypatch):
    if not has_machine_code():
        pytest.skip("built without nvcc")
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    seen, modules = set(), {}
    for number, (family, variant, entry, arch, registers, shared) in enumerate(list_usage()):
        facts = smemkit.variants(family)[variant]
        if (family, variant) not in modules:  # a text has entries of all types
            modules[family, variant] = smemkit.RawModule(smemkit.ptx(family, variant))
        kernel = modules[family, variant].get_function(entry)
        capability = (arch // 10, arch % 10)
        expected = smemkit.occupancy(
            kernel, facts["block"], compute_capability=capability, registers=registers
        )
        assert expected.blocks >= 1, entry
        assert expected.shared_bytes == shared, entry
        seen.add(f"{family}/{variant}")
        rest = entry.removeprefix(f"{family}_{variant}_")
        ending = rest.split("_")
        if any(rest.startswith(f"{part}_") for part in PARTS.get((family, variant), ())):
            continue  # a kernel beside the one that the names stand for
        if arch != 90 and number % 7:
            continue  # a name is looked up alike for each architecture, which takes longest
        choice = ending[0] if len(ending) > 1 else None
        dtype = ending[-1].replace("bits128", "complex128").replace("bits", "uint")
        dtype = dtype.replace("tf32", "float32")  # rounded by the kernel
        found = smemkit.occupancy(
            (family, variant, dtype), None, 0, compute_capability=capability, choice=choice
        )
        assert found == expected, entry
    compiled = {
        f"{path.parent.name}/{path.stem}"
        for path in (Path(smemkit.__file__).parent / "kernels").glob("*/*.ptx")
    }
    assert seen <= compiled and seen


DYNAMIC = {
    "gemm/fma": 35 * KIB,
    "gemm/lean": 13824,
    "gemm/dmma": 96 * KIB,
    "gemm/tuned": 54 * KIB,
    "gemm/direct": 48 * KIB,
    "gemm/tensor": 192 * KIB,
    "gemm/tf32": 192 * KIB,
    "gemm/overlapped": 192 * KIB,
    "sort/bitonic": 4,
    "sort/swizzled": 4,
    "sort/shuffle": 528 * 4,
    "conv2d/shared": 16 * 32 * 4,
}  # float32, a row of one key, a filter of one weight


def test_a_variant_brings_its_dynamic_shared_memory(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    options = {"compute_capability": "9.0", "registers": 32}
    for family in smemkit.families():
        for variant in smemkit.variants(family):
            name = f"{family}/{variant}"
            found = smemkit.occupancy(name, **options)
            without = smemkit.occupancy(name, None, 0, **options)
            assert found.shared_bytes - without.shared_bytes == DYNAMIC.get(name, 0), name
    # 8.6 has 100 KiB: one block of gemm/tuned, where the registers would admit two
    found = smemkit.occupancy("gemm/tuned", compute_capability="8.6", registers=255)
    assert (found.blocks, found.limited_by) == (1, ("shared_memory",))
    assert smemkit.occupancy("gemm/tuned", dtype="float64", **options).shared_bytes == 72 * KIB
    with pytest.raises(smemkit.SharedMemoryError, match="73728"):  # 64 KiB is all that 7.5 has
        smemkit.suggest_block("gemm/tuned", dtype="float64", compute_capability="7.5", registers=32)
    kernel = smemkit.kernel("gemm", "tuned", "float32")
    assert smemkit.occupancy(kernel, **options).shared_bytes == 54 * KIB


def test_the_record_is_what_the_machine_code_says():
    tool = find_cuobjdump()
    if tool is None or not has_machine_code():
        pytest.skip("no cuobjdump, or built without nvcc")
    recorded = {row[2:4]: row[4] for row in list_usage() if row[0] == "gemm"}
    assert recorded
    found = {}
    for path in sorted((Path(smemkit.__file__).parent / "kernels").glob("gemm/*.fatbin")):
        done = subprocess.run(
            [tool, "--dump-resource-usage", path],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        found |= read_resources(done.stdout)
    assert {key: found.get(key) for key in recorded} == recorded


def find_cuobjdump():
    """The cuobjdump that the tests of machine code use, or None."""
    return disassemble.find_tool("cuobjdump")


def read_resources(text):
    """{(entry, architecture): registers} of what cuobjdump prints."""
    result, arch, entry = {}, None, None
    for line in text.splitlines():
        if match := re.search(r"\barch = sm_(\d+)", line):
            arch = int(match[1])
        if match := re.search(r"Function (\w+):", line):
            entry = match[1]
        if match := re.search(r"\bREG:(\d+)", line):
            result[entry, arch] = int(match[1])
    return result


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: smemkit.occupancy("gemm/tiled", 0), smemkit.LaunchError, "block is 0"),
        (lambda: smemkit.occupancy("gemm/tiled", (32, -1)), smemkit.LaunchError, "block"),
        (lambda: smemkit.occupancy("gemm/tiled", 10**30), smemkit.LaunchError, "block"),
        (lambda: smemkit.occupancy("gemm/tiled", ()), smemkit.ArgumentTypeError, "block"),
        (lambda: smemkit.occupancy("gemm/tiled", (1,) * 4), smemkit.ArgumentTypeError, "block"),
        (lambda: smemkit.occupancy("gemm/tiled", 32.0), smemkit.ArgumentTypeError, "block"),
        (lambda: smemkit.occupancy("gemm/tiled", True), smemkit.ArgumentTypeError, "block"),
        (lambda: smemkit.occupancy("gemm/tiled", 32, -1), smemkit.ArgumentError, "negative"),
        (lambda: smemkit.occupancy("gemm/tiled", 32, 1.5), smemkit.ArgumentTypeError, "shared"),
        (lambda: smemkit.occupancy("gemm"), smemkit.ArgumentTypeError, "gemm/tiled"),
        (lambda: smemkit.occupancy(None), smemkit.ArgumentTypeError, "kernel"),
        (lambda: smemkit.occupancy("gemm/nope"), smemkit.ArgumentError, "nope"),
        (lambda: smemkit.occupancy("nope/tiled"), smemkit.ArgumentError, "nope"),
        (lambda: smemkit.occupancy(("gemm", 3)), smemkit.ArgumentTypeError, "variant"),
        (lambda: smemkit.occupancy("gemm/tiled", dtype="int8"), TypeError, "int8"),
        (lambda: smemkit.occupancy("gemm/tiled", choice="max"), smemkit.ArgumentError, "choices"),
        (
            lambda: smemkit.occupancy(("gemm", "tiled", "float32"), dtype="float32"),
            smemkit.ArgumentError,
            "twice",
        ),
        (lambda: smemkit.occupancy("gemm/tiled", registers=256), smemkit.ArgumentError, "255"),
        (lambda: smemkit.occupancy("gemm/tiled", registers=-1), smemkit.ArgumentError, "255"),
        (lambda: smemkit.occupancy("gemm/tiled", registers="8"), smemkit.ArgumentTypeError, "int"),
        (lambda: smemkit.occupancy(make(""), dtype="float32"), smemkit.ArgumentError, "dtype"),
        (lambda: smemkit.occupancy(make(""), registers=9), smemkit.ArgumentTypeError, "block"),
        (lambda: smemkit.suggest_block(make(""), prefer="any"), smemkit.ArgumentError, "prefer"),
        (
            lambda: smemkit.suggest_block(make(""), 300_000, "9.0", registers=9),
            smemkit.SharedMemoryError,
            "no block of barriers runs",
        ),
    ],
)
def test_bad_calls(call, error, match):
    with pytest.raises(error, match=match):
        call()


# The best block size -----------------------------------------------------------------------------


def search(capability, registers, static, shared, threads_max, smallest):
    """The best of all multiples of the warp and of threads_max, by trying them."""
    sizes = sorted({*range(32, threads_max + 1, 32), threads_max})
    resident = {
        size: count(capability, size, registers, static, shared(size), 1, threads_max).threads
        for size in sizes
    }
    best = max(resident.values())
    good = [size for size in sizes if resident[size] == best]
    return good[0 if smallest else -1]


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("smallest", [False, True])
def test_suggest_block(capability, smallest, rng):
    kernel = make("bar.sync 0;", [("100, 2, 1", "1000, 1, 1")])
    prefer = "smallest" if smallest else "largest"
    most = smemkit.limits(capability)["shared_bytes_per_block_optin"] - 4096
    for _ in range(10):
        registers = int(rng.integers(0, smemkit.limits(capability)["registers_per_thread_max"] + 1))
        fixed, slope = int(rng.integers(0, most // 2)), int(rng.integers(0, 50))
        if fixed + slope * 32 > most:
            continue
        for shared_bytes, shared in (
            (fixed, lambda size, fixed=fixed: fixed),
            (lambda n, s=slope: n * s, lambda n, s=slope: n * s),
        ):
            found = smemkit.suggest_block(
                kernel, shared_bytes, capability, registers=registers, prefer=prefer
            )
            assert found == search(capability, registers, 4096, shared, 1000, smallest)


def test_suggest_block_by_hand():
    kernel = make("", [("100, 2, 1", "1024, 1, 1"), ("4096", "16")])
    # full occupancy from 64 threads (32 blocks) to 1024 (2 blocks)
    assert smemkit.suggest_block(kernel, 0, "9.0", registers=32) == 1024
    assert smemkit.suggest_block(kernel, 0, "9.0", registers=32, prefer="smallest") == 64
    # 8.6 holds 1536 threads: 1024 fills two thirds, 768 all
    assert smemkit.suggest_block(kernel, 0, "8.6", registers=32) == 768
    # 40 KiB a block: 5 blocks on a multiprocessor of 228 KiB, so 2048 threads need 410 each;
    # 5 blocks of 384 are 1920, 4 of 512 are 2048
    assert smemkit.suggest_block(kernel, 40 * KIB, "9.0", registers=16) == 1024
    assert smemkit.suggest_block(kernel, 40 * KIB, "9.0", registers=16, prefer="smallest") == 512


def test_suggest_block_asks_for_the_bytes_of_each_size_and_passes_errors_on():
    kernel = make("", [("100, 2, 1", "96, 1, 1")])
    asked = []

    def give(size):
        asked.append(size)
        return 0

    assert smemkit.suggest_block(kernel, give, "9.0", registers=8, prefer="smallest") == 64
    assert asked == [96, 64, 32]

    def fail(size):
        raise KeyError(size)

    with pytest.raises(KeyError):
        smemkit.suggest_block(kernel, fail, "9.0", registers=8)
    with pytest.raises(smemkit.ArgumentTypeError, match="shared_bytes must be an int"):
        smemkit.suggest_block(kernel, str, "9.0", registers=8)


# Memory ------------------------------------------------------------------------------------------


def test_every_allocation_fails_once(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    failures = 0
    for n in range(1, 1000):
        _core._fail_after(n)
        try:
            found = smemkit.occupancy(("gemm", "tiled16"), 64, 10, "9.0", registers=20)
        except smemkit.OutOfMemoryError:
            failures += 1
        else:
            break
        finally:
            _core._fail_after(0)
    assert failures > 3
    assert found == smemkit.occupancy(("gemm", "tiled16"), 64, 10, "9.0", registers=20)
