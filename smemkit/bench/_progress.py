"""A progress bar by tqdm, where it is installed and standard error is a terminal."""

import sys


class Bar:
    """A bar of `total` steps; it shows nothing without tqdm or a terminal at standard error.

    Parameters
    ----------
    total : int
    wanted : bool, optional
        False: silent in any case. None or True: as above.
    """

    def __init__(self, total, wanted=None):
        self.bar = None
        if wanted is False or sys.stderr is None or not sys.stderr.isatty():
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self.bar = tqdm(total=total, leave=False, dynamic_ncols=True)

    def begin(self, words):
        """Shows the name of the step that begins."""
        if self.bar is not None:
            self.bar.set_description(words)

    def advance(self):
        """Counts a step as done."""
        if self.bar is not None:
            self.bar.update(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()
