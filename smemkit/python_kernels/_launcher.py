"""kernel[...]: a kernel of another package's language with its grid, to be called or judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from ..predict.predict_call import predict
from ..report import check, profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..predict import Prediction
    from ..report import CheckReport, Report

# What a call of a RawKernel takes beside the kernel's own arguments.
LAUNCH_WORDS = ("backend", "device", "stream", "max_steps")


class Launcher:
    """What kernel[grid] of Triton and kernel[grid, block] of Numba are.

    It is called with the kernel's own arguments, and with backend=, device=, stream= and max_steps=
    as a RawKernel is. profile(), check() and predict() take those arguments and the keywords of
    smemkit.profile, smemkit.check and smemkit.predict; device= of predict is the card.
    """

    __slots__ = ("__name__", "_run", "_text")

    def __init__(self, name: str, text: str, run: Callable[..., None]) -> None:
        self.__name__, self._text, self._run = name, text, run

    def __call__(self, *args: Any, **keywords: Any) -> None:
        self._run(*args, **keywords)

    def profile(self, *args: Any, **keywords: Any) -> Report:
        return profile(self, *args, **keywords)

    def check(self, *args: Any, **keywords: Any) -> CheckReport:
        return check(self, *args, **keywords)

    def predict(self, *args: Any, **keywords: Any) -> Prediction:
        return predict(self, *args, **keywords)

    def __repr__(self) -> str:
        return self._text


def read_arch(arch: int | str | tuple[int, int], function: str) -> int:
    """A compute capability as a whole number: 80 for 80, "80", "8.0", "sm_80" and (8, 0)."""
    text = str(arch)
    if isinstance(arch, tuple) and len(arch) == 2:
        text = f"{arch[0]}{arch[1]}"
    digits = text.removeprefix("sm_").removeprefix("compute_").replace(".", "")
    if isinstance(arch, bool) or not digits.isdecimal() or not 70 <= int(digits) <= 129:
        raise _core.ArgumentError(
            f"{function}: arch is {arch!r}; accepted are compute capabilities such as 80, '8.0', "
            "'sm_80' and (8, 0)"
        )
    return int(digits)


def join_causes(error: BaseException) -> str:
    """The text of an error and of those that caused it, where they say more."""
    texts = [str(error)]
    while error.__cause__ is not None:
        error = error.__cause__
        if str(error) not in texts[-1]:
            texts.append(str(error))
    return "\n".join(texts)


def make_kernel(
    label: str, ptx: str, entry: str, arch: int, *, cooperative: bool = False
) -> _core.RawKernel:
    """The RawKernel of PTX that another package compiled; says which arch= the simulator takes."""
    try:
        return _core.RawKernel(ptx, entry, enable_cooperative_groups=cooperative)
    except _core.UnsupportedError as error:
        if arch < 90:
            raise
        raise _core.UnsupportedError(
            f"{label}: compiled with arch={arch}, and the simulator does not execute all of that: "
            f"{error}. With arch=80, the default, the kernel uses none of it"
        ) from None
