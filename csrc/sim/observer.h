/* The seam for whoever watches a kernel run: counters and checkers.
 *
 * An observed image is lowered anew, with an operation of the observer's before each instruction and before each access.
 * An image that is not observed has none of them, and no handler tests for observers anywhere.
 */
#ifndef SMK_SIM_OBSERVER_H
#define SMK_SIM_OBSERVER_H

#include "access.h"
#include "sim.h"
#include "warp.h"

#include <stdbool.h>
#include <stdint.h>

/* Callbacks may be NULL. They are called by the host thread that runs the block (blocks of one launch may run on several), before the
 * instruction takes effect. op->function and op->instruction say which it is; smk_warp and its block are to be read only. */
typedef struct smk_observer {
    void *context;
    /* Every instruction, with the lanes that execute it. */
    void (*instruction)(void *context, const smk_warp *warp, const smk_operation *op, uint32_t mask);
    /* Loads, stores and atomics with at least one lane: `bytes` at address[lane] for the lanes of `mask`, in `space` (GENERIC: as
     * the program has it). */
    void (*access)(void *context, const smk_warp *warp, const smk_operation *op, smk_access_kind kind, smk_space space,
                   const uint64_t address[32], unsigned bytes, uint32_t mask);
    /* bra with a guard: the lanes that jump, and those that do not. */
    void (*branch)(void *context, const smk_warp *warp, const smk_operation *op, uint32_t taken, uint32_t stayed);
    /* bar and barrier. */
    void (*barrier)(void *context, const smk_warp *warp, const smk_operation *op, uint32_t mask);
} smk_observer;

/* As smk_grid_run, watched. */
smk_status smk_observer_run(smk_program *program, uint32_t entry, const smk_launch *launch,
                            const smk_run_options *options, const smk_observer *observer, smk_run_result *result,
                            smk_error *error);

/* For lowering: the operation before an instruction; and the one before the access that was emitted last. */
struct smk_lowering;
bool smk_observer_emit(struct smk_lowering *lowering);
bool smk_observer_emit_access(struct smk_lowering *lowering, smk_access_kind kind, smk_space space, bool narrow,
                              unsigned bytes);

#endif
