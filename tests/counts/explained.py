"""Counts that are known to differ from the hardware's, with the reason from the machine code.

EXPLAINED[kernel, counter] = reason. A row whose difference is gone must go too: the tests say so.
"""

FLOAT_ADD = (
    "sm_90 has no ATOMS that adds floats: ptxas makes a loop of LDS and ATOMS.CAST.SPIN that reads "
    "once a round, and lanes whose word has changed meanwhile go round again"
)
WIDE_LOOP = (
    "sm_90 has no ATOMS.ADD.64 and no ATOMS.MAX.64: ptxas makes loops of LDS.64 and "
    "ATOMS.CAST.SPIN.64 (the loop of max ends early where nothing is to be stored); only the "
    "exchange is one instruction, ATOMS.EXCH.64"
)

ADDS_ONE = (
    "an addition of one whose result nobody wants is ATOMS.POPC.INC: lanes that share a word share "
    "its wavefront; smemkit counts each lane (op increment of bank_access has the rule)"
)
CAS = (
    "ATOMS.CAS takes two wavefronts where other atomics take one (op cas of bank_access has the "
    "rule); smemkit counts it like the others"
)
ORDER = (
    "what is stored where depends on the order in which warps reach the atomic, which is the "
    "hardware's own and changes from run to run"
)
LOCAL = (
    "not settled: the hardware has about twice the requests for the same sectors, so ptxas seems "
    "to access the array in smaller parts"
)
UNROLLED = (
    "not settled: ptxas unrolls the loop (its machine code has 29 loads for the 5 of the PTX), and "
    "lanes that end early seem to go through copies of their own"
)
NARROWED = (
    "two of the four elements of ld.shared.v4.f32 are not used: ptxas makes two LDS of 4 bytes"
)
BYPASS = (
    "cp.async.cg moves whole sectors past the L1 cache: Nsight Compute counts what moves, smemkit "
    "what lanes ask for"
)

EXPLAINED = {
    ("async_chunks", "async.conflicts"): BYPASS,
    ("async_chunks", "async.sectors"): BYPASS,
    ("async_chunks", "async.wavefronts"): BYPASS,
    ("async_chunks", "shared.load.conflicts"): NARROWED,
    ("async_chunks", "shared.load.instructions"): NARROWED,
    ("async_chunks", "shared.load.wavefronts"): NARROWED,
    ("atomic_float", "shared.atomic.conflicts"): FLOAT_ADD,
    ("atomic_float", "shared.atomic.instructions"): FLOAT_ADD,
    ("atomic_float", "shared.atomic.wavefronts"): FLOAT_ADD,
    ("atomic_float", "shared.load.conflicts"): FLOAT_ADD,
    ("atomic_float", "shared.load.instructions"): FLOAT_ADD,
    ("atomic_float", "shared.load.wavefronts"): FLOAT_ADD,
    ("atomic_kinds", "shared.atomic.wavefronts"): CAS,
    ("atomic_returning", "global.store.requests"): ORDER,
    ("atomic_returning", "global.store.sectors"): ORDER,
    ("atomic_wide", "shared.atomic.conflicts"): WIDE_LOOP,
    ("atomic_wide", "shared.atomic.instructions"): WIDE_LOOP,
    ("atomic_wide", "shared.atomic.wavefronts"): WIDE_LOOP,
    ("atomic_wide", "shared.load.instructions"): WIDE_LOOP,
    ("atomic_wide", "shared.load.wavefronts"): WIDE_LOOP,
    ("histogram_returning", "global.store.requests"): ORDER,
    ("histogram_returning", "global.store.sectors"): ORDER,
    ("histogram_shared", "shared.atomic.conflicts"): ADDS_ONE,
    ("histogram_shared", "shared.atomic.wavefronts"): ADDS_ONE,
    ("local_array", "local.load.requests"): LOCAL,
    ("local_array", "local.store.requests"): LOCAL,
    ("loop_lengths", "shared.load.instructions"): UNROLLED,
    ("loop_lengths", "shared.load.wavefronts"): UNROLLED,
}
