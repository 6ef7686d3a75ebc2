/* Collects findings and merges those of one kind and one pair of instructions; the first of them is the example. */
#ifndef SMK_SIM_CHECK_FINDING_H
#define SMK_SIM_CHECK_FINDING_H

#include "sim/check/check.h"
#include "sim/exec/block.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* No instruction at all. */
#define SMK_FINDING_NO_INSTRUCTION UINT32_MAX

/* Instruction ids: the instructions of all functions of a module, numbered consecutively. */
typedef struct smk_instruction_ids {
    const smk_module *module;
    uint32_t *first; /* id of the first instruction of each function; one more entry: the number of ids */
} smk_instruction_ids;

static inline uint32_t smk_finding_instruction_id(const smk_instruction_ids *ids, uint32_t function,
                                                  uint32_t instruction)
{
    return ids->first[function] + instruction;
}

/* Function and index of an instruction id; NULL where the function has no such instruction. */
const smk_instruction *smk_finding_locate(const smk_instruction_ids *ids, uint32_t instruction_id, uint32_t *function,
                                          uint32_t *instruction);

/* One side of a finding. */
typedef struct smk_finding_event {
    uint32_t instruction_id; /* or NO_INSTRUCTION: there is no such side */
    uint8_t kind;            /* as in smk_finding_side */
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
    uint64_t block, order; /* of the example: the one with the smallest pair */
    uint64_t count;
    bool same_value; /* each time */
    char text[320];  /* the message of an error; "": made of the events */
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

/* `text` may be NULL. `order` is the order of findings in one block. */
void smk_finding_add(smk_finding_sink *sink, smk_finding_kind kind, const smk_finding_event *first,
                     const smk_finding_event *second, uint64_t block, uint64_t order, const char *text);

/* Adds `count` to the finding of that kind and instruction, which the block has added before with one side. */
void smk_finding_repeat(smk_finding_sink *sink, smk_finding_kind kind, uint32_t instruction_id, uint64_t count);

/* The findings as the result holds them, sorted. */
smk_status smk_finding_list(const smk_finding_sink *sink, const smk_instruction_ids *ids, const smk_image *image,
                            const smk_launch *launch, const smk_memory_view *view, smk_check_result *result,
                            smk_error *error);

#endif
