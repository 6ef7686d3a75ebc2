#include "py/queries/device_type.h"

#include "py/backends/device.h"
#include "py/backends/interrupt.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/named_tuple.h"
#include "py/queries/config.h"

#include <string.h>

static smk_device *get_device(PyObject *self)
{
    return (smk_device *)(void *)self;
}

static PyObject *create(const smk_state *state, const smk_backend *backend, int number)
{
    smk_device *device = PyObject_New(smk_device, state->device_type);
    if (device != NULL) {
        device->backend = backend;
        device->number = number;
    }
    return (PyObject *)device;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"device", "backend", NULL};
    const smk_state *state = PyType_GetModuleState(type);
    const smk_backend *backend = NULL;
    PyObject *object = NULL, *machine = NULL;
    smk_error error = {0};
    smk_status status = SMK_OK;
    int number = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:Device", names, &object, &machine) ||
        smk_device_choose(state, "Device", smk_keywords_optional(object), smk_keywords_optional(machine), &backend,
                          &number) < 0) {
        return NULL;
    }
    if (number == SMK_DEVICE_PRESENT) {
        Py_BEGIN_ALLOW_THREADS
        status = smk_backend_device(backend, &number, &error);
        Py_END_ALLOW_THREADS
    }
    return status == SMK_OK ? create(state, backend, number) : smk_error_raise(state, &error);
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Properties -------------------------------------------------------------------------------------- */

static PyObject *get_text(PyObject *self)
{
    char text[SMK_DEVICE_TEXT_BYTES];
    smk_device_write(get_device(self)->backend, get_device(self)->number, text);
    return PyUnicode_FromString(text);
}

static PyObject *represent(PyObject *self)
{
    PyObject *text = get_text(self);
    PyObject *result = text == NULL ? NULL : PyUnicode_FromFormat("Device(%R)", text);
    Py_XDECREF(text);
    return result;
}

static PyObject *get_number(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(get_device(self)->number);
}

static PyObject *get_backend(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(get_device(self)->backend->name);
}

static PyObject *get_info(PyObject *self, void *closure)
{
    (void)closure;
    return smk_config_describe(smk_state_of_instance(self), get_device(self)->backend, get_device(self)->number);
}

static PyObject *get_name(PyObject *self, void *closure)
{
    PyObject *info = get_info(self, closure);
    PyObject *name = info == NULL ? NULL : PyDict_GetItemString(info, "name");
    Py_XINCREF(name);
    Py_XDECREF(info);
    return name;
}

static PyObject *get_memory(PyObject *self, void *closure)
{
    const smk_state *state = smk_state_of_instance(self);
    const smk_device *device = get_device(self);
    uint64_t free_bytes = 0, total_bytes = 0;
    smk_error error = {0};
    int before = 0;
    (void)closure;
    smk_status status = SMK_OK;
    Py_BEGIN_ALLOW_THREADS
    status = smk_backend_enter(device->backend, device->number, &before, &error);
    if (status == SMK_OK) {
        status = device->backend->memory(&free_bytes, &total_bytes, &error);
        smk_backend_leave(device->backend, device->number, before);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return PyObject_CallFunction(state->device_memory, "KK", (unsigned long long)free_bytes,
                                 (unsigned long long)total_bytes);
}

static PyGetSetDef properties[] = {
    {"id", get_number, NULL, "Its number, from 0.", NULL},
    {"backend", get_backend, NULL, "Its machine: 'cuda' or 'sim'.", NULL},
    {"name", get_name, NULL, "What its maker calls it.", NULL},
    {"info", get_info, NULL, "What smemkit.device_info says of it, a dict.", NULL},
    {"memory", get_memory, NULL,
     "Its memory now, a named tuple (free_bytes, total_bytes). Freed arrays may stay with the driver's pool for the\n"
     "next ones, which free_bytes then does not count.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Methods ----------------------------------------------------------------------------------------- */

static const char synchronize_doc[] = "synchronize($self, /)\n--\n\n"
                                      "Wait for all work of the device.\n\n"
                                      "Raises\n------\n"
                                      "CudaError where a kernel has failed, KeyboardInterrupt.\n\n"
                                      "Example\n-------\n"
                                      ">>> import smemkit\n"
                                      ">>> smemkit.Device(\"sim\").synchronize()\n";

static PyObject *synchronize(PyObject *self, PyObject *ignored)
{
    const smk_device *device = get_device(self);
    smk_error error = {0};
    smk_interrupt interrupt;
    int before = 0;
    (void)ignored;
    smk_interrupt_begin(&interrupt);
    smk_status status = smk_backend_enter(device->backend, device->number, &before, &error);
    if (status == SMK_OK) {
        status = device->backend->synchronize_device(&error);
        smk_backend_leave(device->backend, device->number, before);
    }
    status = smk_interrupt_end(&interrupt, status);
    return status == SMK_OK ? Py_NewRef(Py_None) : smk_error_raise(smk_state_of_instance(self), &error);
}

static const char enter_doc[] = "__enter__($self, /)\n--\n\nBegin a block of the device; gives the device.";

static PyObject *enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return smk_device_enter(smk_state_of_instance(self), get_device(self)) < 0 ? NULL : Py_NewRef(self);
}

static const char leave_doc[] = "__exit__($self, /, *exception)\n--\n\nEnd the block.";

static PyObject *leave(PyObject *self, PyObject *raised)
{
    (void)raised;
    return smk_device_leave(smk_state_of_instance(self)) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *reduce(PyObject *self, PyObject *ignored)
{
    PyObject *text = get_text(self);
    (void)ignored;
    return text == NULL ? NULL : Py_BuildValue("(O(N))", (PyObject *)Py_TYPE(self), text);
}

static PyMethodDef methods[] = {
    {"synchronize", synchronize, METH_NOARGS, synchronize_doc},
    {"__enter__", enter, METH_NOARGS, enter_doc},
    {"__exit__", leave, METH_VARARGS, leave_doc},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Equal to the same device, and to its text, which is what DeviceArray.device has. */
static PyObject *compare(PyObject *self, PyObject *other, int operation)
{
    bool same = false;
    if (operation != Py_EQ && operation != Py_NE) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (Py_TYPE(other) == Py_TYPE(self)) {
        same = get_device(self)->backend == get_device(other)->backend &&
               get_device(self)->number == get_device(other)->number;
    } else if (PyUnicode_Check(other)) {
        PyObject *text = get_text(self);
        if (text == NULL) {
            return NULL;
        }
        same = PyUnicode_Compare(text, other) == 0;
        Py_DECREF(text);
    } else {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t hash(PyObject *self)
{
    PyObject *text = get_text(self);
    const Py_hash_t value = text == NULL ? -1 : PyObject_Hash(text);
    Py_XDECREF(text);
    return value;
}

static const char documentation[] =
    "Device(device=None, backend=None)\n--\n\n"
    "A GPU, or the simulator.\n\n"
    "Calls take it, its number or its text as device=. In a block `with smemkit.Device(1):` the thread's calls run on "
    "it\n"
    "that name no machine or device and have no device arrays; in the block a GPU is also the present device for "
    "CuPy,\n"
    "PyTorch and CUDA itself, and the end of the block restores the one before. Devices are equal where machine and\n"
    "number are, also to the text that d.device has.\n\n"
    "Parameters\n----------\n"
    "device : int, str or Device, optional\n"
    "    A number from 0; 'cuda:1', 'cuda' or 'sim'; a GPU as CuPy, JAX or PyTorch have it; by default the present\n"
    "    device of the machine.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default the one that device names, else that of smemkit.get_backend().\n\n"
    "Shapes\n------\nNone.\n\n"
    "Returns\n-------\nDevice\n\n"
    "Raises\n------\n"
    "ArgumentError (ValueError) where there is no such device, ArgumentTypeError (TypeError), BackendError.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> simulator = smemkit.Device(\"sim\")\n"
    ">>> simulator, simulator.id, simulator.name\n"
    "(Device('sim'), 0, 'smemkit simulator')\n"
    ">>> with simulator:\n"
    "...     d = smemkit.zeros(3)\n"
    ">>> d.device == simulator\n"
    "True\n";

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_str, SMK_PY_SLOT(get_text)},
    {Py_tp_richcompare, SMK_PY_SLOT(compare)},
    {Py_tp_hash, SMK_PY_SLOT(hash)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_device_type_spec = {
    .name = "smemkit.Device",
    .basicsize = sizeof(smk_device),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

/* All devices ------------------------------------------------------------------------------------- */

static const char devices_doc[] =
    "devices(backend=None)\n--\n\n"
    "The devices of a machine, by number.\n\n"
    "Parameters\n----------\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend(). The simulator is one device.\n\n"
    "Shapes\n------\nNone.\n\n"
    "Returns\n-------\n"
    "tuple of Device\n\n"
    "Raises\n------\n"
    "BackendError where there is no GPU, ArgumentError (ValueError) for another word.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> smemkit.devices(\"sim\")\n"
    "(Device('sim'),)\n";

static PyObject *call_devices(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"backend"};
    static const smk_keywords accepted = {"devices", names, 1, 1, 0};
    const smk_state *state = smk_state_of_module(module);
    const smk_backend *backend = NULL;
    PyObject *values[1];
    smk_error error = {0};
    smk_status status = SMK_OK;
    int count = 1;
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0 ||
        smk_selection_choose(state, smk_keywords_optional(values[0]), &backend) < 0) {
        return NULL;
    }
    if (backend->count != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = backend->count(&count, &error);
        Py_END_ALLOW_THREADS
    }
    if (status != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    PyObject *result = PyTuple_New(count);
    for (int i = 0; result != NULL && i < count; i++) {
        PyObject *device = create(state, backend, i);
        if (device == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, device);
        }
    }
    return result;
}

PyMethodDef smk_device_type_methods[] = {
    {"devices", SMK_PY_FUNCTION(call_devices), SMK_PY_FAST, devices_doc},
    {NULL, NULL, 0, NULL},
};

int smk_device_type_create(PyObject *module, smk_state *state)
{
    state->device_memory = smk_named_tuple_create(module, "DeviceMemory", "free_bytes total_bytes");
    return state->device_memory == NULL ? -1 : 0;
}
