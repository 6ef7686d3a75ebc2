#include "registry/gemm_model.h"

#include "registry/slowdowns.h"

#include <math.h>
#include <string.h>

/* How many times as long blocks of fma take for the operands' bytes: few of them are on their way at a time. */
#define FMA_READS 1.7

/* Tiles for a short k, at most SHORT_MOST of it: up to SHORT_WHOLE is staged at once, and more in two halves, whose
 * lengths are multiples of SHORT_STEP. Rows of what is staged are longer by SHORT_PAD elements (gemm/fma.cu). */
enum { SHORT_MOST = 128, SHORT_WHOLE = 80, SHORT_STEP = 4, SHORT_PAD = 4 };

/* So many rows of c make it worth while to take every fourth of them: a block's (gemm/unstaged.cu). */
enum { APART_ROWS = 64 };

/* How many times their bytes the writes of c take, where its rows have an even length and where an odd one; the latter of
 * float64. */
#define WRITTEN_ONCE                                                                                                   \
    {                                                                                                                  \
        1.0, 1.0                                                                                                       \
    }
#define WRITTEN_AS_DOUBLE                                                                                              \
    {                                                                                                                  \
        2.0, 2.8                                                                                                       \
    }

/* What all rows of the table say. */
#define OF_BLOCK(part_, bytes_, threads_, rows_, columns_, depth_, shared_, resident_)                                 \
    .part = part_, .bytes = bytes_, .threads = threads_, .rows = rows_, .columns = columns_, .depth = depth_,          \
    .shared_bytes = shared_, .resident = resident_
#define TIMES(start_, alone_, busy_, end_) .start = start_, .alone = alone_, .busy = busy_, .end = end_

static const smk_gemm_tile tiles[] = {
#define SMK_GEMM_TILE(variant_, part_, rows_, columns_, depth_, shared_, resident_, start_, alone_, busy_, end_,       \
                      odd_a_, odd_b_)                                                                                  \
    {.variant = #variant_,                                                                                             \
     OF_BLOCK(part_, 4, 128, rows_, columns_, depth_, shared_, resident_),                                             \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .odd_a = odd_a_,                                                                                                  \
     .odd_b = odd_b_,                                                                                                  \
     .reads = 1.0,                                                                                                     \
     .writes = WRITTEN_ONCE},
#define SMK_GEMM_DOUBLE_TILE(variant_, part_, rows_, columns_, depth_, threads_, shared_, resident_, start_, alone_,   \
                             busy_, end_, odd_a_, odd_b_, turned_, reads_, last_, each_)                               \
    {.variant = #variant_,                                                                                             \
     OF_BLOCK(part_, 8, threads_, rows_, columns_, depth_, shared_, resident_),                                        \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .odd_a = odd_a_,                                                                                                  \
     .odd_b = odd_b_,                                                                                                  \
     .turned = turned_,                                                                                                \
     .reads = reads_,                                                                                                  \
     .last = last_,                                                                                                    \
     .each = each_,                                                                                                    \
     .writes = WRITTEN_AS_DOUBLE,                                                                                      \
     .begins_early = true},
#define SMK_GEMM_FMA_TILE(part_, rows_, columns_, depth_, threads_, shared_, resident_, start_, alone_, busy_, end_,   \
                          odd_a_, odd_b_, last_, each_)                                                                \
    {.variant = "fma",                                                                                                 \
     OF_BLOCK(part_, 4, threads_, rows_, columns_, depth_, shared_, resident_),                                        \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .odd_a = odd_a_,                                                                                                  \
     .odd_b = odd_b_,                                                                                                  \
     .reads = FMA_READS,                                                                                               \
     .last = last_,                                                                                                    \
     .each = each_,                                                                                                    \
     .writes = WRITTEN_ONCE},
#define SMK_GEMM_LEAN_TILE(part_, rows_, columns_, depth_, threads_, shared_, resident_, kind_, start_, alone_, busy_, \
                           end_, odd_b_, reads_, last_, each_, writes_, odd_writes_)                                   \
    {.variant = "lean",                                                                                                \
     OF_BLOCK(part_, 4, threads_, rows_, columns_, depth_, shared_, resident_),                                        \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .odd_b = odd_b_,                                                                                                  \
     .reads = reads_,                                                                                                  \
     .last = last_,                                                                                                    \
     .each = each_,                                                                                                    \
     .kind = SMK_GEMM_##kind_,                                                                                         \
     .writes = {writes_, odd_writes_},                                                                                 \
     .begins_early = true,                                                                                             \
     .is_lean = true},
#define SMK_GEMM_SHORT_TILE(part_, rows_, columns_, threads_, resident_, start_, alone_, busy_, end_)                  \
    {.variant = "fma",                                                                                                 \
     OF_BLOCK(part_, 4, threads_, rows_, columns_, SHORT_STEP, 0, resident_),                                          \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .reads = 1.0,                                                                                                     \
     .kind = SMK_GEMM_SHORT,                                                                                           \
     .writes = WRITTEN_ONCE},
#define SMK_GEMM_ONCE_TILE(part_, rows_, columns_, depth_, threads_, shared_, resident_, kind_, start_, alone_, busy_, \
                           end_, writes_, odd_writes_)                                                                 \
    {.variant = "direct",                                                                                              \
     OF_BLOCK(part_, 4, threads_, rows_, columns_, depth_, shared_, resident_),                                        \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .reads = 1.0,                                                                                                     \
     .kind = SMK_GEMM_##kind_,                                                                                         \
     .writes = {writes_, odd_writes_},                                                                                 \
     .cuts_ahead = true},
#define SMK_GEMM_UNSTAGED_TILE(part_, rows_, columns_, depth_, threads_, resident_, start_, alone_, busy_, end_,       \
                               writes_, odd_writes_)                                                                   \
    {.variant = "unstaged",                                                                                            \
     OF_BLOCK(part_, 8, threads_, rows_, columns_, depth_, 0, resident_),                                              \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .reads = 1.0,                                                                                                     \
     .writes = {writes_, odd_writes_},                                                                                 \
     .begins_early = true},
#define SMK_GEMM_EARLY_TILE(part_, rows_, columns_, depth_, shared_, resident_, start_, alone_, busy_, end_)           \
    {.variant = "overlapped",                                                                                          \
     OF_BLOCK(part_, 4, 256, rows_, columns_, depth_, shared_, resident_),                                             \
     TIMES(start_, alone_, busy_, end_),                                                                               \
     .reads = 1.0,                                                                                                     \
     .writes = WRITTEN_ONCE,                                                                                           \
     .begins_early = true},
#include "registry/gemm_tiles.def"
#undef SMK_GEMM_TILE
#undef SMK_GEMM_DOUBLE_TILE
#undef SMK_GEMM_FMA_TILE
#undef SMK_GEMM_LEAN_TILE
#undef SMK_GEMM_SHORT_TILE
#undef SMK_GEMM_ONCE_TILE
#undef SMK_GEMM_UNSTAGED_TILE
#undef SMK_GEMM_EARLY_TILE
#undef OF_BLOCK
#undef TIMES
};

/* Of an H200, in bytes a microsecond: its memory; and its L2 cache, which holds most partial sums. */
static const double MEMORY_PACE = 4.2e6, CACHE_PACE = 2.0e6;

/* Sums and tickets of so many bytes are kept cleared between calls (gpu/buffer.c); more take so many microseconds to
 * clear. */
static const double KEPT_BYTES = 1 << 22, CLEAR = 3.3;

/* A launch that adds partial sums, in microseconds. */
static const double ADD_START = 2.6;

/* The same of a launch that begins early, and its bytes a microsecond. */
static const double EARLY_ADD_START = 1.2, EARLY_ADD_PACE = 5.0e6;

/* A tile whose numbers are cut a step ahead takes as long as this many steps at least: nothing hides the first cuts. On
 * an H200 14255 x 9 x 8 took 5.2 microseconds with such a tile; with one step 3.6 were predicted. */
static const double CUT_AHEAD = 2.5;

/* How many times as long steps of these tiles take where each number is rounded as it is read. */
static const double ROUNDED = 1.4;

/* What a launch of lean or of float64 gains that begins while the one before it ends, in microseconds; and the parts of
 * a machine's multiprocessors, and of what has room on them, that its blocks fill at most or at least. Between them the
 * blocks of the two would lie unevenly: launches of lean of one block for each multiprocessor become up to a third
 * slower; those of float64 gain all the same. */
static const double EARLY_GAIN = 0.9, EARLY_FEW = 0.5, EARLY_FULL = 0.9;

/* What a launch that adds takes longer behind tiles than alone: for float32, and for float64. */
static const double SINGLE_ADD = 1.6, DOUBLE_ADD = 1.4;

/* For the kernels that have no rows in gemm_tiles.def: a launch, and a step of 1 along k, in microseconds; the products
 * a microsecond of a kernel of speed 1 (variants.def), on an H200; and how many times their bytes the writes of c take. */
static const double START = 3.0, STEP = 0.02, PRODUCTS = 47600.0, WRITES = 3.0;

/* Products of float64 that they make in the time of one of float32. */
static const double DOUBLES = 0.42;

/* So many parts of k are tried at most, none shorter than PART_LEAST, and no more blocks than BLOCKS_MOST for each
 * multiprocessor. */
enum { PARTS_MOST = 256, PART_LEAST = 32, BLOCKS_MOST = 8 };

/* Tiles for few rows are measured with so many of them side by side at most, and win where L2 holds b: what lies beyond
 * it a stripe of gemm/vector reads in larger pieces. */
enum { ROWS_MOST = 4, ROWS_BYTES_MOST = 1 << 25 };

/* Where k is shorter than LEAN_SHORT and c has more elements than LEAN_MOST, to write c is what takes time: so many times
 * its bytes more in tiles of lean, whose lanes write groups of neighbours. */
enum { LEAN_SHORT = 24, LEAN_MOST = 1 << 17 };
static const double LEAN_WRITES = 6.0;

/* How many times as long the operands' bytes take of tiles that stage nothing: a warp comes back for the sectors beside
 * those that it has read, and where rows are longer than this other rows have taken their place in the caches. */
static const double SECTORS_AGAIN = 3.5;
enum { UNSTAGED_MOST = 256 };

/* How many times as long a step takes of a float64 tile of 64 x 64 elements at most, where a multiprocessor has one block
 * and the operands are more bytes than L2 holds: it waits for memory. One of twice as many was seen to do so for
 * a k longer than FAR_K. */
static const double FROM_MEMORY = 1.15, FROM_MEMORY_WIDE = 1.05;
enum { FAR_ELEMENTS = 64 * 64, FAR_K = 1 << 14 };

static double wait_for_memory(const smk_request *request, const smk_gemm_tile *tile)
{
    const int64_t elements = tile->rows * tile->columns, k = request->dimensions[SMK_GEMM_K];
    const bool is_far =
        tile->bytes == sizeof(double) && tile->shared_bytes > 0 && smk_gemm_model_read(request) > SMK_GEMM_CACHE;
    return !is_far                                     ? 1.0
           : elements <= FAR_ELEMENTS                  ? FROM_MEMORY
           : elements <= 2 * FAR_ELEMENTS && k > FAR_K ? FROM_MEMORY_WIDE
                                                       : 1.0;
}

double smk_gemm_model_bytes(const smk_request *request, double bytes)
{
    return bytes / MEMORY_PACE * smk_slowdowns_memory(request->machine);
}

static double predict_add(const smk_request *request, int64_t parts, double start, double rate)
{
    const double elements = (double)smk_plan_gemm_elements(request);
    const double bytes = 2.0 * (double)parts * elements * (double)request->item_bytes;
    return parts == 1 ? 0.0 : start + bytes / rate * smk_slowdowns_memory(request->machine);
}

double smk_gemm_model_add(const smk_request *request, int64_t parts)
{
    return predict_add(request, parts, ADD_START, CACHE_PACE);
}

static double count_multiprocessors(const smk_request *request)
{
    return request->machine->multiprocessors > 0 ? (double)request->machine->multiprocessors : 1.0;
}

double smk_gemm_model_slower(const smk_request *request)
{
    const smk_machine *machine = request->machine;
    const double slowdown = smk_slowdowns_variant(machine, request->variant, request->type);
    return machine->slowdown == NULL ? 1.0 : slowdown * SMK_H200_MULTIPROCESSORS / count_multiprocessors(request);
}

double smk_gemm_model_repeated(const smk_request *request, double bytes, double times)
{
    const double more = request->machine->slowdown == NULL || times < 1.0 ? 0.0 : times - 1.0;
    return (times - more) * smk_gemm_model_bytes(request, bytes) +
           more * bytes / MEMORY_PACE * smk_gemm_model_slower(request);
}

double smk_gemm_model_rate(const smk_request *request, int64_t blocks, double efficiency)
{
    const int64_t *d = request->dimensions;
    const double count = count_multiprocessors(request), all = (double)blocks;
    const double use = blocks > 0 ? all / (ceil(all / count) * count) : 1.0;
    const double elements = (double)smk_plan_gemm_elements(request), k = (double)d[SMK_GEMM_K];
    const double rate = PRODUCTS * request->variant->speed * (request->item_bytes < sizeof(double) ? 1.0 : DOUBLES);
    const double slower = smk_gemm_model_slower(request);
    const double work = elements * k / (rate * use * efficiency) * slower;
    return START + work + STEP * k + smk_gemm_model_repeated(request, elements * (double)request->item_bytes, WRITES);
}

int smk_gemm_model_odd(int64_t stride, int64_t stride_along)
{
    return stride_along != 1 ? 2 : stride % 4 == 0 ? 0 : stride % 2 == 0 ? 1 : 2;
}

double smk_gemm_model_read(const smk_request *request)
{
    const int64_t *d = request->dimensions;
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    const double stack = (double)smk_plan_stack(request);
    const double rows = (double)d[SMK_GEMM_M] * (s.a_stack != 0 ? stack : 1.0);
    const double columns = (double)d[SMK_GEMM_N] * (s.b_stack != 0 ? stack : 1.0);
    return (double)request->item_bytes * (double)d[SMK_GEMM_K] * (rows + columns);
}

smk_gemm_stage smk_gemm_model_stage(const smk_request *request, const smk_gemm_tile *tile)
{
    const int64_t k = request->dimensions[SMK_GEMM_K] > 0 ? request->dimensions[SMK_GEMM_K] : 1;
    const int64_t once = k <= SHORT_WHOLE ? k : smk_plan_divide_up(k, 2);
    const int64_t depth = smk_plan_divide_up(once, SHORT_STEP) * SHORT_STEP;
    const int64_t elements = depth * (tile->rows + tile->columns + 2 * SHORT_PAD);
    return (smk_gemm_stage){depth, (size_t)elements * sizeof(float)};
}

size_t smk_gemm_model_shared(const smk_request *request, const smk_gemm_tile *tile, int64_t part_k)
{
    const size_t all_a = tile->kind == SMK_GEMM_ROWS ? (size_t)(part_k * tile->rows) * sizeof(float) : 0;
    return tile->kind == SMK_GEMM_SHORT ? smk_gemm_model_stage(request, tile).shared_bytes
           : all_a > tile->shared_bytes ? all_a
                                        : tile->shared_bytes;
}

/* Blocks of a multiprocessor at a time: cards with less shared memory than an H200 have room for fewer, and so have all
 * for those that stage much of a short k. */
static int64_t count_resident(const smk_request *request, const smk_gemm_tile *tile, int64_t part_k)
{
    enum { RESERVED = 1024 }; /* bytes that the driver takes of each block, and that a block alone cannot have */
    const size_t bytes = request->machine->shared_bytes_max;
    const size_t room = (bytes < SIZE_MAX - RESERVED ? bytes + RESERVED : bytes) /
                        (smk_gemm_model_shared(request, tile, part_k) + RESERVED);
    const bool varies = tile->kind == SMK_GEMM_SHORT || tile->kind == SMK_GEMM_ROWS;
    const bool is_less = (request->machine->slowdown != NULL || varies) && (int64_t)room < tile->resident;
    return !is_less ? tile->resident : room > 1 ? (int64_t)room : 1;
}

bool smk_gemm_model_begins_early(const smk_request *request, const smk_gemm_tile *tile, smk_gemm_parts parts)
{
    const int64_t *d = request->dimensions;
    const double blocks = (double)smk_plan_divide_up(d[SMK_GEMM_M], tile->rows) *
                          (double)smk_plan_divide_up(d[SMK_GEMM_N], tile->columns) * (double)parts.count *
                          (double)smk_plan_stack(request);
    const double count = count_multiprocessors(request), resident = (double)count_resident(request, tile, parts.part_k);
    const bool is_even = blocks <= EARLY_FEW * count || blocks >= EARLY_FULL * count * resident;
    return tile->begins_early && (is_even || tile->bytes == sizeof(double));
}

/* Whether neighbours of a row of both operands lie side by side. */
static bool is_along(const smk_request *request)
{
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    return s.a_col == 1 && s.b_col == 1 && request->dimensions[SMK_GEMM_K] > 0;
}

/* Whether rows of b are made of four neighbours at multiples of 16 bytes, and rows of c have as many of them. */
static bool is_wide(const smk_request *request)
{
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    return (request->dimensions[SMK_GEMM_N] | s.b_row | s.b_stack) % 4 == 0 &&
           smk_plan_layout(request, SMK_GEMM_B).is_aligned != 0;
}

/* Whether rows of both operands are. */
static bool is_quads(const smk_request *request)
{
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    return is_wide(request) && (request->dimensions[SMK_GEMM_K] | s.a_row | s.a_stack) % 4 == 0 &&
           smk_plan_layout(request, SMK_GEMM_A).is_aligned != 0;
}

/* What a step takes longer, as a part of it, by how an operand lies. */
static double count_odd(const smk_gemm_tile *tile, double odd, int64_t stride, int64_t stride_along)
{
    if (tile->bytes < sizeof(double)) {
        return odd * smk_gemm_model_odd(stride, stride_along);
    }
    return stride_along != 1 ? tile->turned : stride % 2 != 0 ? odd : 0.0;
}

/* Whether the last block of a tile can add the sums of its parts: those of float64 only where they are few, and kept
 * cleared. */
static bool may_join(const smk_request *request, const smk_gemm_tile *tile, smk_gemm_parts parts)
{
    const int64_t *d = request->dimensions;
    const double blocks = ceil((double)d[SMK_GEMM_M] / (double)tile->rows) *
                          ceil((double)d[SMK_GEMM_N] / (double)tile->columns) * (double)parts.count *
                          (double)smk_plan_stack(request);
    const double bytes = blocks * ((double)(tile->rows * tile->columns) * (double)tile->bytes + sizeof(uint32_t));
    return parts.count > 1 && tile->last > 0 && (tile->bytes < sizeof(double) || bytes < KEPT_BYTES);
}

/* Blocks of a multiprocessor run side by side as far as there is room, in rounds; the more of them, the better they
 * fill each other's waits, until all work at the pace of `busy`; those of lean take a step's `alone` besides. Beside that
 * goes the time of the operands' bytes.
 * `slowdown` is that of the variant on the machine. `joins`: the last block of a tile adds the sums of its parts. */
static double predict(const smk_request *request, const smk_gemm_tile *tile, smk_gemm_parts parts, double slowdown,
                      bool joins)
{
    const int64_t *d = request->dimensions, m = d[SMK_GEMM_M], k = d[SMK_GEMM_K], n = d[SMK_GEMM_N];
    const double count = count_multiprocessors(request), resident = (double)count_resident(request, tile, parts.part_k);
    const double blocks = ceil((double)m / (double)tile->rows) * ceil((double)n / (double)tile->columns) *
                          (double)parts.count * (double)smk_plan_stack(request);
    const double each = blocks / count, rounds = ceil(each / resident);
    const double needed = ceil((double)(parts.part_k < k ? parts.part_k : k) / (double)tile->depth);
    const double steps = tile->cuts_ahead && needed < CUT_AHEAD ? CUT_AHEAD : needed;
    const smk_gemm_strides s = smk_plan_gemm_strides(request);
    const double odd = (count_odd(tile, tile->odd_a, s.a_row, s.a_col) * (double)tile->rows +
                        count_odd(tile, tile->odd_b, s.b_row, s.b_col) * (double)tile->columns) /
                       (double)(tile->rows + tile->columns);
    const double alone = slowdown * steps * tile->alone * wait_for_memory(request, tile) * (1.0 + odd) * rounds;
    const double busy = slowdown * steps * tile->busy * (1.0 + odd) * (each < 3.0 * resident ? ceil(each) : each);
    const double item = (double)request->item_bytes, elements = (double)smk_plan_gemm_elements(request);
    const bool is_again = tile->shared_bytes == 0 && tile->kind != SMK_GEMM_SHORT && k > UNSTAGED_MOST;
    const double read = smk_gemm_model_repeated(request, smk_gemm_model_read(request),
                                                is_again                                  ? SECTORS_AGAIN
                                                : tile->bytes < sizeof(double) || odd > 0 ? tile->reads
                                                                                          : 1.0);
    const double slower = tile->is_lean ? alone + busy : alone > busy ? alone : busy;
    const double all = (double)parts.count, tiles_each = ceil(blocks / all / (count * resident));
    const double sums = blocks * (double)tile->rows * (double)tile->columns * item,
                 clear = sums < KEPT_BYTES ? 0.0 : CLEAR;
    const bool is_double = tile->bytes == sizeof(double), is_cut = parts.count > 1;
    const bool is_measured_early = tile->begins_early && !tile->is_lean && !is_double;
    const bool is_written = tile->is_lean && tile->kind != SMK_GEMM_ROWS && k < LEAN_SHORT && elements > LEAN_MOST;
    const double writes = (is_double && is_cut ? 1.0 : tile->writes[n % 2]) + (is_written ? LEAN_WRITES : 0.0);
    const double add = joins               ? tile->last + slowdown * all * tile->each * tiles_each + clear
                       : is_measured_early ? predict_add(request, parts.count, EARLY_ADD_START, EARLY_ADD_PACE)
                                           : smk_gemm_model_add(request, parts.count);
    const int gains =
        (!is_measured_early && smk_gemm_model_begins_early(request, tile, parts)) + (is_double && is_cut && !joins);
    return tile->start - gains * EARLY_GAIN + (slower > read ? slower : read) +
           slowdown * tile->end * (rounds > each / resident ? rounds : each / resident) +
           smk_gemm_model_repeated(request, item * elements, writes) + add +
           (!is_cut || joins || is_measured_early ? 0.0
            : is_double                           ? DOUBLE_ADD
                                                  : SINGLE_ADD);
}

static void try_parts(const smk_request *request, const smk_gemm_tile *tile, int64_t wanted, int64_t step,
                      double slowdown, smk_gemm_choice *best)
{
    const smk_gemm_parts parts = smk_plan_gemm_cut(request, 1, wanted, PART_LEAST, step > 0 ? step : tile->depth);
    if (smk_gemm_model_shared(request, tile, parts.part_k) > request->machine->shared_bytes_max) {
        return;
    }
    const bool can_join = may_join(request, tile, parts), can_add = tile->bytes == sizeof(double) || !can_join;
    for (int joins = 0; joins <= 1; joins++) {
        const double time_us = predict(request, tile, parts, slowdown, joins);
        if ((joins ? can_join : can_add) && (best->tile == NULL || time_us < best->time_us)) {
            *best = (smk_gemm_choice){tile, parts, joins, time_us};
        }
    }
}

bool smk_gemm_model_is_apart(const smk_gemm_tile *tile)
{
    return tile->part != NULL && strncmp(tile->part, "apart", strlen("apart")) == 0;
}

/* Tiles of unstaged whose warps take rows apart stand for many rows that end inside a sector, and others for all else. */
static bool fits_rows(const smk_request *request, const smk_gemm_tile *tile)
{
    const int64_t *d = request->dimensions;
    return strcmp(tile->variant, "unstaged") != 0 ||
           smk_gemm_model_is_apart(tile) == (d[SMK_GEMM_M] >= APART_ROWS && d[SMK_GEMM_N] % SMK_GEMM_SECTOR != 0);
}

/* Whether the rows of a are few for a tile, and b is small. */
static bool is_few(const smk_request *request, const smk_gemm_tile *tile)
{
    const int64_t *d = request->dimensions;
    return d[SMK_GEMM_M] <= ROWS_MOST * tile->rows && 2 * d[SMK_GEMM_M] > tile->rows &&
           (double)d[SMK_GEMM_K] * (double)d[SMK_GEMM_N] * (double)tile->bytes <= ROWS_BYTES_MOST;
}

/* Whether a tile may be taken: of the variant, and raw or not; it stands for so many blocks without parts of k. */
static bool suits(const smk_request *request, const smk_gemm_tile *tile, bool is_raw, int64_t *blocks)
{
    const int64_t *d = request->dimensions;
    const int64_t down = smk_plan_divide_up(d[SMK_GEMM_M], tile->rows);
    const int64_t across = smk_plan_divide_up(d[SMK_GEMM_N], tile->columns);
    return strcmp(tile->variant, request->variant->name) == 0 &&
           (tile->part != NULL && strcmp(tile->part, "raw") == 0) == is_raw &&
           !__builtin_mul_overflow(down, across, blocks) &&
           !__builtin_mul_overflow(*blocks, smk_plan_stack(request), blocks) && *blocks <= INT32_MAX &&
           (tile->kind != SMK_GEMM_SHORT || d[SMK_GEMM_K] <= SHORT_MOST) &&
           ((tile->turned >= 0 && tile->kind < SMK_GEMM_ALONG) || is_along(request)) &&
           (tile->kind != SMK_GEMM_WIDE || is_wide(request)) && (tile->kind != SMK_GEMM_QUADS || is_quads(request)) &&
           (tile->kind != SMK_GEMM_ROWS || is_few(request, tile)) && fits_rows(request, tile);
}

smk_gemm_choice smk_gemm_model_choose(const smk_request *request, int64_t step)
{
    return smk_gemm_model_choose_kind(request, step, false);
}

smk_gemm_choice smk_gemm_model_choose_kind(const smk_request *request, int64_t step, bool is_raw)
{
    const int64_t most = (int64_t)request->machine->multiprocessors * BLOCKS_MOST;
    const double slowdown = smk_slowdowns_variant(request->machine, request->variant, request->type);
    smk_gemm_choice best = {.tile = NULL};
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        const smk_gemm_tile *tile = &tiles[i];
        const double slower = tile->begins_early && strcmp(request->type, "tf32") == 0 ? ROUNDED * slowdown : slowdown;
        const bool may_cut = request->item_bytes == tile->bytes && tile->shared_bytes > 0;
        int64_t blocks = 0;
        if (!suits(request, tile, is_raw, &blocks)) {
            continue;
        }
        for (int64_t wanted = 1; wanted <= PARTS_MOST && (wanted == 1 || (may_cut && blocks * wanted <= most));
             wanted += wanted < 4 ? 1 : wanted / 2) {
            try_parts(request, tile, wanted, step, slower, &best);
        }
        const int64_t rounds[] = {1, 2, 4};
        for (size_t j = 0; j < sizeof rounds / sizeof rounds[0]; j++) { /* as many as just fill the machine */
            const int64_t wanted = blocks > 0 ? rounds[j] * (int64_t)request->machine->multiprocessors / blocks : 1;
            if (wanted > 1 && may_cut) {
                try_parts(request, tile, wanted < PARTS_MOST ? wanted : PARTS_MOST, step, slower, &best);
            }
        }
    }
    return best;
}

void smk_gemm_model_note(const smk_gemm_choice *choice, smk_plan *plan)
{
    plan->takes_stack = plan->takes_layout = true;
    plan->tile_rows = choice->tile->rows;
    plan->tile_columns = choice->tile->columns;
    plan->parts = choice->parts.count;
}

smk_status smk_gemm_model_check(const smk_request *request, smk_gemm_choice choice, smk_error *error)
{
    if (choice.tile != NULL) {
        return SMK_OK;
    }
    return smk_status_fail(error, SMK_LAUNCH, "gemm variant '%s': no grid holds the tiles of %lld by %lld elements",
                           request->variant->name, (long long)request->dimensions[SMK_GEMM_M],
                           (long long)request->dimensions[SMK_GEMM_N]);
}
