/* The parameters of a kernel as its CUDA C declares them, read by smemkit/_declarations.py. */
#ifndef SMK_PY_CALLS_DECLARATION_H
#define SMK_PY_CALLS_DECLARATION_H

#include "py/state.h"

#include "ptx/module.h"

/* The declaration of a kernel: a tuple with a Parameter for each parameter of `function`, or None where the source does
 * not tell it or disagrees with the PTX. `source` is a str; `options` are the compiler's, a tuple of str, or None for a
 * kernel of the package. A new reference; NULL with an exception set. */
PyObject *smk_declaration_read(PyObject *source, PyObject *entry, PyObject *options, const smk_function *function);

/* `parameters` where it is such a tuple and agrees with the PTX, else None. A new reference. */
PyObject *smk_declaration_confirm(PyObject *parameters, const smk_function *function);

/* The name of a parameter and its type as messages spell it, "" where they are not known. They live as long as the
 * declaration, which may be None. */
const char *smk_declaration_name(PyObject *declaration, size_t index);
const char *smk_declaration_type(PyObject *declaration, size_t index);

/* True where elements of that kind (as numpy.dtype.kind) and size are those that a pointer is declared for, as far as
 * that needs no second look. */
bool smk_declaration_takes(PyObject *declaration, size_t index, char kind, size_t bytes);

/* Compares the elements of an array with those that a pointer is declared for. Messages begin with `kernel`. Returns 0,
 * or -1 with an ArgumentTypeError set. */
int smk_declaration_check_array(const smk_state *state, const char *kernel, PyObject *declaration, size_t index,
                                PyArray_Descr *descr, size_t bytes, bool is_device);

#endif
