"""The table of limits and the arithmetic of occupancy: by hand, by law, and by NVIDIA's header."""

import importlib.util
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import smemkit
from smemkit import _core, compile

CAPABILITIES = (
    "3.0 3.2 3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.1 10.3 11.0 "
    "12.0 12.1"
).split()
TABLE = {capability: smemkit.limits(capability) for capability in CAPABILITIES}
KIB = 1024
UNLIMITED = 2**31 - 1  # what the header says where nothing limits


def count(capability, threads, registers=0, static=0, dynamic=0, barriers=1, threads_max=0):
    return _core._occupancy(capability, threads, threads_max, registers, barriers, static, dynamic)


# The table ---------------------------------------------------------------------------------------


def test_the_message_lists_the_whole_table():
    with pytest.raises(smemkit.ArgumentError) as caught:
        smemkit.limits("99.9")
    assert str(caught.value).endswith("known are " + ", ".join(CAPABILITIES))


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_row(capability):
    row = TABLE[capability]
    major, minor = map(int, capability.split("."))
    assert row["compute_capability"] == capability
    assert smemkit.limits((major, minor)) == row
    assert row["threads_per_multiprocessor_max"] == 32 * row["warps_per_multiprocessor_max"]
    assert row["threads_per_block_max"] == 1024 and row["warp_lanes"] == 32
    assert row["registers_per_multiprocessor"] >= row["registers_per_block"]
    reserved = row["shared_bytes_per_block_reserved"]
    assert reserved == (KIB if major >= 8 else 0)
    optin = row["shared_bytes_per_block_optin"]
    assert 48 * KIB == row["shared_bytes_per_block"] <= optin
    assert optin + reserved <= row["shared_bytes_per_multiprocessor"]
    if major >= 7:  # all of it may go to one block
        assert optin + reserved == row["shared_bytes_per_multiprocessor"]
    carveouts = row["shared_carveout_bytes"]
    assert list(carveouts) == sorted(set(carveouts))
    assert carveouts[-1] == row["shared_bytes_per_multiprocessor"]
    assert row["kernels"] == ((major, minor) >= (7, 5))
    assert ("for reading" in row["source"]) == (not row["kernels"])
    assert "guide" in row["source"]


# As the programming guide of CUDA 13 prints them: blocks, warps, KiB a multiprocessor, KiB a block.
@pytest.mark.parametrize(
    ("capabilities", "blocks", "warps", "shared_sm", "shared_block"),
    [
        ("7.5", 16, 32, 64, 64),
        ("8.0", 32, 64, 164, 163),
        ("8.6", 16, 48, 100, 99),
        ("8.7", 16, 48, 164, 163),
        ("8.9", 24, 48, 100, 99),
        ("9.0 10.0 10.3", 32, 64, 228, 227),
        ("10.1 11.0", 24, 48, 228, 227),
        ("12.0 12.1", 24, 48, 100, 99),
    ],
)
def test_rows_of_the_present_guide(capabilities, blocks, warps, shared_sm, shared_block):
    for capability in capabilities.split():
        row = TABLE[capability]
        assert row["blocks_per_multiprocessor_max"] == blocks
        assert row["warps_per_multiprocessor_max"] == warps
        assert row["shared_bytes_per_multiprocessor"] == shared_sm * KIB
        assert row["shared_bytes_per_block_optin"] == shared_block * KIB
        assert row["registers_per_multiprocessor"] == row["registers_per_block"] == 64 * KIB
        assert row["registers_per_thread_max"] == 255


def test_the_present_machine_is_the_default_and_is_compared(machine):
    facts = smemkit.device_info(backend=machine)
    previous = smemkit.get_backend()
    smemkit.set_backend(machine)
    try:
        row = smemkit.limits()
    finally:
        smemkit.set_backend(None)
        assert smemkit.get_backend() == previous
    assert row["compute_capability"] == facts["compute_capability"]
    assert row["differences"] == {}, "the table and the device's own query (table, device)"
    shared = row.keys() & facts.keys() - {"compute_capability"}
    assert len(shared) >= (4 if machine == "sim" else 11)


def test_another_machine_is_not_compared(monkeypatch):
    monkeypatch.setenv("SMEMKIT_BACKEND", "sim")
    assert smemkit.limits("3.5")["differences"] is None
    assert smemkit.limits("9.0")["differences"] == {}


def test_the_table_needs_no_machine(monkeypatch, cuda_missing):
    if cuda_missing is None:
        pytest.skip("there is a GPU")
    monkeypatch.setenv("SMEMKIT_BACKEND", "cuda")
    assert smemkit.limits("8.9")["blocks_per_multiprocessor_max"] == 24
    with pytest.raises(smemkit.BackendError):
        smemkit.limits()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("9", smemkit.ArgumentError),
        ("9.0a", smemkit.ArgumentError),
        ("", smemkit.ArgumentError),
        ("90000000000000000000.0", smemkit.ArgumentError),
        ("9.1", smemkit.ArgumentError),
        ((9, -1), smemkit.ArgumentError),
        ((10**30, 0), smemkit.ArgumentError),
        (9.0, smemkit.ArgumentTypeError),
        (90, smemkit.ArgumentTypeError),
        ((9,), smemkit.ArgumentTypeError),
        ((9, 0, 0), smemkit.ArgumentTypeError),
        ((9.0, 0), smemkit.ArgumentTypeError),
        ((True, 0), smemkit.ArgumentTypeError),
        ({9, 0}, smemkit.ArgumentTypeError),
    ],
)
def test_bad_compute_capability(value, error):
    with pytest.raises(error, match="compute.capability"):
        smemkit.limits(value)


# The arithmetic, by hand -------------------------------------------------------------------------


def test_threads_limit():
    # 2048 threads, 256 a block; 16 registers: 512 a warp, 32 warps a partition
    found = count("9.0", 256, registers=16)
    assert found.limits["threads"] == 2048 // 256 == 8
    assert (found.blocks, found.warps, found.threads, found.percent) == (8, 64, 2048, 100.0)
    assert found.limited_by == ("threads",)


def test_a_started_warp_is_a_whole_one():
    # 33 threads are 2 warps: 64 / 2 = 32 blocks, each with 2 warps of which one has one thread
    found = count("8.0", 33)
    assert (found.limits["threads"], found.blocks, found.warps) == (32, 32, 64)
    assert found.threads == 32 * 33
    assert found.percent == 100.0


def test_blocks_limit():
    found = count("8.6", 32)  # 16 blocks of a warp, of 48 warps
    assert (found.blocks, found.warps, found.limited_by) == (16, 16, ("blocks",))
    assert found.percent == pytest.approx(100 / 3)


def test_registers_are_given_to_warps_in_units_of_256_and_by_partition():
    # 40 registers: 1280 a warp; a partition of 16384 holds 12 (12.8), four hold 48 warps: 6 blocks
    found = count("9.0", 256, registers=40)
    assert found.limits["registers"] == 48 // 8 == 6
    assert found.block_registers == 8 * 1280
    assert (found.blocks, found.percent, found.limited_by) == (6, 75.0, ("registers",))
    # 33 registers are given as 40: 33 * 32 = 1056, rounded up to 1280
    assert count("9.0", 256, registers=33).block_registers == 8 * 1280
    # 168 registers: 5376 a warp, 3 in a partition, 12 on a multiprocessor: 6 blocks of 2 warps,
    # and not the 65536 // (168 * 64) = 6.09 that a plain division gives for 5 registers more
    assert count("9.0", 64, registers=168).limits["registers"] == 6
    assert count("9.0", 64, registers=169).limits["registers"] == 4


def test_a_block_whose_registers_do_not_fit_does_not_run():
    # 1024 threads with 65 registers: 72 * 1024 > 65536
    assert count("9.0", 1024, registers=64).blocks == 1
    assert count("9.0", 1024, registers=65).blocks == 0
    assert count("9.0", 1024, registers=65).limited_by == ("registers",)
    # 5.3 has as many registers as others, and half of them for a block
    assert count("5.2", 512, registers=96).blocks == 1
    assert count("5.3", 512, registers=96).blocks == 0
    # the check deals 9 warps to 4 partitions as if they were 12: 12 * 224 * 32 > 65536 >= 9 * ...
    assert 9 * 224 * 32 <= 65536 < 12 * 224 * 32
    assert count("9.0", 288, registers=224).blocks == 0


def test_registers_of_a_thread():
    assert count("3.0", 32, registers=63).blocks > 0
    assert count("3.0", 32, registers=64).blocks == 0
    assert count("3.5", 32, registers=255).blocks > 0


def test_shared_memory_limit():
    # 8.6: 100 KiB; 16 KiB and the driver's 1 KiB a block: 5 blocks take 85 KiB, 6 would take 102
    found = count("8.6", 128, static=8 * KIB, dynamic=8 * KIB)
    assert found.limits["shared_memory"] == 5
    assert (found.shared_bytes, found.block_shared_bytes) == (16 * KIB, 17 * KIB)
    # a fifth of 100 KiB is 20 KiB: 3 KiB more than a block is given now
    assert found.spare_shared_bytes == 3 * KIB
    assert found.carveout_bytes == 100 * KIB
    # 7.5: nothing is reserved, the unit is 256 bytes: 257 bytes are given as 512
    found = count("7.5", 64, static=257)
    assert (found.block_shared_bytes, found.limits["shared_memory"]) == (512, 128)
    # 8.0: the unit is 128 bytes
    assert count("8.0", 64, static=257).block_shared_bytes == KIB + 384


def test_without_shared_memory():
    assert count("7.0", 64).limits["shared_memory"] is None
    assert count("7.0", 64).carveout_bytes == 0
    assert count("9.0", 64).limits["shared_memory"] == 228
    assert count("9.0", 64).carveout_bytes == 32 * KIB


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_all_the_shared_memory_of_a_block_and_a_byte_more(capability):
    optin = TABLE[capability]["shared_bytes_per_block_optin"]
    found = count(capability, 32, static=KIB, dynamic=optin - KIB)
    assert found.blocks == TABLE[capability]["shared_bytes_per_multiprocessor"] // (
        optin + TABLE[capability]["shared_bytes_per_block_reserved"]
    )
    assert found.blocks > 0
    more = count(capability, 32, static=KIB, dynamic=optin - KIB + 1)
    assert (more.blocks, more.limited_by) == (0, ("shared_memory",))
    assert count(capability, 32, static=2**63, dynamic=2**63).blocks == 0


def test_barriers_limit():
    # 9.0 has 64 for its 32 blocks: a kernel with 3 of its own leaves room for 21 blocks
    assert count("9.0", 64, barriers=3).blocks == 21
    assert count("9.0", 64, barriers=3).limited_by == ("barriers",)
    assert count("12.0", 32, barriers=2).blocks == 12
    assert count("8.6", 32, barriers=16).limits["barriers"] is None
    # of 10.x only 10.0 has two for each block
    assert count("10.0", 32, barriers=2).limits["barriers"] == 32
    assert count("10.1", 32, barriers=2).limits["barriers"] == 12
    assert count("10.3", 32, barriers=2).limits["barriers"] == 16


def test_launch_bounds_and_blocks_that_are_too_large():
    assert count("9.0", 257, threads_max=256).blocks == 0
    assert count("9.0", 257, threads_max=256).limited_by == ("threads",)
    assert count("9.0", 256, threads_max=256).blocks == 8
    assert count("9.0", 1025).blocks == 0
    assert count("9.0", 2**32 - 1, registers=255).blocks == 0
    with pytest.raises(smemkit.ArgumentError, match="0 threads"):
        count("9.0", 0)


# The arithmetic, by law --------------------------------------------------------------------------

blocks = st.tuples(
    st.sampled_from(CAPABILITIES),
    st.integers(1, 1100),
    st.integers(0, 255),
    st.integers(0, 48 * KIB),
    st.integers(0, 240 * KIB),
    st.integers(0, 16),
)


@given(blocks)
def test_the_result_is_the_least_limit(block):
    found = count(*block)
    row = TABLE[block[0]]
    given = {name: limit for name, limit in found.limits.items() if limit is not None}
    assert found.blocks == min(given.values())
    assert set(found.limited_by) == {name for name in given if given[name] == found.blocks}
    assert found.warps <= row["warps_per_multiprocessor_max"]
    assert found.percent == 100 * found.warps / row["warps_per_multiprocessor_max"]
    assert found.blocks * found.block_registers <= row["registers_per_multiprocessor"]
    assert found.blocks * found.block_shared_bytes <= row["shared_bytes_per_multiprocessor"]
    assert found.blocks * found.block_shared_bytes <= found.carveout_bytes
    assert found.carveout_bytes in row["shared_carveout_bytes"]


@given(blocks, st.integers(0, 300), st.integers(0, 100_000))
def test_more_of_anything_never_gives_more_blocks(block, registers, shared):
    capability, threads, own, static, dynamic, barriers = block
    most = count(*block).blocks
    assert count(capability, threads, own + registers, static, dynamic, barriers).blocks <= most
    assert count(capability, threads, own, static, dynamic + shared, barriers).blocks <= most
    assert count(capability, threads + 1, own, static, dynamic, barriers).blocks <= most
    assert count(capability, threads, own, static, dynamic, barriers + 1).blocks <= most


@given(blocks)
def test_spare_shared_memory_is_all_there_is(block):
    capability, threads, registers, static, dynamic, barriers = block
    found = count(*block)
    spare = found.spare_shared_bytes
    again = count(capability, threads, registers, static, dynamic + spare, barriers)
    assert again.blocks == found.blocks
    if found.blocks:
        beyond = count(capability, threads, registers, static, dynamic + spare + 1, barriers)
        assert beyond.blocks < found.blocks


# The arithmetic, by NVIDIA's header --------------------------------------------------------------


def find_header():
    """The folder of cuda_occupancy.h in a CUDA toolkit or in NVIDIA's packages, or None."""
    nvcc = compile.find_nvcc()
    folders = [nvcc.resolve().parents[1] / "include"] if nvcc else []
    spec = importlib.util.find_spec("nvidia")
    for package in spec.submodule_search_locations or () if spec else ():
        folders += sorted(Path(package).glob("*/include"))
    return next((path for path in folders if (path / "cuda_occupancy.h").is_file()), None)


def read_header_version(folder):
    """(major, minor) of the CUDA that the header belongs to."""
    text = (folder / "cuda_runtime_api.h").read_text(encoding="utf-8")
    number = int(re.search(r"^#define CUDART_VERSION\s+(\d+)", text, re.MULTILINE)[1])
    return number // 1000, number % 1000 // 10


@pytest.fixture(scope="module")
def unknown_barriers():
    """Compute capabilities that the header here does not know, and gives the barriers of others."""
    folder = find_header()
    return ("10.3",) if folder is not None and read_header_version(folder) < (13, 3) else ()


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    folder, compiler = find_header(), shutil.which("gcc") or shutil.which("cc")
    if folder is None or compiler is None:
        pytest.skip("no cuda_occupancy.h, or no C compiler")
    program = tmp_path_factory.mktemp("calculator") / "calculator"
    source = Path(__file__).with_name("calculator.c")
    command = [compiler, "-O1", "-isystem", folder, "-o", program, source]
    subprocess.run(command, check=True, timeout=120)

    def ask(lines):
        text = "\n".join(" ".join(map(str, line)) for line in lines)
        done = subprocess.run(
            [program], input=text, capture_output=True, text=True, check=True, timeout=120
        )
        return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

    return ask


def list_cases(rng):
    """Blocks, registers and shared sizes at every edge, and anything between."""
    edges = [0, 1, 127, 128, 255, 256, 1024, 8192, 16 * KIB, 32 * KIB, 48 * KIB]
    for capability in CAPABILITIES:
        row = TABLE[capability]
        optin = row["shared_bytes_per_block_optin"]
        for _ in range(600):
            threads = rng.choice([rng.randint(1, 1030), 32 * rng.randint(1, 32), 1024])
            registers = rng.choice([rng.randint(0, 255), 8 * rng.randint(0, 31), 32])
            static = min(rng.choice([*edges, rng.randint(0, 48 * KIB)]), 48 * KIB)
            dynamic = rng.choice([*edges, optin - static, rng.randint(0, optin + 2000)])
            if row["registers_per_thread_max"] >= registers:
                yield capability, threads, registers, static, dynamic, rng.randint(0, 16)


def test_equal_to_the_calculator_of_the_toolkit(calculator, unknown_barriers, rng):
    cases = list(list_cases(random.Random(int(rng.integers(2**32)))))
    cases = [(*case[:-1], 0) if case[0] in unknown_barriers else case for case in cases]
    lines = []
    for capability, threads, registers, static, dynamic, barriers in cases:
        row = TABLE[capability]
        lines.append(
            [
                *capability.split("."),
                row["threads_per_multiprocessor_max"],
                row["registers_per_multiprocessor"],
                row["registers_per_block"],
                row["shared_bytes_per_multiprocessor"],
                row["shared_bytes_per_block_optin"],
                row["shared_bytes_per_block_reserved"],
                threads,
                registers,
                barriers,
                static,
                dynamic,
            ]
        )
    answers = calculator(lines)
    assert len(answers) == len(cases) > 10_000
    names = ("threads", "blocks", "registers", "shared_memory", "barriers")
    for case, (code, resident, *limits) in zip(cases, answers, strict=True):
        found = count(*case)
        if code != 0:  # what the header does not know is a size of shared memory beyond all
            pytest.fail(f"{case}: the header's answer is error {code}")
        ours = [UNLIMITED if found.limits[n] is None else found.limits[n] for n in names]
        assert (found.blocks, ours) == (resident, limits), case
