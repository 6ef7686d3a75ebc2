"""How the kernels of kernels/ are launched, and what must be found in each.

What is expected stands in the source, as comments on the lines that a finding must name:

    tile[t] = in[t];       // <- race: first
    out[t] = tile[63 - t]; // <- race: second; warp_hazard 2: first, second

Every kind named in a kernel is found in it, no other kind is (but for a case's `may`), and all
findings of a kind lie on lines marked for it. A number keeps pairs apart: each number has a finding
of its own, between one of its first lines and one of its second. "either" allows a line on any
side; "a/b" stands for one or both of two kinds. A kernel without marks is clean.
"""

import dataclasses
import re
from collections.abc import Callable

import numpy as np
from sim.check import check_ptx

import smemkit


@dataclasses.dataclass
class Group:
    """Lines of one numbered mark."""

    kinds: tuple[str, ...]
    first: set[int] = dataclasses.field(default_factory=set)
    second: set[int] = dataclasses.field(default_factory=set)
    either: set[int] = dataclasses.field(default_factory=set)

    @property
    def lines(self):
        return self.first | self.second | self.either

    def allows(self, lines):
        """Whether a finding between these lines is one of these."""
        if all(line in self.either for line in lines):
            return True
        return self.names(lines)

    def names(self, lines):
        """Whether it is the very one that the marks ask for."""
        if not self.second:
            return bool(set(lines) & (self.first or self.either))
        one, other = lines if len(lines) == 2 else lines * 2
        return (one in self.first and other in self.second) or (
            other in self.first and one in self.second
        )


def read_marks(source):
    """{entry: [Group]} of a .cu text."""
    marks, groups = {}, None
    for number, line in enumerate(source.splitlines(), 1):
        if found := re.match(r'extern "C" __global__ void (\w+)\(', line):
            groups = marks.setdefault(found[1], {})
        if "// <- " not in line:
            continue
        for mark in line.split("// <- ")[1].split(";"):
            kinds, index, places = re.fullmatch(r" *([a-z_/]+) ?(\d*): ([a-z, ]+)", mark).groups()
            group = groups.setdefault((kinds, index or "1"), Group(tuple(kinds.split("/"))))
            for place in places.split(", "):
                getattr(group, place).add(number)
    return {entry: list(groups.values()) for entry, groups in marks.items()}


@dataclasses.dataclass
class Case:
    """A launch of an entry."""

    entry: str
    file: str
    groups: list[Group]
    grid: int = 1
    block: int | tuple[int, ...] = 64
    args: Callable = None
    shared: int = 0
    may: frozenset = frozenset()  # kinds that follow from a marked fault and depend on who is first
    cure: str | None = None  # the clean kernel that this is the faulty form of
    right: Callable | None = None  # of the arguments as they were: what the output is all the same
    output: int = -1  # which argument that is
    label: str = ""
    ways: dict = dataclasses.field(default_factory=dict)  # of check: order, padding
    modes: tuple[str, ...] = tuple(check_ptx.MODES)  # not those where the compiler loses the fault

    @property
    def options(self):
        """Keywords of the kernel's check."""
        return {"shared_mem": self.shared, "backend": "sim", **self.ways}

    @property
    def kinds(self):
        return {kind for group in self.groups for kind in group.kinds}


MARKS = {name: read_marks(check_ptx.source_of(name)) for name in check_ptx.names()}
FILE_OF = {entry: name for name, marks in MARKS.items() for entry in marks}
CASES = []


def ints(count=1024):
    """Small different numbers, not in order."""
    return (np.arange(count, dtype=np.int32) * 37 + 11) % 251


def zeros(count=1024, dtype=np.int32):
    return np.zeros(count, dtype)


def usual(*more):
    return lambda: (ints(), zeros(), *more)


def case(entry, grid=1, block=64, args=None, *, clean=False, **facts):
    """Add a case; `clean`: for these arguments the marked fault is not there."""
    name = FILE_OF[entry]
    groups = [] if clean else MARKS[name][entry]
    facts["may"] = frozenset(facts.get("may", "").split())
    CASES.append(Case(entry, name, groups, grid, block, args or usual(), **facts))


# Tiles -------------------------------------------------------------------------------------------


def mirrored_sums(args):
    return args[0][: args[2] * 64].reshape(-1, 64)[:, ::-1].sum(axis=0)


case("tile_no_barrier", cure="tile_barrier")
case("tile_barrier", right=lambda args: args[0][63::-1])
case("tile_lucky", may="uninitialized", cure="tile_ordered", right=lambda args: args[0][:32])
case("tile_ordered", right=lambda args: args[0][:32])
case("tile_reused", args=usual(5), cure="tile_reused_after_barrier")
case("tile_reused_after_barrier", args=usual(5), right=mirrored_sums)
case("tile_two_buffers", args=usual(6), right=mirrored_sums)
case("tile_wrong_buffer", args=usual(6), may="uninitialized", cure="tile_two_buffers")
case("tile_halo_no_barrier", may="race warp_hazard", cure="tile_halo")
case("tile_halo", right=lambda args: args[0][:64] + args[0][1:65] + args[0][2:66])
case(
    "tile_many_readers",
    block=65,
    cure="tile_many_readers_then_barrier",
    right=lambda args: np.full(65, args[0][0]),
)
case("tile_many_readers_then_barrier", block=65, right=lambda args: np.full(65, args[0][0]))
case("tile_one_reader", block=128, cure="tile_many_readers_then_barrier")
case("tile_same_value", cure="tile_one_writer", right=lambda args: np.full(64, args[0][0]))
case("tile_one_writer", right=lambda args: np.full(64, args[0][0]))
case("tile_last_round", args=usual(4), cure="tile_two_buffers")
case("tile_carved_short", args=usual(-4), shared=256, cure="tile_carved")
case("tile_carved", args=usual(0), shared=256, right=lambda args: args[0][:32] + args[0][32:64])
case("tile_generic", args=usual(0), cure="tile_generic")
case("tile_generic", args=usual(1), clean=True, label="safe")
case("tile_square_no_barrier", block=(16, 8), cure="tile_square")
case("tile_square", block=(16, 8), right=lambda args: np.roll(args[0][:128], 64))

# Bytes -------------------------------------------------------------------------------------------

case("bytes_neighbours", block=128)
case("bytes_half_words")
case("bytes_mixed", block=96)
case("bytes_mixed_overlap", block=96, may="uninitialized", cure="bytes_mixed")
case("bytes_wide_store", cure="bytes_wide_store_then_barrier")
case("bytes_wide_store_then_barrier")
case("bytes_wide_load", cure="bytes_wide_store_then_barrier")
case("bytes_global_neighbours", 4, 64, lambda: (ints(), zeros(dtype=np.uint8)))
case("bytes_fields")

# Warps -------------------------------------------------------------------------------------------


def mirrored(args):
    return args[0][31::-1]


EXCHANGE = {"block": 32, "right": mirrored}
case("warp_exchange", **EXCHANGE, cure="warp_exchange_synced")
case("warp_exchange_synced", **EXCHANGE)
case("warp_exchange_volatile", **EXCHANGE, cure="warp_exchange_synced")
case("warp_exchange_barrier", **EXCHANGE)
case("warp_fence", **EXCHANGE, cure="warp_exchange_synced")
case("warp_rows", block=128)
case("warp_next_row", block=128, cure="warp_rows")
case(
    "warp_tree_volatile",
    block=128,
    cure="warp_tree_synced",
    right=lambda args: args[0][:128].sum(keepdims=True),
)
case("warp_tree_synced", block=128, right=lambda args: args[0][:128].sum(keepdims=True))
case("warp_tree_no_barrier", block=128, cure="warp_tree_synced")
case("warp_tree_shuffle", block=32, right=lambda args: args[0][:32].sum(keepdims=True))
case("warp_shuffle_no_order", block=32, cure="warp_exchange_synced")
case("warp_vote_no_order", block=32, cure="warp_exchange_synced")
case("warp_halves", block=32)
case("warp_halves_across", block=32, cure="warp_halves")
FIRST = {"block": 32, "right": lambda args: np.full(32, args[0][0])}
case("warp_broadcast", block=32, may="uninitialized", cure="warp_broadcast_synced")
case("warp_broadcast_synced", **FIRST)
SHIFT = {"block": 32, "right": lambda args: np.append(args[0][1:32], np.int32(5))}
case("warp_shift", **SHIFT, cure="warp_shift_synced")
case("warp_shift_synced", **SHIFT)
case("warp_two_writers", block=32, cure="warp_exchange_synced")
case("warp_branch", block=32, cure="warp_halves")
case("warp_rounds", block=32, args=usual(5))

# Atomics -----------------------------------------------------------------------------------------


def bins(args, count=128):
    return np.bincount(args[0][:count] & 7, minlength=8)


case("atomic_bins", block=128, right=bins)
case("atomic_bins_plain", block=128, cure="atomic_bins")
case(
    "atomic_bins_cleared_late",
    block=128,
    may="uninitialized",
    cure="atomic_bins",
)
case("atomic_read_early", cure="atomic_read_late")
case("atomic_read_late", right=lambda args: np.full(32, args[0][:32].sum()))
case("atomic_mixed", block=128)
case("atomic_warp_read", block=32, cure="atomic_read_late")
case("atomic_slots", block=128)
case("atomic_grid_bins", 4, 64, right=lambda args: bins(args, 256))
case("atomic_grid_bins_plain", 4, 64, cure="atomic_grid_bins")
case("atomic_grid_total_plain", 8, 32, cure="atomic_grid_total")
case("atomic_grid_total", 8, 32, right=lambda args: args[0][:8].sum(keepdims=True))
case("atomic_grid_total_block", 8, 32, cure="atomic_grid_total")
case("atomic_grid_read", 3, 32, cure="atomic_grid_total")

# Barriers ----------------------------------------------------------------------------------------

case("barrier_odd_lanes", cure="barrier_all_warps")
case("barrier_one_warp_more", cure="barrier_all_warps")
case("barrier_all_warps")
case("barrier_two_sides", cure="barrier_after_sides")
case("barrier_after_sides")
case("barrier_uneven_rounds", cure="barrier_even_rounds")
case("barrier_even_rounds")
case("barrier_exited", block=128, args=usual(64), label="whole warps")
case("barrier_exited", block=128, args=usual(50), label="part of a warp")
case("barrier_exited_later", block=128, args=usual(64), label="whole warps")
case("barrier_exited_later", block=128, args=usual(50), label="part of a warp")
case("barrier_hand_over", block=128, args=usual(5))
case("barrier_hand_over_early", block=128, args=usual(5), cure="barrier_hand_over")
case("barrier_hand_over_unasked", block=128, cure="barrier_hand_over")
case("barrier_arrive_only", cure="barrier_pairs")
case("barrier_pairs", block=128)
case("barrier_pairs_mixed", block=128, cure="barrier_pairs")
case("barrier_too_many", cure="barrier_all_warps")
case("barrier_wrong_number", cure="barrier_all_warps")
case("barrier_vote")
case("barrier_half_warp_exits")
case("barrier_one_line", cure="barrier_in_macro_all")
case("barrier_in_macro", cure="barrier_in_macro_all")
case("barrier_inlined_twice", cure="barrier_called_by_all")
for side in (0, 1):
    case("barrier_in_macro_all", args=usual(side), label=f"side {side}")
case("barrier_called_by_all")
for rounds in (3, 4, 7, 9):
    case("barrier_unrolled", args=usual(rounds), label=f"rounds {rounds}")
    case("barrier_unrolled_apart", args=usual(rounds), label=f"rounds {rounds}")
    case("barrier_behind_branch", args=usual(rounds), label=f"rounds {rounds}")

# Bounds and alignment ----------------------------------------------------------------------------


def exact(count, *more):
    """Arrays that end where they say."""
    return lambda: (ints(count), zeros(count), *more)


def index(at, value, count=64):
    """Arguments whose input holds zeros and one large number."""

    def make():
        array = zeros(count)
        array[at] = value
        return array, zeros()

    return make


def with_output(output):
    return lambda: (ints(), output)


case("bounds_one_past", 2, 64, exact(100, 100), cure="bounds_guarded")
case("bounds_guarded", 2, 64, exact(100, 100), right=lambda args: args[0])
case("bounds_read_past", 2, 64, exact(100, 100), cure="bounds_guarded")
case("bounds_whole_row", 1, 32, exact(32 * 5, 5, 32), cure="bounds_guarded")
case("bounds_negative", 2, 64, exact(128), cure="bounds_first_guarded")
case("bounds_first_guarded", 2, 64, exact(128))
case("bounds_wide_tail", 1, 32, exact(98, 98), cure="bounds_wide_and_tail")
case("bounds_wide_and_tail", 1, 32, exact(98, 98), right=lambda args: args[0])
case("bounds_null", args=with_output(0), cure="bounds_guarded")
case("bounds_atomic", 1, 64, index(7, 2000), cure="atomic_grid_bins")
case("bounds_shared_end", args=lambda: (np.ones(64, np.int32), zeros()), cure="tile_barrier")
case("bounds_shared_neighbour", args=lambda: (np.ones(64, np.int32), zeros()))
case("bounds_dynamic", shared=128, cure="bounds_dynamic_enough")
case("bounds_dynamic_enough", shared=256, right=lambda args: args[0][63::-1])
case("bounds_local", 1, 32, index(3, 1 << 24), cure="bounds_local")
case("bounds_local", 1, 32, index(3, 7), clean=True, label="inside")
case("bounds_constant", 1, 32, index(3, 1 << 24), cure="bounds_constant")
case("bounds_constant", 1, 32, index(3, 15), clean=True, label="inside")


# Variables and arguments that an address leaves ---------------------------------------------------


def beside(dtype=np.int32, to=0, back=False):
    """Two arrays of the device, outputs, and how many elements lie between their beginnings."""

    def make():
        a, b = (smemkit.asarray(ints(64).astype(dtype), backend="sim") for _ in range(2))
        far = (b.pointer - a.pointer) // np.dtype(dtype).itemsize + to
        out = smemkit.asarray(zeros(), backend="sim")
        return (b, a, out, -far) if back else (a, b, out, far)

    return make


def halves():
    """Two halves of one array of the device, as numbers: the pointers are an address apart."""
    whole, out = (smemkit.asarray(array, backend="sim") for array in (ints(128), zeros()))
    return whole, np.uint64(whole.pointer + 256), out, 64


def two_arrays(side):
    return lambda: (ints(64), ints(64)[::-1].copy(), zeros(), side)


def pair_of_arrays():
    """A struct of two pointers and a count."""
    arrays = [smemkit.asarray(ints(64), backend="sim") for _ in range(2)]
    layout = np.dtype([("left", np.uint64), ("right", np.uint64), ("count", np.int64)])
    pair = np.array([(arrays[0].pointer, arrays[1].pointer, 64)], layout)
    PAIRS.append(arrays)  # pointers alone keep nothing
    return pair[0], zeros()


PAIRS = []


def indices():
    return ints(64), np.random.RandomState(0).permutation(64), zeros(), 3


case("overrun_tile", args=usual(3), cure="overrun_tile_inside")
case("overrun_tile_inside", args=usual(3))
case("overrun_before", args=usual(1), cure="overrun_tile_inside")
case("overrun_store", args=usual(2), cure="overrun_tile_inside")
case("overrun_atomic", args=usual(40), cure="overrun_atomic", modes=("O3",))  # else in a function
case("overrun_atomic", args=usual(32), clean=True, label="inside")
case("overrun_argument", args=beside(), cure="overrun_one_array")
case(
    "overrun_argument",
    args=beside(to=8),
    cure="overrun_one_array",
    label="into the middle",
    may="out_of_bounds",
)
case("overrun_argument", args=beside(back=True), cure="overrun_one_array", label="back")
case("overrun_argument_store", args=beside(), cure="overrun_one_array")
case("overrun_bytes", args=beside(np.int8), block=16, cure="overrun_one_array")
case("overrun_one_array", args=halves)
for side in (0, 1, 2, 5):
    case("overrun_choice", args=two_arrays(side), label=f"side {side}")
    case("overrun_difference", args=two_arrays(side % 2), label=f"side {side}")
case("overrun_struct", args=pair_of_arrays)
case("overrun_indirect", args=indices)
case("overrun_dynamic", args=usual(64), shared=512)
case("overrun_walk", args=usual(8))
PADDED = {"padding": 256}
case("overrun_unfollowed", args=usual(3), ways=PADDED, cure="overrun_tile_inside")
case("overrun_unfollowed", args=usual(3), clean=True, label="side by side")
case("overrun_unfollowed", args=usual(0), ways=PADDED, clean=True, label="inside")
case("overrun_tile_inside", args=usual(3), ways=PADDED, label="padded")
case("overrun_dynamic", args=usual(64), shared=512, ways=PADDED, label="padded")

# Memory of malloc and new ------------------------------------------------------------------------

for count in (4, 5, 8):
    case("heap_one_past", args=usual(count), cure="heap_guarded", label=f"count {count}")
    case(
        "heap_guarded",
        args=usual(count),
        right=lambda args: args[0][args[2] - 1 : args[2] + 63],
        label=f"count {count}",
    )
case("heap_before", args=usual(4), cure="heap_guarded")
case("heap_too_short", args=usual(16), cure="heap_guarded")
case("heap_freed", args=usual(64), cure="heap_freed_last")
case("heap_freed_last", args=usual(64), right=lambda args: args[0][63::-1])
case("heap_in_turn", 4, 64, args=usual(1 << 20))

# Values that nobody has defined ------------------------------------------------------------------

INLINE = ("O3",)  # else __shfl_sync is a function: what it returns is not followed
case("undefined_mask", block=32, cure="undefined_mask_wide", modes=INLINE)
case("undefined_mask_wide", block=32, right=lambda args: args[0][8:24])
case("undefined_exited", block=32, args=usual(20), cure="undefined_stayed", modes=INLINE)
case("undefined_exited", block=32, args=usual(32), clean=True, label="all there")
case("undefined_stayed", block=32, args=usual(20), right=lambda args: [args[0][:20].sum()])
case("undefined_branch", block=32, cure="undefined_taken", modes=INLINE)
case("undefined_address", block=32, cure="undefined_taken", modes=INLINE)
case("undefined_taken", block=32)
for count in (1, 7, 16, 31):
    case("undefined_dropped", block=32, args=usual(count), label=f"count {count}")
case("undefined_scan", right=lambda args: args[0][:32].cumsum())
case("undefined_local", args=usual(13), cure="undefined_local_filled")
case("undefined_local", args=usual(16), clean=True, label="all filled")
case("undefined_counters", args=usual(5), cure="undefined_local_filled")
case("undefined_copied", args=usual(9), cure="undefined_local_filled")
case("undefined_local_filled", args=usual(9))
case("undefined_stack", args=usual(30))

# Orders ------------------------------------------------------------------------------------------

LOCK = {"args": lambda: (zeros(1), zeros(1))}
for entry, cure, facts in (
    ("reverse_lock", "reverse_lock_fenced", {"grid": 4, "block": 32, **LOCK}),
    ("reverse_lock_warps", "reverse_lock_warps_fenced", {"block": 128}),
):
    case(entry, **facts, clean=True)
    case(entry, **facts, cure=cure, ways={"order": "reverse"}, label="reverse")
    case(entry, **facts, cure=cure, ways={"order": "both"}, label="both")
    for order in ("forward", "reverse", "both"):
        case(cure, **facts, ways={"order": order}, label=order)
for order in ("forward", "reverse", "both"):
    case(
        "reverse_tally",
        5,
        32,
        lambda: (ints(5), zeros(2)),
        ways={"order": order},
        label=order,
        right=lambda args: [args[0].sum(), 5],
    )
case("misaligned_load", args=usual(1), cure="misaligned_load")
case("misaligned_load", args=usual(4), clean=True, label="aligned")
case("misaligned_store", args=usual(3), cure="misaligned_store", modes=("O3",))
case("misaligned_store", args=usual(2), clean=True, label="aligned")
case("misaligned_shared", args=usual(2), cure="misaligned_shared")
case("misaligned_shared", args=usual(4), clean=True, label="aligned")
BYTES = {"args": lambda: (ints(), zeros(64, np.uint8), 6), "cure": "misaligned_atomic"}
case("misaligned_atomic", **BYTES)
case(
    "misaligned_atomic",
    args=lambda: (ints(), zeros(64, np.uint8), 8),
    clean=True,
    label="aligned",
)

# Initialisation ----------------------------------------------------------------------------------


def unwritten(count=1024):
    """Device memory that nobody has written."""
    return smemkit.empty(count, "int32", backend="sim")


case("initial_halo_edge", cure="initial_halo")
case("initial_halo", right=lambda args: args[0][:64] + args[0][1:65] + args[0][2:66])
case("initial_ragged", args=usual(50), cure="initial_ragged_zeros")
case("initial_ragged_zeros", args=usual(50))
case("initial_ragged_guarded", args=usual(50), right=lambda args: args[0][49::-1])
case("initial_bins", cure="atomic_bins")
case("initial_bins_cleared_in_part", cure="atomic_bins")
case("initial_three_bytes", block=32, cure="initial_four_bytes")
case("initial_four_bytes", block=32, right=lambda args: args[0][:32])
DEVICE = {"args": lambda: (smemkit.asarray(ints(), backend="sim"), unwritten())}
case("initial_accumulate", 2, 64, **DEVICE, cure="initial_assign")
case("initial_accumulate", 2, 64, clean=True, label="written by the host")
case("initial_assign", 2, 64, **DEVICE)
case("initial_module", block=32, right=lambda args: args[0][:32])
case("initial_first_block_only", 2, 32, cure="tile_one_writer")

# Global memory -----------------------------------------------------------------------------------


def alone(count):
    return lambda: (ints(count),)


def scratch():
    return ints(), zeros(), zeros()


case("global_overlap", 4, 64, cure="global_disjoint")
case("global_disjoint", 4, 64)
case("global_same_value", 4, 64, cure="atomic_grid_total", right=lambda args: np.ones(1, int))
case("global_in_place", 2, 64, lambda: (ints(128), 128), cure="global_in_place_inside")
case("global_in_place_barrier", 2, 64, lambda: (ints(128), 128), cure="global_in_place_inside")
case("global_in_place_inside", 2, 64, alone(128))
case("global_own_element", 2, 64, alone(128))
case("global_exchange", args=scratch, cure="global_exchange_barrier")
case(
    "global_exchange_barrier",
    args=scratch,
    right=lambda args: np.roll(args[0][:64], 32),
    output=1,
)
case(
    "global_exchange_lanes",
    args=scratch,
    cure="global_exchange_lanes_synced",
    right=lambda args: args[0][np.arange(64) ^ 1],
    output=1,
)
case(
    "global_exchange_lanes_synced",
    args=scratch,
    right=lambda args: args[0][np.arange(64) ^ 1],
    output=1,
)
case("global_next_block", 3, 32, scratch, cure="global_exchange_barrier")
case("global_variable", 3, 32, cure="global_variable_read")
case("global_variable_read", 3, 32, lambda: (zeros(),))
case("global_strides", 3, 32, usual(1000))
case(
    "global_strides_wrong",
    3,
    32,
    usual(500),
    cure="global_strides",
    right=lambda args: args[0][:500] + args[0][0],
)
case("global_swap_twice", 1, (32, 32), alone(1024), cure="global_swap_once")
case(
    "global_swap_once",
    1,
    (32, 32),
    alone(1024),
)

# Order between blocks ----------------------------------------------------------------------------


def words(*rest):
    """A counter or lock, a total, and what follows."""
    return lambda: (zeros(64), zeros(64), *rest)


def parts():
    return ints(), zeros(), zeros(1, np.uint32), zeros()


def flagged():
    return ints(), zeros(), zeros(1), zeros()


TOTAL = {"grid": 4, "block": 32, "args": words(3)}
case("order_lock", **TOTAL)
case("order_lock_no_fence", **TOTAL, cure="order_lock")
case("order_lock_block_fence", **TOTAL, cure="order_lock")
case("order_lock_another", 4, 32, words(), cure="order_lock")
LAST = {"grid": 5, "block": 64, "args": parts}


def doubled_sum(args):
    return args[0][:5].sum(keepdims=True) * 2


case("order_last_block", **LAST, right=doubled_sum)
case("order_last_block_no_fence", **LAST, cure="order_last_block", right=doubled_sum)
case("order_last_block_all", **LAST)
case("order_last_block_early", **LAST, cure="order_last_block_all")
FLAG = {"grid": 2, "block": 64, "args": flagged}
case("order_flag", **FLAG, right=lambda args: args[0][63::-1] * 3)
case(
    "order_flag_no_fence",
    **FLAG,
    cure="order_flag",
    right=lambda args: args[0][63::-1] * 3,
)
case("order_flag_first", **FLAG, cure="order_flag")
case("order_acquire", **FLAG, right=lambda args: args[0][63::-1] * 3)
case("order_relaxed", **FLAG, cure="order_acquire")
case(
    "order_look_back",
    12,
    32,
    lambda: (ints(), zeros(16, np.uint64), zeros()),
    right=lambda args: np.cumsum(args[0][:12]),
)
TICKETS = {"grid": 3, "args": lambda: (ints(), zeros(1, np.uint32), zeros(), 1024)}
case("order_tickets", block=32, **TICKETS, right=lambda args: args[0] + 1)
case("order_tickets_race", block=64, **TICKETS, cure="order_tickets")
case("order_shared_flag", right=lambda args: args[0][31::-1])
case("order_shared_flag_no_fence", cure="order_shared_flag")
case("order_shared_flag_plain", cure="order_shared_flag")

# Asynchronous copies -----------------------------------------------------------------------------

case("async_no_wait", cure="async_own")
case("async_own", right=lambda args: args[0][:64])
case("async_wait_all", right=lambda args: args[0][63::-1])
case("async_barrier_only", may="race", cure="async_wait_all")
case("async_wait_only", may="async_read", cure="async_wait_all")
case("async_wait_only_lanes", block=32, cure="async_wait_lanes", right=mirrored)
case("async_wait_lanes", **EXCHANGE)
case("async_overwrite", cure="async_own")
for rounds in (1, 2, 5):
    label = f"{rounds} rounds"
    case("async_two_stages", args=usual(rounds), right=mirrored_sums, label=label)
    case("async_three_stages", args=usual(rounds), right=mirrored_sums, label=label)
case("async_wait_short", args=usual(5), may="uninitialized", cure="async_two_stages")
case("async_commit_short", args=usual(5), may="uninitialized", cure="async_two_stages")
case("async_reused", args=usual(5), cure="async_two_stages")
case("async_three_stages_early", args=usual(6), cure="async_three_stages")
case("async_zeros", args=usual(90))
case("async_past_end", args=exact(250), may="uninitialized", cure="async_zeros")
case("async_same_target", may="async_read", cure="async_own")

# bulk.cu
case("bulk_no_wait", cure="bulk_waited")
case("bulk_waited", right=lambda args: args[0][63::-1])
case("bulk_wrong_phase", cure="bulk_waited")
case("bulk_stored", right=lambda args: args[0][63::-1])
case("bulk_overwrite", cure="bulk_stored")
case("bulk_written")
case("bulk_read_only", cure="bulk_written")

# The memory model --------------------------------------------------------------------------------


def largest(args):
    return args[0][:64].max(keepdims=True)


def ticketed():
    return zeros(1, np.uint32), zeros(8)


case("model_swap_plain", cure="model_swap_volatile", right=largest)
case("model_swap_volatile", right=largest)
case("model_labels_plain", cure="model_labels_volatile")
case("model_labels_volatile")
case("model_ticket_plain", 8, 1, ticketed, cure="model_ticket_atomic", right=lambda _: np.ones(8))
case("model_ticket_atomic", 8, 1, ticketed, right=lambda _: np.ones(8))
case("model_one_lane_waits", cure="model_one_lane_waits_for_all", right=lambda a: a[0][31::-1])
case("model_one_lane_waits_for_all", right=lambda args: args[0][31::-1])
case("model_two_readers", block=32, cure="model_two_readers_then_sync")
case("model_two_readers_then_sync", block=32)
