"""Launches that begin while the one before them ends read what it has written, on every stream."""

import itertools

import numpy as np
import pytest

import smemkit

COUNT = 1 << 18
ROUNDS = 200

# Each block lets the next launch begin, takes its time, and writes then. The second kernel does so
# by itself; of the first one the next launch may begin when all its blocks have ended.
CODE = r"""
static __device__ void write(float *x, int n, float value, long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) { }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = value;
}
extern "C" __global__ void plain(float *x, int n, float value, long long cycles)
{
    write(x, n, value, cycles);
}
extern "C" __global__ void early(float *x, int n, float value, long long cycles)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    write(x, n, value, cycles);
}
"""


@pytest.fixture(scope="module")
def writers(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")
    if float(smemkit.device_info(backend="cuda")["compute_capability"]) < 9:
        pytest.skip("launches wait for each other before compute capability 9.0")
    module = smemkit.RawModule(CODE)
    return {name: module.get_function(name) for name in ("plain", "early")}


def follow(write, writing, reading):
    """The sums of as many rounds as were asked for, on `reading`; the host waits for none."""
    x = smemkit.zeros(COUNT, backend="cuda")
    totals = smemkit.zeros(ROUNDS, backend="cuda")
    smemkit.reduce(x, variant="overlapped", out=totals[0], stream=reading)
    smemkit.Device("cuda").synchronize()
    for turn in range(ROUNDS):
        if writing is not reading:
            writing.wait(reading)
        write(64, 256, (x, np.int32(COUNT), np.float32(turn % 7), np.int64(3000)), stream=writing)
        if writing is not reading:
            reading.wait(writing)
        smemkit.reduce(x, variant="overlapped", out=totals[turn], stream=reading)
    return smemkit.asnumpy(totals, stream=reading)


@pytest.mark.parametrize("writer", ["plain", "early"])
@pytest.mark.parametrize("order", ["one", "two", "default"])
def test_a_sum_waits_for_who_writes_its_elements(writers, writer, order):
    first, second = (smemkit.Stream(backend="cuda", non_blocking=order != "default") for _ in "ab")
    reading = first if order == "one" else second
    got = follow(writers[writer], first, reading)
    assert np.array_equal(got, np.arange(ROUNDS) % 7 * float(COUNT))


def test_sums_in_a_row_share_their_block(writers):
    """Each finds the zeros that the one before it leaves, and what that one has written."""
    x = smemkit.ones(COUNT, backend="cuda")
    totals = smemkit.zeros((ROUNDS, 2), backend="cuda")
    sums = smemkit.zeros(ROUNDS, backend="cuda")
    for turn in range(ROUNDS):
        smemkit.reduce(x, variant="overlapped", out=totals[turn, 0])
        smemkit.reduce(x[: COUNT - turn], "max", variant="overlapped", out=totals[turn, 1])
        smemkit.reduce(totals[turn], variant="overlapped", out=sums[turn])
    assert smemkit.asnumpy(totals).tolist() == ROUNDS * [[COUNT, 1.0]]
    assert smemkit.asnumpy(sums).tolist() == ROUNDS * [COUNT + 1.0]


def test_a_graph_keeps_the_order(writers):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    x = smemkit.zeros(COUNT, backend="cuda")
    totals = smemkit.zeros(4, backend="cuda")
    values = [1.0, 5.0, 2.0, 3.0]

    def work(stream):
        for (turn, value), writer in zip(enumerate(values), itertools.cycle(writers.values())):
            writer(64, 256, (x, np.int32(COUNT), np.float32(value), np.int64(3000)), stream=stream)
            smemkit.reduce(x, variant="overlapped", out=totals[turn], stream=stream)

    work(torch.cuda.current_stream())
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(torch.cuda.current_stream())
    for _ in range(20):
        graph.replay()
    torch.cuda.synchronize()
    assert smemkit.asnumpy(totals).tolist() == [COUNT * value for value in values]


@pytest.mark.parametrize("side", [64, 600])
def test_products_in_a_row_wait_for_each_other(writers, side):
    """Each lets the next one begin at once, which turns its columns by one more."""
    start = np.arange(40 * side, dtype="f4").reshape(40, side) % 1021
    turn = smemkit.asarray(np.roll(np.eye(side, dtype="f4"), 1, axis=1), backend="cuda")
    now, after = (smemkit.asarray(start, backend="cuda") for _ in "ab")
    for _ in range(ROUNDS):
        smemkit.gemm(now, turn, variant="lean", out=after)
        now, after = after, now
    assert np.array_equal(smemkit.asnumpy(now), np.roll(start, ROUNDS, axis=1))
