"""Benchmarks: what kernels take on a GPU, beside NumPy and other libraries, and why.

run measures variants and sizes, evolution shows the way from NumPy to the library, ceilings says
what the GPU reaches at most, memory_wall what a family could reach, tile_sweep what a tile's size
does, recorded gives what was measured on another machine. Results can be saved, loaded, compared
and drawn by smemkit.plot.

Results are checked first, and then timed by CUDA events; every sample is kept. Without a GPU the
simulator counts: rows then have counters and the host's time, which says nothing about a GPU, and
no times_ms. It refuses sizes that would take it many minutes.
"""

from .._public import publish
from ._ceilings import Ceilings, ceilings
from ._evolution import Evolution, evolution
from ._run import load, recorded, run
from ._tile_sweep import tile_sweep
from .results import Measurement, Results
from .roofline import MemoryWall, memory_wall
from .stopwatch import Stopwatch
from .timing import WrongResultError

__all__ = [
    "Ceilings",
    "Evolution",
    "Measurement",
    "MemoryWall",
    "Results",
    "Stopwatch",
    "WrongResultError",
    "ceilings",
    "evolution",
    "load",
    "memory_wall",
    "recorded",
    "run",
    "tile_sweep",
]

publish(__name__)
