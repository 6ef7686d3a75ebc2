"""Advice on constant memory, which serves one word at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._kernel import add_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._kernel import Advice, Kernel

SERIAL = 2  # different words of an average request
SHARE = 0.05  # passes beyond one a request, as a share of the kernel's instructions


def judge_constants(kernel: Kernel) -> Iterator[Advice]:
    """Lines whose lanes read different words of constant memory in one request."""
    names = ("constant.load.requests", "constant.load.addresses")
    rows = [(facts, None) for facts in kernel.instructions if facts["counters"].get(names[0])]
    for place, same in kernel.gather(rows):
        evidence = add_rows(same, *names)
        requests, addresses = evidence.values()
        wasted = addresses - requests
        if addresses < SERIAL * requests or wasted < SHARE * kernel.sums["instructions.warp"]:
            continue
        evidence["constant.load.addresses_per_request"] = addresses / requests
        text = (
            f"lanes of a warp read {addresses / requests:.3g} different words of constant memory "
            f"in an average request ({requests:,} requests, {addresses:,} words), and constant "
            "memory serves one word at a time. It is for values that all lanes read together: copy "
            "the table to shared memory, or read it from global memory by __ldg."
        )
        yield kernel.advise("constant_memory", [place], text, evidence, is_access=True)
