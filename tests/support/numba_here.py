"""Whether Numba's compiler for CUDA can be used: a NumPy newer than it knows breaks its imports."""

import functools
import importlib
import importlib.util
import warnings


@functools.cache
def find_obstacle():
    """Why tests of Numba cannot run here, or None."""
    if any(importlib.util.find_spec(name) is None for name in ("numba", "numba_cuda")):
        return "needs numba-cuda: pip install 'smemkit[numba]'"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Numba's own modules
            importlib.import_module("numba.cuda")
            importlib.import_module("numba.cuda.np.arrayobj")
    except (ImportError, AttributeError) as error:
        return f"Numba cannot be imported beside this NumPy: {error}"
    return None
