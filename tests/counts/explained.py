"""Counts that are known to differ from the hardware's, with the reason from the machine code.

EXPLAINED[kernel, counter] = reason. A row whose difference is gone must go too: the tests say so.
"""

ORDER = (
    "what is stored where depends on the order in which warps reach the atomic, which is the "
    "hardware's own and changes from run to run"
)
UNROLLED = (
    "ptxas unrolls the loop of LDS that nvcc left: first n % 4 rounds, then rounds of 16, 8 and 4 "
    "loads; lanes of different n share fewer of them (test_unrolled_by_ptxas adds them up)"
)
BYPASS = (
    "LDGSTS.E.BYPASS.128: of four warps of one block Nsight Compute shows 4 sectors a copy where "
    "it shows 16 for the same addresses of a single warp (tests/sim/banks_h200.json); it is no "
    "function of the addresses"
)
HALF_SECTOR = (
    "a copy of 19 lanes past the cache ends in half a sector, beside one of 13 lanes that writes "
    "zeros: the two take 6 wavefronts, the rule says 5"
)
TUNED = "copies past the cache, some of 16 bytes: " + BYPASS
SPILLED = (
    "ptxas has too few registers under __launch_bounds__ and keeps some values in local memory; "
    "PTX has no such access"
)
STRAY = (
    "1 to 6 wavefronts in thousands beyond the rule, another number in each run of the same launch "
    "(three were made): what disturbs it is no property of the kernel"
)
SUNK = (
    "ptxas sinks the read of an edge that PTX has before the guard i >= n behind it (in SASS the "
    "EXIT stands before every LDG): the last block's six warps without elements do not make it"
)

EXPLAINED = {
    ("async_chunks", "async.sectors"): BYPASS,
    ("async_chunks", "async.wavefronts"): HALF_SECTOR,
    ("atomic_returning", "global.store.requests"): ORDER,
    ("atomic_returning", "global.store.sectors"): ORDER,
    ("histogram_returning", "global.store.requests"): ORDER,
    ("histogram_returning", "global.store.sectors"): ORDER,
    ("loop_lengths", "shared.load.instructions"): UNROLLED,
    ("loop_lengths", "shared.load.wavefronts"): UNROLLED,
    **{
        (kernel, f"local.{op}.{what}"): SPILLED
        for kernel in (
            "gemm_async_float32",
            "gemm_double_buffered_float32",
            "conv2d_register_float64",
        )
        for op in ("load", "store")
        for what in ("requests", "sectors")
    },
    **{
        (kernel, f"async.{what}"): TUNED
        for kernel in ("gemm_tuned_float32", "gemm_tuned_float64")
        for what in ("sectors", "wavefronts")
    },
    **{
        (kernel, f"{counter}.{what}"): STRAY
        for kernel, counter in (
            ("gemm_register_2d_float64", "shared.store"),
            ("conv2d_register_float32", "shared.store"),
            ("conv2d_register_float64", "shared.load"),
            ("histogram_shared_uint8", "shared.atomic"),
        )
        for what in ("wavefronts", "conflicts")
    },
    **{
        (kernel, f"global.load.{what}"): SUNK
        for kernel in ("histogram_global_float32", "histogram_global_int32")
        for what in ("requests", "sectors")
    },
}
