/* Finds loads by which a thread waits for another one although they are not strong: a loop that reads a plain variable
 * until it changes. Such a load reads global or shared memory at an address that stays the same in its loop; the loop
 * stores nothing, so that nvcc would have moved the load out of it if its value were to stay; and a branch that depends
 * on the value ends the loop. A loop that ends in a backward branch is looked at, over the range of its instructions,
 * without regard to their order. */
#ifndef SMK_SIM_LOWER_POLLING_H
#define SMK_SIM_LOWER_POLLING_H

#include "base/arena.h"
#include "base/status.h"
#include "ptx/module.h"

#include <stdbool.h>
#include <stdint.h>

/* *polls: a bit for each instruction of the function, 64 a word; NULL: it has no such load. *global: one of them may
 * read global memory. Errors: MEMORY. */
smk_status smk_polling_find(const smk_function *function, smk_arena *arena, const uint64_t **polls, bool *global,
                            smk_error *error);

#endif
