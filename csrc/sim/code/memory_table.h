/* The table of allocations and its readers, which memory.c and memory_view.c share.
 *
 * A launch does not copy the table: it holds the present one, and a change of a table that a launch holds makes a copy
 * of it first. A freed allocation stays until every reader that began before has ended.
 */
#ifndef SMK_SIM_CODE_MEMORY_TABLE_H
#define SMK_SIM_CODE_MEMORY_TABLE_H

#include "base/fork.h"
#include "sim/code/memory_view.h"

#include <stdatomic.h>

enum { SMK_MEMORY_NAME_BYTES = 64 };

typedef struct smk_allocation_record {
    uint64_t address, bytes;
    uint64_t room;   /* distance from this address to the earliest next allocation */
    uint64_t serial; /* counts the allocations of its memory, from 1 */
    const smk_memory *memory;
    unsigned char *host;
    bool bare;                          /* `host` is not filled yet: it is in the list of such records */
    bool paged;                         /* `host` is of base/pages.h */
    bool shared;                        /* `host` is mapped at the address of the allocation */
    bool adopted;                       /* `host` belongs to the caller */
    bool sparse;                        /* few of its pages are ever written, and take memory */
    bool initialized;                   /* all of its bytes have been written */
    uint64_t first;                     /* else that many bytes from the start have, */
    unsigned char *written;             /* and further ones, a bit each; NULL: none */
    char name[SMK_MEMORY_NAME_BYTES];   /* of a variable; "" for what the host allocated */
    uint64_t freed_at;                  /* the number of readers that had begun when it was freed */
    struct smk_allocation_record *next; /* in a list of freed records */
    struct smk_allocation_record *bare_before, *bare_next;
} smk_allocation_record;

/* The allocations, sorted by address. */
typedef struct smk_memory_table {
    size_t count, capacity;
    uint32_t holders; /* the memory, and views */
    smk_allocation allocation[];
} smk_memory_table;

/* A range of addresses; the search for room starts at `next`, so that addresses are reused late. */
typedef struct smk_memory_range {
    uint64_t first, last, next, unit; /* of addresses and sizes: `unit` bytes */
} smk_memory_range;

struct smk_memory {
    smk_fork_lock lock; /* guards what follows */
    smk_memory_table *table;
    smk_memory_range device, shared;
    uint64_t used, limit;
    uint64_t allocations;                      /* made so far */
    _Atomic uint64_t initialized;              /* allocations up to this serial count as written */
    uint64_t readers;                          /* begun so far */
    unsigned generation;                       /* of the readers that follow */
    smk_memory_reader *oldest, *newest;        /* readers that have not ended, in the order of their beginning */
    smk_allocation_record *bare;               /* records whose memory is filled when something first reaches it */
    struct smk_kernel_heap *heap;              /* of malloc in kernels (sim/exec/kernel_heap.h); NULL: none yet */
    smk_allocation_record *freed, *last_freed; /* records that readers may use, in the order in which they were freed */
};

/* Under the lock: begins and ends a reader. The records that only it may still use go to `dead`. */
void smk_memory_begin_reading(smk_memory *memory, smk_memory_reader *reader);
void smk_memory_end_reading(smk_memory *memory, smk_memory_reader *reader, smk_allocation_record **dead);

/* Under the lock: fills what has not been filled yet, before a launch reads it. */
void smk_memory_fill_all(smk_memory *memory);

/* Under the lock: gives up a hold of a table, which is freed with the last one. */
void smk_memory_release_table(smk_memory_table *table);

/* Without the lock. */
void smk_memory_free_dead(smk_allocation_record *dead);

/* Under the lock, or where no other thread reads: marks bytes as written. Without memory for the bits the whole
 * allocation counts as written: a missed finding is better than a false one. */
void smk_memory_note_written(smk_allocation_record *record, uint64_t offset, uint64_t bytes);

/* Counts all of an allocation as written? */
static inline bool smk_memory_is_written(const smk_allocation_record *record)
{
    return record->initialized ||
           record->serial <= atomic_load_explicit(&record->memory->initialized, memory_order_relaxed);
}

#endif
