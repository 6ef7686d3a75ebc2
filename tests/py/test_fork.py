"""fork() while other threads work, and in the middle of a launch: the child can simulate."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import smemkit

THREADS = 8
PATIENCE_S = 60

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.skipif(
        "libasan" in os.environ.get("LD_PRELOAD", ""),
        reason="the sanitizer's malloc hangs children",
    ),
    # Python says that fork and threads do not go together; that they do here is what is tested
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def compute(image):
    """Device memory, a launch with constants, one without, a profile: what takes locks anywhere."""
    weights = np.full((3, 3), 2, np.float32)
    arguments = (smemkit.asarray(image, backend="sim"), smemkit.asarray(weights, backend="sim"))
    constant = smemkit.asnumpy(smemkit.conv2d(*arguments, variant="constant"))
    shared = smemkit.conv2d(image, weights, variant="shared", backend="sim")
    report = smemkit.profile(smemkit.transpose, image, variant="padded")
    return constant, shared, report.launches[0].counters["shared.load.conflicts"]


class Busy:
    """Threads that do nothing else."""

    def __init__(self, image):
        self.image, self.over, self.failures = image, False, []

    def work(self):
        try:
            while not self.over:
                compute(self.image)
        except BaseException as error:
            self.failures.append(error)

    def __enter__(self):
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        assert not self.failures


def send(connection, image):
    connection.send(compute(image))
    connection.close()


def fork_children(times):
    image = np.arange(40.0 * 40, dtype=np.float32).reshape(40, 40) % 7
    expected = compute(image)
    context = multiprocessing.get_context("fork")
    with Busy(image):
        for i in range(times):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=send, args=(sender, image))
            process.start()
            sender.close()
            try:
                assert receiver.poll(PATIENCE_S), f"child {i} of {times} hangs"
                found = receiver.recv()
            finally:
                process.kill()
                process.join(PATIENCE_S)
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_children_of_a_busy_process():
    fork_children(12)


@pytest.mark.slow
def test_many_children_of_a_busy_process():
    fork_children(40)


# The handler forks while the caller's own launch is under way. The child comes back into the middle
# of that launch, without the other threads that it needs.
IN_THE_MIDDLE = """
import os, signal, sys
import numpy as np, smemkit

answers = []

def handle(*_):
    answers.append(os.fork())

OUTSIDE = 7  # the alarm came before the launch, or behind it
signal.signal(signal.SIGALRM, handle)
a = np.ones((500, 500), np.float32)
smemkit.gemm(a[:40, :40], a[:40, :40], variant="naive", backend="sim")
for attempt in range(40):
    answers.clear()
    signal.setitimer(signal.ITIMER_REAL, 0.005 + 0.01 * attempt)
    try:
        result = smemkit.gemm(a, a, variant="naive", backend="sim")
    except smemkit.LaunchError as error:
        small = smemkit.gemm(a[:40, :40], a[:40, :40], backend="sim")
        right = answers == [0] and "forked in the middle" in str(error) and (small == 40).all()
        os._exit(0 if right else 2)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if answers == [0]:
        os._exit(OUTSIDE)
    if answers:
        status = os.waitstatus_to_exitcode(os.waitpid(answers[0], 0)[1])
        if status != OUTSIDE:
            os._exit(status if (result == 500).all() else 1)
os._exit(OUTSIDE)
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_fork_in_the_middle_of_a_launch(threads):
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_THE_MIDDLE],
        env={**os.environ, "SMEMKIT_THREADS": threads},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert process.returncode == 0, process.stderr


def test_a_child_does_not_use_its_parents_gpu(cuda_missing):
    if cuda_missing is not None:
        pytest.skip("no GPU (the head of this report says why)")
    image = np.ones((40, 40), np.float32)
    on_device = smemkit.asarray(image, backend="cuda")
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE_S)  # whatever happens here ends
        found = []
        for call in (
            lambda: smemkit.transpose(image, backend="cuda"),
            lambda: smemkit.transpose(on_device),
            lambda: smemkit.asnumpy(on_device),
            lambda: smemkit.asarray(image, backend="cuda"),
        ):
            try:
                call()
                found.append(None)
            except smemkit.BackendError as error:
                found.append("forked" in str(error))
            except BaseException:
                found.append(False)
        simulated = np.array_equal(smemkit.transpose(image, backend="sim"), image.T)
        os._exit(0 if found == [True] * len(found) and simulated else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert time.monotonic() - start < PATIENCE_S
    assert np.array_equal(smemkit.asnumpy(on_device), image)
