#include "py/calls/scalar.h"

#include "py/arrays/ndarray.h"
#include "py/error.h"
#include "py/keywords.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int refuse(const smk_state *state, smk_place *where, PyObject *value, const char *wanted)
{
    const char *type = Py_TYPE(value)->tp_name;
    if (PyFloat_Check(value) || PyComplex_Check(value) || PyLong_Check(value) || PyArray_IsScalar(value, Number)) {
        smk_error_fail(state, SMK_TYPE, "%s takes %s, not %S of type %.100s", smk_place_text(where), wanted, value,
                       type);
    } else {
        smk_error_fail(state, SMK_TYPE, "%s takes %s, not %.100s", smk_place_text(where), wanted, type);
    }
    return -1;
}

/* Refuses a number that the parameter does not hold. Returns -1. */
static int refuse_range(const smk_state *state, smk_place *where, PyObject *value, unsigned bits, bool is_signed)
{
    const unsigned long long half = 1ULL << (bits - 1), highest = is_signed ? half - 1 : half - 1 + half;
    const long long lowest = -(long long)(half - 1) - 1;
    smk_error_fail(state, SMK_ARGUMENT, "%s takes %lld to %llu and does not hold %R", smk_place_text(where), lowest,
                   highest, value);
    return -1;
}

static bool is_kind_of_bool(PyObject *value)
{
    return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
}

/* Reads the low `bits` bits of an integer. Returns 0, or -1 with an exception set where an integer of that width,
 * signed or unsigned, does not hold the number. nvcc declares int and unsigned alike as .u32, so unsigned parameters
 * accept both ranges. */
static int read_integer(const smk_state *state, smk_place *where, PyObject *value, unsigned bits, bool is_signed,
                        uint64_t *result)
{
    int overflow = 0;
    if (is_kind_of_bool(value)) {
        int truth = PyObject_IsTrue(value);
        *result = truth > 0;
        return truth < 0 ? -1 : 0;
    }
    PyObject *integer = smk_keywords_index(value);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "%s integer of %u bits", bits == 64 ? "an array or an" : "an", bits);
        return refuse(state, where, value, wanted);
    }
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    bool fits = overflow == 0;
    if (overflow > 0 && !is_signed && bits == 64) {
        number = (long long)PyLong_AsUnsignedLongLong(integer);
        fits = !PyErr_Occurred();
        PyErr_Clear();
    } else if (fits && bits < 64) {
        long long lowest = -(1LL << (bits - 1)), highest = (1LL << (is_signed ? bits - 1 : bits)) - 1;
        fits = number >= lowest && number <= highest;
    }
    Py_DECREF(integer);
    if (!fits) {
        return refuse_range(state, where, value, bits, is_signed);
    }
    *result = (uint64_t)number;
    return 0;
}

static int write_float(const smk_state *state, smk_place *where, PyObject *value, smk_type type, unsigned char *target)
{
    /* NumPy would drop an imaginary part, and convert texts and dates */
    bool is_number = PyArray_IsScalar(value, Number) || PyArray_IsScalar(value, Bool);
    if (PyArray_IsScalar(value, ComplexFloating) || (PyArray_IsScalar(value, Generic) && !is_number)) {
        return refuse(state, where, value, "a real number");
    }
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        bool too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
        if (!too_large && !PyErr_ExceptionMatches(PyExc_TypeError)) {
            return -1; /* raised by the number's own __float__ */
        }
        PyErr_Clear();
        if (!too_large) {
            return refuse(state, where, value, "a real number");
        }
        number = DBL_MAX; /* refused below for all types but double, which is refused here */
        if (type == SMK_TYPE_F64) {
            smk_error_fail(state, SMK_ARGUMENT, "%s does not hold %R", smk_place_text(where), value);
            return -1;
        }
    }
    bool fits = true;
    if (type == SMK_TYPE_F64) {
        memcpy(target, &number, sizeof number);
    } else if (type == SMK_TYPE_F16) {
        fits = PyFloat_Pack2(number, (char *)target, PY_LITTLE_ENDIAN) == 0;
        PyErr_Clear();
    } else {
        float rounded = (float)number;
        fits = !isfinite(number) || isfinite(rounded);
        memcpy(target, &rounded, sizeof rounded);
    }
    if (!fits) {
        smk_error_fail(state, SMK_ARGUMENT, "%s does not hold %R", smk_place_text(where), value);
        return -1;
    }
    return 0;
}

/* Converts a NumPy scalar or a 0-d array to native byte order; NULL with an exception set. */
static PyArrayObject *get_native(const smk_state *state, smk_place *where, PyObject *value)
{
    PyArrayObject *array = smk_ndarray_convert(value), *plain = NULL;
    if (array != NULL) {
        plain = smk_ndarray_plain(state, smk_place_text(where), array);
        Py_DECREF(array);
    }
    return plain;
}

static bool is_bytes(PyObject *value)
{
    return PyBytes_Check(value) || PyByteArray_Check(value);
}

static bool is_structure(PyObject *value)
{
    return PyArray_CheckScalar(value) || (PyArray_Check(value) && PyArray_NDIM((PyArrayObject *)value) == 0);
}

/* Reads the size of a structure argument, and its bytes where `target` is not NULL and the size is `room`. */
static int read_structure(const smk_state *state, smk_place *where, PyObject *value, size_t *bytes, size_t room,
                          unsigned char *target)
{
    PyArrayObject *plain = NULL;
    const void *source = NULL;
    if (PyBytes_Check(value)) {
        source = PyBytes_AS_STRING(value);
        *bytes = (size_t)PyBytes_GET_SIZE(value);
    } else if (PyByteArray_Check(value)) {
        source = PyByteArray_AS_STRING(value);
        *bytes = (size_t)PyByteArray_GET_SIZE(value);
    } else {
        plain = get_native(state, where, value);
        if (plain == NULL) {
            return -1;
        }
        source = PyArray_DATA(plain);
        *bytes = (size_t)PyArray_NBYTES(plain);
    }
    if (target != NULL && *bytes == room) {
        memcpy(target, source, room);
    }
    Py_XDECREF(plain);
    return 0;
}

static int write_structure(const smk_state *state, smk_place *where, PyObject *value, size_t bytes,
                           unsigned char *target)
{
    size_t has = 0;
    if (!is_bytes(value) && !is_structure(value)) {
        char wanted[128];
        (void)snprintf(wanted, sizeof wanted, "a structure of %zu bytes: bytes, numpy.void or a structured 0-d array",
                       bytes);
        return refuse(state, where, value, wanted);
    }
    if (read_structure(state, where, value, &has, bytes, target) < 0) {
        return -1;
    }
    if (has != bytes) {
        smk_error_fail(state, SMK_ARGUMENT, "%s takes %zu bytes, the argument has %zu", smk_place_text(where), bytes,
                       has);
        return -1;
    }
    return 0;
}

int smk_scalar_write(const smk_state *state, smk_place *where, PyObject *value, smk_type type, size_t bytes,
                     unsigned char *target)
{
    unsigned bits = smk_module_type_bits(type);
    smk_type_kind kind = smk_module_type_kind(type);
    uint64_t number = 0;
    if (bytes * 8 != bits || bits > 64) {
        return write_structure(state, where, value, bytes, target); /* an array of elements, or .b128 */
    }
    if (type == SMK_TYPE_F16 || type == SMK_TYPE_F32 || type == SMK_TYPE_F64) {
        return write_float(state, where, value, type, target);
    }
    bool is_integer = is_kind_of_bool(value) || PyIndex_Check(value);
    bool is_raw = kind == SMK_KIND_BITS && !is_integer && (is_bytes(value) || is_structure(value));
    if (is_raw || kind == SMK_KIND_FLOAT) { /* bits of any meaning; .f16x2 and similar types */
        return write_structure(state, where, value, bytes, target);
    }
    if (read_integer(state, where, value, bits, kind == SMK_KIND_SIGNED, &number) < 0) {
        return -1;
    }
    memcpy(target, &number, bytes); /* little-endian: every machine that CUDA runs on */
    return 0;
}
