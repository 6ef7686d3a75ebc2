#include "py/calls/family_run.h"

#include "py/arrays/array.h"
#include "py/arrays/ndarray.h"
#include "py/backends/package_kernels.h"
#include "py/calls/execute.h"
#include "py/calls/family_plan.h"
#include "py/calls/step_budget.h"
#include "py/error.h"

#include <stdio.h>
#include <string.h>

/* The execution of a plan, and all that it points to. */
typedef struct plan_run {
    smk_execution execution;
    smk_execution_step steps[SMK_PLAN_STEPS_MAX];
    void *parameters[SMK_PLAN_STEPS_MAX][SMK_PLAN_PARAMETERS_MAX];
    char entries[SMK_PLAN_STEPS_MAX][SMK_FAMILY_CALL_ENTRY_BYTES];
    char symbol[SMK_FAMILY_CALL_ENTRY_BYTES];
    smk_workspace_address addresses[SMK_PLAN_STEPS_MAX * SMK_PLAN_PARAMETERS_MAX + 1]; /* one for messages */
    smk_launch_array arrays[SMK_PLAN_STEPS_MAX][SMK_PLAN_PARAMETERS_MAX];
    uint64_t shapes[SMK_OPERANDS_MAX_FAMILY][SMK_RANK_MAX]; /* of the arrays */
} plan_run;

/* Finds the memory that will hold an address in the workspace, which is set when the execution runs. */
static uint64_t *find_address(plan_run *run, uint64_t offset)
{
    smk_workspace_address *address = &run->addresses[run->execution.workspace.address_count++];
    address->offset = offset;
    return &address->address;
}

/* Finds the memory that will hold a parameter's value. */
static void *find_parameter(plan_run *run, smk_parameter *parameter, uint64_t *const *operands)
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
static smk_launch_array describe_operand(const smk_family_call *call, plan_run *run, size_t i)
{
    const PyArray_Descr *descr = i < call->inputs ? smk_family_call_type(call, call->operands[i]) : call->result_descr;
    const char *name = smk_family_call_name(call, i);
    const unsigned rank = (unsigned)call->signature.rank[i];
    for (unsigned j = 0; j < rank; j++) {
        run->shapes[i][j] = (uint64_t)call->dimensions[call->signature.axis[i][j]];
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

static void write_steps(smk_family_call *call, plan_run *run, uint64_t *const *operands)
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
                       .parameters = run->parameters[i],
                       .parameter_count = step->parameter_count,
                       .arrays = run->arrays[i],
                       .workspace = workspace,
                       .family = call->family->name},
        };
    }
}

/* Runs the plan. `operands` point to the addresses of the inputs and of the result. */
static int run_plan(smk_family_call *call, plan_run *run, uint64_t *const *operands)
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
    write_steps(call, run, operands);
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
        run->execution.symbol_value = (smk_execution_range){operands[operand], (uint64_t)bytes};
    }
    /* the package's kernels end, and a large product takes many steps: no budget unless the user sets one */
    if (smk_step_budget_read(call->state, NULL, UINT64_MAX, &run->execution.max_steps) < 0) {
        return -1;
    }
    return smk_execute_run(call->state, &run->execution);
}

static bool is_idle(const smk_family_call *call)
{
    return call->plan.step_count == 0 && !call->plan.clears_outputs;
}

static PyObject *run_on_device(smk_family_call *call, plan_run *run)
{
    uint64_t *operands[SMK_OPERANDS_MAX_FAMILY] = {NULL};
    smk_array *out = smk_array_cast(call->state, call->out);
    if (out != NULL) {
        Py_INCREF(out);
    } else {
        out = smk_array_create(call->state, call->family->name, call->backend, call->device, call->result_descr,
                               call->out_rank, call->out_shape);
    }
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        operands[i] = &smk_array_cast(call->state, call->operands[i])->address;
    }
    operands[call->inputs] = &out->address;
    if (!is_idle(call) && run_plan(call, run, operands) < 0) {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

/* `plain` are the inputs that are copied in, `target` the result that is copied out. */
static int run_on_host(smk_family_call *call, plan_run *run, PyArrayObject *const *plain, PyArrayObject *target)
{
    smk_transfer transfers[SMK_OPERANDS_MAX_FAMILY] = {{0}};
    uint64_t *operands[SMK_OPERANDS_MAX_FAMILY] = {NULL};
    for (size_t i = 0; i <= call->inputs; i++) {
        PyArrayObject *array = i < call->inputs ? plain[i] : target;
        transfers[i].host = PyArray_DATA(array);
        transfers[i].bytes = (uint64_t)PyArray_NBYTES(array);
        transfers[i].in = i < call->inputs;
        transfers[i].out = i == call->inputs;
        transfers[i].fresh = (PyObject *)array != call->out;
        operands[i] = &transfers[i].address;
    }
    run->execution.transfers = transfers;
    run->execution.transfer_count = call->inputs + 1;
    return run_plan(call, run, operands);
}

/* The run has ended before the result is written, so `out` may overlap an input. */
static PyObject *take_host(smk_family_call *call, plan_run *run)
{
    PyArrayObject *plain[SMK_FAMILY_CALL_INPUTS_MAX] = {NULL}, *target = NULL, *out = (PyArrayObject *)call->out;
    PyObject *result = NULL;
    if (out != NULL && smk_ndarray_is_plain(out, true)) {
        target = (PyArrayObject *)Py_NewRef(call->out);
    } else {
        Py_INCREF(call->result_descr); /* PyArray_NewFromDescr steals a reference */
        target = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, call->result_descr, call->out_rank,
                                                       call->out_shape, NULL, NULL, 0, NULL);
    }
    if (target == NULL) {
        goto done;
    }
    for (size_t i = 0; !is_idle(call) && i < call->inputs; i++) {
        plain[i] = smk_ndarray_pack((PyArrayObject *)call->operands[i]);
        if (plain[i] == NULL) {
            goto done;
        }
    }
    if (!is_idle(call) && run_on_host(call, run, plain, target) < 0) {
        goto done;
    }
    if (out != NULL && out != target && PyArray_CopyInto(out, target) < 0) {
        goto done;
    }
    if (out != NULL) {
        result = Py_NewRef(call->out);
    } else {
        /* steals the reference; a scalar where there are no axes, as from NumPy's own functions */
        result = PyArray_Return(target);
        target = NULL;
    }
done:
    for (size_t i = 0; i < call->inputs; i++) {
        Py_XDECREF(plain[i]);
    }
    Py_XDECREF(target);
    return result;
}

PyObject *smk_family_run_plan(smk_family_call *call)
{
    plan_run run = {.execution = {.binary = NULL}};
    return call->on_device ? run_on_device(call, &run) : take_host(call, &run);
}

PyObject *smk_family_run(smk_family_call *call, const char *variant)
{
    PyObject *result = smk_family_run_plan(call);
    while (result == NULL && strcmp(variant, "auto") == 0 && call->plan.workspace_bytes > 0 &&
           !call->plan.restores_workspace && PyErr_ExceptionMatches(call->state->exceptions[SMK_MEMORY])) {
        PyErr_Clear();
        call->workspace_below = call->plan.workspace_bytes;
        if (smk_family_plan_make(call, variant) < 0) {
            break;
        }
        result = smk_family_run_plan(call);
    }
    return result;
}
