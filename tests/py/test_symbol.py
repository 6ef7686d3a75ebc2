"""conv2d/constant fills a variable that all its calls share: one at a time, and never for good."""

import signal
import threading
import time

import numpy as np
import pytest

import smemkit

LONG = (np.ones((1500, 1500), np.float32), np.ones((31, 31), np.float32))  # many seconds
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """However many cores there are, what is long takes long."""
    monkeypatch.setenv("SMEMKIT_THREADS", "1")


def convolve(image, weights, form="convolve"):
    return smemkit.conv2d(image, weights, form=form, variant="constant", backend="sim")


def check_free():
    """Another thread gets its turn, and the right answer; a thread, for a lock has an owner."""
    answers = []
    image, weights = np.arange(12.0).reshape(3, 4), np.array([[2.0]])
    thread = threading.Thread(target=lambda: answers.append(convolve(image, weights)), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the variable is held for ever"
    assert np.array_equal(answers[0], 2 * image)


class Alarm:
    """Calls a function of this thread, as a signal's handler, after so many seconds."""

    def __init__(self, seconds, function):
        self.seconds, self.function = seconds, function

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, lambda *_: self.function())
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)


def interrupt():
    raise KeyboardInterrupt


def fail():
    raise LookupError("mine")


@pytest.mark.parametrize(
    ("function", "error"), [(interrupt, KeyboardInterrupt), (fail, LookupError)]
)
def test_given_back_by_what_is_interrupted(function, error):
    start = time.monotonic()
    with Alarm(0.2, function), pytest.raises(error):
        convolve(*LONG)
    assert time.monotonic() - start < PATIENCE_S
    check_free()


def test_given_back_where_the_step_budget_ends(monkeypatch):
    monkeypatch.setenv("SMEMKIT_MAX_STEPS", "1000")
    with pytest.raises(smemkit.StepBudgetError):
        convolve(*LONG)
    monkeypatch.delenv("SMEMKIT_MAX_STEPS")
    check_free()


def test_given_back_by_profile_and_check():
    image, weights = np.ones((5, 40), np.float32), np.ones((3, 3), np.float32)
    for watch in (smemkit.profile, smemkit.check):
        watch(smemkit.conv2d, image, weights, variant="constant")
        check_free()


def test_a_turn_that_is_waited_for_can_be_interrupted():
    entered, results, ended = threading.Event(), [], []

    def hold():
        entered.set()
        results.append(convolve(np.ones((500, 500), np.float32), LONG[1]))

    def fail_here():
        ended.extend(results)
        fail()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(PATIENCE_S)
    time.sleep(0.1)
    with Alarm(0.1, fail_here), pytest.raises(LookupError):
        convolve(*LONG)
    assert thread.is_alive() and not ended, "there was nothing to wait for"
    thread.join()
    assert results[0][250, 250] == 961
    check_free()


def test_a_handler_in_the_middle_of_a_call():
    """It has the turn already; a second filling would spoil the first one's weights."""
    image, weights = np.ones((900, 900), np.float32), np.ones((15, 15), np.float32)
    seen = []

    def handle():
        try:
            seen.append(convolve(image, 2 * weights))
        except smemkit.LaunchError as error:
            seen.append(error)
        seen.append(smemkit.conv2d(image[:9, :9], weights[:1, :1], variant="naive", backend="sim"))

    with Alarm(0.05, handle):
        result = convolve(image, weights)
    assert result[200, 200] == 225
    assert len(seen) == 2, "the alarm came too late"
    assert isinstance(seen[0], smemkit.LaunchError) and "not over in this thread" in str(seen[0])
    assert np.array_equal(seen[1], image[:9, :9])
    check_free()


def test_threads_with_weights_of_their_own(rng):
    image = rng.integers(-8, 9, (90, 150)).astype(np.float32)
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(6):
            weights = random.integers(-8, 9, (5, 5)).astype(np.float32)
            form = random.choice(["convolve", "correlate"])
            expected = smemkit.conv2d(image, weights, form=form, variant="naive", backend="sim")
            if not np.array_equal(convolve(image, weights, str(form)), expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
