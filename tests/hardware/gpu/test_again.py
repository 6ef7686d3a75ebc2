"""Calls that a thread makes again launch at once what the first one found."""

import threading

import numpy as np
import pytest

import smemkit


@pytest.fixture(autouse=True)
def cuda(cuda_missing):
    if cuda_missing is not None:
        pytest.skip(f"no device: {cuda_missing}")


def make(rng, *shape, dtype="f4"):
    x = rng.integers(-8, 8, shape).astype(dtype)
    return x, smemkit.asarray(x, backend="cuda")


def test_results_are_those_of_the_arrays_given(rng):
    for _ in range(3):
        for m, k, n, dtype in ((70, 50, 90, "f4"), (16, 16, 16, "f4"), (70, 50, 90, "f8")):
            for words in ({}, {"variant": "tiled"}, {"variant": "naive"}):
                (a, d), (b, e) = make(rng, m, k, dtype=dtype), make(rng, k, n, dtype=dtype)
                out = smemkit.empty((m, n), dtype, backend="cuda")
                for _ in range(2):
                    assert smemkit.gemm(d, e, out=out, **words) is out
                    assert np.array_equal(smemkit.asnumpy(out), a @ b)


def test_results_without_out_are_new_arrays(rng):
    kept = []
    for i in range(6):
        (a, d), (b, e) = make(rng, 40, 30), make(rng, 30, 20)
        words = {"out": None, "backend": None, "device": None, "stream": None} if i % 2 else {}
        kept.append((smemkit.gemm(d, e, **words), a @ b))
        kept.append((smemkit.reduce(d, axis=1), a.sum(1)))
        kept.append((smemkit.reduce(d, "max"), a.max()))
        kept.append(
            (smemkit.histogram(d.reshape(1200), 16, (-8, 8)), np.histogram(a, 16, (-8, 8))[0])
        )
        with smemkit.Stream(backend="cuda"):
            kept.append((smemkit.vector_add(d.reshape(1200), d.reshape(1200)), 2 * a.reshape(1200)))
            kept.append((smemkit.transpose(d), a.T))
    for found, wanted in kept:
        assert np.array_equal(smemkit.asnumpy(found), wanted)


def test_words_tell_calls_apart(rng):
    x, d = make(rng, 1000)
    out = smemkit.zeros((), backend="cuda")
    for _ in range(3):
        for op in ("sum", "max", "min"):
            smemkit.reduce(d, op, out=out)
            assert out.item() == getattr(np, op)(x)
            smemkit.reduce(d, op=op, out=out)
            assert out.item() == getattr(np, op)(x)
    image, e = make(rng, 60, 70)
    weights, w = make(rng, 3, 3)
    blurred = smemkit.empty((60, 70), backend="cuda")
    for _ in range(2):
        for mode in ("constant", "reflect", "wrap"):
            wanted = smemkit.conv2d(image, weights, mode, backend="sim")
            assert np.array_equal(smemkit.asnumpy(smemkit.conv2d(e, w, mode, out=blurred)), wanted)


def test_what_is_refused_at_first_is_refused_again(rng):
    (_, d), (_, e) = make(rng, 32, 32), make(rng, 32, 32)
    out = smemkit.empty((32, 32), backend="cuda")
    for _ in range(3):
        smemkit.gemm(d, e, out=out)
        for a, b, c in ((d, e, d), (d, out, out), (d, e, d.T), (d[:16], e, out)):
            with pytest.raises(smemkit.Error):
                smemkit.gemm(a, b, out=c)
        with pytest.raises(smemkit.Error):
            smemkit.gemm(d, e, variant="none", out=out)
        with pytest.raises(smemkit.Error):
            smemkit.gemm(d, e, out=out, backend="sim")
    report = smemkit.profile(smemkit.gemm, smemkit.asnumpy(d), smemkit.asnumpy(e))
    assert report.counters["global.store.requests"] > 0


def test_streams_and_threads_are_obeyed(rng):
    (a, d), (b, e) = make(rng, 64, 64), make(rng, 64, 64)
    wrong = []

    def work():
        out = smemkit.empty((64, 64), backend="cuda")
        stream = smemkit.Stream(backend="cuda")
        for i in range(200):
            smemkit.gemm(d, e, out=out, **({"stream": stream} if i % 3 == 0 else {}))
            if i % 5 == 0:
                with stream:
                    smemkit.gemm(d, e, out=out)
            if not np.array_equal(smemkit.asnumpy(out), a @ b):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
