/* The execution of a family's plan. */
#ifndef SMK_PY_CALLS_PLAN_RUN_H
#define SMK_PY_CALLS_PLAN_RUN_H

#include "py/calls/execute.h"
#include "py/calls/family_call.h"

/* The execution of a plan, and all that it points to. */
typedef struct smk_plan_run {
    smk_execution execution;
    smk_execution_step steps[SMK_PLAN_STEPS_MAX];
    void *parameters[SMK_PLAN_STEPS_MAX][SMK_PLAN_PARAMETERS_MAX];
    char entries[SMK_PLAN_STEPS_MAX][SMK_FAMILY_CALL_ENTRY_BYTES];
    char symbol[SMK_FAMILY_CALL_ENTRY_BYTES];
    smk_workspace_address addresses[SMK_PLAN_STEPS_MAX * SMK_PLAN_PARAMETERS_MAX + 1]; /* one for messages */
    smk_execution_loops loops; /* where the steps are repeated */
    smk_launch_array arrays[SMK_PLAN_STEPS_MAX][SMK_PLAN_PARAMETERS_MAX];
    uint64_t shapes[SMK_OPERANDS_MAX_FAMILY][SMK_RANK_MAX]; /* of the arrays */
} smk_plan_run;

/* Fills the execution, but for its transfers. `operands` point to the addresses of the inputs and of the result, which
 * may change until it runs. The call and the run must not move. Returns 0, or -1 with an exception set. */
int smk_plan_run_prepare(smk_family_call *call, smk_plan_run *run, uint64_t *const *operands);

#endif
