#include "sim/profile/footprint.h"

#include "base/heap.h"
#include "sim/code/bits.h"
#include "sim/cost/bank.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_SHIFT = 7, SECTOR_SHIFT = 5, SECTORS_OF_LINE = 4, LINES_OF_CROWD = 4 };
enum { LINES_OF_PASS = 4, BYTES_MOST = 16 };
enum { SLOTS_FIRST = 1 << 12, NOTED = 7, NOTED_ALL = 16 };

/* A line of 128 bytes, and which of its sectors the present block has touched. */
typedef struct slot {
    uint64_t line;
    uint64_t stamp;                  /* of the block; another one: the slot is free */
    uint8_t sectors[2];              /* one bit a sector: read, written */
    uint32_t warps[SECTORS_OF_LINE]; /* one bit a warp that has touched the sector */
    uint32_t passes;                 /* of atomics, as they are added up in a row's `serial` */
} slot;

struct smk_footprint {
    slot *slots; /* open addressing; slot_count is a power of two */
    size_t slot_count, used;
    uint64_t stamp, block;
    smk_footprint_row *open; /* by access, of the present block; sectors or lines 0: not touched yet */
    uint32_t accesses;
    smk_footprint_row *rows; /* of the blocks before */
    size_t row_count, row_room;
    bool noted;   /* the present block */
    bool atomics; /* it has made some */
    bool failed;
};

smk_footprint *smk_footprint_open(uint32_t accesses)
{
    smk_footprint *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->accesses = accesses;
    made->slot_count = SLOTS_FIRST;
    made->slots = smk_heap_allocate(made->slot_count, sizeof *made->slots);
    made->open = smk_heap_allocate((size_t)accesses + 1, sizeof *made->open);
    if (made->slots == NULL || made->open == NULL) {
        smk_footprint_close(made);
        return NULL;
    }
    return made;
}

void smk_footprint_close(smk_footprint *footprint)
{
    if (footprint != NULL) {
        smk_heap_free(footprint->slots);
        smk_heap_free(footprint->open);
        smk_heap_free(footprint->rows);
        smk_heap_free(footprint);
    }
}

/* Makes room for `more` rows in a list. */
static bool reserve(smk_footprint_row **rows, size_t count, size_t *room, size_t more)
{
    if (count + more <= *room) {
        return true;
    }
    const size_t wanted = 2 * (count + more);
    smk_footprint_row *made = smk_heap_allocate(wanted, sizeof *made);
    if (made == NULL) {
        return false;
    }
    if (count > 0) {
        memcpy(made, *rows, count * sizeof *made);
    }
    smk_heap_free(*rows);
    *rows = made;
    *room = wanted;
    return true;
}

static slot *find_slot(slot *slots, size_t count, uint64_t stamp, uint64_t line)
{
    size_t i = (size_t)(line * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (count - 1);
    while (slots[i].stamp == stamp && slots[i].line != line) {
        i = (i + 1) & (count - 1);
    }
    return &slots[i];
}

/* Passes of the present block's atomics on 512 bytes from a line on. */
static uint64_t count_crowd(const smk_footprint *f, uint64_t first)
{
    uint64_t crowd = 0;
    for (uint64_t line = first; line < first + LINES_OF_CROWD; line++) {
        const slot *s = find_slot(f->slots, f->slot_count, f->stamp, line);
        crowd += s->stamp == f->stamp ? s->passes : 0;
    }
    return crowd;
}

/* Tells the rows of the present block's atomics where most of them are: of equal places the first. */
static void note_crowd(smk_footprint *f)
{
    uint64_t line = 0, crowd = 0;
    for (size_t i = 0; i < f->slot_count; i++) {
        const slot *s = &f->slots[i];
        const uint64_t passes = s->stamp == f->stamp && s->passes > 0 ? count_crowd(f, s->line) : 0;
        if (passes > crowd || (passes == crowd && s->line < line)) {
            line = s->line, crowd = passes;
        }
    }
    for (uint32_t i = 0; i < f->accesses; i++) {
        if (f->open[i].serial > 0) {
            f->open[i].crowd_line = line, f->open[i].crowd = crowd;
        }
    }
}

/* Moves what the present block has touched to the rows. */
static void finish_block(smk_footprint *f)
{
    if (f->atomics) {
        note_crowd(f);
        f->atomics = false;
    }
    for (uint32_t i = 0; i < f->accesses; i++) {
        if (f->open[i].lines > 0) {
            f->failed = f->failed || !reserve(&f->rows, f->row_count, &f->row_room, 1);
            if (!f->failed) {
                f->rows[f->row_count++] = f->open[i];
            }
            f->open[i].lines = 0;
        }
    }
}

/* Is the block one of those that are noted: all of a few, else NOTED ones without a regular distance? Blocks in a
 * regular distance could all have the same x. */
static bool is_noted(uint64_t block, uint64_t total, uint64_t run)
{
    run = run == 0 || run > total ? total : run;
    const uint64_t number = (block * run + total - 1) / total; /* of the blocks that run */
    for (unsigned i = 0; run > NOTED_ALL && i < NOTED; i++) {
        const uint64_t turn = i * UINT64_C(0x9E3779B9) & UINT32_MAX; /* multiples of the golden ratio, without wholes */
        if (number == (uint64_t)((double)run * (double)turn * 0x1p-32)) {
            return true;
        }
    }
    return run <= NOTED_ALL;
}

void smk_footprint_begin(smk_footprint *footprint, uint64_t block, uint64_t total, uint64_t run)
{
    finish_block(footprint);
    footprint->noted = is_noted(block, total, run);
    footprint->block = block;
    footprint->stamp++;
    footprint->used = 0;
}

static bool grow(smk_footprint *f)
{
    const size_t count = 2 * f->slot_count;
    slot *slots = smk_heap_allocate(count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < f->slot_count; i++) {
        if (f->slots[i].stamp == f->stamp) {
            *find_slot(slots, count, f->stamp, f->slots[i].line) = f->slots[i];
        }
    }
    smk_heap_free(f->slots);
    f->slots = slots;
    f->slot_count = count;
    return true;
}

/* Notes in the access's row that a warp touches these sectors of a line. */
static void touch(smk_footprint *f, smk_footprint_row *row, uint64_t line, uint32_t warp, uint8_t sectors, bool *fresh)
{
    if (2 * f->used >= f->slot_count && !grow(f)) {
        f->failed = true;
        return;
    }
    slot *s = find_slot(f->slots, f->slot_count, f->stamp, line);
    if (s->stamp != f->stamp) {
        *s = (slot){.line = line, .stamp = f->stamp};
        f->used++;
    }
    for (unsigned i = 0; i < SECTORS_OF_LINE; i++) {
        if ((sectors >> i & 1) != 0) {
            *fresh = *fresh || (s->warps[i] >> warp & 1) == 0;
            s->warps[i] |= UINT32_C(1) << warp;
        }
    }
    const uint8_t known = s->sectors[row->writes], all = known | sectors;
    s->sectors[row->writes] = all;
    row->sectors += smk_bits_count((uint8_t)(all & ~known));
    for (unsigned half = 0; half < SECTORS_OF_LINE; half += 2) {
        row->pairs += (known >> half & 3) == 0 && (all >> half & 3) != 0;
    }
}

/* The lanes that meet at one address, at most, added up over the sectors of a request, whose lines are known. */
static uint64_t count_serial(smk_footprint *f, const uint64_t address[SMK_WARP_SIZE], uint32_t mask)
{
    uint64_t serial = 0;
    while (mask != 0) {
        const uint64_t sector = address[smk_bits_first(mask)] >> SECTOR_SHIFT;
        uint32_t same = 0, most = 0;
        for (uint32_t left = mask; left != 0; left &= left - 1) {
            const unsigned lane = smk_bits_first(left);
            same |= address[lane] >> SECTOR_SHIFT == sector ? UINT32_C(1) << lane : 0;
        }
        for (uint32_t left = same; left != 0;) {
            const uint64_t first = address[smk_bits_first(left)];
            uint32_t equal = 0;
            for (uint32_t lanes = left; lanes != 0; lanes &= lanes - 1) {
                const unsigned lane = smk_bits_first(lanes);
                equal |= address[lane] == first ? UINT32_C(1) << lane : 0;
            }
            most = smk_bits_count(equal) > most ? smk_bits_count(equal) : most;
            left &= ~equal;
        }
        serial += most;
        slot *s = find_slot(f->slots, f->slot_count, f->stamp, sector / SECTORS_OF_LINE);
        s->passes += s->stamp == f->stamp ? most : 0;
        mask &= ~same;
    }
    return serial;
}

void smk_footprint_note(smk_footprint *footprint, uint32_t access, smk_access_kind kind, uint32_t warp,
                        const uint64_t address[SMK_WARP_SIZE], unsigned bytes, uint32_t mask)
{
    smk_footprint_row *row = &footprint->open[access];
    uint64_t known[SMK_WARP_SIZE]; /* lines of this request */
    uint8_t sectors[SMK_WARP_SIZE];
    uint32_t lines = 0;
    bool fresh = false;
    if (!footprint->noted) {
        return;
    }
    if (row->lines == 0) {
        *row = (smk_footprint_row){
            .block = footprint->block, .access = access, .writes = kind != SMK_ACCESS_LOAD, .low = UINT64_MAX};
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        const uint64_t first = address[smk_bits_first(left)], line = first >> LINE_SHIFT;
        const uint8_t bit = (uint8_t)(1U << (first >> SECTOR_SHIFT & (SECTORS_OF_LINE - 1)));
        uint32_t i = lines;
        while (i > 0 && known[i - 1] != line) {
            i--;
        }
        if (i == 0) {
            known[lines] = line;
            sectors[lines++] = bit;
        } else {
            sectors[i - 1] |= bit;
        }
        row->low = first < row->low ? first : row->low;
        row->high = first + bytes > row->high ? first + bytes : row->high;
    }
    for (uint32_t i = 0; i < lines; i++) {
        touch(footprint, row, known[i], warp, sectors[i], &fresh);
    }
    if (kind == SMK_ACCESS_ATOMIC) {
        row->serial += count_serial(footprint, address, mask);
        footprint->atomics = true;
    }
    const uint32_t banks =
        smk_bank_count(address, bytes < BYTES_MOST ? bytes : BYTES_MOST, mask, SMK_BANK_LOAD).wavefronts;
    const uint32_t looks = (lines + LINES_OF_PASS - 1) / LINES_OF_PASS;
    row->waves += banks > looks ? banks : looks;
    row->lines += lines;
    row->requests++;
    row->waits += fresh;
}

bool smk_footprint_collect(smk_footprint *footprint, smk_footprint_row **rows, size_t *count)
{
    finish_block(footprint);
    size_t room = *count;
    if (footprint->failed || !reserve(rows, *count, &room, footprint->row_count)) {
        return false;
    }
    if (footprint->row_count > 0) {
        memcpy(*rows + *count, footprint->rows, footprint->row_count * sizeof **rows);
    }
    *count += footprint->row_count;
    return true;
}

static int compare(const void *a, const void *b)
{
    const smk_footprint_row *x = a, *y = b;
    if (x->access != y->access) {
        return x->access < y->access ? -1 : 1;
    }
    return x->block < y->block ? -1 : x->block > y->block;
}

void smk_footprint_settle(smk_footprint_row *rows, size_t count)
{
    if (count > 0) {
        qsort(rows, count, sizeof *rows, compare);
    }
    uint64_t base = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        base = rows[i].low < base ? rows[i].low : base;
    }
    base = base >> LINE_SHIFT << LINE_SHIFT;
    for (size_t i = 0; i < count; i++) {
        rows[i].low -= base;
        rows[i].high -= base;
        rows[i].crowd_line -= rows[i].crowd > 0 ? base >> LINE_SHIFT : 0;
    }
}
