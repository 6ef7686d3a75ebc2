#include "py/calls/family.h"

#include "py/arrays/array.h"
#include "py/arrays/ndarray.h"
#include "py/backends/backend.h"
#include "py/backends/selection.h"
#include "py/calls/family_call.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"

#include <stdio.h>
#include <string.h>

enum { KEYWORDS = 3 };

static PyArray_Descr *get_type(const smk_family_call *call, PyObject *operand)
{
    smk_array *array = smk_array_cast(call->state, operand);
    return array != NULL ? array->descr : PyArray_DESCR((PyArrayObject *)operand);
}

/* The name of operand `i`, inputs first. */
static const char *name_of(const smk_family_call *call, size_t i)
{
    return i < call->inputs ? call->input[i].name : "out";
}

/* An input of a type of its own, converted to it where nothing can be lost; takes `array`. */
static PyObject *convert_fixed(const smk_family_call *call, const smk_input *input, PyArrayObject *array)
{
    PyArray_Descr *wanted = NULL;
    PyObject *name = PyUnicode_FromString(input->type), *result = NULL;
    if (array == NULL || name == NULL || PyArray_DescrConverter(name, &wanted) == NPY_FAIL) {
        goto done;
    }
    if (!PyArray_CanCastTypeTo(PyArray_DESCR(array), wanted, NPY_SAFE_CASTING)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: %s has the type %S, which does not convert to %s without loss",
                       call->family->name, input->name, (PyObject *)PyArray_DESCR(array), input->type);
        goto done;
    }
    result = (PyObject *)smk_ndarray_cast(array, wanted);
done:
    Py_XDECREF(name);
    Py_XDECREF(wanted);
    Py_XDECREF(array);
    return result;
}

static PyObject *take_operand(const smk_family_call *call, size_t i, PyObject *value)
{
    const smk_input *input = &call->input[i];
    if (!call->on_device) {
        if (smk_ndarray_check_mask(call->state, call->family->name, input->name, value) < 0) {
            return NULL;
        }
        PyArrayObject *array = smk_ndarray_convert(value);
        return input->type[0] == '\0' ? (PyObject *)array : convert_fixed(call, input, array);
    }
    PyObject *name = input->type[0] == '\0' ? NULL : smk_ndarray_type_name(get_type(call, value));
    bool right = name == NULL || PyUnicode_CompareWithASCIIString(name, input->type) == 0;
    Py_XDECREF(name);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!right) {
        smk_error_fail(call->state, SMK_TYPE, "%s: %s has the type %S, a device array for it must be %s",
                       call->family->name, input->name, (PyObject *)get_type(call, value), input->type);
        return NULL;
    }
    return Py_NewRef(value);
}

/* What the next operand is asked for may run any code: the memory of this one stays where it is. */
static int hold(smk_family_call *call, size_t i, PyObject *array)
{
    call->holds[i] = smk_ndarray_hold((PyArrayObject *)array);
    return call->holds[i] == NULL ? -1 : 0;
}

/* NumPy or device arrays, never both. */
static int take_operands(smk_family_call *call, PyObject *const *values)
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
        if (smk_ndarray_check_mask(call->state, call->family->name, "out", call->out) < 0) {
            return -1;
        }
        mixed = mixed || out_on_device != call->on_device;
        if (!out_on_device && hold(call, call->inputs, call->out) < 0) {
            return -1;
        }
    }
    if (mixed) {
        smk_error_fail(call->state, SMK_TYPE,
                       "%s: NumPy arrays and device arrays do not mix in one call; use smemkit.asarray or "
                       "smemkit.asnumpy first",
                       call->family->name);
        return -1;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        call->operands[i] = take_operand(call, i, values[i]);
        if (call->operands[i] == NULL || (!call->on_device && hold(call, i, call->operands[i]) < 0)) {
            return -1;
        }
    }
    return 0;
}

/* What plans may depend on of the call's device. */
static int describe_machine(smk_family_call *call)
{
    smk_error error = {0};
    int before = 0;
    smk_status status = smk_backend_enter(call->backend, call->device, &before, &error);
    if (status == SMK_OK) {
        status = call->backend->machine(&call->machine, &error);
        smk_backend_leave(call->backend, call->device, before);
    }
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    return 0;
}

/* All device arrays of a call must lie on one device of their machine. */
static int choose_device(smk_family_call *call)
{
    call->device = call->on_device ? smk_array_cast(call->state, call->operands[0])->device : SMK_DEVICE_PRESENT;
    for (size_t i = 1; call->on_device && i <= call->inputs; i++) {
        const smk_array *array = smk_array_cast(call->state, i < call->inputs ? call->operands[i] : call->out);
        if (array != NULL && array->device != call->device) {
            smk_error_fail(call->state, SMK_ARGUMENT,
                           "%s: %s lives on device %d, %s on device %d; by way of the host it gets there: "
                           "smemkit.asarray(smemkit.asnumpy(%s))",
                           call->family->name, name_of(call, i), array->device, name_of(call, 0), call->device,
                           name_of(call, i));
            return -1;
        }
    }
    return 0;
}

/* The machine: that of the device arrays, which the keyword may only confirm; else as for every call. */
static int choose_machine(smk_family_call *call, PyObject *keyword)
{
    const smk_backend *asked = NULL;
    if ((!call->on_device || keyword != NULL) && smk_selection_choose(call->state, keyword, &asked) < 0) {
        return -1;
    }
    call->backend = call->on_device ? smk_array_cast(call->state, call->operands[0])->backend : asked;
    for (size_t i = 0; call->on_device && i <= call->inputs; i++) {
        PyObject *operand = i < call->inputs ? call->operands[i] : call->out;
        const smk_array *array = smk_array_cast(call->state, operand);
        if (array != NULL && array->backend != (asked != NULL ? asked : call->backend)) {
            const char *name = name_of(call, i);
            smk_error_fail(call->state, SMK_ARGUMENT,
                           "%s: %s lives on '%s', the call is for '%s'; move it with smemkit.asarray(%s, backend='%s')",
                           call->family->name, name, array->backend->name,
                           (asked != NULL ? asked : call->backend)->name, name,
                           (asked != NULL ? asked : call->backend)->name);
            return -1;
        }
    }
    return choose_device(call) < 0 ? -1 : describe_machine(call);
}

/* The type's name as the tables have it: its own, or bits32 where the family moves items of any type. */
static int name_type(const smk_family_call *call, PyArray_Descr *descr, char *type)
{
    static const char *const bits[] = {[1] = "bits8", [2] = "bits16", [4] = "bits32", [8] = "bits64"};
    npy_intp item_bytes = PyDataType_ELSIZE(descr);
    PyObject *name = smk_ndarray_type_name(descr);
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (text != NULL) {
        (void)snprintf(type, SMK_FAMILY_TYPE_BYTES, "%s", text);
    }
    Py_XDECREF(name);
    if (text == NULL) {
        return -1;
    }
    if (smk_ndarray_moves(descr) && item_bytes <= SMK_ITEM_BYTES_MAX && bits[item_bytes] != NULL) {
        for (size_t i = 0; i < smk_registry_variant_count(); i++) {
            int64_t place = 0;
            const smk_variant *row = smk_registry_variant(i);
            if (strcmp(row->family, call->family->name) == 0 &&
                smk_registry_lists(row->types, bits[item_bytes], &place)) {
                (void)snprintf(type, SMK_FAMILY_TYPE_BYTES, "%s", bits[item_bytes]);
            }
        }
    }
    return 0;
}

/* The variant for the type of one input. 0, or -1 with an exception. */
static int select_for(smk_family_call *call, const char *variant, size_t input)
{
    smk_error error = {0};
    char type[SMK_FAMILY_TYPE_BYTES];
    const char *operand = call->input[input].name;
    if (name_type(call, get_type(call, call->operands[input]), type) < 0) {
        return -1;
    }
    smk_status status = smk_registry_select(call->family->name, variant, type, &call->variant, &error);
    if (status == SMK_TYPE) {
        smk_error_fail(call->state, SMK_TYPE, "%s; %s can be converted with %s.astype(...)", error.message, operand,
                       operand);
        return -1;
    }
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    if (input == 0) {
        memcpy(call->type, type, sizeof type);
        return 0;
    }
    PyArray_Descr *first = get_type(call, call->operands[0]), *other = get_type(call, call->operands[input]);
    PyObject *names[] = {smk_ndarray_type_name(first), smk_ndarray_type_name(other)};
    bool same = names[0] != NULL && names[1] != NULL && PyUnicode_Compare(names[0], names[1]) == 0;
    if (!same && !PyErr_Occurred()) {
        smk_error_fail(call->state, SMK_TYPE, "%s: %s has the type %U and %s has %U; all inputs must have one type",
                       call->family->name, call->input[0].name, names[0], operand, names[1]);
    }
    Py_XDECREF(names[0]);
    Py_XDECREF(names[1]);
    return same ? 0 : -1;
}

static int select_variant(smk_family_call *call, const char *variant)
{
    for (size_t i = 0; i < call->inputs; i++) {
        if (call->input[i].type[0] == '\0' && select_for(call, variant, i) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Types of the first input and of the result, in the machine's byte order. */
static int choose_types(smk_family_call *call)
{
    call->descr = PyArray_DescrNewByteorder(get_type(call, call->operands[0]), NPY_NATIVE);
    const char *result = smk_registry_result(call->family, call->choice, call->type);
    if (call->descr == NULL) {
        return -1;
    }
    if (result == NULL) {
        smk_error_fail(call->state, SMK_INTERNAL, "choices.def: no row for %s of %s", call->family->name, call->type);
        return -1;
    }
    if (strcmp(result, call->type) == 0) {
        call->result_descr = (PyArray_Descr *)Py_NewRef((PyObject *)call->descr);
        return 0;
    }
    PyObject *name = PyUnicode_FromString(result);
    int status = name != NULL && PyArray_DescrConverter(name, &call->result_descr) == NPY_SUCCEED ? 0 : -1;
    Py_XDECREF(name);
    return status;
}

/* Shapes -> dimensions and output shape. */
static int bind_shapes(smk_family_call *call)
{
    size_t ranks[SMK_OPERANDS_MAX_FAMILY];
    const int64_t *shapes[SMK_OPERANDS_MAX_FAMILY];
    int64_t copies[SMK_OPERANDS_MAX_FAMILY][NPY_MAXDIMS];
    const char *names[SMK_OPERANDS_MAX_FAMILY];
    smk_error error = {0};
    size_t operand_count = call->inputs + (call->out != NULL);
    for (size_t i = 0; i < operand_count; i++) {
        PyObject *operand = i < call->inputs ? call->operands[i] : call->out;
        const smk_array *array = smk_array_cast(call->state, operand);
        const npy_intp *shape = array != NULL ? array->shape : PyArray_DIMS((PyArrayObject *)operand);
        ranks[i] = (size_t)(array != NULL ? array->rank : PyArray_NDIM((PyArrayObject *)operand));
        names[i] = name_of(call, i);
        shapes[i] = copies[i];
        for (size_t j = 0; j < ranks[i]; j++) {
            copies[i][j] = (int64_t)shape[j];
        }
        if (i < call->inputs && call->input[i].is_flat) {
            copies[i][0] = (int64_t)PyArray_MultiplyList(shape, (int)ranks[i]);
            ranks[i] = 1;
        }
    }
    if (smk_signature_bind(&call->signature, call->family->name, names, ranks, shapes, operand_count, call->dimensions,
                           &error) != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    call->out_rank = (int)call->signature.rank[call->inputs];
    for (int j = 0; j < call->out_rank; j++) {
        call->out_shape[j] = (npy_intp)call->dimensions[call->signature.axis[call->inputs][j]];
    }
    return 0;
}

/* The plan of the variant that was named, or of the one that is fastest for the shape on the machine. */
static int make_plan(smk_family_call *call, const char *variant)
{
    smk_error error = {0};
    smk_request request = {
        .family = call->family,
        .signature = &call->signature,
        .dimensions = call->dimensions,
        .numbers = call->numbers,
        .number_count = call->number_count,
        .choice = call->choice,
        .type = call->type,
        .item_bytes = (size_t)PyDataType_ELSIZE(call->descr),
        .machine = call->machine,
        .workspace_below = call->workspace_below,
    };
    request.variant = call->variant;
    smk_status status = strcmp(variant, "auto") == 0 ? smk_plan_choose(&request, &call->plan, &error)
                                                     : smk_plan_make(&request, &call->plan, &error);
    call->variant = request.variant;
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    return 0;
}

/* Type and memory of out; its shape is bound with the others. */
static int check_out(const smk_family_call *call)
{
    const char *family = call->family->name;
    if (call->out == NULL) {
        return 0;
    }
    PyArray_Descr *descr = get_type(call, call->out);
    if (!PyArray_EquivTypes(descr, call->result_descr)) {
        smk_error_fail(call->state, SMK_TYPE, "%s: out has the type %S, the result has %S", family, (PyObject *)descr,
                       (PyObject *)call->result_descr);
        return -1;
    }
    if (!call->on_device && !PyArray_ISWRITEABLE((PyArrayObject *)call->out)) {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s: out is read-only", family);
        return -1;
    }
    for (size_t i = 0; call->on_device && i < call->inputs; i++) {
        if (call->operands[i] == call->out) { /* a device array never shares memory with another one */
            smk_error_fail(call->state, SMK_ARGUMENT, "%s: out is %s itself, which is read while out is written",
                           family, name_of(call, i));
            return -1;
        }
    }
    return 0;
}

static int find_family(smk_family_call *call, const char *name)
{
    smk_error error = {0};
    call->family = smk_registry_find_family(name);
    if (call->family == NULL || call->family->signature == NULL ||
        smk_signature_parse(call->family->signature, &call->signature, &error) != SMK_OK ||
        smk_registry_inputs(call->family, call->input, &call->inputs, &error) != SMK_OK || call->inputs == 0 ||
        call->signature.input_count != call->inputs || call->signature.output_count != 1) {
        smk_error_fail(call->state, SMK_INTERNAL, "families.def: the row of %s cannot be called: %s", name,
                       error.message);
        return -1;
    }
    return 0;
}

/* An attribute's value: the place of its word among the choices, or what its kind wants. */
static int take_attribute(smk_family_call *call, const smk_attribute *attribute, PyObject *value)
{
    int64_t place = 0;
    if (attribute->kind == SMK_ATTRIBUTE_NONE) {
        if (value != NULL && value != Py_None) {
            smk_error_fail(call->state, SMK_ARGUMENT, "%s: %s is %R; %s", call->family->name, attribute->name, value,
                           attribute->meaning);
            return -1;
        }
        return 0;
    }
    if (value != NULL) {
        const char *word = smk_keywords_text(call->state, call->family->name, attribute->name, value);
        if (word == NULL) {
            return -1;
        }
        if (!smk_registry_lists(attribute->choices, word, &place)) {
            smk_error_fail(call->state, SMK_ARGUMENT, "%s: %s is '%s', accepted are: %s", call->family->name,
                           attribute->name, word, attribute->choices);
            return -1;
        }
    }
    if (attribute->kind == SMK_ATTRIBUTE_NUMBER) {
        call->numbers[call->number_count++] = place;
    } else {
        (void)smk_registry_word(attribute->choices, (size_t)place, call->choice, sizeof call->choice);
    }
    return 0;
}

static int take_attributes(smk_family_call *call, PyObject *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (take_attribute(call, smk_registry_attribute(call->family->name, i), values[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Where memory is short, "auto" takes what needs less of it beside the arrays. */
static PyObject *run(smk_family_call *call, const char *variant)
{
    PyObject *result = smk_family_run(call);
    while (result == NULL && strcmp(variant, "auto") == 0 && call->plan.workspace_bytes > 0 &&
           !call->plan.restores_workspace && PyErr_ExceptionMatches(call->state->exceptions[SMK_MEMORY])) {
        PyErr_Clear();
        call->workspace_below = call->plan.workspace_bytes;
        if (make_plan(call, variant) < 0) {
            break;
        }
        result = smk_family_run(call);
    }
    return result;
}

PyObject *smk_family_call_named(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given,
                                PyObject *keywords)
{
    const char *names[SMK_FAMILY_INPUTS_MAX + SMK_FAMILY_ATTRIBUTES_MAX + KEYWORDS];
    PyObject *values[SMK_FAMILY_INPUTS_MAX + SMK_FAMILY_ATTRIBUTES_MAX + KEYWORDS], *result = NULL;
    smk_family_call call = {.state = smk_state_of_module(module)};
    if (find_family(&call, name) < 0) {
        return NULL;
    }
    size_t count = 0, attributes = 0;
    for (; count < call.inputs; count++) {
        names[count] = call.input[count].name;
    }
    for (; attributes < SMK_FAMILY_ATTRIBUTES_MAX; attributes++, count++) {
        const smk_attribute *attribute = smk_registry_attribute(name, attributes);
        if (attribute == NULL) {
            break;
        }
        names[count] = attribute->name;
    }
    names[count] = "variant";
    names[count + 1] = "out";
    names[count + 2] = "backend";
    Py_ssize_t last = (Py_ssize_t)count;
    smk_keywords accepted = {name, names, last + KEYWORDS, last, (Py_ssize_t)call.inputs};
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    const char *variant = "auto";
    if (values[count] != NULL && (variant = smk_keywords_text(call.state, name, "variant", values[count])) == NULL) {
        return NULL;
    }
    call.out = smk_keywords_optional(values[count + 1]);
    if (take_attributes(&call, values + call.inputs, attributes) == 0 && take_operands(&call, values) == 0 &&
        choose_machine(&call, smk_keywords_optional(values[count + 2])) == 0 && select_variant(&call, variant) == 0 &&
        choose_types(&call) == 0 && bind_shapes(&call) == 0 && check_out(&call) == 0 &&
        make_plan(&call, variant) == 0) {
        result = run(&call, variant);
    }
    for (size_t i = 0; i < call.inputs; i++) {
        Py_XDECREF(call.operands[i]);
    }
    for (size_t i = 0; i <= call.inputs; i++) {
        Py_XDECREF(call.holds[i]);
    }
    Py_XDECREF(call.descr);
    Py_XDECREF(call.result_descr);
    return result;
}
