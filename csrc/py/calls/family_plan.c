#include "py/calls/family_plan.h"

#include "py/arrays/array.h"
#include "py/arrays/ndarray.h"
#include "py/calls/family_items.h"
#include "py/error.h"

#include <stdio.h>
#include <string.h>

/* Writes the type's name as the tables spell it: its own, or bits8 to bits128 where the family moves items of any
 * type. */
static int name_type(const smk_family_call *call, PyArray_Descr *descr, char *type)
{
    static const char *const bits[] = {[1] = "bits8", [2] = "bits16", [4] = "bits32", [8] = "bits64", [16] = "bits128"};
    npy_intp item_bytes = PyDataType_ELSIZE(descr);
    PyObject *name = smk_ndarray_type_name(descr);
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (text != NULL) {
        (void)snprintf(type, SMK_FAMILY_CALL_TYPE_BYTES, "%s", text);
    }
    Py_XDECREF(name);
    if (text == NULL) {
        return -1;
    }
    if (smk_ndarray_moves(descr) && item_bytes <= SMK_ITEM_BYTES_MAX && bits[item_bytes] != NULL) {
        for (size_t i = 0; i < smk_registry_variant_count(); i++) {
            int64_t index = 0;
            const smk_variant *row = smk_registry_variant(i);
            if (strcmp(row->family, call->family->name) == 0 &&
                smk_registry_lists(row->types, bits[item_bytes], &index)) {
                (void)snprintf(type, SMK_FAMILY_CALL_TYPE_BYTES, "%s", bits[item_bytes]);
            }
        }
    }
    return 0;
}

/* Replaces float32 by the type that was asked for instead, or that the named variant has. Returns 0, or -1 with an
 * exception set. */
static int replace_type(const smk_family_call *call, const char *variant, size_t input, char *type)
{
    if (call->instead[0] != '\0') {
        if (strcmp(type, "float32") != 0) {
            smk_error_fail(call->state, SMK_TYPE, "%s: '%s' is a way to multiply float32, and %s has the type %s",
                           call->family->name, call->instead, call->input[input].name, type);
            return -1;
        }
        (void)snprintf(type, SMK_FAMILY_CALL_TYPE_BYTES, "%s", call->instead);
        return 0;
    }
    for (size_t i = 0; i < smk_registry_variant_count(); i++) {
        const smk_variant *row = smk_registry_variant(i);
        if (strcmp(row->family, call->family->name) == 0 && strcmp(row->name, variant) == 0) {
            const char *own = smk_registry_type(row, type);
            if (own != NULL && own != type) {
                (void)snprintf(type, SMK_FAMILY_CALL_TYPE_BYTES, "%s", own);
            }
        }
    }
    return 0;
}

/* Whether numbers of a type can become floating-point numbers without the loss of a part of them. */
static bool is_real(PyArray_Descr *type)
{
    PyArray_Descr *real = PyArray_DescrFromType(NPY_DOUBLE);
    const bool casts = PyArray_CanCastTypeTo(type, real, NPY_SAME_KIND_CASTING);
    Py_DECREF(real);
    return casts;
}

/* Says that an input has another type than the first one, and what holds the values of both. */
static void refuse_mixture(const smk_family_call *call, size_t input, PyObject *first, PyObject *other)
{
    const char *names[] = {call->input[0].name, call->input[input].name};
    PyArray_Descr *types[] = {smk_family_call_type(call, call->operands[0]),
                              smk_family_call_type(call, call->operands[input])};
    PyArray_Descr *common = PyArray_PromoteTypes(types[0], types[1]);
    PyObject *wide = common == NULL ? NULL : smk_ndarray_type_name(common);
    PyErr_Clear(); /* no type holds both */
    Py_XDECREF(common);
    if (wide == NULL) {
        smk_error_fail(call->state, SMK_TYPE, "%s: %s has the type %U and %s has %U; all inputs must have one type",
                       call->family->name, names[0], first, names[1], other);
    } else if (PyUnicode_Compare(wide, first) == 0 || PyUnicode_Compare(wide, other) == 0) {
        const char *narrow = names[PyUnicode_Compare(wide, first) == 0];
        smk_error_fail(call->state, SMK_TYPE,
                       "%s: %s has the type %U and %s has %U; all inputs must have one type: convert one, as in "
                       "%s.astype('%U')",
                       call->family->name, names[0], first, names[1], other, narrow, wide);
    } else {
        smk_error_fail(call->state, SMK_TYPE,
                       "%s: %s has the type %U and %s has %U; all inputs must have one type: '%U' holds the values of "
                       "both",
                       call->family->name, names[0], first, names[1], other, wide);
    }
    Py_XDECREF(wide);
}

/* Selects the variant for the type of one input. Returns 0, or -1 with an exception set. */
static int select_for(smk_family_call *call, const char *variant, size_t input)
{
    smk_error error = {0};
    char type[SMK_FAMILY_CALL_TYPE_BYTES];
    const char *operand = call->input[input].name;
    if (name_type(call, smk_family_call_type(call, call->operands[input]), type) < 0 ||
        replace_type(call, variant, input, type) < 0) {
        return -1;
    }
    smk_status status = smk_registry_select(call->family->name, variant, type, &call->variant, &error);
    if (status == SMK_TYPE && call->instead[0] != '\0') {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s variant '%s' does not multiply by '%s': leave one of them away",
                       call->family->name, variant, call->instead);
        return -1;
    }
    if (status == SMK_TYPE) {
        PyObject *given = call->given[input];
        const bool is_array = PyArray_Check(given) || smk_array_cast(call->state, given) != NULL;
        const int kind = smk_family_call_type(call, call->operands[input])->type_num;
        if (!is_array && kind == NPY_OBJECT) { /* numpy.asarray(...) would make no numbers of it either */
            smk_error_fail(call->state, SMK_TYPE,
                           PyObject_HasAttrString(given, "toarray")
                               ? "%s, and NumPy makes no numbers of this %s: pass %s.toarray()"
                               : "%s, and NumPy makes no numbers of this %s: pass %s as an array of numbers",
                           error.message, Py_TYPE(given)->tp_name, operand);
        } else if (is_array && !is_real(smk_family_call_type(call, call->operands[input]))) {
            smk_error_fail(call->state, SMK_TYPE, "%s", error.message);
        } else {
            smk_error_fail(call->state, SMK_TYPE,
                           is_array ? "%s; %s can be converted with %s.astype(...)"
                                    : "%s; pass %s as an array of such a type: numpy.asarray(%s, ...)",
                           error.message, operand, operand);
        }
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
    PyArray_Descr *first = smk_family_call_type(call, call->operands[0]);
    PyArray_Descr *other = smk_family_call_type(call, call->operands[input]);
    PyObject *names[] = {smk_ndarray_type_name(first), smk_ndarray_type_name(other)};
    bool same = names[0] != NULL && names[1] != NULL && PyUnicode_Compare(names[0], names[1]) == 0;
    if (!same && !PyErr_Occurred()) {
        refuse_mixture(call, input, names[0], names[1]);
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

/* Chooses the types of the first input and of the result, in native byte order. */
static int choose_types(smk_family_call *call)
{
    call->descr = PyArray_DescrNewByteorder(smk_family_call_type(call, call->operands[0]), NPY_NATIVE);
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

/* Binds the shapes to the signature: dimensions and shape of the result. */
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
        const size_t leading = smk_family_items_leading(call, i, ranks[i]);
        shape += leading;
        ranks[i] -= leading;
        names[i] = smk_family_call_name(call, i);
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
    if (call->stack != NULL) {
        return smk_family_items_bind(call);
    }
    call->out_rank = (int)call->signature.rank[call->inputs];
    for (int j = 0; j < call->out_rank; j++) {
        call->out_shape[j] = (npy_intp)call->dimensions[call->signature.axis[call->inputs][j]];
    }
    return 0;
}

/* Checks that a kernel can write to out: it lies in one piece, and no input shares its memory. */
static int check_device_out(const smk_family_call *call, const smk_array *out)
{
    const char *family = call->family->name;
    if (out->readonly) {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s: out is read-only", family);
        return -1;
    }
    if (!out->contiguous) {
        smk_error_fail(call->state, SMK_ARGUMENT,
                       "%s: out is a view whose elements are not in C order side by side; pass a whole array, or leave "
                       "out away",
                       family);
        return -1;
    }
    for (size_t i = 0; i < call->inputs; i++) {
        const smk_array *input = smk_array_cast(call->state, call->operands[i]);
        if (smk_array_overlaps(input, out)) {
            const char *name = smk_family_call_name(call, i);
            smk_error_fail(call->state, SMK_ARGUMENT,
                           input == out ? "%s: out is %s itself, which is read while out is written"
                                        : "%s: out shares memory with %s, which is read while out is written",
                           family, name);
            return -1;
        }
    }
    return 0;
}

/* Checks the type and the memory of out; its shape is bound with the others. */
static int check_out(const smk_family_call *call)
{
    const char *family = call->family->name;
    if (call->out == NULL) {
        return 0;
    }
    PyArray_Descr *descr = smk_family_call_type(call, call->out);
    if (!PyArray_EquivTypes(descr, call->result_descr)) {
        const bool sums =
            strcmp(call->family->result, "sum") == 0 && !PyArray_EquivTypes(call->descr, call->result_descr);
        smk_error_fail(
            call->state, SMK_TYPE,
            sums ? "%s: out has the type %S, the result has %S, as the sums have it: pass an out of this type "
                   "and convert it afterwards"
                 : "%s: out has the type %S, the result has %S",
            family, (PyObject *)descr, (PyObject *)call->result_descr);
        return -1;
    }
    if (!call->on_device && !PyArray_ISWRITEABLE((PyArrayObject *)call->out)) {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s: out is read-only", family);
        return -1;
    }
    return call->on_device ? check_device_out(call, smk_array_cast(call->state, call->out)) : 0;
}

int smk_family_plan_select(smk_family_call *call, const char *variant)
{
    return select_variant(call, variant) < 0 || choose_types(call) < 0 || bind_shapes(call) < 0 ? -1 : check_out(call);
}

/* The last plan of this host thread and what it was made for: loops make the same call again and again. */
typedef struct plan_key {
    const smk_family *family;
    smk_machine machine;
    int64_t dimensions[SMK_DIMENSIONS_MAX], numbers[SMK_FAMILY_CALL_ATTRIBUTES_MAX];
    uint64_t workspace_below;
    bool repeatable;
    int64_t stack;
    smk_layout layout[SMK_OPERANDS_MAX_FAMILY];
    const smk_variant *selected; /* by name, or the first for "auto" */
    bool chooses;
    char choice[SMK_NAME_MAX], type[SMK_FAMILY_CALL_TYPE_BYTES];
} plan_key;

static _Thread_local struct {
    plan_key key;
    const smk_variant *variant; /* NULL: no plan yet */
    smk_plan plan;
} last;

static void write_key(const smk_family_call *call, bool chooses, bool repeatable, plan_key *key)
{
    memset(key, 0, sizeof *key); /* the padding too, because keys are compared as bytes */
    key->family = call->family;
    key->machine.capability = call->machine->capability;
    key->machine.multiprocessors = call->machine->multiprocessors;
    key->machine.shared_bytes_max = call->machine->shared_bytes_max;
    key->machine.slowdown = call->machine->slowdown;
    memcpy(key->dimensions, call->dimensions, sizeof key->dimensions);
    memcpy(key->numbers, call->numbers, call->number_count * sizeof call->numbers[0]);
    key->workspace_below = call->workspace_below;
    if (call->stack != NULL) {
        key->stack = call->items.stack;
        memcpy(key->layout, call->items.layout, sizeof key->layout);
    }
    key->selected = call->variant;
    key->chooses = chooses;
    key->repeatable = repeatable;
    (void)snprintf(key->choice, sizeof key->choice, "%s", call->choice);
    (void)snprintf(key->type, sizeof key->type, "%s", call->type);
}

smk_request smk_family_plan_request(const smk_family_call *call)
{
    return (smk_request){
        .family = call->family,
        .variant = call->variant,
        .signature = &call->signature,
        .dimensions = call->dimensions,
        .numbers = call->numbers,
        .number_count = call->number_count,
        .stack = call->stack != NULL ? call->items.stack : 1,
        .layout = call->stack != NULL ? call->items.layout : NULL,
        .choice = call->choice,
        .type = call->type,
        .item_bytes = (size_t)PyDataType_ELSIZE(call->descr),
        .machine = call->machine,
        .workspace_below = call->workspace_below,
    };
}

/* `chooses` among the variants, and then perhaps among those that a graph can repeat. */
static int make(smk_family_call *call, bool chooses, bool repeatable)
{
    smk_error error = {0};
    smk_request request = smk_family_plan_request(call);
    request.repeatable = repeatable;
    plan_key key;
    write_key(call, chooses, repeatable, &key);
    if (last.variant != NULL && memcmp(&key, &last.key, sizeof key) == 0) {
        call->variant = last.variant;
        call->plan = last.plan;
        return 0;
    }
    smk_status status =
        chooses ? smk_plan_choose(&request, &call->plan, &error) : smk_plan_make(&request, &call->plan, &error);
    call->variant = request.variant;
    if (status != SMK_OK) {
        smk_error_raise(call->state, &error);
        return -1;
    }
    memcpy(&last.key, &key, sizeof key); /* with the padding */
    last.variant = call->variant;
    last.plan = call->plan;
    return 0;
}

/* Plans again for operands in C order where the plan takes no other ones. */
static int make_in_order(smk_family_call *call, const smk_variant *selected, bool chooses, bool repeatable)
{
    if (call->stack == NULL || call->plan.takes_layout || call->plan.step_count == 0 ||
        smk_family_items_in_order(call)) {
        return 0;
    }
    call->variant = selected;
    return smk_family_items_pack(call) < 0 ? -1 : make(call, chooses, repeatable);
}

int smk_family_plan_make(smk_family_call *call, const char *variant)
{
    const bool chooses = strcmp(variant, "auto") == 0;
    const smk_variant *selected = call->variant;
    if (call->stack != NULL && call->items.stack == 0) { /* an empty stack */
        call->plan = (smk_plan){.step_count = 0};
        return 0;
    }
    if (make(call, chooses, false) < 0 || make_in_order(call, selected, chooses, false) < 0) {
        return -1;
    }
    /* asked only where it matters, since the question to the driver takes longer than the rest */
    if (chooses && call->plan.symbol != NULL && call->on_device &&
        smk_stream_scope_captured(call->backend, call->device)) {
        call->variant = selected;
        return make(call, true, true);
    }
    return 0;
}
