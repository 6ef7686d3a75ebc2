/* Views of device arrays, and copies between arrays of any strides. All functions need the GIL. */
#ifndef SMK_PY_ARRAYS_ARRAY_VIEW_H
#define SMK_PY_ARRAYS_ARRAY_VIEW_H

#include "py/arrays/array.h"

/* array[index] as NumPy has it, for integers, slices, None and Ellipsis; always an array, if need be without axes. A new
 * reference. NULL with an exception set: IndexError, or TypeError for any other kind of index. */
smk_array *smk_array_view_index(const smk_state *state, smk_array *array, PyObject *index);

/* The elements in C order with another shape (one length may be -1): a view where the array is contiguous, else of a
 * copy. `shape` is an int or a sequence of ints. A new reference, or NULL with an exception set. */
smk_array *smk_array_view_reshape(const smk_state *state, smk_array *array, PyObject *shape);

/* The axes in another order, a sequence of ints as NumPy takes it; NULL: in reverse order. A new reference, or NULL with
 * an exception set. */
smk_array *smk_array_view_transpose(const smk_state *state, smk_array *array, PyObject *axes);

/* The array itself where it is contiguous, else a contiguous copy on its device. A new reference, or NULL with an
 * exception set. Messages begin with `subject`. */
smk_array *smk_array_view_pack(const smk_state *state, const char *subject, smk_array *array);

/* The same for a kernel that accesses several elements at once: it must also begin at a multiple of
 * SMK_ARRAY_ALIGNMENT. */
smk_array *smk_array_view_align(const smk_state *state, const char *subject, smk_array *array);

/* A contiguous copy on the same device. A new reference, or NULL with an exception set. */
smk_array *smk_array_view_copy(const smk_state *state, const char *subject, smk_array *array);

/* Copies the elements of an array to another one of the same type on the same device. The shape of `from` is broadcast
 * to that of `to`. Returns 0, or -1 with an exception set. */
int smk_array_view_assign(const smk_state *state, smk_array *to, smk_array *from);

/* The elements of an array of the simulator as a NumPy array over the same memory. A new reference, or NULL with an
 * exception set. */
PyArrayObject *smk_array_view_host(const smk_state *state, smk_array *array, bool writeable);

#endif
