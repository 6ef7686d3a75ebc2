"""A function for each kernel family: that of the extension, or what wraps it for NumPy.

The families are those of csrc/registry/families.def; type checkers read __init__.pyi.
"""

from .. import _core
from .._public import publish
from ._gather import ArgumentIndexError, gather
from ._histogram import histogram, histogram_weighted
from ._reduce import reduce
from ._transpose import transpose

__all__ = ["ArgumentIndexError", "gather", "histogram", "histogram_weighted", "reduce", "transpose"]

for _name, _facts in _core.families().items():
    if _facts["signature"] and _name not in __all__:
        globals()[_name] = getattr(_core, _name)
        __all__ += [_name]

publish(__name__)
