/* _registry_plan, _flops, _signature_bind: parts of the registry, for tests and for the package's own Python code. */
#ifndef SMK_PY_QUERIES_INTERNALS_REGISTRY_H
#define SMK_PY_QUERIES_INTERNALS_REGISTRY_H

#include "py/api.h"

extern PyMethodDef smk_internals_registry_methods[];

#endif
