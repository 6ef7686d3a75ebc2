"""A progress bar of benchmarks; see smemkit/_progress.py."""

from .._progress import Steps as Bar

__all__ = ["Bar"]
