/* State of the process, for tests and for the package's own Python code. The names begin with an
 * underscore in Python. */
#ifndef SMK_PY_QUERIES_INTERNALS_H
#define SMK_PY_QUERIES_INTERNALS_H

#include "py/api.h"

extern PyMethodDef smk_internals_methods[];

#endif
