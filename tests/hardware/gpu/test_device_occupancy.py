"""Occupancy on a device: equal to the CUDA runtime's own calculator, for every kernel we have."""

import re

import pytest
from support.tables import PARTS

import smemkit
from smemkit import _core

BLOCKS = [*range(1, 34), 48, 63, 64, 65, 96, 100, 127, 128, *range(160, 1025, 32), 1000]


@pytest.fixture(scope="module", autouse=True)
def device(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


@pytest.fixture(autouse=True)
def on_the_device(device):
    smemkit.set_backend("cuda")
    yield
    smemkit.set_backend(None)


def list_kernels():
    """One RawKernel of each entry of the package that this device runs."""
    capability = float(smemkit.device_info(backend="cuda")["compute_capability"])
    for family in smemkit.families():
        for variant, facts in smemkit.variants(family).items():
            if float(facts["compute_capability"]) > capability:
                continue
            text = smemkit.ptx(family, variant)
            for entry in re.findall(r"^\.visible \.entry (\w+)\(", text, re.MULTILINE):
                rest = entry.removeprefix(f"{family}_{variant}_")
                if rest.startswith(tuple(f"{part}_" for part in PARTS.get((family, variant), ()))):
                    continue  # beside the one that the names stand for
                ending = rest.split("_")
                dtype = ending[-1].replace("bits128", "complex128").replace("bits", "uint")
                dtype = dtype.replace("tf32", "float32")  # the type of what it multiplies
                choice = ending[0] if len(ending) > 1 else None
                yield smemkit.kernel(family, variant, dtype, choice)


@pytest.fixture(scope="module")
def kernels(device):
    return list(list_kernels())


def list_shared_sizes(kernel, limits):
    """Dynamic bytes: none, the default's and the device's edges, and what splits it evenly."""
    static = kernel.attributes["shared_size_bytes"]
    most = limits["shared_bytes_per_block_optin"] - static
    whole = limits["shared_bytes_per_multiprocessor"]
    reserved = limits["shared_bytes_per_block_reserved"]
    sizes = {0, 1, 1000, 48 * 1024 - static, 48 * 1024 - static + 1, most - 1, most}
    for blocks in (2, 3, 5, 8, 16):
        share = whole // blocks // 128 * 128 - reserved - static
        sizes |= {share, share + 1}
    return sorted(size for size in sizes if 0 <= size <= most)


def test_the_table_is_what_the_device_says():
    limits = smemkit.limits()
    assert limits["differences"] == {}, "(the table, the device)"


def test_blocks(kernels):
    limits = smemkit.limits()
    wrong, compared = [], 0
    for kernel in kernels:
        most = kernel.attributes["max_threads_per_block"]
        for shared_bytes in list_shared_sizes(kernel, limits):
            sizes = tuple(size for size in BLOCKS if size <= most)
            answers = _core._calculator(kernel, sizes, shared_bytes)
            for threads, theirs in zip(sizes, answers, strict=True):
                ours = smemkit.occupancy(kernel, threads, shared_bytes)
                compared += 1
                if ours.blocks != theirs:
                    wrong.append((kernel.name, threads, shared_bytes, ours, theirs))
        if len(wrong) > 20:
            break
    assert not wrong, wrong[:5]
    assert compared > 1000


def test_blocks_beyond_the_launch_bounds_do_not_run(kernels):
    for kernel in kernels:
        most = kernel.attributes["max_threads_per_block"]
        if most < 1024:
            found = smemkit.occupancy(kernel, most + 1)
            assert (found.blocks, "threads" in found.limited_by) == (0, True)


def test_more_shared_memory_than_a_block_can_have(kernels):
    limits = smemkit.limits()
    kernel = kernels[0]
    most = limits["shared_bytes_per_block_optin"] - kernel.attributes["shared_size_bytes"]
    assert smemkit.occupancy(kernel, 32, most + 1).blocks == 0
    assert smemkit.occupancy(kernel, 32, most).blocks == 1


def test_suggestions(kernels):
    limits = smemkit.limits()
    for kernel in kernels:
        for shared_bytes in list_shared_sizes(kernel, limits):
            grid, block = _core._calculator(kernel, (), shared_bytes)
            assert smemkit.suggest_block(kernel, shared_bytes) == block, kernel.name
            blocks = smemkit.occupancy(kernel, block, shared_bytes).blocks
            assert grid == blocks * smemkit.device_info(backend="cuda")["multiprocessors"]


PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry many(.param .u32 n)
{
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [n];
    BODY
    ret;
}
"""


@pytest.mark.parametrize(
    "body", ["", "bar.sync 0;", "bar.sync 0; bar.sync 2;", "bar.sync 15;", "bar.sync %r1;"]
)
def test_barriers(body):
    kernel = smemkit.RawKernel(PTX.replace("BODY", body), "many")
    sizes = (32, 64, 128, 1024)
    ours = [smemkit.occupancy(kernel, threads).blocks for threads in sizes]
    assert ours == _core._calculator(kernel, sizes, 0)


def test_the_record_of_the_build_is_what_the_driver_loads(kernels):
    """Registers of another compute capability come from the record: here both are known."""
    capability = smemkit.device_info(backend="cuda")["compute_capability"]
    smemkit.set_backend("sim")
    if smemkit.limits()["compute_capability"] == capability:
        for kernel in kernels:
            built = smemkit.occupancy(kernel, 32, compute_capability=capability)
            smemkit.set_backend("cuda")
            assert smemkit.occupancy(kernel, 32) == built, kernel.name
            smemkit.set_backend("sim")
