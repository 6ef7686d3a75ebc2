"""Time: what a kernel would take on a named card, term by term, without that card."""

from .._public import publish
from .executed import ExecutedCode
from .latency import Latencies, WarpTimes
from .machine_code import MachineCode

__all__ = ["ExecutedCode", "Latencies", "MachineCode", "WarpTimes"]
publish(__name__)
