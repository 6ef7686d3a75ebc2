/* The stand-in for the CUDA driver: functions that libraries for Python and programs call below the runtime. */
#ifndef SMK_RUNTIME_DRIVER_H
#define SMK_RUNTIME_DRIVER_H

#include "runtime/abi.h"
#include "runtime/copy.h"

/* A launch, as cuLaunchKernelEx takes it. */
typedef struct smk_driver_launch {
    smk_dim3 grid, block;
    unsigned shared_bytes;
    smk_cuda_stream_handle stream;
    smk_cuda_launch_attribute *attributes;
    unsigned attribute_count;
} smk_driver_launch;

/* One end of a copy of rows. */
typedef struct smk_driver_end {
    size_t x, y; /* bytes, rows */
    int memory;  /* of the host, of the device, an array, or by address */
    void *host;
    void *device;
    const struct smk_cuda_array *array;
    size_t pitch;
} smk_driver_end;

/* A copy of rows, as cuMemcpy2D takes it. */
typedef struct smk_driver_rows {
    smk_driver_end source, target;
    size_t width, height;
} smk_driver_rows;

/* The copy of a box, as cuMemcpy3D takes it. */
smk_cuda smk_driver_make_copy(const void *box, smk_copy *copy);

/* The box of a copy that is kept: its ends by address. */
void smk_driver_describe_copy(const smk_copy *copy, void *box);

/* The driver's code for one of the runtime, which has some of its own. */
smk_cuda smk_driver_code(smk_cuda code);

#endif
