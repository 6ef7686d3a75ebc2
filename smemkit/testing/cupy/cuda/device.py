"""cupy.cuda.device."""

from __future__ import annotations

from . import Device, get_device_id

__all__ = ["Device", "get_compute_capability", "get_device_id"]


def get_compute_capability() -> str:
    """ "90"."""
    return Device().compute_capability
