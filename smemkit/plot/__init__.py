"""Pictures of results: each function draws what was measured, counted or predicted.

Each returns its Axes. Nothing is measured here. matplotlib is imported when a picture is drawn, and
its settings stay as the caller has them. Each picture has one style: its title is a sentence with
what the data say, and below it stand the facts of the measurement, the device and the date. The
first variant of a family (naive), the one with a tile (tiled, shared) and the padded one have a
colour each, the same in all pictures, the others are grey, and a library to compare with is black
and thick. Lines and points have their labels beside them. Every kind of sight tells the colours
apart, and the background is light, on dark pages too.
"""

from .._public import publish
from ._banks import banks
from ._counted import bank_stride, divergence, sectors
from ._measured import ladder, speed, stride
from ._roofline import roofline
from ._terms import terms
from ._tiles import tiles

__all__ = [
    "bank_stride",
    "banks",
    "divergence",
    "ladder",
    "roofline",
    "sectors",
    "speed",
    "stride",
    "terms",
    "tiles",
]

publish(__name__)
