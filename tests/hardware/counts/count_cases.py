"""Every kernel of this folder with two launches or more: one regular, one ragged.

CASES and EXPLAINED are what the command compare reads:

    python tests/run.py smemkit compare --cases tests/hardware/counts/count_cases.py
"""

from hardware.counts import (
    count_cases_lanes,  # noqa: F401  (each fills CASES)
    count_cases_matrices,  # noqa: F401
    count_cases_tiles,  # noqa: F401
    count_cases_wide,  # noqa: F401
)
from hardware.counts.count_launches import CASES
from hardware.counts.explained import EXPLAINED

__all__ = ["CASES", "EXPLAINED"]
