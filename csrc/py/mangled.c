#include "py/mangled.h"

#include <string.h>

PyObject *smk_mangled_read(const char *name)
{
    PyObject *result = NULL;
    if (strncmp(name, "_Z", 2) == 0) {
        PyObject *reader = PyImport_ImportModule("smemkit._mangled");
        result = reader == NULL ? NULL : PyObject_CallMethod(reader, "demangle", "s", name);
        Py_XDECREF(reader);
    } else {
        result = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
    }
    if (result != NULL && !PyUnicode_Check(result)) {
        PyErr_SetString(PyExc_SystemError, "smemkit._mangled.demangle did not return a str");
        Py_CLEAR(result);
    }
    return result;
}
