"""Measurement and Results of smemkit.bench by an older path, which scripts import."""

from .bench import Measurement, Results

__all__ = ["Measurement", "Results"]
