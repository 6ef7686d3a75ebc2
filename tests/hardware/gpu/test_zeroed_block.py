"""The zeroed block that launches share: calls of all kinds, threads, no pool, no memory left."""

import os
import subprocess
import sys
import threading

import pytest

import smemkit

TYPES = ("float32", "float64", "int32", "int64")
SIZES = (1, 5003, 100_003, 1_000_003)  # one block, few, many
VARIANTS = ("single_pass", "overlapped")  # which share the block


def make(rng, n, dtype, machine):
    """(device array, its sum, its largest element)."""
    x = rng.integers(-4, 5, n).astype(dtype)
    return smemkit.asarray(x, backend=machine), int(x.sum()), int(x.max())


def check(made):
    x, total, largest = made
    for variant in VARIANTS:
        assert smemkit.asnumpy(smemkit.reduce(x, "sum", variant=variant)) == total
        assert smemkit.asnumpy(smemkit.reduce(x, "max", variant=variant)) == largest


def test_calls_of_all_kinds_follow_each_other(machine, rng):
    """Parts of 4 and of 8 bytes, few and many, in any order: each finds zeros."""
    some = [make(rng, n, dtype, machine) for n in SIZES for dtype in TYPES]
    for place in rng.permutation(3 * len(some)):
        check(some[place % len(some)])


def test_no_result_waits_for_the_host(machine, rng):
    """Many launches under way at a time."""
    some = [make(rng, n, "float32", machine) for n in SIZES[1:]]
    turns = 50 if machine == "cuda" else 3
    outs = [
        [smemkit.reduce(x, variant=VARIANTS[turn % 2]) for x, _, _ in some] for turn in range(turns)
    ]
    for turn in outs:
        assert [smemkit.asnumpy(out) for out in turn] == [total for _, total, _ in some]


def test_threads(machine, rng):
    turns = 50 if machine == "cuda" else 2
    some = [make(rng, SIZES[k % 3] + k, TYPES[k % 4], machine) for k in range(8)]
    failures = []

    def work(made):
        try:
            for _ in range(turns):
                check(made)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(made,)) for made in some]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# The GPU's alone ----------------------------------------------------------------------------------

HEAD = """
import numpy as np, smemkit, threading
x = smemkit.asarray(np.ones(1_000_003, "float32"), backend="cuda")
def total():
    return float(smemkit.asnumpy(smemkit.reduce(x, variant="single_pass")))
"""

FULL = """
held, size = [], smemkit.device_info(backend="cuda")["global_memory_bytes"] // 2
out = smemkit.empty((), "float32", backend="cuda")
while size >= 1 << 10:
    try:
        held.append(smemkit.empty((size,), "uint8", backend="cuda"))
    except smemkit.OutOfMemoryError:
        size //= 2
try:
    smemkit.reduce(x, variant="single_pass", out=out)
    print("fits", float(smemkit.asnumpy(out)))
except smemkit.OutOfMemoryError as error:
    print("refused", "bytes are free" in str(error))
del held
print(total(), total())
"""

FIRST = """
found = []
threads = [threading.Thread(target=lambda: found.append(total())) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(found == 8 * [1_000_003.0])
"""


def run(code, head=HEAD, **environment):
    done = subprocess.run(
        [sys.executable, "-c", head + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.fixture
def gpu(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


@pytest.mark.parametrize("pool", ["0", "1"])
def test_first_calls_of_several_threads(gpu, pool):
    """They make the block, each on its own or one for all; without a pool there is none."""
    assert run(FIRST, SMEMKIT_POOL=pool) == ["True"]
    assert run("print(total(), total())", SMEMKIT_POOL=pool) == ["1000003.0 1000003.0"]


def test_a_pool_that_is_no_word(gpu):
    code = "try:\n    smemkit.empty(1, backend='cuda')\n"
    code += "except smemkit.ArgumentError as error:\n    print(error)"
    (said,) = run(code, head="import smemkit\n", SMEMKIT_POOL="x")
    assert said == "the environment variable SMEMKIT_POOL is 'x'; accepted are '0' and '1'"


def test_no_memory_left(gpu, whole_device):
    """The first call, which would make the block: refused by name, or it fits; then all is well."""
    first, second = run(FULL)
    assert first in ("refused True", "fits 1000003.0")
    assert second == "1000003.0 1000003.0"
