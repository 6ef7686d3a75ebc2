/* Nodes of graphs that run as a value of the device says, which kernels set by cudaGraphSetConditional. */
#ifndef SMK_RUNTIME_CONDITIONAL_H
#define SMK_RUNTIME_CONDITIONAL_H

#include "runtime/work.h"

enum { SMK_CONDITIONAL_PTX_BYTES = 320 };

/* PTX of the function by which kernels set the value: the handle is its address. */
extern const char smk_conditional_ptx[SMK_CONDITIONAL_PTX_BYTES];

/* Are these the numbers of a node that can be? */
bool smk_conditional_is_valid(const smk_work_conditional *conditional);

smk_cuda smk_conditional_set(uint64_t address, uint32_t value);
smk_cuda smk_conditional_run(const smk_work_conditional *conditional);

/* A copy with graphs of its own. False where there is no memory. */
bool smk_conditional_keep(const smk_work_conditional *conditional, smk_work_conditional *kept);
void smk_conditional_release(smk_work_conditional *kept);

#endif
