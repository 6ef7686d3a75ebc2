/* malloc and free of kernels. The programs of a device memory share a heap, which lives as long as one of them that has
 * used it: what one launch allocates another may free. */
#ifndef SMK_SIM_EXEC_KERNEL_HEAP_H
#define SMK_SIM_EXEC_KERNEL_HEAP_H

#include "base/status.h"
#include "base/text.h"
#include "sim/code/operation.h"
#include "sim/code/run.h"

typedef struct smk_kernel_heap smk_kernel_heap;

/* The handler of a call of malloc or free, and its number of arguments; NULL for other names. */
smk_handler smk_kernel_heap_find(smk_text name, uint32_t *argument_count);

/* Makes the heap unless there is one: before a launch that may allocate. Errors: MEMORY. */
smk_status smk_kernel_heap_prepare(smk_program *program, smk_error *error);

/* Keeps the heap, if there is one, for a program that checks what its launches reach. */
void smk_kernel_heap_share(smk_program *program);

/* Where the heap that a program uses begins, or 0 where it uses none. */
uint64_t smk_kernel_heap_address(const smk_program *program);

/* What an address of a heap is for. */
typedef enum smk_kernel_heap_use {
    SMK_KERNEL_HEAP_NONE,   /* it is of no heap */
    SMK_KERNEL_HEAP_GIVEN,  /* all of the bytes lie in what malloc has given */
    SMK_KERNEL_HEAP_BEYOND, /* some lie outside of it */
    SMK_KERNEL_HEAP_FREED   /* they lie in what free has taken back */
} smk_kernel_heap_use;

smk_kernel_heap_use smk_kernel_heap_look(const smk_program *program, uint64_t address, uint64_t bytes);

/* "it begins 4 bytes past the end of 40 bytes that malloc has given", or "it lies in 40 bytes that ...", for an access to
 * the heap that is not GIVEN; false for other addresses. */
bool smk_kernel_heap_describe(const smk_program *program, uint64_t address, uint64_t bytes, char *text, size_t size);

/* Does an address lie in memory that the present launch has freed and got again? Nothing orders its owners, who do not
 * race. */
bool smk_kernel_heap_is_reused(const smk_program *program, uint64_t address);

/* Frees the heap that a program uses, if it is the last one. */
void smk_kernel_heap_free(smk_program *program);

#endif
