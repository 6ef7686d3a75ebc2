"""ConditionResult: whether a condition holds, and the value that it was judged by."""

from __future__ import annotations


class ConditionResult(int):
    """True or False, as an int; its repr also tells what was counted, for a failing assert.

    Example
    -------
    >>> from smemkit.report import ConditionResult
    >>> result = ConditionResult(False, "barrier.count is 4")
    >>> result
    False: barrier.count is 4
    >>> bool(result), result == False, str(result)
    (False, True, 'False')
    """

    words: str

    def __new__(cls, held: bool, words: str) -> ConditionResult:
        result = super().__new__(cls, held)
        result.words = words
        return result

    def __reduce__(self) -> tuple[type[ConditionResult], tuple[bool, str]]:  # for pickle and copy
        return type(self), (bool(self), self.words)

    def __repr__(self) -> str:
        return f"{bool(self)}: {self.words}"

    def __str__(self) -> str:
        return str(bool(self))

    def __format__(self, form: str) -> str:
        return format(bool(self), form)
