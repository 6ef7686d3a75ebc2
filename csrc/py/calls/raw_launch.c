#include "py/calls/raw_launch.h"

#include "py/backends/capture.h"
#include "py/backends/device.h"
#include "py/backends/selection.h"
#include "py/calls/execute.h"
#include "py/calls/printed_text.h"
#include "py/calls/raw_layout.h"
#include "py/calls/raw_module.h"
#include "py/calls/scheduling.h"
#include "py/calls/step_budget.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"
#include "py/streams/stream_scope.h"

#include <stdio.h>

/* Launch configuration --------------------------------------------------------------------------- */

/* Reads one length of a grid or block, 1 to 2^32 - 1; the machine checks its own limits. */
static int read_length(const smk_raw_kernel *kernel, const char *name, Py_ssize_t axis, PyObject *value,
                       uint32_t *length)
{
    const smk_state *state = smk_state_of_instance((PyObject *)kernel);
    int overflow = 0;
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        smk_error_fail(state, SMK_TYPE, "%U: %s must be an int or a tuple of 1 to 3 ints, not %.100s", kernel->label,
                       name, Py_TYPE(value)->tp_name);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    const bool low = overflow < 0 || (overflow == 0 && number < 1);
    if (low || overflow > 0 || number > (long long)UINT32_MAX) {
        smk_error_fail(state, SMK_LAUNCH, "%U: %s[%zd] is %R; %s", kernel->label, name, axis, value,
                       low ? "1 or more is needed" : "no machine has that many");
        return -1;
    }
    *length = (uint32_t)number;
    return 0;
}

static int read_lengths(const smk_raw_kernel *kernel, const char *name, PyObject *value, smk_dim3 *result)
{
    uint32_t lengths[3] = {1, 1, 1};
    PyObject *tuple = NULL;
    int status = -1;
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        status = read_length(kernel, name, 0, value, &lengths[0]);
    } else if ((tuple = PySequence_Tuple(value)) != NULL) {
        Py_ssize_t count = PyTuple_GET_SIZE(tuple);
        status = 0;
        if (count < 1 || count > 3) {
            smk_error_fail(smk_state_of_instance((PyObject *)kernel), SMK_LAUNCH,
                           "%U: %s has %zd lengths; 1 to 3 are needed", kernel->label, name, count);
            status = -1;
        }
        for (Py_ssize_t i = 0; status == 0 && i < count; i++) {
            status = read_length(kernel, name, i, PyTuple_GET_ITEM(tuple, i), &lengths[i]);
        }
        Py_DECREF(tuple);
    }
    if (status == 0) {
        *result = (smk_dim3){lengths[0], lengths[1], lengths[2]};
    }
    return status;
}

static int read_shared_bytes(const smk_raw_kernel *kernel, PyObject *value, size_t *bytes)
{
    const smk_state *state = smk_state_of_instance((PyObject *)kernel);
    int overflow = 0;
    if (value == NULL) {
        *bytes = 0;
        return 0;
    }
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        smk_error_fail(state, SMK_TYPE, "%U: shared_mem must be an int, not %.100s", kernel->label,
                       Py_TYPE(value)->tp_name);
        return -1;
    }
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    if (overflow > 0) {
        smk_error_fail(state, SMK_SHARED_MEMORY, "%U: shared_mem is %R bytes; no machine has that", kernel->label,
                       value);
        return -1;
    }
    if (overflow < 0 || number < 0) {
        smk_error_fail(state, SMK_LAUNCH, "%U: shared_mem is %R; bytes cannot be negative", kernel->label, value);
        return -1;
    }
    *bytes = (size_t)number;
    return 0;
}

/* Launch ----------------------------------------------------------------------------------------- */

int smk_raw_launch_choose_machine(const smk_raw_kernel *kernel, const smk_arguments *arguments, PyObject *keyword,
                                  const smk_backend **backend)
{
    const smk_state *state = arguments->state;
    if (keyword != NULL) {
        if (smk_selection_choose(state, keyword, backend) < 0) {
            return -1;
        }
    } else if (arguments->backend != NULL) {
        *backend = arguments->backend;
    } else if (kernel->module->backend != NULL && !smk_capture_simulates()) {
        *backend = kernel->module->backend;
    } else if (smk_selection_choose(state, NULL, backend) < 0) {
        return -1;
    }
    if (arguments->backend != NULL && arguments->backend != *backend) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "%U: the arrays live on '%s', the call is for '%s'; move them with smemkit.asarray",
                       kernel->label, arguments->backend->name, (*backend)->name);
        return -1;
    }
    if ((*backend)->id == SMK_BACKEND_SIM && kernel->module->refusal.status != SMK_OK) {
        smk_error_raise(state, &kernel->module->refusal);
        return -1;
    }
    return 0;
}

/* Adds to the launch's machine the device: that of the arrays, which device= (NULL: not given) may only confirm, else the
 * one that it names. Returns 0, or -1 with an exception set. */
static int choose_device(const smk_raw_kernel *kernel, const smk_arguments *arguments, PyObject *object,
                         smk_execution *execution)
{
    const smk_backend *named = NULL;
    execution->device = SMK_DEVICE_PRESENT;
    if (arguments->backend != NULL) {
        execution->device = arguments->device;
        return smk_device_confirm(arguments->state, arguments->kernel, object, "an array", arguments->backend,
                                  arguments->device);
    }
    if (object == NULL) {
        return 0;
    }
    if (smk_device_read(arguments->state, arguments->kernel, object, &named, &execution->device) < 0) {
        return -1;
    }
    if (named != NULL && named != execution->backend) {
        smk_error_fail(arguments->state, SMK_ARGUMENT, "%U: device is %R, and the call is for '%s'", kernel->label,
                       object, execution->backend->name);
        return -1;
    }
    return smk_device_check(arguments->state, arguments->kernel, execution->backend, execution->device);
}

/* The machine that device= names, as the value of a keyword backend= that was not given; NULL where it names none. A new
 * reference. Returns 0, or -1 with an exception set. */
static int name_machine(const smk_arguments *arguments, PyObject *object, PyObject **machine)
{
    const smk_backend *named = NULL;
    int number = 0;
    if (smk_device_read(arguments->state, arguments->kernel, object, &named, &number) < 0) {
        return -1;
    }
    *machine = named == NULL ? NULL : PyUnicode_FromString(named->name);
    return named != NULL && *machine == NULL ? -1 : 0;
}

/* Finds the parameters of a kernel whose text our parser refuses, as the GPU has them; the simulator refuses it.
 * `tuple` gets the values as they are now, a new reference. */
static int find_layout(const smk_raw_kernel *kernel, PyObject *values, PyObject *keyword, smk_arguments *arguments,
                       PyObject **tuple)
{
    const smk_backend *backend = NULL;
    if ((!PyTuple_Check(values) && !PyList_Check(values)) || arguments->function != NULL) {
        return 0; /* smk_argument_convert refuses all but tuples and lists */
    }
    *tuple = PySequence_Tuple(values);
    if (*tuple == NULL || smk_raw_launch_choose_machine(kernel, arguments, keyword, &backend) < 0) {
        return -1;
    }
    return smk_raw_layout_make(arguments->state, kernel->module->binary, kernel->text, *tuple, &arguments->arena,
                               &arguments->function);
}

PyObject *smk_raw_launch_run(const smk_raw_kernel *kernel, PyObject *const values[SMK_RAW_LAUNCH_VALUES])
{
    PyObject *result = NULL, *tuple = NULL, *machine = Py_XNewRef(values[4]);
    smk_arguments arguments = {
        .state = smk_state_of_instance((PyObject *)kernel),
        .kernel = PyUnicode_AsUTF8(kernel->label), /* made when the kernel was */
        .module = smk_raw_module_parsed(kernel->module),
        .function = smk_raw_kernel_function(kernel),
        .declaration = kernel->declaration,
    };
    smk_execution_step step = {.entry = kernel->text};
    smk_execution execution = {.binary = kernel->module->binary, .steps = &step, .step_count = 1};
    smk_stream_scope scope = {.named = false};
    if ((machine == NULL && values[6] != NULL && name_machine(&arguments, values[6], &machine) < 0) ||
        smk_stream_scope_begin(arguments.state, arguments.kernel, values[7], &scope) < 0) {
        goto done;
    }
    if (read_lengths(kernel, "grid", values[0], &step.launch.grid) < 0 ||
        read_lengths(kernel, "block", values[1], &step.launch.block) < 0 ||
        read_shared_bytes(kernel, values[3], &step.launch.shared_bytes) < 0 ||
        smk_step_budget_read(arguments.state, values[5], SMK_RUN_STEPS_DEFAULT, &execution.max_steps) < 0 ||
        smk_scheduling_read(arguments.state, values[8], &execution.lockstep) < 0 ||
        find_layout(kernel, values[2], machine, &arguments, &tuple) < 0 ||
        smk_argument_convert(&arguments, tuple != NULL ? tuple : values[2]) < 0 ||
        smk_raw_launch_choose_machine(kernel, &arguments, machine, &execution.backend) < 0 ||
        choose_device(kernel, &arguments, values[6], &execution) < 0 ||
        smk_stream_scope_check(arguments.state, arguments.kernel, &scope, execution.backend, &execution.device) < 0) {
        goto done;
    }
    smk_error error = {0};
    if (arguments.function != NULL && smk_module_check_block(arguments.function, step.launch.block, &error) != SMK_OK) {
        (void)snprintf(error.kernel, sizeof error.kernel, "%s", kernel->text);
        smk_error_raise(arguments.state, &error);
        goto done;
    }
    execution.wait =
        arguments.backend == NULL; /* no array stays on a device: the call returns after the end of the kernel */
    step.launch.parameters = arguments.parameters;
    step.launch.parameter_count = arguments.count;
    step.launch.arrays = arguments.arrays;
    step.launch.cooperative = kernel->module->cooperative;
    step.launch.carveout_percent = kernel->carveout;
    step.launch.prefers_carveout = step.launch.carveout_percent != SMK_RAW_KERNEL_NO_CARVEOUT;
    execution.transfers = arguments.transfers;
    execution.transfer_count = arguments.transfer_count;
    if (kernel->prints && execution.backend->asynchronous && smk_printed_text_begin() < 0) {
        goto done;
    }
    if (smk_execute_run(arguments.state, &execution) < 0 || smk_argument_finish(&arguments) < 0) {
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    smk_argument_free(&arguments);
    smk_stream_scope_end(&scope);
    Py_XDECREF(tuple);
    Py_XDECREF(machine);
    return result;
}
