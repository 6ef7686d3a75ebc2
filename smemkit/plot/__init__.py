"""Pictures of results: each function draws what was measured or counted, and returns its Axes.

Nothing is measured here. matplotlib is imported when a picture is drawn. Colours are those of Okabe
and Ito, which every kind of sight tells apart; marks and hatches say the same once more.
"""

from .._public import publish
from ._charts import bank_stride, banks, divergence, ladder, roofline, sectors, speed, stride

__all__ = [
    "bank_stride",
    "banks",
    "divergence",
    "ladder",
    "roofline",
    "sectors",
    "speed",
    "stride",
]

publish(__name__)
