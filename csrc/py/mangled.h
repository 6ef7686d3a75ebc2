/* Names of kernels as the source has them. */
#ifndef SMK_PY_MANGLED_H
#define SMK_PY_MANGLED_H

#include "py/state.h"

/* "scale<float>" for "_Z5scaleIfEvPT_", by smemkit._mangled; other names as they are. A new str, or NULL with an
 * exception set. Not to be called while an exception is set. */
PyObject *smk_mangled_read(const char *name);

#endif
