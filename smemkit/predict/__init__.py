"""Time: what a kernel would take on a named card, term by term, without that card.

smemkit.predict(function, *args, device="rtx 4090") counts a call on the simulator and gives a
Prediction; smemkit.rank compares choices of a call, its variants or a pad, by such predictions;
smemkit.card(name) says how fast a card is, and cards() which ones there are.
"""

from .._public import publish
from .cards import Card, card, cards
from .predict_call import predict
from .prediction import Prediction, Term
from .ranking import RankedChoice, Ranking, rank

__all__ = [
    "Card",
    "Prediction",
    "RankedChoice",
    "Ranking",
    "Term",
    "card",
    "cards",
    "predict",
    "rank",
]
publish(__name__)
