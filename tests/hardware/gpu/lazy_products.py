"""Products on and over devices of the runtime lazy_runtime.c; test_lazy_products.py runs this.

    python lazy_products.py LIBRARY FIRST_SEED COUNT

The extension that is imported is LIBRARY. Each seed is a program: shapes, places of the operands,
devices and streams, allocations that fail, and the order in which the devices work.
"""

import contextlib
import ctypes
import sys

import numpy as np

import smemkit

SHAPES = [(64, 32, 48), (300, 17, 130), (5, 3, 7), (1, 1, 1), (0, 3, 4), (3, 0, 4), (33, 9, 65)]


class Program:
    def __init__(self, library, seed):
        self.library, self.rng = library, np.random.default_rng(seed)
        library.lazy_begin(seed, seed % 2)
        m, k, n = SHAPES[seed % len(SHAPES)]
        self.a = self.rng.integers(-4, 5, (m, k)).astype("float32")
        self.b = self.rng.integers(-4, 5, (k, n)).astype("float32")
        self.product = self.a @ self.b
        self.devices = [self.draw(4) for _ in range(1 + self.draw(4))]

    def draw(self, below):
        return int(self.rng.integers(below))

    def count(self, name):
        return ctypes.c_int.in_dll(self.library, f"lazy_{name}")

    def multiply(self, *operands, **words):
        return smemkit.gemm(*operands, variant="naive", devices=self.devices, **words)

    def upload(self):
        return [smemkit.asarray(x, device=self.draw(4)) for x in (self.a, self.b)]

    def run_device_arrays(self):
        """Operands and result anywhere, perhaps copied there; freed as soon as they were given."""
        a, b = self.upload()
        if self.draw(2):
            a = a.copy(device=self.draw(4))
        out = smemkit.empty(self.product.shape, device=self.draw(4)) if self.draw(2) else None
        result = self.multiply(a, b, out=out)
        self.devices.reverse()
        again = self.multiply(a, b, out=result if self.draw(2) else None)
        del a, b
        result = (result, again, again.copy(device=self.draw(4)))[self.draw(3)]
        assert (smemkit.asnumpy(result) == self.product).all()

    def run_on_streams(self):
        with contextlib.ExitStack() as stack:
            for device in range(4):
                if self.draw(2):
                    stack.enter_context(smemkit.Stream(device=device, non_blocking=True))
            self.run_device_arrays()

    def run_in_block(self):
        present = self.draw(4)
        with smemkit.Device(present):
            self.run_device_arrays()
            assert (self.multiply(self.a, self.b) == self.product).all()
            assert self.library.lazy_present() == present

    def run_again(self):
        """The call on one device that a thread makes again: with out, without it, out of memory."""
        device, words = self.draw(4), ({}, {"out": None, "backend": None, "stream": None})
        for i in range(6):
            with contextlib.ExitStack() as stack:
                if self.draw(2):
                    stack.enter_context(smemkit.Stream(device=device, non_blocking=True))
                a, b = (smemkit.asarray(x, device=device) for x in (self.a, self.b))
                if i == 4:  # the result has no memory: the exception is that of the first call
                    self.count("allocations_left").value = 0
                    with contextlib.suppress(smemkit.OutOfMemoryError):
                        smemkit.gemm(a, b, variant="naive")
                    self.count("allocations_left").value = -1
                result = smemkit.gemm(a, b, variant="naive", **words[i % 2])
                target = smemkit.empty(self.product.shape, device=device)
                assert smemkit.gemm(a, b, variant="naive", out=target) is target
                del a, b
                for made in (result, target):
                    assert made.device == f"cuda:{device}"
                    assert (smemkit.asnumpy(made) == self.product).all()

    def run_out_of_memory(self):
        """An allocation fails; what was begun ends, and is freed."""
        a, b = self.upload()
        before = self.count("blocks").value
        self.count("allocations_left").value = self.draw(9)
        with contextlib.suppress(smemkit.OutOfMemoryError):
            assert (smemkit.asnumpy(self.multiply(a, b)) == self.product).all()
        self.count("allocations_left").value = -1
        assert self.count("blocks").value == before
        assert (smemkit.asnumpy(self.multiply(a, b)) == self.product).all()


def main():
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    assert smemkit._core.__file__ == path
    library = ctypes.CDLL(path)
    assert len(smemkit.devices("cuda")) == 4
    for seed in range(first, first + count):
        program = Program(library, seed)
        try:
            program.run_in_block()
            program.run_on_streams()
            program.run_again()
            program.run_out_of_memory()
            assert program.count("faults").value == 0
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
    print("right", count)


if __name__ == "__main__":
    main()
