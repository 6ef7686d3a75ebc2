#include "py/dict.h"

int smk_dict_set(PyObject *dict, const char *key, PyObject *value)
{
    int status = value == NULL ? -1 : PyDict_SetItemString(dict, key, value);
    Py_XDECREF(value);
    return status;
}
