"""Every kernel of this folder with two launches or more: one regular, one ragged.

CASES and EXPLAINED are what `python -m smemkit compare --cases tests/counts/count_cases.py` reads.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # where it is loaded by its path alone

import count_cases_lanes  # noqa: E402, F401  (each fills CASES)
import count_cases_matrices  # noqa: E402, F401
import count_cases_tiles  # noqa: E402, F401
from count_launches import CASES  # noqa: E402
from explained import EXPLAINED  # noqa: E402

__all__ = ["CASES", "EXPLAINED"]
