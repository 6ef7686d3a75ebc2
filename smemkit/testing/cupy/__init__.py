"""A small CuPy for tests of raw kernels, on machines without a GPU.

Other projects' tests of RawKernel, RawModule, ElementwiseKernel and ReductionKernel import it
unchanged: `pytest -p smemkit.testing --smemkit-cupy` makes it the module `cupy` where CuPy is not
installed, and install() does so in a conftest.py. Its arrays lie in the simulator's memory, NumPy
computes what is no kernel, and kernels run on the simulator, so that smemkit.profile, smemkit.check
and --smemkit-check see them.

What it has not is refused by name: AttributeError for names, ImportError for modules,
NotImplementedError for arguments.
"""

from __future__ import annotations

from typing import Any

import numpy

from ..._version import __version__ as __version__
from . import _functions, cuda
from ._array import ndarray
from ._elementwise import ElementwiseKernel
from ._functions import *  # noqa: F403  (functions that make arrays)
from ._install import install, install_in_children, is_installed, uninstall
from ._raw import RawKernel, RawModule
from ._reduction import ReductionKernel
from ._refuse import find_module

__all__ = [
    "ElementwiseKernel",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "cuda",
    "fuse",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "install",
    "install_in_children",
    "is_available",
    "is_installed",
    "memoize",
    "ndarray",
    "show_config",
    "uninstall",
]
__all__ += [name for name in _functions.__all__ if name not in __all__]

_pool, _pinned_pool = cuda.MemoryPool(), cuda.PinnedMemoryPool()


def is_available() -> bool:
    """True: the simulator is always there."""
    return True


def get_default_memory_pool() -> cuda.MemoryPool:
    """A pool, which keeps nothing."""
    return _pool


def get_default_pinned_memory_pool() -> cuda.PinnedMemoryPool:
    """A pool of the host's memory, which keeps nothing."""
    return _pinned_pool


def memoize(for_each_device: bool = False) -> Any:
    """A decorator: results are kept by the arguments."""
    import functools

    return functools.cache


def clear_memo() -> None:
    """Nothing: smemkit compiles a module once for each object."""


def fuse(*args: Any, **words: Any) -> Any:
    """A decorator: the function runs as it is, operation by operation."""
    if args and callable(args[0]):
        return args[0]
    return lambda function: function


def show_config(*, _full: bool = False) -> None:
    """Prints what stands behind this module."""
    print(f"smemkit's stand-in of CuPy, smemkit {__version__}, NumPy {numpy.__version__}")


def __getattr__(name: str) -> Any:
    found = _functions.find_name(name)
    if found is None:
        return find_module(__name__, name)
    globals()[name] = found
    return found
