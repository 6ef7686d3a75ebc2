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
METRIC = (
    "recorded with l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts, which of copies past "
    "the cache counts something else; the counter is smsp__sass_l1tex_data_bank_conflicts_... now"
)

EXPLAINED = {
    ("async_chunks", "async.conflicts"): METRIC,
    ("async_chunks", "async.sectors"): BYPASS,
    ("async_chunks", "async.wavefronts"): HALF_SECTOR,
    ("atomic_returning", "global.store.requests"): ORDER,
    ("atomic_returning", "global.store.sectors"): ORDER,
    ("histogram_returning", "global.store.requests"): ORDER,
    ("histogram_returning", "global.store.sectors"): ORDER,
    ("loop_lengths", "shared.load.instructions"): UNROLLED,
    ("loop_lengths", "shared.load.wavefronts"): UNROLLED,
}
