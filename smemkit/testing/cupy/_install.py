"""The name `cupy`: a finder of modules that gives this package in CuPy's place."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ._refuse import OWN, refuse
from ._scipy import ScipyModule, find_scipy

CHILDREN = Path(__file__).resolve().parent / "children"
HOLDS = ("cupy", "cupyx", "cupy_backends")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds cupy, cupyx and their modules here, and refuses those that are not."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module of CuPy; None for other modules."""
        if fullname.partition(".")[0] not in HOLDS:
            return None
        if find_scipy(fullname) is not None:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        own = translate(fullname)
        if own is None:
            raise ModuleNotFoundError(refuse(f"module {fullname}"), name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self, origin=own, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        """The module of this package, under the name that was asked for."""
        if spec.origin is None:
            return ScipyModule(spec.name)
        module = importlib.import_module(spec.origin)
        spec.loader_state = module.__spec__, module.__dict__.get("__path__")
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is executed twice; the module keeps its own facts."""
        state = module.__spec__.loader_state if module.__spec__ else None
        if state is not None:
            module.__spec__, path = state
            if path is None:
                module.__dict__.pop("__path__", None)
            else:
                module.__path__ = path


def translate(fullname: str) -> str | None:
    """The module of this package for one of CuPy's; None where there is none."""
    head, _, rest = fullname.partition(".")
    own = OWN if head == "cupy" else f"{OWN}._{head}"
    own = f"{own}.{rest}" if rest else own
    try:
        found = importlib.util.find_spec(own)
    except ModuleNotFoundError:
        found = None
    return own if found is not None else None


_finder = Finder()


def is_installed() -> bool:
    """Whether `import cupy` gives this package.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> cupy.is_installed()
    False
    """
    return _finder in sys.meta_path


def install(*, replace: bool = False) -> bool:
    """Makes this package the module `cupy`, unless CuPy is installed.

    Parameters
    ----------
    replace : bool
        Also where CuPy is installed, as on a machine that has it and no GPU.

    Shapes
    ------
    None.

    Returns
    -------
    bool: whether `import cupy` now gives this package.

    Raises
    ------
    RuntimeError where CuPy has been imported already.

    Example
    -------
    >>> import sys
    >>> from smemkit.testing import cupy as own
    >>> own.install(replace=True)
    True
    >>> import cupy
    >>> cupy is own
    True
    >>> own.uninstall()
    """
    if is_installed():
        return True
    loaded = sys.modules.get("cupy")
    if loaded is not None and loaded.__name__ != OWN:
        if replace:
            raise RuntimeError("CuPy is imported already; install the stand-in before")
        return False
    if not replace and _is_there():
        return False
    sys.meta_path.insert(0, _finder)
    return True


def _is_there() -> bool:
    """Whether CuPy is installed."""
    found = importlib.util.find_spec("cupy")
    return found is not None and Path(found.origin or "/").parent != CHILDREN


def install_in_children() -> None:
    """Lets Python processes that this one starts import the stand-in as `cupy`, too."""
    paths = [str(CHILDREN), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))


def uninstall() -> None:
    """Gives the name `cupy` back.

    Example
    -------
    >>> from smemkit.testing import cupy
    >>> cupy.uninstall()
    """
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(CHILDREN) in paths:
        paths.remove(str(CHILDREN))
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    if is_installed():
        sys.meta_path.remove(_finder)
        for name in list(sys.modules):
            if name.partition(".")[0] in HOLDS:
                del sys.modules[name]
