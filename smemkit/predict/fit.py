"""Whether a card can run a launch that the simulator, which has the limits of 9.0, has run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from .needs import find_need
from .registers import is_packaged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .cards import Card

TARGET = re.compile(r"^\.target\s+sm_(\d+)([af]?)", re.MULTILINE)


def read_capability(text: str) -> tuple[int, ...]:
    """A compute capability as numbers, which compare as it does.

    >>> read_capability("8.9") < read_capability("12.0")
    True
    """
    return tuple(map(int, text.split(".")))


def demand_capability(what: str, needed: str, card: Card) -> None:
    """BackendError where a card is older than what needs a compute capability."""
    if read_capability(needed) > read_capability(card.compute_capability):
        raise _core.BackendError(
            f"{what} needs compute capability {needed}, {card.name} has {card.compute_capability}"
        )


def demand_instructions(facts: Mapping[str, Any], card: Card) -> None:
    """BackendError for a kernel with an instruction that the card does not have."""
    needed, opcode = find_need(facts["instructions"])
    if needed and read_capability(needed) > read_capability(card.compute_capability):
        raise _core.BackendError(
            f"{facts['kernel']} cannot run on {card.name}, which has compute capability "
            f"{card.compute_capability}: it needs compute capability {needed}, for {opcode}"
        )


def demand_fit(facts: Mapping[str, Any], card: Card) -> None:
    """BackendError or SharedMemoryError for a counted launch that the card cannot run.

    The package compiles each of its kernels for the oldest architecture that can run it. PTX of
    others names the one that they happened to be compiled for, which says less: only that of an
    architecture's own features ("sm_90a") runs nowhere else. Their instructions tell what they
    need.
    """
    kernel = facts["kernel"]
    target = TARGET.search(facts["ptx"])
    if target is not None:
        digits, kind = target.groups()
        needed = f"{digits[:-1]}.{digits[-1]}"
        if is_packaged(kernel):
            demand_capability(kernel, needed, card)
        if kind == "a" and needed != card.compute_capability:
            raise _core.BackendError(
                f"{kernel} runs on compute capability {needed} alone (its PTX is for "
                f"sm_{digits}a), {card.name} has {card.compute_capability}"
            )
        if read_capability(needed) > read_capability(card.compute_capability):
            demand_instructions(facts, card)
    most = _core.limits(card.compute_capability)["shared_bytes_per_block_optin"]
    if facts["shared_bytes"] > most:
        raise _core.SharedMemoryError(
            f"{kernel} needs {facts['shared_bytes']:,} bytes of shared memory, a block on "
            f"{card.name} has {most:,} at most"
        )
