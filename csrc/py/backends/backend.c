#include "py/backends/backend.h"

#include "py/backends/capture.h"
#include "py/error.h"
#include "py/keywords.h"

#include "gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICE_NONE = -1, CHOICE_AUTO = SMK_BACKEND_COUNT };

/* All of these are read and written under the GIL. A process has one driver, so it has one answer. */
static int preferred = CHOICE_NONE;
static const smk_backend *automatic; /* NULL until it was needed */
static smk_error absence;            /* why there is no GPU; status OK where there is one */
static char reason_text[1024];

static const smk_backend *const machines[SMK_BACKEND_COUNT] = {&smk_backend_sim, &smk_backend_cuda};

/* A place in enum smk_backend_id, CHOICE_AUTO, or CHOICE_NONE for an unknown word. */
static int find_choice(const char *name)
{
    for (int i = 0; i < SMK_BACKEND_COUNT; i++) {
        if (strcmp(machines[i]->name, name) == 0) {
            return i;
        }
    }
    return strcmp(name, "auto") == 0 ? CHOICE_AUTO : CHOICE_NONE;
}

static void detect(void)
{
    smk_error error = {0};
    int count = 0;
    smk_status status = SMK_OK;
    if (automatic != NULL) {
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_context_count(&count, &error);
    Py_END_ALLOW_THREADS
    if (status == SMK_OK && count <= 0) {
        status = smk_status_fail(&error, SMK_BACKEND, "there is no CUDA device");
    }
    absence = error;
    absence.status = status;
    automatic = status == SMK_OK ? &smk_backend_cuda : &smk_backend_sim;
}

/* The machine for a choice; -1 with a BackendError where it is not present. */
static int get_machine(const smk_state *state, int choice, const smk_backend **backend)
{
    if (choice != SMK_BACKEND_SIM) {
        detect();
    }
    if (choice == CHOICE_AUTO) {
        *backend = automatic;
        return 0;
    }
    if (choice == SMK_BACKEND_CUDA && absence.status != SMK_OK) {
        smk_error error = absence;
        error.status = SMK_BACKEND;
        smk_error_raise(state, &error);
        return -1;
    }
    *backend = machines[choice];
    return 0;
}

static int read_choice(const smk_state *state, PyObject *name, int *choice)
{
    const char *text = smk_keywords_text(state, "smemkit", "backend", name);
    if (text == NULL) {
        return -1;
    }
    *choice = find_choice(text);
    if (*choice == CHOICE_NONE) {
        smk_error_fail(state, SMK_ARGUMENT, "backend is %R; accepted are 'auto', 'cuda' and 'sim'", name);
        return -1;
    }
    return 0;
}

static int read_environment(const smk_state *state, int *choice)
{
    const char *text = getenv("SMEMKIT_BACKEND");
    *choice = text == NULL || text[0] == '\0' ? CHOICE_NONE : find_choice(text);
    if (text != NULL && text[0] != '\0' && *choice == CHOICE_NONE) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "the environment variable SMEMKIT_BACKEND is '%.100s'; accepted are 'auto', 'cuda' and 'sim'",
                       text);
        return -1;
    }
    return 0;
}

int smk_backend_explain(const smk_state *state, const smk_backend **backend, const char **reason)
{
    const char *source = "set_backend";
    int choice = preferred;
    if (smk_capture_simulates()) {
        *backend = machines[SMK_BACKEND_SIM];
        *reason = "profile and check work on the simulator";
        return 0;
    }
    if (choice == CHOICE_NONE) {
        source = "SMEMKIT_BACKEND";
        if (read_environment(state, &choice) < 0) {
            return -1;
        }
    }
    if (choice == CHOICE_NONE) {
        source = "auto";
        choice = CHOICE_AUTO;
    }
    if (get_machine(state, choice, backend) < 0) {
        return -1;
    }
    if (choice != CHOICE_AUTO) {
        (void)snprintf(reason_text, sizeof reason_text, "asked for by %s", source);
    } else if (absence.status == SMK_OK) {
        (void)snprintf(reason_text, sizeof reason_text, "auto: there is a CUDA device");
    } else {
        (void)snprintf(reason_text, sizeof reason_text, "auto: %s", absence.message);
    }
    *reason = reason_text;
    return 0;
}

int smk_backend_choose(const smk_state *state, PyObject *keyword, const smk_backend **backend)
{
    const char *reason = NULL;
    int choice = CHOICE_NONE;
    if (keyword == NULL) {
        return smk_backend_explain(state, backend, &reason);
    }
    if (read_choice(state, keyword, &choice) < 0) {
        return -1;
    }
    if (smk_capture_simulates()) {
        *backend = machines[SMK_BACKEND_SIM];
        return choice == SMK_BACKEND_CUDA ? smk_capture_refuse(state) : 0;
    }
    return get_machine(state, choice, backend);
}

int smk_backend_prefer(const smk_state *state, PyObject *name)
{
    const smk_backend *backend = NULL;
    int choice = CHOICE_NONE;
    /* refused here and not at the next call: only "cuda" can be absent, and "auto" shall make no CUDA call yet */
    if (name != NULL && (read_choice(state, name, &choice) < 0 ||
                         (choice == SMK_BACKEND_CUDA && get_machine(state, choice, &backend) < 0))) {
        return -1;
    }
    preferred = choice;
    return 0;
}

smk_status smk_backend_device(const smk_backend *backend, int *device, smk_error *error)
{
    *device = 0;
    return backend->current != NULL ? backend->current(device, error) : SMK_OK;
}

smk_status smk_backend_enter(const smk_backend *backend, int device, int *before, smk_error *error)
{
    *before = device;
    return backend->enter != NULL && device != SMK_DEVICE_PRESENT ? backend->enter(device, before, error) : SMK_OK;
}

void smk_backend_leave(const smk_backend *backend, int device, int before)
{
    if (backend->leave != NULL && device != SMK_DEVICE_PRESENT) {
        backend->leave(device, before);
    }
}

static int read_environment_steps(const smk_state *state, const char *text, uint64_t *steps)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value == 0) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "the environment variable SMEMKIT_MAX_STEPS is '%.100s'; a whole number from 1 up is needed",
                       text);
        return -1;
    }
    *steps = value;
    return 0;
}

int smk_backend_steps(const smk_state *state, PyObject *keyword, uint64_t otherwise, uint64_t *steps)
{
    if (keyword == NULL) {
        const char *text = getenv("SMEMKIT_MAX_STEPS");
        if (text != NULL && text[0] != '\0') {
            return read_environment_steps(state, text, steps);
        }
        *steps = otherwise;
        return 0;
    }
    PyObject *whole = smk_keywords_index(keyword);
    if (whole == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (whole == NULL) {
        smk_error_fail(state, SMK_TYPE, "max_steps must be an int, not %.100s", Py_TYPE(keyword)->tp_name);
        return -1;
    }
    unsigned long long value = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred() || value == 0) {
        PyErr_Clear();
        smk_error_fail(state, SMK_ARGUMENT, "max_steps is %R; a whole number from 1 to 2**64 - 1 is needed", keyword);
        return -1;
    }
    *steps = value;
    return 0;
}
