/* _bus_set, _bus_kept, _held and _slabs_force: how copies to a GPU go and what is held of it, for measurements and
 * tests. */
#ifndef SMK_PY_QUERIES_INTERNALS_BUS_H
#define SMK_PY_QUERIES_INTERNALS_BUS_H

#include "py/api.h"

extern PyMethodDef smk_internals_bus_methods[];

#endif
