"""Verdict: whether a condition holds, and the value that it was judged by."""

from __future__ import annotations


class Verdict(int):
    """True or False, as an int; its repr also tells what was counted, for a failing assert.

    Example
    -------
    >>> from smemkit.report import Verdict
    >>> verdict = Verdict(False, "barrier.count is 4")
    >>> verdict
    False: barrier.count is 4
    >>> bool(verdict), verdict == False, str(verdict)
    (False, True, 'False')
    """

    words: str

    def __new__(cls, held: bool, words: str) -> Verdict:
        verdict = super().__new__(cls, held)
        verdict.words = words
        return verdict

    def __getnewargs__(self) -> tuple[bool, str]:  # for pickle and copy
        return bool(self), self.words

    def __repr__(self) -> str:
        return f"{bool(self)}: {self.words}"

    def __str__(self) -> str:
        return str(bool(self))

    def __format__(self, form: str) -> str:
        return format(bool(self), form)
