"""Barriers and guards that can go without harm, and kernels that are faulty as they are: and why.

Names are entry:source line, or entry:source line:which of the mutants of the entry, from 0, or
folder/kernel. The tests prove that what stands here is clean (or not).
"""

_LOOP = "round a loop whose first round finds its own guards closed"
_GEMM = {"tiled16": 26, "tiled": 27, "padded": 26, "column": 25, "column_padded": 24}
_GEMM |= {"column_swizzled": 24, "vectorized": 43, "register_1d": 30, "register_2d": 27}
_GEMM |= {"double_buffered": 55, "async": 52}

CLEAN_WITHOUT_GUARD = {
    f"gemm_{variant}_{dtype}:{line}": _LOOP
    for variant, line in _GEMM.items()
    for dtype in ("float32", "float64")
}
_WAYS = "the way of single elements is right for whole vectors too"
_TWICE = "another guard of the same access, or of the row, stays closed"
CLEAN_WITHOUT_GUARD |= {
    "gemm_vectorized_float32:47:2": _WAYS,
    "gemm_vectorized_float32:48:7": _TWICE,
    "gemm_vectorized_float32:73:12": _WAYS,
    **{f"gemm_vectorized_float64:{at}": _TWICE for at in ("45:1", "48:4", "48:8", "48:9")},
    **{f"gemm_vectorized_float64:{at}": _TWICE for at in ("48:12", "48:17", "48:18", "70:20")},
}
_TILES = "the grid has no block without a tile unless it is folded into z"
CLEAN_WITHOUT_GUARD |= {
    f"gemm_tuned_{dtype}:{line}": reason
    for dtype in ("float32", "float64")
    for line, reason in {48: _TILES, 75: _TILES, 143: _WAYS, 171: _WAYS}.items()
}
CLEAN_WITHOUT_GUARD["gemm_tuned_float32:128:5"] = _WAYS

_LAST = "after the last step, which thread 0 does and whose sum only thread 0 reads"
_OWN = "each thread goes on with the elements that it has written itself"
_ONE = "before and after it thread 0 works alone"

CLEAN_WITHOUT_BARRIER = {
    "components:9:0": "the barrier of the loop's condition follows at once",
    "solve:14:0": "one warp, whose lanes meet before they read each other's rows",
    "async_pipeline:35:9": "in the last three rounds: no copy is started after them",
    "early_exit:17:7": "after the last round: nobody writes any more",
    "fourier:21:2": _OWN,
    "generic_choice:9:0": _OWN,
    "generic_pointer:28:1": "the lower half is read before, the upper written behind",
    "half_pairs:12:0": "who clears an element fills it; the last is read a barrier later",
    "last_block:20:7": _LAST,
    "last_block:39:16": _LAST,
    "reduce_interleaved:15:8": _LAST,
    "reduce_modulo:14:8": _LAST,
    "reduce_sequential:14:8": _LAST,
    "scan_blelloch:12:0": _OWN,
    "scan_blelloch:21:8": _ONE,
    "scan_blelloch:28:16": _OWN,
    "scan_padded:17:0": _OWN,
    "scan_padded:26:8": _ONE,
    "scan_padded:33:16": _OWN,
}

# {kernel of tests/counts: a shape more, where those of its cases leave a barrier without work}
MORE_SHAPES = {
    "async_words": {"grid": 1, "tiles": 7},
    "async_chunks": {"grid": 1, "tiles": 7, "missing": 0},
}

# {folder/kernel: kinds}. By the letter of the memory model these are found rightly.
NOT_CLEAN = {}
