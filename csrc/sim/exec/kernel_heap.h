/* malloc and free of kernels. Each program has a heap of its own, which lives as long as it: what one launch allocates
 * another may free. */
#ifndef SMK_SIM_EXEC_KERNEL_HEAP_H
#define SMK_SIM_EXEC_KERNEL_HEAP_H

#include "base/status.h"
#include "base/text.h"
#include "sim/code/operation.h"
#include "sim/code/run.h"

typedef struct smk_kernel_heap smk_kernel_heap;

/* The handler of a call of malloc or free, and its number of arguments; NULL for other names. */
smk_handler smk_kernel_heap_find(smk_text name, uint32_t *argument_count);

/* Makes the program's heap unless it has one: before a launch that may allocate. Errors: MEMORY. */
smk_status smk_kernel_heap_prepare(smk_program *program, smk_error *error);

/* Frees the heap of a program, if it has one. */
void smk_kernel_heap_free(smk_program *program);

#endif
