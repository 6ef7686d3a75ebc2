/* What other files ask of memory pools. */
#ifndef SMK_RUNTIME_POOL_CALLS_H
#define SMK_RUNTIME_POOL_CALLS_H

#include <stdbool.h>

/* Does an allocation begin at this address that a stream has made from a pool? */
bool smk_pool_has(const void *address);

#endif
