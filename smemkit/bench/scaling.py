"""gemm over one and several GPUs: the time of a product whose operands lie on the first of them."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy

import smemkit

from .timing import WrongResultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Backend, HostArray

SIZE = 16384
ROWS_CHECKED = 4


class Scaling(TypedDict):
    """The time of a product on so many devices: every sample, and the median.

    speedup is against one device, where that is measured.
    """

    device: str
    devices: int
    size: int
    samples_ms: list[float]
    time_ms: float
    tflop_per_s: float
    speedup: NotRequired[float]


def _check(a: HostArray, b: HostArray, result: smemkit.DeviceArray) -> None:
    """WrongResultError where some rows of a product are not what float64 gives."""
    rows = numpy.linspace(0, len(a) - 1, ROWS_CHECKED).astype(int)
    exact = a[rows].astype("float64") @ b
    bound = 4 * numpy.sqrt(a.shape[1]) * numpy.finfo("float32").eps * (abs(a[rows]) @ abs(b))
    for row, values, most in zip(rows, exact, bound, strict=True):
        if not (abs(smemkit.asnumpy(result[int(row)]) - values) <= most).all():
            raise WrongResultError(f"gemm over devices: row {row} of the result is wrong")


def _time(operands: Sequence[smemkit.DeviceArray], devices: Sequence[smemkit.Device]) -> float:
    """Milliseconds of the host from the call to the end of the work of all devices."""
    a, b, out = operands
    for device in devices:
        device.synchronize()
    start = time.perf_counter()
    smemkit.gemm(a, b, out=out, devices=devices)
    for device in devices:
        device.synchronize()
    return (time.perf_counter() - start) * 1e3


def measure_scaling(
    counts: Sequence[int] | None = None,
    size: int = SIZE,
    samples: int = 5,
    backend: Backend | None = None,
) -> list[Scaling]:
    """The time of a float32 product of size x size matrices on each number of devices.

    The operands and the result lie on the first device: the copies to the others and back are a
    part of the time. The result is checked.

    Parameters
    ----------
    counts : sequence of int, optional
        Numbers of devices; by default 1, 2, 4 and so on, as many as there are.
    size : int
        Rows and columns of the operands.
    samples : int
        Of which the median counts.
    backend : "auto", "cuda" or "sim", optional
        The machine. The simulator is one device, and its time says nothing about a GPU.

    Returns
    -------
    A Scaling for each number.

    Raises
    ------
    WrongResultError, BackendError where there is no GPU, OutOfMemoryError.
    """
    every = smemkit.devices(backend)
    if counts is None:
        counts = [count for count in (1, 2, 4, 8) if count <= len(every)]
    rng = numpy.random.default_rng(0)
    a, b = (rng.random((size, size), "float32") - numpy.float32(0.5) for _ in range(2))
    operands = [smemkit.asarray(x, device=every[0]) for x in (a, b)]
    rows: list[Scaling] = []
    for count in counts:
        out = smemkit.full((size, size), numpy.nan, "float32", device=every[0])
        chosen = every[:count]
        _time([*operands, out], chosen)
        _check(a, b, out)
        times = [_time([*operands, out], chosen) for _ in range(samples)]
        middle = statistics.median(times)
        rows.append(
            {
                "device": every[0].name,
                "devices": count,
                "size": size,
                "samples_ms": times,
                "time_ms": middle,
                "tflop_per_s": 2e-9 * size**3 / middle,
            }
        )
    single = next((row["time_ms"] for row in rows if row["devices"] == 1), None)
    for row in rows:
        if single is not None:
            row["speedup"] = single / row["time_ms"]
    return rows
