/* Counts the work of a launch, for each instruction. */
#ifndef SMK_SIM_PROFILE_COUNT_H
#define SMK_SIM_PROFILE_COUNT_H

#include "base/launch.h"
#include "base/status.h"
#include "ptx/module.h"
#include "sim/code/run.h"
#include "sim/profile/footprint.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum smk_counter {
#define SMK_COUNTER(id, name, unit, ncu, meaning) SMK_COUNTER_##id,
#include "sim/profile/counters.def"
    SMK_COUNTER_COUNT
} smk_counter;

/* One row of counters.def, sums first, in the order of smk_counter, then ratios. All texts are static. */
typedef struct smk_counter_row {
    const char *name, *unit, *ncu, *meaning;
    bool is_ratio;
    smk_counter above, below; /* of a ratio, which is scale * above / below */
    double scale;
} smk_counter_row;

extern const smk_counter_row smk_counter_rows[];
extern const unsigned smk_counter_row_count;

/* A PTX instruction that was executed at least once. */
typedef struct smk_count_line {
    uint32_t function, instruction; /* in the module; the instruction has its PTX line and source line */
    uint8_t role;                   /* smk_fusion_role */
    uint8_t reach;                  /* of a barrier, smk_barrier_reach_kind: between which threads it orders accesses */
    uint64_t busiest; /* executions by the warp that executes most instructions, where the footprint was asked for */
    uint64_t value[SMK_COUNTER_COUNT];
} smk_count_line;

/* The request with the highest cost of an access, for pictures. */
typedef struct smk_count_sample {
    uint32_t function, instruction;
    bool shared; /* addresses are relative to the block's shared memory; else global */
    uint8_t op;  /* smk_bank_op; of global memory too (load, store, atomic) */
    uint8_t bytes;
    uint32_t mask;
    uint32_t cost; /* wavefronts, or sectors */
    uint32_t block[3], warp;
    uint64_t address[SMK_WARP_SIZE];
} smk_count_sample;

/* A variable in shared memory. */
typedef struct smk_count_variable {
    smk_text name;
    uint32_t offset;
    uint64_t bytes; /* 0: as many as the launch asks for */
} smk_count_variable;

typedef struct smk_count_result {
    uint64_t total[SMK_COUNTER_COUNT];
    smk_count_line *line; /* by function and instruction */
    uint32_t line_count;
    smk_count_sample *sample; /* the same order */
    uint32_t sample_count;
    smk_count_variable *variable;
    uint32_t variable_count;
    uint64_t blocks, blocks_total; /* counted blocks, and blocks of the launch */
    smk_run_result run;
    uint32_t shared_bytes;        /* of a block, static and dynamic */
    bool modelled;                /* accesses are counted as ptxas fuses them */
    smk_footprint_row *footprint; /* by block and access, where it was asked for; `access` is the index of the line */
    size_t footprint_count;
    uint64_t warp_most, block_most; /* instructions of the busiest warp and block, where it was asked for */
} smk_count_result;

typedef struct smk_count_options {
    uint64_t blocks; /* runs only so many, evenly spread; memory then holds what those have written; 0: all */
    bool model;      /* counts accesses as ptxas fuses them; false: as PTX has them */
    bool footprint;  /* also lists the global memory that some of the blocks touch */
} smk_count_options;

/* Runs the launch and counts. Results and counts do not depend on the number of host threads. Errors: those of
 * smk_program_run. */
smk_status smk_count_run(smk_program *program, uint32_t entry, const smk_launch *launch, const smk_run_options *options,
                         const smk_count_options *wanted, smk_count_result *result, smk_error *error);
void smk_count_free(smk_count_result *result); /* what is in it; accepts NULL */

#endif
