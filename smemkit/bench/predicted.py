"""Rows whose times are predicted for a card, in place of measured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import smemkit

from ..predict.cards import find_card
from ..predict.opcode_classes import pipe_clocks
from . import timing
from .results import PREDICTED, describe_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ..predict import Card, Prediction
    from .families import Workload
    from .results import Measurement
    from .types import Cache, Warn


def check_prediction(predicted: object, device: str | Card | None, **others: object) -> Card:
    """The card of predicted=True; errors for other arguments, by name, that measure something."""
    if not isinstance(predicted, bool):
        raise smemkit.ArgumentTypeError(f"predicted is True or False, not {predicted!r:.80}")
    if not predicted:
        raise smemkit.ArgumentError(
            "device= names the card of a prediction: write predicted=True, or leave it out"
        )
    for name, value in others.items():
        if value:
            raise smemkit.ArgumentError(f"predicted=True measures nothing: leave {name}= out")
    return find_card("h200" if device is None else device)


def read_capability(text: str) -> tuple[int, ...]:
    """Compute capabilities in their order.

    >>> read_capability("8.9") < read_capability("12.0")
    True
    """
    return tuple(map(int, text.split(".")))


def find_misfit(case: Workload, variant: str, card: Card) -> str | None:
    """Why a variant cannot run the case on a card, or None."""
    facts = smemkit.variants(case.family)[variant]
    if not case.accepts(facts["dtypes"]):
        return f"{case.family} variant {variant!r} does not take {case.dtype}"
    needed = facts["compute_capability"]
    if read_capability(needed) > read_capability(card.compute_capability):
        return (
            f"{case.family} variant {variant!r} needs compute capability {needed}, "
            f"{card.name} has {card.compute_capability}"
        )
    return None


def list_predictable(case: Workload, card: Card) -> list[str]:
    """Our variants that do the work of the case, and that the card can run."""
    return [
        name
        for name in smemkit.variants(case.family)
        if name not in case.other_work and find_misfit(case, name, card) is None
    ]


class Predictor:
    """Predicts calls of a workload on operands that lie on the simulator."""

    def __init__(self, case: Workload, card: Card, seed: int, caches: Sequence[Cache]) -> None:
        self.case, self.card, self.caches = case, card, caches
        inputs = case.make_inputs(numpy.random.default_rng(seed))
        self._arrays = tuple(smemkit.asarray(array, backend="sim") for array in inputs)
        self._out = smemkit.empty(case.result_shape, case.result_dtype, backend="sim")

    def predict(self, variant: str, cache: Cache) -> Prediction:
        """The prediction of a variant; ArgumentError where the card cannot run it."""
        reason = find_misfit(self.case, variant, self.card)
        if reason is not None:
            raise smemkit.ArgumentError(reason)
        operands = self._arrays, self._out, variant
        return smemkit.predict(self.case.call, *operands, device=self.card, cache=cache)

    def make_row(self, variant: str, cache: Cache) -> Measurement:
        """The row of a variant."""
        found = self.predict(variant, cache)
        return self.case.make_row(
            variant,
            PREDICTED,
            times_ms=(found.time_ms,),
            low_ms=found.low_ms,
            high_ms=found.high_ms,
            limited_by=found.limited_by,
            cache=cache,
        )

    def make_rows(
        self, variants: Iterable[str], warn: Warn | None, *, skip: bool
    ) -> Iterator[Measurement]:
        """The rows of these variants. With `warn`, one that fails is reported and left out.

        With `skip`, a variant that the simulator cannot run is left out without a report.
        """
        for variant in variants:
            try:
                rows = [self.make_row(variant, cache) for cache in self.caches]
            except smemkit.Error as error:
                if skip and isinstance(error, timing.UNFIT):
                    continue
                if warn is None:
                    raise
                warn(f"{self.case.name}: without {variant}: {error}")
                continue
            yield from rows


ARITHMETIC = {"float64": "double", "float16": "half", "bfloat16": "half"}  # the pipe; else fma
WARP, PARTITIONS = 32, 4


def find_ceilings(card: Card, dtype: str) -> dict[str, float]:
    """{name of a ceiling: what the card reaches by its constants}, as a MemoryWall has them.

    The ceiling of operations is that of multiply-adds of the type, without tensor cores.
    """
    clocks = pipe_clocks(card.compute_capability.replace(".", ""))
    at_once = card.multiprocessors * card.clock_mhz / 1e3
    lanes = PARTITIONS * WARP / clocks[ARITHMETIC.get(dtype, "fma")]
    return {
        "gb_per_s": card.dram_gbs * card.dram_share,
        "gflop_per_s": 2 * lanes * at_once,
        "shared_gb_per_s": card.shared_bytes_per_clk * at_once,
        "l2_gb_per_s": card.l2_bytes_per_clk * at_once,
    }


def describe_predictions(card: Card, caches: Sequence[Cache], seed: int) -> dict[str, Any]:
    """Provenance of rows that are all predicted."""
    return describe_run(
        device=card.name,
        compute_capability=card.compute_capability,
        predicted_for=card.name,
        card=card.to_dict(),
        caches=list(caches),
        seed=seed,
    )
