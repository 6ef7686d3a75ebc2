/* _bus_set and _bus_kept: how copies to a GPU go, for measurements and tests. */
#ifndef SMK_PY_QUERIES_INTERNALS_BUS_H
#define SMK_PY_QUERIES_INTERNALS_BUS_H

#include "py/api.h"

extern PyMethodDef smk_internals_bus_methods[];

#endif
