"""cupyx.scipy: functions of SciPy, where it is installed, on arrays of the device."""

from __future__ import annotations

import importlib
import importlib.util
import types
from typing import Any

from ._functions import forward, get_array_module
from ._refuse import refuse

PREFIX = "cupyx."
FOURIER = ("cupyx.scipy.fft", "cupyx.scipy.fftpack")


def find_scipy(fullname: str) -> str | None:
    """The module of SciPy for one of cupyx.scipy; None where there is none."""
    name = fullname.removeprefix(PREFIX)
    if name.partition(".")[0] != "scipy" or any(part.startswith("_") for part in name.split(".")):
        return None
    try:
        return name if importlib.util.find_spec(name) is not None else None
    except ModuleNotFoundError:
        return None


class Plan:
    """A plan of Fourier transforms, as get_fft_plan gives it; SciPy needs none."""

    def __init__(self, *args: Any, **words: Any) -> None:
        pass

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class ScipyModule(types.ModuleType):
    """A module of cupyx.scipy: functions, and numbers; classes are refused."""

    def __init__(self, fullname: str) -> None:
        super().__init__(fullname, f"SciPy's functions on arrays of the device: {fullname}.")
        self.__path__: list[str] = []
        self._scipy = importlib.import_module(fullname.removeprefix(PREFIX))

    def __getattr__(self, name: str) -> Any:
        if name == "get_array_module":
            return get_array_module
        if name == "get_fft_plan" and self.__name__ in FOURIER:
            return Plan
        value = None if name.startswith("_") else getattr(self._scipy, name, None)
        if value is None or isinstance(value, type):
            raise AttributeError(refuse(f"{self.__name__}.{name}"))
        if isinstance(value, types.ModuleType):
            return importlib.import_module(f"{self.__name__}.{name}")
        if not callable(value):
            return value
        forwarded = forward(value, name)
        if self.__name__ not in FOURIER:
            return forwarded
        return lambda *args, plan=None, **words: forwarded(*args, **words)
