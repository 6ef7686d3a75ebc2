"""RawKernel.preferred_shared_memory_carveout: a wish that is kept, checked, and breaks nothing."""

import numpy as np
import pytest

import smemkit

NAME = "preferred_shared_memory_carveout"


@pytest.fixture
def kernel():
    return smemkit.kernel("probe", "dynamic_shared", "uint32")


def turn_round(kernel, words, machine):
    x = np.arange(1, words + 1, dtype="uint32")
    y = np.zeros_like(x)
    kernel(1, 256, (x, y, words), shared_mem=x.nbytes, backend=machine)
    assert np.array_equal(y, x[::-1])


def test_no_preference_at_first(kernel):
    assert kernel.preferred_shared_memory_carveout == -1
    assert (
        smemkit.RawModule(smemkit.ptx("gemm", "naive"))
        .get_function("gemm_naive_float32")
        .preferred_shared_memory_carveout
        == -1
    )


@pytest.mark.parametrize("percent", [-1, 0, 1, 50, 99, 100, np.int8(25)])
def test_accepted(kernel, percent, machine):
    kernel.preferred_shared_memory_carveout = percent
    found = kernel.preferred_shared_memory_carveout
    assert type(found) is int and found == percent
    most = smemkit.device_info(backend=machine)["shared_bytes_per_block_optin"]
    for shared_bytes in (4, 48 * 1024, most):
        turn_round(kernel, shared_bytes // 4, machine)
    kernel.preferred_shared_memory_carveout = -1
    turn_round(kernel, most // 4, machine)


@pytest.mark.parametrize("percent", [-2, 101, 2**31, -(2**31) - 1, 2**63, -(2**70)])
def test_out_of_range(kernel, percent):
    kernel.preferred_shared_memory_carveout = 30
    with pytest.raises(smemkit.ArgumentError, match=rf"{NAME} is {percent}; .* 0 to 100"):
        kernel.preferred_shared_memory_carveout = percent
    assert kernel.preferred_shared_memory_carveout == 30


@pytest.mark.parametrize("percent", [1.0, "50", None, [50], b"1", True])
def test_wrong_type(kernel, percent):
    with pytest.raises(smemkit.ArgumentTypeError, match=f"{NAME} must be an int, not"):
        kernel.preferred_shared_memory_carveout = percent
    assert kernel.preferred_shared_memory_carveout == -1


def test_it_cannot_be_deleted(kernel):
    with pytest.raises(AttributeError, match="-1 takes it back"):
        del kernel.preferred_shared_memory_carveout


def test_each_object_has_its_own(machine):
    one, other = (smemkit.kernel("probe", "dynamic_shared", "uint32") for _ in range(2))
    one.preferred_shared_memory_carveout = 100
    assert other.preferred_shared_memory_carveout == -1
    for kernel in (one, other, one):
        turn_round(kernel, 1000, machine)


def test_profile_and_check_take_it(kernel):
    kernel.preferred_shared_memory_carveout = 75
    x = np.arange(64, dtype="uint32")
    args = (1, 64, (x, np.zeros_like(x), x.size))
    assert kernel.profile(*args, shared_mem=256).counters["shared.store.instructions"] > 0
    assert kernel.check(*args, shared_mem=256), "nothing is found"


def test_the_probe_of_shared_memory_runs_with_preferences(machine):
    found = smemkit.probe.shared_limits(backend=machine)
    assert found.carveout_percents == (0, 50, 100)
    assert found.to_dict()["carveout_percents"] == [0, 50, 100]
