#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Below it a run is copied by memcpy: it fills no whole lines. */
enum { STREAMED_MIN = 1024, LINE_BYTES = 64, VECTOR_BYTES = 16, PREFETCHED = 512, TILE = 32 };

#if defined(__SSE2__)
/* Copies without a fence: the caller makes one behind all of its runs. */
static void stream_run(unsigned char *to, const unsigned char *from, size_t bytes)
{
    const size_t before = (LINE_BYTES - (uintptr_t)to % LINE_BYTES) % LINE_BYTES;
    if (bytes < STREAMED_MIN) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, before);
    to += before;
    from += before;
    bytes -= before;
    for (; bytes >= LINE_BYTES; bytes -= LINE_BYTES, to += LINE_BYTES, from += LINE_BYTES) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
        const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + VECTOR_BYTES));
        const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 2 * VECTOR_BYTES));
        const __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * VECTOR_BYTES));
        _mm_prefetch((const char *)from + PREFETCHED, _MM_HINT_NTA);
        _mm_stream_si128((__m128i *)(void *)to, a);
        _mm_stream_si128((__m128i *)(void *)(to + VECTOR_BYTES), b);
        _mm_stream_si128((__m128i *)(void *)(to + 2 * VECTOR_BYTES), c);
        _mm_stream_si128((__m128i *)(void *)(to + 3 * VECTOR_BYTES), d);
    }
    memcpy(to, from, bytes);
}

static void fence(void)
{
    _mm_sfence();
}
#else
static void stream_run(unsigned char *to, const unsigned char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void fence(void)
{
}
#endif

/* Packed elements are for a next step, and so for the caches. */
static void move_run(unsigned char *run, unsigned char *packed, size_t bytes, bool gathers)
{
    if (gathers) {
        memcpy(packed, run, bytes);
    } else {
        stream_run(run, packed, bytes);
    }
}

void smk_pack_copy(void *to, const void *from, size_t bytes)
{
    stream_run(to, from, bytes);
    fence();
}

bool smk_pack_describe(smk_pack_layout *layout, size_t item_bytes, int rank, const uint64_t *shape,
                       const int64_t *strides)
{
    smk_pack_layout made = {.run_bytes = item_bytes};
    int axis = rank;
    for (; axis > 0 && (shape[axis - 1] == 1 || strides[axis - 1] == (int64_t)made.run_bytes); axis--) {
        made.run_bytes *= shape[axis - 1];
    }
    for (int i = 0; i < axis; i++) {
        const int last = made.axes - 1;
        if (shape[i] == 1) {
            continue;
        }
        if (last >= 0 && made.stride[last] == strides[i] * (int64_t)shape[i]) { /* the outer axis continues this one */
            made.length[last] *= shape[i];
            made.stride[last] = strides[i];
            continue;
        }
        if (made.axes == SMK_PACK_AXES_MAX) {
            return false;
        }
        made.length[made.axes] = shape[i];
        made.stride[made.axes] = strides[i];
        made.axes++;
    }
    *layout = made;
    return true;
}

bool smk_pack_is_plain(const smk_pack_layout *layout)
{
    return layout->axes == 0;
}

/* A run of the array: its indices, and its address. */
typedef struct cursor {
    uint64_t index[SMK_PACK_AXES_MAX];
    unsigned char *run;
} cursor;

static cursor find_run(const smk_pack_layout *layout, unsigned char *host, uint64_t run)
{
    cursor found = {.run = host};
    for (int i = layout->axes; i-- > 0;) {
        found.index[i] = run % layout->length[i];
        found.run += (int64_t)found.index[i] * layout->stride[i];
        run /= layout->length[i];
    }
    return found;
}

/* Moves on by `runs` along the innermost axis, which ends there at the latest. */
static void advance(const smk_pack_layout *layout, cursor *at, uint64_t runs)
{
    int i = layout->axes - 1;
    if (i < 0) {
        return;
    }
    at->index[i] += runs;
    at->run += (int64_t)runs * layout->stride[i];
    for (; i > 0 && at->index[i] == layout->length[i]; i--) {
        at->run += layout->stride[i - 1] - (int64_t)layout->length[i] * layout->stride[i];
        at->index[i] = 0;
        at->index[i - 1]++;
    }
}

/* Copies `count` runs of a power of 2 of bytes along one axis. */
#define MOVE_ITEMS(type)                                                                                               \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
        type item;                                                                                                     \
        memcpy(&item, gathers ? host + (int64_t)i *stride : packed + i * sizeof item, sizeof item);                    \
        memcpy(gathers ? packed + i * sizeof item : host + (int64_t)i * stride, &item, sizeof item);                   \
    }                                                                                                                  \
    break

static void move_runs(unsigned char *host, int64_t stride, uint64_t run_bytes, uint64_t count, unsigned char *packed,
                      bool gathers)
{
    switch (run_bytes) {
    case 1:
        MOVE_ITEMS(uint8_t);
    case 2:
        MOVE_ITEMS(uint16_t);
    case 4:
        MOVE_ITEMS(uint32_t);
    case 8:
        MOVE_ITEMS(uint64_t);
    default:
        for (uint64_t i = 0; i < count; i++) {
            unsigned char *run = host + (int64_t)i * stride, *copy = packed + i * run_bytes;
            move_run(run, copy, (size_t)run_bytes, gathers);
        }
    }
}

/* Copies `rows` rows (TILE at most) of the inner axis, whose elements lie closer to those of the next row than to each
 * other. Row by row each element would cost a line of memory, which serves all rows of a tile; and by way of a small
 * tile each line is accessed once, so it does not matter that lines of such an array compete for one set of a cache. */
#define DEFINE_TILES(type)                                                                                             \
    static void gather_tiles_##type(const unsigned char *host, int64_t outer, int64_t inner, uint64_t rows,            \
                                    uint64_t count, unsigned char *packed)                                             \
    {                                                                                                                  \
        type tile[TILE][TILE];                                                                                         \
        for (uint64_t first = 0; first < count; first += TILE) {                                                       \
            const uint64_t width = count - first < TILE ? count - first : TILE;                                        \
            for (uint64_t i = 0; i < width; i++) {                                                                     \
                const unsigned char *line = host + (int64_t)(first + i) * inner;                                       \
                for (uint64_t k = 0; k < rows; k++) {                                                                  \
                    memcpy(&tile[k][i], line + (int64_t)k * outer, sizeof(type));                                      \
                }                                                                                                      \
            }                                                                                                          \
            for (uint64_t k = 0; k < rows; k++) {                                                                      \
                memcpy(packed + (k * count + first) * sizeof(type), tile[k], (size_t)width * sizeof(type));            \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void scatter_tiles_##type(unsigned char *host, int64_t outer, int64_t inner, uint64_t rows, uint64_t count, \
                                     const unsigned char *packed)                                                      \
    {                                                                                                                  \
        type tile[TILE][TILE];                                                                                         \
        for (uint64_t first = 0; first < count; first += TILE) {                                                       \
            const uint64_t width = count - first < TILE ? count - first : TILE;                                        \
            for (uint64_t k = 0; k < rows; k++) {                                                                      \
                memcpy(tile[k], packed + (k * count + first) * sizeof(type), (size_t)width * sizeof(type));            \
            }                                                                                                          \
            for (uint64_t i = 0; i < width; i++) {                                                                     \
                unsigned char *line = host + (int64_t)(first + i) * inner;                                             \
                for (uint64_t k = 0; k < rows; k++) {                                                                  \
                    memcpy(line + (int64_t)k * outer, &tile[k][i], sizeof(type));                                      \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_TILES(uint8_t)
DEFINE_TILES(uint16_t)
DEFINE_TILES(uint32_t)
DEFINE_TILES(uint64_t)

#define MOVE_TILES(type)                                                                                               \
    if (gathers) {                                                                                                     \
        gather_tiles_##type(host, outer, inner, rows, count, packed);                                                  \
    } else {                                                                                                           \
        scatter_tiles_##type(host, outer, inner, rows, count, packed);                                                 \
    }                                                                                                                  \
    break

static void move_tiles(unsigned char *host, int64_t outer, int64_t inner, uint64_t run_bytes, uint64_t rows,
                       uint64_t count, unsigned char *packed, bool gathers)
{
    switch (run_bytes) {
    case 1:
        MOVE_TILES(uint8_t);
    case 2:
        MOVE_TILES(uint16_t);
    case 4:
        MOVE_TILES(uint32_t);
    default:
        MOVE_TILES(uint64_t);
    }
}

/* How many rows from here on go tile by tile; 0 where they gain nothing by that. */
static uint64_t count_tiled(const smk_pack_layout *layout, const cursor *at, uint64_t whole_runs)
{
    const int inner = layout->axes - 1;
    if (inner < 1 || at->index[inner] != 0 || layout->run_bytes > sizeof(uint64_t) ||
        (layout->run_bytes & (layout->run_bytes - 1)) != 0 ||
        llabs(layout->stride[inner - 1]) >= llabs(layout->stride[inner])) {
        return 0;
    }
    const uint64_t left = layout->length[inner - 1] - at->index[inner - 1], fit = whole_runs / layout->length[inner];
    const uint64_t rows = left < fit ? left : fit;
    return rows > TILE ? TILE : rows;
}

static void move(const smk_pack_layout *layout, unsigned char *host, uint64_t first, uint64_t bytes,
                 unsigned char *packed, bool gathers)
{
    const uint64_t run_bytes = layout->run_bytes;
    const int inner = layout->axes - 1;
    cursor at = find_run(layout, host, first / run_bytes);
    uint64_t within = first % run_bytes;
    while (bytes > 0) {
        const uint64_t rest = run_bytes - within, left = inner < 0 ? 1 : layout->length[inner] - at.index[inner];
        if (within > 0 || bytes < run_bytes) { /* a part of a run */
            const uint64_t part = rest < bytes ? rest : bytes;
            unsigned char *rest_of_run = at.run + within;
            move_run(rest_of_run, packed, (size_t)part, gathers);
            packed += part;
            bytes -= part;
            within = 0;
            advance(layout, &at, 1);
            continue;
        }
        const uint64_t whole = bytes / run_bytes, rows = count_tiled(layout, &at, whole);
        if (rows > 1) {
            const uint64_t length = layout->length[inner];
            move_tiles(at.run, layout->stride[inner - 1], layout->stride[inner], run_bytes, rows, length, packed,
                       gathers);
            packed += rows * length * run_bytes;
            bytes -= rows * length * run_bytes;
            for (uint64_t i = 0; i < rows; i++) {
                advance(layout, &at, length);
            }
            continue;
        }
        const uint64_t count = whole < left ? whole : left;
        move_runs(at.run, inner < 0 ? 0 : layout->stride[inner], run_bytes, count, packed, gathers);
        packed += count * run_bytes;
        bytes -= count * run_bytes;
        advance(layout, &at, count);
    }
    fence();
}

/* The cast is right: where it gathers, the array is read alone; where it scatters, the packed elements are. */
void smk_pack_gather(const smk_pack_layout *layout, const unsigned char *host, uint64_t first, uint64_t bytes,
                     unsigned char *packed)
{
    move(layout, (unsigned char *)(uintptr_t)host, first, bytes, packed, true);
}

void smk_pack_scatter(const smk_pack_layout *layout, unsigned char *host, uint64_t first, uint64_t bytes,
                      const unsigned char *packed)
{
    move(layout, host, first, bytes, (unsigned char *)(uintptr_t)packed, false);
}
