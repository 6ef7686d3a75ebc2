#include "sim/exec/kernel_heap.h"

#include "base/heap.h"
#include "base/pages.h"
#include "sim/code/bits.h"
#include "sim/code/memory_table.h"
#include "sim/code/observer.h"
#include "sim/code/program.h"
#include "sim/exec/block.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

enum { UNIT = 16, CLASSES = 88 };
#define HEAP_BYTES (UINT64_C(128) << 20)
#define UNITS (HEAP_BYTES / UNIT)
#define NAME "the heap of malloc" /* in findings */

/* Pieces have the size of their class and stay where they are. Free ones of a class are a list;
 * `next`, `class` and `asked` are by the unit at which a piece starts, plus 1 in the lists: 0 ends them. Checked launches
 * read what is atomic without the lock. */
struct smk_kernel_heap {
    pthread_mutex_t lock;
    uint32_t users; /* programs; under the lock of the memory */
    uint64_t address;
    _Atomic uint32_t used; /* units that pieces have ever taken */
    uint32_t free[CLASSES];
    uint32_t freed[CLASSES]; /* by the present launch, which reuses them last: nothing orders its threads around free */
    uint32_t *next;
    _Atomic uint8_t *class;  /* 0: no piece starts here, or it is free; else its class plus 1 */
    _Atomic uint32_t *asked; /* the bytes that malloc was asked for, of free pieces too */
    _Atomic uint32_t *start; /* by unit: the first one of its piece */
    _Atomic uint32_t *again; /* the launch, by number, that last gave the piece out again after it had freed it */
    _Atomic uint32_t launch; /* the number of the present one */
};

static void push(smk_kernel_heap *heap, uint32_t *list, uint32_t unit)
{
    heap->next[unit] = *list;
    *list = unit + 1;
}

/* The first piece of a list that is not empty. */
static uint32_t pop(smk_kernel_heap *heap, uint32_t *list)
{
    const uint32_t unit = *list - 1;
    *list = heap->next[unit];
    return unit;
}

static void destroy(smk_kernel_heap *heap)
{
    smk_pages_free(heap->next, UNITS * sizeof *heap->next);
    smk_pages_free((void *)heap->class, UNITS * sizeof *heap->class);
    smk_pages_free((void *)heap->asked, UNITS * sizeof *heap->asked);
    smk_pages_free((void *)heap->start, UNITS * sizeof *heap->start);
    smk_pages_free((void *)heap->again, UNITS * sizeof *heap->again);
    smk_heap_free(heap);
}

/* Frees a heap that no program uses. */
static void give_up(smk_memory *memory, smk_kernel_heap *heap)
{
    (void)smk_memory_free(memory, heap->address, NULL);
    (void)pthread_mutex_destroy(&heap->lock);
    destroy(heap);
}

/* Ends the use of a heap by a program. */
static void leave(smk_memory *memory, smk_kernel_heap *heap)
{
    smk_fork_lock_take(&memory->lock);
    const bool last = --heap->users == 0;
    if (last) {
        memory->heap = NULL;
    }
    smk_fork_lock_give(&memory->lock);
    if (last) {
        give_up(memory, heap);
    }
}

/* The memory's heap with one user more. Without one that is `made`, which may be NULL. */
static smk_kernel_heap *enter(smk_memory *memory, smk_kernel_heap *made)
{
    smk_fork_lock_take(&memory->lock);
    if (memory->heap == NULL) {
        memory->heap = made;
    }
    smk_kernel_heap *heap = memory->heap;
    if (heap != NULL) {
        heap->users++;
    }
    smk_fork_lock_give(&memory->lock);
    return heap;
}

/* Lets a program use a heap, which it has entered; two threads may do so at once. */
static void keep(smk_program *program, smk_kernel_heap *entered)
{
    smk_kernel_heap *present = NULL;
    if (entered != NULL && !atomic_compare_exchange_strong(&program->heap, &present, entered)) {
        leave(program->memory, entered);
    }
}

void smk_kernel_heap_share(smk_program *program)
{
    if (atomic_load(&program->heap) == NULL) {
        keep(program, enter(program->memory, NULL));
    }
}

static smk_status make(smk_memory *memory, smk_kernel_heap **heap, smk_error *error)
{
    const smk_memory_variable variable = {.name = {NAME, sizeof NAME - 1}, .bytes = HEAP_BYTES, .managed = true};
    smk_kernel_heap *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the heap of kernels");
    }
    made->launch = 1;
    made->next = smk_pages_allocate_zeros(UNITS * sizeof *made->next);
    made->class = smk_pages_allocate_zeros(UNITS * sizeof *made->class);
    made->asked = smk_pages_allocate_zeros(UNITS * sizeof *made->asked);
    made->start = smk_pages_allocate_zeros(UNITS * sizeof *made->start);
    made->again = smk_pages_allocate_zeros(UNITS * sizeof *made->again);
    const bool failed = made->next == NULL || made->class == NULL || made->asked == NULL || made->start == NULL ||
                        made->again == NULL || pthread_mutex_init(&made->lock, NULL) != 0;
    smk_status status = failed ? smk_status_fail(error, SMK_MEMORY, "no memory for the heap of kernels")
                               : smk_memory_allocate_variable(memory, &variable, &made->address, error);
    if (status != SMK_OK) {
        destroy(made);
        return status;
    }
    *heap = made;
    return SMK_OK;
}

/* A new launch: what earlier ones freed is free. */
static void begin_launch(smk_kernel_heap *heap)
{
    (void)pthread_mutex_lock(&heap->lock);
    heap->launch++;
    for (unsigned class = 0; class < CLASSES; class ++) {
        while (heap->freed[class] != 0) {
            push(heap, &heap->free[class], pop(heap, &heap->freed[class]));
        }
    }
    (void)pthread_mutex_unlock(&heap->lock);
}

smk_status smk_kernel_heap_prepare(smk_program *program, smk_error *error)
{
    smk_kernel_heap_share(program);
    if (atomic_load(&program->heap) == NULL) {
        smk_kernel_heap *made = NULL;
        smk_status status = make(program->memory, &made, error);
        if (status != SMK_OK) {
            return status;
        }
        smk_kernel_heap *entered = enter(program->memory, made);
        if (entered != made) { /* another thread was faster */
            give_up(program->memory, made);
        }
        keep(program, entered);
    }
    begin_launch(atomic_load(&program->heap));
    return SMK_OK;
}

void smk_kernel_heap_free(smk_program *program)
{
    smk_kernel_heap *heap = atomic_load(&program->heap);
    if (heap != NULL) {
        leave(program->memory, heap);
    }
}

/* The units of a piece: 1 to 8, then four sizes to each power of two. */
static uint32_t units_of(unsigned class)
{
    return class < 8 ? class + 1 : (10 + 2 * ((class - 8) % 4)) << ((class - 8) / 4);
}

static unsigned class_of(uint64_t bytes)
{
    unsigned class = 0;
    while ((uint64_t)UNIT * units_of(class) < bytes) {
        class ++;
    }
    return class;
}

/* The first unit of a new piece, of units that no piece has had. */
static uint32_t carve(smk_kernel_heap *heap, unsigned class)
{
    const uint32_t unit = heap->used, count = units_of(class);
    for (uint32_t i = 0; i < count; i++) {
        atomic_store_explicit(&heap->start[unit + i], unit, memory_order_relaxed);
    }
    heap->used = unit + count;
    return unit;
}

/* The address of a piece, or 0 where the heap has none left: what malloc of CUDA returns then. Of `guard` bytes
 * behind those that are asked for, no thread may use any. */
static uint64_t allocate(smk_kernel_heap *heap, uint64_t bytes, unsigned guard)
{
    if (bytes == 0 || bytes > HEAP_BYTES - guard) {
        return 0;
    }
    const unsigned class = class_of(bytes + guard);
    uint32_t unit = 0;
    if (heap->free[class] != 0) {
        unit = pop(heap, &heap->free[class]);
    } else if (UNITS - heap->used >= units_of(class)) {
        unit = carve(heap, class);
    } else if (heap->freed[class] != 0) {
        unit = pop(heap, &heap->freed[class]);
        heap->again[unit] = heap->launch;
    } else {
        return 0;
    }
    heap->asked[unit] = (uint32_t)bytes;
    heap->class[unit] = (uint8_t)(class + 1);
    return heap->address + (uint64_t)UNIT * unit;
}

static bool release(smk_kernel_heap *heap, uint64_t address)
{
    const uint64_t offset = address - heap->address;
    if (offset >= HEAP_BYTES || offset % UNIT != 0 || heap->class[offset / UNIT] == 0) {
        return false;
    }
    const uint32_t unit = (uint32_t)(offset / UNIT);
    const unsigned class = heap->class[unit] - 1U;
    heap->class[unit] = 0;
    push(heap, &heap->freed[class], unit);
    return true;
}

uint64_t smk_kernel_heap_address(const smk_program *program)
{
    const smk_kernel_heap *heap = atomic_load(&program->heap);
    return heap == NULL ? 0 : heap->address;
}

/* The heap of an address, and its offset there; NULL for an address of no heap. */
static const smk_kernel_heap *find_heap(const smk_program *program, uint64_t address, uint64_t *offset)
{
    const smk_kernel_heap *heap = atomic_load(&program->heap);
    *offset = heap == NULL ? 0 : address - heap->address;
    return heap != NULL && *offset < HEAP_BYTES ? heap : NULL;
}

smk_kernel_heap_use smk_kernel_heap_look(const smk_program *program, uint64_t address, uint64_t bytes)
{
    uint64_t offset = 0;
    const smk_kernel_heap *heap = find_heap(program, address, &offset);
    if (heap == NULL) {
        return SMK_KERNEL_HEAP_NONE;
    }
    if (offset / UNIT >= heap->used) {
        return SMK_KERNEL_HEAP_BEYOND;
    }
    const uint32_t unit = heap->start[offset / UNIT], asked = heap->asked[unit];
    const uint64_t inside = offset - (uint64_t)UNIT * unit;
    if (inside >= asked || bytes > asked - inside) {
        return SMK_KERNEL_HEAP_BEYOND;
    }
    return heap->class[unit] == 0 ? SMK_KERNEL_HEAP_FREED : SMK_KERNEL_HEAP_GIVEN;
}

bool smk_kernel_heap_describe(const smk_program *program, uint64_t address, uint64_t bytes, char *text, size_t size)
{
    uint64_t offset = 0;
    const smk_kernel_heap *heap = find_heap(program, address, &offset);
    const uint32_t used = heap == NULL ? 0 : heap->used;
    if (used == 0) {
        return false;
    }
    const uint64_t at = offset / UNIT;
    const uint32_t unit = heap->start[at < used ? at : used - 1], asked = heap->asked[unit];
    const bool given = heap->class[unit] != 0;
    const char *fate = given ? "that malloc or new has given" : "that free or delete has taken back";
    const uint64_t inside = offset - (uint64_t)UNIT * unit;
    const uint64_t next = given ? unit + (uint64_t)units_of(heap->class[unit] - 1U) : used;
    if (inside < asked && bytes <= asked - inside) {
        (void)snprintf(text, size, "it lies in %" PRIu32 " bytes %s", asked, fate);
    } else if (inside < asked) {
        (void)snprintf(text, size, "%" PRIu64 " of its bytes lie past the end of %" PRIu32 " bytes %s",
                       bytes - (asked - inside), asked, fate);
    } else if (next < used && heap->class[next] != 0 && next * UNIT - offset < inside - asked) {
        (void)snprintf(text, size, "it begins %" PRIu64 " bytes before %" PRIu32 " bytes that malloc or new has given",
                       next * UNIT - offset, heap->asked[next]);
    } else {
        (void)snprintf(text, size, "it begins %" PRIu64 " bytes past the end of %" PRIu32 " bytes %s", inside - asked,
                       asked, fate);
    }
    return true;
}

bool smk_kernel_heap_is_reused(const smk_program *program, uint64_t address)
{
    uint64_t offset = 0;
    const smk_kernel_heap *heap = find_heap(program, address, &offset);
    return heap != NULL && offset / UNIT < heap->used && heap->again[heap->start[offset / UNIT]] == heap->launch;
}

static smk_kernel_heap *heap_of(const smk_warp *warp)
{
    return atomic_load(&warp->control->block->run->image->program->heap);
}

static const smk_operation *run_malloc(smk_warp *warp, const smk_operation *op)
{
    const smk_detail *detail = op->u.detail;
    smk_kernel_heap *heap = heap_of(warp);
    const smk_observer *observer = warp->control->block->run->observer;
    const unsigned guard = observer != NULL && observer->tracks ? UNIT : 0;
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const uint32_t lane = smk_bits_first(left);
        (void)pthread_mutex_lock(&heap->lock);
        const uint64_t address = allocate(heap, smk_warp_read_cell(warp, &detail->argument[0], lane), guard);
        (void)pthread_mutex_unlock(&heap->lock);
        if (detail->result_count > 0 && !detail->result[0].discarded) {
            smk_warp_write_cell(warp, &detail->result[0], lane, address);
        }
    }
    return op + 1;
}

static const smk_operation *run_free(smk_warp *warp, const smk_operation *op)
{
    smk_kernel_heap *heap = heap_of(warp);
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const uint32_t lane = smk_bits_first(left);
        const uint64_t address = smk_warp_read_cell(warp, &op->u.detail->argument[0], lane);
        (void)pthread_mutex_lock(&heap->lock);
        const bool good = address == 0 || release(heap, address);
        (void)pthread_mutex_unlock(&heap->lock);
        if (!good) {
            return smk_warp_fail(warp, op, UINT32_C(1) << lane, SMK_EXECUTION,
                                 "free of 0x%" PRIx64 ", which malloc of a kernel has not given, or which is free "
                                 "already",
                                 address);
        }
    }
    return op + 1;
}

smk_handler smk_kernel_heap_find(smk_text name, uint32_t *argument_count)
{
    *argument_count = 1;
    return smk_text_is(name, "malloc") ? run_malloc : smk_text_is(name, "free") ? run_free : NULL;
}
