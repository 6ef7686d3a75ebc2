"""Probes: small experiments that show one effect of the memory system each, by count and by time.

The counts come from the simulator, of a small launch; times come from a GPU, of a large one, and
there are none without a GPU. The kernels are smemkit.variants("probe").
"""

from .._public import publish
from ._probes import (
    LEVELS,
    PATTERNS,
    bank_access,
    divergence,
    global_access,
    latency,
    row_column,
    shared_limits,
)
from .results import BankAccess, Divergence, GlobalAccess, Latency, RowColumn, SharedLimits

__all__ = [
    "LEVELS",
    "PATTERNS",
    "BankAccess",
    "Divergence",
    "GlobalAccess",
    "Latency",
    "RowColumn",
    "SharedLimits",
    "bank_access",
    "divergence",
    "global_access",
    "latency",
    "row_column",
    "shared_limits",
]

publish(__name__)
