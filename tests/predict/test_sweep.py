"""Predictions of the kernels on cards of several architectures; predict.sweep has them all."""

import pytest
from predict import sweep

import smemkit
from smemkit import _core

CARDS = ("T4", "RTX 5090")


@pytest.mark.parametrize("family", list(dict.fromkeys(row[0] for row in sweep.list_rows())))
def test_each_prediction_is_whole_or_refused(family):
    cards = [smemkit.card(name) for name in CARDS]
    done = refused = 0
    for variant, facts in _core.variants(family).items():
        usual = [kind for kind in facts["dtypes"] if kind in ("float32", "bits32")]
        row = family, variant, (*usual, *facts["dtypes"])[0]
        for card, found in sweep.predict_all(row, cards):
            if isinstance(found, smemkit.Error):
                assert isinstance(found, (smemkit.BackendError, smemkit.SharedMemoryError)), row
                assert card.compute_capability in str(found) or card.name in str(found), row
                refused += 1
                continue
            assert not list(sweep.list_faults(found)), (row, card.name)
            done += 1
    assert done > 2 * refused
