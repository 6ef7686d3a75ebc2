/* Launches by the driver's own function, which takes less time than the runtime's; private to csrc/gpu. */
#ifndef SMK_GPU_DRIVER_H
#define SMK_GPU_DRIVER_H

#include "base/launch.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* Launches in the thread's context, which nothing but the runtime makes. False where the driver lacks the function or
 * refuses the launch; that has no effect, so the runtime may try again, and says why where it is refused too. */
bool smk_driver_launch(void *kernel, const smk_launch *launch, cudaStream_t stream);

/* What launches remember of kernels is no longer true: a library is unloaded. */
void smk_driver_forget(void);

#endif
