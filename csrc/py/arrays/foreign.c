#include "py/arrays/foreign.h"

#include "py/arrays/cuda_interface.h"
#include "py/arrays/dlpack_import.h"
#include "py/error.h"

/* Tables ------------------------------------------------------------------------------------------ */

enum { TYPES_MAX = 4 };

/* The types that were met with a table of C functions. */
struct smk_foreign_types {
    PyTypeObject *type[TYPES_MAX];
    const DLPackExchangeAPI *table[TYPES_MAX];
};

int smk_foreign_create(smk_state *state)
{
    state->foreign_types = PyMem_Calloc(1, sizeof *state->foreign_types);
    if (state->foreign_types == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    return 0;
}

int smk_foreign_traverse(const smk_state *state, visitproc visit, void *arg)
{
    for (size_t i = 0; state->foreign_types != NULL && i < TYPES_MAX; i++) {
        Py_VISIT(state->foreign_types->type[i]);
    }
    return 0;
}

void smk_foreign_clear(smk_state *state)
{
    for (size_t i = 0; state->foreign_types != NULL && i < TYPES_MAX; i++) {
        Py_CLEAR(state->foreign_types->type[i]);
    }
}

void smk_foreign_free(smk_state *state)
{
    smk_foreign_clear(state);
    PyMem_Free(state->foreign_types);
    state->foreign_types = NULL;
}

static const DLPackExchangeAPI *find_kept(const smk_state *state, const PyTypeObject *type)
{
    for (size_t i = 0; i < TYPES_MAX; i++) {
        if (state->foreign_types->type[i] == type) {
            return state->foreign_types->table[i];
        }
    }
    return NULL;
}

static void keep(const smk_state *state, PyTypeObject *type, const DLPackExchangeAPI *table)
{
    for (size_t i = 0; i < TYPES_MAX; i++) {
        if (state->foreign_types->type[i] == NULL) {
            state->foreign_types->table[i] = table;
            state->foreign_types->type[i] = (PyTypeObject *)Py_NewRef((PyObject *)type);
            return;
        }
    }
}

/* An attribute, a new reference; NULL without an exception where there is none. */
static PyObject *get_optional(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
    }
    return value;
}

/* The table of the object's type, of the version that we know; NULL without an exception where it has none. */
static const DLPackExchangeAPI *find_table(const smk_state *state, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    const DLPackExchangeAPI *table = find_kept(state, type);
    if (table != NULL) {
        return table;
    }
    PyObject *capsule = get_optional((PyObject *)type, SMK_DLPACK_TABLE_ATTRIBUTE);
    if (capsule == NULL) {
        return NULL;
    }
    if (PyCapsule_IsValid(capsule, SMK_DLPACK_TABLE)) {
        const DLPackExchangeAPIHeader *header = PyCapsule_GetPointer(capsule, SMK_DLPACK_TABLE);
        while (header != NULL && header->version.major != DLPACK_MAJOR_VERSION) {
            header = header->prev_api;
        }
        table = (const DLPackExchangeAPI *)(const void *)header;
    }
    Py_DECREF(capsule);
    if (table == NULL || table->dltensor_from_py_object_no_sync == NULL) {
        return NULL;
    }
    keep(state, type, table);
    return table;
}

/* Arguments --------------------------------------------------------------------------------------- */

bool smk_foreign_is_own(const smk_state *state, PyObject *object)
{
    return smk_array_cast(state, object) != NULL || PyArray_Check(object) || PyLong_Check(object) ||
           PyFloat_Check(object) || PyArray_CheckScalar(object) || PyComplex_Check(object) || PyList_Check(object) ||
           PyTuple_Check(object) || PyBytes_Check(object) || PyUnicode_Check(object) || object == Py_None;
}

PyObject *smk_foreign_keep(const smk_state *state, const char *subject, PyObject *object)
{
    if (smk_foreign_is_own(state, object)) {
        return Py_NewRef(object);
    }
    PyObject *method = get_optional(object, "__dlpack__");
    if (method != NULL) {
        Py_DECREF(method);
        return smk_dlpack_import_object(state, subject, object, true);
    }
    PyObject *interface = PyErr_Occurred() ? NULL : get_optional(object, "__cuda_array_interface__");
    if (interface != NULL) {
        PyObject *array = (PyObject *)smk_cuda_interface_import(state, subject, object, interface);
        Py_DECREF(interface);
        return array;
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(object);
}

PyObject *smk_foreign_take(const smk_state *state, const char *subject, PyObject *object)
{
    if (smk_foreign_is_own(state, object)) {
        return Py_NewRef(object);
    }
    const DLPackExchangeAPI *table = find_table(state, object);
    if (table != NULL) {
        return smk_dlpack_import_borrowed(state, subject, table, object);
    }
    return PyErr_Occurred() ? NULL : smk_foreign_keep(state, subject, object);
}

int smk_foreign_finish(const smk_state *state, PyObject *object, const smk_array *array)
{
    const DLPackExchangeAPI *table = find_table(state, object); /* which keeps the first few types alone */
    void *stream = NULL;
    if (table == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (table->current_work_stream(kDLCUDA, (int32_t)array->device, &stream) != 0) {
        return -1;
    }
    return stream == NULL ? 0 : smk_array_follow(state, array, (uint64_t)(uintptr_t)stream, SMK_STREAM_DEFAULT);
}
