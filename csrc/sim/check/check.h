/* Runs a launch and checks its threads: data races, hazards inside warps, divergent or missing barriers, accesses that
 * are out of bounds, and reads of uninitialised memory. */
#ifndef SMK_SIM_CHECK_CHECK_H
#define SMK_SIM_CHECK_CHECK_H

#include "base/launch.h"
#include "base/status.h"
#include "ptx/module.h"
#include "sim/code/run.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_finding_kind {
#define SMK_FINDING(id, name, meaning) SMK_FINDING_##id,
#include "sim/check/finding.def"
#undef SMK_FINDING
    SMK_FINDING_COUNT
} smk_finding_kind;

/* Its name, and what it means, as in finding.def. */
const char *smk_finding_name(smk_finding_kind kind);
const char *smk_finding_meaning(smk_finding_kind kind);

/* A word for an instruction that synchronises threads or uses a value: "barrier", "branch", "shfl". */
const char *smk_finding_use(const smk_instruction *instruction);

/* Kinds of sides beyond smk_access_kind. */
enum {
    SMK_FINDING_SYNC =
        0xff, /* threads synchronise (at a barrier, in a shfl.sync, mma.sync, ...), or one uses a value */
    SMK_FINDING_WAIT = 0xfe, /* lanes wait for lanes of their warp on another path */
};

/* One of the accesses (or other events) that a finding is about. */
typedef struct smk_finding_side {
    bool present;
    uint8_t kind;                   /* smk_access_kind, or SYNC or WAIT: no access */
    uint32_t function, instruction; /* in the module */
    uint32_t block[3], thread[3];
    smk_space space;  /* GLOBAL SHARED LOCAL CONST PARAM */
    uint64_t address; /* in that space */
    uint32_t bytes;
    char variable[144]; /* "tile_a, byte 128", "args[1] (y, float32[99]), element 32", or "" */
} smk_finding_side;

/* Findings of one kind and one pair of instructions are merged: the first in block and thread order stands for all of
 * them, with their number. */
typedef struct smk_finding {
    smk_finding_kind kind;
    smk_finding_side first, second; /* of a race: in program order where there is one */
    uint64_t count;
    bool same_value; /* a race of two stores that wrote the same value each time */
    char message[512];
    char action[512]; /* what to do about it */
} smk_finding;

typedef struct smk_check_result {
    smk_finding *finding; /* by kind, then by lines */
    uint32_t finding_count;
    bool truncated;      /* there were more findings than are kept */
    uint64_t incomplete; /* accesses that were checked against incomplete records: races may be missed */
    uint64_t blocks, blocks_total;
    smk_error stopped; /* why a block ended early (status OK where none did); a finding says the same */
} smk_check_result;

/* How a launch is checked: how many blocks, as in smk_count_run, and which bytes lie between shared variables. */
typedef struct smk_check_options {
    uint64_t blocks;
    uint32_t padding;
} smk_check_options;

/* Findings do not depend on the number of host threads. A fault of the kernel is a finding, not an error. Errors:
 * LAUNCH, SHARED_MEMORY, MEMORY, INTERRUPTED; and TRAP, STEP_BUDGET and UNSUPPORTED where there is no finding. */
smk_status smk_check_run(smk_program *program, uint32_t entry, const smk_launch *launch, const smk_run_options *options,
                         const smk_check_options *wanted, smk_check_result *result, smk_error *error);
void smk_check_free(smk_check_result *result); /* what is in it; accepts NULL */

#endif
