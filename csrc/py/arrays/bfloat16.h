/* Elements of bfloat16, which NumPy lacks: those of ml_dtypes where it is installed, else a structure of 2 bytes. */
#ifndef SMK_PY_ARRAYS_BFLOAT16_H
#define SMK_PY_ARRAYS_BFLOAT16_H

#include "py/api.h"

#include <stdbool.h>

/* Is it ml_dtypes.bfloat16, or the structure [("bfloat16", uint16)], in the byte order of the machine? */
bool smk_bfloat16_is(const PyArray_Descr *descr);

/* The type of elements that arrive as bfloat16: the one of ml_dtypes where Python finds it, else the structure. A new
 * reference, or NULL with an exception set. */
PyArray_Descr *smk_bfloat16_descr(void);

/* PyArray_DescrConverter that knows the text "bfloat16", which NumPy takes after `import ml_dtypes` only. */
int smk_bfloat16_convert(PyObject *value, PyArray_Descr **descr);

#endif
