#include "sim/exec/kernel_heap.h"

#include "base/heap.h"
#include "sim/code/bits.h"
#include "sim/code/program.h"
#include "sim/exec/block.h"

#include <inttypes.h>
#include <pthread.h>

enum { UNIT = 16, CLASSES = 28 };
#define HEAP_BYTES (UINT64_C(128) << 20)
#define UNITS (HEAP_BYTES / UNIT)

/* Pieces have 16 bytes times a power of two, their class. Free ones of a class are a list; `next` and `class` are by the
 * unit at which a piece starts, plus 1 in the lists: 0 ends them. */
struct smk_kernel_heap {
    pthread_mutex_t lock;
    uint64_t address;
    uint32_t used; /* units that pieces have ever taken */
    uint32_t free[CLASSES];
    uint32_t freed[CLASSES]; /* by the present launch, which reuses them last: nothing orders its threads around free */
    uint32_t *next;
    uint8_t *class; /* 0: no piece starts here, or it is free; else its class plus 1 */
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
    smk_heap_free(heap->next);
    smk_heap_free(heap->class);
    smk_heap_free(heap);
}

smk_status smk_kernel_heap_prepare(smk_program *program, smk_error *error)
{
    smk_kernel_heap *present = atomic_load(&program->heap);
    if (present != NULL) {
        (void)pthread_mutex_lock(&present->lock);
        for (unsigned class = 0; class < CLASSES; class ++) {
            while (present->freed[class] != 0) {
                push(present, &present->free[class], pop(present, &present->freed[class]));
            }
        }
        (void)pthread_mutex_unlock(&present->lock);
        return SMK_OK;
    }
    smk_kernel_heap *made = smk_heap_allocate(1, sizeof *made);
    if (made == NULL) {
        return smk_status_fail(error, SMK_MEMORY, "no memory for the heap of kernels");
    }
    made->next = smk_heap_allocate(UNITS, sizeof *made->next);
    made->class = smk_heap_allocate(UNITS, 1);
    smk_status status = made->next == NULL || made->class == NULL || pthread_mutex_init(&made->lock, NULL) != 0
                            ? smk_status_fail(error, SMK_MEMORY, "no memory for the heap of kernels")
                            : smk_memory_allocate_shared(program->memory, HEAP_BYTES, &made->address, error);
    if (status != SMK_OK) {
        destroy(made);
        return status;
    }
    if (!atomic_compare_exchange_strong(&program->heap, &present, made)) {
        (void)smk_memory_free(program->memory, made->address, NULL);
        (void)pthread_mutex_destroy(&made->lock);
        destroy(made);
    }
    return SMK_OK;
}

void smk_kernel_heap_free(smk_program *program)
{
    smk_kernel_heap *heap = atomic_load(&program->heap);
    if (heap != NULL) {
        (void)smk_memory_free(program->memory, heap->address, NULL);
        (void)pthread_mutex_destroy(&heap->lock);
        destroy(heap);
    }
}

static unsigned class_of(uint64_t bytes)
{
    unsigned class = 0;
    while ((uint64_t)UNIT << class < bytes) {
        class ++;
    }
    return class;
}

/* The address of a piece, or 0 where the heap has none left: what malloc of CUDA returns then. */
static uint64_t allocate(smk_kernel_heap *heap, uint64_t bytes)
{
    if (bytes == 0 || bytes > HEAP_BYTES) {
        return 0;
    }
    const unsigned class = class_of(bytes);
    uint32_t unit = heap->used;
    if (heap->free[class] != 0) {
        unit = pop(heap, &heap->free[class]);
    } else if (UNITS - heap->used >= UINT64_C(1) << class) {
        heap->used += UINT32_C(1) << class;
    } else if (heap->freed[class] != 0) {
        unit = pop(heap, &heap->freed[class]);
    } else {
        return 0;
    }
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

static smk_kernel_heap *heap_of(const smk_warp *warp)
{
    return atomic_load(&warp->control->block->run->image->program->heap);
}

static const smk_operation *run_malloc(smk_warp *warp, const smk_operation *op)
{
    const smk_detail *detail = op->u.detail;
    smk_kernel_heap *heap = heap_of(warp);
    for (uint32_t left = smk_operation_mask(warp, op); left != 0; left &= left - 1) {
        const uint32_t lane = smk_bits_first(left);
        (void)pthread_mutex_lock(&heap->lock);
        const uint64_t address = allocate(heap, smk_warp_read_cell(warp, &detail->argument[0], lane));
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
