/* NumPy arrays as memory that a kernel works on. */
#ifndef SMK_PY_ARRAYS_NDARRAY_H
#define SMK_PY_ARRAYS_NDARRAY_H

#include "py/state.h"

/* True for the types that exist on a device: bool, integers, float16/32/64, complex64/128, and structures without
 * objects. */
bool smk_ndarray_fits(const PyArray_Descr *descr);

/* True for the types whose items can be copied bit by bit: those above, dates, texts of fixed length, and types of
 * extensions whose items hold no references. */
bool smk_ndarray_moves(const PyArray_Descr *descr);

/* The same type in native byte order, a new reference. NULL with a TypeError that begins with `subject` where the type
 * does not exist on a device. */
PyArray_Descr *smk_ndarray_native(const smk_state *state, const char *subject, PyArray_Descr *descr);

/* True where the memory can be copied as it is: C-contiguous, aligned, native, and writeable if asked. */
bool smk_ndarray_is_plain(PyArrayObject *array, bool writeable);

/* Refuses a masked array, whose mask a kernel would not see, with a TypeError that names the function and the argument
 * (either may be ""). Returns 0, or -1 with an exception set. */
int smk_ndarray_check_mask(const smk_state *state, const char *function, const char *name, PyObject *object);

/* Copies the elements into another array of the same shape and any type, in pieces: Ctrl-C ends the copy, and `target`
 * then has a part of them. Returns 0, or -1 with an exception set. */
int smk_ndarray_copy(PyArrayObject *target, PyArrayObject *source);

/* The array itself, or its elements converted to this native type even where they lose digits; C-contiguous and
 * aligned, a new reference. */
PyArrayObject *smk_ndarray_cast(PyArrayObject *array, PyArray_Descr *descr);

/* The array itself or a copy that is C-contiguous, aligned and native, a new reference. NULL with a TypeError that
 * begins with `subject` where the type does not exist on a device. */
PyArrayObject *smk_ndarray_plain(const smk_state *state, const char *subject, PyArrayObject *array);

/* The same for every type, also one that does not exist on a device. */
PyArrayObject *smk_ndarray_pack(PyArrayObject *array);

/* Converts anything that NumPy accepts to an array, a new reference. For an array the result is a view: the elements
 * are not copied, but nobody else can set the shape or the type of the view. */
PyArrayObject *smk_ndarray_convert(PyObject *object);

/* Keeps the memory of an array in place: while the returned object lives, NumPy refuses to resize the array and its
 * bases, also with refcheck=False. Returns a new reference. */
PyObject *smk_ndarray_hold(PyArrayObject *array);

/* A tuple such as (3, 4), a new reference. */
PyObject *smk_ndarray_shape(int rank, const npy_intp *shape);

/* The type's name in messages: NumPy's ("float32"), or "text (<U1)" for texts. A new reference. */
PyObject *smk_ndarray_type_name(PyArray_Descr *descr);

#endif
