#include "py/calls/scheduling.h"

#include "py/error.h"

#include <stdlib.h>
#include <string.h>

int smk_scheduling_read(const smk_state *state, PyObject *keyword, bool *lockstep)
{
    if (keyword != NULL) {
        if (!PyBool_Check(keyword)) {
            smk_error_fail(state, SMK_TYPE, "independent must be True, False or None, not %.100s",
                           Py_TYPE(keyword)->tp_name);
            return -1;
        }
        *lockstep = keyword == Py_False;
        return 0;
    }
    const char *text = getenv("SMEMKIT_INDEPENDENT");
    if (text != NULL && text[0] != '\0' && strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
        smk_error_fail(state, SMK_ARGUMENT,
                       "the environment variable SMEMKIT_INDEPENDENT is '%.100s'; 0 or 1 is needed", text);
        return -1;
    }
    *lockstep = text != NULL && strcmp(text, "0") == 0;
    return 0;
}
