"""A bar that says how far a long run is: tqdm's, where it is installed and someone watches."""

import sys


class Bar:
    """A bar of `total` steps, silent where there is no tqdm, or standard error is no terminal.

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
        """What is done now."""
        if self.bar is not None:
            self.bar.set_description(words)

    def advance(self):
        """One step is done."""
        if self.bar is not None:
            self.bar.update(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()
