/* The simulator's interface towards csrc/py: programs and launches (device memory: sim/code/memory.h). */
#ifndef SMK_SIM_SIM_H
#define SMK_SIM_SIM_H

#include "base/launch.h"
#include "base/status.h"
#include "ptx/module.h"
#include "sim/code/memory.h"
#include "sim/code/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Errors: PTX, UNSUPPORTED (with the line), MEMORY, INTERRUPTED. */
smk_status smk_program_create(const smk_module *module, smk_memory *memory, smk_program **program, smk_error *error);
void smk_program_free(smk_program *program); /* accepts NULL */

/* The CUDA C that the module was made of, and the folder of its files with relative names, which coverage
 * (sim/code/coverage.h) reports; each may be NULL. They must outlive the program. */
void smk_program_set_source(smk_program *program, const char *source, const char *folder);

/* Resources of an entry, for launches. */
typedef struct smk_program_attributes {
    size_t shared_bytes;  /* static shared memory a block */
    size_t local_bytes;   /* local memory a thread */
    size_t const_bytes;   /* constant memory of the module */
    uint32_t max_threads; /* a block: the machine's limit, lowered by .maxntid and .reqntid */
} smk_program_attributes;

/* Lowers the entry unless that is done, so that an entry that cannot run fails here. Errors: ARGUMENT, PTX,
 * UNSUPPORTED (with the line), SHARED_MEMORY, MEMORY, INTERRUPTED. */
smk_status smk_program_query(smk_program *program, uint32_t entry, smk_program_attributes *attributes,
                             smk_error *error);

/* Address and size of a module-scope variable by name; ARGUMENT where there is none. */
smk_status smk_program_global(const smk_program *program, const char *name, uint64_t *address, uint64_t *bytes,
                              smk_error *error);

/* Runs an entry (its index in module->functions) to its end. `launch->parameters[i]` points to as many bytes
 * as the entry's i-th parameter has. A grid with a zero axis is a LAUNCH error.
 * Errors: LAUNCH, SHARED_MEMORY, MEMORY, INTERRUPTED and every execution error, with kernel, PTX line,
 * source line where known, block and thread. After an error memory holds what was written until then. */
smk_status smk_program_run(smk_program *program, uint32_t entry, const smk_launch *launch,
                           const smk_run_options *options, smk_run_result *result, smk_error *error);

#endif
