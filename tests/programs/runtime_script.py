"""A program that calls the CUDA runtime by ctypes: right calls and wrong ones, and their codes."""

import ctypes
import pathlib
import tempfile
from ctypes import byref, c_float, c_int, c_size_t, c_ubyte, c_uint, c_void_p

runtime = ctypes.CDLL("libcudart.so.13")
INVALID_VALUE, UNINITIALIZED, INVALID_DEVICE, INVALID_HANDLE = 1, 201, 101, 400
NOT_SUPPORTED, NOT_MAPPED, CAPTURED, INVALIDATED = 801, 205, 900, 901
DEVICE, HOST = 1, 2
PAGE, NONE = 4096, -2
PINNED, MANAGED, BOTH, NONE_ = 1, 2, 3, 0


class Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("number", c_int))


class Choices(ctypes.Structure):
    _fields_ = (
        ("order", c_int),
        ("source", Location),
        ("target", Location),
        ("flags", c_uint),
    )


class Handle(ctypes.Structure):
    _fields_ = (("bytes", c_ubyte * 64),)


class Pool(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("handles", c_int),
        ("where", Location),
        ("security", c_void_p),
        ("most", c_size_t),
        ("use", c_uint * 14),
    )


class Window(ctypes.Structure):
    _fields_ = (
        ("address", c_void_p),
        ("bytes", c_size_t),
        ("ratio", c_float),
        ("hit", c_int),
        ("miss", c_int),
        ("rest", c_int * 9),
    )


class End(ctypes.Structure):
    """One end of a copy of a volume: memory."""

    _fields_ = (
        ("type", c_int),
        ("address", c_void_p),
        ("row", c_size_t),
        ("layer", c_size_t),
        ("where", Location),
    )


class Volume(ctypes.Structure):
    _fields_ = (
        ("source", End),
        ("target", End),
        ("extent", c_size_t * 3),
        ("order", c_int),
        ("flags", c_uint),
    )


device, host, other = Location(DEVICE, 0), Location(HOST, 0), Location(DEVICE, 7)


def call(name, *arguments, code=0):
    found = getattr(runtime, name)(*arguments)
    runtime.cudaGetLastError()
    assert found == code, (name, found, code)


def make(name, *arguments):
    """What a function gives by its first parameter."""
    made = c_void_p()
    call(name, byref(made), *arguments)
    return made


def check_pools():
    standard = make("cudaDeviceGetDefaultMemPool", 0)
    for name in ("cudaMemGetDefaultMemPool", "cudaMemGetMemPool"):
        assert make(name, byref(device), PINNED).value == standard.value
        pool = c_void_p()
        call(name, byref(pool), byref(other), PINNED, code=INVALID_VALUE)
        for place, type_ in ((host, PINNED), (device, MANAGED), (Location(NONE_, 0), MANAGED)):
            assert make(name, byref(place), type_).value not in (None, standard.value)
        call(name, byref(pool), byref(device), 0, code=INVALID_VALUE)
        call(name, byref(pool), None, PINNED, code=INVALID_VALUE)
        call(name, None, byref(device), PINNED, code=INVALID_VALUE)
    own = make("cudaMemPoolCreate", byref(Pool(type=PINNED, where=device)))
    call("cudaMemPoolCreate", byref(pool), None, code=INVALID_VALUE)
    call("cudaMemPoolCreate", byref(pool), byref(Pool(PINNED, where=other)), code=INVALID_VALUE)
    call("cudaMemSetMemPool", byref(device), PINNED, own)
    assert make("cudaDeviceGetMemPool", 0).value == own.value
    call("cudaMemSetMemPool", byref(device), PINNED, None, code=INVALID_VALUE)
    rights = c_int(7)
    call("cudaMemPoolGetAccess", byref(rights), own, byref(device))
    assert rights.value == BOTH
    call("cudaMemPoolGetAccess", byref(rights), own, byref(other), code=INVALID_VALUE)
    call("cudaMemPoolGetAccess", byref(rights), None, byref(device), code=INVALID_VALUE)
    access = (c_int * 3)(DEVICE, 0, BOTH)
    call("cudaMemPoolSetAccess", own, access, c_size_t(1))
    for rights_, code in ((0, INVALID_DEVICE), (1, NOT_SUPPORTED), (2, INVALID_VALUE)):
        access[2] = rights_
        call("cudaMemPoolSetAccess", own, access, c_size_t(1), code=code)
    call("cudaMemSetMemPool", byref(host), PINNED, own, code=INVALID_VALUE)
    shared = make("cudaMemPoolCreate", byref(Pool(type=PINNED, where=host)))
    memory = make("cudaMallocFromPoolAsync", c_size_t(1000), shared, None)
    ctypes.memset(memory, 5, 1000)  # the host reaches it
    call("cudaMemset", memory, 0, c_size_t(1000))
    assert ctypes.string_at(memory, 1000) == bytes(1000)
    call("cudaFreeAsync", memory, None)
    memory = make("cudaMallocFromPoolAsync", c_size_t(1000), own, None)
    call("cudaFreeAsync", memory, None)
    call("cudaMallocFromPoolAsync", byref(memory), c_size_t(8), None, None, code=INVALID_VALUE)
    call("cudaMemPoolDestroy", own)
    assert make("cudaDeviceGetMemPool", 0).value == standard.value
    call("cudaMemPoolDestroy", standard, code=INVALID_VALUE)


def ask(address, size, attribute, count=1):
    found = (c_int * count)(*[99] * count)
    width = c_size_t(4 * count)
    call("cudaMemRangeGetAttribute", found, width, attribute, address, c_size_t(size))
    return found[0] if count == 1 else list(found)


def check_ranges():
    size = 64 * PAGE
    memory = make("cudaMallocManaged", c_size_t(size), 1)
    half = c_void_p(memory.value + size // 2)

    def advise(number, where, address=memory, bytes_=size, **words):
        call("cudaMemAdvise", address, c_size_t(bytes_), number, where, **words)

    assert [ask(memory, size, n) for n in range(1, 9)] == [0, NONE, NONE, NONE, 0, NONE, 0, NONE]
    advise(1, device, bytes_=size // 2)
    assert ask(memory, size // 2, 1) == 1
    assert ask(memory, size, 1) == ask(half, size // 2, 1) == 0
    advise(1, device)
    advise(2, device, address=half, bytes_=PAGE)
    assert (ask(memory, size, 1), ask(half, PAGE, 1), ask(memory, size // 2, 1)) == (0, 0, 1)
    advise(3, device)
    assert (ask(memory, size, 2), ask(memory, size, 5), ask(memory, size, 6)) == (0, DEVICE, 0)
    advise(3, host)
    assert (ask(memory, size, 2), ask(memory, size, 5), ask(memory, size, 6)) == (-1, HOST, -1)
    advise(4, host)
    assert (ask(memory, size, 2), ask(memory, size, 5)) == (NONE, 0)
    advise(5, device)
    advise(5, host, bytes_=PAGE)
    assert ask(memory, PAGE, 3, 4) == [0, -1, NONE, NONE]
    assert ask(memory, size, 3, 2) == [0, NONE]
    advise(6, device)
    assert ask(memory, PAGE, 3, 2) == [-1, NONE]
    call("cudaMemPrefetchAsync", memory, c_size_t(size), device, 0, None)
    assert (ask(memory, size, 4), ask(memory, size, 7), ask(memory, size, 8)) == (0, DEVICE, 0)
    call("cudaMemPrefetchAsync", half, c_size_t(10), host, 0, None)
    assert (ask(half, PAGE, 4), ask(memory, size, 4), ask(memory, PAGE, 4)) == (-1, NONE, 0)

    found, width = (c_int * 2)(), (c_size_t * 2)(4, 4)
    values = (c_void_p * 2)(ctypes.addressof(found), ctypes.addressof(found) + 4)
    names = (c_int * 2)(4, 5)
    every = ("cudaMemRangeGetAttributes", values, width, names)
    call(*every, c_size_t(2), memory, c_size_t(PAGE))
    assert list(found) == [0, 0]
    call(*every, c_size_t(0), memory, c_size_t(PAGE), code=INVALID_VALUE)
    width[1] = 3
    call(*every, c_size_t(2), memory, c_size_t(PAGE), code=INVALID_VALUE)
    one = ("cudaMemRangeGetAttribute", found)
    plain = make("cudaMalloc", c_size_t(PAGE))
    for width_, name, address, count in [
        (8, 1, memory, size),
        (6, 3, memory, size),
        (4, 0, memory, size),
        (4, 9, memory, size),
        (4, 1, memory, 0),
        (4, 1, memory, size + 1),
        (4, 1, plain, PAGE),
    ]:
        call(*one, c_size_t(width_), name, address, c_size_t(count), code=INVALID_VALUE)
    advise(1, device, address=plain, bytes_=8, code=INVALID_VALUE)
    advise(1, device, bytes_=size + 1, code=INVALID_VALUE)
    advise(7, device, code=INVALID_VALUE)
    advise(3, other, code=INVALID_VALUE)
    prefetch = ("cudaMemPrefetchAsync", memory, c_size_t(size))
    call(*prefetch, other, 0, None, code=INVALID_DEVICE)
    call(*prefetch, device, 1, None, code=INVALID_VALUE)
    check_lists(memory, plain)
    call("cudaFree", memory)
    again = make("cudaMallocManaged", c_size_t(size), 1)
    assert ask(again, size, 4) == NONE


def check_lists(memory, plain):
    """Prefetching and discarding of several ranges."""
    stream = make("cudaStreamCreate")
    second = memory.value + 8 * PAGE
    addresses, sizes = (c_void_p * 2)(memory.value, second), (c_size_t * 2)(PAGE, PAGE)
    places, firsts = (Location * 2)(host, device), (c_size_t * 2)(0, 1)
    ranges = ("cudaMemPrefetchBatchAsync", addresses, sizes, c_size_t(2), places, firsts)
    flags = ctypes.c_uint64(0)
    call(*ranges, c_size_t(2), flags, stream)
    assert ask(memory, PAGE, 4) == -1 and ask(c_void_p(second), PAGE, 4) == 0
    call(*ranges, c_size_t(1), flags, stream)
    assert ask(c_void_p(second), PAGE, 4) == -1
    call(*ranges, c_size_t(0), flags, stream, code=INVALID_VALUE)
    call(*ranges, c_size_t(3), flags, stream, code=INVALID_VALUE)
    call(*ranges, c_size_t(1), flags, None, code=INVALID_VALUE)
    discard = ("cudaMemDiscardBatchAsync", addresses, sizes)
    call(*discard, c_size_t(2), flags, stream)
    call(*discard, c_size_t(0), flags, stream, code=INVALID_VALUE)
    call(*discard, c_size_t(2), ctypes.c_uint64(1), stream, code=INVALID_VALUE)
    addresses[1] = plain.value
    call(*discard, c_size_t(2), flags, stream, code=INVALID_VALUE)
    call(*ranges, c_size_t(1), flags, stream, code=INVALID_VALUE)


def check_copies():
    stream, memory = make("cudaStreamCreate"), make("cudaMalloc", c_size_t(PAGE))
    data = (c_ubyte * 256)(*range(256))
    back = (c_ubyte * 256)()
    first, start = ctypes.addressof(data), ctypes.addressof(back)
    sizes, firsts = (c_size_t * 2)(100, 50), (c_size_t * 2)(0, 1)
    choices = (Choices * 2)(Choices(order=1), Choices(order=3, flags=1))

    def copy(targets, sources, count=2, parts=2, where=stream, **words):
        call(
            "cudaMemcpyBatchAsync",
            (c_void_p * 2)(*targets),
            (c_void_p * 2)(*sources),
            sizes,
            c_size_t(count),
            choices,
            firsts,
            c_size_t(parts),
            where,
            **words,
        )

    device_side = (memory.value, memory.value + 512)
    copy(device_side, (first, first + 200))
    copy((start, start + 100), device_side, parts=1)
    call("cudaStreamSynchronize", stream)
    assert list(back)[:150] == [*range(100), *range(200, 250)]
    both = (device_side, (first, first))
    copy(*both, count=0, code=INVALID_VALUE)
    copy(*both, parts=0, code=INVALID_VALUE)
    copy(*both, parts=3, code=INVALID_VALUE)
    copy(*both, where=c_void_p(99), code=INVALID_HANDLE)
    copy(*both, where=None, code=INVALID_VALUE)
    graph = c_void_p()
    call("cudaStreamBeginCapture", stream, 0)
    copy(*both, code=CAPTURED)
    call("cudaStreamEndCapture", stream, byref(graph))
    choices[1].source.type = 9
    copy(*both, code=INVALID_VALUE)
    choices[1].source.type = 0
    copy((memory.value, None), (first, first), code=INVALID_VALUE)
    firsts[1] = 0
    copy(*both, code=INVALID_VALUE)
    choices[0].order = 0
    copy(*both, parts=1, code=INVALID_VALUE)

    source, target = End(1, first, 16, 4), End(1, memory.value, 32, 2)
    volume = Volume(source, target, (c_size_t * 3)(8, 2, 2), 1, 0)
    volumes = ("cudaMemcpy3DBatchAsync", c_size_t(1), byref(volume))
    call("cudaMemset", memory, 255, c_size_t(256))
    call(*volumes, ctypes.c_uint64(0), stream)
    call("cudaMemcpy", back, memory, c_size_t(256), 2)
    for z in range(2):
        for y in range(2):
            at = 64 * z + 32 * y
            assert list(back)[at : at + 9] == [*range(64 * z + 16 * y, 64 * z + 16 * y + 8), 255]
    call(*volumes, ctypes.c_uint64(1), stream, code=INVALID_VALUE)
    volume.source.row = 7
    call(*volumes, ctypes.c_uint64(0), stream, code=INVALID_VALUE)


def check_streams():
    stream, copied = make("cudaStreamCreate"), make("cudaStreamCreate")
    window = Window(0x1000, 4096, 0.5, 2, 1)
    value = (c_int * 16)()
    call("cudaStreamSetAttribute", stream, 1, byref(window))
    call("cudaStreamCopyAttributes", copied, stream)
    got = Window()
    call("cudaStreamGetAttribute", copied, 1, byref(got))
    assert (got.address, got.bytes, got.ratio, got.hit, got.miss) == (0x1000, 4096, 0.5, 2, 1)
    call("cudaStreamGetAttribute", stream, 3, value)
    assert value[0] == -1
    value[0] = -2
    call("cudaStreamSetAttribute", stream, 8, value)
    priority = c_int()
    call("cudaStreamGetPriority", stream, byref(priority))
    assert priority.value == -2
    call("cudaStreamGetAttribute", stream, 8, value)
    assert value[0] == -2
    call("cudaStreamCopyAttributes", copied, stream)
    call("cudaStreamGetPriority", copied, byref(priority))
    assert priority.value == -2
    window.ratio = 1.5
    call("cudaStreamSetAttribute", stream, 1, byref(window), code=INVALID_VALUE)
    call("cudaStreamSetAttribute", stream, 2, value, code=INVALID_VALUE)
    call("cudaStreamGetAttribute", stream, 2, value, code=INVALID_VALUE)
    call("cudaStreamGetAttribute", c_void_p(99), 3, value, code=INVALID_HANDLE)


def check_captures():
    """Calls that wait, as cudaMalloc does, end a capture unless it, or the thread, allows them."""
    stream, graph, memory = make("cudaStreamCreate"), c_void_p(), make("cudaMalloc", c_size_t(PAGE))
    wanted, more = c_void_p(), c_void_p()
    calls = {
        "cudaMalloc": (byref(wanted), c_size_t(PAGE)),
        "cudaMallocManaged": (byref(wanted), c_size_t(PAGE), 1),
        "cudaMallocHost": (byref(wanted), c_size_t(PAGE)),
        "cudaFree": (memory,),
    }
    for mode in (0, 1):
        for name, arguments in calls.items():
            call("cudaStreamBeginCapture", stream, mode)
            call(name, *arguments, code=CAPTURED)
            call("cudaStreamEndCapture", stream, byref(graph), code=INVALIDATED)
            assert not wanted
    call("cudaStreamBeginCapture", stream, 2)
    call("cudaMalloc", byref(wanted), c_size_t(PAGE))
    call("cudaStreamEndCapture", stream, byref(graph))
    relaxed = c_int(2)
    call("cudaStreamBeginCapture", stream, 0)
    call("cudaThreadExchangeStreamCaptureMode", byref(relaxed))
    call("cudaMalloc", byref(more), c_size_t(PAGE))
    call("cudaThreadExchangeStreamCaptureMode", byref(relaxed))
    call("cudaFree", None)
    call("cudaStreamEndCapture", stream, byref(graph))
    call("cudaStreamBeginCapture", stream, 3, code=INVALID_VALUE)
    for address in (memory, wanted, more):
        call("cudaFree", address)


def check_handles():
    """Of memory and events for other processes: the process that makes them cannot open them."""
    handle, memory = Handle(), make("cudaMalloc", c_size_t(PAGE))
    opened = c_void_p()
    call("cudaIpcGetMemHandle", byref(handle), memory)
    call("cudaIpcOpenMemHandle", byref(opened), handle, 1, code=UNINITIALIZED)
    call("cudaIpcOpenMemHandle", byref(opened), handle, 0, code=INVALID_VALUE)
    call("cudaIpcCloseMemHandle", memory, code=INVALID_VALUE)
    call("cudaIpcGetMemHandle", byref(handle), byref(handle), code=INVALID_VALUE)
    call("cudaIpcGetMemHandle", None, memory, code=INVALID_VALUE)
    event = make("cudaEventCreateWithFlags", 6)
    call("cudaIpcGetEventHandle", byref(handle), event)
    call("cudaIpcOpenEventHandle", byref(opened), handle, code=UNINITIALIZED)
    call("cudaEventCreateWithFlags", byref(opened), 4, code=INVALID_VALUE)
    call("cudaIpcGetEventHandle", byref(handle), make("cudaEventCreate"), code=INVALID_HANDLE)
    call("cudaIpcGetEventHandle", byref(handle), None, code=INVALID_VALUE)
    call("cudaIpcOpenEventHandle", byref(opened), Handle(), code=NOT_MAPPED)
    call("cudaIpcOpenMemHandle", byref(opened), Handle(), 1, code=INVALID_VALUE)
    pooled = make("cudaMallocAsync", c_size_t(PAGE), None)
    call("cudaIpcGetMemHandle", byref(handle), pooled, code=INVALID_VALUE)


def check_persisting_cache():
    """Five eighths of the L2 cache may be set aside, in sixteenths of it, as on an H200."""
    most, window, kept = c_int(), c_int(), c_size_t()
    call("cudaDeviceGetAttribute", byref(most), 108, 0)
    call("cudaDeviceGetAttribute", byref(window), 109, 0)
    assert (most.value, window.value) == (39321600, 134217728)
    properties = (c_int * 512)()
    call("cudaGetDeviceProperties", properties, 0)
    assert most.value in list(properties) and window.value in list(properties)
    for wanted, got in ((39321600, 39321600), (1, 3932160), (0, 0)):
        call("cudaDeviceSetLimit", 6, c_size_t(wanted))
        call("cudaDeviceGetLimit", byref(kept), 6)
        assert kept.value == got
    call("cudaDeviceSetLimit", 6, c_size_t(most.value + 1), code=INVALID_VALUE)


LOG_BYTES = 25600


def read_log(since=None, room=LOG_BYTES, code=0):
    """The messages in a buffer of so many bytes."""
    text, size = ctypes.create_string_buffer(LOG_BYTES), c_size_t(room)
    text.raw = b"?" * LOG_BYTES
    at = None if since is None else byref(since)
    call("cudaLogsDumpToMemory", at, text, byref(size), 0, code=code)
    assert size.value == len(text.value) < room
    return text.value.decode().splitlines()


def check_logs():
    """Errors are kept, written to files and told to callbacks."""
    told, since, handle = [], c_uint(), c_void_p()
    kind = ctypes.CFUNCTYPE(None, c_void_p, c_int, ctypes.c_char_p, c_size_t)
    listener = kind(lambda data, level, text, length: told.append((data, level, text, length)))
    call("cudaLogsRegisterCallback", listener, c_void_p(7), byref(handle))
    call("cudaLogsCurrent", byref(since), 0)
    first = since.value
    assert read_log(since) == [] and since.value == first
    call("cudaSetDevice", 9, code=INVALID_DEVICE)
    assert told == [(7, 0, b"cudaErrorInvalidDevice", 22)]
    call("cudaLogsCurrent", byref(since), 1, code=INVALID_VALUE)
    call("cudaLogsUnregisterCallback", handle)
    call("cudaLogsUnregisterCallback", handle, code=INVALID_VALUE)
    assert len(told) == 2 and told[1][2] == b"cudaErrorInvalidValue"
    both = ["cudaErrorInvalidDevice", "cudaErrorInvalidValue"]
    assert read_log(since)[:2] == both and since.value == first + 3 and read_log(since) == []
    since.value = first
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "log"
        call("cudaLogsDumpToFile", byref(since), str(path).encode(), 0)
        assert path.read_text().splitlines()[:2] == both and since.value == first + 3
        call("cudaLogsDumpToFile", None, bytes(path / "none"), 0, code=INVALID_VALUE)
    for _ in range(200):
        call("cudaSetDevice", 9, code=INVALID_DEVICE)
    left_out = "[older messages are left out]"
    lines = read_log()
    assert len(lines) == 101 and lines[0] == left_out and set(lines[1:]) == {both[0]}
    assert read_log(room=100) == [left_out, *3 * [both[0]]]
    assert read_log(room=10, code=INVALID_VALUE) == []


if __name__ == "__main__":
    check_pools()
    check_ranges()
    check_copies()
    check_streams()
    check_captures()
    check_handles()
    check_persisting_cache()
    check_logs()
    print("right")
