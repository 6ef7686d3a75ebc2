#include "py/calls/argument.h"

#include "py/arrays/array.h"
#include "py/arrays/foreign.h"
#include "py/arrays/ndarray.h"
#include "py/calls/declaration.h"
#include "py/calls/place.h"
#include "py/calls/scalar.h"
#include "py/error.h"

#include <stdio.h>
#include <string.h>

enum { FOREIGN_NAME_BYTES = 128, LIST_BYTES = 256, OVERLAP_WORK = 100000, VALUE_BYTES_MIN = 16 };

/* The declaration of a parameter. */
static const smk_variable *get_parameter(const smk_arguments *arguments, size_t index)
{
    const smk_function *function = arguments->function;
    return &function->variables[function->result_count + index];
}

/* Arrays ----------------------------------------------------------------------------------------- */

static bool is_same_view(PyArrayObject *a, PyArrayObject *b)
{
    int rank = PyArray_NDIM(a);
    return a == b || (PyArray_DATA(a) == PyArray_DATA(b) && rank == PyArray_NDIM(b) &&
                      PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), rank) &&
                      PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(b), rank) &&
                      PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b)));
}

/* Returns 1 where two arrays share a byte, 0 where not, -1 with an exception set. Arrays for which NumPy finds this too
 * hard to tell count as sharing. */
static int share_memory(PyArrayObject *a, PyArrayObject *b)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *answer = NULL;
    /* as plain arrays: a subclass may define shares_memory itself */
    PyObject *plain_a = PyArray_View(a, NULL, &PyArray_Type), *plain_b = PyArray_View(b, NULL, &PyArray_Type);
    int result = -1;
    if (numpy != NULL && plain_a != NULL && plain_b != NULL) {
        answer = PyObject_CallMethod(numpy, "shares_memory", "OOi", plain_a, plain_b, (int)OVERLAP_WORK);
    }
    if (answer != NULL) {
        result = PyObject_IsTrue(answer);
    } else if (PyErr_ExceptionMatches(PyExc_RuntimeError)) { /* numpy.exceptions.TooHardError */
        PyErr_Clear();
        result = 1;
    }
    Py_XDECREF(numpy);
    Py_XDECREF(plain_a);
    Py_XDECREF(plain_b);
    Py_XDECREF(answer);
    return result;
}

/* Keeps the array's memory in place until the arguments are freed. Returns 0, or -1 with an exception set. */
static int hold(smk_arguments *arguments, PyArrayObject *array)
{
    PyObject *held = smk_ndarray_hold(array);
    if (held != NULL && arguments->holds == NULL) {
        arguments->holds = PyList_New(0);
    }
    int status = held == NULL || arguments->holds == NULL ? -1 : PyList_Append(arguments->holds, held);
    Py_XDECREF(held);
    return status;
}

/* Adds a transfer for an array. Returns its number, or -1 with an exception set. */
static Py_ssize_t add_transfer(smk_arguments *arguments, PyArrayObject *array, smk_place *where)
{
    size_t next = arguments->transfer_count;
    bool writeable = PyArray_ISWRITEABLE(array);
    PyArrayObject *plain = smk_ndarray_plain(arguments->state, smk_place_text(where), array);
    if (plain == NULL) {
        return -1;
    }
    const char *text = smk_place_text(where);
    char *name = smk_arena_allocate(&arguments->arena, strlen(text) + 1, 1);
    if (name == NULL) {
        Py_DECREF(plain);
        smk_error_fail(arguments->state, SMK_MEMORY, "%s: no memory left", text);
        return -1;
    }
    memcpy(name, text, strlen(text) + 1);
    arguments->originals[next] = array;
    arguments->plain[next] = plain;
    arguments->transfer_count = next + 1;
    arguments->transfers[next] = (smk_transfer){
        .host = PyArray_DATA(plain),
        .bytes = (uint64_t)PyArray_NBYTES(plain),
        .in = true,
        .out = writeable,
        .fresh = PyArray_DATA(plain) != PyArray_DATA(array),
        .fixed = name,
    };
    return (Py_ssize_t)next;
}

/* Returns the number of the array's transfer, which is that of the same array given before, or a new one; -1 with an
 * exception set. */
static Py_ssize_t find_transfer(smk_arguments *arguments, PyArrayObject *array, smk_place *where)
{
    for (size_t i = 0; i < arguments->transfer_count; i++) {
        PyArrayObject *other = arguments->originals[i];
        bool written = PyArray_ISWRITEABLE(array) || PyArray_ISWRITEABLE(other);
        if (is_same_view(array, other)) {
            if (written) { /* the other one may be a read-only view of this array */
                arguments->originals[i] = PyArray_ISWRITEABLE(array) ? array : other;
                arguments->transfers[i].out = true;
            }
            return (Py_ssize_t)i;
        }
        int shared = written ? share_memory(array, other) : 0;
        if (shared > 0) {
            smk_error_fail(arguments->state, SMK_ARGUMENT,
                           "%s overlaps another array of this call, and one of them is writeable; pass the same array "
                           "twice, or a copy",
                           smk_place_text(where));
        }
        if (shared != 0) {
            return -1;
        }
    }
    return add_transfer(arguments, array, where);
}

/* Refuses an array for a parameter that is no pointer. Returns -1. */
static int refuse_array(const smk_arguments *arguments, PyObject *value, const smk_variable *parameter,
                        smk_place *where)
{
    const unsigned bits = smk_module_type_bits((smk_type)parameter->type);
    const bool is_float = smk_module_type_kind((smk_type)parameter->type) == SMK_KIND_FLOAT;
    PyObject *shape = PyObject_GetAttrString(value, "shape"), *dtype = PyObject_GetAttrString(value, "dtype");
    char wanted[64];
    if (parameter->bytes * 8 != bits) {
        (void)snprintf(wanted, sizeof wanted, "a structure of %llu bytes", (unsigned long long)parameter->bytes);
    } else {
        (void)snprintf(wanted, sizeof wanted, "%s of %u bits", is_float ? "a real number" : "an integer", bits);
    }
    if (shape != NULL && dtype != NULL) {
        smk_error_fail(arguments->state, SMK_TYPE,
                       "%s takes %s: it is not a pointer, and an array of shape %S and type %S was given",
                       smk_place_text(where), wanted, shape, dtype);
    }
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return -1;
}

/* Tells messages of the launch what to call an array. Returns 0, or -1 with an exception set. */
static int describe_array(smk_arguments *arguments, size_t index, const PyArray_Descr *descr, int rank,
                          const npy_intp *shape)
{
    smk_launch_array *array = &arguments->arrays[index];
    const char *name = smk_declaration_name(arguments->declaration, index);
    uint64_t *lengths = smk_arena_allocate(&arguments->arena, (size_t)rank + 1, sizeof *lengths);
    if (lengths == NULL) {
        smk_error_fail(arguments->state, SMK_MEMORY, "%s: no memory left for args[%zu]", arguments->kernel, index);
        return -1;
    }
    for (int i = 0; i < rank; i++) {
        lengths[i] = (uint64_t)shape[i];
    }
    *array = (smk_launch_array){
        .name = {.start = name, .length = strlen(name)},
        .kind = descr->kind,
        .element_bytes = (uint64_t)PyDataType_ELSIZE(descr),
        .rank = (unsigned)rank,
        .shape = lengths,
    };
    return 0;
}

/* Converts an array to the address of its elements. */
static int convert_array(smk_arguments *arguments, size_t index, PyObject *value, smk_place *where)
{
    const smk_variable *parameter = get_parameter(arguments, index);
    smk_array *device = smk_array_cast(arguments->state, value);
    smk_type type = (smk_type)parameter->type;
    if (smk_module_type_bits(type) != 64 || smk_module_type_kind(type) == SMK_KIND_FLOAT || parameter->bytes != 8) {
        return refuse_array(arguments, value, parameter, where);
    }
    bool mixed = device != NULL ? arguments->has_host : arguments->backend != NULL;
    if (mixed) {
        smk_error_fail(arguments->state, SMK_TYPE,
                       "%s: NumPy arrays and device arrays do not mix in one call; use smemkit.asarray or "
                       "smemkit.asnumpy first",
                       smk_place_text(where));
        return -1;
    }
    if (device == NULL) {
        if ((!PyArray_CheckExact(value) &&
             smk_ndarray_check_mask(arguments->state, "", smk_place_text(where), value) < 0) ||
            hold(arguments, (PyArrayObject *)value) < 0) {
            return -1;
        }
        arguments->has_host = true;
        Py_ssize_t transfer = find_transfer(arguments, (PyArrayObject *)value, where);
        if (transfer < 0) {
            return -1;
        }
        arguments->parameters[index] = &arguments->transfers[transfer].address;
        PyArrayObject *array = (PyArrayObject *)value;
        return describe_array(arguments, index, PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array));
    }
    if (arguments->backend != NULL && arguments->backend != device->backend) {
        smk_error_fail(arguments->state, SMK_ARGUMENT,
                       "%s lives on '%s', another array of this call on '%s'; move it with smemkit.asarray",
                       smk_place_text(where), device->backend->name, arguments->backend->name);
        return -1;
    }
    if (arguments->backend != NULL && arguments->device != device->device) {
        smk_error_fail(arguments->state, SMK_ARGUMENT,
                       "%s lives on device %d, another array of this call on device %d; copy it there: "
                       "d.copy(device=%d)",
                       smk_place_text(where), device->device, arguments->device, arguments->device);
        return -1;
    }
    if (!device->contiguous) {
        smk_error_fail(arguments->state, SMK_ARGUMENT,
                       "%s is a view whose elements do not lie side by side in C order, and a kernel gets an address "
                       "alone; pass a copy (d.copy()), or d.pointer where the kernel knows the strides",
                       smk_place_text(where));
        return -1;
    }
    if (smk_array_note(arguments->state, device) < 0) {
        return -1;
    }
    arguments->backend = device->backend;
    arguments->device = device->device;
    arguments->parameters[index] = &device->address;
    return describe_array(arguments, index, device->descr, device->rank, device->shape);
}

/* All values ------------------------------------------------------------------------------------- */

static int convert_value(smk_arguments *arguments, size_t index, PyObject *value, smk_place *where)
{
    const smk_variable *parameter = get_parameter(arguments, index);
    unsigned char *target = smk_arena_allocate(&arguments->arena, (size_t)parameter->bytes + VALUE_BYTES_MIN, 1);
    if (target == NULL) {
        smk_error_fail(arguments->state, SMK_MEMORY, "%s: no memory left", smk_place_text(where));
        return -1;
    }
    arguments->parameters[index] = target;
    return smk_scalar_write(arguments->state, where, value, (smk_type)parameter->type, (size_t)parameter->bytes,
                            target);
}

/* True for arrays. A structured 0-d array is an array for a parameter that is a pointer, and a value for any other. */
static bool is_array_argument(const smk_arguments *arguments, size_t index, PyObject *value)
{
    const smk_variable *parameter = get_parameter(arguments, index);
    if (smk_array_cast(arguments->state, value) != NULL) {
        return true;
    }
    if (!PyArray_Check(value)) {
        return false;
    }
    bool is_aggregate = parameter->bytes != 8 || smk_module_type_bits((smk_type)parameter->type) != 64;
    bool is_value = PyArray_NDIM((PyArrayObject *)value) == 0 && PyArray_TYPE((PyArrayObject *)value) == NPY_VOID;
    return !(is_aggregate && is_value);
}

static int allocate_lists(smk_arguments *arguments, size_t count)
{
    arguments->count = count;
    arguments->parameters = smk_arena_allocate(&arguments->arena, count, sizeof *arguments->parameters);
    arguments->arrays = smk_arena_allocate(&arguments->arena, count, sizeof *arguments->arrays);
    arguments->transfers = smk_arena_allocate(&arguments->arena, count, sizeof *arguments->transfers);
    arguments->originals = smk_arena_allocate(&arguments->arena, count, sizeof *arguments->originals);
    arguments->plain = smk_arena_allocate(&arguments->arena, count, sizeof *arguments->plain);
    if (arguments->parameters == NULL || arguments->transfers == NULL || arguments->originals == NULL ||
        arguments->plain == NULL || arguments->arrays == NULL) {
        smk_error_fail(arguments->state, SMK_MEMORY, "%s: no memory left for %zu arguments", arguments->kernel, count);
        return -1;
    }
    return 0;
}

/* Compares the elements of all arrays with the declaration, where it is known. */
static int check_elements(const smk_arguments *arguments)
{
    for (size_t i = 0; arguments->declaration != NULL && i < arguments->count; i++) {
        PyObject *value = PyTuple_GET_ITEM(arguments->values, (Py_ssize_t)i);
        const smk_array *device = smk_array_cast(arguments->state, value);
        if (device == NULL && !PyArray_Check(value)) {
            continue;
        }
        PyArray_Descr *descr = device != NULL ? device->descr : PyArray_DESCR((PyArrayObject *)value);
        const size_t bytes = device != NULL ? (size_t)device->bytes : (size_t)PyArray_NBYTES((PyArrayObject *)value);
        if (smk_declaration_check_array(arguments->state, arguments->kernel, arguments->declaration, i, descr, bytes,
                                        device != NULL) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Replaces arrays of other libraries. Returns 0, or -1 with an exception set. */
static int take_foreign(smk_arguments *arguments)
{
    char where[FOREIGN_NAME_BYTES];
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments->given);
    arguments->values = PyTuple_New(count);
    for (Py_ssize_t i = 0; arguments->values != NULL && i < count; i++) {
        PyObject *given = PyTuple_GET_ITEM(arguments->given, i), *value = NULL;
        if (smk_foreign_is_own(arguments->state, given)) {
            value = Py_NewRef(given);
        } else {
            (void)snprintf(where, sizeof where, "%.100s: args[%zd]", arguments->kernel, i);
            value = smk_foreign_take(arguments->state, where, given);
        }
        if (value == NULL) {
            return -1;
        }
        PyTuple_SET_ITEM(arguments->values, i, value);
    }
    return arguments->values == NULL ? -1 : 0;
}

/* Sets the error of a wrong number of arguments; it lists the parameters where their declaration is known. */
static void refuse_count(const smk_arguments *arguments, size_t count)
{
    const size_t needed = arguments->function->parameter_count;
    char list[LIST_BYTES] = "";
    bool known = needed > 0;
    for (size_t i = 0, used = 0; known && i < needed; i++) {
        const char *type = smk_declaration_type(arguments->declaration, i);
        const char *space = type[0] != '\0' && type[strlen(type) - 1] == '*' ? "" : " ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%s%s", i == 0 ? " (" : ", ", type, space,
                                 smk_declaration_name(arguments->declaration, i));
        known = type[0] != '\0' && used < sizeof list;
    }
    smk_error_fail(arguments->state, SMK_TYPE, "%s takes %zu argument%s%s%s, args has %zu", arguments->kernel, needed,
                   needed == 1 ? "" : "s", known ? list : "", known ? ")" : "", count);
}

int smk_argument_convert(smk_arguments *arguments, PyObject *sequence)
{
    smk_place where;
    where.kernel = arguments->kernel;
    where.function = arguments->function;
    where.declaration = arguments->declaration;
    if (!PyTuple_Check(sequence) && !PyList_Check(sequence)) {
        smk_error_fail(arguments->state, SMK_TYPE,
                       "%s: args must be a tuple or list, not %.100s: the kernel's own arguments go into one, as in "
                       "kernel(grid, block, (x, n)); of one argument (x,)",
                       arguments->kernel, Py_TYPE(sequence)->tp_name);
        return -1;
    }
    /* a copy, because a list may change while the kernel runs */
    arguments->given = PySequence_Tuple(sequence);
    if (arguments->given == NULL || take_foreign(arguments) < 0) {
        return -1;
    }
    size_t count = (size_t)PyTuple_GET_SIZE(arguments->values);
    if (count != arguments->function->parameter_count) {
        refuse_count(arguments, count);
        return -1;
    }
    if (allocate_lists(arguments, count) < 0 || check_elements(arguments) < 0) {
        return -1;
    }
    for (int arrays = 0; arrays < 2; arrays++) {
        for (size_t i = 0; i < count; i++) {
            PyObject *value = PyTuple_GET_ITEM(arguments->values, (Py_ssize_t)i);
            if (is_array_argument(arguments, i, value) != (arrays != 0)) {
                continue;
            }
            where.index = i;
            where.text[0] = '\0';
            if ((arrays ? convert_array(arguments, i, value, &where) : convert_value(arguments, i, value, &where)) <
                0) {
                return -1;
            }
        }
    }
    return 0;
}

int smk_argument_finish(const smk_arguments *arguments)
{
    for (size_t i = 0; i < arguments->transfer_count; i++) {
        if (arguments->transfers[i].out && PyArray_DATA(arguments->plain[i]) != PyArray_DATA(arguments->originals[i]) &&
            PyArray_CopyInto(arguments->originals[i], arguments->plain[i]) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; arguments->backend != NULL && i < arguments->count; i++) {
        PyObject *given = PyTuple_GET_ITEM(arguments->given, (Py_ssize_t)i);
        PyObject *value = PyTuple_GET_ITEM(arguments->values, (Py_ssize_t)i);
        if (given != value &&
            smk_foreign_finish(arguments->state, given, smk_array_cast(arguments->state, value)) < 0) {
            return -1;
        }
    }
    return 0;
}

void smk_argument_free(smk_arguments *arguments)
{
    for (size_t i = 0; i < arguments->transfer_count; i++) {
        Py_XDECREF(arguments->plain[i]);
    }
    smk_arena_free(&arguments->arena);
    Py_CLEAR(arguments->holds);
    Py_CLEAR(arguments->values);
    Py_CLEAR(arguments->given);
}
