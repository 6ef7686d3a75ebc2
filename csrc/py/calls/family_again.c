#include "py/calls/family_again.h"

#include "py/arrays/array.h"
#include "py/arrays/bfloat16.h"
#include "py/backends/capture.h"
#include "py/calls/plan_run.h"
#include "py/error.h"

#include "base/heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Calls of a thread: those of a loop that takes several steps. Memory is in use for as many as there are. */
enum { CALLS_MAX = 16, WORDS_MAX = 6 };

/* An argument that is no array: a text, given by name or by position. */
typedef struct kept_word {
    char name[SMK_NAME_MAX], text[SMK_NAME_MAX]; /* name "": by position */
} kept_word;

typedef struct kept_array {
    int type, rank;
    npy_intp shape[SMK_RANK_MAX];
} kept_array;

typedef struct kept_call {
    unsigned generation; /* of smk_family_again_forget; 0: nothing is kept */
    const smk_state *state;
    Py_ssize_t given;
    kept_word words[WORDS_MAX];
    size_t word_count;
    kept_array arrays[SMK_OPERANDS_MAX_FAMILY];
    uint64_t address[SMK_OPERANDS_MAX_FAMILY]; /* of the arrays of the present call: the parameters point here */
    smk_family_call call;                      /* without its objects */
    smk_plan_run run;
} kept_call;

typedef struct kept_calls {
    kept_call calls[CALLS_MAX];
    size_t next; /* is replaced */
} kept_calls;

static atomic_uint generation = 1;
static _Thread_local kept_calls *kept; /* NULL: the thread has none */

/* Threads ---------------------------------------------------------------------------------------- */

static pthread_key_t at_exit;
static bool has_key;

static void create_key(void)
{
    has_key = pthread_key_create(&at_exit, smk_heap_free) == 0;
}

/* The thread's calls, which are freed when it ends; NULL where that is impossible. */
static kept_calls *get_kept(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, create_key);
    if (kept == NULL && has_key) {
        kept_calls *created = smk_heap_allocate(1, sizeof *created);
        if (created != NULL && pthread_setspecific(at_exit, created) != 0) {
            smk_heap_free(created);
            created = NULL;
        }
        kept = created;
    }
    return kept;
}

void smk_family_again_forget(void)
{
    if (atomic_fetch_add(&generation, 1) + 1 == 0) {
        atomic_store(&generation, 1); /* 0 stands for a call that is not kept */
    }
}

/* Arguments -------------------------------------------------------------------------------------- */

/* The array where an argument is one of ours on a GPU, in one piece, aligned, of a type of numbers; NULL for all else. */
static smk_array *get_array(const smk_state *state, PyObject *value)
{
    smk_array *array = smk_array_cast(state, value);
    return array != NULL && array->backend->asynchronous && array->contiguous && smk_array_is_aligned(array) &&
                   array->rank <= SMK_RANK_MAX &&
                   (PyTypeNum_ISNUMBER(array->descr->type_num) || PyTypeNum_ISBOOL(array->descr->type_num) ||
                    smk_bfloat16_is(array->descr)) /* the only structure: one type number stands for all of them */
               ? array
               : NULL;
}

static bool is_like(const kept_array *one, const smk_array *array)
{
    return one->type == array->descr->type_num && one->rank == array->rank &&
           memcmp(one->shape, array->shape, (size_t)array->rank * sizeof one->shape[0]) == 0;
}

/* The arguments of a call behind the inputs: `i` counts those by position, then those by name. */
static PyObject *get_argument(PyObject *const *arguments, Py_ssize_t given, PyObject *keywords, Py_ssize_t i,
                              PyObject **name)
{
    *name = i < given ? NULL : PyTuple_GET_ITEM(keywords, i - given);
    return arguments[i];
}

static bool is_named(PyObject *name, const char *wanted)
{
    return name != NULL && PyUnicode_CompareWithASCIIString(name, wanted) == 0;
}

static bool is_word(const kept_word *word, PyObject *name, PyObject *value)
{
    return (name == NULL ? word->name[0] == '\0' : PyUnicode_CompareWithASCIIString(name, word->name) == 0) &&
           PyUnicode_CheckExact(value) && PyUnicode_CompareWithASCIIString(value, word->text) == 0;
}

/* True for a keyword whose value says no more than if it were left out. */
static bool says_nothing(PyObject *name, PyObject *value)
{
    return value == Py_None &&
           (is_named(name, "out") || is_named(name, "stream") || is_named(name, "backend") || is_named(name, "device"));
}

/* True where the arguments are those of the kept call, but for the arrays and the stream; finds out, NULL where it is
 * not given. */
static bool takes_words(const kept_call *one, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords,
                        PyObject **out)
{
    const Py_ssize_t all = given + (keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords));
    size_t words = 0;
    *out = NULL;
    for (Py_ssize_t i = (Py_ssize_t)one->call.inputs; i < all; i++) {
        PyObject *name = NULL, *value = get_argument(arguments, given, keywords, i, &name);
        if (says_nothing(name, value)) {
            continue;
        }
        if (is_named(name, "out")) {
            *out = value;
        } else if (!is_named(name, "stream") &&
                   (words == one->word_count || !is_word(&one->words[words++], name, value))) {
            return false;
        }
    }
    return words == one->word_count;
}

/* Takes the addresses of the arrays, with that of out where it is given. False where they are not like those of the kept
 * call, or share memory with out. */
static bool take_arrays(kept_call *one, PyObject *const *arguments, PyObject *out_argument)
{
    const smk_array *out = get_array(one->state, out_argument);
    if (out_argument != NULL && (out == NULL || out->readonly || out->device != one->call.device ||
                                 !is_like(&one->arrays[one->call.inputs], out))) {
        return false;
    }
    for (size_t i = 0; i < one->call.inputs; i++) {
        const smk_array *array = get_array(one->state, arguments[i]);
        if (array == NULL || array->device != one->call.device || !is_like(&one->arrays[i], array) ||
            (out != NULL && smk_array_overlaps(array, out))) {
            return false;
        }
        one->address[i] = array->address;
    }
    one->address[one->call.inputs] = out == NULL ? 0 : out->address;
    return true;
}

/* A new array for the result, of a type that a number alone names. NULL with an exception set. */
static PyObject *create_out(kept_call *one)
{
    const kept_array *kept_out = &one->arrays[one->call.inputs];
    PyArray_Descr *descr = PyArray_DescrFromType(kept_out->type);
    smk_array *out = descr == NULL ? NULL
                                   : smk_array_create(one->state, one->call.family->name, one->call.backend,
                                                      one->call.device, descr, kept_out->rank, kept_out->shape);
    Py_XDECREF(descr);
    one->address[one->call.inputs] = out == NULL ? 0 : out->address;
    return (PyObject *)out;
}

/* Running ---------------------------------------------------------------------------------------- */

/* Notes on which stream the arrays are used. Returns 0, or -1 with an exception set. */
static int note(const kept_call *one, PyObject *const *arguments, PyObject *out, bool is_default)
{
    for (size_t i = 0; i <= one->call.inputs; i++) {
        const smk_array *array = smk_array_cast(one->state, i < one->call.inputs ? arguments[i] : out);
        if ((!is_default || array->owner != NULL || atomic_load(&array->uses) != NULL) &&
            smk_array_note(one->state, array) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Drops an exception of a machine without memory, since another variant may need less of it. Returns 0, or -1 where the
 * exception is another one, which stays set. */
static int forgive_memory(const kept_call *one)
{
    if (!PyErr_ExceptionMatches(one->state->exceptions[SMK_MEMORY])) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* Launches on the stream of the thread. Without an out of the caller's the result is a new array. Returns 1 with a new
 * reference in *result, 0 where the call must go its whole way, -1 with an exception set. */
static int launch(kept_call *one, PyObject *const *arguments, PyObject *given_out, const smk_stream_scope *scope,
                  PyObject **result)
{
    const smk_stream_choice *choice = &scope->choice;
    const bool fits = !scope->named || choice->backend == NULL ||
                      (choice->backend == one->call.backend && choice->device == one->call.device);
    const bool is_default = smk_stream_scope_present(one->call.backend, one->call.device) == SMK_STREAM_DEFAULT;
    if (!fits || (!is_default && one->run.execution.symbol != NULL)) {
        return 0; /* an error, or perhaps another variant, since a graph cannot repeat this one */
    }
    PyObject *out = given_out != NULL ? Py_NewRef(given_out) : create_out(one);
    if (out == NULL) {
        return forgive_memory(one);
    }
    if (note(one, arguments, out, is_default) < 0) {
        Py_DECREF(out);
        return -1;
    }
    if (smk_execute_run(one->state, &one->run.execution) < 0) {
        Py_DECREF(out);
        return forgive_memory(one);
    }
    *result = out;
    return 1;
}

/* The argument stream=; NULL where it is not given. */
static PyObject *find_stream(PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    for (Py_ssize_t i = 0; keywords != NULL && i < PyTuple_GET_SIZE(keywords); i++) {
        if (is_named(PyTuple_GET_ITEM(keywords, i), "stream")) {
            return arguments[given + i];
        }
    }
    return NULL;
}

int smk_family_again_run(const smk_state *state, const char *name, PyObject *const *arguments, Py_ssize_t given,
                         PyObject *keywords, PyObject **result)
{
    smk_stream_scope scope = {.named = false};
    PyObject *out = NULL;
    int launched = 0;
    if (kept == NULL || smk_capture_mode_now() != SMK_CAPTURE_OFF) {
        return 0;
    }
    /* before a kept call is looked at: a stream of another library may run Python code, which makes calls of its own */
    if (smk_stream_scope_begin(state, name, find_stream(arguments, given, keywords), &scope) < 0) {
        return -1;
    }
    for (kept_call *one = kept->calls; one < kept->calls + CALLS_MAX; one++) {
        if (one->generation == atomic_load(&generation) && one->state == state && one->given == given &&
            strcmp(one->call.family->name, name) == 0 && takes_words(one, arguments, given, keywords, &out) &&
            take_arrays(one, arguments, out)) {
            launched = launch(one, arguments, out, &scope, result);
            break;
        }
    }
    smk_stream_scope_end(&scope);
    return launched;
}

/* Keeping ---------------------------------------------------------------------------------------- */

static bool keep_words(kept_call *one, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    const Py_ssize_t all = given + (keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords));
    one->word_count = 0;
    for (Py_ssize_t i = (Py_ssize_t)one->call.inputs; i < all; i++) {
        PyObject *name = NULL, *value = get_argument(arguments, given, keywords, i, &name);
        if (is_named(name, "out") || is_named(name, "stream") || says_nothing(name, value)) {
            continue;
        }
        const char *text = PyUnicode_CheckExact(value) ? PyUnicode_AsUTF8(value) : NULL;
        const char *word = name == NULL ? "" : PyUnicode_AsUTF8(name);
        if (text == NULL || word == NULL || one->word_count == WORDS_MAX || strlen(text) >= SMK_NAME_MAX ||
            strlen(word) >= SMK_NAME_MAX) {
            PyErr_Clear();
            return false;
        }
        kept_word *kept_here = &one->words[one->word_count++];
        (void)snprintf(kept_here->name, sizeof kept_here->name, "%s", word);
        (void)snprintf(kept_here->text, sizeof kept_here->text, "%s", text);
    }
    return true;
}

/* True where each operand is the array that the caller gave, and a result that the caller did not give has a type of
 * NumPy's, which its number names. */
static bool keep_arrays(kept_call *one, const smk_family_call *call, PyObject *result)
{
    for (size_t i = 0; i <= call->inputs; i++) {
        PyObject *operand = i < call->inputs ? call->operands[i] : result;
        const smk_array *array = get_array(call->state, operand);
        const bool is_new = i == call->inputs && call->out == NULL;
        if (array == NULL || (is_new ? !PyTypeNum_ISNUMBER(array->descr->type_num) : call->given[i] != operand)) {
            return false;
        }
        one->arrays[i] = (kept_array){.type = array->descr->type_num, .rank = array->rank};
        memcpy(one->arrays[i].shape, array->shape, (size_t)array->rank * sizeof array->shape[0]);
    }
    return true;
}

/* Drops what the kept call does not own. */
static void drop_objects(smk_family_call *call)
{
    memset(call->operands, 0, sizeof call->operands);
    memset(call->given, 0, sizeof call->given);
    memset(call->holds, 0, sizeof call->holds);
    call->out = NULL;
    call->descr = call->result_descr = NULL;
    memset(&call->stream, 0, sizeof call->stream);
}

void smk_family_again_keep(const smk_family_call *call, PyObject *const *arguments, Py_ssize_t given,
                           PyObject *keywords, PyObject *result)
{
    uint64_t *operands[SMK_OPERANDS_MAX_FAMILY];
    if (!call->on_device || !call->backend->asynchronous || given < (Py_ssize_t)call->inputs ||
        call->workspace_below > 0 || smk_capture_mode_now() != SMK_CAPTURE_OFF ||
        smk_stream_scope_captured(call->backend, call->device) ||
        (call->plan.step_count == 0 && !call->plan.clears_outputs)) {
        return;
    }
    kept_calls *all = get_kept();
    if (all == NULL) {
        return;
    }
    kept_call *one = &all->calls[all->next];
    memset(one, 0, sizeof *one);
    one->call = *call;
    if (!keep_words(one, arguments, given, keywords) || !keep_arrays(one, call, result)) {
        return;
    }
    for (size_t i = 0; i < SMK_OPERANDS_MAX_FAMILY; i++) {
        operands[i] = &one->address[i];
    }
    if (smk_plan_run_prepare(&one->call, &one->run, operands) < 0) {
        PyErr_Clear();
        return;
    }
    drop_objects(&one->call);
    one->state = call->state;
    one->given = given;
    one->generation = atomic_load(&generation);
    all->next = (all->next + 1) % CALLS_MAX;
}
