"""csrc/gpu/ as a library of its own, above a CUDA runtime that is made for it: without a GPU.

The runtime is tests/hardware/gpu/runtime.c, with runtime_queue.c for what streams do later.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .paths import CSRC, ROOT

RUNTIME = ROOT / "tests" / "hardware" / "gpu"
SOURCES = (
    *("gpu/context.c", "gpu/buffer.c", "gpu/cuda_error.c", "gpu/driver.c", "gpu/launch.c"),
    *(
        "gpu/library.c",
        "gpu/stream.c",
        "gpu/event.c",
        "gpu/wait.c",
        "gpu/bus.c",
        "gpu/ring.c",
        "gpu/tasks.c",
        "gpu/held.c",
        "gpu/assertion.c",
        "gpu/pinned.c",
    ),
    "gpu/peer.c",
    *("base/heap.c", "base/poll.c", "base/status.c", "base/fork.c", "base/pack.c", "base/pages.c"),
    *("base/quota.c", "base/workers.c"),
)

WAIT = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)


class Poll(ctypes.Structure):
    """smk_poll."""

    _fields_ = (
        ("call", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("outer", ctypes.c_void_p),
        ("due", ctypes.c_uint64),
        ("skip", ctypes.c_uint32),
        ("stopped", ctypes.c_bool),
        ("copied", ctypes.c_uint64),
        ("to_copy", ctypes.c_uint64),
    )


@contextlib.contextmanager
def polled(gpu, must_stop):
    """For the time of a block, work of this thread polls a function."""
    poll = Poll()
    gpu.smk_poll_begin(ctypes.byref(poll), must_stop, None)
    try:
        yield poll
    finally:
        gpu.smk_poll_end(ctypes.byref(poll))


class Error(ctypes.Structure):
    """As smk_error begins."""

    _fields_ = (
        ("status", ctypes.c_int),
        ("message", ctypes.c_char * 768),
        ("more", ctypes.c_byte * 1024),
    )


def find_headers():
    """The folder of cuda_runtime_api.h in a CUDA toolkit or in NVIDIA's packages, or None."""
    folders = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")]
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec else ():
        folders += [Path(place, "cu13", "include")]
    return next((path for path in folders if (path / "cuda_runtime_api.h").is_file()), None)


@functools.cache
def compile_once(folder):
    """The library's bytes."""
    compiler, headers = shutil.which("gcc") or shutil.which("cc"), find_headers()
    if compiler is None or headers is None:
        return None
    command = [compiler, "-std=gnu11", "-O1", "-w", "-shared", "-fPIC", f"-I{headers}", f"-I{CSRC}"]
    command += ["-Wl,-Bsymbolic"]  # its own runtime, whatever libcudart the process has loaded
    command += [RUNTIME / "runtime.c", RUNTIME / "runtime_queue.c", RUNTIME / "runtime_peer.c"]
    command += [CSRC / name for name in SOURCES]
    subprocess.run([*command, "-lpthread", "-o", folder / "gpu.so"], check=True, timeout=120)
    return (folder / "gpu.so").read_bytes()


def build(tmp_path_factory):
    """The library, with a state of its own; a test is skipped where nothing can build it."""
    code = compile_once(tmp_path_factory.getbasetemp())
    if code is None:
        pytest.skip("no cuda_runtime_api.h, or no C compiler")
    made = tmp_path_factory.mktemp("runtime") / "gpu.so"
    made.write_bytes(code)
    return ctypes.CDLL(str(made))


def call(gpu, name, *arguments):
    """None, or what the function says."""
    error = Error()
    status = getattr(gpu, name)(*arguments, ctypes.byref(error))
    assert status == error.status or status == 0
    return None if status == 0 else error.message.decode()


def count(gpu, name):
    return ctypes.c_int.in_dll(gpu, f"runtime_{name}").value
