"""smk_staged_copy for ctypes, and csrc/gpu/ with a CUDA runtime that is made for it."""

import ctypes

AXES_MAX, SLABS_MAX = 8, 16

RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class Layout(ctypes.Structure):
    _fields_ = (
        ("run_bytes", ctypes.c_uint64),
        ("axes", ctypes.c_int),
        ("length", ctypes.c_uint64 * AXES_MAX),
        ("stride", ctypes.c_int64 * AXES_MAX),
    )


class Range(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_uint64),
        ("host", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("layout", ctypes.POINTER(Layout)),
        ("slab", ctypes.c_size_t),
    )


class StagedCopy(ctypes.Structure):
    _fields_ = (
        ("up", ctypes.POINTER(Range)),
        ("down", ctypes.POINTER(Range)),
        ("up_count", ctypes.c_size_t),
        ("down_count", ctypes.c_size_t),
        ("slabs", ctypes.c_size_t),
        ("run", RUN),
        ("context", ctypes.c_void_p),
        ("late", ctypes.c_bool),
    )


class Settings(ctypes.Structure):
    _fields_ = (
        ("threads", ctypes.c_uint),
        ("slot_bytes", ctypes.c_uint64),
        ("slots", ctypes.c_uint),
        ("part_bytes", ctypes.c_uint64),
    )


class Memory(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint64), ("rings", ctypes.c_uint), ("busy", ctypes.c_uint))


def describe(gpu, array):
    """The layout of a NumPy array."""
    layout = Layout()
    gpu.smk_pack_describe.restype = ctypes.c_bool
    shape = (ctypes.c_uint64 * 32)(*array.shape)
    strides = (ctypes.c_int64 * 32)(*array.strides)
    assert gpu.smk_pack_describe(
        ctypes.byref(layout), ctypes.c_size_t(array.itemsize), array.ndim, shape, strides
    )
    return layout


def make_range(gpu, address, array, slab=0):
    """The whole of an array, in any strides."""
    layout = describe(gpu, array)
    return Range(
        address,
        array.ctypes.data,
        array.nbytes,
        ctypes.pointer(layout) if layout.axes else None,
        slab,
    )


def make(up=(), down=(), slabs=0, run=None, late=False):
    """A staged copy; keeps what it points to."""
    kept = (Range * max(1, len(up)))(*up), (Range * max(1, len(down)))(*down), run
    made = StagedCopy(
        kept[0], kept[1], len(up), len(down), slabs, RUN(run) if run else RUN(), None, late
    )
    made.kept = kept
    return made
