"""Runs cases that come as lines of JSON, every way that one process can.

A process has one instruction set and one number of host threads, so differential.py starts one of
these for each configuration: `python fuzz_worker.py` with SMEMKIT_ISA and SMEMKIT_THREADS set.
"""

import contextlib
import hashlib
import io
import json
import sys

import numpy as np

import smemkit
from smemkit import _core

# What is compared: (name, mode of the watch, whether accesses are modelled).
WAYS = [
    ("run", None, True),
    ("again", None, True),
    ("profile", "profile", True),
    ("unmodelled", "profile", False),
    ("check", "check", True),
]
WORDS = np.array(
    [0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    + [0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001]
    + [0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x3FF00000, 0xBFF00000]
    + [0x7FF00000, 0xFFF80000, 0x7FF40000, 0x4F000000, 0xCF000000, 0x3C003C00, 0x7C007E00],
    np.uint32,
)


def make_argument(row):
    """An array full of words that matter (in floats and integers) and of others, or a number."""
    if "value" in row:
        return row["value"]
    rng = np.random.default_rng(row["seed"])
    words = rng.integers(0, 2**32, row["words"], dtype=np.uint32)
    kind = rng.integers(0, 4, row["words"])
    words = np.where(kind == 0, rng.choice(WORDS, row["words"]), words)
    small = rng.normal(0, 30, row["words"]).astype(np.float32).view(np.uint32)
    return np.where(kind == 1, small, np.where(kind == 2, words % 97, words)).astype(np.uint32)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def describe_error(error):
    places = ("kernel", "ptx_line", "source_line", "block", "thread")
    return [type(error).__name__, str(error), *(str(getattr(error, name, None)) for name in places)]


def plain(value):
    """What a watched launch says, as something that prints the same every time."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name != "ptx"}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


class Argument:
    """An argument that is the same at each launch: arrays keep their address and get their values
    again, so that what a kernel makes of an address is no difference between two ways."""

    def __init__(self, row):
        self.value = make_argument(row)
        self.is_array = isinstance(self.value, np.ndarray)
        if self.is_array:
            self.initial = smemkit.asarray(self.value, backend="sim")
            self.value = smemkit.empty(len(self.value), self.value.dtype, backend="sim")

    def restore(self):
        if self.is_array:
            _core._copy(self.value, self.initial)
        return self.value


def run_once(case, arguments, mode, model, dump):
    """What one launch does: to memory, to standard output, and what it says of itself."""
    args = [argument.restore() for argument in arguments]
    words = {"backend": "sim", "max_steps": case["max_steps"], "shared_mem": case.get("shared", 0)}
    seen, launches, text = {"error": None}, [], io.StringIO()
    try:
        module = smemkit.RawModule(case["text"], backend="sim")
        kernel = module.get_function(case["entry"])
        call = (tuple(case["grid"]), tuple(case["block"]), tuple(args))
        with contextlib.redirect_stdout(text):
            if mode is None:
                kernel(*call, **words)
            else:
                _, launches = _core._capture(mode, kernel, call, words, 0, model)
        if mode != "check":
            seen["steps"] = _core._run_stats()["steps"]
    except smemkit.Error as error:
        seen["error"] = describe_error(error)
    arrays = [smemkit.asnumpy(argument.value) for argument in arguments if argument.is_array]
    seen["memory"] = [digest(array.tobytes()) for array in arrays]
    seen["printed"] = digest(text.getvalue().encode())
    for launch in launches:
        if mode == "check":
            kept = ("kind", "count", "message")
            seen["findings"] = [[f[name] for name in kept] for f in launch["findings"]]
            seen["stopped"] = launch["stopped"]
        else:
            seen["counted"] = launch["counters"]["instructions.warp"]
            seen["counters"] = plain(launch["counters"])
        seen["all"] = digest(json.dumps(plain(launch), sort_keys=True).encode())
    if dump:
        seen["words"] = [array.tolist() for array in arrays]
        seen["text"] = text.getvalue()
    return seen


def answer(case):
    ways = case.get("ways") or [name for name, _, _ in WAYS]
    dump = case.get("dump", False)
    arguments = [Argument(row) for row in case["args"]]
    return {
        name: run_once(case, arguments, mode, model, dump)
        for name, mode, model in WAYS
        if name in ways
    }


def main():
    out = sys.stdout
    print(json.dumps({"isa": _core._isa()}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
