"""The GPU behind csrc/gpu: facts, memory, launches, and what every refusal says."""

import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import smemkit

# One kernel that touches the far end of its dynamic shared memory, and one with launch bounds.
PTX = """
.version 7.0
.target sm_75
.address_size 64

.extern .shared .align 16 .b8 pool[];

.visible .entry far_end(.param .u64 out, .param .u32 shared_bytes)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u32 %r1, [shared_bytes];
    mov.u32 %r2, pool;
    add.u32 %r2, %r2, %r1;
    mov.u32 %r3, 4711;
    st.shared.u32 [%r2+-4], %r3;
    ld.shared.u32 %r4, [%r2+-4];
    st.global.u32 [%rd2], %r4;
    ret;
}

.visible .entry bounded(.param .u64 out)
.maxntid 64, 1, 1
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ntid.x;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""


@pytest.fixture(scope="module", autouse=True)
def device(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


@pytest.fixture(scope="module")
def info(device):
    return smemkit.device_info(backend="cuda")


@pytest.fixture
def out():
    return smemkit.asarray(np.zeros(1, np.uint32), backend="cuda")


def read(array):
    return int(smemkit.asnumpy(array)[0])


def run_python(code):
    """Runs code in a process of its own, for faults that cost the process its CUDA context."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


class TestFacts:
    def test_names_and_types(self, info):
        assert len(info) > 100
        for name, value in info.items():
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
            assert isinstance(value, (int, float, str)), name

    def test_texts(self, info):
        assert info["name"]
        assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", info["uuid"])
        assert re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.0", info["pci_address"])
        capability = f"{info['compute_capability_major']}.{info['compute_capability_minor']}"
        assert info["compute_capability"] == capability

    def test_facts_fit_together(self, info):
        assert info["warp_lanes"] == 32
        assert info["threads_per_block_max"] == 1024
        assert info["warps_per_multiprocessor_max"] * 32 == info["threads_per_multiprocessor_max"]
        assert info["grid_x_max"] == 2**31 - 1
        assert info["grid_y_max"] == info["grid_z_max"] == 65535
        assert info["shared_bytes_per_block"] == 48 * 1024
        optin = info["shared_bytes_per_block_optin"]
        reserved = info["shared_bytes_per_block_reserved"]
        assert 48 * 1024 <= optin <= info["shared_bytes_per_multiprocessor"] - reserved
        assert info["registers_per_multiprocessor"] >= info["registers_per_block"] > 0
        assert info["multiprocessors"] > 0
        assert info["global_memory_bytes"] > 2**30
        assert info["constant_memory_bytes"] == 65536
        assert info["unified_addressing"] == 1

    def test_bandwidth_is_clock_times_width(self, info):
        bits = info["memory_bus_width_bits"]
        expected = 2 * info["memory_clock_khz"] * 1e3 * bits / 8 / 1e9
        assert expected > 10
        assert info["memory_bandwidth_gb_per_s"] == pytest.approx(expected, rel=1e-12)

    def test_a_device_that_is_not_there(self):
        with pytest.raises(smemkit.ArgumentError, match="device 4096"):
            smemkit.device_info(4096, backend="cuda")


class TestMemory:
    @pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
    @pytest.mark.parametrize("shape", [(), (0,), (1,), (33, 65), (2, 3, 5), (1 << 20,)])
    def test_round_trip(self, rng, dtype, shape):
        x = (rng.standard_normal(shape) * 100).astype(dtype)
        d = smemkit.asarray(x, backend="cuda")
        assert d.backend == "cuda"
        assert (d.shape, d.dtype, d.nbytes) == (x.shape, x.dtype, x.nbytes)
        back = smemkit.asnumpy(d)
        assert back.dtype == x.dtype
        assert np.array_equal(back, x)

    def test_into_out(self, rng):
        x = rng.standard_normal((7, 9))
        d = smemkit.asarray(x, backend="cuda")
        target = np.full_like(x, np.nan)
        assert smemkit.asnumpy(d, out=target) is target
        assert np.array_equal(target, x)

    def test_freed_with_the_last_reference(self, info, whole_device):
        """Eight times a quarter of the memory: fits only where each array's memory returns."""
        count = info["global_memory_bytes"] // 4
        for _ in range(8):
            d = smemkit.empty((count,), "uint8", backend="cuda")
            assert d.pointer != 0
            del d

    def test_out_of_memory(self, info, rng):
        asked = 2 * info["global_memory_bytes"]
        with pytest.raises(smemkit.OutOfMemoryError) as caught:
            smemkit.empty((asked,), "uint8", backend="cuda")
        assert isinstance(caught.value, MemoryError)
        message = str(caught.value)
        assert str(asked) in message
        assert "cudaErrorMemoryAllocation" in message
        free, total = map(int, re.search(r"(\d+) of its (\d+) bytes are free", message).groups())
        assert 0 < free <= total < asked
        # nothing sticks: the device still works
        x = rng.standard_normal(100)
        assert np.array_equal(smemkit.asnumpy(smemkit.asarray(x, backend="cuda")), x)


class TestLaunch:
    @pytest.mark.parametrize("shared_bytes", [4, 1024, 48 * 1024, 48 * 1024 + 4])
    def test_shared_memory_and_opt_in(self, out, shared_bytes):
        kernel = smemkit.RawKernel(PTX, "far_end")
        kernel(1, 1, (out, np.uint32(shared_bytes)), shared_mem=shared_bytes)
        assert read(out) == 4711

    def test_all_shared_memory_there_is(self, info, out):
        kernel = smemkit.RawKernel(PTX, "far_end")
        most = info["shared_bytes_per_block_optin"]
        kernel(1, 1, (out, np.uint32(most)), shared_mem=most)
        assert read(out) == 4711

    @pytest.mark.parametrize("beyond", [1, 2**31, 2**32 - 230_000])
    def test_too_much_shared_memory(self, info, out, beyond):
        kernel = smemkit.RawKernel(PTX, "far_end")
        most = info["shared_bytes_per_block_optin"]
        with pytest.raises(smemkit.SharedMemoryError) as caught:
            kernel(1, 1, (out, np.uint32(4)), shared_mem=most + beyond)
        assert isinstance(caught.value, smemkit.LaunchError)
        assert isinstance(caught.value, MemoryError)
        assert caught.value.kernel == "far_end"
        assert str(most + beyond) in str(caught.value)
        assert str(most) in str(caught.value)
        kernel(1, 1, (out, np.uint32(4)), shared_mem=4)
        assert read(out) == 4711

    def test_threads_opt_in_at_once(self, info):
        """Launches with different sizes do not take the permission from each other."""
        kernel = smemkit.RawKernel(PTX, "far_end")
        most = info["shared_bytes_per_block_optin"]
        failures = []

        def work(shared_bytes):
            try:
                mine = smemkit.asarray(np.zeros(1, np.uint32), backend="cuda")
                for _ in range(50):
                    kernel(1, 1, (mine, np.uint32(shared_bytes)), shared_mem=shared_bytes)
                if read(mine) != 4711:
                    failures.append(f"{shared_bytes}: wrong result")
            except smemkit.Error as error:
                failures.append(str(error))

        threads = [
            threading.Thread(target=work, args=(size,)) for size in (most, 50_000, 60_000, 1024)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

    @pytest.mark.parametrize(
        ("grid", "block", "reason"),
        [
            (1, 1025, "block.x is 1025"),
            (1, (1, 1025), "block.y is 1025"),
            (1, (1, 1, 65), "block.z is 65"),
            (1, (32, 33), "1056 threads"),
            (2**31, 1, "grid.x is 2147483648"),
            ((1, 65536), 1, "grid.y is 65536"),
            ((1, 1, 65536), 1, "grid.z is 65536"),
        ],
    )
    def test_sizes_that_no_device_takes(self, out, grid, block, reason):
        kernel = smemkit.RawKernel(PTX, "far_end")
        with pytest.raises(smemkit.LaunchError) as caught:
            kernel(grid, block, (out, np.uint32(4)), shared_mem=4)
        assert reason in str(caught.value)
        assert caught.value.kernel == "far_end"
        kernel(1, 1, (out, np.uint32(4)), shared_mem=4)
        assert read(out) == 4711

    @pytest.mark.parametrize(("grid", "block"), [(0, 1), ((1, 1, 0), 1), (1, 0), (1, (1, 0))])
    def test_nothing_to_launch(self, out, grid, block):
        with pytest.raises(smemkit.LaunchError, match="is 0"):
            smemkit.RawKernel(PTX, "far_end")(grid, block, (out, np.uint32(4)), shared_mem=4)

    def test_launch_bounds(self, out):
        kernel = smemkit.RawKernel(PTX, "bounded")
        kernel(1, 64, (out,))
        assert read(out) == 64
        with pytest.raises(smemkit.LaunchError) as caught:
            kernel(1, 65, (out,))
        assert "65" in str(caught.value)
        assert "64" in str(caught.value)

    def test_unknown_kernel(self):
        with pytest.raises(smemkit.Error, match="nowhere"):
            smemkit.RawModule(PTX, backend="cuda").get_function("nowhere")

    @pytest.mark.parametrize(
        "code",
        [
            "",
            "\x7fELF is no PTX",
            PTX.replace(".version 7.0", ".version 99.0"),
            PTX.replace("st.global.u32", "st.globular.u32"),
            PTX.replace("%r<5>", "%r<2>"),
        ],
    )
    def test_bad_images(self, out, code):
        with pytest.raises(smemkit.Error) as caught:
            smemkit.RawKernel(code, "far_end")(1, 1, (out, np.uint32(4)), shared_mem=4)
        assert str(caught.value)
        kernel = smemkit.RawKernel(PTX, "far_end")
        kernel(1, 1, (out, np.uint32(4)), shared_mem=4)
        assert read(out) == 4711


class TestLostContext:
    CODE = """
import numpy as np, smemkit
PTX = '''
.version 7.0
.target sm_75
.address_size 64
.visible .entry wild(.param .u64 address)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [address];
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
'''
d = smemkit.asarray(np.zeros(4), backend="cuda")
kernel = smemkit.RawKernel(PTX, "wild")
for attempt in range(2):
    try:
        kernel(1, 1, (np.uint64(64),), backend="cuda")
        smemkit.asnumpy(d)
    except smemkit.CudaError as error:
        print(repr(str(error)))
    else:
        print("no error")
"""

    def test_an_illegal_address_says_so_each_time(self):
        done = run_python(self.CODE)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.strip().splitlines()
        assert len(lines) == 2
        for line in lines:
            assert "cudaErrorIllegalAddress" in line
            assert "restart the process" in line


class TestLaziness:
    CODE = """
import sys
def mapped():
    return any("libcuda.so" in line for line in open("/proc/self/maps"))
import smemkit
smemkit.families(); smemkit.variants("gemm"); smemkit.source("gemm", "tiled")
assert not mapped(), "the driver is loaded by an import"
smemkit.device_info(backend="cuda")
assert mapped(), "the driver is not loaded by a use of it"
"""

    def test_importing_does_not_touch_the_driver(self):
        done = run_python(self.CODE)
        assert done.returncode == 0, done.stderr
