/* _time_partition: how long the warps of a partition take to issue machine instructions, for smemkit.predict. */
#ifndef SMK_PY_QUERIES_INTERNALS_PARTITION_H
#define SMK_PY_QUERIES_INTERNALS_PARTITION_H

#include "py/api.h"

extern PyMethodDef smk_internals_partition_methods[];

#endif
