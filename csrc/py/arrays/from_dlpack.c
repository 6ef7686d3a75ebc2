#include "py/arrays/from_dlpack.h"

#include "py/arrays/array_view.h"
#include "py/arrays/dlpack_import.h"
#include "py/arrays/transfer.h"
#include "py/error.h"
#include "py/keywords.h"

/* The imported array itself, or what copy= and device= (NULL: not given) make of it. */
static PyObject *place(const smk_state *state, smk_array *imported, PyObject *copy, bool copies, PyObject *device,
                       const smk_stream_scope *scope)
{
    smk_array *placed = smk_transfer_place(state, "from_dlpack", imported, device, scope);
    if (placed == imported && copies) {
        Py_SETREF(placed, smk_array_view_copy(state, "from_dlpack", imported));
    } else if (placed != NULL && placed != imported && copy != NULL && !copies) {
        Py_CLEAR(placed);
        smk_error_fail(state, SMK_ARGUMENT, "from_dlpack: x lives elsewhere than device says, and copy is False");
    }
    return (PyObject *)placed;
}

/* 1 or 0; -1 with an exception set, where looking for it has failed. */
static int has_attribute(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name);
    const bool is_absent = found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError);
    if (is_absent) {
        PyErr_Clear();
    }
    Py_XDECREF(found);
    return found != NULL ? 1 : is_absent ? 0 : -1;
}

static const char from_dlpack_doc[] =
    "from_dlpack(x, /, *, copy=None, device=None, stream=None)\n--\n\n"
    "Take an array of another library without a copy, as DLPack describes it.\n\n"
    "Memory of a GPU becomes a DeviceArray there, and memory of the host one of the simulator. Both arrays show the\n"
    "same elements, and the memory lives until both are gone. Functions and RawKernel take arrays of other libraries\n"
    "as they are; this is for those that stay.\n\n"
    "Parameters\n----------\n"
    "x : object with __dlpack__\n"
    "    An array of CuPy, JAX, NumPy, PyTorch or others.\n"
    "copy : bool, optional\n"
    "    True: the result has memory of its own. By default, and with False, it shares that of x.\n"
    "device : int, str or Device, optional\n"
    "    Where the result is wanted; the elements are copied there unless x is there already.\n"
    "stream : stream, optional\n"
    "    As for smemkit.asarray. It waits for the work of the stream on which x was written.\n\n"
    "Shapes\n------\n"
    "Any, with any strides.\n\n"
    "Returns\n-------\n"
    "DeviceArray\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) for what is no array, elements that NumPy does not know, or another kind of\n"
    "device; CudaError; what x.__dlpack__ raises.\n\n"
    "Example\n-------\n"
    ">>> import numpy, smemkit\n"
    ">>> x = numpy.zeros(3)\n"
    ">>> d = smemkit.from_dlpack(x)\n"
    ">>> d[1:].fill(7)\n"
    ">>> x\n"
    "array([0., 7., 7.])\n";

static PyObject *call_from_dlpack(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"x", "copy", "device", "stream"};
    static const smk_keywords accepted = {"from_dlpack", names, 4, 1, 1};
    const smk_state *state = smk_state_of_module(module);
    smk_stream_scope scope = {.named = false};
    PyObject *values[4];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    PyObject *copy = smk_keywords_optional(values[1]);
    const int copies = copy == NULL ? 0 : PyObject_IsTrue(copy);
    if (copies < 0) {
        return NULL;
    }
    const int exports = has_attribute(values[0], "__dlpack__");
    const int tells = exports <= 0 ? exports : has_attribute(values[0], "__dlpack_device__");
    if (tells < 0) {
        return NULL;
    }
    if (tells == 0) {
        return smk_error_fail(state, SMK_TYPE, "from_dlpack: x has no method __dlpack__; it is %.100s",
                              Py_TYPE(values[0])->tp_name);
    }
    if (smk_stream_scope_begin(state, "from_dlpack", values[3], &scope) < 0) {
        return NULL;
    }
    PyObject *result = smk_dlpack_import_object(state, "from_dlpack", values[0], false);
    if (result != NULL) {
        Py_SETREF(result, place(state, smk_array_cast(state, result), copy, copies == 1,
                                smk_keywords_optional(values[2]), &scope));
    }
    smk_stream_scope_end(&scope);
    return result;
}

PyMethodDef smk_from_dlpack_methods[] = {
    {"from_dlpack", SMK_PY_FUNCTION(call_from_dlpack), SMK_PY_FAST, from_dlpack_doc},
    {NULL, NULL, 0, NULL},
};
