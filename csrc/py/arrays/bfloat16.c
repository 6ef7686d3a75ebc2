#include "py/arrays/bfloat16.h"

#include <string.h>

static const char name[] = "bfloat16";

enum { ITEM_BYTES = 2 };

/* The last word of a type's name, which may have that of its module before it. */
static bool is_named(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    return strcmp(dot == NULL ? type->tp_name : dot + 1, name) == 0;
}

/* A structure with one field of that name, which has the bits. */
static bool is_structure(const PyArray_Descr *descr)
{
    PyObject *names = PyDataType_NAMES(descr), *fields = PyDataType_FIELDS(descr);
    if (names == NULL || fields == NULL || PyTuple_GET_SIZE(names) != 1 ||
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), name) != 0) {
        return false;
    }
    PyObject *field = PyDict_GetItem(fields, PyTuple_GET_ITEM(names, 0));
    const PyArray_Descr *bits = field == NULL ? NULL : (const PyArray_Descr *)(const void *)PyTuple_GET_ITEM(field, 0);
    return bits != NULL && bits->type_num == NPY_UINT16 && PyArray_ISNBO(bits->byteorder);
}

bool smk_bfloat16_is(const PyArray_Descr *descr)
{
    if (PyDataType_ELSIZE(descr) != ITEM_BYTES) {
        return false;
    }
    return descr->type_num == NPY_VOID
               ? is_structure(descr)
               : PyTypeNum_ISUSERDEF(descr->type_num) && is_named(descr->typeobj) && PyArray_ISNBO(descr->byteorder);
}

PyArray_Descr *smk_bfloat16_descr(void)
{
    PyArray_Descr *descr = NULL;
    PyObject *module = PyImport_ImportModule("ml_dtypes"), *spelled = NULL;
    if (module != NULL) {
        spelled = PyObject_GetAttrString(module, name);
        Py_DECREF(module);
    } else if (PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear();
        spelled = Py_BuildValue("[(ss)]", name, "u2");
    }
    if (spelled != NULL && PyArray_DescrConverter(spelled, &descr) == NPY_FAIL) {
        descr = NULL;
    }
    Py_XDECREF(spelled);
    return descr;
}

int smk_bfloat16_convert(PyObject *value, PyArray_Descr **descr)
{
    if (!PyUnicode_Check(value) || PyUnicode_CompareWithASCIIString(value, name) != 0) {
        return PyArray_DescrConverter(value, descr);
    }
    *descr = smk_bfloat16_descr();
    return *descr == NULL ? NPY_FAIL : NPY_SUCCEED;
}
