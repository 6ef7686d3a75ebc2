"""Processes that a test starts and talks to: they end and are waited for, whatever it does."""

import contextlib
import os
import subprocess
import threading
import time

LIMIT_S = 120  # that a child may live: no test waits longer for what it prints


@contextlib.contextmanager
def started(command, limit_s=LIMIT_S, **options):
    """The process of a command for the time of a block; killed at its end, or after limit_s."""
    with subprocess.Popen(command, text=True, **options) as process:
        timer = threading.Timer(limit_s, process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            timer.join()
            process.kill()  # does nothing where it has been waited for


def leave_out_pytest():
    """The environment for a pytest of its own: with nothing of the one that runs here.

    Where that is a worker of pytest-xdist, plugins would take the child for one too, and warn.
    """
    kept = {name: word for name, word in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    return {**kept, "PYTEST_ADDOPTS": "-p no:xdist -p no:benchmark"}


def measure_busy(process):
    """Seconds that all threads of a process have computed so far."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_busy(process, seconds=0.2):
    """Returns when the process has computed for so long from now, however loaded the machine is.

    A process that was about to enter an endless kernel is in it then. Fails where it has ended.
    """
    start = measure_busy(process)
    while measure_busy(process) < start + seconds:
        assert process.poll() is None, f"ended with status {process.returncode}"
        time.sleep(0.01)
