#include "py/backends/selection.h"

#include "py/backends/backend_cuda.h"
#include "py/backends/backend_sim.h"
#include "py/backends/capture.h"
#include "py/error.h"
#include "py/keywords.h"

#include "base/heap.h"
#include "gpu/gpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICE_NONE = -1, CHOICE_AUTO = SMK_BACKEND_COUNT };

/* What the driver says about GPUs. A process has one driver, so the first answer is kept, and never changed. */
typedef struct detection {
    const smk_backend *automatic;
    smk_error absence; /* the reason why there is no GPU; status OK where there is one */
} detection;

/* Threads read and write these at once where Python has no GIL. */
static _Atomic int preferred = CHOICE_NONE;
static detection *_Atomic detected; /* NULL until it was needed */
static _Thread_local char reason_text[1024];
static _Thread_local const smk_backend *inside; /* a block of one of its devices */

static const smk_backend *const machines[SMK_BACKEND_COUNT] = {&smk_backend_sim, &smk_backend_cuda};

const smk_backend *smk_selection_backend(smk_backend_id id)
{
    return machines[id];
}

/* An smk_backend_id, CHOICE_AUTO, or CHOICE_NONE for an unknown word. */
static int find_choice(const char *name)
{
    for (int i = 0; i < SMK_BACKEND_COUNT; i++) {
        if (strcmp(machines[i]->name, name) == 0) {
            return i;
        }
    }
    return strcmp(name, "auto") == 0 ? CHOICE_AUTO : CHOICE_NONE;
}

/* Two threads may ask the driver at once; one answer is kept. NULL with a MemoryError. */
static const detection *detect(void)
{
    detection *created = NULL, *present = atomic_load(&detected);
    smk_status status = SMK_OK;
    int count = 0;
    if (present != NULL) {
        return present;
    }
    created = smk_heap_allocate(1, sizeof *created);
    if (created == NULL) {
        (void)PyErr_NoMemory();
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = smk_context_count(&count, &created->absence);
    Py_END_ALLOW_THREADS
    if (status == SMK_OK && count <= 0) {
        status = smk_status_fail(&created->absence, SMK_BACKEND, "there is no CUDA device");
    }
    created->absence.status = status;
    created->automatic = status == SMK_OK ? &smk_backend_cuda : &smk_backend_sim;
    if (atomic_compare_exchange_strong(&detected, &present, created)) {
        return created;
    }
    smk_heap_free(created);
    return present;
}

/* The machine of a choice. Returns 0, or -1 with an exception: a BackendError where it is not present. */
static int get_machine(const smk_state *state, int choice, const smk_backend **backend)
{
    const detection *answer = choice == SMK_BACKEND_SIM ? NULL : detect();
    if (choice != SMK_BACKEND_SIM && answer == NULL) {
        return -1;
    }
    if (choice == CHOICE_AUTO) {
        *backend = answer->automatic;
        return 0;
    }
    if (choice == SMK_BACKEND_CUDA && answer->absence.status != SMK_OK) {
        smk_error error = answer->absence;
        error.status = SMK_BACKEND;
        smk_error_raise(state, &error);
        return -1;
    }
    *backend = machines[choice];
    return 0;
}

/* The words for a choice whose machine was found. */
static const char *explain_choice(int choice, const char *source)
{
    if (choice != CHOICE_AUTO) {
        (void)snprintf(reason_text, sizeof reason_text, "asked for by %s", source);
        return reason_text;
    }
    const detection *answer = atomic_load(&detected);
    if (answer->absence.status == SMK_OK) {
        return "auto: there is a CUDA device";
    }
    (void)snprintf(reason_text, sizeof reason_text, "auto: %s", answer->absence.message);
    return reason_text;
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

int smk_selection_explain(const smk_state *state, const smk_backend **backend, const char **reason)
{
    const char *source = "set_backend";
    int choice = atomic_load(&preferred);
    if (smk_capture_simulates()) {
        *backend = machines[SMK_BACKEND_SIM];
        *reason = "profile and check work on the simulator";
        return 0;
    }
    if (inside != NULL) {
        *backend = inside;
        *reason = "asked for by the block of a smemkit.Device";
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
    *reason = explain_choice(choice, source);
    return 0;
}

static int refuse_cuda(const smk_state *state)
{
    const char *activity = smk_capture_mode_now() == SMK_CAPTURE_PROFILE ? "profile counts" : "check watches";
    smk_error_fail(state, SMK_BACKEND,
                   "%s on the simulator; the call asks for 'cuda': name no backend, and give NumPy arrays or device "
                   "arrays of smemkit.asarray(..., backend='sim')",
                   activity);
    return -1;
}

int smk_selection_check(const smk_state *state, const smk_backend *backend)
{
    return backend->id == SMK_BACKEND_CUDA && smk_capture_simulates() ? refuse_cuda(state) : 0;
}

int smk_selection_choose(const smk_state *state, PyObject *keyword, const smk_backend **backend)
{
    const char *reason = NULL;
    int choice = CHOICE_NONE;
    if (keyword == NULL) {
        return smk_selection_explain(state, backend, &reason);
    }
    if (read_choice(state, keyword, &choice) < 0) {
        return -1;
    }
    if (smk_capture_simulates()) {
        *backend = machines[SMK_BACKEND_SIM];
        return choice == SMK_BACKEND_CUDA ? refuse_cuda(state) : 0;
    }
    return get_machine(state, choice, backend);
}

const smk_backend *smk_selection_enter(const smk_backend *backend)
{
    const smk_backend *outside = inside;
    inside = backend;
    return outside;
}

int smk_selection_prefer(const smk_state *state, PyObject *name)
{
    const smk_backend *backend = NULL;
    int choice = CHOICE_NONE;
    /* refused here and not at the next call; "auto" must not make a CUDA call yet, and only "cuda" can be missing */
    if (name != NULL && (read_choice(state, name, &choice) < 0 ||
                         (choice == SMK_BACKEND_CUDA && get_machine(state, choice, &backend) < 0))) {
        return -1;
    }
    atomic_store(&preferred, choice);
    return 0;
}
