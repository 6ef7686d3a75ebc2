#include "family.h"

#include "array.h"
#include "bind.h"
#include "error.h"
#include "host.h"
#include "job.h"
#include "shelf.h"

#include <string.h>

enum { ENTRY_BYTES = 128, KEYWORDS = 3 };

const char *const smk_family_input_names[SMK_FAMILY_INPUTS_MAX] = {"a", "b", "c", "d", "e", "f", "g"};

/* One call, filled in from top to bottom. */
typedef struct family_call {
    const smk_state *state;
    const smk_family *family;
    smk_signature signature;
    size_t inputs;
    PyObject *operands[SMK_FAMILY_INPUTS_MAX]; /* owned: ndarray or DeviceArray each */
    PyObject *out;                             /* borrowed; NULL where not given */
    bool on_device;
    const smk_backend *backend;
    PyArray_Descr *descr; /* owned: the common type, native */
    const smk_variant *variant;
    int64_t dimensions[SMK_DIMENSIONS_MAX];
    int out_rank;
    npy_intp out_shape[SMK_RANK_MAX];
    bool empty;
    smk_unit *unit;
    char entry[ENTRY_BYTES];
    smk_job job;
    void *parameters[SMK_OPERANDS_MAX_FAMILY + SMK_DIMENSIONS_MAX];
} family_call;

static PyArray_Descr *get_type(const family_call *call, PyObject *operand)
{
    smk_array *array = smk_array_cast(call->state, operand);
    return array != NULL ? array->descr : PyArray_DESCR((PyArrayObject *)operand);
}

static size_t get_shape(const family_call *call, PyObject *operand, const npy_intp **shape)
{
    const smk_array *array = smk_array_cast(call->state, operand);
    *shape = array != NULL ? array->shape : PyArray_DIMS((PyArrayObject *)operand);
    return (size_t)(array != NULL ? array->rank : PyArray_NDIM((PyArrayObject *)operand));
}

/* NumPy or device arrays, never both. */
static int take_operands(family_call *call, PyObject *const *values)
{
    size_t device_count = 0;
    for (size_t i = 0; i < call->inputs; i++) {
        device_count += smk_array_cast(call->state, values[i]) != NULL;
    }
    call->on_device = device_count > 0;
    bool mixed = device_count > 0 && device_count < call->inputs;
    if (call->out != NULL) {
        bool out_on_device = smk_array_cast(call->state, call->out) != NULL;
        if (!out_on_device && !PyArray_Check(call->out)) {
            smk_error_fail(call->state, SMK_TYPE, "%s: out must be a %s, not %.100s", call->family->name,
                           call->on_device ? "smemkit.DeviceArray" : "numpy.ndarray", Py_TYPE(call->out)->tp_name);
            return -1;
        }
        mixed = mixed || out_on_device != call->on_device;
    }
    if (mixed) {
        smk_error_fail(call->state, SMK_TYPE,
                       "%s: NumPy arrays and device arrays do not mix in one call; use smemkit.asarray or "
                       "smemkit.asnumpy first",
                       call->family->name);
        return -1;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        call->operands[i] = call->on_device ? Py_NewRef(values[i]) : (PyObject *)smk_host_convert(values[i]);
        if (call->operands[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

/* The machine: that of the device arrays, which the keyword may only confirm; else as for every call. */
static int choose_machine(family_call *call, PyObject *keyword)
{
    if (!call->on_device) {
        return smk_backend_choose(call->state, keyword, &call->backend);
    }
    const smk_backend *asked = NULL;
    if (keyword != NULL && smk_backend_choose(call->state, keyword, &asked) < 0) {
        return -1;
    }
    call->backend = smk_array_cast(call->state, call->operands[0])->backend;
    for (size_t i = 0; i <= call->inputs; i++) {
        PyObject *operand = i < call->inputs ? call->operands[i] : call->out;
        const smk_array *array = smk_array_cast(call->state, operand);
        if (array != NULL && array->backend != (asked != NULL ? asked : call->backend)) {
            const char *name = i < call->inputs ? smk_family_input_names[i] : "out";
            smk_error_fail(call->state, SMK_ARGUMENT,
                           "%s: %s lives on '%s', the call is for '%s'; move it with smemkit.asarray(%s, backend='%s')",
                           call->family->name, name, array->backend->name,
                           (asked != NULL ? asked : call->backend)->name, name,
                           (asked != NULL ? asked : call->backend)->name);
            return -1;
        }
    }
    return 0;
}

/* Selects the variant for the type of one input and gives the type's name, a new reference. NULL with an exception. */
static PyObject *select_for(const family_call *call, const char *variant, size_t input, const smk_variant **selected)
{
    smk_error error = {0};
    PyObject *name = smk_host_type_name(get_type(call, call->operands[input]));
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    smk_status status = SMK_OK;
    if (text != NULL) {
        status = smk_registry_select(call->family->name, variant, text, selected, &error);
    }
    if (status == SMK_TYPE) {
        const char *operand = smk_family_input_names[input];
        smk_error_fail(call->state, SMK_TYPE, "%s; %s can be converted with %s.astype(...)", error.message, operand,
                       operand);
    } else if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
    }
    if (text == NULL || status != SMK_OK) {
        Py_CLEAR(name);
    }
    return name;
}

/* One type for all inputs, accepted by the variant. */
static int select_variant(family_call *call, const char *variant)
{
    const smk_variant *selected = NULL;
    int result = -1;
    PyObject *name = select_for(call, variant, 0, &call->variant), *other = NULL;
    if (name == NULL) {
        return -1;
    }
    for (size_t i = 1; i < call->inputs; i++) {
        Py_XSETREF(other, select_for(call, variant, i, &selected));
        if (other == NULL) {
            goto done;
        }
        if (PyUnicode_Compare(name, other) != 0) {
            smk_error_fail(call->state, SMK_TYPE, "%s: a has the type %U and %s has %U; all inputs must have one type",
                           call->family->name, name, smk_family_input_names[i], other);
            goto done;
        }
    }
    smk_registry_entry(call->variant, PyUnicode_AsUTF8(name), call->entry, sizeof call->entry);
    call->descr = smk_host_native(call->state, call->family->name, get_type(call, call->operands[0]));
    result = call->descr == NULL ? -1 : 0;
done:
    Py_DECREF(name);
    Py_XDECREF(other);
    return result;
}

/* Shapes -> dimensions, output shape, grid. */
static int plan_launch(family_call *call)
{
    size_t ranks[SMK_OPERANDS_MAX_FAMILY];
    const int64_t *shapes[SMK_OPERANDS_MAX_FAMILY];
    int64_t copies[SMK_OPERANDS_MAX_FAMILY][NPY_MAXDIMS];
    const char *names[SMK_OPERANDS_MAX_FAMILY];
    smk_error error = {0};
    size_t operand_count = call->inputs + (call->out != NULL);
    for (size_t i = 0; i < operand_count; i++) {
        const npy_intp *shape = NULL;
        names[i] = i < call->inputs ? smk_family_input_names[i] : "out";
        ranks[i] = get_shape(call, i < call->inputs ? call->operands[i] : call->out, &shape);
        for (size_t j = 0; j < ranks[i]; j++) {
            copies[i][j] = (int64_t)shape[j];
        }
        shapes[i] = copies[i];
    }
    smk_status status = smk_signature_bind(&call->signature, call->family->name, names, ranks, shapes, operand_count,
                                           call->dimensions, &error);
    if (status == SMK_OK) {
        call->out_rank = (int)call->signature.rank[call->inputs];
        for (int j = 0; j < call->out_rank; j++) {
            call->out_shape[j] = (npy_intp)call->dimensions[call->signature.axis[call->inputs][j]];
        }
        status = smk_registry_plan(call->family, call->variant, call->dimensions, &call->job.launch.grid,
                                   &call->job.launch.block, &call->empty, &error);
    }
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    return 0;
}

/* Type and memory of out; its shape is bound with the others. */
static int check_out(const family_call *call)
{
    const char *family = call->family->name;
    if (call->out == NULL) {
        return 0;
    }
    PyArray_Descr *descr = get_type(call, call->out);
    if (!PyArray_EquivTypes(descr, call->descr)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: out has the type %S, the result has %S", family, (PyObject *)descr,
                       (PyObject *)call->descr);
        return -1;
    }
    if (!call->on_device && !PyArray_ISWRITEABLE((PyArrayObject *)call->out)) {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s: out is read-only", family);
        return -1;
    }
    for (size_t i = 0; call->on_device && i < call->inputs; i++) {
        if (call->operands[i] == call->out) { /* a device array never shares memory with another one */
            smk_error_fail(call->state, SMK_ARGUMENT, "%s: out is %s itself, which is read while out is written",
                           family, smk_family_input_names[i]);
            return -1;
        }
    }
    return 0;
}

/* Everything behind the operands' addresses; parameters[0 .. inputs] are the caller's. */
static int run_job(family_call *call)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    size_t operand_count = call->inputs + 1;
    Py_BEGIN_ALLOW_THREADS
    status = smk_shelf_unit(call->state, call->variant, &call->unit, &error);
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    for (size_t i = 0; i < call->signature.dimension_count; i++) {
        call->parameters[operand_count + i] = &call->dimensions[i];
    }
    call->job.backend = call->backend;
    call->job.unit = call->unit;
    call->job.entry = call->entry;
    call->job.launch.parameters = call->parameters;
    call->job.launch.parameter_count = operand_count + call->signature.dimension_count;
    /* our own kernels end, and a large product takes many steps: no budget unless the user sets one */
    if (smk_backend_steps(call->state, NULL, UINT64_MAX, &call->job.max_steps) < 0) {
        return -1;
    }
    return smk_job_run(call->state, &call->job);
}

static PyObject *run_on_device(family_call *call)
{
    smk_array *out = smk_array_cast(call->state, call->out);
    if (out != NULL) {
        Py_INCREF(out);
    } else {
        out = smk_array_create(call->state, call->family->name, call->backend, call->descr, call->out_rank,
                               call->out_shape);
    }
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        call->parameters[i] = &smk_array_cast(call->state, call->operands[i])->address;
    }
    call->parameters[call->inputs] = &out->address;
    if (!call->empty && run_job(call) < 0) {
        Py_CLEAR(out);
    }
    return (PyObject *)out;
}

/* `plain` are the inputs as copied in, `target` what is copied out. */
static int run_on_host(family_call *call, PyArrayObject *const *plain, PyArrayObject *target)
{
    smk_transfer transfers[SMK_OPERANDS_MAX_FAMILY] = {{0}};
    for (size_t i = 0; i <= call->inputs; i++) {
        PyArrayObject *array = i < call->inputs ? plain[i] : target;
        transfers[i].host = PyArray_DATA(array);
        transfers[i].bytes = (uint64_t)PyArray_NBYTES(array);
        transfers[i].in = i < call->inputs;
        transfers[i].out = i == call->inputs;
        call->parameters[i] = &transfers[i].address;
    }
    call->job.transfers = transfers;
    call->job.transfer_count = call->inputs + 1;
    return run_job(call);
}

/* The inputs are on the device, and the run is over, before the result is written: an out that overlaps an input
 * is as good as any other. */
static PyObject *take_host(family_call *call)
{
    PyArrayObject *plain[SMK_FAMILY_INPUTS_MAX] = {NULL}, *target = NULL, *out = (PyArrayObject *)call->out;
    PyObject *result = NULL;
    if (out != NULL && smk_host_is_plain(out, true)) {
        target = (PyArrayObject *)Py_NewRef(call->out);
    } else {
        Py_INCREF(call->descr); /* PyArray_NewFromDescr takes one */
        target = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, call->descr, call->out_rank, call->out_shape,
                                                       NULL, NULL, 0, NULL);
    }
    if (target == NULL) {
        goto done;
    }
    for (size_t i = 0; !call->empty && i < call->inputs; i++) {
        plain[i] = smk_host_plain(call->state, call->family->name, (PyArrayObject *)call->operands[i]);
        if (plain[i] == NULL) {
            goto done;
        }
    }
    if (!call->empty && run_on_host(call, plain, target) < 0) {
        goto done;
    }
    if (out != NULL && out != target && PyArray_CopyInto(out, target) < 0) {
        goto done;
    }
    result = Py_NewRef(out != NULL ? call->out : (PyObject *)target);
done:
    for (size_t i = 0; i < call->inputs; i++) {
        Py_XDECREF(plain[i]);
    }
    Py_XDECREF(target);
    return result;
}

static int find_family(family_call *call, const char *name)
{
    smk_error error = {0};
    call->family = smk_registry_find_family(name);
    if (call->family == NULL || smk_signature_parse(call->family->signature, &call->signature, &error) != SMK_OK ||
        call->signature.input_count == 0 || call->signature.input_count > SMK_FAMILY_INPUTS_MAX ||
        call->signature.output_count != 1) {
        smk_error_fail(call->state, SMK_INTERNAL, "families.def: the row of %s cannot be called: %s", name,
                       error.message);
        return -1;
    }
    call->inputs = call->signature.input_count;
    return 0;
}

PyObject *smk_family_call(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given,
                          PyObject *keywords)
{
    const char *names[SMK_FAMILY_INPUTS_MAX + KEYWORDS];
    PyObject *values[SMK_FAMILY_INPUTS_MAX + KEYWORDS], *result = NULL;
    family_call call = {.state = smk_core_state(module)};
    if (find_family(&call, name) < 0) {
        return NULL;
    }
    memcpy(names, smk_family_input_names, call.inputs * sizeof names[0]);
    names[call.inputs] = "variant";
    names[call.inputs + 1] = "out";
    names[call.inputs + 2] = "backend";
    Py_ssize_t inputs = (Py_ssize_t)call.inputs;
    smk_call signature = {name, names, inputs + KEYWORDS, inputs, inputs};
    if (smk_bind_call(&signature, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const char *variant = "auto";
    if (values[inputs] != NULL && (variant = smk_bind_text(call.state, name, "variant", values[inputs])) == NULL) {
        return NULL;
    }
    call.out = smk_bind_optional(values[inputs + 1]);
    if (take_operands(&call, values) < 0 || choose_machine(&call, smk_bind_optional(values[inputs + 2])) < 0 ||
        select_variant(&call, variant) < 0 || plan_launch(&call) < 0 || check_out(&call) < 0) {
        goto done;
    }
    result = call.on_device ? run_on_device(&call) : take_host(&call);
done:
    for (size_t i = 0; i < call.inputs; i++) {
        Py_XDECREF(call.operands[i]);
    }
    Py_XDECREF(call.descr);
    return result;
}
