"""The machines that work here, for the commands that name them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import smemkit

if TYPE_CHECKING:
    from .._facts import DeviceInfo
    from .._types import Machine

    Machines = dict[Machine, DeviceInfo]
    Missing = dict[Machine, str]


def find_machines() -> tuple[Machines, Missing]:
    """{backend: its facts} of those that work here, and {backend: reason} of those that do not."""
    machines: Machines = {}
    missing: Missing = {}
    backends: tuple[Machine, ...] = ("cuda", "sim")
    for backend in backends:
        try:
            machines[backend] = smemkit.device_info(backend=backend)
        except smemkit.BackendError as error:
            missing[backend] = str(error)
    return machines, missing


def shorten_reason(text: str) -> str:
    """The reason why there is no GPU, without CUDA's code and sentence for it."""
    return re.sub(r" \(cudaError\w*: .*\)$", "", text.removeprefix("looking for a GPU: "))


def describe_machines(machines: Machines, missing: Missing) -> str:
    """The sentence that names the machine that runs the kernels."""
    if "cuda" in machines:
        facts = machines["cuda"]
        return (
            f"GPU: {facts['name']}, compute capability {facts['compute_capability']}; "
            "the simulator runs the same kernels on the CPU"
        )
    reason = shorten_reason(missing["cuda"])
    return f"no GPU here ({reason}): the simulator runs the kernels, with the same results"
