#include "py/named_tuple.h"

PyObject *smk_named_tuple_create(PyObject *module, const char *name, const char *fields)
{
    PyObject *collections = PyImport_ImportModule("collections");
    PyObject *make = collections == NULL ? NULL : PyObject_GetAttrString(collections, "namedtuple");
    PyObject *arguments = Py_BuildValue("(ss)", name, fields);
    PyObject *keywords = Py_BuildValue("{s:s}", "module", "smemkit._core");
    PyObject *type = NULL;
    if (make != NULL && arguments != NULL && keywords != NULL) {
        type = PyObject_Call(make, arguments, keywords);
    }
    if (type != NULL && PyModule_AddObjectRef(module, name, type) < 0) {
        Py_CLEAR(type);
    }
    Py_XDECREF(collections);
    Py_XDECREF(make);
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    return type;
}
