from .._core import conv2d as conv2d
from .._core import dot as dot
from .._core import gemm as gemm
from .._core import histogram_weighted as histogram_weighted
from .._core import reduce_axis as reduce_axis
from .._core import scan as scan
from .._core import smooth as smooth
from .._core import sort as sort
from .._core import vector_add as vector_add
from ._gather import ArgumentIndexError as ArgumentIndexError
from ._gather import gather as gather
from ._histogram import histogram as histogram
from ._reduce import reduce as reduce
from ._transpose import transpose as transpose

__all__ = [
    "ArgumentIndexError",
    "conv2d",
    "dot",
    "gather",
    "gemm",
    "histogram",
    "histogram_weighted",
    "reduce",
    "reduce_axis",
    "scan",
    "smooth",
    "sort",
    "transpose",
    "vector_add",
]
