"""conv2d/constant has its weights in a variable of its module; a simulated call has its own."""

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
    """Another thread is not kept waiting, and gets the right answer."""
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


def test_calls_do_not_wait_for_each_other():
    """Short calls of another thread end while a long one goes on, and each has its own weights."""
    entered, results = threading.Event(), []
    image = np.ones((700, 700), np.float32)

    def hold():
        entered.set()
        results.append(convolve(image, LONG[1]))

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(PATIENCE_S)
    time.sleep(0.05)
    for factor in range(1, 6):
        assert convolve(image[:9, :9], np.full((3, 3), factor, np.float32))[4, 4] == 9 * factor
    assert thread.is_alive() and not results, "the long call was over too soon to tell"
    thread.join()
    assert results[0][350, 350] == 961


def test_a_handler_in_the_middle_of_a_call():
    image, weights = np.ones((900, 900), np.float32), np.ones((15, 15), np.float32)
    seen = []

    with Alarm(0.05, lambda: seen.append(convolve(image[:50, :50], 2 * weights))):
        result = convolve(image, weights)
    assert result[200, 200] == 225 and result[880, 450] == 225
    assert len(seen) == 1, "the alarm came too late"
    assert seen[0][25, 25] == 450
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
