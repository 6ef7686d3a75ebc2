#include "py/calls/plan_run.h"

#include "py/backends/package_kernels.h"
#include "py/calls/step_budget.h"
#include "py/error.h"

#include <stdio.h>
#include <string.h>

/* Finds the memory that will hold an address in the workspace, which is set when the execution runs. */
static uint64_t *find_address(smk_plan_run *run, uint64_t offset)
{
    smk_workspace_address *address = &run->addresses[run->execution.workspace.address_count++];
    address->offset = offset;
    return &address->address;
}

/* Finds the memory that will hold a parameter's value. */
static void *find_parameter(smk_plan_run *run, smk_parameter *parameter, uint64_t *const *operands)
{
    switch (parameter->source) {
    case SMK_SOURCE_OPERAND:
        return operands[parameter->value];
    case SMK_SOURCE_WORKSPACE:
        return find_address(run, (uint64_t)parameter->value);
    case SMK_SOURCE_NUMBER:
        break;
    }
    return &parameter->value;
}

/* What messages call an operand of the call: an input, or the result. */
static smk_launch_array describe_operand(const smk_family_call *call, smk_plan_run *run, size_t i)
{
    const PyArray_Descr *descr = i < call->inputs ? smk_family_call_type(call, call->operands[i]) : call->result_descr;
    const char *name = smk_family_call_name(call, i);
    unsigned rank = (unsigned)call->signature.rank[i];
    for (unsigned j = 0; j < rank; j++) {
        run->shapes[i][j] = (uint64_t)call->dimensions[call->signature.axis[i][j]];
    }
    if (call->stack != NULL &&
        call->items.rank > 0) { /* elements are counted from the beginning of the item's matrix */
        run->shapes[i][0] = 1;
        for (unsigned j = 0; j < rank; j++) {
            run->shapes[i][0] *= (uint64_t)call->dimensions[call->signature.axis[i][j]];
        }
        rank = 1;
    }
    return (smk_launch_array){
        .name = {.start = name, .length = strlen(name)},
        .kind = descr->kind,
        .element_bytes = (uint64_t)PyDataType_ELSIZE(descr),
        .rank = rank,
        .shape = run->shapes[i],
        .operand = true,
    };
}

static void write_steps(smk_family_call *call, smk_plan_run *run, uint64_t *const *operands)
{
    smk_plan *plan = &call->plan;
    run->execution.steps = run->steps;
    run->execution.step_count = plan->step_count;
    run->execution.workspace = (smk_execution_workspace){
        .bytes = plan->workspace_bytes, .restored = plan->restores_workspace, .addresses = run->addresses};
    const uint64_t *workspace = plan->workspace_bytes > 0 ? find_address(run, 0) : NULL;
    for (size_t i = 0; i < plan->step_count; i++) {
        smk_step *step = &plan->step[i];
        smk_registry_entry(call->variant, step->part != NULL ? step->part : "", call->choice,
                           step->type != NULL ? step->type : call->type, run->entries[i], sizeof run->entries[i]);
        for (size_t j = 0; j < step->parameter_count; j++) {
            run->parameters[i][j] = find_parameter(run, &step->parameter[j], operands);
            if (step->parameter[j].source == SMK_SOURCE_OPERAND) {
                run->arrays[i][j] = describe_operand(call, run, (size_t)step->parameter[j].value);
            }
        }
        run->steps[i] = (smk_execution_step){
            .entry = run->entries[i],
            .launch = {.grid = step->grid,
                       .block = step->block,
                       .shared_bytes = step->shared_bytes,
                       .begins_early = step->begins_early,
                       .parameters = run->parameters[i],
                       .parameter_count = step->parameter_count,
                       .arrays = run->arrays[i],
                       .workspace = workspace,
                       .family = call->family->name},
        };
    }
}

_Static_assert((int)SMK_FAMILY_LOOPS_MAX < (int)SMK_EXECUTION_LOOPS_MAX, "a stack needs one loop more");
_Static_assert((int)SMK_OPERANDS_MAX_FAMILY <= (int)SMK_EXECUTION_OPERANDS_MAX, "loops have too few operands");

/* Lets the steps run for each item, where a stack has more than a launch makes. Sets what the parameters point to. */
static void write_loops(const smk_family_call *call, smk_plan_run *run, uint64_t *const *operands, uint64_t **now)
{
    const smk_family_items *items = &call->items;
    smk_execution_loops *loops = &run->loops;
    const bool repeats = items->stack > 1 && !call->plan.takes_stack;
    loops->rank = call->stack == NULL ? 0 : items->loops + repeats;
    loops->operand_count = call->inputs + 1;
    for (size_t i = 0; i <= call->inputs; i++) {
        now[i] = loops->rank > 0 ? &loops->address[i] : operands[i];
        loops->first[i] = operands[i];
        for (size_t j = 0; j < loops->rank; j++) {
            loops->count[j] = items->count[j];
            loops->step[i][j] = items->step[i][j];
        }
    }
    run->execution.loops = loops->rank > 0 ? loops : NULL;
}

int smk_plan_run_prepare(smk_family_call *call, smk_plan_run *run, uint64_t *const *operands)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    int64_t out_bytes = 0;
    Py_BEGIN_ALLOW_THREADS
    status = smk_package_kernels_get(call->state, call->variant, &run->execution.binary, &error);
    Py_END_ALLOW_THREADS
    if (status == SMK_OK) {
        status = smk_signature_bytes(&call->signature, call->family->name, call->inputs, call->dimensions,
                                     (int64_t)PyDataType_ELSIZE(call->result_descr), &out_bytes, &error);
    }
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    run->execution.backend = call->backend;
    run->execution.device = call->device;
    uint64_t *now[SMK_OPERANDS_MAX_FAMILY] = {NULL};
    write_loops(call, run, operands, now);
    write_steps(call, run, now);
    if (call->plan.clears_outputs) {
        run->execution.cleared = (smk_execution_range){operands[call->inputs], (uint64_t)out_bytes};
    }
    if (call->plan.symbol != NULL) {
        size_t operand = call->plan.symbol_operand;
        int64_t bytes = 0;
        (void)snprintf(run->symbol, sizeof run->symbol, "%s_%s_%s_%s", call->variant->family, call->variant->name,
                       call->plan.symbol, call->type);
        if (smk_signature_bytes(&call->signature, call->family->name, operand, call->dimensions,
                                (int64_t)PyDataType_ELSIZE(call->descr), &bytes, &error) != SMK_OK) {
            smk_error_raise(call->state, &error);
            return -1;
        }
        run->execution.symbol = run->symbol;
        run->execution.symbol_value = (smk_execution_range){now[operand], (uint64_t)bytes};
    }
    /* the package's kernels end, and a large product takes many steps: no budget unless the user sets one */
    return smk_step_budget_read(call->state, NULL, UINT64_MAX, &run->execution.max_steps);
}
