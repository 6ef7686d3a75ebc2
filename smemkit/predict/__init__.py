"""Time: what a kernel would take on a named card, term by term, without that card.

smemkit.predict(function, *args, device="rtx 4090") counts a call on the simulator and gives a
Prediction; smemkit.card(name) says how fast a card is, and cards() which ones there are.
"""

from .._public import publish
from .cards import Card, card, cards
from .executed import ExecutedCode
from .forecast import predict
from .latency import Latencies, WarpTimes
from .machine_code import MachineCode
from .prediction import Prediction, Term

__all__ = [
    "Card",
    "ExecutedCode",
    "Latencies",
    "MachineCode",
    "Prediction",
    "Term",
    "WarpTimes",
    "card",
    "cards",
    "predict",
]
publish(__name__)
