#include "py/backends/capture.h"

#include "py/error.h"
#include "py/keywords.h"

#include "base/heap.h"
#include "sim/code/memory.h"

#include <string.h>

enum { PADDING_MAX = 1 << 20 }; /* some hundred variables fit the window of shared memory */

static const char *const mode_names[SMK_CAPTURE_MODE_COUNT] = {"profile", "check", "time"};

typedef struct watch {
    smk_capture_mode mode;
    uint64_t blocks; /* 0: all */
    bool model;
    bool reverse;               /* of a check */
    uint64_t padding;           /* of a check: bytes between variables, and between what is allocated meanwhile */
    smk_capture_record *record; /* not yet collected, oldest first */
    PyObject *launches;         /* list */
    PyObject *text;             /* the last module's PTX: often the next one's too */
} watch;

static _Thread_local watch *current;

bool smk_capture_simulates(void)
{
    return current != NULL && current->mode != SMK_CAPTURE_TIME;
}

bool smk_capture_times(void)
{
    return current != NULL && current->mode == SMK_CAPTURE_TIME;
}

int smk_capture_refuse(const smk_state *state)
{
    const char *what = current->mode == SMK_CAPTURE_PROFILE ? "profile counts" : "check watches";
    smk_error_fail(state, SMK_BACKEND,
                   "%s on the simulator; the call asks for 'cuda': name no backend, and give NumPy arrays or device "
                   "arrays of smemkit.asarray(..., backend='sim')",
                   what);
    return -1;
}

/* Records ---------------------------------------------------------------------------------------- */

static void free_record(smk_capture_record *record)
{
    if (record != NULL) {
        smk_count_free(&record->count);
        smk_check_free(&record->check);
        smk_heap_free(record->lines);
        smk_heap_free(record);
    }
}

static smk_capture_record *create_record(const char *kernel, const smk_launch *launch, smk_error *error)
{
    smk_capture_record *record = smk_heap_allocate(1, sizeof *record);
    if (record == NULL) {
        (void)smk_status_fail(error, SMK_MEMORY, "no memory left to watch a launch");
        return NULL;
    }
    record->mode = current->mode;
    record->kernel = kernel;
    record->grid = launch->grid;
    record->block = launch->block;
    return record;
}

static void append_record(smk_capture_record *record)
{
    smk_capture_record **place = &current->record;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = record;
}

smk_status smk_capture_run(smk_program *program, const smk_module *module, uint32_t entry, const char *kernel,
                           const smk_launch *launch, const smk_run_options *options, smk_run_result *result,
                           smk_error *error)
{
    if (!smk_capture_simulates()) {
        return smk_grid_run(program, entry, launch, options, result, error);
    }
    smk_capture_record *record = create_record(kernel, launch, error);
    smk_program_attributes attributes = {0};
    smk_status status = SMK_OK;
    if (record == NULL) {
        return SMK_MEMORY;
    }
    record->module = module;
    status = smk_program_query(program, entry, &attributes, error);
    if (status != SMK_OK) {
        free_record(record);
        return status;
    }
    record->shared_bytes = attributes.shared_bytes + launch->shared_bytes;
    if (record->mode == SMK_CAPTURE_PROFILE) {
        status = smk_count_run(program, entry, launch, options, current->blocks, current->model, &record->count, error);
        if (status == SMK_OK) {
            *result = record->count.run;
            record->shared_bytes = record->count.shared_bytes;
            status = smk_report_lines(module, &record->count, &record->lines, &record->line_count, error);
        }
    } else {
        const smk_check_options wanted = {current->blocks, (uint32_t)current->padding};
        smk_run_options turned = *options;
        turned.reverse = current->reverse;
        status = smk_check_run(program, entry, launch, &turned, &wanted, &record->check, error);
        result->blocks = record->check.blocks;
    }
    if (status != SMK_OK) {
        free_record(record);
        return status;
    }
    append_record(record);
    return SMK_OK;
}

smk_status smk_capture_note_time(const char *kernel, const smk_launch *launch, uint64_t shared_bytes, double time_ms,
                                 smk_error *error)
{
    smk_capture_record *record = create_record(kernel, launch, error);
    if (record == NULL) {
        return SMK_MEMORY;
    }
    record->shared_bytes = shared_bytes;
    record->time_ms = time_ms;
    append_record(record);
    return SMK_OK;
}

/* The PTX of a record's module as a str that the watch keeps; borrowed. NULL with an exception. */
static PyObject *get_text(const smk_capture_record *record)
{
    Py_ssize_t length = 0;
    const smk_text text = record->module->text;
    const char *last = current->text == NULL ? NULL : PyUnicode_AsUTF8AndSize(current->text, &length);
    if (last != NULL && (size_t)length == text.length && memcmp(last, text.start, text.length) == 0) {
        return current->text;
    }
    PyObject *fresh = PyUnicode_DecodeUTF8(text.start, (Py_ssize_t)text.length, "replace");
    if (fresh != NULL) {
        Py_XSETREF(current->text, fresh);
    }
    return fresh;
}

static int keep_record(const smk_state *state, const smk_capture_record *record)
{
    PyObject *text = record->module == NULL ? Py_None : get_text(record);
    PyObject *dict = text == NULL ? NULL : smk_capture_describe(state, record, text);
    int status = dict == NULL ? -1 : PyList_Append(current->launches, dict);
    Py_XDECREF(dict);
    return status;
}

int smk_capture_collect(const smk_state *state, bool keep)
{
    int status = 0;
    while (current != NULL && current->record != NULL) {
        smk_capture_record *record = current->record;
        current->record = record->next;
        if (keep && status == 0) {
            status = keep_record(state, record);
        }
        free_record(record);
    }
    return status;
}

int smk_capture_note_refusal(const char *kernel, const char *message)
{
    if (current == NULL) {
        return 0;
    }
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *dict = Py_BuildValue("{s:s,s:N}", "kernel", kernel, "refused", text);
    int status = dict == NULL ? -1 : PyList_Append(current->launches, dict);
    Py_XDECREF(dict);
    return status;
}

/* The doors -------------------------------------------------------------------------------------- */

static int read_mode(const smk_state *state, PyObject *value, smk_capture_mode *mode)
{
    const char *name = smk_keywords_text(state, "_watch", "mode", value);
    for (int i = 0; name != NULL && i < SMK_CAPTURE_MODE_COUNT; i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            *mode = (smk_capture_mode)i;
            return 0;
        }
    }
    if (name != NULL) {
        smk_error_fail(state, SMK_ARGUMENT, "mode is %R; accepted are 'profile', 'check' and 'time'", value);
    }
    return -1;
}

static int read_count(const smk_state *state, const char *name, PyObject *value, uint64_t *blocks)
{
    PyObject *whole = smk_keywords_index(value);
    if (whole == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (whole == NULL) {
        smk_error_fail(state, SMK_TYPE, "%s must be an int, not %.100s", name, Py_TYPE(value)->tp_name);
        return -1;
    }
    unsigned long long number = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        smk_error_fail(state, SMK_ARGUMENT, "%s is %R; it cannot be negative, nor above 2**64 - 1", name, value);
        return -1;
    }
    *blocks = number;
    return 0;
}

/* reverse and padding, where they are given. */
static int read_order(const smk_state *state, PyObject *const *arguments, Py_ssize_t given, watch *w)
{
    int reverse = given > 6 ? PyObject_IsTrue(arguments[6]) : 0;
    w->reverse = reverse > 0;
    if (reverse < 0 || (given > 7 && read_count(state, "padding", arguments[7], &w->padding) < 0)) {
        return -1;
    }
    if (w->padding > PADDING_MAX) {
        smk_error_fail(state, SMK_ARGUMENT, "padding is %llu bytes; at most %u are possible",
                       (unsigned long long)w->padding, (unsigned)PADDING_MAX);
        return -1;
    }
    return 0;
}

static int read_watch(const smk_state *state, PyObject *const *arguments, Py_ssize_t given, watch *w)
{
    if (read_mode(state, arguments[0], &w->mode) < 0 || read_count(state, "blocks", arguments[4], &w->blocks) < 0 ||
        read_order(state, arguments, given, w) < 0) {
        return -1;
    }
    if (!PyTuple_Check(arguments[2]) || !PyDict_Check(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "_watch: args must be a tuple and kwargs a dict");
        return -1;
    }
    int model = PyObject_IsTrue(arguments[5]);
    w->model = model > 0;
    return model < 0 ? -1 : 0;
}

/* -> (result, launches) */
static const char watch_doc[] =
    "_watch(mode, function, args, kwargs, blocks, model, reverse=False, padding=0, /)\n--\n\n";

static PyObject *call_watch(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    const smk_state *state = smk_state_of_module(module);
    PyObject *result = NULL, *answer = NULL;
    watch w = {0};
    if (given < 6 || given > 8) {
        PyErr_SetString(PyExc_TypeError,
                        "_watch(mode, function, args, kwargs, blocks, model, reverse=False, padding=0) "
                        "takes 6 to 8 arguments");
        return NULL;
    }
    if (current != NULL) {
        return smk_error_fail(state, SMK_ARGUMENT, "%s is running already in this thread; it cannot watch itself",
                              mode_names[current->mode]);
    }
    if (read_watch(state, arguments, given, &w) < 0) {
        return NULL;
    }
    w.launches = PyList_New(0);
    if (w.launches == NULL) {
        return NULL;
    }
    current = &w;
    smk_memory_pad(w.padding);
    answer = PyObject_Call(arguments[1], arguments[2], arguments[3]);
    smk_memory_pad(0);
    (void)smk_capture_collect(state, false); /* none is left; no way out may leave one */
    current = NULL;
    if (answer != NULL) {
        result = PyTuple_Pack(2, answer, w.launches);
    }
    Py_XDECREF(answer);
    Py_DECREF(w.launches);
    Py_XDECREF(w.text);
    return result;
}

/* -> tuple of dicts */
static const char counters_doc[] = "_counters()\n--\n\n";

static PyObject *call_counters(PyObject *module, PyObject *ignored)
{
    PyObject *result = PyTuple_New((Py_ssize_t)smk_counter_row_count);
    (void)module;
    (void)ignored;
    for (unsigned i = 0; result != NULL && i < smk_counter_row_count; i++) {
        const smk_counter_row *row = &smk_counter_rows[i];
        PyObject *facts = Py_BuildValue("{s:s,s:s,s:s,s:s,s:N}", "name", row->name, "unit", row->unit, "ncu", row->ncu,
                                        "meaning", row->meaning, "ratio", PyBool_FromLong(row->is_ratio));
        if (facts == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, (Py_ssize_t)i, facts);
        }
    }
    return result;
}

PyMethodDef smk_capture_methods[] = {
    {"_watch", SMK_PY_FUNCTION(call_watch), METH_FASTCALL, watch_doc},
    {"_counters", call_counters, METH_NOARGS, counters_doc},
    {NULL, NULL, 0, NULL},
};
