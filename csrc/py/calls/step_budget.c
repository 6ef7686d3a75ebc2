#include "py/calls/step_budget.h"

#include "py/error.h"
#include "py/keywords.h"

#include <errno.h>
#include <stdlib.h>

static int read_environment(const smk_state *state, const char *text, uint64_t *steps)
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

int smk_step_budget_read(const smk_state *state, PyObject *keyword, uint64_t otherwise, uint64_t *steps)
{
    if (keyword == NULL) {
        const char *text = getenv("SMEMKIT_MAX_STEPS");
        if (text != NULL && text[0] != '\0') {
            return read_environment(state, text, steps);
        }
        *steps = otherwise;
        return 0;
    }
    PyObject *integer = smk_keywords_index(keyword);
    if (integer == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (integer == NULL) {
        smk_error_fail(state, SMK_TYPE, "max_steps must be an int, not %.100s", Py_TYPE(keyword)->tp_name);
        return -1;
    }
    unsigned long long value = PyLong_AsUnsignedLongLong(integer);
    Py_DECREF(integer);
    if (PyErr_Occurred() || value == 0) {
        PyErr_Clear();
        smk_error_fail(state, SMK_ARGUMENT, "max_steps is %R; a whole number from 1 to 2**64 - 1 is needed", keyword);
        return -1;
    }
    *steps = value;
    return 0;
}
