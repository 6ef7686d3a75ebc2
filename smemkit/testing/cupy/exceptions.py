"""cupy.exceptions: those of NumPy."""

from numpy.exceptions import AxisError, ComplexWarning, TooHardError, VisibleDeprecationWarning

__all__ = ["AxisError", "ComplexWarning", "TooHardError", "VisibleDeprecationWarning"]
