"""What each advice would save on a card: the time of the launches without what it is about."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ..compile import find_nvdisasm, find_ptxas
from ..predict.forecast import predict_captured
from ..predict.gains import (
    coalesce,
    drop_barriers,
    fill_lanes,
    free_shared_memory,
    merge_atomics,
    remove_conflicts,
    remove_local,
    widen_reads,
)
from ..predict.prediction import write_time
from ._advise_code import find_behind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..predict import Card, Prediction
    from ._kernel import Advice

    Facts = Mapping[str, Any]

NEEDED = "expected sectors per request"
PADDED, FUSED = (f"wavefronts of 16 bytes a lane, {word}" for word in ("padded", "not padded"))
WIDTH = "bytes a lane and load"
LEAST = 0.02  # of the time: less is called little


def cure(facts: Facts, advice: Advice) -> Facts | None:
    """The counted launch as it would be where the advice is followed; None where that is open."""
    if advice.kind == "bank_conflict":
        return remove_conflicts(facts, advice.lines)
    if advice.kind in ("uncoalesced", "misaligned") and NEEDED in advice.evidence:
        for op in ("load", "store", "atomic"):
            if f"global.{op}.requests" in advice.evidence:
                return coalesce(facts, advice.lines, op, advice.evidence[NEEDED])
    if advice.kind == "padding" and FUSED in advice.evidence:
        told = advice.evidence
        return widen_reads(facts, advice.lines, told[WIDTH] / 16, told[FUSED] / told[PADDED])
    if advice.kind == "local_memory":
        return remove_local(facts, advice.lines)
    if advice.kind == "atomic_contention":
        return merge_atomics(facts, advice.lines)
    if advice.kind == "divergence":
        return fill_lanes(facts, list_parted(facts, advice))
    if advice.kind == "redundant_barrier":
        return drop_barriers(facts, advice.lines[:1]) if has_compiler() else None
    if advice.kind == "occupancy":
        return free_shared_memory(facts) if facts["kernel"] == advice.subject else facts
    return None


def has_compiler() -> bool:
    """Whether the machine code of altered PTX can be made here."""
    return find_ptxas() is not None and find_nvdisasm() is not None


def list_parted(facts: Facts, advice: Advice) -> set[int] | None:
    """The lines of the PTX whose lanes the advice would fill; None where all are meant."""
    if "branch.divergent" not in advice.evidence:
        return None
    return find_behind(facts["ptx"].splitlines(), facts["instructions"], advice.lines[0]) or None


def add_gain(
    advice: Advice, captured: Sequence[Facts], prediction: Prediction, card: Card, cache: str
) -> Advice:
    """The advice with what it would save, in its message and its evidence; else as it was."""
    cured = [cure(facts, advice) for facts in captured]
    if not all(cured):
        return advice
    after = predict_captured([facts for facts in cured if facts], card, cache, "the call")
    saved = prediction.time_ms - after.time_ms
    whole = write_time(prediction.time_ms)
    if saved < LEAST * prediction.time_ms:
        words = (
            f"On {card.name} this would save little of the predicted {whole}: "
            f"{prediction.limited_by} limits it there."
        )
    else:
        words = f"On {card.name} this would save {write_time(saved)} of the predicted {whole}."
    evidence = {
        **advice.evidence,
        f"predicted ms on {card.name}": prediction.time_ms,
        f"predicted ms saved on {card.name}": max(saved, 0.0),
    }
    return dataclasses.replace(advice, message=f"{advice.message} {words}", evidence=evidence)
