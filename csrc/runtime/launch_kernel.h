/* Runs the launch of a kernel: plain, checked or counted, as the settings have it. */
#ifndef SMK_RUNTIME_LAUNCH_KERNEL_H
#define SMK_RUNTIME_LAUNCH_KERNEL_H

#include "runtime/work.h"

/* Launches that the device refuses return why; what a kernel does wrong is left behind (outcome.h). */
smk_cuda smk_launch_kernel_run(const smk_work_launch *launch);

/* Pointers to the parameters that lie in one buffer, as a list of words and values ("extra") gives it, for the caller to
 * free; NULL: there is no buffer, or no memory, as the code says. */
void **smk_launch_kernel_unpack(const smk_kernel *kernel, void *const *extra, smk_cuda *code);

/* Blocks of a kernel that are resident on one multiprocessor of the card. */
smk_cuda smk_launch_kernel_count_resident(const smk_kernel *kernel, uint32_t threads, size_t shared_bytes,
                                          uint32_t *blocks);

#endif
