"""Lessons: kernels to complete or to mend, judged on the simulator.

exercises lists them, exercise gives one: its text, the kernel to begin with, a judge, hints one by
one, and a solution. The notebooks end with them.
"""

from .._public import publish
from ._catalog import Exercises, exercise, exercises
from ._exercise import Exercise, Text
from ._verdict import Step, Verdict

__all__ = [
    "Exercise",
    "Exercises",
    "Step",
    "Text",
    "Verdict",
    "exercise",
    "exercises",
]

publish(__name__)
