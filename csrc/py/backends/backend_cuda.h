/* The GPU as a backend. */
#ifndef SMK_PY_BACKENDS_BACKEND_CUDA_H
#define SMK_PY_BACKENDS_BACKEND_CUDA_H

#include "py/backends/backend.h"

extern const smk_backend smk_backend_cuda;

#endif
