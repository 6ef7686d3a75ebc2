"""Kernels that other packages compile from Python: those of Triton and of Numba.

Both make PTX without a GPU. from_triton and from_numba let them do so, and give kernels that are
launched as the other package launches them, on the simulator or on a GPU, with reports by line of
the Python file. smemkit imports neither package before it is asked for a kernel of it.
"""

from .._public import publish
from ._numba import from_numba
from ._triton import from_triton

__all__ = ["from_numba", "from_triton"]

publish(__name__)
