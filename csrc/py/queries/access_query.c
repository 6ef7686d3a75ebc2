#include "py/queries/access_query.h"

#include "py/arrays/ndarray.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/named_tuple.h"

#include "sim/cost/bank.h"
#include "sim/cost/sector.h"

#include <stdio.h>
#include <string.h>

enum { BANKS = 32, LENGTHS_MAX = NPY_MAXDIMS };

/* The checked arguments of a call. */
typedef struct access_query {
    const smk_state *state;
    const char *function;
    PyArrayObject *address; /* uint64, C-contiguous, (..., 32) */
    PyArrayObject *mask;    /* uint32, C-contiguous: for the leading axes; without axes, for all */
    PyObject *holds[2];     /* keep both from being resized */
    npy_intp count;         /* number of warps */
    unsigned bytes;         /* of a lane's access */
    uint64_t end;           /* addresses must be below; 0: no limit */
    smk_bank_op op;
} access_query;

int smk_access_query_create(PyObject *module, smk_state *state)
{
    state->bank_access = smk_named_tuple_create(module, "BankAccess", "wavefronts conflicts phases words");
    return state->bank_access == NULL ? -1 : 0;
}

/* Arguments -------------------------------------------------------------------------------------- */

/* Converts an argument to an array of integers, a new reference; NULL with an exception set. */
static PyArrayObject *get_integers(const access_query *query, const char *name, PyObject *value)
{
    if (smk_ndarray_check_mask(query->state, query->function, name, value) < 0) {
        return NULL;
    }
    PyArrayObject *array = smk_ndarray_convert(value);
    if (array == NULL) {
        return NULL;
    }
    if (PyArray_SIZE(array) > 0 && !PyTypeNum_ISINTEGER(PyArray_TYPE(array))) {
        PyObject *type = smk_ndarray_type_name(PyArray_DESCR(array));
        if (type != NULL && PyArray_TYPE(array) == NPY_OBJECT) {
            smk_error_fail(query->state, SMK_TYPE, "%s: %s must be integers that 64 bits hold", query->function, name);
        } else if (type != NULL) {
            smk_error_fail(query->state, SMK_TYPE, "%s: %s must be integers, not %U", query->function, name, type);
        }
        Py_XDECREF(type);
        Py_CLEAR(array);
    }
    return array;
}

/* Converts to a C-contiguous array of a type that holds the numbers modulo its width. The result is an object of our
 * own, whose shape nobody else can set. Steals the reference. */
static PyArrayObject *convert(PyArrayObject *array, int type)
{
    if (array == NULL) {
        return NULL;
    }
    const int wanted = NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | NPY_ARRAY_NOTSWAPPED;
    PyObject *converted = PyArray_FromArray(array, PyArray_DescrFromType(type), wanted);
    PyObject *result = converted == NULL ? NULL : PyArray_View((PyArrayObject *)converted, NULL, &PyArray_Type);
    Py_XDECREF(converted);
    Py_DECREF(array);
    return (PyArrayObject *)result;
}

static int refuse_shape(const access_query *query, PyArrayObject *array)
{
    PyObject *shape = smk_ndarray_shape(PyArray_NDIM(array), PyArray_DIMS(array));
    if (shape != NULL) {
        smk_error_fail(query->state, SMK_SHAPE,
                       "%s: the last axis of addresses must have 32 lanes; the shape of addresses is %R",
                       query->function, shape);
        Py_DECREF(shape);
    }
    return -1;
}

/* Reads the addresses. *is_signed keeps the signedness of their type, which the conversion to uint64 loses. Returns 0,
 * or -1 with an exception set. */
static int read_addresses(access_query *query, PyObject *value, bool *is_signed)
{
    PyArrayObject *array = get_integers(query, "addresses", value);
    if (array == NULL) {
        return -1;
    }
    const int rank = PyArray_NDIM(array);
    if (rank == 0 || PyArray_DIM(array, rank - 1) != SMK_WARP_SIZE) {
        int status = refuse_shape(query, array);
        Py_DECREF(array);
        return status;
    }
    *is_signed = PyTypeNum_ISSIGNED(PyArray_TYPE(array));
    query->count = PyArray_SIZE(array) / SMK_WARP_SIZE;
    query->address = convert(array, NPY_UINT64);
    query->holds[0] = query->address == NULL ? NULL : smk_ndarray_hold(query->address);
    return query->holds[0] == NULL ? -1 : 0;
}

/* Broadcasts the mask to the shape of the leading axes, but for a mask without axes; a new reference, or NULL with an
 * exception set. */
static PyArrayObject *broadcast_mask(const access_query *query, PyArrayObject *mask)
{
    const int rank = PyArray_NDIM(query->address) - 1;
    if (PyArray_NDIM(mask) == 0) {
        return (PyArrayObject *)Py_NewRef((PyObject *)mask);
    }
    PyObject *numpy = PyImport_ImportModule("numpy"), *result = NULL;
    PyObject *shape = smk_ndarray_shape(rank, PyArray_DIMS(query->address));
    if (numpy != NULL && shape != NULL) {
        result = PyObject_CallMethod(numpy, "broadcast_to", "OO", (PyObject *)mask, shape);
        if (result == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_Clear();
            PyObject *mask_shape = smk_ndarray_shape(PyArray_NDIM(mask), PyArray_DIMS(mask));
            if (mask_shape != NULL) {
                smk_error_fail(query->state, SMK_SHAPE,
                               "%s: mask of shape %R does not fit the leading axes of addresses, %R", query->function,
                               mask_shape, shape);
                Py_DECREF(mask_shape);
            }
        }
    }
    Py_XDECREF(numpy);
    Py_XDECREF(shape);
    return (PyArrayObject *)result;
}

static int refuse_mask(const access_query *query, PyObject *mask)
{
    smk_error_fail(query->state, SMK_ARGUMENT, "%s: mask is %R; it has one bit for each of 32 lanes, 0 to 0xffffffff",
                   query->function, mask);
    return -1;
}

static int read_mask(access_query *query, PyObject *value)
{
    PyArrayObject *array = NULL, *wide = NULL;
    if (value == NULL) {
        query->mask = (PyArrayObject *)PyArray_SimpleNew(0, NULL, NPY_UINT32);
        if (query->mask != NULL) {
            *(uint32_t *)PyArray_DATA(query->mask) = UINT32_MAX;
        }
        return query->mask == NULL ? -1 : 0;
    }
    if (PyLong_Check(value) && !PyBool_Check(value)) { /* an int that is too large for an array */
        int overflow = 0;
        (void)PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow != 0) {
            return refuse_mask(query, value);
        }
    }
    array = get_integers(query, "mask", value);
    if (array == NULL) {
        return -1;
    }
    wide = broadcast_mask(query, array);
    Py_DECREF(array);
    wide = convert(wide, NPY_INT64); /* a uint64 above the range of int64 becomes negative, and is refused below */
    if (wide == NULL) {
        return -1;
    }
    const int64_t *number = PyArray_DATA(wide);
    for (npy_intp i = 0; i < PyArray_SIZE(wide); i++) {
        if (number[i] < 0 || number[i] > (int64_t)UINT32_MAX) {
            PyObject *item = PyLong_FromLongLong(number[i]);
            int status = item == NULL ? -1 : refuse_mask(query, item);
            Py_XDECREF(item);
            Py_DECREF(wide);
            return status;
        }
    }
    query->mask = convert(wide, NPY_UINT32);
    query->holds[1] = query->mask == NULL ? NULL : smk_ndarray_hold(query->mask);
    return query->holds[1] == NULL ? -1 : 0;
}

static int read_width(access_query *query, PyObject *value)
{
    long width = 4;
    if (value != NULL) {
        PyObject *integer = smk_keywords_index(value);
        if (integer == NULL && PyErr_Occurred()) {
            return -1;
        }
        if (integer == NULL) {
            smk_error_fail(query->state, SMK_TYPE, "%s: width must be an int, not %.100s", query->function,
                           Py_TYPE(value)->tp_name);
            return -1;
        }
        int overflow = 0;
        width = PyLong_AsLongAndOverflow(integer, &overflow);
        Py_DECREF(integer);
    }
    if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16) {
        smk_error_fail(query->state, SMK_ARGUMENT, "%s: width is %R; accepted are 1, 2, 4, 8 and 16 bytes a lane",
                       query->function, value);
        return -1;
    }
    query->bytes = (unsigned)width;
    return 0;
}

static int read_op(access_query *query, PyObject *value)
{
    const char *text = value == NULL ? "load" : smk_keywords_text(query->state, query->function, "op", value);
    if (text == NULL) {
        return -1;
    }
    char accepted[128];
    size_t length = 0;
    for (int op = 0; op < SMK_BANK_OP_COUNT; op++) {
        const char *name = smk_bank_name((smk_bank_op)op), *before = op + 1 == SMK_BANK_OP_COUNT ? " and " : ", ";
        if (strcmp(text, name) == 0) {
            query->op = (smk_bank_op)op;
            return 0;
        }
        length += (size_t)snprintf(accepted + length, sizeof accepted - length, "%s'%s'", op == 0 ? "" : before, name);
    }
    smk_error_fail(query->state, SMK_ARGUMENT, "%s: op is %R; accepted are %s", query->function, value, accepted);
    return -1;
}

static uint32_t get_mask(const access_query *query, npy_intp warp)
{
    const uint32_t *mask = PyArray_DATA(query->mask);
    return mask[PyArray_NDIM(query->mask) == 0 ? 0 : warp];
}

/* Refuses the first active lane whose address is not accepted; inactive lanes may hold anything. Returns 0, or -1. */
static int check_addresses(const access_query *query, bool is_signed)
{
    const uint64_t *address = PyArray_DATA(query->address);
    for (npy_intp warp = 0; warp < query->count; warp++) {
        const uint32_t mask = get_mask(query, warp);
        for (unsigned lane = 0; lane < SMK_WARP_SIZE; lane++) {
            const uint64_t lane_address = address[warp * SMK_WARP_SIZE + lane];
            const char *fault = is_signed && lane_address >> 63 != 0 ? "it must not be negative"
                                : lane_address % query->bytes != 0   ? "it must be a multiple of the width"
                                : query->end > 0 && lane_address >= query->end
                                    ? "an address of shared memory has 32 bits"
                                    : NULL;
            if (fault == NULL || (mask >> lane & 1) == 0) {
                continue;
            }
            char where[64] = "", number[32];
            if (PyArray_NDIM(query->address) > 1) {
                (void)PyOS_snprintf(where, sizeof where, " of access %lld", (long long)warp);
            }
            (void)PyOS_snprintf(number, sizeof number, is_signed ? "%lld" : "%llu", (long long)lane_address);
            smk_error_fail(query->state, SMK_ARGUMENT, "%s: the address of lane %u%s is %s; %s (width %u)",
                           query->function, lane, where, number, fault, query->bytes);
            return -1;
        }
    }
    return 0;
}

static int read_call(access_query *query, PyObject *const values[3])
{
    bool is_signed = false;
    return read_width(query, values[1]) < 0 || read_addresses(query, values[0], &is_signed) < 0 ||
                   read_mask(query, values[2]) < 0
               ? -1
               : check_addresses(query, is_signed);
}

static void release(access_query *query)
{
    Py_CLEAR(query->holds[0]);
    Py_CLEAR(query->holds[1]);
    Py_CLEAR(query->address);
    Py_CLEAR(query->mask);
}

/* Results ---------------------------------------------------------------------------------------- */

/* A new int64 array of the leading axes; where `last` is not 0, with one more axis of that length. */
static PyArrayObject *create_result(const access_query *query, npy_intp last)
{
    npy_intp shape[LENGTHS_MAX];
    int rank = PyArray_NDIM(query->address) - 1;
    memcpy(shape, PyArray_DIMS(query->address), (size_t)rank * sizeof *shape);
    if (last > 0) {
        shape[rank++] = last;
    }
    return (PyArrayObject *)PyArray_ZEROS(rank, shape, NPY_INT64, 0);
}

/* Converts an array without axes to an int. Steals the reference. */
static PyObject *finish_result(PyArrayObject *array)
{
    if (array == NULL || PyArray_NDIM(array) > 0) {
        return (PyObject *)array;
    }
    PyObject *number = PyLong_FromLongLong(*(const int64_t *)PyArray_DATA(array));
    Py_DECREF(array);
    return number;
}

static void count_banks(const access_query *query, int64_t *const columns[3], int64_t *words)
{
    const uint64_t *address = PyArray_DATA(query->address);
    for (npy_intp warp = 0; warp < query->count; warp++) {
        uint32_t row[BANKS];
        const uint32_t mask = get_mask(query, warp);
        const uint64_t *warp_address = address + warp * SMK_WARP_SIZE;
        const smk_bank_cost cost = smk_bank_count(warp_address, query->bytes, mask, query->op);
        columns[0][warp] = cost.wavefronts;
        columns[1][warp] = cost.conflicts;
        columns[2][warp] = cost.ideal;
        smk_bank_words(warp_address, query->bytes, mask, query->op, row);
        for (unsigned bank = 0; bank < BANKS; bank++) {
            words[warp * BANKS + bank] = row[bank];
        }
    }
}

static const char bank_access_doc[] =
    "bank_access(addresses, width=4, *, mask=0xffffffff, op=\"load\")\n--\n\n"
    "What one warp-wide access to shared memory costs: its wavefronts and bank conflicts.\n\n"
    "Shared memory has 32 banks of 4-byte words: byte a lies in bank a // 4 % 32. An access goes in phases\n"
    "of consecutive lanes, 32 lanes for widths up to 4 bytes, 16 for 8, 8 for 16, and each phase takes as\n"
    "many wavefronts as the bank with the most distinct words has of them; lanes on one word share it. A\n"
    "load of 8 or 16 bytes doubles its phases where every lane's address is that of lane ^ 1, or every\n"
    "one's is that of lane ^ 2. In atomics and copies each lane counts, also those on one word.\n\n"
    "Parameters\n----------\n"
    "addresses : array-like of int\n"
    "    Bytes from the start of shared memory, one a lane; multiples of width. Lanes not in mask may hold\n"
    "    anything.\n"
    "width : int\n"
    "    Bytes a lane: 1, 2, 4, 8 or 16.\n"
    "mask : int or array-like of int\n"
    "    Bit i is set where lane i takes part.\n"
    "op : \"load\", \"store\", \"atomic\", \"async\", \"cas\", \"increment\" or \"matrix\"\n"
    "    \"async\" is the shared side of cp.async.ca from a row of global memory; other sources cost more, and\n"
    "    profile counts all. \"cas\" is compare and swap, \"increment\" is red.add of the constant 1, whose\n"
    "    lanes share words. \"matrix\" is ldmatrix (width 16): each matrix, 8 rows, is a phase.\n\n"
    "Shapes\n------\n"
    "addresses is (..., 32), one row a warp; mask has no axes or broadcasts to the leading ones. Counts\n"
    "have the shape of the leading axes, words is (..., 32).\n\n"
    "Units\n-----\n"
    "Addresses and width in bytes, words in 4-byte words.\n\n"
    "Returns\n-------\n"
    "BankAccess, a named tuple: wavefronts; conflicts, the wavefronts more than there are phases; phases,\n"
    "with a lane that takes part (twice as many for cas, which brings two operands); words, how many distinct\n"
    "words (of atomics: lanes) each bank serves in its busiest phase. The first three are ints for one access\n"
    "and int64 arrays for more.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) where addresses or mask are no integers, ShapeError (ValueError) where\n"
    "the last axis is not 32 or mask does not fit, ArgumentError (ValueError) for a width, op or mask that\n"
    "does not exist and for a lane whose address is negative, misaligned or has more than 32 bits.\n\n"
    "Source\n------\n"
    "Measured on an H200 with Nsight Compute: l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_* are the\n"
    "conflicts, l1tex__data_pipe_lsu_wavefronts_mem_shared_op_* the wavefronts (Nsight Compute\n"
    "documentation, Memory Tables).\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> lane = numpy.arange(32)\n"
    ">>> smemkit.bank_access(4 * 32 * lane).conflicts  # a column of a tile of 32 floats\n"
    "31\n"
    ">>> smemkit.bank_access(4 * 33 * lane).conflicts  # padded\n"
    "0\n";

static PyObject *call_bank_access(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)
{
    static const char *const names[] = {"addresses", "width", "mask", "op"};
    static const smk_keywords accepted = {"bank_access", names, 4, 2, 1};
    access_query query = {.state = smk_state_of_module(module), .function = "bank_access", .end = UINT64_C(1) << 32};
    PyObject *values[4], *result = NULL;
    PyArrayObject *columns[4] = {NULL};
    if (smk_keywords_bind(&accepted, arguments, count, keywords, values) < 0 || read_op(&query, values[3]) < 0 ||
        read_call(&query, values) < 0) {
        goto done;
    }
    for (int i = 0; i < 4; i++) {
        columns[i] = create_result(&query, i == 3 ? BANKS : 0);
        if (columns[i] == NULL) {
            goto done;
        }
    }
    int64_t *const data[3] = {PyArray_DATA(columns[0]), PyArray_DATA(columns[1]), PyArray_DATA(columns[2])};
    Py_BEGIN_ALLOW_THREADS
    count_banks(&query, data, PyArray_DATA(columns[3]));
    Py_END_ALLOW_THREADS
    PyObject *fields[4] = {NULL};
    for (int i = 0; i < 4; i++) {
        fields[i] = finish_result(columns[i]);
        columns[i] = NULL;
    }
    if (fields[0] != NULL && fields[1] != NULL && fields[2] != NULL && fields[3] != NULL) {
        result =
            PyObject_CallFunctionObjArgs(query.state->bank_access, fields[0], fields[1], fields[2], fields[3], NULL);
    }
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(fields[i]);
    }
done:
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(columns[i]);
    }
    release(&query);
    return result;
}

static const char sectors_doc[] =
    "sectors(addresses, width=4, *, mask=0xffffffff)\n--\n\n"
    "How many sectors of global memory one warp-wide access touches; a sector is 32 aligned bytes.\n\n"
    "Parameters\n----------\n"
    "addresses : array-like of int\n"
    "    In bytes, one a lane; multiples of width. Lanes not in mask may hold anything.\n"
    "width : int\n"
    "    Bytes a lane: 1, 2, 4, 8 or 16.\n"
    "mask : int or array-like of int\n"
    "    Bit i is set where lane i takes part.\n\n"
    "Shapes\n------\n"
    "addresses is (..., 32), one row a warp; mask has no axes or broadcasts to the leading ones. The result\n"
    "has the shape of the leading axes.\n\n"
    "Units\n-----\n"
    "Addresses and width in bytes.\n\n"
    "Returns\n-------\n"
    "int for one access, else an int64 array.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) where addresses or mask are no integers, ShapeError (ValueError) where\n"
    "the last axis is not 32 or mask does not fit, ArgumentError (ValueError) for a width or mask that does\n"
    "not exist and for a lane whose address is negative or misaligned.\n\n"
    "Source\n------\n"
    "Measured on an H200 with Nsight Compute: smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_* (Nsight\n"
    "Compute documentation, Memory Tables).\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> lane = numpy.arange(32)\n"
    ">>> smemkit.sectors(4 * lane), smemkit.sectors(4 * lane + 4), smemkit.sectors(32 * lane)\n"
    "(4, 5, 32)\n";

static PyObject *call_sectors(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)
{
    static const char *const names[] = {"addresses", "width", "mask"};
    static const smk_keywords accepted = {"sectors", names, 3, 2, 1};
    access_query query = {.state = smk_state_of_module(module), .function = "sectors"};
    PyObject *values[3];
    PyArrayObject *column = NULL;
    if (smk_keywords_bind(&accepted, arguments, count, keywords, values) == 0 && read_call(&query, values) == 0) {
        column = create_result(&query, 0);
    }
    if (column != NULL) {
        const uint64_t *address = PyArray_DATA(query.address);
        int64_t *sectors = PyArray_DATA(column);
        Py_BEGIN_ALLOW_THREADS
        for (npy_intp warp = 0; warp < query.count; warp++) {
            sectors[warp] = smk_sector_count(address + warp * SMK_WARP_SIZE, query.bytes, get_mask(&query, warp));
        }
        Py_END_ALLOW_THREADS
    }
    release(&query);
    return finish_result(column);
}

PyMethodDef smk_access_query_methods[] = {
    {"bank_access", SMK_PY_FUNCTION(call_bank_access), SMK_PY_FAST, bank_access_doc},
    {"sectors", SMK_PY_FUNCTION(call_sectors), SMK_PY_FAST, sectors_doc},
    {NULL, NULL, 0, NULL},
};
