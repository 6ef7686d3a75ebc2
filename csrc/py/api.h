/* Python.h and NumPy's C API, as every file of this layer needs them. */
#ifndef SMK_PY_API_H
#define SMK_PY_API_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL smk_py_numpy
#ifndef SMK_PY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif

/* The inline functions of these headers give our warnings. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <structmember.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Casts a function of any type to the one that PyMethodDef declares. */
#define SMK_PY_FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

#define SMK_PY_FAST (METH_FASTCALL | METH_KEYWORDS)

/* PyType_Slot holds functions and texts as void *. */
#define SMK_PY_SLOT(function) ((void *)(uintptr_t)(function))
#define SMK_PY_TEXT(text) ((void *)(uintptr_t)(text))

#endif
