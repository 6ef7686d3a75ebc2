/* Copies between host and device on request: asarray, empty, asnumpy. */
#ifndef SMK_PY_ARRAYS_TRANSFER_H
#define SMK_PY_ARRAYS_TRANSFER_H

#include "py/api.h"

extern PyMethodDef smk_transfer_methods[];

#endif
