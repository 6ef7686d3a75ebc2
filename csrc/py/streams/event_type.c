#include "py/streams/event_type.h"

#include "py/backends/device.h"
#include "py/backends/interrupt.h"
#include "py/backends/selection.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/streams/stream_scope.h"

#include "base/poll.h"

#define MS_PER_NS 1e-6

static smk_event *get_event(PyObject *self)
{
    return (smk_event *)(void *)self;
}

smk_event *smk_event_type_cast(const smk_state *state, PyObject *object)
{
    return object != NULL && Py_TYPE(object) == state->event_type ? get_event(object) : NULL;
}

static PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"timing", NULL};
    const smk_state *state = PyType_GetModuleState(type);
    int timing = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$p:Event", names, &timing)) {
        return NULL;
    }
    smk_event *event = PyObject_New(smk_event, state->event_type);
    if (event != NULL) {
        event->backend = NULL;
        event->device = 0;
        event->timing = timing != 0;
        event->event = NULL;
        event->ended_ms = 0.0;
    }
    return (PyObject *)event;
}

static void free_event(smk_event *event)
{
    if (event->event != NULL) {
        event->backend->streams->free_event(event->event);
        event->event = NULL;
    }
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free_event(get_event(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Recording --------------------------------------------------------------------------------------- */

/* The stream on which the thread works: that of the innermost block, else that of the present device. */
static int choose_present(const smk_state *state, smk_stream_choice *choice)
{
    const smk_stream_choice *innermost = smk_stream_scope_innermost();
    if (innermost != NULL && innermost->backend != NULL) {
        *choice = *innermost;
        choice->owner = Py_XNewRef(innermost->owner);
        return 0;
    }
    *choice = (smk_stream_choice){.device = SMK_DEVICE_PRESENT};
    return smk_device_choose(state, "record", NULL, NULL, &choice->backend, &choice->device);
}

/* Records on the machine; an event of another device than before is made anew. */
static smk_status record_there(smk_event *event, const smk_backend *backend, int device, uint64_t stream,
                               smk_error *error)
{
    int before = 0;
    smk_status status = smk_backend_enter(backend, device, &before, error);
    if (status != SMK_OK) {
        return status;
    }
    if (event->backend != backend || event->device != device) {
        free_event(event);
    }
    if (event->event == NULL) {
        status = backend->streams->create_event(event->timing, &event->event, error);
    }
    if (status == SMK_OK) {
        event->backend = backend;
        event->device = device;
        status = backend->streams->record_event(event->event, stream, error);
    }
    smk_backend_leave(backend, device, before);
    return status;
}

static const char record_doc[] =
    "record($self, /, stream=None)\n--\n\n"
    "Places the event behind the work that a stream has so far.\n\n"
    "Parameters\n----------\n"
    "stream : stream, optional\n"
    "    As calls take it; by default the one on which this thread works.\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError), ArgumentError (ValueError), BackendError, CudaError.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> event = smemkit.Event()\n"
    ">>> event.record(smemkit.Stream(backend=\"sim\"))\n"
    ">>> event.done\n"
    "True\n";

static PyObject *record(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    static const char *const names[] = {"stream"};
    static const smk_keywords accepted = {"record", names, 1, 1, 0};
    const smk_state *state = smk_state_of_instance(self);
    smk_event *event = get_event(self);
    smk_stream_choice choice = {0};
    smk_error error = {0};
    smk_status status = SMK_OK;
    PyObject *values[1];
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return NULL;
    }
    PyObject *stream = smk_keywords_optional(values[0]);
    if ((stream != NULL ? smk_stream_choice_read(state, "record: stream", stream, &choice)
                        : choose_present(state, &choice)) < 0) {
        return NULL;
    }
    const smk_backend *backend = choice.backend;
    if (backend == NULL && smk_selection_choose(state, NULL, &backend) < 0) { /* the default stream */
        smk_stream_choice_free(&choice);
        return NULL;
    }
    if (choice.device == SMK_DEVICE_PRESENT) {
        status = smk_backend_device(backend, &choice.device, &error);
    }
    if (status == SMK_OK && backend->streams == NULL) {
        free_event(event);
        event->backend = backend;
        event->device = choice.device;
        event->ended_ms = MS_PER_NS * (double)smk_poll_clock();
    } else if (status == SMK_OK) {
        const uint64_t handle = stream != NULL ? choice.handle : smk_stream_scope_present(backend, choice.device);
        status = record_there(event, backend, choice.device, handle, &error);
    }
    smk_stream_choice_free(&choice);
    return status == SMK_OK ? Py_NewRef(Py_None) : smk_error_raise(state, &error);
}

/* Returns 0, or -1 with an ArgumentError where the event was not recorded. */
static int check_recorded(const smk_state *state, const char *subject, const smk_event *event)
{
    if (event->backend == NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "%s: the event was not recorded; event.record(stream) does that", subject);
        return -1;
    }
    return 0;
}

int smk_event_type_delay(const smk_state *state, const smk_event *event, const smk_stream_choice *stream)
{
    smk_error error = {0};
    smk_status status = SMK_OK;
    int before = 0;
    if (check_recorded(state, "wait", event) < 0) {
        return -1;
    }
    if (event->backend != stream->backend) {
        smk_error_fail(state, SMK_ARGUMENT, "wait: the event was recorded on '%s', the stream is one of '%s'",
                       event->backend->name, stream->backend->name);
        return -1;
    }
    if (event->event != NULL) {
        status = smk_backend_enter(stream->backend, stream->device, &before, &error);
        if (status == SMK_OK) {
            status = stream->backend->streams->await_event(stream->handle, event->event, &error);
            smk_backend_leave(stream->backend, stream->device, before);
        }
    }
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

/* Waiting ----------------------------------------------------------------------------------------- */

static int wait_for(const smk_state *state, const smk_event *event)
{
    smk_error error = {0};
    smk_interrupt interrupt;
    smk_status status = SMK_OK;
    if (event->event == NULL) {
        return 0;
    }
    smk_interrupt_begin(&interrupt);
    status = event->backend->streams->wait_event(event->event, "an event", &error);
    status = smk_interrupt_end(&interrupt, status);
    if (status != SMK_OK) {
        smk_error_raise(state, &error);
        return -1;
    }
    return 0;
}

static const char synchronize_doc[] = "synchronize($self, /)\n--\n\n"
                                      "Waits until the event is reached.\n\n"
                                      "Raises\n------\n"
                                      "ArgumentError (ValueError) where it was not recorded, CudaError,\n"
                                      "KeyboardInterrupt.\n\n"
                                      "Example\n-------\n"
                                      ">>> import smemkit\n"
                                      ">>> event = smemkit.Event()\n"
                                      ">>> event.record(smemkit.Stream(backend=\"sim\"))\n"
                                      ">>> event.synchronize()\n";

static PyObject *synchronize(PyObject *self, PyObject *ignored)
{
    const smk_state *state = smk_state_of_instance(self);
    (void)ignored;
    if (check_recorded(state, "synchronize", get_event(self)) < 0 || wait_for(state, get_event(self)) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static const char elapsed_doc[] =
    "elapsed($self, end, /)\n--\n\n"
    "The time from this event to another one; waits until both are reached.\n\n"
    "Parameters\n----------\n"
    "end : Event\n"
    "    Recorded on the same device.\n\n"
    "Units\n-----\n"
    "Milliseconds, by the device's clock; on the simulator by the host's, between the calls of record.\n\n"
    "Returns\n-------\nfloat\n\n"
    "Raises\n------\n"
    "ArgumentTypeError (TypeError) where end is no Event; ArgumentError (ValueError) where one was not recorded,\n"
    "was made with timing=False, or belongs to another device.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> stream, start, end = smemkit.Stream(backend=\"sim\"), smemkit.Event(), smemkit.Event()\n"
    ">>> start.record(stream)\n"
    ">>> end.record(stream)\n"
    ">>> start.elapsed(end) >= 0\n"
    "True\n";

static PyObject *elapsed(PyObject *self, PyObject *other)
{
    const smk_state *state = smk_state_of_instance(self);
    const smk_event *start = get_event(self), *end = smk_event_type_cast(state, other);
    smk_error error = {0};
    double time_ms = 0.0;
    if (end == NULL) {
        return smk_error_fail(state, SMK_TYPE, "elapsed: end must be a smemkit.Event, not %.100s",
                              Py_TYPE(other)->tp_name);
    }
    if (check_recorded(state, "elapsed", start) < 0 || check_recorded(state, "elapsed: end", end) < 0) {
        return NULL;
    }
    if (start->backend != end->backend || start->device != end->device) {
        return smk_error_fail(state, SMK_ARGUMENT, "elapsed: the two events were recorded on different devices");
    }
    if (!start->timing || !end->timing) {
        return smk_error_fail(state, SMK_ARGUMENT, "elapsed: an event made with timing=False keeps no time");
    }
    if (start->event == NULL) {
        return PyFloat_FromDouble(end->ended_ms - start->ended_ms);
    }
    if (wait_for(state, start) < 0 || wait_for(state, end) < 0) {
        return NULL;
    }
    if (start->backend->streams->elapsed(start->event, end->event, &time_ms, &error) != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return PyFloat_FromDouble(time_ms);
}

static PyObject *get_done(PyObject *self, void *closure)
{
    const smk_state *state = smk_state_of_instance(self);
    const smk_event *event = get_event(self);
    smk_error error = {0};
    bool done = true;
    (void)closure;
    if (check_recorded(state, "done", event) < 0) {
        return NULL;
    }
    if (event->event != NULL && event->backend->streams->query_event(event->event, &done, &error) != SMK_OK) {
        return smk_error_raise(state, &error);
    }
    return PyBool_FromLong(done);
}

static PyObject *represent(PyObject *self)
{
    const smk_event *event = get_event(self);
    char device[SMK_DEVICE_TEXT_BYTES];
    const char *timing = event->timing ? "" : ", timing=False";
    if (event->backend == NULL) {
        return PyUnicode_FromFormat("Event(not recorded%s)", timing);
    }
    smk_device_write(event->backend, event->device, device);
    return PyUnicode_FromFormat("Event(device='%s'%s)", device, timing);
}

static const char refuse_pickle_doc[] = "__reduce__($self, /)\n--\n\nRaises TypeError: make one where it is needed.";

static PyObject *refuse_pickle(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return smk_error_fail(smk_state_of_instance(self), SMK_TYPE,
                          "an Event cannot be pickled or copied: it is a place in the work of this process");
}

static PyMethodDef methods[] = {
    {"record", SMK_PY_FUNCTION(record), SMK_PY_FAST, record_doc},
    {"synchronize", synchronize, METH_NOARGS, synchronize_doc},
    {"elapsed", elapsed, METH_O, elapsed_doc},
    {"__reduce__", refuse_pickle, METH_NOARGS, refuse_pickle_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"done", get_done, NULL, "Whether the event is reached; it does not wait. ArgumentError before it was recorded.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "Event(*, timing=True)\n--\n\n"
    "A place in the work of a stream: to wait for, and to measure the time between two of them.\n\n"
    "`record` puts it behind what a stream has so far; it may be recorded again and again, by one thread at a time.\n"
    "Stream.wait makes a stream wait for it.\n\n"
    "Parameters\n----------\n"
    "timing : bool\n"
    "    False: it keeps no time for `elapsed`, and waiting for it costs less.\n\n"
    "Shapes\n------\nNone.\n\n"
    "Returns\n-------\nEvent\n\n"
    "Raises\n------\nNothing; a device is needed when it is recorded.\n\n"
    "Example\n-------\n"
    ">>> import smemkit\n"
    ">>> stream, start, end = smemkit.Stream(backend=\"sim\"), smemkit.Event(), smemkit.Event()\n"
    ">>> with stream:\n"
    "...     start.record()\n"
    "...     total = smemkit.reduce(smemkit.ones(1000, backend=\"sim\"))\n"
    "...     end.record()\n"
    ">>> start.elapsed(end) > 0  # ms\n"
    "True\n";

static PyType_Slot slots[] = {
    {Py_tp_new, SMK_PY_SLOT(construct)},
    {Py_tp_dealloc, SMK_PY_SLOT(deallocate)},
    {Py_tp_repr, SMK_PY_SLOT(represent)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, SMK_PY_TEXT(documentation)},
    {0, NULL},
};

PyType_Spec smk_event_type_spec = {
    .name = "smemkit.Event",
    .basicsize = sizeof(smk_event),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
