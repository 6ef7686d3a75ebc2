/* Gathers findings: alike ones are one, with the first of them as its example. */
#ifndef SMK_SIM_CHECK_FINDING_H
#define SMK_SIM_CHECK_FINDING_H

#include "sim/exec/block.h"
#include "sim/check/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* No instruction at all. */
#define SMK_FINDING_NO_INSTRUCTION UINT32_MAX

/* Instructions of all functions, numbered one behind the other. */
typedef struct smk_instruction_ids {
    const smk_module *module;
    uint32_t *first; /* by function; one more at the end: how many there are */
} smk_instruction_ids;

static inline uint32_t smk_finding_instruction_id(const smk_instruction_ids *ids, uint32_t function, uint32_t instruction)
{
    return ids->first[function] + instruction;
}

/* Function and instruction of a place. */
const smk_instruction *smk_finding_locate(const smk_instruction_ids *ids, uint32_t instruction_id, uint32_t *function,
                                          uint32_t *instruction);

/* One side of what was found. */
typedef struct smk_finding_event {
    uint32_t instruction_id; /* or NOWHERE: there is no such side */
    uint8_t kind;   /* as in smk_finding_side */
    smk_space space;
    uint64_t address;
    uint32_t bytes;
    uint64_t block;  /* number */
    uint32_t thread; /* in the block */
    bool same_value; /* of the second side: both are stores, of one value */
} smk_finding_event;

typedef struct smk_finding_entry {
    smk_finding_kind kind;
    smk_finding_event first, second;
    uint64_t block, order; /* of the example: the smallest is kept */
    uint64_t count;
    bool same_value; /* each time */
    char text[320]; /* what an error said; "" for what the events say */
} smk_finding_entry;

typedef struct smk_finding_sink {
    pthread_mutex_t lock;
    smk_finding_entry *entry;
    uint32_t count, capacity;
    uint32_t *slot; /* hash: index + 1 */
    bool truncated, failed;
} smk_finding_sink;

smk_status smk_finding_open(smk_finding_sink *sink, smk_error *error);
void smk_finding_close(smk_finding_sink *sink);

/* `text` may be NULL. `order` tells which of two in one block was first. */
void smk_finding_add(smk_finding_sink *sink, smk_finding_kind kind, const smk_finding_event *first,
                     const smk_finding_event *second, uint64_t block, uint64_t order, const char *text);

/* So many more like one of this block's that has been added before, with one side. */
void smk_finding_repeat(smk_finding_sink *sink, smk_finding_kind kind, uint32_t instruction_id, uint64_t count);

/* The findings as they are handed out, sorted. */
smk_status smk_finding_list(const smk_finding_sink *sink, const smk_instruction_ids *ids, const smk_image *image,
                            const smk_launch *launch, const smk_memory_view *view, smk_check_result *result,
                            smk_error *error);

#endif
