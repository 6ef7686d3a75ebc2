#include "py/calls/family.h"

#include "py/arrays/array.h"
#include "py/calls/family_again.h"
#include "py/calls/family_call.h"
#include "py/calls/family_choice.h"
#include "py/calls/family_plan.h"
#include "py/calls/family_run.h"
#include "py/calls/panels.h"
#include "py/error.h"
#include "py/keywords.h"
#include "py/state.h"

#include "base/heap.h"

#include <string.h>

enum { KEYWORDS = 5 };

/* Takes the value of an attribute: the index of its word among the choices, or what its kind wants. */
static int take_attribute(smk_family_call *call, const smk_attribute *attribute, PyObject *value)
{
    int64_t index = 0;
    if (attribute->kind == SMK_ATTRIBUTE_DEVICES) {
        return 0; /* of the call as a whole */
    }
    if (value != NULL) {
        const char *word = smk_keywords_text(call->state, call->family->name, attribute->name, value);
        if (word == NULL) {
            return -1;
        }
        if (!smk_registry_lists(attribute->choices, word, &index)) {
            smk_error_fail(call->state, SMK_ARGUMENT, "%s: %s is '%s', accepted are: %s", call->family->name,
                           attribute->name, word, attribute->choices);
            return -1;
        }
    }
    if (attribute->kind == SMK_ATTRIBUTE_NUMBER) {
        call->numbers[call->number_count++] = index;
    } else if (attribute->kind == SMK_ATTRIBUTE_TYPE) {
        if (index > 0) {
            (void)smk_registry_word(attribute->choices, (size_t)index, call->instead, sizeof call->instead);
        }
    } else {
        (void)smk_registry_word(attribute->choices, (size_t)index, call->choice, sizeof call->choice);
    }
    return 0;
}

static int take_attributes(smk_family_call *call, PyObject *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (take_attribute(call, smk_registry_attribute(call->family->name, i), values[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Runs a call over the devices that devices= names. */
static PyObject *run_over_devices(smk_family_call *call, const char *variant, PyObject *devices, PyObject *backend)
{
    smk_panels_devices chosen = {NULL, 0};
    PyObject *result = NULL;
    for (size_t i = 0; i <= call->inputs; i++) {
        const smk_array *array = smk_array_cast(call->state, i < call->inputs ? call->operands[i] : call->out);
        if (array != NULL && smk_array_note(call->state, array) < 0) {
            return NULL;
        }
    }
    if (smk_panels_choose(call, devices, backend, &chosen) == 0 && smk_family_plan_select(call, variant) == 0 &&
        smk_family_call_align_out(call) == 0) {
        call->device = chosen.numbers[0];
        result = call->on_device || chosen.count > 1 ? smk_panels_run(call, variant, &chosen)
                 : smk_family_call_describe_machine(call) == 0 && smk_family_plan_make(call, variant) == 0
                     ? smk_family_run(call, variant)
                     : NULL;
    }
    smk_heap_free(chosen.numbers);
    return result;
}

/* Runs a call on one device. */
static PyObject *run_on_device(smk_family_call *call, const char *variant, PyObject *backend, PyObject *device)
{
    return smk_family_call_choose_machine(call, backend, device) == 0 && smk_family_plan_select(call, variant) == 0 &&
                   smk_family_call_align_out(call) == 0 && smk_family_plan_make(call, variant) == 0
               ? smk_family_run(call, variant)
               : NULL;
}

/* What a call says beside its operands and attributes. */
typedef struct call_words {
    const char *variant;
    PyObject *backend, *device, *devices; /* borrowed; NULL: not given */
} call_words;

/* Takes the arguments of a call. Returns 0, or -1 with an exception set; the call is to be released in any case. */
static int take_call(smk_family_call *call, const char *name, PyObject *const *arguments, Py_ssize_t given,
                     PyObject *keywords, call_words *words)
{
    const char *names[SMK_FAMILY_CALL_INPUTS_MAX + SMK_FAMILY_CALL_ATTRIBUTES_MAX + KEYWORDS];
    PyObject *values[SMK_FAMILY_CALL_INPUTS_MAX + SMK_FAMILY_CALL_ATTRIBUTES_MAX + KEYWORDS];
    size_t count = 0, attributes = 0, over = 0; /* the place of devices=; 0: the family has none */
    if (smk_family_call_find(call, name) < 0) {
        return -1;
    }
    for (; count < call->inputs; count++) {
        names[count] = call->input[count].name;
    }
    for (; attributes < SMK_FAMILY_CALL_ATTRIBUTES_MAX; attributes++, count++) {
        const smk_attribute *attribute = smk_registry_attribute(name, attributes);
        if (attribute == NULL) {
            break;
        }
        names[count] = attribute->name;
        over = attribute->kind == SMK_ATTRIBUTE_DEVICES ? count : over;
    }
    names[count] = "variant";
    names[count + 1] = "out";
    names[count + 2] = "backend";
    names[count + 3] = "device";
    names[count + 4] = "stream";
    const Py_ssize_t last = (Py_ssize_t)count;
    smk_keywords accepted = {name, names, last + KEYWORDS, over > 0 ? (Py_ssize_t)over : last,
                             (Py_ssize_t)call->inputs};
    if (smk_keywords_bind(&accepted, arguments, given, keywords, values) < 0) {
        return -1;
    }
    words->variant = "auto";
    if (values[count] != NULL &&
        (words->variant = smk_keywords_text(call->state, name, "variant", values[count])) == NULL) {
        return -1;
    }
    words->backend = smk_keywords_optional(values[count + 2]);
    words->device = smk_keywords_optional(values[count + 3]);
    words->devices = over > 0 ? smk_keywords_optional(values[over]) : NULL;
    PyObject *stream = smk_keywords_optional(values[count + 4]);
    if (words->devices != NULL && (words->device != NULL || stream != NULL)) {
        smk_error_fail(call->state, SMK_ARGUMENT, "%s takes %s or devices, not both", name,
                       words->device != NULL ? "device" : "stream");
        return -1;
    }
    return smk_stream_scope_begin(call->state, name, stream, &call->stream) < 0 ||
                   take_attributes(call, values + call->inputs, attributes) < 0 ||
                   smk_family_call_take_operands(call, values, smk_keywords_optional(values[count + 1])) < 0
               ? -1
               : 0;
}

/* Explaining ------------------------------------------------------------------------------------- */

static PyObject *explain(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given,
                         PyObject *keywords)
{
    PyObject *result = NULL;
    call_words words = {NULL};
    smk_family_call call = {.state = smk_state_of_module(module)};
    if (take_call(&call, name, arguments, given, keywords, &words) < 0) {
        smk_family_call_release(&call);
        return NULL;
    }
    if (words.devices != NULL) {
        smk_error_fail(call.state, SMK_ARGUMENT,
                       "%s: explain_choice takes a call on one device, without devices=", name);
    } else if (smk_family_call_choose_machine(&call, words.backend, words.device) == 0 &&
               smk_family_plan_select(&call, words.variant) == 0) {
        result = smk_family_choice_describe(&call);
    }
    smk_family_call_release(&call);
    return result;
}

/* What a thread wants to know of a function of Python: the choice of the first call of a family that it makes. */
typedef struct question {
    const char *family;
    PyObject *answer; /* NULL: no such call was made yet */
} question;

static _Thread_local question *asked;

/* Whether the thread asks for this family, or for one that is made of it: reduce_axis for reduce. */
static bool is_asked(const char *name)
{
    const size_t length = asked == NULL ? 0 : strlen(asked->family);
    return length > 0 && strncmp(name, asked->family, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

/* Explains the call in place of running it, and ends the function that makes it by an exception. */
static void answer(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    question *mine = asked;
    asked = NULL; /* conversions of arguments may run any Python code */
    mine->answer = explain(module, name, arguments, given, keywords);
    asked = mine;
    if (mine->answer != NULL) {
        PyErr_SetString(PyExc_BaseException, "the choice is explained"); /* which no handler of errors stops */
    }
}

static const char explain_choice_doc[] = "_explain_choice(family, /, *args, **keywords)\n--\n\n";

static PyObject *call_explain_choice(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *keywords)
{
    const char *name = given > 0 ? PyUnicode_AsUTF8(arguments[0]) : NULL;
    if (name == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "_explain_choice(family, ...) takes the family's name first");
        }
        return NULL;
    }
    return explain(module, name, arguments + 1, given - 1, keywords);
}

static const char explain_call_doc[] = "_explain_call(family, function, args, keywords, /)\n--\n\n";

static PyObject *call_explain_call(PyObject *module, PyObject *arguments)
{
    question mine = {NULL, NULL}, *before = asked;
    PyObject *function = NULL, *tuple = NULL, *words = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sOO!O!:_explain_call", &mine.family, &function, &PyTuple_Type, &tuple,
                          &PyDict_Type, &words)) {
        return NULL;
    }
    asked = &mine;
    PyObject *result = PyObject_Call(function, tuple, words);
    asked = before;
    if (mine.answer != NULL) {
        PyErr_Clear();
        Py_XDECREF(result);
        return mine.answer;
    }
    if (result == NULL) {
        return NULL;
    }
    Py_DECREF(result);
    Py_RETURN_NONE;
}

PyMethodDef smk_family_explain_methods[] = {
    {"_explain_choice", SMK_PY_FUNCTION(call_explain_choice), SMK_PY_FAST, explain_choice_doc},
    {"_explain_call", call_explain_call, METH_VARARGS, explain_call_doc},
    {NULL, NULL, 0, NULL},
};

/* Calling ---------------------------------------------------------------------------------------- */

PyObject *smk_family_invoke(PyObject *module, const char *name, PyObject *const *arguments, Py_ssize_t given,
                            PyObject *keywords)
{
    PyObject *result = NULL;
    call_words words = {NULL};
    if (is_asked(name)) {
        answer(module, name, arguments, given, keywords);
        return NULL;
    }
    const int again = smk_family_again_run(smk_state_of_module(module), name, arguments, given, keywords, &result);
    if (again != 0) {
        return again < 0 ? NULL : result;
    }
    smk_family_call call = {.state = smk_state_of_module(module)};
    if (take_call(&call, name, arguments, given, keywords, &words) == 0) {
        result = words.devices != NULL ? run_over_devices(&call, words.variant, words.devices, words.backend)
                                       : run_on_device(&call, words.variant, words.backend, words.device);
    }
    if (result != NULL && (smk_family_call_deliver(&call) < 0 || smk_family_call_finish(&call) < 0)) {
        Py_CLEAR(result);
    }
    if (result != NULL && (call.out == NULL || result == call.out) && words.devices == NULL) {
        smk_family_again_keep(&call, arguments, given, keywords, result);
    }
    if (result != NULL && call.out != NULL && call.given[call.inputs] != call.out) {
        Py_SETREF(result, Py_NewRef(call.given[call.inputs])); /* out of another library, as it was given */
    }
    smk_family_call_release(&call);
    return result;
}
