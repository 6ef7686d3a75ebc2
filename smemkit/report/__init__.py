"""Reports: what a call's launches did, what is wrong with them, and what would help.

profile counts and check looks for errors, both on the simulator; explain gives advice on what was
counted; counters lists what is counted. explain_choice says which kernel a call takes, and why.
"""

from .._public import publish
from ._advice import explain
from ._comparison import Comparison
from ._condition_result import ConditionResult
from ._findings import CheckReport, Finding
from ._kernel import Advice
from ._report import Report
from .capture import check, profile
from .choice import Candidate, Choice, explain_choice
from .counts import (
    Counters,
    Launch,
    Line,
    Sample,
    UncountedError,
    UnknownCounterError,
    counters,
)
from .occupancy import OccupancyTable, occupancy_table
from .saved import load_report

__all__ = [
    "Advice",
    "Candidate",
    "CheckReport",
    "Choice",
    "Comparison",
    "ConditionResult",
    "Counters",
    "Finding",
    "Launch",
    "Line",
    "OccupancyTable",
    "Report",
    "Sample",
    "UncountedError",
    "UnknownCounterError",
    "check",
    "counters",
    "explain",
    "explain_choice",
    "load_report",
    "occupancy_table",
    "profile",
]

publish(__name__)
