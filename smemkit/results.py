"""Measurement and Results under the name that scripts import; they live in smemkit.bench."""

from .bench import Measurement, Results

__all__ = ["Measurement", "Results"]
