"""Arguments that change another argument while they are looked at, or while a kernel runs."""

import functools
import threading
import time

import numpy as np
import pytest

import smemkit

LARGE = 1 << 20
PATIENCE_S = 60

STORE = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 to, .param .s32 value, .param .f32 other)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.s32 %r1, [value];
    mov.u32 %r2, %tid.x;
    cvta.to.global.u64 %rd1, %rd1;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    mov.u32 %r3, 0;
again:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 300000;
    @%p1 bra again;
    ret;
}
"""


def store(arguments, **options):
    smemkit.RawKernel(STORE, "store")(1, 4, arguments, backend="sim", **options)


class Meddler:
    """A number, or an array, that does something when it is asked for."""

    def __init__(self, act, value):
        self.act, self.value, self.refused = act, value, None

    def meddle(self):
        try:
            self.act()
        except ValueError as error:
            self.refused = str(error)
        return self.value

    def __index__(self):
        return self.meddle()

    def __float__(self):
        return float(self.meddle())

    def __array__(self, dtype=None, copy=None):
        return self.meddle()


@pytest.mark.parametrize("place", ["value", "other"])
@pytest.mark.parametrize("sequence", [tuple, list])
def test_numbers_come_before_arrays(place, sequence):
    """A number that resizes the array before it: the kernel works on what the array is then."""
    array = np.zeros(4, np.int32)
    meddler = Meddler(lambda: array.resize(LARGE, refcheck=False), 7)
    store(sequence([array, meddler, 1.0] if place == "value" else [array, 7, meddler]))
    assert array.shape == (LARGE,)
    assert array[:4].tolist() == [7] * 4 and not array[4:].any()


def test_grid_and_step_budget_come_before_arrays():
    array = np.zeros(4, np.int32)
    meddler = Meddler(lambda: array.resize(LARGE, refcheck=False), 10**6)
    store((array, 7, 1.0), max_steps=meddler)
    assert array[:5].tolist() == [7, 7, 7, 7, 0]


def test_an_argument_list_that_changes():
    array = np.zeros(4, np.int32)
    arguments = [array, None, 1.0]
    arguments[1] = Meddler(arguments.clear, 7)
    store(arguments)
    assert array.tolist() == [7] * 4


CALLS = (
    ("gemm", lambda a, b: smemkit.gemm(a, b, backend="sim")),
    ("dot", lambda a, b: smemkit.dot(a[0], b, backend="sim")),
    ("conv2d", lambda a, b: smemkit.conv2d(a, b, backend="sim")),
    ("vector_add", lambda a, b: smemkit.vector_add(a[0], b, backend="sim")),
)


@pytest.mark.parametrize(("name", "call"), CALLS, ids=lambda one: one if type(one) is str else "")
def test_an_array_that_was_taken_is_not_resized(name, call):
    a, b = np.full((8, 8), 2, np.float32), np.full((8, 8), 3, np.float32)
    b = b[0].copy() if name in ("dot", "vector_add") else b
    meddler = Meddler(lambda: a.resize(LARGE, refcheck=False), b)
    expected = call(a.copy(), b)
    assert np.array_equal(call(a, meddler), expected)
    assert meddler.refused is not None and a.shape == (8, 8)
    a.resize(64, refcheck=False)  # and nothing holds it any longer


def test_a_view_holds_what_it_is_a_view_of():
    base = np.full(64, 2, np.float32)
    b = np.full((4, 4), 3, np.float32)
    meddler = Meddler(lambda: base.resize(LARGE, refcheck=False), b)
    assert np.array_equal(
        smemkit.gemm(base[:16].reshape(4, 4), meddler, backend="sim"), [[24] * 4] * 4
    )
    assert meddler.refused is not None


def test_the_shape_of_an_operand_is_that_of_the_call():
    a, b = np.ones((4, 16), np.float32), np.ones((16, 4), np.float32)

    def act():
        a.resize((16, 4), refcheck=False)  # of as many elements: in place, whoever holds it

    assert smemkit.gemm(a, Meddler(act, b), backend="sim").shape == (4, 4)
    assert a.shape == (16, 4)


def test_out_is_not_resized():
    a, out = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    meddler = Meddler(lambda: out.resize(LARGE, refcheck=False), a)
    assert smemkit.gemm(a, meddler, out=out, backend="sim") is out
    assert meddler.refused is not None and (out == 4).all()


def test_addresses_of_bank_access():
    masks = np.full(3, 0xFFFFFFFF, np.uint32)
    for function, field in ((smemkit.bank_access, "wavefronts"), (smemkit.sectors, None)):
        for size in (96, 32 * LARGE):
            rows = np.tile(np.arange(32, dtype=np.uint64) * 4, (3, 1))
            resize = functools.partial(rows.resize, size, refcheck=False)
            got = function(rows, mask=Meddler(resize, masks))
            assert np.asarray(getattr(got, field) if field else got).shape == (3,)


def resize_meanwhile(array, call):
    """Another thread asks for another size while calls are made, until it was refused."""
    over, refused, failures = threading.Event(), [], []

    def work():
        began = array.shape
        while not over.is_set():
            try:
                array.resize((LARGE, *began[1:]), refcheck=False)
                array.resize(began, refcheck=False)
            except ValueError as error:
                refused.append(str(error))
            time.sleep(0)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not refused and time.monotonic() < deadline:
            call()
    except BaseException as error:
        failures.append(error)
    finally:
        over.set()
        thread.join()
    return refused, failures


def test_an_array_that_a_kernel_works_on_is_not_resized():
    array = np.zeros(4, np.int32)

    refused, failures = resize_meanwhile(array, lambda: store((array, 7, 1.0)))
    assert refused, "the array was never in use while the other thread ran"
    assert not failures
    assert array[:4].tolist() == [7] * 4


def test_asnumpy_holds_out():
    source = np.arange(1 << 22, dtype=np.float32)
    device, out = smemkit.asarray(source, backend="sim"), np.zeros_like(source)

    def call():
        try:
            smemkit.asnumpy(device, out=out)
        except smemkit.ShapeError:  # the other thread was first
            pass

    refused, failures = resize_meanwhile(out, call)
    assert refused and not failures


# What an argument raises is not replaced by words about its type ----------------------------------


class Raises:
    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    __float__ = __index__


RAISED = [KeyboardInterrupt(), LookupError("mine"), ValueError("mine"), MemoryError("mine")]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_what_a_number_raises_comes_out(error):
    array, bad = np.zeros(4, np.int32), Raises(error)
    kernel = smemkit.RawKernel(STORE, "store")
    calls = [
        lambda: store((array, bad, 1.0)),
        lambda: store((array, 1, bad)),
        lambda: store((array, 1, 1.0), max_steps=bad),
        lambda: store((array, 1, 1.0), shared_mem=bad),
        lambda: kernel(bad, 4, (array, 1, 1.0), backend="sim"),
        lambda: kernel(1, (4, bad), (array, 1, 1.0), backend="sim"),
        lambda: setattr(kernel, "preferred_shared_memory_carveout", bad),
        lambda: smemkit.bank_access(np.arange(32) * 4, bad),
        lambda: smemkit.profile(kernel, 1, 4, (array, 1, 1.0), blocks=bad),
        lambda: smemkit.occupancy(kernel, bad),
        lambda: smemkit.occupancy(kernel, 32, bad),
        lambda: smemkit.occupancy(kernel, 32, compute_capability=(9, bad)),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error, number
    assert not array.any()
