"""What a call takes from the heap it gives back: the same calls need no more memory each time."""

import copy
import ctypes
import gc
import sys
import time

import numpy as np
import pytest
from support.handmade import build, load

import smemkit

ROUNDS = 4
BLOCK_BYTES = 64  # no block on the heap of the C code is smaller
CACHED = 50  # objects that Python itself makes and keeps now and then

ORDERED = """
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r1, %r2, %r3, %r1;
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd2, %rd2, %rd1;
    st.global.u32 [%rd2+4], %r1;
    fence.acq_rel.gpu;
    atom.global.relaxed.gpu.add.u32 %r4, [%rd1], 1;
    fence.acq_rel.gpu;"""
# One half waits in a function for the other, which calls it elsewhere.
WAITING = """
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    call wait, ();
    bra DONE;
LOW:
    call wait, ();
DONE:"""
WAIT = ".func wait()\n{\n    .reg .b32 %r<200>;\n    bar.warp.sync -1;\n    ret;\n}\n"


class Heap(ctypes.Structure):
    """struct mallinfo2 of the C library."""

    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


def measure():
    """Bytes in use of all that malloc has, and how many blocks of Python's own."""
    gc.collect()
    read = ctypes.CDLL(None).mallinfo2
    read.restype = Heap
    heap = read()
    return heap.uordblks + heap.hblkhd, sys.getallocatedblocks()


def check_kernel(body, grid, words, before=""):
    kernel = load(build(body, ".param .u64 x", before=before, header=HEADER))
    x = smemkit.asarray(np.zeros(words, np.uint32), backend="sim")
    return lambda: kernel.check(grid, 32, (x,), backend="sim")


HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
STRUCTURE = ".param .align 4 .b8 all[2048]"


def make_and_drop():
    smemkit.asarray(np.zeros(100, np.float32), backend="sim")


TURNED = np.asfortranarray(np.zeros((1025, 1024), np.uint8))  # so large that it goes in pieces


def copy_turned():
    smemkit.asarray(TURNED, backend="sim")


def pass_a_structure():
    kernel = load(build("", STRUCTURE))
    value = np.zeros(3, [("all", np.uint8, 2048)])[1]  # a scalar, of which an array is made
    return lambda: kernel(1, 32, (value,), backend="sim")


def refuse_a_text():
    with pytest.raises(smemkit.ArgumentError):
        smemkit.RawModule("x" * 10_000 + "\ud800", backend="sim")


def read_a_file(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(build(""))
    return lambda: smemkit.RawModule(path=path, backend="sim")


def copy_kernels():
    kernels = load(build("")), smemkit.kernel("transpose", "naive")
    return lambda: copy.deepcopy(kernels)


# What makes the call, and how often it is called.
CALLED = {
    "arrays": (lambda: make_and_drop, 200),
    "many blocks under check": (lambda: check_kernel(ORDERED, 600, 80_000), 12),
    "lanes that wait in a function": (lambda: check_kernel(WAITING, 1, 32, WAIT), 40),
    "a large array of another order": (lambda: copy_turned, 200),
    "a structure": (pass_a_structure, 200),
    "a text that is refused": (lambda: refuse_a_text, 200),
    "a file": (read_a_file, 100),
    "copies of kernels": (copy_kernels, 200),
}


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="no mallinfo2 here")
@pytest.mark.parametrize("name", CALLED)
def test_nothing_stays(name, tmp_path):
    make, calls = CALLED[name]
    call, grown = make(tmp_path) if make is read_a_file else make(), []
    for _ in range(ROUNDS):  # a leak is in each of them, and a cache that fills in one or two
        before = measure()
        for _ in range(calls):
            call()
        time.sleep(0.05)  # large tables are freed by a thread of their own
        grown.append([now - then for now, then in zip(measure(), before, strict=True)])
    least_bytes, least_blocks = (min(column) for column in zip(*grown, strict=True))
    assert least_bytes < calls * BLOCK_BYTES // 2, grown
    assert least_blocks < calls // 2 + CACHED, grown
