#include "py/arrays/foreign.h"

#include "py/arrays/cuda_interface.h"
#include "py/arrays/dlpack_import.h"
#include "py/arrays/ndarray.h"
#include "py/backends/selection.h"
#include "py/error.h"

/* Known types ------------------------------------------------------------------------------------- */

enum { TYPES_MAX = 4 };

/* A type of arrays that a call reads without a protocol of Python: by a table of C functions, or as CuPy's own class by
 * its attributes, which takes a third of the time of its methods. */
typedef struct known_type {
    PyTypeObject *type;
    const DLPackExchangeAPI *table; /* NULL: CuPy's class */
    PyObject *current_stream;       /* CuPy's function; NULL for others */
} known_type;

struct smk_foreign_types {
    known_type known[TYPES_MAX];
    PyObject *data, *ptr, *device, *dtype, *contiguous; /* names of attributes, interned */
};

int smk_foreign_create(smk_state *state)
{
    struct smk_foreign_types *types = PyMem_Calloc(1, sizeof *types);
    if (types == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    state->foreign_types = types;
    types->data = PyUnicode_InternFromString("data");
    types->ptr = PyUnicode_InternFromString("ptr");
    types->device = PyUnicode_InternFromString("device_id");
    types->dtype = PyUnicode_InternFromString("dtype");
    types->contiguous = PyUnicode_InternFromString("_c_contiguous");
    return types->data == NULL || types->ptr == NULL || types->device == NULL || types->dtype == NULL ||
                   types->contiguous == NULL
               ? -1
               : 0;
}

int smk_foreign_traverse(const smk_state *state, visitproc visit, void *arg)
{
    for (size_t i = 0; state->foreign_types != NULL && i < TYPES_MAX; i++) {
        Py_VISIT(state->foreign_types->known[i].type);
        Py_VISIT(state->foreign_types->known[i].current_stream);
    }
    return 0;
}

void smk_foreign_clear(smk_state *state)
{
    for (size_t i = 0; state->foreign_types != NULL && i < TYPES_MAX; i++) {
        Py_CLEAR(state->foreign_types->known[i].type);
        Py_CLEAR(state->foreign_types->known[i].current_stream);
    }
}

void smk_foreign_free(smk_state *state)
{
    struct smk_foreign_types *types = state->foreign_types;
    smk_foreign_clear(state);
    if (types != NULL) {
        Py_XDECREF(types->data);
        Py_XDECREF(types->ptr);
        Py_XDECREF(types->device);
        Py_XDECREF(types->dtype);
        Py_XDECREF(types->contiguous);
    }
    PyMem_Free(types);
    state->foreign_types = NULL;
}

static const known_type *find_known(const smk_state *state, const PyTypeObject *type)
{
    for (size_t i = 0; i < TYPES_MAX; i++) {
        if (state->foreign_types->known[i].type == type) {
            return &state->foreign_types->known[i];
        }
    }
    return NULL;
}

/* Keeps the first few types; `current_stream` may be NULL. */
static void keep(const smk_state *state, PyTypeObject *type, const DLPackExchangeAPI *table, PyObject *current_stream)
{
    for (size_t i = 0; i < TYPES_MAX; i++) {
        known_type *row = &state->foreign_types->known[i];
        if (row->type == NULL) {
            row->table = table;
            row->current_stream = Py_XNewRef(current_stream);
            row->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
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
    const known_type *known = find_known(state, type);
    const DLPackExchangeAPI *table = NULL;
    if (known != NULL) {
        return known->table;
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
    keep(state, type, table, NULL);
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

/* Reading without a protocol ---------------------------------------------------------------------- */

static const char kinds[] = {[kDLInt] = 'i', [kDLUInt] = 'u', [kDLFloat] = 'f', [kDLComplex] = 'c', [kDLBool] = 'b'};

static bool read_by_table(const DLPackExchangeAPI *table, PyObject *object, smk_foreign_view *view)
{
    DLTensor tensor;
    if (table->dltensor_from_py_object_no_sync(object, &tensor) != 0 ||
        smk_dlpack_import_is_negative(object, &tensor) != 0) {
        PyErr_Clear();
        return false;
    }
    const DLDataType type = tensor.dtype;
    view->kind = type.lanes == 1 && type.code < sizeof kinds ? kinds[type.code] : '\0';
    view->item_bytes = type.bits / 8;
    view->address = (uint64_t)(uintptr_t)tensor.data + tensor.byte_offset;
    view->device = tensor.device.device_id;
    view->contiguous = true;
    int64_t expected = 1;
    bool is_empty = false;
    for (int i = tensor.ndim - 1; i >= 0; i--) {
        is_empty = is_empty || tensor.shape[i] == 0;
        view->contiguous =
            view->contiguous && (tensor.shape[i] == 1 || tensor.strides == NULL || tensor.strides[i] == expected);
        expected *= tensor.shape[i];
    }
    view->contiguous = view->contiguous || is_empty;
    return view->kind != '\0' && tensor.device.device_type == kDLCUDA;
}

/* Reads an attribute of CuPy's that is an integer. */
static bool read_integer(PyObject *object, PyObject *name, unsigned long long *value)
{
    PyObject *attribute = PyObject_GetAttr(object, name);
    *value = attribute != NULL && PyLong_Check(attribute) ? PyLong_AsUnsignedLongLong(attribute) : 0;
    const bool found = attribute != NULL && PyLong_Check(attribute) && !PyErr_Occurred();
    Py_XDECREF(attribute);
    return found;
}

static bool read_by_attributes(const struct smk_foreign_types *names, PyObject *object, smk_foreign_view *view)
{
    unsigned long long address = 0, device = 0;
    PyObject *data = PyObject_GetAttr(object, names->data);
    PyObject *contiguous = data == NULL ? NULL : PyObject_GetAttr(object, names->contiguous);
    PyObject *dtype = contiguous == NULL ? NULL : PyObject_GetAttr(object, names->dtype);
    const bool found = dtype != NULL && PyArray_DescrCheck(dtype) && read_integer(data, names->ptr, &address) &&
                       read_integer(data, names->device, &device);
    if (found) {
        *view = (smk_foreign_view){.address = address,
                                   .device = (int)device,
                                   .kind = ((PyArray_Descr *)dtype)->kind,
                                   .item_bytes = (size_t)PyDataType_ELSIZE((PyArray_Descr *)dtype),
                                   .contiguous = contiguous == Py_True};
    }
    PyErr_Clear();
    Py_XDECREF(data);
    Py_XDECREF(contiguous);
    Py_XDECREF(dtype);
    return found;
}

bool smk_foreign_read(const smk_state *state, PyObject *object, smk_foreign_view *view)
{
    const known_type *known = find_known(state, Py_TYPE(object));
    if (known == NULL) {
        return false;
    }
    return known->table != NULL ? read_by_table(known->table, object, view)
                                : read_by_attributes(state->foreign_types, object, view);
}

/* The stream on which a known library works on a device. Returns 0, or -1 with an exception set. */
static int find_stream(const smk_state *state, const known_type *known, int device, uint64_t *stream)
{
    *stream = SMK_STREAM_DEFAULT;
    if (known->table != NULL) {
        void *found = NULL;
        const int status = known->table->current_work_stream(kDLCUDA, (int32_t)device, &found);
        *stream = (uint64_t)(uintptr_t)found;
        return status;
    }
    unsigned long long number = 0;
    PyObject *object = PyObject_CallNoArgs(known->current_stream);
    const bool found = object != NULL && read_integer(object, state->foreign_types->ptr, &number);
    if (!found && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "cupy.cuda.get_current_stream() has no integer ptr");
    }
    Py_XDECREF(object);
    *stream = (uint64_t)number;
    return found ? 0 : -1;
}

int smk_foreign_stream(const smk_state *state, PyObject *object, int device, uint64_t *stream)
{
    const known_type *known = find_known(state, Py_TYPE(object));
    *stream = SMK_STREAM_DEFAULT;
    return known == NULL ? 0 : find_stream(state, known, device, stream);
}

/* CuPy ------------------------------------------------------------------------------------------- */

/* Keeps CuPy's class of arrays, where the object is exactly of that. Returns 0, or -1 with an exception set. */
static int learn_cupy(const smk_state *state, PyObject *object)
{
    PyObject *name = PyUnicode_FromString("cupy"), *module = name == NULL ? NULL : PyImport_GetModule(name);
    Py_XDECREF(name);
    if (module == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *type = get_optional(module, "ndarray"), *cuda = NULL, *function = NULL;
    if (type == (PyObject *)Py_TYPE(object) && (cuda = get_optional(module, "cuda")) != NULL &&
        (function = get_optional(cuda, "get_current_stream")) != NULL) {
        keep(state, Py_TYPE(object), NULL, function);
    }
    Py_DECREF(module);
    Py_XDECREF(type);
    Py_XDECREF(cuda);
    Py_XDECREF(function);
    return PyErr_Occurred() ? -1 : 0;
}

/* A device array over CuPy's, whose stream ours awaits. NULL without an exception where its attributes do not tell. */
static smk_array *wrap_cupy(const smk_state *state, const char *subject, const known_type *known, PyObject *object)
{
    smk_foreign_view view = {0};
    PyArray_Dims shape = {0}, strides = {0};
    smk_array *array = NULL;
    uint64_t stream = SMK_STREAM_DEFAULT;
    if (!read_by_attributes(state->foreign_types, object, &view)) {
        return NULL;
    }
    PyObject *dtype = PyObject_GetAttr(object, state->foreign_types->dtype);
    PyObject *lengths = get_optional(object, "shape"), *steps = get_optional(object, "strides");
    PyArray_Descr *descr = dtype == NULL ? NULL : smk_ndarray_native(state, subject, (PyArray_Descr *)(void *)dtype);
    if (descr != NULL && lengths != NULL && steps != NULL && PyArray_IntpConverter(lengths, &shape) != NPY_FAIL &&
        PyArray_IntpConverter(steps, &strides) != NPY_FAIL && shape.len == strides.len) {
        const smk_array_layout layout = {descr, shape.len, shape.ptr, strides.ptr};
        array =
            smk_array_wrap(state, smk_selection_backend(SMK_BACKEND_CUDA), view.device, object, view.address, &layout);
    }
    PyDimMem_FREE(shape.ptr);
    PyDimMem_FREE(strides.ptr);
    Py_XDECREF(dtype);
    Py_XDECREF(lengths);
    Py_XDECREF(steps);
    Py_XDECREF(descr);
    if (array != NULL &&
        (find_stream(state, known, view.device, &stream) < 0 || smk_array_await(state, array, stream) < 0)) {
        Py_CLEAR(array);
    }
    return array;
}

/* Arguments of calls ------------------------------------------------------------------------------ */

PyObject *smk_foreign_take(const smk_state *state, const char *subject, PyObject *object)
{
    if (smk_foreign_is_own(state, object)) {
        return Py_NewRef(object);
    }
    const DLPackExchangeAPI *table = find_table(state, object);
    if (table != NULL) {
        return smk_dlpack_import_borrowed(state, subject, table, object);
    }
    if (PyErr_Occurred() || (find_known(state, Py_TYPE(object)) == NULL && learn_cupy(state, object) < 0)) {
        return NULL;
    }
    const known_type *known = find_known(state, Py_TYPE(object));
    smk_array *array = known == NULL ? NULL : wrap_cupy(state, subject, known, object);
    return array != NULL || PyErr_Occurred() ? (PyObject *)array : smk_foreign_keep(state, subject, object);
}

int smk_foreign_finish(const smk_state *state, PyObject *object, const smk_array *array)
{
    uint64_t stream = SMK_STREAM_DEFAULT;
    if (find_table(state, object) == NULL && PyErr_Occurred()) { /* which keeps the first few types alone */
        return -1;
    }
    if (smk_foreign_stream(state, object, array->device, &stream) < 0) {
        return -1;
    }
    return smk_array_release_to(state, array, stream);
}
