#include "py/streams/stream_type.h"

#include "py/backends/device.h"
#include "py/backends/interrupt.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/streams/event_type.h"
#include "py/streams/stream_scope.h"

#include <stdatomic.h>

enum { PROTOCOL_VERSION = 0 };

static smk_stream *get_stream(PyObject *self)
{
    return (smk_stream *)(void *)self;
}

/* Making ------------------------------------------------------------------------------------------ */

static smk_stream *make(const smk_state *state, const smk_backend *backend, int device)
{
    smk_stream *stream = PyObject_New(smk_stream, state->stream_type);
    if (stream != NULL) {
        stream->backend = backend;
        stream->device = device;
        stream->handle = SMK_STREAM_DEFAULT;
        stream->owns = false;
        atomic_init(&stream->closed, false);
        stream->original = NULL;
        stream->weak_references = NULL;
    }
    return stream;
}

/* The stream that another library has made, or the default stream of the present device. */
static PyObject *wrap(const smk_state *state, PyObject *original)
{
    smk_stream_choice choice = {0};
    const smk_backend *backend = NULL;
    smk_error error = {0};
    if (smk_stream_choice_read(state, "Stream: x", original, &choice) < 0) {
        return NULL;
    }
    backend = choice.backend;
    if (backend == NULL && (smk_selection_choose(state, NULL, &backend) < 0 ||
                            smk_backend_device(backend, &choice.device, &error) != SMK_OK)) {
        if (error.status != SMK_OK) {
            smk_error_raise(state, &error);
        }
        smk_stream_choice_free(&choice);
        return NULL;
    }
    smk_stream *stream = make(state, backend, choice.device);
    if (stream != NULL) {
        stream->handle = choice.handle;
        stream->original = Py_XNewRef(choice.owner);
    }
    smk_stream_choice_free(&choice);
    return (PyObject *)stream;
}

/* A new stream of the machine. */
static PyObject *create(const smk_state *state, const smk_backend *backend, int device, bool non_blocking, int priority)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    int before = 0;
    smk_stream *stream = make(state, backend, device == SMK_DEVICE_PRESENT ? 0 : device);
    if (stream == NULL || backend->streams == NULL) {
        return (PyObject *)stream;
    }
    Py_BEGIN_ALLOW_THREADS
    if (device == SMK_DEVICE_PRESENT) {
        status = smk_backend_device(backend, &stream->device, &error);
    }
    if (status == SMK_OK) {
        status = smk_backend_enter(backend, stream->device, &before, &error);
    }
    if (status == SMK_OK) {
        status = backend->streams->create(non_blocking, priority, &stream->handle, &error);
        smk_backend_leave(backend, stream->device, before);
    }
    Py_END_ALLOW_THREADS
    if (status != SMK_OK) {
        Py_DECREF(stream);
        return smk_error_raise(state, &error);
    }
    stream->owns = true;
    return (PyObject *)stream;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"", "device", "backend", "non_blocking", "priority", NULL};
    const smk_state *state = PyType_GetModuleState(type);
    const smk_backend *backend = NULL;
    PyObject *original = NULL, *place = NULL, *machine = NULL;
    int non_blocking = 0, priority = 0, device = SMK_DEVICE_PRESENT;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OOpi:Stream", names, &original, &place, &machine,
                                     &non_blocking, &priority)) {
        return NULL;
    }
    original = original == NULL ? NULL : smk_keywords_optional(original);
    place = place == NULL ? NULL : smk_keywords_optional(place);
    machine = machine == NULL ? NULL : smk_keywords_optional(machine);
    if (original != NULL && (place != NULL || machine != NULL || non_blocking != 0 || priority != 0)) {
        return smk_error_fail(state, SMK_ARGUMENT,
                              "Stream: x is a stream already; device, backend, non_blocking and priority are for new "
                              "ones");
    }
    if (original != NULL) {
        return wrap(state, original);
    }
    if (smk_device_choose(state, "Stream", place, machine, &backend, &device) < 0) {
        return NULL;
    }
    return create(state, backend, device, non_blocking != 0, priority);
}

static void deallocate(PyObject *self)
{
    smk_stream *stream = get_stream(self);
    PyTypeObject *type = Py_TYPE(self);
    int before = 0;
    if (stream->weak_references != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    if (stream->owns && smk_backend_enter(stream->backend, stream->device, &before, NULL) == SMK_OK) {
        stream->backend->streams->destroy(stream->handle);
        smk_backend_leave(stream->backend, stream->device, before);
    }
    Py_XDECREF(stream->original);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Work -------------------------------------------------------------------------------------------- */

/* Returns 0, or -1 with an exception where the stream is closed. */
static int check_open(const smk_state *state, const char *subject, const smk_stream *stream)
{
    if (smk_stream_object_is_closed(stream)) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: the stream is closed", subject);
        return -1;
    }
    return 0;
}

static const char synchronize_doc[] = "synchronize($self, /)\n--\n\n"
                                      "Waits until the work that the stream has so far has ended.\n\n"
                                      "Raises\n------\n"
                                      "CudaError where a kernel has failed, KeyboardInterrupt, ArgumentError\n"
                                      "(ValueError) where the stream is closed.\n\n"
                                      "Example\n-------\n"
                                      ">>> import smemkit\n"
                                      ">>> stream = smemkit.Stream(backend=\"sim\")\n"
                                      ">>> stream.synchronize()\n"
                                      ">>> stream.done\n"
                                      "True\n";

static PyObject *synchronize(PyObject *self, PyObject *ignored)
{
    const smk_state *state = smk_state_of_instance(self);
    const smk_stream *stream = get_stream(self);
    smk_stream_scope scope = {.named = false};
    smk_error error = {0};
    smk_interrupt interrupt;
    int before = 0;
    (void)ignored;
    if (smk_stream_scope_begin(state, "synchronize", self, &scope) < 0) {
        return NULL;
    }
    smk_interrupt_begin(&interrupt);
    smk_status status = smk_backend_enter(stream->backend, stream->device, &before, &error);
    if (status == SMK_OK) {
        status = stream->backend->synchronize("the work of a stream", &error);
        smk_backend_leave(stream->backend, stream->device, before);
    }
    status = smk_interrupt_end(&interrupt, status);
    smk_stream_scope_end(&scope);
    return status == SMK_OK ? Py_NewRef(Py_None) : smk_error_raise(state, &error);
}

static int wait_for_stream(const smk_state *state, const smk_stream *stream, PyObject *other)
{
    smk_stream_choice awaited = {0};
    smk_error error = {0};
    smk_status status = SMK_OK;
    int before = 0, device = 0;
    if (smk_stream_choice_read(state, "wait: other", other, &awaited) < 0) {
        return -1;
    }
    if (awaited.backend != NULL && awaited.backend != stream->backend) {
        smk_error_fail(state, SMK_ARGUMENT, "wait: the other stream is one of '%s', this one of '%s'",
                       awaited.backend->name, stream->backend->name);
        smk_stream_choice_free(&awaited);
        return -1;
    }
    device = awaited.device != SMK_DEVICE_PRESENT ? awaited.device : stream->device;
    if (stream->backend->streams != NULL) { /* an event is one of the device whose stream it is recorded in */
        Py_BEGIN_ALLOW_THREADS
        status = smk_backend_enter(stream->backend, device, &before, &error);
        if (status == SMK_OK) {
            status = stream->backend->streams->wait(stream->handle, awaited.handle, &error);
            smk_backend_leave(stream->backend, device, before);
        }
        Py_END_ALLOW_THREADS
    }
    smk_stream_choice_free(&awaited);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

static const char wait_doc[] =
    "wait($self, other, /)\n--\n\n"
    "Makes the work that the stream gets from now on wait for another one's; the call itself does not wait.\n\n"
    "Parameters\n----------\n"
    "other : Event or stream\n"
    "    An event that was recorded, or a stream, of this library or another one: for the work that it has so far.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) for anything else; ArgumentError (ValueError) for what is closed, was not\n"
    "recorded, or belongs to another machine.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> first, second = smemkit.Stream(backend=\"sim\"), smemkit.Stream(backend=\"sim\")\n"
    ">>> d = smemkit.full(3, 2.0, backend=\"sim\", stream=first)\n"
    ">>> second.wait(first)\n"
    ">>> smemkit.asnumpy(smemkit.vector_add(d, d, stream=second)).tolist()\n"
    "[4.0, 4.0, 4.0]\n";

static PyObject *wait(PyObject *self, PyObject *other)
{
    const smk_state *state = smk_state_of_instance(self);
    const smk_stream *stream = get_stream(self);
    const smk_event *event = smk_event_type_cast(state, other);
    int status = check_open(state, "wait", stream);
    if (status == 0 && event != NULL) {
        const smk_stream_choice own = {stream->backend, stream->device, stream->handle, NULL};
        status = smk_event_type_delay(state, event, &own);
    } else if (status == 0) {
        status = wait_for_stream(state, stream, other);
    }
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static const char close_doc[] = "close($self, /)\n--\n\n"
                                "Lets go of the stream, which takes no more work; the work that it has goes on.\n\n"
                                "Without this it closes with the last reference to it.\n\n"
                                "Example\n-------\n"
                                ">>> import smemkit\n"
                                ">>> stream = smemkit.Stream(backend=\"sim\")\n"
                                ">>> stream.close()\n"
                                ">>> smemkit.zeros(3, backend=\"sim\", stream=stream)\n"
                                "Traceback (most recent call last):\n"
                                "    ...\n"
                                "smemkit.ArgumentError: zeros: stream is closed\n";

static PyObject *close_stream(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    atomic_store(&get_stream(self)->closed, true);
    Py_RETURN_NONE;
}

static const char enter_doc[] = "__enter__($self, /)\n--\n\nBegin a block of the stream; gives the stream.";

static PyObject *begin_block(PyObject *self, PyObject *ignored)
{
    const smk_state *state = smk_state_of_instance(self);
    smk_stream_choice choice = {0};
    (void)ignored;
    if (smk_stream_choice_read(state, "with: the stream", self, &choice) < 0 ||
        smk_stream_scope_push(state, &choice) < 0) {
        return NULL;
    }
    return Py_NewRef(self);
}

static const char leave_doc[] = "__exit__($self, /, *exception)\n--\n\nEnd the block.";

static PyObject *end_block(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return smk_stream_scope_pop(smk_state_of_instance(self), self) < 0 ? NULL : Py_NewRef(Py_None);
}

static const char protocol_doc[] = "__cuda_stream__($self, /)\n--\n\n"
                                   "(0, handle): the stream for another library, by NVIDIA's protocol of this name.\n\n"
                                   "BackendError (RuntimeError) for a stream of the simulator.";

static PyObject *give_handle(PyObject *self, PyObject *ignored)
{
    const smk_stream *stream = get_stream(self);
    (void)ignored;
    if (check_open(smk_state_of_instance(self), "__cuda_stream__", stream) < 0) {
        return NULL;
    }
    if (stream->backend->streams == NULL) {
        return smk_error_fail(smk_state_of_instance(self), SMK_BACKEND,
                              "__cuda_stream__: a stream of the simulator is no stream of CUDA");
    }
    return Py_BuildValue("(iK)", PROTOCOL_VERSION, (unsigned long long)stream->handle);
}

static const char refuse_pickle_doc[] = "__reduce__($self, /)\n--\n\nRaises TypeError: make one where it is needed.";

static PyObject *refuse_pickle(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "a Stream cannot be pickled or copied: it is an order of work in this process");
}

static PyMethodDef methods[] = {
    {"synchronize", synchronize, METH_NOARGS, synchronize_doc},
    {"wait", wait, METH_O, wait_doc},
    {"close", close_stream, METH_NOARGS, close_doc},
    {"__enter__", begin_block, METH_NOARGS, enter_doc},
    {"__exit__", end_block, METH_VARARGS, leave_doc},
    {"__cuda_stream__", give_handle, METH_NOARGS, protocol_doc},
    {"__reduce__", refuse_pickle, METH_NOARGS, refuse_pickle_doc},
    {NULL, NULL, 0, NULL},
};

/* Properties -------------------------------------------------------------------------------------- */

static PyObject *get_done(PyObject *self, void *closure)
{
    const smk_state *state = smk_state_of_instance(self);
    const smk_stream *stream = get_stream(self);
    smk_error error = {0};
    smk_status status = SMK_OK;
    bool done = true;
    int before = 0;
    (void)closure;
    if (check_open(state, "done", stream) < 0) {
        return NULL;
    }
    if (stream->backend->streams != NULL) {
        status = smk_backend_enter(stream->backend, stream->device, &before, &error);
        if (status == SMK_OK) {
            status = stream->backend->streams->query(stream->handle, &done, &error);
            smk_backend_leave(stream->backend, stream->device, before);
        }
    }
    return status == SMK_OK ? PyBool_FromLong(done) : smk_error_raise(state, &error);
}

static PyObject *get_backend(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(get_stream(self)->backend->name);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    char text[SMK_DEVICE_TEXT_BYTES];
    (void)closure;
    smk_device_write(get_stream(self)->backend, get_stream(self)->device, text);
    return PyUnicode_FromString(text);
}

static PyObject *get_handle(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(get_stream(self)->handle);
}

static PyObject *get_closed(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(smk_stream_object_is_closed(get_stream(self)));
}

static PyGetSetDef properties[] = {
    {"done", get_done, NULL, "Whether all work that the stream has got has ended; it does not wait.", NULL},
    {"backend", get_backend, NULL, "The machine: 'cuda' or 'sim'.", NULL},
    {"device", get_device, NULL, "The device whose work it orders: 'sim', or 'cuda:0' for the first GPU.", NULL},
    {"handle", get_handle, NULL, "The cudaStream_t, an int; 0 is the default stream, and on the simulator.", NULL},
    {"closed", get_closed, NULL, "Whether it takes no more work.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *represent(PyObject *self)
{
    const smk_stream *stream = get_stream(self);
    char handle[32] = "", device[SMK_DEVICE_TEXT_BYTES];
    smk_device_write(stream->backend, stream->device, device);
    if (stream->backend->streams != NULL) {
        PyOS_snprintf(handle, sizeof handle, ", handle=0x%llx", (unsigned long long)stream->handle);
    }
    return PyUnicode_FromFormat("Stream(device='%s'%s%s)", device, handle,
                                smk_stream_object_is_closed(stream) ? ", closed" : "");
}

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(smk_stream, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char documentation[] =
    "Stream(x=None, /, *, device=None, backend=None, non_blocking=False, priority=0)\n--\n\n"
    "An order of work on a device: what a stream gets runs one after the other, and beside other streams' work.\n\n"
    "Calls take it as stream=, and within `with stream:` those of this thread that name none take it too. Calls on\n"
    "device arrays then return before the work has ended. Memory is freed behind the work of all streams that used "
    "it,\n"
    "and asnumpy and other libraries get an array behind that work; between two streams of your own `wait` orders it.\n"
    "On a stream that is named, smemkit.asarray and smemkit.asnumpy(d, out=x) return before they have copied pinned\n"
    "memory (smemkit.pinned_empty). A CUDA graph captures launches on device arrays, and functions with out=. The\n"
    "simulator has ended its work when a call returns.\n\n"
    "Parameters\n----------\n"
    "x : stream, optional\n"
    "    One of another library, to be used as one of this library: an object with __cuda_stream__, a stream of CuPy,\n"
    "    PyTorch or Numba, or a handle, which must outlive this object. 0 is the default stream.\n"
    "device : int, str or Device, optional\n"
    "    Where a new stream works; by default the present device.\n"
    "backend : \"auto\", \"cuda\" or \"sim\", optional\n"
    "    The machine; by default that of smemkit.get_backend().\n"
    "non_blocking : bool\n"
    "    False: the default stream waits for the stream's work, and the stream for the default one's, as CUDA has it.\n"
    "    True: they run beside each other.\n"
    "priority : int\n"
    "    Blocks of streams with lower numbers run first; CUDA has 0, the default, to -5.\n\n"
    "Shapes\n------\nNone; arrays come with the calls.\n\n"
    "Returns\n-------\nStream\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) where x is no stream, ArgumentError (ValueError), BackendError, CudaError.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> stream = smemkit.Stream(backend=\"sim\")\n"
    ">>> d = smemkit.full(3, 2.0, backend=\"sim\", stream=stream)\n"
    ">>> with stream:\n"
    "...     total = smemkit.vector_add(d, d)\n"
    ">>> stream.synchronize()\n"
    ">>> smemkit.asnumpy(total).tolist()\n"
    "[4.0, 4.0, 4.0]\n";

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_stream_type_spec = {
    .name = "smemkit.Stream",
    .basicsize = sizeof(smk_stream),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
