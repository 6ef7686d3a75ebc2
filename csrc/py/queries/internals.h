/* Doors for tests and for our own Python, with a leading underscore there: pieces of the layers below, one at a
 * time. */
#ifndef SMK_PY_QUERIES_INTERNALS_H
#define SMK_PY_QUERIES_INTERNALS_H

#include "py/api.h"

extern PyMethodDef smk_internals_methods[];

#endif
