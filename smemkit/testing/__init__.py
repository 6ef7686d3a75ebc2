"""Tests of CUDA kernels by pytest, on machines without a GPU.

`pytest -p smemkit.testing` loads the plugin; `addopts = "-p smemkit.testing"` in the project's
settings, or `pytest_plugins = ["smemkit.testing"]` in its conftest.py, does so for good. It is not
loaded by itself: a plugin of every pytest of an environment would import NumPy and the extension
module also where no kernel is tested.

The fixture and marker cuda_kernel give a kernel of a `.cu` file, compiled, launched, compared with
what is expected, checked, and held to claims on counters; CudaKernel says more. With the option
`--smemkit-check` every launch on the simulator is checked, and a finding fails the test that made
it. With `--smemkit-cupy` the line `import cupy` gives smemkit.testing.cupy where there is no CuPy,
which has NumPy arrays, and raw kernels on the simulator; `--smemkit-replace-cupy` does so where
there is one.
"""

from .._public import publish
from ._kernel import CudaKernel, KernelFailure, KernelRun

__all__ = ["CudaKernel", "KernelFailure", "KernelRun"]

pytest_plugins = ("smemkit.testing._plugin",)  # pytest loads it along with this module

publish(__name__)
