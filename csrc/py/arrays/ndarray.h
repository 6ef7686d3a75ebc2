/* NumPy arrays as memory that a kernel can work on. */
#ifndef SMK_PY_ARRAYS_NDARRAY_H
#define SMK_PY_ARRAYS_NDARRAY_H

#include "py/state.h"

/* True for the types that exist on a device: bool, integers, float16/32/64, complex64/128, and structures without
 * objects. */
bool smk_ndarray_fits(const PyArray_Descr *descr);

/* True for the types whose items can be moved as they are: those above, dates, texts of fixed length, and what
 * extensions define, as long as an item is memory alone and refers to nothing. */
bool smk_ndarray_moves(const PyArray_Descr *descr);

/* The same type in the machine's byte order, a new reference; NULL with an exception. A TypeError in the name of `what`
 * where smk_ndarray_fits says no. */
PyArray_Descr *smk_ndarray_native(const smk_state *state, const char *what, PyArray_Descr *descr);

/* True where the memory can be copied as it stands: C-contiguous, aligned, native, and writeable if asked. */
bool smk_ndarray_is_plain(PyArrayObject *array, bool writeable);

/* A TypeError for a masked array, whose mask a kernel would not see; in the name of the function's argument (either may
 * be ""). 0, or -1 with an exception. */
int smk_ndarray_check_mask(const smk_state *state, const char *function, const char *name, PyObject *object);

/* Elements into another array of the same shape, of whatever type, in pieces: Ctrl-C ends it, and `target` then has a
 * part of them. 0, or -1 with an exception. */
int smk_ndarray_copy(PyArrayObject *target, PyArrayObject *source);

/* The array itself, or its elements as this type (which is native), whatever they lose; C-contiguous and aligned, a new
 * reference. */
PyArrayObject *smk_ndarray_cast(PyArrayObject *array, PyArray_Descr *descr);

/* The array itself or a copy that is C-contiguous, aligned and native; a new reference. */
PyArrayObject *smk_ndarray_plain(const smk_state *state, const char *what, PyArrayObject *array);

/* The same for every type, also one that exists on no device. */
PyArrayObject *smk_ndarray_pack(PyArrayObject *array);

/* An array for anything that NumPy takes as one, a new reference. Where it is an array, that is a view of it: no copy, but
 * an object of our own, whose shape and type nobody else can set. */
PyArrayObject *smk_ndarray_convert(PyObject *object);

/* Keeps the memory of an array where it is: while the object lives that this returns, NumPy refuses to resize the array
 * and those that it is a view of, also where resize is told not to look for references. A new reference. */
PyObject *smk_ndarray_hold(PyArrayObject *array);

/* "(3, 4)" of a shape, a new reference. */
PyObject *smk_ndarray_shape(int rank, const npy_intp *shape);

/* The type's name as NumPy writes it ("float32"); of texts "text (<U1)". A new reference. */
PyObject *smk_ndarray_type_name(PyArray_Descr *descr);

#endif
