"""Rows whose times are predicted for a card, in place of measured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import smemkit

from ..predict.cards import find_card
from ..predict.fit import demand_capability, read_capability
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


def is_runnable(case: Workload, variant: str, card: Card) -> bool:
    """Whether a card can run a variant of the case's type."""
    facts = smemkit.variants(case.family)[variant]
    needed = read_capability(facts["compute_capability"])
    return case.accepts(facts["dtypes"]) and needed <= read_capability(card.compute_capability)


def list_predictable(case: Workload, card: Card) -> list[str]:
    """Our variants that do the work of the case, and that the card can run; an error for none."""
    names = [
        name
        for name in smemkit.variants(case.family)
        if name not in case.other_work and is_runnable(case, name, card)
    ]
    if not names:
        raise smemkit.BackendError(
            f"no variant of {case.family} for {case.dtype} runs on {card.name}, which has compute "
            f"capability {card.compute_capability}"
        )
    return names


class Predictor:
    """Predicts calls of a workload on operands that lie on the simulator."""

    def __init__(self, case: Workload, card: Card, seed: int, caches: Sequence[Cache]) -> None:
        self.case, self.card, self.caches = case, card, caches
        inputs = case.make_inputs(numpy.random.default_rng(seed))
        self._arrays = tuple(smemkit.asarray(array, backend="sim") for array in inputs)
        self._out = smemkit.empty(case.result_shape, case.result_dtype, backend="sim")

    def predict(self, variant: str, cache: Cache) -> Prediction:
        """The prediction of a variant; errors as those of smemkit.predict."""
        needed = smemkit.variants(self.case.family)[variant]["compute_capability"]
        demand_capability(f"{self.case.family} variant {variant!r}", needed, self.card)
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
