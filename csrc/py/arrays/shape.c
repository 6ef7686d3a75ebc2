#include "py/arrays/shape.h"

#include "py/error.h"

int smk_shape_read(const smk_state *state, const char *function, PyObject *object, PyArray_Dims *shape)
{
    if (PyArray_IntpConverter(object, shape) == NPY_FAIL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
            const bool of_type = PyErr_ExceptionMatches(PyExc_TypeError);
            const Py_ssize_t axes = PyTuple_Check(object) ? PyTuple_GET_SIZE(object) : 0;
            PyErr_Clear();
            if (axes > NPY_MAXDIMS) {
                smk_error_fail(state, SMK_SHAPE, "%s: %zd axes, but an array has at most %d", function, axes,
                               NPY_MAXDIMS);
            } else {
                smk_error_fail(state, of_type ? SMK_TYPE : SMK_SHAPE,
                               "%s: shape is %.200A; a length, or a tuple of lengths, is needed", function, object);
            }
        }
        return -1;
    }
    if (shape->len > NPY_MAXDIMS) {
        smk_error_fail(state, SMK_SHAPE, "%s: %d axes, but an array has at most %d", function, shape->len, NPY_MAXDIMS);
        PyDimMem_FREE(shape->ptr);
        return -1;
    }
    return 0;
}
