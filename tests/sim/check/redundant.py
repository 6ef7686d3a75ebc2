"""Barriers and guards that can go without harm, and kernels that are faulty as they are: and why.

Names are entry:source line, or entry:source line:which of the mutants of the entry, from 0, or
folder/kernel. The tests prove that what stands here is clean (or not).
"""

_LAST = "after the last step, which thread 0 does and whose sum only thread 0 reads"
_OWN = "each thread goes on with the elements that it has written itself"
_ONE = "before and after it thread 0 works alone"

_CONDITION = "the barrier of the loop's condition follows at once"
_SINGLE = "of float64, k is cut where a block has one row: who writes its sum draws the ticket"
_WARP = "one warp, whose lanes meet before they touch each other's rows"

# how entries of gemm/vector call what they do
_BEGIN = (
    "(gemm_vector_begin(w, x, c, tickets, sums, rows, k, vectors, w_row, w_i, x_i, x_r, c_row, c_r,"
)

CLEAN_WITHOUT_BARRIER = {
    "gemm_tensor_lay_out_float16:260:0": _OWN,  # of an operand that is not transposed
    "gemm_tensor_lay_out_bfloat16:260:0": _OWN,
    "gemm_tensor_lay_out_int8:260:0": _OWN,
    **{
        f"gemm_overlapped_lay_out_{dtype}:330:0": _OWN  # the same
        for dtype in ("float16", "bfloat16", "int8", "tf32")
    },
    "components:9:0": _CONDITION,
    "components:28:1": _CONDITION,
    "solve:14:0": _WARP,
    "solve:40:2": _WARP,
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
    # an element a thread, of rows that one warp or several have
    **{
        f"sort_shuffle_{dtype}:153:{i}": _OWN
        for dtype in ("float32", "float64", "int32", "int64")
        for i in (0, 4)
    },
    "gemm_vector_float64:88:1": _SINGLE,
    "gemm_vector_stripe_float32:586:0": _OWN,  # of one column a lane
    "gemm_vector_stripe_float64:586:0": _OWN,
    "scan_blelloch:12:0": _OWN,
    "scan_blelloch:21:8": _ONE,
    "scan_blelloch:28:16": _OWN,
    "scan_padded:17:0": _OWN,
    "scan_padded:26:8": _ONE,
    "scan_padded:33:16": _OWN,
}

# {kernel of hardware/counts: a shape more, where those of its cases leave a barrier without work}
MORE_SHAPES = {
    "async_words": {"grid": 1, "tiles": 7},
    "async_chunks": {"grid": 1, "tiles": 7, "missing": 0},
}

# {folder/kernel: kinds}. By the letter of the memory model these are found rightly.
NOT_CLEAN = {}

_ROW = "behind the end of a row the next one begins, and another guard drops what was read"
_ZERO = "to add 0 is to do nothing"
_LAST = "a block that is alone is the last one as well, whatever it draws"
_OFTEN = "sums that are added one by one are as right as those that are added together"
_FIRST = "no value of a bin is below the first edge: the loop that looks there ends at once"

_EMPTY = "where k is 0 the tiles of one round are zeros"
_OTHER_PATH = "the path that is taken without it serves these operands too"
_ZERO = "behind the last k of one operand lies a number, which meets a zero of the other"
_BEHIND = "behind the last step zeros are staged, which no thread reads"
_NOTHING = "behind the sums of the last part the workspace is 0"
_FIRST_ROWS = "of a tile's rows more than half are always there"
_ITEMS = "the element by element way is right for every size"

# {family: {line: why}}, of any of its kernels that has the line.
SPARE_IN_FAMILY = {
    "gemm": {
        "for (long long first = 0; first < k; first += TILE) {": _EMPTY,
        "for (long long first = 0; first < k; first += TILE_K) {": _EMPTY,
    },
}

# {folder/kernel: {line of the source: why its guard, or one of them, closes and is not needed}}
SPARE_GUARDS = {
    "counts/gemm_rows": {
        "const bool there = row + i / 16 < m && first + i % 16 < k;": _ROW,
        "const bool there = first + i / 64 < k && column + i % 64 < n;": _ROW,
    },
    "counts/gemm_squares": {
        "const bool b_there = first + i / 64 < k && column + i % 64 < n;": _ROW,
    },
    "counts/histogram_shared": {"if (bins[i] > 0) {": _ZERO},
    "counts/matrix_padded": {
        "tile_a[i / 16][i % 16] = row_a < m && k_a < k ? a[row_a * k + k_a] : 0;": _ROW,
        "tile_b[i / 32][i % 32] = k_b < k && column_b < n ? b[k_b * n + column_b] : 0;": _ROW,
    },
    "counts/matrix_words": {
        "const float of_a = row_a < m && k_a < k ? a[row_a * k + k_a] : 0.0f;": _ROW,
        "const float of_b = k_b < k && column_b < n ? b[k_b * n + column_b] : 0.0f;": _ROW,
    },
    "counts/matvec_warp": {"if (lane == 0) {": "all lanes hold the sum"},
    **{
        f"reduce/{variant}": {
            "if (thread == 0 && gridDim.x > 1)": _LAST,
            "if (gridDim.x == 1) { // the block is alone: its part is the result": _LAST,
        }
        for variant in ("single_pass", "overlapped")
    },
    "counts/reduce_shuffle": {
        "if (threadIdx.x < 32) {": "other warps do the same again, and thread 0 alone writes",
    },
    "histogram/even": {
        "if ((k & (copies - 1)) == copies - 1 || k + 1 == turns) {": _OFTEN,
        "compare(x[n - n % ITEMS + first]);": "of whole numbers, none lies close to an edge",
    },
    "scan/single_pass": {
        "scan_single_pass_make<sizeof(A) == 4 ? 192 : 128, false>"
        "(x, out, n, kind, tickets, words);": "these sizes have one group: it is the last one",
    },
    "counts/transpose_half": {"if (x < columns && y + j < rows) {": _ROW},
    "counts/transpose_padded": {"if (x < columns && y + j < rows) {": _ROW},
    "counts/transpose_shared": {"if (x < columns && y + j < rows) {": _ROW},
    "counts/transpose_shared_double": {"if (x < columns && y + j < rows) {": _ROW},
    "counts/transpose_swizzled": {"if (x < columns && y < rows) {": _ROW},
    "counts/transpose_swizzled_double": {"if (x < columns && y + j < rows) {": _ROW},
    "conv2d/register": {
        "if (rows == 0)": "a walk over no rows writes nothing",
        "else if (larger <= 9)": "that for 11 x 11 weights is right for fewer too",
    },
    "conv2d/shared": {
        "for (int c = threadIdx.x; c < wide; c += COLS) {": "a loop of mode 0 alone: that of all "
        "modes does the same",
    },
    "conv2d/window": {
        "for (long long row = first; row < first + ROWS && row < h; ++row) {": _ITEMS,
    },
    "gemm/direct": {
        "walk(g, place, [&](const float *staged) {": _BEHIND,
        "stage(g, place, step, step);": _BEHIND,
        "stage(g, place, step + STAGES - 1, free_slot);": _BEHIND,
        "load(g, from[f], number[f], f, depth - done - 2 * DEPTH);": _ZERO,
    },
    "gemm/fma": {
        "stage<BM, DEPTH>(to, PITCH_A, from_a, g.a_row, g.a_col, rows, depth);": _BEHIND,
        "stage<DEPTH, BN>(to + WORDS_A * 4, PITCH_B, from_b, g.b_row, g.b_col, depth, cols);": (
            _BEHIND
        ),
        "copy_rows(to_b, from_b, g.b_row, depth, all_depth, cols);": _ZERO,
    },
    "gemm/lean": {
        "write(at, g.n, my_row, my_col, sum);": _OTHER_PATH,
        "write(e, add_warps(staged, e));": _FIRST_ROWS,
    },
    "gemm/dmma": {
        "make(g, place);": _BEHIND,
        **{
            f"gemm_dmma_tile<{tile}>::run<true>(": _OTHER_PATH
            for tile in (
                "1, 1, 2, 2, 1, 32, 4",
                "1, 2, 2, 2, 1, 16, 6",
                "2, 2, 2, 2, 1, 16, 4",
                "4, 2, 1, 4, 1, 16, 4",
                "4, 2, 2, 4, 1, 32, 3",
                "4, 2, 2, 2, 1, 16, 4",
            )
        },
        "stage(g, place, step, step);": _ITEMS,
        "stage(g, place, step + STAGES - 1, free_slot);": _BEHIND,
        "write(g, place, my_row + warp_k / TN * 16, my_col + warp_k % TN * 16, all);": _ITEMS,
        "write(g, place, row + f / TN * 16, col + f % TN * 16, sum + f * 8);": _ITEMS,
    },
    "gemm/unstaged": {
        "gemm_unstaged_make<true, 4, 1, 2, 4>"
        "(a, b, c, m, k, n, a_row, a_col, b_row, b_col, stack, a_stack, b_stack);": _ITEMS,
    },
    "gemm/split_k": {
        "for (long long first = first_k; first < end_k; first += TILE_K) {": _EMPTY,
    },
    "gemm/tensor": {
        f"gemm_tensor_make<{tile}, 4>"
        "({a, b, c, m, k, n, pitch_a, pitch_b, part_k, stack, a_stack, b_stack});": (
            "where k is 0, or behind the last step, nobody uses what is staged and read"
        )
        for tile in ("64, 128, 32, 32", "128, 256, 64, 64")
    },
    "gemm/overlapped": {
        f"gemm_overlapped_make<{tile}>(g);": (
            "where k is 0, or behind the last step, nobody uses what is staged and read"
        )
        for tile in (
            "16, 128, 16, 32, 128, 6",
            "32, 64, 16, 32, 128, 4",
            "64, 64, 32, 32, 256, 3",
            "64, 128, 32, 64, 256, 4",
        )
    },
    "gemm/tuned": {
        "for (int e = 0; any && e < 2 * EACH; ++e)": "nobody reads words whose mark is 0",
        "if (lane == 0)": "all lanes hold the mark",
    },
    "gemm/vector": {
        "gemm_vector_stage(g, staged[0], first, count, first_r, R, 1, DEPTH);": _ROW,
        "gemm_vector_finish(g, first_row, groups, 1);": _NOTHING,
        **{f"gemm_vector_along<{R}>{_BEGIN}": "all lanes hold the sum" for R in (4, 8)},
        f"gemm_vector_narrow_one{_BEGIN}": "each read of a turn has its own",
        "gemm_vector_walk_down<V>(g.w + i * g.w_i + row * g.w_row, g.x + i * g.x_i, "
        "groups * g.w_i, groups * g.x_i, count,": "nobody adds what lanes past the edge read",
        "if (SLANT && count > 0 && row + V > g.rows && i + (count - 1ll) * groups == g.k - 1)": (
            "elements can be read alone anywhere"
        ),
        "if (g.parts == 1 || !gemm_vector_is_last(g))": "a block that is not last may fence too",
    },
    "gemm/vectorized": {
        "for (int j = 0; j < VECTORS; ++j) {": _ITEMS,
        "*(Vector *)&tile_b[threadIdx.y][x] = read(b, k, n, first + threadIdx.y, first_col + x);": (
            _ITEMS
        ),
        "if (n % V == 0)": _ITEMS,
    },
    "gemm/warp_tiled": {"for (int r = 0; r < GROUPS_M * V; ++r) {": _ITEMS},
    "transpose/vectorized": {
        "if (whole && n % VECTOR == 0) {": _ITEMS,
        "if (whole && m % VECTOR == 0) {": _ITEMS,
    },
    "histogram/lane": {
        "count(x[n - n % ITEMS + first]);": _FIRST,
        "if ((k & (copies - 1)) == copies - 1 || k + 1 == turns) {": _OFTEN,
    },
    "histogram/shared": {"if (copy[bin] != 0)": _ZERO},
    "histogram_weighted/shared": {"if (copy[bin] != 0)": _ZERO},
}
